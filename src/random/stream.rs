//! Addresses random numbers by (seed, chain, transition, purpose, index) and fills slices with normal ones.
//!
//! The key of [`philox4x32_10`] is the seed in two halves, low half first; the counter is
//! `[block, purpose, transition, chain]`. Word `i` of a stream is word `i % 4` of block `i / 4`. A uniform number is
//! `(w + 1/2) / 2^32`; the words `(w0, w1)` and `(w2, w3)` of a block each give two normal numbers,
//!
//! ```text
//! r cos a,  r sin a     with  r = sqrt(-2 ln((w0 + 1/2) / 2^32)),  a = 2 pi w1 / 2^32
//! ```
//!
//! (Box and Muller 1958). Words are 32 bits wide so that a graphics processor can compute the same ones. The largest
//! normal number is therefore `sqrt(66 ln 2) = 6.76`, beyond which lies a probability of 1.3e-11.

use super::philox::{self, philox4x32_10};
use super::rng::StreamRng;
use crate::numeric::{ln, sin_cos_turns, vectorised};

/// Blocks computed together: enough to fill vector registers many times, few enough that the buffers stay in the
/// fastest cache (2 kB of words and 2 kB of normals).
const BLOCKS: usize = 64;
/// Numbers in these blocks.
const CHUNK: usize = 4 * BLOCKS;
const UNIT: f64 = 1.0 / 4_294_967_296.0;

/// What random numbers are used for; numbers for different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Purpose {
    /// Momenta of the latent field.
    Momentum = 0,
    /// Momenta or proposals of the hyperparameters.
    Hyper = 1,
    /// Acceptance decisions.
    Accept = 2,
    /// Jitter of step sizes and trajectory lengths.
    Jitter = 3,
    /// Starting points.
    Start = 4,
    /// Draws from the prior.
    Prior = 5,
    /// Simulated data.
    Data = 6,
    /// Anything that is not part of a run, such as tests.
    Other = 7,
}

/// An endless row of random numbers, fixed by its address.
///
/// Uniforms, normals and the words of [`Stream::rng`] are made of the same bits: use one stream for one of them.
///
/// ```
/// use sshmc::random::{Purpose, Stream};
///
/// let mut momentum = [0.0; 5];
/// Stream::new(42, 0, 17, Purpose::Momentum).fill_normals(&mut momentum);
/// let uniform = Stream::new(42, 0, 17, Purpose::Accept).uniform(0);
/// assert!(0.0 < uniform && uniform < 1.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    seed: u64,
    chain: u32,
    transition: u32,
    purpose: Purpose,
}

impl Stream {
    /// Names the stream of one chain, one transition and one purpose in the run with this seed.
    pub fn new(seed: u64, chain: u32, transition: u32, purpose: Purpose) -> Self {
        Stream { seed, chain, transition, purpose }
    }

    /// Returns a uniform number strictly between 0 and 1, a multiple of `2^-33`.
    pub fn uniform(&self, index: u32) -> f64 {
        (f64::from(self.word(index)) + 0.5) * UNIT
    }

    /// Writes standard normal numbers; the first few are the same however many are asked for.
    pub fn fill_normals(&self, out: &mut [f64]) {
        let [_, purpose, transition, chain] = self.counter(0);
        let [purpose, transition, chain] = [purpose, transition, chain].map(u64::from);
        let key = self.key();
        vectorised(
            #[inline(always)]
            || {
                for (i, chunk) in out.chunks_mut(CHUNK).enumerate() {
                    let first = (i * BLOCKS) as u64;
                    normals(first, [purpose, transition, chain], key, chunk);
                }
            },
        );
    }

    /// Starts reading the stream word by word, for use with `rand` and `rand_distr`.
    pub fn rng(&self) -> StreamRng {
        StreamRng::new(*self)
    }

    /// Returns the four words of a block.
    #[inline]
    pub(super) fn block(&self, block: u32) -> [u32; 4] {
        philox4x32_10(self.counter(block), self.key())
    }

    /// Returns one word.
    pub(super) fn word(&self, index: u32) -> u32 {
        self.block(index / 4)[index as usize % 4]
    }

    fn key(&self) -> [u32; 2] {
        [self.seed as u32, (self.seed >> 32) as u32]
    }

    fn counter(&self, block: u32) -> [u32; 4] {
        [block, self.purpose as u32, self.transition, self.chain]
    }
}

