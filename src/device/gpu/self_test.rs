//! Tests, when a GPU is opened, that its driver leaves compensated sums alone.
//!
//! Drivers may rearrange arithmetic as if it were exact, which turns the error of a sum into zero. The shaders guard
//! against it (`shaders/shared/guard.wgsl`); this finds out whether the guard holds.

use super::Gpu;
use super::params::Motion;
use super::recording::Recording;
use super::stage::{Bound, Spec, wgsl};
use crate::error::Result;

const COUNT: usize = 256;
const WORKGROUP: usize = 64;

/// Whether two_sum is exact on pairs of very different and of nearly opposite numbers.
pub(super) fn exact_sums(gpu: &Gpu) -> Result<bool> {
    let pairs: Vec<[f32; 2]> = (0..COUNT).map(pair).collect();
    let motion = gpu.buffer_of("self-test parameters", &[Motion::default()])?;
    let input = gpu.buffer_of("self-test pairs", &pairs)?;
    let output = gpu.buffer("self-test sums", 8 * COUNT as u64)?;
    let staging = gpu.staging("self-test sums", 8 * COUNT as u64)?;
    let spec = spec();
    let bound = Bound::new(gpu, &spec, &[&motion, &input, &output], [COUNT / WORKGROUP, 1], 0)?;
    let mut exact = false;
    let mut recording = Recording::default();
    recording.dispatch(&bound).copy(&output, &staging, [0, 0], 8 * COUNT as u64);
    recording.download(gpu, &[(&staging, 8 * COUNT as u64)], |bytes| {
        let sums: &[[f32; 2]] = bytemuck::cast_slice(bytes);
        exact = sums.iter().zip(&pairs).all(|(sum, pair)| *sum == two_sum(*pair));
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

/// A pair of numbers of many sizes, all with a sum that must be rounded.
fn pair(i: usize) -> [f32; 2] {
    let a = (1.0 + 0.618 * i as f32).sin() * 2f32.powi(i as i32 % 24 - 12);
    let b = (2.0 + 1.414 * i as f32).cos() * 2f32.powi((7 * i as i32) % 24 - 12);
    [a, b]
}

fn two_sum([a, b]: [f32; 2]) -> [f32; 2] {
    let s = a + b;
    let bb = s - a;
    [s, (a - (s - bb)) + (b - bb)]
}
