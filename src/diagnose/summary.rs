//! Gathers what a table shows of one parameter: moments, quantiles and how far to trust them.

use serde::{Deserialize, Serialize};

use super::workspace::Diagnoser;

/// Estimates, their Monte Carlo standard errors and convergence figures of one parameter.
///
/// A figure that cannot be computed is NaN, written as `null` where the format has no NaN. An
/// infinite R̂ (no chain moves, but they differ) is written as `null` too.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct ParameterSummary {
    /// Mean of all draws.
    #[serde(with = "nan_as_null")]
    pub mean: f64,
    /// Standard deviation of all draws, with divisor n - 1.
    #[serde(with = "nan_as_null")]
    pub sd: f64,
    /// Monte Carlo standard error of the mean.
    #[serde(with = "nan_as_null")]
    pub mcse_mean: f64,
    /// Monte Carlo standard error of the standard deviation.
    #[serde(with = "nan_as_null")]
    pub mcse_sd: f64,
    /// 5 % quantile.
    #[serde(with = "nan_as_null")]
    pub q05: f64,
    /// Median.
    #[serde(with = "nan_as_null")]
    pub q50: f64,
    /// 95 % quantile.
    #[serde(with = "nan_as_null")]
    pub q95: f64,
    /// Monte Carlo standard error of the 5 % quantile.
    #[serde(with = "nan_as_null")]
    pub mcse_q05: f64,
    /// Monte Carlo standard error of the median.
    #[serde(with = "nan_as_null")]
    pub mcse_q50: f64,
    /// Monte Carlo standard error of the 95 % quantile.
    #[serde(with = "nan_as_null")]
    pub mcse_q95: f64,
    /// Effective sample size for the centre.
    #[serde(with = "nan_as_null")]
    pub ess_bulk: f64,
    /// Effective sample size for the tails.
    #[serde(with = "nan_as_null")]
    pub ess_tail: f64,
    /// Rank-normalised split R̂.
    #[serde(with = "nan_as_null")]
    pub rhat: f64,
}

impl ParameterSummary {
    /// The summary of the parameter times a positive factor.
    pub fn scaled(&self, factor: f64) -> Self {
        let ParameterSummary { ess_bulk, ess_tail, rhat, .. } = *self;
        ParameterSummary {
            mean: factor * self.mean,
            sd: factor * self.sd,
            mcse_mean: factor * self.mcse_mean,
            mcse_sd: factor * self.mcse_sd,
            q05: factor * self.q05,
            q50: factor * self.q50,
            q95: factor * self.q95,
            mcse_q05: factor * self.mcse_q05,
            mcse_q50: factor * self.mcse_q50,
            mcse_q95: factor * self.mcse_q95,
            ess_bulk,
            ess_tail,
            rhat,
        }
    }

    /// A summary of which nothing is known.
    pub(crate) fn unknown() -> Self {
        let nan = f64::NAN;
        ParameterSummary {
            mean: nan,
            sd: nan,
            mcse_mean: nan,
            mcse_sd: nan,
            q05: nan,
            q50: nan,
            q95: nan,
            mcse_q05: nan,
            mcse_q50: nan,
            mcse_q95: nan,
            ess_bulk: nan,
            ess_tail: nan,
            rhat: nan,
        }
    }
}

/// The summary of one parameter from one slice of draws per chain.
///
/// Constant draws have moments and quantiles but no errors; draws that are unfit have nothing.
pub fn summarise(draws: &[&[f64]]) -> ParameterSummary {
    Diagnoser::new().summarise(draws)
}

/// Writes what is not finite as nothing, and reads nothing as NaN.
mod nan_as_null {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_figures_and_turns_nan_into_null_and_back() {
        let summary = summarise(&[&[1.0, 2.5, 2.0, 7.0, 3.0, 1.0]]);
        let text = serde_json::to_string(&summary).unwrap();
        assert!(text.contains(r#""mean":2.75"#) && text.contains(r#""rhat":null"#), "{text}");
        let back: ParameterSummary = serde_json::from_str(&text).unwrap();
        // The reader may miss the nearest double by one.
        let difference = (back.mcse_mean - summary.mcse_mean).abs();
        assert!(difference <= 2.0 * f64::EPSILON * summary.mcse_mean);
        assert!(back.rhat.is_nan());
    }

    #[test]
    fn constant_draws_have_moments_but_no_errors() {
        let summary = summarise(&[&[0.1; 7], &[0.1; 7]]);
        assert_eq!((summary.mean, summary.sd, summary.q05, summary.q95), (0.1, 0.0, 0.1, 0.1));
        let unknown = [summary.mcse_mean, summary.mcse_q50, summary.ess_bulk, summary.rhat];
        assert!(unknown.iter().all(|figure| figure.is_nan()), "{summary:?}");
    }

    #[test]
    fn unfit_draws_have_nothing() {
        for draws in [&[][..], &[&[1.0, 2.0][..]], &[&[1.0, 2.0, f64::NAN, 3.0]]] {
            assert!(!serde_json::to_string(&summarise(draws)).unwrap().contains("0."));
            assert!(summarise(draws).mean.is_nan());
        }
    }
}
