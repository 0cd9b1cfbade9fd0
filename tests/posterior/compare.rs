//! Scores estimates against truths in units of their Monte Carlo error.

use crate::common::FALSE_ALARM;
use sshmc::diagnose::{mcse_mean, mcse_quantile, normal_quantile, quantile};

/// One estimate with its truth.
#[derive(Debug)]
pub(crate) struct Score {
    pub(crate) name: String,
    pub(crate) got: f64,
    pub(crate) want: f64,
    /// Standard error of the difference.
    pub(crate) error: f64,
}

impl Score {
    pub(crate) fn z(&self) -> f64 {
        (self.got - self.want) / self.error
    }
}

/// The score of a mean over chains; `reference_error` is the truth's own standard error.
pub(crate) fn mean_score(
    name: String,
    draws: &[Vec<f64>],
    want: f64,
    reference_error: f64,
) -> Score {
    let slices: Vec<&[f64]> = draws.iter().map(Vec::as_slice).collect();
    let count: usize = slices.iter().map(|s| s.len()).sum();
    let got = slices.iter().copied().flatten().sum::<f64>() / count as f64;
    Score { name, got, want, error: mcse_mean(&slices).hypot(reference_error) }
}

/// The score of a median.
pub(crate) fn median_score(
    name: String,
    draws: &[Vec<f64>],
    want: f64,
    reference_error: f64,
) -> Score {
    let slices: Vec<&[f64]> = draws.iter().map(Vec::as_slice).collect();
    let (got, error) = (quantile(&slices, 0.5), mcse_quantile(&slices, 0.5));
    Score { name, got, want, error: error.hypot(reference_error) }
}

/// What the largest of several normal scores stays below but for a chance of 1e-6 in all (Bonferroni), with a tenth more
/// because the standard errors are estimates too, good to a few per cent.
pub(crate) fn bound(count: usize) -> f64 {
    1.1 * normal_quantile(1.0 - FALSE_ALARM / (2.0 * count as f64))
}

/// Fails on the worst score if it is beyond [`bound`], and returns its size.
pub(crate) fn judge(what: &str, scores: &[Score]) -> Result<f64, String> {
    let bound = bound(scores.len());
    let size = |s: &Score| if s.z().is_finite() { s.z().abs() } else { f64::INFINITY };
    let worst = scores.iter().max_by(|a, b| size(a).total_cmp(&size(b))).unwrap();
    if size(worst) <= bound {
        return Ok(size(worst));
    }
    let Score { name, got, want, error } = worst;
    let z = worst.z();
    Err(format!(
        "{what}, {name}: got {got}, want {want}, error {error}, z {z:.2}, bound {bound:.2}"
    ))
}

/// The same scores against truths moved by a share of a standard deviation, which must fail.
pub(crate) fn moved(scores: &[Score], by: impl Fn(usize) -> f64) -> Vec<Score> {
    let shifted = |(i, s): (usize, &Score)| Score {
        name: s.name.clone(),
        got: s.got,
        want: s.want + by(i),
        error: s.error,
    };
    scores.iter().enumerate().map(shifted).collect()
}
