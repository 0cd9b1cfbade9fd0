//! Factors any covariance by dense algebra: the reference for the other structures, up to a few thousand latents.
//!
//! T is the lower Cholesky factor of V = (Σ⁻¹ + κI)⁻¹. With Σ = L L' and the reversed factorisation
//! I + κ L'L = U U', U upper triangular,
//!
//! > V = L (U U')⁻¹ L',  T = L U⁻ᵀ,
//!
//! which never inverts Σ and, as I + κ L'L has no eigenvalue below one, is stable for every κ. Because
//! ∂V = V Σ⁻¹ ∂Σ Σ⁻¹ V, the derivative of a Cholesky factor (Murray 2016, arXiv:1602.07527) becomes
//!
//! > ∂T = T Φ(R),  R = T⁻¹ ∂V T⁻ᵀ = U⁻¹ L⁻¹ ∂Σ L⁻ᵀ U⁻ᵀ,  ∂ log|V| = tr R,
//!
//! where Φ keeps the lower triangle and halves the diagonal. R is made once for each hyperparameter in `set`;
//! everything after it is O(n²).

use super::covariance::Covariance;
use super::triangular::{cholesky, divide, divide_both_sides, reverse};
use super::{Factor, Information};
use crate::error::{Error, Result};
use crate::numeric::{axpy, dot, scale_into};
use nalgebra::DMatrix;
use std::sync::Arc;

/// A prior given by its covariance matrix alone; w is the covariance's own.
#[derive(Clone, Debug)]
pub struct Dense {
    covariance: Arc<dyn Covariance>,
}

impl Dense {
    /// The prior N(0, Σ(w)) of a covariance.
    pub fn new(covariance: Arc<dyn Covariance>) -> Result<Self> {
        if covariance.dim() == 0 {
            return Err(Error::input(
                "covariance",
                "at least one latent",
                "none",
                "check its dim()",
            ));
        }
        Ok(Dense { covariance })
    }

    /// The covariance.
    pub fn covariance(&self) -> &dyn Covariance {
        self.covariance.as_ref()
    }

    /// Number of latents.
    pub fn dim(&self) -> usize {
        self.covariance.dim()
    }

    /// Number of working hyperparameters.
    pub fn parameters(&self) -> usize {
        self.covariance.parameters()
    }

    pub(super) fn factor(&self, information: &Information) -> Result<DenseFactor> {
        let kappa = information.scalar("a dense prior")?;
        let n = self.dim();
        Ok(DenseFactor {
            covariance: Arc::clone(&self.covariance),
            kappa,
            factor: DMatrix::identity(n, n),
            relative: vec![DMatrix::zeros(n, n); self.parameters()],
            pulled: vec![0.0; n],
        })
    }
}

/// The lower Cholesky factor of a dense V, with its derivatives.
#[derive(Clone, Debug)]
pub(super) struct DenseFactor {
    covariance: Arc<dyn Covariance>,
    kappa: f64,
    /// T, zeros above the diagonal.
    factor: DMatrix<f64>,
    /// R of each hyperparameter.
    relative: Vec<DMatrix<f64>>,
    /// T'a, for `sensitivity`.
    pulled: Vec<f64>,
}

/// The lower triangular J U J of I + κ L'L = U U', where J reverses the order.
fn reversed_factor(l: &DMatrix<f64>, kappa: f64) -> Option<DMatrix<f64>> {
    let n = l.nrows();
    let mut inner = DMatrix::identity(n, n);
    inner.gemm(kappa, &l.transpose(), l, 1.0);
    reverse(&mut inner);
    cholesky(&mut inner).then_some(inner)
}