/// Writes the normals of up to [`BLOCKS`] blocks, in loops that each become vector code.
///
/// A short chunk costs no more than the blocks that it needs, rounded up to whole vectors.
#[inline(always)]
fn normals(first: u64, address: [u64; 3], key: [u32; 2], out: &mut [f64]) {
    let [purpose, transition, chain] = address;
    let count = out.len().div_ceil(16).min(BLOCKS / 4) * 4;
    let mut words = [[0u64; BLOCKS]; 4];
    let mut values = [[0.0f64; BLOCKS]; 4];
    let [w0, w1, w2, w3] = &mut words;
    for i in 0..count {
        let counter = [first + i as u64, purpose, transition, chain];
        [w0[i], w1[i], w2[i], w3[i]] = philox::wide(counter, key);
    }
    let [n0, n1, n2, n3] = &mut values;
    for i in 0..count {
        (n0[i], n1[i]) = box_muller(w0[i], w1[i]);
    }
    for i in 0..count {
        (n2[i], n3[i]) = box_muller(w2[i], w3[i]);
    }
    let mut blocks = out.chunks_exact_mut(4);
    let mut filled = 0;
    for (i, block) in blocks.by_ref().enumerate() {
        block.copy_from_slice(&[n0[i], n1[i], n2[i], n3[i]]);
        filled = i + 1;
    }
    for (lane, value) in blocks.into_remainder().iter_mut().enumerate() {
        *value = values[lane][filled];
    }
}

/// Turns two words into two independent standard normal numbers.
#[inline(always)]
fn box_muller(w0: u64, w1: u64) -> (f64, f64) {
    let radius = (-2.0 * ln((word_to_float(w0) + 0.5) * UNIT)).sqrt();
    let (sin, cos) = sin_cos_turns(word_to_float(w1) * UNIT);
    (radius * cos, radius * sin)
}

