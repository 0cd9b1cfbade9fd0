//! Tests, when a GPU is opened, that its driver leaves compensated arithmetic alone.
//!
//! Drivers may rearrange arithmetic as if it were exact, which turns the error of a sum or product into zero. The shaders guard
//! against it (`shaders/shared/guard.wgsl`); this finds out whether the guard holds.

use super::Gpu;
use super::params::Motion;
use super::recording::Recording;
use super::stage::{Bound, Spec, wgsl};
use crate::error::Result;
use crate::numeric::two_floats;

const COUNT: usize = 256;
const WORKGROUP: usize = 64;

/// Whether two_sum and two_product are exact on pairs of very different and of nearly opposite numbers.
pub(super) fn exact_sums(gpu: &Gpu, guarded: bool) -> Result<bool> {
    let pairs: Vec<[f32; 2]> = (0..COUNT).map(pair).collect();
    let motion = gpu.buffer_of("self-test parameters", &[Motion::default()])?;
    let input = gpu.buffer_of("self-test pairs", &pairs)?;
    let bytes = 16 * COUNT as u64;
    let output = gpu.buffer("self-test results", bytes)?;
    let staging = gpu.staging("self-test results", bytes)?;
    let spec = if guarded { spec() } else { unguarded() };
    let bound = Bound::new(gpu, &spec, &[&motion, &input, &output], [COUNT / WORKGROUP, 1], 0)?;
    let mut exact = false;
    let mut recording = Recording::default();
    recording.dispatch(&bound).copy(&output, &staging, [0, 0], bytes);
    recording.download(gpu, &[(&staging, bytes)], |bytes| {
        let (sums, products) = bytemuck::cast_slice::<_, [f32; 2]>(bytes).split_at(COUNT);
        let right = |got: &[[f32; 2]], want: fn(f64, f64) -> f64| {
            let same = |(got, pair): (&[f32; 2], &[f32; 2])| {
                *got == two_floats(want(f64::from(pair[0]), f64::from(pair[1])))
            };
            got.iter().zip(&pairs).all(same)
        };
        exact = right(sums, |a, b| a + b) && right(products, |a, b| a * b);
    });
    gpu.status()?;
    Ok(exact)
}

pub(super) fn spec() -> Spec {
    Spec {
        name: "self_test",
        parts: vec![
            wgsl!("shared/guard.wgsl").into(),
            wgsl!("shared/two_float.wgsl").into(),
            wgsl!("shared/motion.wgsl").into(),
            wgsl!("latents/self_test.wgsl").into(),
        ],
        constants: vec![("WG", WORKGROUP.into()), ("COUNT", COUNT.into())],
        read_only: vec![true, true, false],
    }
}

/// The same with a guard that any compiler sees through.
pub(super) fn unguarded() -> Spec {
    let mut spec = spec();
    spec.parts[0] = "var<private> zero: u32;\nfn opaque(v: f32) -> f32 { return v; }".into();
    spec
}

/// A pair of numbers of many sizes, whose sum and product must be rounded to f32 but not to f64.
fn pair(i: usize) -> [f32; 2] {
    let a = (1.0 + 0.618 * i as f32).sin() * 2f32.powi(i as i32 % 24 - 12);
    let b = (2.0 + 1.414 * i as f32).cos() * 2f32.powi((7 * i as i32) % 24 - 12);
    [a, b]
}
