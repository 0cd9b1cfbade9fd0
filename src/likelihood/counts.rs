//! Names the laws that counts may follow around their rate, and draws and scores counts by them.

use super::negative_binomial::rising;
use super::{Likelihood, NegativeBinomialLog, PoissonLog};
use crate::error::Result;
use crate::numeric::ln_1p;
use crate::prior::Hyperparameter;
use rand::Rng;
use rand_distr::{Distribution, Gamma, Poisson};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How counts scatter around their rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CountLikelihood {
    /// Their variance is their mean m.
    #[default]
    Poisson,
    /// Their variance is m + m²/size; the size is learnt.
    NegativeBinomial,
}

impl CountLikelihood {
    /// The name a user types.
    pub fn name(self) -> &'static str {
        match self {
            CountLikelihood::Poisson => "poisson",
            CountLikelihood::NegativeBinomial => "negative-binomial",
        }
    }

    /// Its own hyperparameters, with their default priors.
    pub fn hyperparameters(self) -> Vec<Hyperparameter> {
        match self {
            CountLikelihood::Poisson => Vec::new(),
            CountLikelihood::NegativeBinomial => vec![Hyperparameter::count_size()],
        }
    }

    /// The likelihood of counts with known exposures.
    pub fn of(self, counts: Vec<f64>, exposure: Vec<f64>) -> Result<Arc<dyn Likelihood>> {
        Ok(match self {
            CountLikelihood::Poisson => Arc::new(PoissonLog::new(counts, exposure)?),
            CountLikelihood::NegativeBinomial => {
                Arc::new(NegativeBinomialLog::new(counts, exposure)?)
            }
        })
    }

    /// Draws a count of a given mean at reported values of its own hyperparameters; none if there is no such number.
    pub fn draw<R: Rng + ?Sized>(self, mean: f64, own: &[f64], rng: &mut R) -> Option<f64> {
        let rate = match (self, own) {
            (CountLikelihood::Poisson, _) => mean,
            (CountLikelihood::NegativeBinomial, &[size, ..]) => {
                mean * Gamma::new(size, 1.0 / size).ok()?.sample(rng)
            }
            (CountLikelihood::NegativeBinomial, []) => return None,
        };
        // A rate too small to be a positive number has no events.
        if rate == 0.0 {
            return Some(0.0);
        }
        Some(Poisson::new(rate).ok()?.sample(rng))
    }

    /// log P(Y = y) of a count whose mean has this logarithm, at reported values of its own hyperparameters.
    pub fn log_probability(self, y: f64, log_mean: f64, own: &[f64]) -> f64 {
        let log_factorial: f64 = (2..=y as u64).map(|k| (k as f64).ln()).sum();
        let mean = log_mean.exp();
        let misfit = match (self, own) {
            (CountLikelihood::Poisson, _) => mean,
            (CountLikelihood::NegativeBinomial, &[size, ..]) => {
                (y + size) * ln_1p(mean / size) - rising(y, size).0
            }
            (CountLikelihood::NegativeBinomial, []) => f64::NAN,
        };
        y * log_mean - misfit - log_factorial
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    #[test]
    fn probabilities_add_up_and_have_the_moments_they_say() {
        for (law, own) in [
            (CountLikelihood::Poisson, &[][..]),
            (CountLikelihood::NegativeBinomial, &[1.7]),
            (CountLikelihood::NegativeBinomial, &[250.0]),
        ] {
            let mean = 2.5f64;
            let p = |y: u32| law.log_probability(f64::from(y), mean.ln(), own).exp();
            let moment =
                |power: i32| (0..200).map(|y| p(y) * f64::from(y).powi(power)).sum::<f64>();
            let variance = own.first().map_or(mean, |size| mean + mean * mean / size);
            // Counts beyond 200 have less than 1e-12 of the probability; the rest is rounding of 200 terms.
            assert!((moment(0) - 1.0).abs() < 1e-11, "{law:?} {}", moment(0));
            assert!((moment(1) - mean).abs() < 1e-9, "{law:?} {}", moment(1));
            assert!((moment(2) - mean * mean - variance).abs() < 1e-7, "{law:?} {}", moment(2));
        }
    }

    #[test]
    fn draws_have_the_probabilities_they_say() {
        const DRAWS: u32 = 20_000;
        for (law, own) in
            [(CountLikelihood::Poisson, &[][..]), (CountLikelihood::NegativeBinomial, &[0.8])]
        {
            let mut rng = Stream::new(8, 0, 0, Purpose::Data).rng();
            let mut seen = [0.0f64; 4];
            for _ in 0..DRAWS {
                let y = law.draw(1.3, own, &mut rng).unwrap() as usize;
                if let Some(seen) = seen.get_mut(y) {
                    *seen += 1.0;
                }
            }
            for (y, seen) in seen.iter().enumerate() {
                let p = law.log_probability(y as f64, 1.3f64.ln(), own).exp();
                let n = f64::from(DRAWS);
                // Five standard deviations of a binomial number: eight of them together are beyond once in 200 000 seeds.
                assert!((seen - n * p).abs() < 5.0 * (n * p * (1.0 - p)).sqrt(), "{law:?} {y}");
            }
        }
        let mut rng = Stream::new(8, 0, 1, Purpose::Data).rng();
        assert_eq!(CountLikelihood::Poisson.draw(f64::NAN, &[], &mut rng), None);
        assert_eq!(CountLikelihood::NegativeBinomial.draw(1.0, &[0.0], &mut rng), None);
    }
}