impl DenseFactor {
    fn try_set(&mut self, w: &[f64]) -> Option<()> {
        let mut l = std::mem::replace(&mut self.factor, DMatrix::zeros(0, 0));
        self.covariance.fill(w, &mut l);
        let positive = cholesky(&mut l);
        let inner =
            if positive && self.kappa > 0.0 { reversed_factor(&l, self.kappa) } else { None };
        if !positive || (self.kappa > 0.0 && inner.is_none()) {
            self.factor = l;
            return None;
        }
        for (k, relative) in self.relative.iter_mut().enumerate() {
            let mut work = std::mem::replace(relative, DMatrix::zeros(0, 0));
            if self.covariance.is_log_scale(k) {
                // L⁻¹(2Σ)L⁻ᵀ.
                work.fill_with_identity();
                work *= 2.0;
            } else {
                self.covariance.fill_derivative(w, k, &mut work);
                work = divide_both_sides(&l, work);
            }
            if let Some(inner) = &inner {
                reverse(&mut work);
                work = divide_both_sides(inner, work);
                reverse(&mut work);
            }
            *relative = work;
        }
        if let Some(inner) = &inner {
            // L U⁻ᵀ = J (J L J) (J U J)⁻ᵀ J.
            reverse(&mut l);
            divide(inner.as_view(), l.as_view_mut());
            reverse(&mut l);
            l.fill_upper_triangle(0.0, 1);
        }
        self.factor = l;
        let finite = |m: &DMatrix<f64>| m.iter().all(|x| x.is_finite());
        (finite(&self.factor) && self.relative.iter().all(finite)).then_some(())
    }
}

/// Column j of a matrix from the diagonal down.
fn lower_column(matrix: &DMatrix<f64>, j: usize) -> &[f64] {
    let n = matrix.nrows();
    &matrix.as_slice()[j * n + j..(j + 1) * n]
}

fn transpose_multiply(lower: &DMatrix<f64>, y: &[f64], out: &mut [f64]) {
    for (j, out) in out.iter_mut().enumerate() {
        *out = dot(lower_column(lower, j), &y[j..]);
    }
}

impl Factor for DenseFactor {
    fn dim(&self) -> usize {
        self.pulled.len()
    }

    fn parameters(&self) -> usize {
        self.relative.len()
    }

    fn set(&mut self, w: &[f64]) -> bool {
        self.try_set(w).is_some()
    }

    fn log_det(&self) -> f64 {
        2.0 * self.factor.diagonal().iter().map(|t| t.ln()).sum::<f64>()
    }

    fn log_det_gradient(&self, out: &mut [f64]) {
        for (out, relative) in out.iter_mut().zip(&self.relative) {
            *out = relative.trace();
        }
    }

    fn apply(&mut self, z: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (j, z) in z.iter().enumerate() {
            axpy(*z, lower_column(&self.factor, j), &mut out[j..]);
        }
    }

    fn apply_transposed(&mut self, y: &[f64], out: &mut [f64]) {
        transpose_multiply(&self.factor, y, out);
    }

    fn solve(&mut self, u: &[f64], out: &mut [f64]) {
        out.copy_from_slice(u);
        for j in 0..u.len() {
            let column = lower_column(&self.factor, j);
            out[j] /= column[0];
            let solved = out[j];
            axpy(-solved, &column[1..], &mut out[j + 1..]);
        }
    }

    fn solve_transposed(&mut self, r: &[f64], out: &mut [f64]) {
        for j in (0..r.len()).rev() {
            let column = lower_column(&self.factor, j);
            out[j] = (r[j] - dot(&column[1..], &out[j + 1..])) / column[0];
        }
    }

    /// a' T Φ(R) z, column by column of R.
    fn sensitivity(&mut self, a: &[f64], z: &[f64], out: &mut [f64]) {
        transpose_multiply(&self.factor, a, &mut self.pulled);
        let pulled = &self.pulled;
        for (out, relative) in out.iter_mut().zip(&self.relative) {
            let column = |j| {
                let column = lower_column(relative, j);
                z[j] * (dot(column, &pulled[j..]) - 0.5 * column[0] * pulled[j])
            };
            *out = (0..z.len()).map(column).sum();
        }
    }

    fn information(&self, v: &[f64], out: &mut [f64]) {
        scale_into(self.kappa, v, out);
    }
}
