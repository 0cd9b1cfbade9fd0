//! Computes the autocovariance of equally long chains, averaged over the chains, by FFT.
//!
//! γ_t = (1/n) Σ_i (x_i - x̄)(x_{i+t} - x̄) for lags 0 to n-1, each chain about its own mean and
//! padded with zeros to at least 2n, so that no product wraps round. The mean over chains is taken
//! of the power spectra: the transform is linear, so one inverse serves all chains.

use std::fmt;
use std::sync::Arc;

use realfft::num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};

use super::moments::mean;

/// Owns the transforms for one chain length and their buffers.
#[derive(Default)]
pub(crate) struct Autocovariance {
    plan: Option<Plan>,
    padded: Vec<f64>,
    spectrum: Vec<Complex<f64>>,
    power: Vec<Complex<f64>>,
    scratch: Vec<Complex<f64>>,
}

struct Plan {
    length: usize,
    forward: Arc<dyn RealToComplex<f64>>,
    inverse: Arc<dyn ComplexToReal<f64>>,
}

impl fmt::Debug for Autocovariance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Autocovariance").field("padded", &self.padded.len()).finish()
    }
}

impl Autocovariance {
    /// Autocovariances at lags 0 to `length - 1`, averaged over chains laid end to end in `values`.
    ///
    /// Empty if there is no whole chain or the transform fails.
    pub(crate) fn mean_over_chains(&mut self, values: &[f64], length: usize) -> &[f64] {
        if length == 0 || values.len() < length {
            return &[];
        }
        self.prepare(length);
        if self.transform(values, length).is_err() {
            return &[];
        }
        &self.padded[..length]
    }

    fn prepare(&mut self, length: usize) {
        if self.plan.as_ref().is_some_and(|plan| plan.length == length) {
            return;
        }
        let padded = padded_length(length);
        let mut planner = RealFftPlanner::new();
        let forward = planner.plan_fft_forward(padded);
        let inverse = planner.plan_fft_inverse(padded);
        let scratch = forward.get_scratch_len().max(inverse.get_scratch_len());
        self.padded.resize(padded, 0.0);
        self.spectrum.resize(padded / 2 + 1, Complex::default());
        self.power.resize(padded / 2 + 1, Complex::default());
        self.scratch.resize(scratch, Complex::default());
        self.plan = Some(Plan { length, forward, inverse });
    }

    fn transform(&mut self, values: &[f64], length: usize) -> Result<(), realfft::FftError> {
        let Some(plan) = &self.plan else { return Ok(()) };
        self.power.fill(Complex::default());
        for chain in values.chunks_exact(length) {
            let centre = mean(chain);
            for (out, value) in self.padded.iter_mut().zip(chain) {
                *out = value - centre;
            }
            self.padded[length..].fill(0.0);
            let (input, output) = (&mut self.padded, &mut self.spectrum);
            plan.forward.process_with_scratch(input, output, &mut self.scratch)?;
            for (sum, value) in self.power.iter_mut().zip(&self.spectrum) {
                sum.re += value.norm_sqr();
            }
        }
        plan.inverse.process_with_scratch(&mut self.power, &mut self.padded, &mut self.scratch)?;
        // The inverse transform is not normalised; n and the number of chains make the mean.
        let count = values.len() / length * length * self.padded.len();
        let scale = 1.0 / count as f64;
        self.padded[..length].iter_mut().for_each(|value| *value *= scale);
        Ok(())
    }
}

/// The smallest 2^k or 3·2^k that holds a chain and as many zeros: the fastest sizes there are.
fn padded_length(length: usize) -> usize {
    let power = (2 * length).next_power_of_two();
    let three_quarters = power / 4 * 3;
    if three_quarters >= 2 * length { three_quarters } else { power }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(values: &[f64], length: usize, lag: usize) -> f64 {
        let chains = values.chunks_exact(length);
        let count = chains.len() as f64;
        let one = |chain: &[f64]| {
            let centre = mean(chain);
            let product = |(a, b): (&f64, &f64)| (a - centre) * (b - centre);
            chain.iter().zip(&chain[lag..]).map(product).sum::<f64>() / length as f64
        };
        chains.map(one).sum::<f64>() / count
    }

    #[test]
    fn matches_the_sum_at_every_lag_with_dirty_buffers() {
        let mut fft = Autocovariance::default();
        for (chains, length) in [(3, 50), (1, 7), (4, 33), (2, 2), (1, 1)] {
            let wave = |i: usize| 1e3 + (i * i % 97) as f64 - (i % 5) as f64;
            let values: Vec<f64> = (0..chains * length).map(wave).collect();
            let got = fft.mean_over_chains(&values, length).to_vec();
            assert_eq!(got.len(), length);
            let bound = 64.0 * f64::EPSILON * naive(&values, length, 0).max(1.0);
            for (lag, value) in got.iter().enumerate() {
                let want = naive(&values, length, lag);
                assert!(
                    (value - want).abs() <= bound,
                    "{chains}x{length} lag {lag}: {value} {want}"
                );
            }
        }
    }

    #[test]
    fn padded_lengths_hold_twice_the_chain() {
        for length in 1..3000 {
            let padded = padded_length(length);
            assert!(
                padded >= 2 * length && padded < 4 * length && padded.is_multiple_of(2),
                "{length}"
            );
        }
    }

    #[test]
    fn nothing_in_nothing_out() {
        let mut fft = Autocovariance::default();
        assert!(fft.mean_over_chains(&[], 0).is_empty());
        assert!(fft.mean_over_chains(&[1.0], 2).is_empty());
    }
}