/// Converts an integer below `2^52` by placing it in the mantissa of `2^52`, since AVX2 has no conversion.
#[inline(always)]
fn word_to_float(word: u64) -> f64 {
    const TWO_52: f64 = 4_503_599_627_370_496.0;
    f64::from_bits(word | TWO_52.to_bits()) - TWO_52
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::time::Instant;

    use super::*;
    use crate::numeric::dot;

    fn normal_numbers(chain: u32, transition: u32, len: usize) -> Vec<f64> {
        let mut out = vec![f64::NAN; len];
        Stream::new(20_240_607, chain, transition, Purpose::Other).fill_normals(&mut out);
        out
    }

    /// The definition with the system library: the four normals of a block.
    fn reference(stream: &Stream, block: usize) -> [f64; 4] {
        let pair = |w0: u32, w1: u32| {
            let radius = (-2.0 * ((f64::from(w0) + 0.5) * UNIT).ln()).sqrt();
            let (sin, cos) = (std::f64::consts::TAU * (f64::from(w1) * UNIT)).sin_cos();
            [radius * cos, radius * sin]
        };
        let words = stream.block(block as u32);
        let ([a, b], [c, d]) = (pair(words[0], words[1]), pair(words[2], words[3]));
        [a, b, c, d]
    }

    #[test]
    fn normals_follow_their_definition() {
        let stream = Stream::new(0xFEDC_BA98_7654_3210, 3, 5, Purpose::Momentum);
        let mut out = [f64::NAN; 1001];
        stream.fill_normals(&mut out);
        for (i, &ours) in out.iter().enumerate() {
            // A radius below 7, and an angle below 2 pi that is rounded once more in the reference.
            let error = (ours - reference(&stream, i / 4)[i % 4]).abs();
            assert!(error < 7.0 * 4.0 * f64::EPSILON, "normal {i}: {ours}, error {error:e}");
        }
    }

    #[test]
    fn the_address_is_laid_out_as_documented() {
        let stream = Stream::new(0x299f_31d0_a409_3822, 0x0370_7344, 0x1319_8a2e, Purpose::Prior);
        let counter = [1, 5, 0x1319_8a2e, 0x0370_7344];
        let words = philox4x32_10(counter, [0xa409_3822, 0x299f_31d0]);
        for lane in 0..4 {
            let expected = (f64::from(words[lane as usize]) + 0.5) / 2f64.powi(32);
            assert_eq!(stream.uniform(4 + lane), expected);
        }
    }

    #[test]
    fn the_first_numbers_do_not_depend_on_how_many_are_asked_for() {
        let all = normal_numbers(0, 0, 1000);
        for len in [0, 1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 255, 256, 257, 999] {
            assert_eq!(normal_numbers(0, 0, len), all[..len], "length {len}");
        }
    }

    /// How many standard errors mean, variance, fourth moment and the share beyond 3 are away from a normal's.
    fn largest_deviation(numbers: &[f64]) -> f64 {
        let n = numbers.len() as f64;
        let average = |f: &dyn Fn(f64) -> f64| numbers.iter().map(|&x| f(x)).sum::<f64>() / n;
        let beyond_three: f64 = 2.699_796_063_260_189e-3;
        // Value, expectation, and the standard deviation of one term: E x^4 - 1 = 2, E x^8 - 9 = 96.
        let checks = [
            (average(&|x| x), 0.0, 1.0),
            (average(&|x| x * x), 1.0, 2f64.sqrt()),
            (average(&|x| x.powi(3)), 0.0, 15f64.sqrt()),
            (average(&|x| x.powi(4)), 3.0, 96f64.sqrt()),
            (average(&|x| f64::from(x.abs() > 3.0)), beyond_three, beyond_three.sqrt()),
        ];
        let deviations = checks.map(|(value, mean, sd)| (value - mean).abs() / sd * n.sqrt());
        deviations.into_iter().fold(0.0, f64::max)
    }

    #[test]
    fn normals_have_the_moments_and_tails_of_a_normal() {
        // Five checks on eight chains at 5 standard errors: another seed would fail with probability 2e-5.
        for chain in 0..8 {
            let deviation = largest_deviation(&normal_numbers(chain, 0, 200_000));
            assert!(deviation < 5.0, "chain {chain}: {deviation} standard errors");
        }
    }

    #[test]
    fn the_check_of_moments_rejects_uniform_numbers_of_the_same_variance() {
        let stream = Stream::new(1, 0, 0, Purpose::Other);
        let numbers: Vec<f64> =
            (0..10_000).map(|i| 12f64.sqrt() * (stream.uniform(i) - 0.5)).collect();
        assert!(largest_deviation(&numbers) > 5.0);
    }

    #[test]
    fn neighbours_are_uncorrelated() {
        let len = 100_000;
        let scale = (len as f64).sqrt();
        let base = normal_numbers(0, 0, len + 4);
        let correlation = |other: &[f64]| dot(&base[..len], other) / scale;
        // Seven standard normal values at 5: another seed would fail with probability 4e-6.
        for k in 1..=3 {
            assert!(correlation(&normal_numbers(k, 0, len)).abs() < 5.0, "chain {k}");
        }
        assert!(correlation(&normal_numbers(0, 1, len)).abs() < 5.0, "next transition");
        for lag in 1..=3 {
            assert!(correlation(&base[lag..len + lag]).abs() < 5.0, "lag {lag}");
        }
        assert!(correlation(&base[..len]) > 5.0, "the check must reject a stream against itself");
    }

    #[test]
    fn seeds_and_purposes_give_different_numbers() {
        let first = |seed, purpose| Stream::new(seed, 0, 0, purpose).uniform(0);
        assert_ne!(first(1, Purpose::Start), first(2, Purpose::Start));
        assert_ne!(first(1, Purpose::Start), first(1 + (1 << 32), Purpose::Start));
        assert_ne!(first(1, Purpose::Start), first(1, Purpose::Hyper));
    }

    #[test]
    #[ignore = "measures time; run alone with --ignored --nocapture"]
    fn filling_is_faster_than_one_number_at_a_time() {
        let stream = Stream::new(1, 2, 3, Purpose::Other);
        let mut out = vec![0.0; 4096];
        let mut best = [f64::INFINITY; 2];
        for _ in 0..200 {
            let start = Instant::now();
            stream.fill_normals(black_box(&mut out));
            best[0] = best[0].min(start.elapsed().as_secs_f64());
            let start = Instant::now();
            for (i, block) in out.chunks_exact_mut(4).enumerate() {
                block.copy_from_slice(&reference(&stream, i));
            }
            black_box(&mut out);
            best[1] = best[1].min(start.elapsed().as_secs_f64());
        }
        let [fast, naive] = best.map(|seconds| seconds * 1e9 / out.len() as f64);
        eprintln!("normal: naive {naive:.2} ns, filled {fast:.2} ns");
        assert!(fast < naive);
    }
}
