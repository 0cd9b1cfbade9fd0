//! Holds a prior as a user asks for it, by a function or as text; whether it suits a hyperparameter is checked when it is put to use.

use super::distribution::Distribution;
use std::fmt;

/// A prior of a hyperparameter that is named beside it: `Prior::pc(0.05, 0.05)` or `"pc(0.05, 0.05)"`.
///
/// What its numbers mean, and which distributions suit which hyperparameter, is checked by the model that takes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Prior {
    text: String,
}

impl Prior {
    /// Penalised complexity: P(sigma > value) = p for a standard deviation, P(range < value) = p for a range.
    pub fn pc(value: f64, p: f64) -> Self {
        // Both are written alike; the name beside it says which is meant.
        Distribution::PcSigma { s0: value, p }.into()
    }

    /// A bell curve.
    pub fn normal(mean: f64, sd: f64) -> Self {
        Distribution::Normal { mean, sd }.into()
    }

    /// The positive half of a bell curve around 0.
    pub fn half_normal(scale: f64) -> Self {
        Distribution::HalfNormal { scale }.into()
    }

    /// A bell curve with heavy tails.
    pub fn cauchy(location: f64, scale: f64) -> Self {
        Distribution::Cauchy { location, scale }.into()
    }

    /// The positive half of one around 0.
    pub fn half_cauchy(scale: f64) -> Self {
        Distribution::HalfCauchy { scale }.into()
    }

    /// The logarithm is normal with mean m and standard deviation s.
    pub fn lognormal(m: f64, s: f64) -> Self {
        Distribution::LogNormal { m, s }.into()
    }

    /// A gamma distribution with mean shape/rate.
    pub fn gamma(shape: f64, rate: f64) -> Self {
        Distribution::Gamma { shape, rate }.into()
    }

    /// The inverse has a gamma distribution.
    pub fn inv_gamma(shape: f64, scale: f64) -> Self {
        Distribution::InvGamma { shape, scale }.into()
    }

    /// An exponential distribution with mean 1/rate.
    pub fn exponential(rate: f64) -> Self {
        Distribution::Exponential { rate }.into()
    }

    /// A beta distribution between 0 and 1; of (phi + 1)/2 for a correlation phi.
    pub fn beta(a: f64, b: f64) -> Self {
        Distribution::Beta { a, b }.into()
    }

    /// A variance near s2, worth nu observations.
    pub fn scaled_inv_chi2(nu: f64, s2: f64) -> Self {
        Distribution::ScaledInvChi2 { nu, s2 }.into()
    }

    /// Constant between bounds that are never left.
    pub fn uniform(lower: f64, upper: f64) -> Self {
        Distribution::Uniform { lower, upper }.into()
    }

    /// Improper: every order of magnitude is equally likely.
    pub fn flat_log() -> Self {
        Distribution::FlatLog.into()
    }
}

impl From<Distribution> for Prior {
    fn from(distribution: Distribution) -> Self {
        Prior { text: distribution.to_string() }
    }
}

impl From<&str> for Prior {
    fn from(text: &str) -> Self {
        Prior { text: text.to_owned() }
    }
}

impl From<String> for Prior {
    fn from(text: String) -> Self {
        Prior { text }
    }
}

impl fmt::Display for Prior {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prior::parse;

    #[test]
    fn functions_and_texts_mean_the_same_to_the_last_bit() {
        let third = 1.0 / 3.0;
        for (asked, name, want) in [
            (Prior::pc(third, 0.05), "range", Distribution::PcRange { r0: third, p: 0.05 }),
            (Prior::pc(third, 0.05), "sigma", Distribution::PcSigma { s0: third, p: 0.05 }),
            (Prior::normal(-third, 2e-9), "mu", Distribution::Normal { mean: -third, sd: 2e-9 }),
            (Prior::half_cauchy(third), "sigma", Distribution::HalfCauchy { scale: third }),
            (Prior::flat_log(), "beta", Distribution::FlatLog),
            ("lognormal(-3, 1)".into(), "range", Distribution::LogNormal { m: -3.0, s: 1.0 }),
        ] {
            assert_eq!(parse(&format!("{name}={asked}")).unwrap().1, want, "{asked}");
        }
    }

    #[test]
    fn what_is_no_distribution_is_found_when_it_is_used() {
        for asked in [Prior::normal(0.0, f64::NAN), Prior::pc(-1.0, 0.05), "pc(0.1".into()] {
            assert!(parse(&format!("sigma={asked}")).is_err(), "{asked}");
        }
    }
}
