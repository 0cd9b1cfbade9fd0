//! Turns a symmetric matrix at a point into a metric: as it is (Fisher), or by its absolute eigenvalues (SoftAbs).
//!
//! With H = U + ½log|G| + ½p'G⁻¹p the metric's share of the force is ½tr(W ∂ₖA), A being the matrix G is made of:
//!
//! - G = A: W = G⁻¹ − vv', v = G⁻¹p.
//! - SoftAbs (Betancourt 2013), A = QΛQ' and G = Q f(Λ)Q' with f(λ) = λ coth(αλ), a smooth |λ| that never falls below 1/α:
//!   W = Q(diag(f'/f) − DJD)Q', D = diag(Q'p / f), J_ij = (f(λᵢ) − f(λⱼ))/(λᵢ − λⱼ).

use nalgebra::{Cholesky, DMatrix, DVector, Dyn, SymmetricEigen};
use std::sync::OnceLock;

/// How a metric is made of a matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MetricKind {
    /// G = A, which must be positive definite.
    Plain,
    /// G = A coth(αA).
    SoftAbs {
        /// How sharply eigenvalues are bent at zero; large is sharp.
        alpha: f64,
    },
}

/// A metric at one point.
#[derive(Clone, Debug)]
pub struct Metric {
    form: Form,
    log_det: f64,
}

#[derive(Clone, Debug)]
enum Form {
    Plain { factor: Cholesky<f64, Dyn>, inverse: OnceLock<DMatrix<f64>> },
    Soft { alpha: f64, vectors: DMatrix<f64>, values: DVector<f64>, bent: DVector<f64> },
}

impl Metric {
    /// The metric of a matrix; none if there is none.
    pub fn new(kind: MetricKind, matrix: DMatrix<f64>) -> Option<Self> {
        if matrix.iter().any(|a| !a.is_finite()) {
            return None;
        }
        match kind {
            MetricKind::Plain => {
                let factor = Cholesky::new(matrix)?;
                let log_det = 2.0 * factor.l_dirty().diagonal().iter().map(|l| l.ln()).sum::<f64>();
                Some(Self { form: Form::Plain { factor, inverse: OnceLock::new() }, log_det })
            }
            MetricKind::SoftAbs { alpha } => {
                let eigen = SymmetricEigen::try_new(matrix, f64::EPSILON, 10_000)?;
                let bent = eigen.eigenvalues.map(|l| soft_abs(alpha, l));
                let log_det = bent.iter().map(|f| f.ln()).sum();
                let (vectors, values) = (eigen.eigenvectors, eigen.eigenvalues);
                Some(Self { form: Form::Soft { alpha, vectors, values, bent }, log_det })
            }
        }
    }

    /// log|G|.
    pub fn log_det(&self) -> f64 {
        self.log_det
    }

    /// Turns standard normals into p ~ N(0, G).
    pub fn draw(&self, normals: &DVector<f64>) -> DVector<f64> {
        match &self.form {
            Form::Plain { factor, .. } => factor.l() * normals,
            Form::Soft { vectors, bent, .. } => {
                vectors * normals.zip_map(bent, |x, f| x * f.sqrt())
            }
        }
    }

    /// G⁻¹p.
    pub fn velocity(&self, p: &DVector<f64>) -> DVector<f64> {
        match &self.form {
            Form::Plain { factor, .. } => factor.solve(p),
            Form::Soft { vectors, bent, .. } => {
                vectors * vectors.tr_mul(p).zip_map(bent, |x, f| x / f)
            }
        }
    }

    /// W, with which the metric's force is ½tr(W ∂ₖA).
    pub fn weight(&self, p: &DVector<f64>) -> DMatrix<f64> {
        match &self.form {
            Form::Plain { factor, inverse } => {
                let v = factor.solve(p);
                // Asked for only where the force is, not at every guess of an implicit position.
                let mut weight = inverse.get_or_init(|| factor.inverse()).clone();
                weight.ger(-1.0, &v, &v, 1.0);
                weight
            }
            Form::Soft { alpha, vectors, values, bent } => {
                let d = vectors.tr_mul(p).zip_map(bent, |x, f| x / f);
                let inner = DMatrix::from_fn(values.len(), values.len(), |i, j| {
                    let slope =
                        divided_difference(*alpha, [values[i], values[j]], [bent[i], bent[j]]);
                    let own = if i == j { slope / bent[i] } else { 0.0 };
                    own - d[i] * slope * d[j]
                });
                vectors * inner * vectors.transpose()
            }
        }
    }
}

