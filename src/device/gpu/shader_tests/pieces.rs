//! Runs shared pieces of WGSL by themselves on an adapter: random integers bit for bit, elementary functions within stated units of
//! the last place. The twin of each comparison is the same piece with one digit of a constant changed.

use super::super::params::Motion;
use super::super::recording::Recording;
use super::super::stage::{Bound, Spec, wgsl};
use super::super::{Gpu, Wanted, open};
use crate::random::philox::philox4x32_10;
use std::borrow::Cow;
use std::f64::consts::TAU;
use std::sync::{Arc, LazyLock};

/// The adapter of the other GPU tests.
fn gpu() -> Arc<Gpu> {
    static GPU: LazyLock<Arc<Gpu>> = LazyLock::new(|| {
        let part = std::env::var("SSHMC_TEST_ADAPTER");
        let wanted = part.as_ref().map_or(Wanted::Best, |part| Wanted::Named(part));
        open(wanted).unwrap_or_else(|error| panic!("these tests need an adapter: {error}"))
    });
    GPU.clone()
}

const MAIN: &str = "
@group(0) @binding(0) var<storage, read> motion: array<Motion>;
@group(0) @binding(1) var<storage, read> input: array<vec4u>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4u>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    zero = motion[0].zero;
    if (id.x < COUNT) {
        out[id.x] = probe(input[2u * id.x], input[2u * id.x + 1u]);
    }
}
";

/// What `probe`, a function of eight words, returns for each input. `(from, to)` changes a constant of the pieces.
fn run(probe: &str, input: &[[u32; 8]], (from, to): (&str, &str)) -> Vec<[u32; 4]> {
    let changed = |piece: &'static str| Cow::from(piece.replace(from, to));
    let spec = Spec {
        name: "probe",
        parts: vec![
            wgsl!("shared/guard.wgsl").into(),
            wgsl!("shared/two_float.wgsl").into(),
            wgsl!("shared/motion.wgsl").into(),
            changed(wgsl!("shared/elementary.wgsl")),
            changed(wgsl!("shared/precise.wgsl")),
            changed(wgsl!("shared/philox.wgsl")),
            MAIN.into(),
            format!("fn probe(a: vec4u, b: vec4u) -> vec4u {{ {probe} }}").into(),
        ],
        constants: vec![("COUNT", input.len().into())],
        read_only: vec![true, true, false],
    };
    let gpu = gpu();
    let motion = gpu.buffer_of("motion", &[Motion::default()]).unwrap();
    let input_buffer = gpu.buffer_of("input", input).unwrap();
    let bytes = 16 * input.len() as u64;
    let output = gpu.buffer("output", bytes).unwrap();
    let staging = gpu.staging("output", bytes).unwrap();
    let groups = [input.len().div_ceil(64), 1];
    let bound = Bound::new(&gpu, &spec, &[&motion, &input_buffer, &output], groups, 0).unwrap();
    let mut all = Vec::new();
    let mut recording = Recording::default();
    recording.dispatch(&bound).copy(&output, &staging, [0, 0], bytes);
    recording.download(&gpu, &[(&staging, bytes)], |bytes| {
        all = bytemuck::cast_slice(bytes).to_vec();
    });
    gpu.status().unwrap();
    assert_eq!(all.len(), input.len());
    all
}

/// Nothing is changed.
const AS_IT_IS: (&str, &str) = ("", "");

/// Words that look random.
fn word(i: u32) -> u32 {
    philox4x32_10([i, 0, 0, 0], [5, 6])[0]
}

#[test]
fn random_integers_are_those_of_the_processor_bit_for_bit() {
    let pi: [u32; 6] =
        [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344, 0xa409_3822, 0x299f_31d0];
    let published = [
        ([0; 6], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
        ([u32::MAX; 6], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
        (pi, [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]),
    ];
    let mut keys: Vec<[u32; 6]> = published.iter().map(|(key, _)| *key).collect();
    keys.extend((0..1000).map(|i: u32| std::array::from_fn(|k| word(6 * i + k as u32))));
    let input: Vec<[u32; 8]> =
        keys.iter().map(|k| [k[0], k[1], k[2], k[3], k[4], k[5], 0, 0]).collect();
    let probe = "return philox(a, b.xy);";
    let got = run(probe, &input, AS_IT_IS);
    for ((got, key), i) in got.iter().zip(&keys).zip(0..) {
        let want = philox4x32_10([key[0], key[1], key[2], key[3]], [key[4], key[5]]);
        assert_eq!(*got, want, "counter and key {key:x?}");
        if i < published.len() {
            assert_eq!(*got, published[i].1, "the published answer");
        }
    }
    let other = run(probe, &input, ("0xD2511F53u", "0xD2511F51u"));
    assert!(other.iter().zip(&got).all(|(a, b)| a != b), "another multiplier gives the same");
}

/// One unit in the last place of a float of this size.
fn unit(x: f64) -> f64 {
    2f64.powi(x.abs().log2().floor().max(-126.0) as i32 - 23)
}

/// The worst error of a function of one float, in units of the last place, and where.
fn worst(probe: &str, at: &[f32], want: fn(f64) -> f64, change: (&str, &str)) -> (f64, f32) {
    let input: Vec<[u32; 8]> = at.iter().map(|x| [x.to_bits(), 0, 0, 0, 0, 0, 0, 0]).collect();
    let probe = format!("return vec4u(bitcast<u32>({probe}(bitcast<f32>(a.x))), 0u, 0u, 0u);");
    let got = run(&probe, &input, change);
    let errors = got.iter().zip(at).map(|(got, &x)| {
        let (got, want) = (f64::from(f32::from_bits(got[0])), want(f64::from(x)));
        let error = (got - want).abs() / unit(want);
        (if error.is_nan() { f64::INFINITY } else { error }, x)
    });
    errors.fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a })
}

