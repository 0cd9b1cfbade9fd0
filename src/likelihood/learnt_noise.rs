//! Measures the predictor with Gaussian noise of unknown scale.
//!
//! > y_i ~ N(η_i, s²/p_i):  −log p = Σ ½ p_i (η_i − y_i)²/s² + n log s  (up to a constant)
//!
//! The scale s = e^w is a hyperparameter; n counts the sites that were measured.

use super::{Curvature, GaussianNoise, Likelihood, SiteTwin};
use crate::error::Result;
use crate::numeric::exp;

/// Measurements whose noise has known relative precisions and a scale that is learnt.
#[derive(Clone, Debug, PartialEq)]
pub struct LearntNoise {
    unit: GaussianNoise,
    measured: f64,
}

impl LearntNoise {
    /// Measurements and their precisions at a scale of one; a precision of zero marks a site that was not measured.
    pub fn new(y: Vec<f64>, precision: Vec<f64>) -> Result<Self> {
        let unit = GaussianNoise::new(y, precision)?;
        let measured = unit.precision().iter().filter(|p| **p > 0.0).count() as f64;
        Ok(Self { unit, measured })
    }
}

impl Likelihood for LearntNoise {
    fn sites(&self) -> usize {
        self.unit.sites()
    }

    fn parameters(&self) -> usize {
        1
    }

    fn evaluate(&self, eta: &[f64], own: &[f64], by_eta: &mut [f64], by_own: &mut [f64]) -> f64 {
        let factor = exp(-2.0 * own[0]);
        let misfit = factor * self.unit.evaluate(eta, &[], by_eta, &mut []);
        by_eta.iter_mut().for_each(|by| *by *= factor);
        let aside = self.aside(own, by_own);
        by_own[0] -= 2.0 * misfit;
        misfit + aside
    }

    fn aside(&self, own: &[f64], by_own: &mut [f64]) -> f64 {
        by_own[0] = self.measured;
        self.measured * own[0]
    }

    fn twin(&self) -> Option<SiteTwin> {
        let wgsl = include_str!("../../shaders/site/learnt_noise.wgsl").into();
        Some(SiteTwin { wgsl, data: self.unit.twin()?.data })
    }

    fn curvature(&self, _: &[f64], own: &[f64]) -> Curvature {
        let factor = exp(-2.0 * own[0]);
        Curvature::Sites(self.unit.precision().iter().map(|p| factor * p).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_measured_tells_of_the_noise() {
        let likelihood = LearntNoise::new(vec![1.0, f64::NAN], vec![4.0, 0.0]).unwrap();
        let (mut gradient, mut by_own) = ([f64::NAN; 2], [f64::NAN]);
        let value = likelihood.evaluate(&[3.0, f64::INFINITY], &[0.0], &mut gradient, &mut by_own);
        assert_eq!((value, gradient, by_own), (8.0, [8.0, 0.0], [1.0 - 16.0]));
    }
}
