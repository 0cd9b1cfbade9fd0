//! Multiplies by a matrix kept row after row in single precision.

use crate::numeric::vectorised;
use serde::{Deserialize, Serialize};

/// Rows that are read at the same time.
const TOGETHER: usize = 4;

/// A matrix. Whatever rounding does to its entries is part of the map that uses it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rows {
    length: usize,
    entries: Vec<f32>,
}

impl Rows {
    /// From rows of this length, one after the other.
    pub(crate) fn new(length: usize, entries: &[f64]) -> Self {
        Self { length, entries: entries.iter().map(|&x| x as f32).collect() }
    }

    /// The squared length of each row.
    pub(crate) fn squared_norms(&self) -> impl Iterator<Item = f64> {
        let square = |&x: &f32| f64::from(x) * f64::from(x);
        self.entries.chunks_exact(self.length.max(1)).map(move |row| row.iter().map(square).sum())
    }

    /// The rows, four at a time.
    fn groups(&self) -> impl Iterator<Item = &[f32]> {
        self.entries.chunks(TOGETHER * self.length.max(1))
    }

    /// out = A x.
    pub(crate) fn dots(&self, x: &[f64], out: &mut [f64]) {
        if x.is_empty() {
            out.fill(0.0);
        }
        vectorised(
            #[inline(always)]
            || {
                for (group, out) in self.groups().zip(out.chunks_mut(TOGETHER)) {
                    match split(group, x.len()) {
                        Some(four) => out.copy_from_slice(&dots(four, x)),
                        None => {
                            for (row, out) in group.chunks_exact(x.len()).zip(out) {
                                *out = dots([row], x)[0];
                            }
                        }
                    }
                }
            },
        );
    }

    /// x += A'a.
    pub(crate) fn add_to(&self, a: &[f64], x: &mut [f64]) {
        vectorised(
            #[inline(always)]
            || {
                for (group, a) in self.groups().zip(a.chunks(TOGETHER)) {
                    match (split(group, x.len()), a) {
                        (Some([q0, q1, q2, q3]), &[a0, a1, a2, a3]) => {
                            for i in 0..x.len() {
                                let first = a0 * f64::from(q0[i]) + a1 * f64::from(q1[i]);
                                let second = a2 * f64::from(q2[i]) + a3 * f64::from(q3[i]);
                                x[i] += first + second;
                            }
                        }
                        _ => {
                            for (row, &a) in group.chunks_exact(x.len()).zip(a) {
                                x.iter_mut().zip(row).for_each(|(x, &q)| *x += a * f64::from(q));
                            }
                        }
                    }
                }
            },
        );
    }
}

/// Four rows of equal length, if there are four.
#[inline(always)]
fn split(group: &[f32], length: usize) -> Option<[&[f32]; TOGETHER]> {
    let mut each = group.chunks_exact(length);
    let four = std::array::from_fn(|_| each.next().unwrap_or_default());
    (group.len() == TOGETHER * length).then_some(four)
}

/// Inner products of several rows with one vector.
#[inline(always)]
fn dots<const K: usize>(q: [&[f32]; K], x: &[f64]) -> [f64; K] {
    const LANES: usize = 4;
    let n = x.len();
    let q = q.map(|q| &q[..n]);
    let mut sums = [[0.0; LANES]; K];
    let whole = n - n % LANES;
    let mut first = 0;
    while first < whole {
        let x = &x[first..first + LANES];
        for (q, sums) in q.iter().zip(&mut sums) {
            let q = &q[first..first + LANES];
            for lane in 0..LANES {
                sums[lane] += f64::from(q[lane]) * x[lane];
            }
        }
        first += LANES;
    }
    for i in whole..n {
        for (q, sums) in q.iter().zip(&mut sums) {
            sums[i - whole] += f64::from(q[i]) * x[i];
        }
    }
    sums.map(|s| (s[0] + s[2]) + (s[1] + s[3]))
}