/// A sweep of a range, denser near zero.
fn sweep(low: f64, high: f64) -> Vec<f32> {
    const COUNT: u32 = 1 << 15;
    let even = (0..COUNT).map(|i| low + (high - low) * (f64::from(i) + 0.37) / f64::from(COUNT));
    let small = (0..1000).map(|i| f64::from(i).sin() * 2f64.powi(-(i % 30)));
    let all = even.chain(small.filter(|x| (low..high).contains(x)));
    all.map(|x| x as f32).filter(|x| (low..=high).contains(&f64::from(*x))).collect()
}

fn judge(name: &str, right: (f64, f32), spoilt: (f64, f32), bound: f64) {
    eprintln!("{name}: {:.3} units at {}; spoilt {:.1}", right.0, right.1, spoilt.0);
    assert!(right.0 <= bound, "{name}: {} units at {}", right.0, right.1);
    assert!(spoilt.0 > bound, "{name}: a wrong coefficient passes, {} units", spoilt.0);
}

#[test]
fn exponentials_are_good_to_two_units() {
    let at = sweep(-86.9, 88.7);
    let compare = |change| worst("exponential", &at, f64::exp, change);
    let wrong = compare(("1.6666665459e-1", "1.6666e-1"));
    judge("exponential", compare(AS_IT_IS), wrong, 2.0);
}

#[test]
fn logarithms_are_good_to_one_unit_and_a_half() {
    let mut at: Vec<f32> = sweep(1e-6, 3.0);
    at.extend((0..20_000).map(|i| f32::from_bits(0x0080_0000 + word(i) % 0x7e80_0000)));
    let compare = |change| worst("logarithm", &at, f64::ln, change);
    let wrong = compare(("3.3333331174e-1", "3.3333e-1"));
    judge("logarithm", compare(AS_IT_IS), wrong, 1.5);
}

/// Relative errors of e^v in two floats, with their signs, and where.
fn pair_errors(change: (&str, &str)) -> Vec<(f64, f32)> {
    // Below, the second float may be less than the smallest normal number, which some drivers take for zero: by then an error of 1e-10.
    let at = sweep(-64.0, 88.7);
    let low = |x: f32| 0.4 * unit(f64::from(x)) as f32;
    let input: Vec<[u32; 8]> =
        at.iter().map(|&x| [x.to_bits(), low(x).to_bits(), 0, 0, 0, 0, 0, 0]).collect();
    let probe = "let e = exponential_pair(vec2f(bitcast<f32>(a.x), bitcast<f32>(a.y)));
        return vec4u(bitcast<u32>(e.x), bitcast<u32>(e.y), 0u, 0u);";
    let got = run(probe, &input, change);
    let error = |(got, x): (&[u32; 4], &f32)| {
        let [high, rest] = [got[0], got[1]].map(|bits| f64::from(f32::from_bits(bits)));
        let want = (f64::from(*x) + f64::from(low(*x))).exp();
        let error = (high + rest) / want - 1.0;
        (if error.is_nan() { f64::INFINITY } else { error }, *x)
    };
    got.iter().zip(&at).map(error).collect()
}

/// The worst of them in units of 2^-28, and their mean, which is what a sum over many sites keeps.
fn worst_and_mean(errors: &[(f64, f32)]) -> ((f64, f32), f64) {
    let sized = errors.iter().map(|(error, x)| (error.abs() * 2f64.powi(28), *x));
    let mean = errors.iter().map(|(error, _)| error).sum::<f64>() / errors.len() as f64;
    (sized.fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a }), mean)
}

