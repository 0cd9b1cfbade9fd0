//! Assembles hierarchical logistic regression: coefficients w_g ~ N(0, e^γ I) of each group, labels Bernoulli(logit w_g'x).

use super::Model;
use crate::data::GroupedTable;
use crate::data::names::shown;
use crate::error::{Error, Result};
use crate::likelihood::BernoulliLogit;
use crate::prior::{Hyperparameter, Hyperparameters};
use crate::structure::{Groups, Structure};
use std::sync::Arc;

/// The model of a grouped table; latents are group after group of coefficients in the order of the features.
pub fn logistic(table: &GroupedTable, priors: &[String]) -> Result<Model> {
    let mut hyperparameters = Hyperparameters::new(vec![Hyperparameter::logistic_gamma()]);
    for prior in priors {
        hyperparameters.set_prior(prior)?;
    }
    let size = table.features().len();
    let large = |x: &f64| !(x * x * table.rows() as f64).is_finite();
    if let Some(place) = table.x().iter().position(large) {
        return Err(Error::input(
            format!("feature {}, row {}", shown(&table.features()[place % size]), place / size),
            "numbers whose squares can be added up",
            format!("{:?}", table.x()[place]),
            "measure it in a larger unit, or standardise it",
        ));
    }
    let likelihood = BernoulliLogit::new(
        table.label(),
        table.x(),
        table.offsets().windows(2).map(|w| w[0]..w[1]).collect(),
        size,
    )?;
    let structure = Structure::Groups(Groups::new(table.groups().len(), size)?);
    // Unit coefficients on standardised features are neither flat nor separating: v = 1.
    Ok(Model::new("logistic", structure, Arc::new(likelihood), hyperparameters)?.with_start(&[0.0]))
}
