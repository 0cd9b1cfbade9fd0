//! Cuts warm-up into windows, and says what the draws of one show of the posterior's scales.

use crate::baseline::Scales;
use crate::integrate::HyperMetric;
use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

/// The metric of draws: their covariance, drawn a little towards a small diagonal one.
pub(super) fn metric_of(draws: &[Vec<f64>]) -> Option<HyperMetric> {
    let count = draws.len() as f64;
    let m = draws.first()?.len();
    let mut mean = DVector::zeros(m);
    for draw in draws {
        mean += DVector::from_column_slice(draw) / count;
    }
    let mut covariance = DMatrix::zeros(m, m);
    for draw in draws {
        let d = DVector::from_column_slice(draw) - &mean;
        covariance += &d * d.transpose() / (count - 1.0).max(1.0);
    }
    let weight = count / (count + 5.0);
    let covariance = covariance * weight + DMatrix::identity(m, m) * (1e-3 * (1.0 - weight));
    HyperMetric::dense(mean.as_slice(), covariance)
}

/// The transitions after which windows end.
pub(super) fn windows(warmup: u32) -> Vec<u32> {
    if warmup < 40 {
        return Vec::new();
    }
    let (first, last) = (warmup * 15 / 100, warmup * 85 / 100);
    let mut ends = vec![first];
    let mut length = (warmup / 20).max(10);
    let mut end = first + length;
    while end + 2 * length <= last {
        ends.push(end);
        length *= 2;
        end += length;
    }
    ends.push(last);
    ends
}

/// Running moments of a window's draws (Welford's update).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Moments {
    count: f64,
    mean: Vec<f64>,
    squares: Vec<f64>,
    pub(super) centre: Vec<f64>,
    products: DMatrix<f64>,
}

impl Moments {
    pub(super) fn new(n: usize, m: usize) -> Self {
        Self {
            count: 0.0,
            mean: vec![0.0; n],
            squares: vec![0.0; n],
            centre: vec![0.0; m],
            products: DMatrix::zeros(m, m),
        }
    }

    pub(super) fn restart(&mut self) {
        *self = Self::new(self.mean.len(), self.centre.len());
    }

    pub(super) fn add(&mut self, z: &[f64], phi: &[f64]) {
        self.count += 1.0;
        let weight = 1.0 / self.count;
        for ((mean, squares), &z) in self.mean.iter_mut().zip(&mut self.squares).zip(z) {
            let before = z - *mean;
            *mean += weight * before;
            *squares += before * (z - *mean);
        }
        let before: Vec<f64> = phi.iter().zip(&self.centre).map(|(p, c)| p - c).collect();
        self.centre.iter_mut().zip(&before).for_each(|(c, b)| *c += weight * b);
        for i in 0..phi.len() {
            for j in 0..phi.len() {
                self.products[(i, j)] += before[i] * (phi[j] - self.centre[j]);
            }
        }
    }

    /// Variances drawn a little towards a small number, as Stan does, so that few draws do no harm.
    pub(super) fn scales(&self) -> Scales {
        let (own, other) = (self.count / (self.count + 5.0), 5.0 / (self.count + 5.0));
        let n = (self.count - 1.0).max(1.0);
        let m = self.centre.len();
        Scales {
            latents: self.squares.iter().map(|s| own * s / n + 1e-3 * other).collect(),
            centre: self.centre.clone(),
            covariance: &self.products * (own / n) + DMatrix::identity(m, m) * (1e-3 * other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_grow_and_end_before_warm_up_does() {
        assert!(windows(20).is_empty());
        for warmup in [40, 100, 500, 1000, 10_000] {
            let ends = windows(warmup);
            assert!(ends.windows(2).all(|w| w[1] > w[0] + 5), "{ends:?}");
            assert!(*ends.last().unwrap() < warmup);
            assert!(ends[0] >= warmup / 10);
        }
    }

    #[test]
    fn moments_are_those_of_the_draws() {
        let mut moments = Moments::new(1, 2);
        let draws = [([1.0], [0.5, 2.0]), ([4.0], [1.5, -1.0]), ([-2.0], [0.0, 3.5])];
        draws.iter().for_each(|(z, phi)| moments.add(z, phi));
        let scales = moments.scales();
        let (own, other) = (3.0 / 8.0, 1e-3 * 5.0 / 8.0);
        assert!((scales.latents[0] - (own * 9.0 + other)).abs() < 1e-14);
        // Means 2/3 and 1.5; products of deviations add up to −3.5.
        assert!((scales.covariance[(0, 1)] - own * -3.5 / 2.0).abs() < 1e-14);
        assert_eq!(scales.covariance[(0, 1)], scales.covariance[(1, 0)]);
    }
}
