//! Describes the other models in a few words, and fits them.

use super::sampler::Sampler;
use crate::data::{GroupedTable, Returns};
use crate::error::Result;
use crate::model::{Model, funnel, logistic, stochvol};
use crate::prior::Prior;
use crate::sample::Fit;

/// Stochastic volatility: returns whose log variance is a first-order autoregression.
///
/// ```
/// use sshmc::prelude::*;
///
/// let y: Vec<f64> = (0..60).map(|t| if t % 20 < 10 { 0.02 } else { -0.001 * f64::from(t % 7) }).collect();
/// let fit = Volatility::new(Returns::new(&y)?)
///     .prior("phi", Prior::beta(20.0, 1.5))
///     .fit(&Sampler::default().chains(2).warmup(150).draws(100))?;
/// assert_eq!(fit.field_mean().len(), 60);
/// # Ok::<(), sshmc::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Volatility {
    returns: Returns,
    priors: Vec<String>,
}

/// Hierarchical logistic regression: labels of rows, coefficients of each group, and how much those vary.
///
/// ```
/// use sshmc::prelude::*;
///
/// let table = GroupedTable::new(
///     &["north", "north", "south", "south"],
///     &["dose"],
///     &[0.5, -1.0, 1.5, -0.2],
///     &[true, false, true, false],
/// )?;
/// let fit = Logistic::new(table).fit(&Sampler::default().chains(2).warmup(150).draws(100))?;
/// assert!(fit.field_mean()[1] > 0.0);
/// # Ok::<(), sshmc::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Logistic {
    table: GroupedTable,
    priors: Vec<String>,
}

/// Neal's funnel, to try samplers on: x_i ~ N(0, e^−v), v ~ N(0, 9).
#[derive(Clone, Debug)]
pub struct Funnel {
    latents: usize,
    priors: Vec<String>,
}

/// What the models of this file have in common: priors by name, the model itself, and a fit of it.
macro_rules! in_a_few_words {
    ($model:ident, $data:ident: $type:ty, $build:expr) => {
        impl $model {
            /// The model, with its default priors.
            pub fn new($data: $type) -> Self {
                Self { $data, priors: Vec::new() }
            }

            /// The prior of a hyperparameter, by its name, instead of the default.
            pub fn prior(mut self, name: &str, prior: impl Into<Prior>) -> Self {
                self.priors.push(format!("{name}={}", prior.into()));
                self
            }

            /// The model itself.
            pub fn model(&self) -> Result<Model> {
                let build: fn(&Self) -> Result<Model> = $build;
                build(self)
            }

            /// Draws from the posterior.
            pub fn fit(&self, sampler: &Sampler) -> Result<Fit> {
                sampler.fit(self.model()?)
            }
        }
    };
}

in_a_few_words!(Volatility, returns: Returns, |of| stochvol(&of.returns, &of.priors));
in_a_few_words!(Logistic, table: GroupedTable, |of| logistic(&of.table, &of.priors));
in_a_few_words!(Funnel, latents: usize, |of| funnel(of.latents, &of.priors));
