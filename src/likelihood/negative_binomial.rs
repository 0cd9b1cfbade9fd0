//! Counts events that scatter more than Poisson's around a rate whose log is the predictor.
//!
//! > y_i ~ NegativeBinomial(mean m_i = a_i e^{η_i}, size k), of variance m + m²/k, which is Poisson's as k → ∞:
//! > −log p = Σ (y_i + k) log(1 + m_i/k) − y_i η_i − Σ_{j<y_i} log(1 + j/k)  (up to a constant)
//!
//! The size is a hyperparameter, k = e^w. With t = log(m/k) and s = m/(k + m) the derivatives of a site are (y + k)s − y in η and
//! k log(1 + m/k) − (y + k)s + Σ_{j<y} j/(k + j) in w; the expected curvature in η is k s. The sum over j does not depend on the predictor.

use super::{Curvature, Likelihood, PoissonLog, SiteTwin};
use crate::error::Result;
use crate::numeric::{exp, inline, ln_1p, vectorised};

/// Sites in a block: their numbers fit into the nearest cache.
const BLOCK: usize = 512;

/// Terms of a count's sum over j that are added up one by one; those after them are an integral with its corrections, good to 1e-12.
const FIRST: usize = 64;

/// Negative binomial counts with log link, known exposures and a size that is learnt.
#[derive(Clone, Debug, PartialEq)]
pub struct NegativeBinomialLog {
    counts: PoissonLog,
    log_exposure: Vec<f64>,
    /// How many counts are larger than j, for the first j.
    above: Vec<f64>,
    /// Counts beyond the first, and how many there are of each.
    large: Vec<(f64, f64)>,
}

impl NegativeBinomialLog {
    /// Whole counts and the exposure of each; where the exposure is zero the count must be zero too.
    pub fn new(counts: Vec<f64>, exposure: Vec<f64>) -> Result<Self> {
        let counts = PoissonLog::new(counts, exposure)?;
        let y = counts.counts();
        let most = y.iter().fold(0.0f64, |most, &y| most.max(y)).min(FIRST as f64) as usize;
        let larger = |j: usize| y.iter().filter(|&&y| y > j as f64).count() as f64;
        let mut sorted: Vec<f64> = y.iter().copied().filter(|&y| y > FIRST as f64).collect();
        sorted.sort_by(f64::total_cmp);
        let equal = sorted.chunk_by(|a, b| a == b);
        Ok(Self {
            log_exposure: counts.exposure().iter().map(|a| a.ln()).collect(),
            above: (0..most).map(larger).collect(),
            large: equal.map(|same| (same[0], same.len() as f64)).collect(),
            counts,
        })
    }

    /// The number of events in each cell.
    pub fn counts(&self) -> &[f64] {
        self.counts.counts()
    }

    /// The exposure of each cell.
    pub fn exposure(&self) -> &[f64] {
        self.counts.exposure()
    }
}

/// log(1 + e^t) and e^t/(1 + e^t), without overflow.
#[inline(always)]
fn softplus(t: f64) -> (f64, f64) {
    let e = exp(-t.abs());
    let (positive, top) = if t > 0.0 { (t, 1.0) } else { (0.0, e) };
    (positive + ln_1p(e), top / (1.0 + e))
}

/// ∫ log(1 + t/k) dt from 0 with the corrections of Euler and Maclaurin at its end, and the derivative of that in log k: differences of
/// these are sums over j.
fn integral(t: f64, k: f64) -> (f64, f64) {
    let (log, sum) = (ln_1p(t / k), k + t);
    let value = sum * log - t - 0.5 * log + 1.0 / (12.0 * sum) - 1.0 / (360.0 * sum.powi(3));
    let slope = k * log - t + 0.5 * t / sum - k / (12.0 * sum * sum) + k / (120.0 * sum.powi(4));
    (value, slope)
}

/// Σ_{j<y} log(1 + j/k), and its derivative in log k.
pub(super) fn rising(y: f64, k: f64) -> (f64, f64) {
    let (mut value, mut slope) = (0.0, 0.0);
    for j in (0..y.min(FIRST as f64) as usize).map(|j| j as f64) {
        value += ln_1p(j / k);
        slope -= j / (k + j);
    }
    if y > FIRST as f64 {
        let (first, last) = (integral(FIRST as f64, k), integral(y, k));
        value += last.0 - first.0;
        slope += last.1 - first.1;
    }
    (value, slope)
}

/// What sites of one block add to −log p and to its derivative in log k; writes the gradient.
#[inline(always)]
fn misfit(
    eta: &[f64],
    (y, log_exposure): (&[f64], &[f64]),
    (log_size, size): (f64, f64),
    gradient: &mut [f64],
) -> [f64; 2] {
    let n = eta.len();
    let (mut logs, mut shares) = ([0.0; BLOCK], [0.0; BLOCK]);
    let (logs, shares) = (&mut logs[..n], &mut shares[..n]);
    let (y, log_exposure, gradient) = (&y[..n], &log_exposure[..n], &mut gradient[..n]);
    for i in 0..n {
        // An unobserved cell's exposure has no logarithm, and it is silent wherever it wanders.
        let seen = log_exposure[i] > f64::NEG_INFINITY;
        let (log, share) = softplus(eta[i] + log_exposure[i] - log_size);
        logs[i] = if seen { log } else { 0.0 };
        shares[i] = if seen { (y[i] + size) * share } else { 0.0 };
        gradient[i] = shares[i] - y[i];
    }
    let value = inline::sum_of([logs, eta, y], |[log, eta, y]| {
        (y + size) * log - if y > 0.0 { y * eta } else { 0.0 }
    });
    [value, inline::sum_of([logs, shares], |[log, share]| size * log - share)]
}

