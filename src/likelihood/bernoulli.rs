//! Observes yes and no in groups, each group with coefficients of its own.
//!
//! > P(y_r = 1) = 1/(1 + exp(−w_g'x_r)):  −log p = Σ_r log(1 + exp(−t_r)),  t_r = y_r w_g'x_r,  y_r = ±1
//!
//! The predictor here is the coefficient vector itself, group after group. Rows are stored multiplied by their label,
//! which then drops out of every formula: the gradient is −Σ (1−p_r) y_r x_r with p_r = 1/(1+e^{−t_r}), and minus the
//! Hessian is X'WX with W = p(1−p).

use super::{Curvature, Likelihood, check, check_length, exponentials};
use crate::error::{Error, Result};
use crate::numeric::inline::{axpy, dot};
use nalgebra::DMatrix;
use std::ops::Range;
use std::sync::Arc;

/// Rows whose exponentials are taken together; on the stack, so that nothing is allocated.
const BATCH: usize = 64;

/// Logistic regression with one coefficient vector a group.
#[derive(Clone, Debug, PartialEq)]
pub struct BernoulliLogit {
    /// y_r x_r, row after row.
    signed: Vec<f64>,
    /// The rows of each group.
    rows: Vec<Range<usize>>,
    size: usize,
}

impl BernoulliLogit {
    /// Labels ±1, the design row after row with `size` features each, and the rows of each group: the first range
    /// starts at zero, each starts where the last one ended, and together they are all rows. A range may be empty.
    pub fn new(
        labels: &[f64],
        design: &[f64],
        rows: Vec<Range<usize>>,
        size: usize,
    ) -> Result<Self> {
        if size == 0 || rows.is_empty() {
            let got = format!("{size} features and {} groups", rows.len());
            return Err(Error::input(
                "design",
                "at least one feature and one group",
                got,
                "check the columns of the table",
            ));
        }
        check_length(
            "design",
            design.len(),
            labels.len().saturating_mul(size),
            "label and feature",
        )?;
        check("label", labels, "1 or -1", "code no as -1", |y| y.abs() == 1.0)?;
        check(
            "design entry",
            design,
            "a finite number",
            "drop or impute missing features",
            f64::is_finite,
        )?;
        let mut next = 0;
        for (g, range) in rows.iter().enumerate() {
            if range.start != next || range.end < range.start || range.end > labels.len() {
                let expected = format!("{next}..end with end from {next} to {}", labels.len());
                return Err(Error::input(
                    format!("rows of group {g}"),
                    expected,
                    format!("{range:?}"),
                    "sort the rows by group",
                ));
            }
            next = range.end;
        }
        check_length("rows of all groups", next, labels.len(), "label")?;
        let signed = design
            .chunks_exact(size)
            .zip(labels)
            .flat_map(|(x, y)| x.iter().map(move |x| x * y))
            .collect();
        Ok(BernoulliLogit { signed, rows, size })
    }

    /// Number of coefficients of a group.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Calls `visit(x, t, e)` for each row of the range: the signed row, t = w'x and e = exp(−|t|), which never overflows.
    #[inline(always)]
    fn margins(&self, rows: &Range<usize>, w: &[f64], mut visit: impl FnMut(&[f64], f64, f64)) {
        let group = &self.signed[rows.start * self.size..rows.end * self.size];
        let (mut t, mut negative, mut e) = ([0.0; BATCH], [0.0; BATCH], [0.0; BATCH]);
        for batch in group.chunks(BATCH * self.size) {
            let count = batch.len() / self.size;
            for ((t, negative), x) in
                t.iter_mut().zip(&mut negative).zip(batch.chunks_exact(self.size))
            {
                *t = dot(w, x);
                *negative = -t.abs();
            }
            exponentials(1.0, &negative[..count], &mut e[..count]);
            for ((x, t), e) in batch.chunks_exact(self.size).zip(&t).zip(&e) {
                visit(x, *t, *e);
            }
        }
    }
}

impl Likelihood for BernoulliLogit {
    fn sites(&self) -> usize {
        self.rows.len() * self.size
    }

    fn evaluate(&self, eta: &[f64], _: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        let mut total = 0.0;
        // Σ log(1 + e) as logarithms of products, one for hundreds of rows: 1 + e is at most 2.
        let mut product = 1.0f64;
        let groups = eta.chunks_exact(self.size).zip(gradient.chunks_exact_mut(self.size));
        for (rows, (w, gradient)) in self.rows.iter().zip(groups) {
            gradient.fill(0.0);
            self.margins(rows, w, |x, t, e| {
                total += (-t).max(0.0);
                product *= 1.0 + e;
                if product > 1e250 {
                    total += product.ln();
                    product = 1.0;
                }
                let missing = if t >= 0.0 { e } else { 1.0 } / (1.0 + e); // 1 − p
                axpy(-missing, x, gradient);
            });
        }
        total + product.ln()
    }

