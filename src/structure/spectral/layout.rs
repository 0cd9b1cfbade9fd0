//! Says which degrees of freedom share a value of the spectrum.
//!
//! A real field has S(−k) = S(k), and one without a slanting direction also S(−k₁, k₂) = S(k₁, k₂). So in row k₂ the values are
//! - those of k₁ = 0 … P₁/2 for a field with both symmetries: a quarter of the spectrum in all;
//! - those of all k₁ for the others, a half of it. The two edge rows are symmetric by themselves and use only the first half of
//!   theirs; the rest of these two is never read.

use super::Torus;
use std::ops::Range;

/// Where the values of a spectrum are and how often each counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    torus: Torus,
    /// Whether S(−k₁, k₂) = S(k₁, k₂).
    mirrored: bool,
}

impl Layout {
    /// A quarter of the spectrum if it looks the same in a mirror, half of it otherwise.
    pub(crate) fn new(torus: Torus, mirrored: bool) -> Self {
        Self { torus, mirrored }
    }

    /// Whether only a quarter of the spectrum is kept.
    pub(crate) fn is_quarter(&self) -> bool {
        self.mirrored
    }

    /// Values of a row.
    pub(crate) fn width(&self) -> usize {
        if self.mirrored { self.torus.half1() } else { self.torus.p1 }
    }

    /// k₁ = P₁/2, with which a folded row ends.
    pub(crate) fn last(&self) -> usize {
        self.torus.p1 / 2
    }

    /// Values in all.
    pub(crate) fn len(&self) -> usize {
        self.width() * self.torus.half2()
    }

    /// Where the values of row k₂ are.
    pub(crate) fn row(&self, k2: usize) -> Range<usize> {
        k2 * self.width()..(k2 + 1) * self.width()
    }

    /// Whether row k₂ is one of the two that are their own mirror image.
    pub(crate) fn is_edge(&self, k2: usize) -> bool {
        self.torus.is_edge(k2)
    }

    /// How many real degrees of freedom share value k₁ of a row that is not an edge.
    pub(crate) fn column_multiplicity(&self, k1: usize) -> f64 {
        let end = k1 == 0 || k1 == self.last();
        if self.mirrored && !end { 4.0 } else { 2.0 }
    }

    /// How many real degrees of freedom share value k₁ of row k₂.
    pub(crate) fn multiplicity(&self, k2: usize, k1: usize) -> f64 {
        let last = self.last();
        match self.is_edge(k2) {
            false => self.column_multiplicity(k1),
            true if k1 > last => 0.0,
            true if k1 == 0 || k1 == last => 1.0,
            true => 2.0,
        }
    }

    /// Which value each of some degrees of freedom has.
    pub(crate) fn values_of(&self, places: &[u32]) -> Vec<u32> {
        let mut all = vec![0.0; self.torus.dim()];
        for k2 in 0..self.torus.half2() {
            let numbers: Vec<f64> = self.row(k2).map(|value| value as f64).collect();
            self.expand(k2, &numbers, &mut all[self.torus.row(k2)]);
        }
        places.iter().map(|&place| all[place as usize] as u32).collect()
    }

    /// Spreads the values of row k₂ over the degrees of freedom that share them.
    #[inline(always)]
    pub(crate) fn expand(&self, k2: usize, values: &[f64], out: &mut [f64]) {
        let h = self.last();
        if self.torus.is_edge(k2) {
            out[0] = values[0];
            out[1] = values[h];
            spread(&values[1..h], &mut out[2..]);
        } else if self.mirrored {
            let (low, high) = out.split_at_mut(2 * (h + 1));
            spread(values, low);
            for (pair, &v) in high.chunks_exact_mut(2).zip(values[1..h].iter().rev()) {
                pair.fill(v);
            }
        } else {
            spread(values, out);
        }
    }

    /// The adjoint of [`Self::expand`]: adds up the degrees of freedom that share a value.
    #[inline(always)]
    pub(crate) fn fold(&self, k2: usize, dofs: &[f64], values: &mut [f64]) {
        let h = self.last();
        if self.torus.is_edge(k2) {
            values[0] = dofs[0];
            gather(&dofs[2..], &mut values[1..h]);
            values[h] = dofs[1];
            values[h + 1..].fill(0.0);
        } else if self.mirrored {
            let (low, high) = dofs.split_at(2 * (h + 1));
            gather(low, values);
            for (v, pair) in values[1..h].iter_mut().rev().zip(high.chunks_exact(2)) {
                *v += pair[0] + pair[1];
            }
        } else {
            gather(dofs, values);
        }
    }
}

/// Writes every value twice.
#[inline(always)]
fn spread(values: &[f64], out: &mut [f64]) {
    for (pair, &v) in out.chunks_exact_mut(2).zip(values) {
        pair.fill(v);
    }
}

/// Adds up pairs.
#[inline(always)]
fn gather(pairs: &[f64], values: &mut [f64]) {
    for (v, pair) in values.iter_mut().zip(pairs.chunks_exact(2)) {
        *v = pair[0] + pair[1];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(n: usize, salt: f64) -> Vec<f64> {
        (0..n).map(|i| (1.0 + 12.9898 * i as f64 + salt).sin()).collect()
    }

    #[test]
    fn fold_is_the_adjoint_of_expand_and_counts_the_degrees_of_freedom() {
        for mirrored in [true, false] {
            for torus in [Torus::around(5, 4), Torus::around(1, 1)] {
                let layout = Layout::new(torus, mirrored);
                let mut total = 0.0;
                for k2 in 0..torus.half2() {
                    let values = noise(layout.width(), 0.0);
                    let dofs = noise(torus.row(k2).len(), 4.0);
                    let mut wide = vec![f64::NAN; dofs.len()];
                    let mut narrow = vec![f64::NAN; values.len()];
                    layout.expand(k2, &values, &mut wide);
                    layout.fold(k2, &dofs, &mut narrow);
                    let left: f64 = wide.iter().zip(&dofs).map(|(a, b)| a * b).sum();
                    let right: f64 = values.iter().zip(&narrow).map(|(a, b)| a * b).sum();
                    assert!((left - right).abs() < 1e-13);
                    let mut count = vec![f64::NAN; values.len()];
                    layout.fold(k2, &vec![1.0; dofs.len()], &mut count);
                    for (k1, &c) in count.iter().enumerate() {
                        assert_eq!(c, layout.multiplicity(k2, k1));
                        total += c;
                    }
                }
                assert_eq!(total, torus.dim() as f64);
            }
        }
    }

    /// Degrees of freedom of a row are in the order of their frequencies, so a value must land at its own.
    #[test]
    fn half_a_spectrum_keeps_the_two_signs_apart() {
        let torus = Torus::around(3, 3);
        let layout = Layout::new(torus, false);
        let values = noise(torus.p1, 0.0);
        let mut out = vec![f64::NAN; 2 * torus.p1];
        layout.expand(1, &values, &mut out);
        for (k1, pair) in out.chunks_exact(2).enumerate() {
            assert_eq!(pair, [values[k1]; 2]);
        }
    }
}
