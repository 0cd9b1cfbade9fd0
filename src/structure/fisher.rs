//! Gives the Fisher information about the hyperparameters in a field that is seen without error.
//!
//! > F_ij = ½ tr(Σ⁻¹∂ᵢΣ Σ⁻¹∂ⱼΣ)
//!
//! and its derivatives in w: the metric of Girolami and Calderhead (2011) for hyperparameters given the latents.
//!
//! - **Grid** and **dense**: Σ = σ²R(ℓ), so with A = R⁻¹R' and B = R⁻¹R'' (derivatives in log ℓ) F = [2n, tr A; tr A, ½tr A²]
//!   and ∂F/∂log ℓ = [0, tr(B − A²); ·, tr(AB − A³)].
//! - **AR(1)**, in (atanh φ, log σ): the first value has the variance σ²/(1−φ²) and each step the information 1/(1−φ²)
//!   about φ, so F = [2φ² + (n−1)(1−φ²), 2φ; 2φ, 2n].
//! - **Groups**: Σ = e^{±γ}I, so F = n/2.

use super::{Spectral, Structure};
use nalgebra::DMatrix;

/// F and ∂F/∂w_k for each k.
#[derive(Clone, Debug)]
pub struct Fisher {
    /// F.
    pub matrix: DMatrix<f64>,
    /// ∂F/∂w_k.
    pub slopes: Vec<DMatrix<f64>>,
}

impl Fisher {
    /// The information about (log σ, log ℓ) from tr A, tr A², tr(B − A²) and tr(AB − A³) of n latents.
    pub(super) fn of_scaled(n: f64, traces: [f64; 4]) -> Self {
        let [first, square, slope, square_slope] = traces;
        Self {
            matrix: DMatrix::from_row_slice(2, 2, &[2.0 * n, first, first, 0.5 * square]),
            slopes: vec![
                DMatrix::zeros(2, 2),
                DMatrix::from_row_slice(2, 2, &[0.0, slope, slope, square_slope]),
            ],
        }
    }
}

impl Structure {
    /// The Fisher information about w in the latents; none outside the model or where a dense covariance does not offer it.
    pub fn fisher(&self, w: &[f64]) -> Option<Fisher> {
        match self {
            Structure::Spectral(spectral) => of_spectral(spectral, w[1]),
            Structure::Ar1(series) => Some(of_series(series.dim() as f64, w[0].tanh())),
            Structure::Groups(groups) => Some(Fisher {
                matrix: DMatrix::from_element(1, 1, 0.5 * groups.dim() as f64),
                slopes: vec![DMatrix::zeros(1, 1)],
            }),
            Structure::Dense(dense) => dense.covariance().fisher(w),
        }
    }

    /// The prior variance of a latent at w, averaged over the latents.
    pub fn mean_variance(&self, w: &[f64]) -> f64 {
        match self {
            Structure::Spectral(_) => (2.0 * w[0]).exp(),
            Structure::Ar1(_) => (2.0 * w[1]).exp() * w[0].cosh().powi(2),
            Structure::Groups(groups) => (groups.sign() * w[0]).exp(),
            Structure::Dense(dense) => {
                let n = dense.dim();
                let mut sigma = DMatrix::zeros(n, n);
                dense.covariance().fill(w, &mut sigma);
                sigma.trace() / n as f64
            }
        }
    }
}

fn of_spectral(spectral: &Spectral, log_range: f64) -> Option<Fisher> {
    let torus = spectral.torus();
    let [s, first, second] = spectral.table().derivatives(log_range - spectral.cell().ln())?;
    let mut traces = [0.0; 4];
    let layout = spectral.table().layout();
    let width = layout.width();
    for k2 in 0..torus.half2() {
        for k1 in 0..width {
            let k = k2 * width + k1;
            let (a, b) = (first[k] / s[k], second[k] / s[k]);
            let terms = [a, a * a, b - a * a, a * (b - a * a)];
            let weight = layout.multiplicity(k2, k1);
            traces.iter_mut().zip(terms).for_each(|(sum, term)| *sum += weight * term);
        }
    }
    Some(Fisher::of_scaled(torus.dim() as f64, traces))
}

