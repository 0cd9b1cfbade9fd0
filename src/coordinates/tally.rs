//! Adds up what a torus field's potential and its gradient need of the spectrum, column by column.
//!
//! Rows are added element by element, which any vector unit does at full speed; the few columns are summed once at the end.

use crate::numeric::{inline, ln};
use crate::structure::Layout;

/// Rows whose shares are multiplied before a logarithm is taken: none exceeds one, and eight above [`SMALLEST_SHARE`] have a
/// product that is a normal number.
const FACTORS: usize = 8;
/// The smallest a = 1/(1 + κλ) that the tally takes.
pub(super) const SMALLEST_SHARE: f64 = 1e-38;

/// Σ log(1 + κλ), Σ(1 − a) and Σ(1 − a) S'/S over all degrees of freedom.
pub(super) struct Volume {
    layout: Layout,
    /// How many degrees of freedom a value in each column stands for, except in the two edge rows.
    weights: Vec<f64>,
    product: Vec<f64>,
    factors: usize,
    logs: Vec<f64>,
    rest: Vec<f64>,
    slopes: Vec<f64>,
}

impl Volume {
    pub(super) fn new(layout: Layout) -> Self {
        let width = layout.width();
        let [logs, rest, slopes] = std::array::from_fn(|_| vec![0.0; width]);
        let weights = (0..width).map(|k1| layout.column_multiplicity(k1)).collect();
        Self { layout, weights, product: vec![1.0; width], factors: 0, logs, rest, slopes }
    }

    pub(super) fn clear(&mut self) {
        self.product.fill(1.0);
        self.factors = 0;
        [&mut self.logs, &mut self.rest, &mut self.slopes]
            .into_iter()
            .for_each(|sum| sum.fill(0.0));
    }

    /// Adds row k₂, with these a and S'/S.
    #[inline(always)]
    pub(super) fn add(&mut self, k2: usize, share: &[f64], slope: &[f64]) {
        if self.layout.is_edge(k2) {
            self.add_edge(k2, share, slope);
            return;
        }
        let n = share.len();
        let slope = &slope[..n];
        let product = &mut self.product[..n];
        let (rest, slopes) = (&mut self.rest[..n], &mut self.slopes[..n]);
        for k in 0..n {
            product[k] *= share[k];
            let part = 1.0 - share[k];
            rest[k] += part;
            slopes[k] += part * slope[k];
        }
        self.factors += 1;
        if self.factors == FACTORS {
            self.take_logs();
        }
    }

    /// Edge rows hold fewer degrees of freedom for a value, and some of their values are never read.
    fn add_edge(&mut self, k2: usize, share: &[f64], slope: &[f64]) {
        for k in 0..=self.layout.last() {
            let weight = self.layout.multiplicity(k2, k) / self.weights[k];
            self.logs[k] -= weight * ln(share[k]);
            self.rest[k] += weight * (1.0 - share[k]);
            self.slopes[k] += weight * (1.0 - share[k]) * slope[k];
        }
    }

    #[inline(always)]
    fn take_logs(&mut self) {
        let n = self.product.len();
        let (product, logs) = (&mut self.product[..n], &mut self.logs[..n]);
        for k in 0..n {
            logs[k] -= ln(product[k]);
            product[k] = 1.0;
        }
        self.factors = 0;
    }

    /// The three sums.
    #[inline(always)]
    pub(super) fn sums(&mut self) -> [f64; 3] {
        self.take_logs();
        [&self.logs, &self.rest, &self.slopes].map(|sum| inline::dot(&self.weights, sum))
    }
}

/// Σ a P and Σ a P S'/S, P being folded into the values of the spectrum.
pub(super) struct Slopes {
    sigma: Vec<f64>,
    range: Vec<f64>,
}

impl Slopes {
    pub(super) fn new(width: usize) -> Self {
        Self { sigma: vec![0.0; width], range: vec![0.0; width] }
    }

    pub(super) fn clear(&mut self) {
        self.sigma.fill(0.0);
        self.range.fill(0.0);
    }

    /// Adds a row with these P, a and S'/S.
    #[inline(always)]
    pub(super) fn add(&mut self, p: &[f64], share: &[f64], slope: &[f64]) {
        let n = p.len();
        let (share, slope) = (&share[..n], &slope[..n]);
        let (sigma, range) = (&mut self.sigma[..n], &mut self.range[..n]);
        for k in 0..n {
            let part = share[k] * p[k];
            sigma[k] += part;
            range[k] += part * slope[k];
        }
    }

    /// Adds a row with these P and S'/S, where a is one.
    #[inline(always)]
    pub(super) fn add_all(&mut self, p: &[f64], slope: &[f64]) {
        let n = p.len();
        let slope = &slope[..n];
        let (sigma, range) = (&mut self.sigma[..n], &mut self.range[..n]);
        for k in 0..n {
            sigma[k] += p[k];
            range[k] += p[k] * slope[k];
        }
    }

    /// The two sums.
    #[inline(always)]
    pub(super) fn sums(&self) -> [f64; 2] {
        [&self.sigma, &self.range].map(|sum| inline::sum(sum))
    }
}
