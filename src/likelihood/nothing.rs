//! Observes nothing, so that the posterior is the prior.

use super::{Curvature, Likelihood, SiteTwin};
use nalgebra::DMatrix;

/// No data at all: the funnel, and every test of a prior.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nothing {
    /// Number of predictor values it ignores.
    pub sites: usize,
}

impl Likelihood for Nothing {
    fn sites(&self) -> usize {
        self.sites
    }

    fn evaluate(&self, _: &[f64], _: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        0.0
    }

    fn twin(&self) -> Option<SiteTwin> {
        let data = vec![[0.0; 2]; self.sites];
        Some(SiteTwin { wgsl: include_str!("../../shaders/site/nothing.wgsl").into(), data })
    }

    fn curvature(&self, _: &[f64], _: &[f64]) -> Curvature {
        Curvature::Sites(vec![0.0; self.sites])
    }

    fn curvature_gradient(
        &self,
        _: &[f64],
        _: &[f64],
        _: &[DMatrix<f64>],
        out: &mut [f64],
    ) -> bool {
        out.fill(0.0);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_nothing_even_about_infinity() {
        let mut gradient = [f64::NAN; 3];
        assert_eq!(
            Nothing { sites: 3 }.evaluate(&[1.0, f64::INFINITY, -2.0], &[], &mut gradient, &mut []),
            0.0
        );
        assert_eq!(gradient, [0.0; 3]);
    }
}
