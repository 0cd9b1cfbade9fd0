//! Scores estimates against truths in units of their Monte Carlo error, with the false-alarm rate of all tests.

use crate::common::FALSE_ALARM;
use sshmc::check::score_bound;
pub(crate) use sshmc::check::{Score, mean_score, median_score};

/// Fails on the worst score if it is beyond what the false-alarm rate allows, and returns its size.
pub(crate) fn judge(what: &str, scores: &[Score]) -> Result<f64, String> {
    sshmc::check::judge(what, scores, score_bound(scores.len(), FALSE_ALARM))
}

/// The same scores against truths moved by a share of a standard deviation, which must fail.
pub(crate) fn moved(scores: &[Score], by: impl Fn(usize) -> f64) -> Vec<Score> {
    let shifted = |(i, s): (usize, &Score)| Score { want: s.want + by(i), ..s.clone() };
    scores.iter().enumerate().map(shifted).collect()
}
