//! Assembles stochastic volatility: y_t ~ N(0, β² e^{x_t}) with x an AR(1) process.
//!
//! The site sees η_t = 2 log β + x_t, so β is the coefficient of a constant mean.

use super::{Column, MeanTerm, Model};
use crate::data::Returns;
use crate::error::Result;
use crate::likelihood::StochasticVolatility;
use crate::prior::{Hyperparameter, Hyperparameters};
use crate::structure::{Ar1, Structure};
use std::sync::Arc;

/// The model of a series of returns.
pub fn stochvol(returns: &Returns, priors: &[String]) -> Result<Model> {
    let mut hyperparameters = Hyperparameters::new(vec![
        Hyperparameter::volatility_phi(),
        Hyperparameter::volatility_sigma(),
        Hyperparameter::volatility_beta(),
    ]);
    for prior in priors {
        hyperparameters.set_prior(prior)?;
    }
    let likelihood = StochasticVolatility::new(returns.y())?;
    let structure = Structure::Ar1(Ar1::new(returns.y().len())?);
    let mean_square =
        returns.y().iter().map(|y| y * y).sum::<f64>() / returns.y().len().max(1) as f64;
    Model::new("sv", structure, Arc::new(likelihood), hyperparameters)?
        .with_mean(MeanTerm { hyperparameter: 2, scale: 2.0, column: Column::Constant })
        // φ = 0.95 and σ = 0.2 are what daily returns of anything look like; β from the series itself.
        .map(|model| model.with_start(&[0.95f64.atanh(), 0.2f64.ln(), 0.5 * mean_square.ln()]))
}
