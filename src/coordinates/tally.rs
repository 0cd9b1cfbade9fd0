//! Adds up what a torus field's potential and its gradient need of the spectrum, column by column of the quarter.
//!
//! Rows are added element by element, which any vector unit does at full speed; the few columns are summed once at the end.

use crate::numeric::{inline, ln};

/// Rows whose shares are multiplied before a logarithm is taken: none exceeds one, and eight above [`SMALLEST_SHARE`] have a
/// product that is a normal number.
const FACTORS: usize = 8;
/// The smallest a = 1/(1 + κλ) that the tally takes.
pub(super) const SMALLEST_SHARE: f64 = 1e-38;

/// Σ log(1 + κλ), Σ(1 − a) and Σ(1 − a) S'/S over all degrees of freedom, half of each mirrored row.
pub(super) struct Volume {
    product: Vec<f64>,
    factors: usize,
    logs: Vec<f64>,
    rest: Vec<f64>,
    slopes: Vec<f64>,
}

impl Volume {
    pub(super) fn new(width: usize) -> Self {
        let [logs, rest, slopes] = std::array::from_fn(|_| vec![0.0; width]);
        Self { product: vec![1.0; width], factors: 0, logs, rest, slopes }
    }

    pub(super) fn clear(&mut self) {
        self.product.fill(1.0);
        self.factors = 0;
        [&mut self.logs, &mut self.rest, &mut self.slopes]
            .into_iter()
            .for_each(|sum| sum.fill(0.0));
    }

    /// Adds a row with these a and S'/S.
    #[inline(always)]
    pub(super) fn add(&mut self, edge: bool, share: &[f64], slope: &[f64]) {
        let n = share.len();
        let slope = &slope[..n];
        let (product, logs) = (&mut self.product[..n], &mut self.logs[..n]);
        let (rest, slopes) = (&mut self.rest[..n], &mut self.slopes[..n]);
        if edge {
            for k in 0..n {
                logs[k] -= 0.5 * ln(share[k]);
                rest[k] += 0.5 * (1.0 - share[k]);
                slopes[k] += 0.5 * (1.0 - share[k]) * slope[k];
            }
            return;
        }
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
        [&self.logs, &self.rest, &self.slopes].map(|sum| 2.0 * mirrored(sum))
    }
}

/// Σ a P and Σ a P S'/S, P being folded into the quarter.
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

    /// The two sums.
    #[inline(always)]
    pub(super) fn sums(&self) -> [f64; 2] {
        [&self.sigma, &self.range].map(|sum| inline::sum(sum))
    }
}

/// The sum over columns of the spectrum, all but the first and the last of which stand for two.
#[inline(always)]
fn mirrored(columns: &[f64]) -> f64 {
    let last = columns.len() - 1;
    2.0 * inline::sum(&columns[1..last]) + columns[0] + columns[last]
}