impl Likelihood for NegativeBinomialLog {
    fn sites(&self) -> usize {
        self.counts.sites()
    }

    fn parameters(&self) -> usize {
        1
    }

    fn evaluate(&self, eta: &[f64], own: &[f64], by_eta: &mut [f64], by_own: &mut [f64]) -> f64 {
        let size = (own[0], exp(own[0]));
        let mut total = self.aside(own, by_own);
        let blocks = by_eta.chunks_mut(BLOCK).zip(eta.chunks(BLOCK));
        let data = self.counts().chunks(BLOCK).zip(self.log_exposure.chunks(BLOCK));
        for ((gradient, eta), data) in blocks.zip(data) {
            let [value, slope] = vectorised(
                #[inline(always)]
                || misfit(eta, data, size, gradient),
            );
            total += value;
            by_own[0] += slope;
        }
        total
    }

    fn aside(&self, own: &[f64], by_own: &mut [f64]) -> f64 {
        let k = exp(own[0]);
        let (mut total, mut slope) = (0.0, 0.0);
        for (j, larger) in self.above.iter().enumerate() {
            let j = j as f64;
            total -= larger * ln_1p(j / k);
            slope += larger * (j / (k + j));
        }
        // The first terms of large counts are among those above.
        let first = integral(FIRST as f64, k);
        for &(y, count) in &self.large {
            let last = integral(y, k);
            total -= count * (last.0 - first.0);
            slope -= count * (last.1 - first.1);
        }
        by_own[0] = slope;
        total
    }

    fn twin(&self) -> Option<SiteTwin> {
        let wgsl = include_str!("../../shaders/site/negative_binomial.wgsl").into();
        Some(SiteTwin { wgsl, data: self.counts.twin()?.data })
    }

    fn curvature(&self, eta: &[f64], own: &[f64]) -> Curvature {
        let size = exp(own[0]);
        let sites = eta.iter().zip(&self.log_exposure);
        let curvature = |(eta, log_exposure): (&f64, &f64)| match *log_exposure {
            f64::NEG_INFINITY => 0.0,
            seen => size * softplus(eta + seen - own[0]).1,
        };
        Curvature::Sites(sites.map(curvature).collect())
    }

    fn start(&self) -> Option<Vec<f64>> {
        self.counts.start()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unobserved_cell_is_silent_wherever_it_wanders() {
        let likelihood =
            NegativeBinomialLog::new(vec![2.0, 0.0, 0.0], vec![0.5, 0.0, 0.0]).unwrap();
        let alone = NegativeBinomialLog::new(vec![2.0], vec![0.5]).unwrap();
        let (mut gradient, mut by_own) = ([f64::NAN; 3], [f64::NAN]);
        let eta = [0.3, 1e4, f64::NEG_INFINITY];
        let total = likelihood.evaluate(&eta, &[0.4], &mut gradient, &mut by_own);
        let (mut first, mut by_first) = ([f64::NAN], [f64::NAN]);
        assert_eq!(total, alone.evaluate(&eta[..1], &[0.4], &mut first, &mut by_first));
        assert_eq!((gradient, by_own), ([first[0], 0.0, 0.0], by_first));
        let Curvature::Sites(sites) = likelihood.curvature(&eta, &[0.4]) else { panic!() };
        assert_eq!(sites[1..], [0.0, 0.0]);
    }

    #[test]
    fn large_counts_are_summed_as_small_ones_are() {
        for (y, k) in [(65.0, 0.01f64), (100.0, 0.7), (400.0, 13.0), (5000.0, 3e4), (90.0, 1e9)] {
            let likelihood = NegativeBinomialLog::new(vec![y], vec![1.0]).unwrap();
            let mut slope = [f64::NAN];
            let got = likelihood.aside(&[k.ln()], &mut slope);
            assert!((-got - rising(y, k).0).abs() < 1e-12 * y.max(got.abs()), "{y} {k}");
            let terms = (0..y as u64).map(|j| j as f64);
            let want: f64 = terms.clone().map(|j| -(j / k).ln_1p()).sum();
            let by: f64 = terms.map(|j| j / (k + j)).sum();
            // Of each correction that is left out, and of rounding in y terms.
            let bound = 1e-12 * y;
            assert!((got - want).abs() < bound * (1.0 + want.abs() / y), "{y} {k}: {got} {want}");
            assert!((slope[0] - by).abs() < bound, "{y} {k}: {} {by}", slope[0]);
        }
    }

    #[test]
    fn a_large_size_is_poisson() {
        let (counts, exposure) = (vec![0.0, 3.0, 11.0, 80.0], vec![0.5, 1.0, 2.0, 7.0]);
        let eta = [-2.0, 0.4, 1.5, 2.3];
        let poisson = PoissonLog::new(counts.clone(), exposure.clone()).unwrap();
        let likelihood = NegativeBinomialLog::new(counts, exposure).unwrap();
        let (mut want, mut got, mut by_own) = ([0.0; 4], [0.0; 4], [0.0]);
        let value = poisson.evaluate(&eta, &[], &mut want, &mut []);
        let near = likelihood.evaluate(&eta, &[1e12f64.ln()], &mut got, &mut by_own);
        // y²/k and m²/k are below 1e-8, and k log(1 + m/k) loses no digits.
        assert!((value - near).abs() < 1e-8 && by_own[0].abs() < 1e-8, "{value} {near} {by_own:?}");
        assert!(want.iter().zip(got).all(|(a, b)| (a - b).abs() < 1e-8), "{want:?} {got:?}");
    }
}