/// λ coth(αλ).
fn soft_abs(alpha: f64, l: f64) -> f64 {
    let x = alpha * l;
    // The series' next term is x⁴/45.
    if x.abs() < 1e-3 { (1.0 + x * x / 3.0) / alpha } else { l / x.tanh() }
}

/// Its derivative.
fn soft_slope(alpha: f64, l: f64) -> f64 {
    let x = alpha * l;
    match x.abs() {
        size if size < 1e-3 => 2.0 * x / 3.0,
        // sinh overflows where the rest is ±1 to the last bit.
        size if size > 300.0 => x.signum(),
        _ => 1.0 / x.tanh() - x / x.sinh().powi(2),
    }
}

/// (f(a) − f(b))/(a − b), by the slope between them where the difference has lost its digits.
fn divided_difference(alpha: f64, [a, b]: [f64; 2], [fa, fb]: [f64; 2]) -> f64 {
    let close = 1e-5 * (a.abs().max(b.abs()) + 1.0 / alpha);
    if (a - b).abs() < close { soft_slope(alpha, 0.5 * (a + b)) } else { (fa - fb) / (a - b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A symmetric matrix that moves with t, indefinite and with a double eigenvalue at t = 0.
    fn matrix(t: f64) -> DMatrix<f64> {
        let base = DMatrix::from_row_slice(3, 3, &[2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, -0.7]);
        base + t * slope()
    }

    fn slope() -> DMatrix<f64> {
        DMatrix::from_row_slice(3, 3, &[0.3, -0.2, 0.5, -0.2, 1.1, 0.4, 0.5, 0.4, -0.6])
    }

    #[test]
    fn weights_give_the_derivative_of_the_kinetic_energy() {
        let p = DVector::from_vec(vec![0.7, -1.3, 0.4]);
        let shift = DMatrix::identity(3, 3) * 2.0;
        for kind in [
            MetricKind::Plain,
            MetricKind::SoftAbs { alpha: 1.7 },
            MetricKind::SoftAbs { alpha: 1e6 },
        ] {
            let at = |t: f64| {
                let lifted = if kind == MetricKind::Plain { matrix(t) + &shift } else { matrix(t) };
                Metric::new(kind, lifted).unwrap()
            };
            let energy = |t: f64| {
                let metric = at(t);
                0.5 * (metric.log_det() + p.dot(&metric.velocity(&p)))
            };
            for t in [0.0, 0.3, -0.8] {
                let h = 1e-4;
                let want = (8.0 * (energy(t + h) - energy(t - h)) - energy(t + 2.0 * h)
                    + energy(t - 2.0 * h))
                    / (12.0 * h);
                let got = 0.5 * (at(t).weight(&p) * slope()).trace();
                // Rounding ε/h of the difference, and 1e-10 where eigenvalues count as one.
                assert!((got - want).abs() < 1e-9, "{kind:?} {t}: {got} {want}");
            }
        }
    }

    #[test]
    fn draws_have_the_metric_as_their_covariance() {
        let metric = Metric::new(MetricKind::SoftAbs { alpha: 2.0 }, matrix(0.4)).unwrap();
        for k in 0..3 {
            let unit = DVector::from_fn(3, |i, _| f64::from(u8::from(i == k)));
            // L'G⁻¹L = I column by column.
            let back = DVector::from_fn(3, |i, _| {
                let other = DVector::from_fn(3, |j, _| f64::from(u8::from(i == j)));
                metric.draw(&other).dot(&metric.velocity(&metric.draw(&unit)))
            });
            assert!((back - unit).amax() < 1e-14 * 16.0);
        }
    }

    #[test]
    fn what_is_no_metric_is_refused() {
        assert!(Metric::new(MetricKind::Plain, matrix(0.0)).is_none());
        let broken = DMatrix::from_element(2, 2, f64::NAN);
        assert!(Metric::new(MetricKind::SoftAbs { alpha: 1.0 }, broken).is_none());
    }
}