fn of_series(n: f64, phi: f64) -> Fisher {
    let rest = 1.0 - phi * phi;
    let matrix = [2.0 * phi * phi + (n - 1.0) * rest, 2.0 * phi, 2.0 * phi, 2.0 * n];
    let slope = [(4.0 - 2.0 * (n - 1.0)) * phi * rest, 2.0 * rest, 2.0 * rest, 0.0];
    Fisher {
        matrix: DMatrix::from_row_slice(2, 2, &matrix),
        slopes: vec![DMatrix::from_row_slice(2, 2, &slope), DMatrix::zeros(2, 2)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::{Ar1, Dense, Factor, Groups, Information, Kernel, Spectral, Stationary};
    use std::sync::Arc;

    fn structures() -> Vec<(Structure, Vec<f64>)> {
        let points: Vec<(f64, f64)> =
            (0..6).map(f64::from).map(|i| (0.7 * i, (1.9 * i).sin())).collect();
        let dense = Dense::new(Arc::new(Stationary::exponential(&points).unwrap())).unwrap();
        let grid = Spectral::new(3, 4, 0.5, Kernel::Exponential, (0.0, f64::INFINITY)).unwrap();
        vec![
            (Structure::Dense(dense), vec![0.3, 0.1]),
            (Structure::Spectral(grid), vec![-0.2, -0.4]),
            (Structure::Ar1(Ar1::new(7).unwrap()), vec![0.8, -0.3]),
            (Structure::Groups(Groups::new(3, 2).unwrap()), vec![0.7]),
        ]
    }

    /// Σ(w), column by column.
    fn covariance(factor: &mut dyn Factor, w: &[f64]) -> DMatrix<f64> {
        assert!(factor.set(w));
        let n = factor.dim();
        let mut root = DMatrix::zeros(n, n);
        for j in 0..n {
            let unit: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i == j))).collect();
            factor.apply(&unit, root.column_mut(j).as_mut_slice());
        }
        &root * root.transpose()
    }

    /// Central difference in w_k of a matrix.
    fn difference(w: &[f64], k: usize, mut f: impl FnMut(&[f64]) -> DMatrix<f64>) -> DMatrix<f64> {
        let h = 1e-4;
        let mut at = |sign: f64| {
            let mut moved = w.to_vec();
            moved[k] += sign * h;
            f(&moved)
        };
        (at(1.0) - at(-1.0)) / (2.0 * h)
    }

    #[test]
    fn information_is_the_trace_formula() {
        for (structure, w) in structures() {
            let mut factor = structure.factor(&Information::NONE).unwrap();
            let sigma = covariance(factor.as_mut(), &w);
            let inverse = sigma.clone().try_inverse().unwrap();
            let relative: Vec<DMatrix<f64>> = (0..w.len())
                .map(|k| &inverse * difference(&w, k, |w| covariance(factor.as_mut(), w)))
                .collect();
            let fisher = structure.fisher(&w).unwrap();
            for i in 0..w.len() {
                for j in 0..w.len() {
                    let want = 0.5 * (&relative[i] * &relative[j]).trace();
                    let got = fisher.matrix[(i, j)];
                    // The differences' own error is h² = 1e-8 of their size.
                    assert!(
                        (got - want).abs() < 1e-6 * (1.0 + want.abs()),
                        "{structure:?} {got} {want}"
                    );
                }
            }
            let mean = sigma.trace() / sigma.nrows() as f64;
            assert!((structure.mean_variance(&w) / mean - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn slopes_are_those_of_the_information() {
        for (structure, w) in structures() {
            let fisher = structure.fisher(&w).unwrap();
            for k in 0..w.len() {
                let want = difference(&w, k, |w| structure.fisher(w).unwrap().matrix);
                let size = 1.0 + fisher.matrix.amax();
                assert!((&fisher.slopes[k] - &want).amax() < 1e-6 * size, "{structure:?} {k}");
            }
        }
    }
}
