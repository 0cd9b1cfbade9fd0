//! Measures the predictor with Gaussian noise of known precision: the likelihood whose posterior has a closed form.
//!
//! > y_i ~ N(η_i, 1/p_i):  −log p = Σ ½ p_i (η_i − y_i)²  (up to a constant)

use super::{Curvature, Likelihood, SiteTwin, check, check_length};
use crate::error::Result;

/// Measurements with Gaussian noise; a precision of zero marks a site that was not measured.
#[derive(Clone, Debug, PartialEq)]
pub struct GaussianNoise {
    y: Vec<f64>,
    precision: Vec<f64>,
}

impl GaussianNoise {
    /// Measurements and the precision 1/variance of each; a measurement of precision zero may be anything, even NaN.
    pub fn new(mut y: Vec<f64>, precision: Vec<f64>) -> Result<Self> {
        check_length("precisions", precision.len(), y.len(), "measurement")?;
        check(
            "precision",
            &precision,
            "a finite number of at least zero",
            "use 0 where nothing was measured",
            |p| p.is_finite() && p >= 0.0,
        )?;
        for (y, p) in y.iter_mut().zip(&precision) {
            if *p == 0.0 {
                *y = 0.0;
            }
        }
        check(
            "measurement",
            &y,
            "a finite number",
            "give it precision 0 if it is missing",
            f64::is_finite,
        )?;
        Ok(GaussianNoise { y, precision })
    }

    /// The precision of each measurement.
    pub fn precision(&self) -> &[f64] {
        &self.precision
    }
}

impl Likelihood for GaussianNoise {
    fn sites(&self) -> usize {
        self.y.len()
    }

    fn evaluate(&self, eta: &[f64], _: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        let mut total = 0.0;
        for (((gradient, eta), y), p) in
            gradient.iter_mut().zip(eta).zip(&self.y).zip(&self.precision)
        {
            let residual = if *p > 0.0 { eta - y } else { 0.0 };
            *gradient = p * residual;
            total += 0.5 * *gradient * residual;
        }
        total
    }

    fn twin(&self) -> Option<SiteTwin> {
        let data =
            self.y.iter().zip(&self.precision).map(|(&y, &p)| [y as f32, p as f32]).collect();
        Some(SiteTwin { wgsl: include_str!("../../shaders/site/gaussian.wgsl").into(), data })
    }

    fn curvature(&self, _: &[f64], _: &[f64]) -> Curvature {
        Curvature::Sites(self.precision.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_does_not_matter() {
        let likelihood = GaussianNoise::new(vec![1.0, f64::NAN], vec![4.0, 0.0]).unwrap();
        let mut gradient = [f64::NAN; 2];
        assert_eq!(likelihood.evaluate(&[3.0, f64::INFINITY], &[], &mut gradient, &mut []), 8.0);
        assert_eq!(gradient, [8.0, 0.0]);
    }

    #[test]
    fn bad_data_are_errors() {
        assert!(GaussianNoise::new(vec![1.0], vec![]).is_err());
        assert!(GaussianNoise::new(vec![f64::NAN], vec![1.0]).is_err());
        assert!(GaussianNoise::new(vec![1.0], vec![-1.0]).is_err());
    }
}
