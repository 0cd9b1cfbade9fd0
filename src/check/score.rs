//! Scores estimates against truths in units of their Monte Carlo error.

use crate::diagnose::{mcse_mean, mcse_quantile, normal_quantile, quantile, student_quantile};

/// One estimate with its truth.
#[derive(Clone, Debug)]
pub struct Score {
    /// What is estimated.
    pub name: String,
    /// The estimate.
    pub got: f64,
    /// The truth.
    pub want: f64,
    /// Standard error of the difference.
    pub error: f64,
}

impl Score {
    /// The difference in standard errors.
    pub fn z(&self) -> f64 {
        (self.got - self.want) / self.error
    }

    /// Its size; infinite if it is not a number.
    pub fn size(&self) -> f64 {
        if self.z().is_finite() { self.z().abs() } else { f64::INFINITY }
    }
}

/// The score of a mean over chains; `reference_error` is the truth's own standard error.
pub fn mean_score(name: String, draws: &[Vec<f64>], want: f64, reference_error: f64) -> Score {
    let slices: Vec<&[f64]> = draws.iter().map(Vec::as_slice).collect();
    let count: usize = slices.iter().map(|s| s.len()).sum();
    let got = slices.iter().copied().flatten().sum::<f64>() / count as f64;
    Score { name, got, want, error: mcse_mean(&slices).hypot(reference_error) }
}

/// The score of a median.
pub fn median_score(name: String, draws: &[Vec<f64>], want: f64, reference_error: f64) -> Score {
    let slices: Vec<&[f64]> = draws.iter().map(Vec::as_slice).collect();
    let (got, error) = (quantile(&slices, 0.5), mcse_quantile(&slices, 0.5));
    Score { name, got, want, error: error.hypot(reference_error) }
}

/// What the largest of several normal scores stays below but for a chance of `false_alarm` in all (Bonferroni), with a tenth
/// more because the standard errors are estimates too, good to a few per cent.
pub fn score_bound(count: usize, false_alarm: f64) -> f64 {
    // The lower tail, because it keeps its digits however small it is.
    -1.1 * normal_quantile(false_alarm / (2.0 * count.max(1) as f64))
}

/// The same where errors are estimated from few independent numbers, so that scores have Student's distribution with so many degrees of
/// freedom.
pub fn student_bound(count: usize, false_alarm: f64, freedom: usize) -> f64 {
    -student_quantile(false_alarm / (2.0 * count.max(1) as f64), freedom as f64)
}

/// The largest score.
pub fn worst_score(scores: &[Score]) -> Option<&Score> {
    scores.iter().max_by(|a, b| a.size().total_cmp(&b.size()))
}

/// Fails on the worst score if it is beyond the bound, and returns its size.
pub fn judge(what: &str, scores: &[Score], bound: f64) -> std::result::Result<f64, String> {
    let Some(worst) = worst_score(scores) else { return Err(format!("{what}: nothing to judge")) };
    if worst.size() <= bound {
        return Ok(worst.size());
    }
    let Score { name, got, want, error } = worst;
    let z = worst.z();
    Err(format!(
        "{what}, {name}: got {got}, want {want}, error {error}, z {z:.2}, bound {bound:.2}"
    ))
}
