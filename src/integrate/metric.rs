//! Standardises hyperparameters: φ = centre + L ψ, with L L' their covariance as far as it is known.

use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

/// A constant dense metric for the hyperparameters; their mass is (L L')⁻¹.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HyperMetric {
    centre: DVector<f64>,
    root: DMatrix<f64>,
}

impl HyperMetric {
    /// A diagonal metric with the given scales.
    pub fn diagonal(centre: &[f64], scale: &[f64]) -> Self {
        Self {
            centre: DVector::from_column_slice(centre),
            root: DMatrix::from_diagonal(&DVector::from_column_slice(scale)),
        }
    }

    /// A dense metric; none if the covariance is not positive definite.
    pub fn dense(centre: &[f64], covariance: DMatrix<f64>) -> Option<Self> {
        let root = covariance.cholesky()?.unpack();
        Some(Self { centre: DVector::from_column_slice(centre), root })
    }

    /// Number of hyperparameters.
    pub fn len(&self) -> usize {
        self.centre.len()
    }

    /// Whether there are no hyperparameters.
    pub fn is_empty(&self) -> bool {
        self.centre.is_empty()
    }

    /// L.
    pub fn root(&self) -> &DMatrix<f64> {
        &self.root
    }

    /// Standard deviation of each hyperparameter under the metric.
    pub fn scales(&self) -> Vec<f64> {
        self.root.row_iter().map(|row| row.norm()).collect()
    }

    /// The centre.
    pub fn centre(&self) -> &[f64] {
        self.centre.as_slice()
    }

    /// ψ = L⁻¹(φ − centre).
    pub fn standardise(&self, phi: &[f64], psi: &mut [f64]) {
        for i in 0..self.len() {
            let mut rest = phi[i] - self.centre[i];
            for j in 0..i {
                rest -= self.root[(i, j)] * psi[j];
            }
            psi[i] = rest / self.root[(i, i)];
        }
    }

    /// φ = centre + Lψ.
    pub fn restore(&self, psi: &[f64], phi: &mut [f64]) {
        for i in 0..self.len() {
            phi[i] = self.centre[i] + (0..=i).map(|j| self.root[(i, j)] * psi[j]).sum::<f64>();
        }
    }

    /// φ ← φ + ε L p.
    pub fn drift(&self, step: f64, p: &[f64], phi: &mut [f64]) {
        for i in 0..self.len() {
            phi[i] += step * (0..=i).map(|j| self.root[(i, j)] * p[j]).sum::<f64>();
        }
    }

    /// p ← p − ε L'g.
    pub fn kick(&self, step: f64, g: &[f64], p: &mut [f64]) {
        let m = self.len();
        for j in 0..m {
            p[j] -= step * (j..m).map(|i| self.root[(i, j)] * g[i]).sum::<f64>();
        }
    }
}
