//! Gives a dense covariance and its derivatives entry by entry.

use super::Fisher;
use super::triangular::{cholesky, divide_both_sides};
use crate::error::{Error, Result};
use nalgebra::DMatrix;
use std::fmt::Debug;

/// A covariance matrix Σ(w) that is filled in whole: the way in for any prior without a faster structure.
pub trait Covariance: Debug + Send + Sync {
    /// Number of latents.
    fn dim(&self) -> usize;

    /// Number of working hyperparameters.
    fn parameters(&self) -> usize;

    /// Writes every entry of Σ(w), which must be symmetric.
    fn fill(&self, w: &[f64], sigma: &mut DMatrix<f64>);

    /// Writes every entry of ∂Σ(w)/∂w_k.
    fn fill_derivative(&self, w: &[f64], k: usize, out: &mut DMatrix<f64>);

    /// Whether w_k is the log of a standard deviation that multiplies everything, so that ∂Σ/∂w_k = 2Σ: this saves half the work
    /// of a factor.
    fn is_log_scale(&self, _k: usize) -> bool {
        false
    }

    /// The Fisher information about w in the latents; none if it is not offered or Σ(w) is not positive definite.
    fn fisher(&self, _w: &[f64]) -> Option<Fisher> {
        None
    }
}

/// σ² exp(−distance/ℓ) between points of the plane; w = (log σ, log ℓ).
#[derive(Clone, Debug)]
pub struct Stationary {
    distances: DMatrix<f64>,
}

impl Stationary {
    /// The exponential kernel between distinct points, ℓ being in their unit of length.
    pub fn exponential(points: &[(f64, f64)]) -> Result<Self> {
        if points.is_empty() {
            return Err(Error::input(
                "points",
                "at least one",
                "none",
                "give the location of every latent",
            ));
        }
        let distances = DMatrix::from_fn(points.len(), points.len(), |i, j| {
            (points[i].0 - points[j].0).hypot(points[i].1 - points[j].1)
        });
        for i in 0..points.len() {
            for j in 0..i {
                let distance = distances[(i, j)];
                if distance == 0.0 || !distance.is_finite() {
                    return Err(Error::input(
                        format!("points {j} and {i}"),
                        "two places a finite distance apart",
                        format!("{:?} and {:?}", points[j], points[i]),
                        "merge latents that share a place",
                    ));
                }
            }
        }
        Ok(Stationary { distances })
    }
}

impl Covariance for Stationary {
    fn dim(&self) -> usize {
        self.distances.nrows()
    }

    fn parameters(&self) -> usize {
        2
    }

    fn fill(&self, w: &[f64], sigma: &mut DMatrix<f64>) {
        let (variance, rate) = ((2.0 * w[0]).exp(), (-w[1]).exp());
        sigma
            .zip_apply(&self.distances, |out, distance| *out = variance * (-distance * rate).exp());
    }

    fn fill_derivative(&self, w: &[f64], k: usize, out: &mut DMatrix<f64>) {
        let (variance, rate) = ((2.0 * w[0]).exp(), (-w[1]).exp());
        out.zip_apply(&self.distances, |out, distance| {
            let reach = distance * rate;
            *out = variance * (-reach).exp() * if k == 0 { 2.0 } else { reach };
        });
    }

    fn is_log_scale(&self, k: usize) -> bool {
        k == 0
    }

    fn fisher(&self, w: &[f64]) -> Option<Fisher> {
        let rate = (-w[1]).exp();
        // R = e^{−u} with u = distance/ℓ; in log ℓ its derivatives are u e^{−u} and (u² − u)e^{−u}.
        let entries = |f: fn(f64) -> f64| self.distances.map(|d| f(d * rate) * (-d * rate).exp());
        let mut root = entries(|_| 1.0);
        if !cholesky(&mut root) {
            return None;
        }
        let a = divide_both_sides(&root, entries(|u| u));
        let b = divide_both_sides(&root, entries(|u| u * (u - 1.0)));
        let squared = &a * &a;
        let traces =
            [a.trace(), squared.trace(), b.trace() - squared.trace(), a.dot(&b) - squared.dot(&a)];
        Some(Fisher::of_scaled(self.dim() as f64, traces))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_the_kernel() {
        let covariance = Stationary::exponential(&[(0.0, 0.0), (3.0, 4.0)]).unwrap();
        let mut sigma = DMatrix::from_element(2, 2, f64::NAN);
        covariance.fill(&[2f64.ln(), 2.5f64.ln()], &mut sigma);
        let want =
            DMatrix::from_row_slice(2, 2, &[4.0, 4.0 * (-2f64).exp(), 4.0 * (-2f64).exp(), 4.0]);
        assert!((sigma - want).amax() <= 16.0 * f64::EPSILON);
    }

    #[test]
    fn bad_points_are_errors() {
        assert!(Stationary::exponential(&[]).is_err());
        assert!(Stationary::exponential(&[(0.0, 1.0), (2.0, 2.0), (0.0, 1.0)]).is_err());
        assert!(Stationary::exponential(&[(0.0, 1.0), (f64::NAN, 1.0)]).is_err());
    }
}
