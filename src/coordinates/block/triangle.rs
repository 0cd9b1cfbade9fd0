//! Multiplies by a unit upper triangular matrix whose entries are linear functions of û.

use super::shape::LINEAR;
use crate::numeric::vectorised;
use serde::{Deserialize, Serialize};

/// U(û) = I + diag(g) Σ_j T_j(û) U_j, g being weights of the rows that its user gives.
///
/// Row i holds its entries right of the diagonal, for each of the three U_j, in single precision: whatever
/// they are, the map is exact, and they are read at every gradient.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Triangle {
    rows: usize,
    columns: usize,
    entries: Vec<f32>,
}

impl Triangle {
    /// From the entries right of the diagonal, by term, row and column.
    pub(crate) fn new(
        rows: usize,
        columns: usize,
        mut entry: impl FnMut(usize, usize, usize) -> f64,
    ) -> Self {
        let mut entries = Vec::with_capacity(LINEAR * rows * columns);
        for i in 0..rows {
            for term in 0..LINEAR {
                entries.extend((i + 1..columns).map(|j| entry(term, i, j) as f32));
            }
        }
        Self { rows, columns, entries }
    }

    /// Where row i begins.
    fn start(&self, i: usize) -> usize {
        LINEAR * (i * (self.columns - 1) - i * i.saturating_sub(1) / 2)
    }

    /// The three parts of row i.
    fn row(&self, i: usize) -> [&[f32]; LINEAR] {
        let (start, length) = (self.start(i), self.columns - 1 - i);
        std::array::from_fn(|term| {
            &self.entries[start + term * length..start + (term + 1) * length]
        })
    }

    /// For each row i: out_i = q_i + g_i Σ_j T_j (U_j q)_i; `parts` keeps that sum, (U_1 q)_i and (U_2 q)_i.
    pub(crate) fn apply(
        &self,
        (terms, weights): (&[f64], &[f64]),
        q: &[f64],
        out: &mut [f64],
        parts: &mut [[f64; LINEAR]],
    ) {
        vectorised(
            #[inline(always)]
            || {
                for i in 0..self.rows {
                    let [u0, u1, u2] = self.row(i);
                    let [a0, a1, a2] = dots(u0, u1, u2, &q[i + 1..]);
                    let sum = terms[0] * a0 + terms[1] * a1 + terms[2] * a2;
                    out[i] = q[i] + weights[i] * sum;
                    parts[i] = [sum, a1, a2];
                }
            },
        );
    }

    /// out = U(û)' f for the columns, f having an entry for each row.
    pub(crate) fn apply_transposed(
        &self,
        (terms, weights): (&[f64], &[f64]),
        f: &[f64],
        out: &mut [f64],
    ) {
        out[..self.rows].copy_from_slice(&f[..self.rows]);
        out[self.rows..].fill(0.0);
        vectorised(
            #[inline(always)]
            || {
                for i in 0..self.rows {
                    let [u0, u1, u2] = self.row(i);
                    let f = weights[i] * f[i];
                    let (f0, f1, f2) = (terms[0] * f, terms[1] * f, terms[2] * f);
                    let out = &mut out[i + 1..];
                    let n = out.len();
                    let (u0, u1, u2) = (&u0[..n], &u1[..n], &u2[..n]);
                    for j in 0..n {
                        out[j] +=
                            f0 * f64::from(u0[j]) + (f1 * f64::from(u1[j]) + f2 * f64::from(u2[j]));
                    }
                }
            },
        );
    }

    /// Solves U(û) q = f from the last row up, where the entries of q beyond the rows are given.
    pub(crate) fn solve(&self, (terms, weights): (&[f64], &[f64]), f: &[f64], q: &mut [f64]) {
        for i in (0..self.rows).rev() {
            let [u0, u1, u2] = self.row(i);
            let [a0, a1, a2] = dots(u0, u1, u2, &q[i + 1..]);
            q[i] = f[i] - weights[i] * (terms[0] * a0 + terms[1] * a1 + terms[2] * a2);
        }
    }
}

/// Inner products of three rows with one vector.
#[inline(always)]
fn dots(u0: &[f32], u1: &[f32], u2: &[f32], q: &[f64]) -> [f64; 3] {
    const LANES: usize = 8;
    let n = q.len();
    let (u0, u1, u2) = (&u0[..n], &u1[..n], &u2[..n]);
    let (mut s0, mut s1, mut s2) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    let whole = u0.chunks_exact(LANES).zip(u1.chunks_exact(LANES)).zip(u2.chunks_exact(LANES));
    for (((a, b), c), q) in whole.zip(q.chunks_exact(LANES)) {
        for lane in 0..LANES {
            s0[lane] += f64::from(a[lane]) * q[lane];
            s1[lane] += f64::from(b[lane]) * q[lane];
            s2[lane] += f64::from(c[lane]) * q[lane];
        }
    }
    let rest = n - n % LANES;
    for (lane, j) in (rest..n).enumerate() {
        s0[lane] += f64::from(u0[j]) * q[j];
        s1[lane] += f64::from(u1[j]) * q[j];
        s2[lane] += f64::from(u2[j]) * q[j];
    }
    [s0, s1, s2].map(|s| ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(n: usize, salt: f64) -> Vec<f64> {
        (0..n).map(|i| (1.0 + 12.9898 * i as f64 + salt).sin()).collect()
    }

    #[test]
    fn products_transposes_and_solutions_belong_together() {
        for (rows, columns) in [(1, 1), (1, 3), (7, 7), (9, 11), (33, 34)] {
            let entry = |t: usize, i: usize, j: usize| (1.0 + (3 * t + 5 * i + 7 * j) as f64).sin();
            let triangle = Triangle::new(rows, columns, entry);
            let terms = [1.0, 0.3, -0.7];
            let weights: Vec<f64> = (0..rows).map(|i| 1.0 / (1.0 + i as f64)).collect();
            let at = (&terms[..], &weights[..]);
            let value = |i: usize, j: usize| match i.cmp(&j) {
                std::cmp::Ordering::Less => {
                    let sum = (0..3).map(|t| terms[t] * f64::from(entry(t, i, j) as f32));
                    weights[i] * sum.sum::<f64>()
                }
                std::cmp::Ordering::Equal => 1.0,
                std::cmp::Ordering::Greater => 0.0,
            };
            let (q, f) = (noise(columns, 0.0), noise(rows, 3.0));
            let (mut out, mut parts) = (vec![f64::NAN; rows], vec![[f64::NAN; 3]; rows]);
            triangle.apply(at, &q, &mut out, &mut parts);
            for i in 0..rows {
                let want: f64 = (0..columns).map(|j| value(i, j) * q[j]).sum();
                assert!((out[i] - want).abs() < 1e-12, "{} {want}", out[i]);
                let want: f64 =
                    (i + 1..columns).map(|j| f64::from(entry(2, i, j) as f32) * q[j]).sum();
                assert!((parts[i][2] - want).abs() < 1e-12);
            }
            let mut back = vec![f64::NAN; columns];
            triangle.apply_transposed(at, &f, &mut back);
            for j in 0..columns {
                let want: f64 = (0..rows).map(|i| value(i, j) * f[i]).sum();
                assert!((back[j] - want).abs() < 1e-12, "{} {want}", back[j]);
            }
            let mut solved = q.clone();
            solved[..rows].fill(0.0);
            triangle.solve(at, &out, &mut solved);
            assert!(solved.iter().zip(&q).all(|(a, b)| (a - b).abs() < 1e-9));
        }
    }
}
