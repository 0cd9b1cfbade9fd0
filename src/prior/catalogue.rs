//! Lists the hyperparameters of the models in this crate with their names, scales and default priors.
//!
//! | model | reported | working value | also spoken of as | default prior |
//! |---|---|---|---|---|
//! | Cox process | sigma | log σ | sigma2 | sigma=half-normal(2) |
//! | | range | log range | | range=lognormal(log median,1) |
//! | | mu | μ | | mu=normal(0,10) |
//! | and counts beyond Poisson | size | log size | | size=lognormal(2,1.5) |
//! | stochastic volatility | phi | atanh φ | | phi=beta(20,1.5), of (φ+1)/2 |
//! | | sigma | log σ | sigma2 | sigma2=scaled-inv-chi2(10,0.05) |
//! | | beta | log β | mu = 2 log β | beta=flat-log |
//! | grouped logistic | gamma | γ | v = e^γ | v=exponential(0.01) |
//! | funnel | v | v | | v=normal(0,3) |
//!
//! The last five are those of Zhang & Sutton (2014).

use super::belief::Belief;
use super::distribution::Distribution;
use super::hyperparameter::Hyperparameter;
use super::scale::Scale;
use crate::error::Result;

impl Hyperparameter {
    /// The standard deviation of a field.
    pub fn field_sigma() -> Self {
        let prior =
            Belief::assumed("sigma", Scale::Exp(1.0), Distribution::HalfNormal { scale: 2.0 });
        Self::from_prior("sigma", Scale::Exp(1.0), prior).with_alias("sigma2", Scale::Exp(2.0))
    }

    /// The correlation range of a field in map units, by default lognormal around `median` with a factor e either way.
    pub fn field_range(median: f64) -> Result<Self> {
        let prior = Distribution::LogNormal { m: median.ln(), s: 1.0 };
        Self::new("range", Scale::Exp(1.0), prior)
    }

    /// The mean of a field.
    pub fn field_mu() -> Self {
        let prior =
            Belief::assumed("mu", Scale::Linear(1.0), Distribution::Normal { mean: 0.0, sd: 10.0 });
        Self::from_prior("mu", Scale::Linear(1.0), prior)
    }

    /// The size of negative binomial counts, whose variance is m + m²/size around the mean m: between half a count and a hundred nine times
    /// out of ten, from counts that say little about their rate to ones that are as good as Poisson's.
    pub fn count_size() -> Self {
        let prior =
            Belief::assumed("size", Scale::Exp(1.0), Distribution::LogNormal { m: 2.0, s: 1.5 });
        Self::from_prior("size", Scale::Exp(1.0), prior)
    }

    /// The persistence of log volatility.
    pub fn volatility_phi() -> Self {
        let prior = Belief::assumed("phi", Scale::Tanh, Distribution::Beta { a: 20.0, b: 1.5 });
        Self::from_prior("phi", Scale::Tanh, prior)
    }

    /// The innovation standard deviation of log volatility.
    pub fn volatility_sigma() -> Self {
        let law = Distribution::ScaledInvChi2 { nu: 10.0, s2: 0.05 };
        let prior = Belief::assumed("sigma2", Scale::Exp(2.0), law);
        Self::from_prior("sigma", Scale::Exp(1.0), prior).with_alias("sigma2", Scale::Exp(2.0))
    }

    /// The typical volatility, the standard deviation of returns when the latent value is 0.
    pub fn volatility_beta() -> Self {
        let prior = Belief::assumed("beta", Scale::Exp(1.0), Distribution::FlatLog);
        Self::from_prior("beta", Scale::Exp(1.0), prior).with_alias("mu", Scale::Linear(2.0))
    }

    /// The log variance of regression weights.
    pub fn logistic_gamma() -> Self {
        let prior = Belief::assumed("v", Scale::Exp(1.0), Distribution::Exponential { rate: 0.01 });
        Self::from_prior("gamma", Scale::Linear(1.0), prior).with_alias("v", Scale::Exp(1.0))
    }

    /// The log precision at the neck of the funnel.
    pub fn funnel_v() -> Self {
        let prior =
            Belief::assumed("v", Scale::Linear(1.0), Distribution::Normal { mean: 0.0, sd: 3.0 });
        Self::from_prior("v", Scale::Linear(1.0), prior)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Hyperparameter> {
        vec![
            Hyperparameter::field_sigma(),
            Hyperparameter::field_range(0.05).unwrap(),
            Hyperparameter::field_mu(),
            Hyperparameter::count_size(),
            Hyperparameter::volatility_phi(),
            Hyperparameter::volatility_sigma(),
            Hyperparameter::volatility_beta(),
            Hyperparameter::logistic_gamma(),
            Hyperparameter::funnel_v(),
        ]
    }

    #[test]
    fn every_default_passes_the_check_it_was_spared() {
        for one in all() {
            let prior = one.prior();
            let scale = one.scale_called(prior.scale_name()).unwrap();
            let checked = Belief::new(prior.scale_name(), scale, *prior.distribution()).unwrap();
            assert_eq!(&checked, prior, "{}", one.name());
        }
    }

    #[test]
    fn every_start_has_a_finite_density_and_value() {
        for one in all() {
            let phi = one.start();
            let (log_prior, slope) = one.log_prior(phi);
            assert!(
                log_prior.is_finite() && slope.is_finite() && one.value(phi).is_finite(),
                "{}",
                one.name()
            );
        }
    }

    #[test]
    fn defaults_match_the_table_above() {
        let printed: Vec<String> = all().iter().map(|one| one.prior().to_string()).collect();
        let table = include_str!("catalogue.rs").split("use super").next().unwrap();
        for prior in printed.iter().filter(|prior| !prior.starts_with("range")) {
            assert!(table.contains(prior.as_str()), "{prior}");
        }
    }

    #[test]
    fn a_range_without_a_size_is_refused() {
        for median in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Hyperparameter::field_range(median).is_err(), "{median}");
        }
    }
}