    fn curvature(&self, eta: &[f64], _: &[f64]) -> Curvature {
        let block = |(rows, w): (&Range<usize>, &[f64])| {
            let mut block = DMatrix::zeros(self.size, self.size);
            self.margins(rows, w, |x, _, e| {
                let weight = e / ((1.0 + e) * (1.0 + e));
                for (j, right) in x.iter().enumerate() {
                    for (i, left) in x.iter().enumerate().skip(j) {
                        block[(i, j)] += weight * left * right;
                    }
                }
            });
            // One triangle is summed and copied, so that the block is symmetric to the last bit.
            block.fill_upper_triangle_with_lower_triangle();
            block
        };
        Curvature::Blocks(self.rows.iter().zip(eta.chunks_exact(self.size)).map(block).collect())
    }

    fn part(&self, group: usize) -> Option<Arc<dyn Likelihood>> {
        let rows = self.rows.get(group)?;
        let signed = self.signed[rows.start * self.size..rows.end * self.size].to_vec();
        let rows = std::iter::once(0..rows.len()).collect();
        Some(Arc::new(Self { signed, rows, size: self.size }))
    }

    /// Σ_r (x'Wx) ω'(t) x with ω = p(1−p), whose derivative is ω(1−2p) = −ω (1−e)/(1+e) for t ≥ 0, and odd.
    fn curvature_gradient(
        &self,
        eta: &[f64],
        _: &[f64],
        weights: &[DMatrix<f64>],
        out: &mut [f64],
    ) -> bool {
        let groups = eta.chunks_exact(self.size).zip(out.chunks_exact_mut(self.size));
        for ((rows, weight), (w, out)) in self.rows.iter().zip(weights).zip(groups) {
            out.fill(0.0);
            self.margins(rows, w, |x, t, e| {
                let columns = weight.as_slice().chunks_exact(self.size);
                let square: f64 = x.iter().zip(columns).map(|(x_j, c)| x_j * dot(x, c)).sum();
                let slope = -t.signum() * e * (1.0 - e) / (1.0 + e).powi(3);
                axpy(square * slope, x, out);
            });
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(label: f64) -> BernoulliLogit {
        BernoulliLogit::new(&[label], &[1.0], std::iter::once(0..1).collect(), 1).unwrap()
    }

    #[test]
    fn far_tails_neither_overflow_nor_vanish() {
        let mut gradient = [f64::NAN];
        assert_eq!(one(1.0).evaluate(&[-800.0], &[], &mut gradient, &mut []), 800.0);
        assert_eq!(gradient, [-1.0]);
        // An energy needs absolute accuracy, a gradient relative.
        assert!(one(-1.0).evaluate(&[-40.0], &[], &mut gradient, &mut []).abs() < 1e-15);
        assert!((gradient[0] / (-40f64).exp() - 1.0).abs() < 1e-14);
    }

    #[test]
    fn the_curvature_has_the_gradient_it_says() {
        let design: Vec<f64> = (0..10).map(|i| ((i * 7 + 3) % 11) as f64 / 5.0 - 1.0).collect();
        let labels = [1.0, -1.0, 1.0, 1.0, -1.0];
        let likelihood = BernoulliLogit::new(&labels, &design, vec![0..3, 3..5], 2).unwrap();
        let weights = [[1.0, 0.3, 0.3, -0.5], [0.2, -0.7, -0.7, 0.9]]
            .map(|w| DMatrix::from_row_slice(2, 2, &w));
        let eta = [0.4, -1.1, 0.8, 0.3];
        let value = |eta: &[f64]| {
            let Curvature::Blocks(blocks) = likelihood.curvature(eta, &[]) else { panic!() };
            blocks.iter().zip(&weights).map(|(c, w)| (c * w).trace()).sum::<f64>()
        };
        let mut got = [f64::NAN; 4];
        assert!(likelihood.curvature_gradient(&eta, &[], &weights, &mut got));
        for k in 0..4 {
            let at = |step: f64| {
                let mut moved = eta;
                moved[k] += step;
                value(&moved)
            };
            let want = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((got[k] - want).abs() < 1e-9, "{k}: {} {want}", got[k]);
        }
    }

    #[test]
    fn bad_data_are_errors() {
        let with = |labels: &[f64], design: &[f64], rows: &[(usize, usize)], size: usize| {
            BernoulliLogit::new(labels, design, rows.iter().map(|&(a, b)| a..b).collect(), size)
        };
        assert!(with(&[1.0, -1.0], &[1.0; 4], &[(0, 1), (1, 2)], 2).is_ok());
        assert!(with(&[1.0, -1.0], &[1.0; 4], &[(0, 0), (0, 2)], 2).is_ok());
        assert!(with(&[1.0, 0.0], &[1.0; 4], &[(0, 2)], 2).is_err());
        assert!(with(&[1.0, -1.0], &[1.0; 3], &[(0, 2)], 2).is_err());
        assert!(with(&[1.0, -1.0], &[1.0, 2.0, f64::NAN, 0.0], &[(0, 2)], 2).is_err());
        for rows in [&[(0, 1)][..], &[(0, 3)], &[(1, 2)], &[(0, 1), (0, 2)], &[(0, 2), (2, 1)], &[]]
        {
            assert!(with(&[1.0, -1.0], &[1.0; 4], rows, 2).is_err(), "{rows:?}");
        }
        assert!(with(&[], &[], &[(0, 0)], 0).is_err());
    }
}