/// What is beyond r²/2 is at most 0.007 and in one float: five roundings of 2⁻²⁴ of it, over e^r of at least 0.7, are 3e-9. They have
/// either sign, so that their mean is far less.
#[test]
fn exponentials_in_two_floats_are_good_to_some_parts_in_a_thousand_million() {
    let (right, mean) = worst_and_mean(&pair_errors(AS_IT_IS));
    let (wrong, biased) = worst_and_mean(&pair_errors(("1.66666667e-1", "1.66666e-1")));
    eprintln!("exponential_pair: {:.2e}, on average {mean:e}; spoilt {biased:e}", right.0);
    judge("exponential_pair", right, wrong, 1.0);
    assert!(mean.abs() <= 1e-10, "on average {mean:e}");
    assert!(biased.abs() > 1e-10, "the mean does not see a wrong coefficient: {biased:e}");
}

/// Relative errors of log(1 + x) in two floats, and where.
fn logarithm_errors(change: (&str, &str)) -> Vec<(f64, f32)> {
    let at: Vec<f32> = sweep(1e-6, 1.0);
    let input: Vec<[u32; 8]> = at.iter().map(|x| [x.to_bits(), 0, 0, 0, 0, 0, 0, 0]).collect();
    let probe = "let e = logarithm_1p_pair(vec2f(bitcast<f32>(a.x), 0.0));
        return vec4u(bitcast<u32>(e.x), bitcast<u32>(e.y), 0u, 0u);";
    let got = run(probe, &input, change);
    let error = |(got, x): (&[u32; 4], &f32)| {
        let [high, rest] = [got[0], got[1]].map(|bits| f64::from(f32::from_bits(bits)));
        let error = (high + rest) / f64::from(*x).ln_1p() - 1.0;
        (if error.is_nan() { f64::INFINITY } else { error }, *x)
    };
    got.iter().zip(&at).map(error).collect()
}

/// What is beyond the second term of the series is at most a three-hundredth of it and in one float: some roundings of 2⁻²⁴ of that, and of
/// division, are 1e-9.
#[test]
fn logarithms_of_one_more_in_two_floats_are_good_to_some_parts_in_a_thousand_million() {
    let (right, mean) = worst_and_mean(&logarithm_errors(AS_IT_IS));
    let (wrong, _) = worst_and_mean(&logarithm_errors(("2.00000000e-1", "1.99990000e-1")));
    eprintln!("logarithm_1p_pair: {:.2e}, on average {mean:e}", right.0);
    judge("logarithm_1p_pair", right, wrong, 1.0);
}

/// The worst absolute error of log v in two floats, in units of 2^-28: it is as good as the exponential it
/// is made with.
fn worst_logarithm(change: (&str, &str)) -> (f64, f32) {
    let at: Vec<f32> = sweep(1e-6, 3e4);
    let input: Vec<[u32; 8]> = at.iter().map(|x| [x.to_bits(), 0, 0, 0, 0, 0, 0, 0]).collect();
    let probe = "let e = logarithm_pair(bitcast<f32>(a.x));
        return vec4u(bitcast<u32>(e.x), bitcast<u32>(e.y), 0u, 0u);";
    let errors = run(probe, &input, change).into_iter().zip(&at).map(|(got, x)| {
        let [high, rest] = [got[0], got[1]].map(|bits| f64::from(f32::from_bits(bits)));
        let error = (high + rest - f64::from(*x).ln()).abs() * 2f64.powi(28);
        (if error.is_nan() { f64::INFINITY } else { error }, *x)
    });
    errors.fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a })
}

#[test]
fn logarithms_in_two_floats_are_as_good_as_exponentials() {
    let wrong = worst_logarithm(("1.66666667e-1", "1.66666e-1"));
    judge("logarithm_pair", worst_logarithm(AS_IT_IS), wrong, 1.0);
}

/// The worst error of a point of the circle, in units of 2^-24.
fn worst_turn(change: (&str, &str)) -> (f64, f32) {
    let quarters = (0..8u32).flat_map(|k| [-1, 0, 1].map(|by| (k << 29).wrapping_add_signed(by)));
    let words: Vec<u32> = quarters.chain((0..30_000).map(word)).collect();
    let input: Vec<[u32; 8]> = words.iter().map(|&w| [w, 0, 0, 0, 0, 0, 0, 0]).collect();
    let probe = "let p = circle(a.x); return vec4u(bitcast<u32>(p.x), bitcast<u32>(p.y), 0u, 0u);";
    let got = run(probe, &input, change);
    let errors = got.iter().zip(&words).map(|(got, &word)| {
        let turn = f64::from(word) * 2f64.powi(-32);
        let (sin, cos) = (TAU * turn).sin_cos();
        let [x, y] = [got[0], got[1]].map(|bits| f64::from(f32::from_bits(bits)));
        let error = (x - cos).abs().max((y - sin).abs()) * 2f64.powi(24);
        (if (x + y).is_nan() { f64::INFINITY } else { error }, turn as f32)
    });
    errors.fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a })
}

#[test]
fn points_of_the_circle_are_good_to_a_unit_of_one() {
    let wrong = worst_turn(("8.3321608736e-3", "8.33e-3"));
    judge("circle", worst_turn(AS_IT_IS), wrong, 2.0);
}
