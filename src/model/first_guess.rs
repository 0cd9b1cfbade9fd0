//! Guesses the hyperparameters of a Cox process from its counts, so that chains start near where they will end.
//!
//! Coefficients of covariates and the mean come from a Poisson regression without a field, sigma and range from how counts vary
//! about it. The guess moves the centre of the starts and nothing else: chains are spread around it as widely as around any other.

use super::LgcpOptions;
use crate::data::Counts;
use crate::spatial::count_clustering;
use crate::structure::Correlation;
use nalgebra::{DMatrix, DVector};

/// Newton steps of the regression; it is convex and nearly quadratic.
const STEPS: usize = 12;
/// Precision that holds a coefficient which the data say nothing about.
const RIDGE: f64 = 0.25;
/// A regression further out than this has seen a few points in an odd corner, not an effect.
const LARGEST_COEFFICIENT: f64 = 3.0;

/// Working values from which to start: log sigma, log range, mu unless it is fixed, and the covariates' coefficients.
pub(super) fn first_guess(counts: &Counts, options: &LgcpOptions) -> Vec<f64> {
    let grid = counts.grid();
    let area = grid.cell_area();
    let effort: Vec<f64> = counts.exposure().iter().map(|e| e * area).collect();
    let mut coefficients = regress(counts, &effort, options);
    let predictor = |cell: usize| -> f64 {
        let covariates = options.covariates.iter().zip(&coefficients[1..]);
        coefficients[0] + covariates.map(|(z, b)| b * z.values()[cell]).sum::<f64>()
    };
    let expected: Vec<f64> =
        effort.iter().enumerate().map(|(cell, e)| e * predictor(cell).exp()).collect();
    let correlation = Correlation { kernel: options.kernel, anisotropy: options.anisotropy };
    let side = grid.cell() * grid.rows().max(grid.columns()) as f64;
    // Where counts say nothing: a field of unit variance and a tenth of the map, far from white noise and from a constant.
    let (sigma, range) = count_clustering(counts, &expected, correlation)
        .map_or((1.0, 0.1 * side), |found| (found.sigma, found.range));
    // The regression's mean is that of the intensity, mu the one of its logarithm.
    coefficients[0] -= 0.5 * sigma * sigma;
    if options.mu.is_some() {
        coefficients.remove(0);
    }
    [f64::ln(sigma), f64::ln(range)].into_iter().chain(coefficients).collect()
}

/// The log of the mean intensity and the covariates' coefficients by Poisson regression.
fn regress(counts: &Counts, effort: &[f64], options: &LgcpOptions) -> Vec<f64> {
    let size = 1 + options.covariates.len();
    let flat = counts.mean_intensity().ln();
    let mut b = DVector::zeros(size);
    b[0] = flat;
    for _ in 0..STEPS {
        let mut gradient = DVector::from_fn(size, |k, _| if k == 0 { 0.0 } else { -RIDGE * b[k] });
        let mut curvature =
            DMatrix::from_diagonal(&DVector::from_fn(
                size,
                |k, _| if k == 0 { 0.0 } else { RIDGE },
            ));
        for (cell, (&y, &e)) in counts.counts().iter().zip(effort).enumerate() {
            if e > 0.0 {
                let z = DVector::from_fn(size, |k, _| match k {
                    0 => 1.0,
                    k => options.covariates[k - 1].values()[cell],
                });
                let m = e * b.dot(&z).exp();
                gradient.axpy(y - m, &z, 1.0);
                curvature.ger(m, &z, &z, 1.0);
            }
        }
        match curvature.cholesky() {
            Some(root) => b += root.solve(&gradient).map(|step| step.clamp(-1.0, 1.0)),
            None => break,
        }
    }
    if b.iter().skip(1).all(|b| b.abs() < LARGEST_COEFFICIENT) && b[0].is_finite() {
        return b.iter().copied().collect();
    }
    let mut none = vec![0.0; size];
    none[0] = flat;
    none
}
