//! Follows the exponential of the field and how often it exceeds levels, as [`crate::draws::Exponential`] does on the host.

use super::super::stage::{Bound, Spec, wgsl};
use super::super::{Gpu, WIDE};
use crate::error::Result;

/// Sums over draws of the exponential, and counts of draws above each level.
pub(super) struct Exponential {
    pub(super) levels: usize,
    pub(super) sums: wgpu::Buffer,
    pub(super) above: wgpu::Buffer,
    pub(super) stage: Bound,
}

impl Exponential {
    pub(super) fn new(
        gpu: &Gpu,
        motion: &wgpu::Buffer,
        [current, reference]: [&wgpu::Buffer; 2],
        [sites, chains]: [usize; 2],
        levels: &[f64],
    ) -> Result<Self> {
        let plane = 4 * (sites * chains) as u64;
        let logs: Vec<f32> = levels.iter().map(|level| threshold(*level)).collect();
        let logs = gpu.buffer_of("levels", &logs)?;
        let sums = gpu.buffer("sums over exponentials", 4 * plane)?;
        let above = gpu.buffer("draws above levels", plane * levels.len() as u64)?;
        let stage = Bound::new(
            gpu,
            &spec(sites, chains, levels.len()),
            &[motion, current, reference, &logs, &sums, &above],
            [sites.div_ceil(WIDE), chains],
            plane * (2 + 8 + 2 * levels.len() as u64),
        )?;
        Ok(Self { levels: levels.len(), sums, above, stage })
    }
}

/// What a field in single precision is compared with: the logarithm of the level, rounded down. A number of single precision is above
/// that exactly if it is above the logarithm itself, so that the device decides as double precision would.
fn threshold(level: f64) -> f32 {
    let log = level.ln();
    let near = log as f32;
    if f64::from(near) > log { near.next_down() } else { near }
}

pub(super) fn spec(sites: usize, chains: usize, levels: usize) -> Spec {
    Spec {
        name: "exponential",
        parts: vec![
            wgsl!("shared/guard.wgsl").into(),
            wgsl!("shared/elementary.wgsl").into(),
            wgsl!("shared/two_float.wgsl").into(),
            wgsl!("shared/precise.wgsl").into(),
            wgsl!("shared/motion.wgsl").into(),
            wgsl!("field/exponential.wgsl").into(),
        ],
        constants: vec![
            ("WG", WIDE.into()),
            ("SITES", sites.into()),
            ("CHAINS", chains.into()),
            ("LEVELS", levels.into()),
        ],
        read_only: vec![true, true, true, true, false, false],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_decides_as_double_precision_does() {
        for level in [1e-9, 0.3, 1.0, 2.0, 3.7, 1e6] {
            let (log, threshold) = (f64::ln(level), threshold(level));
            for x in [threshold.next_down(), threshold, threshold.next_up()] {
                assert_eq!(x > threshold, f64::from(x) > log, "{level}: {x}");
            }
        }
        assert!(threshold(0.0) == f32::NEG_INFINITY && threshold(-1.0).is_nan());
    }
}
