//! Assembles a Gaussian field observed with Gaussian noise: given its hyperparameters its posterior is known in closed form, so it is the
//! oracle.

use super::Model;
use crate::error::Result;
use crate::likelihood::{GaussianNoise, LearntNoise};
use crate::prior::Hyperparameters;
use crate::structure::Structure;
use std::sync::Arc;

/// Observations y with known precisions (zero: unobserved) of the sites of any structure.
pub fn gaussian(
    structure: Structure,
    hyperparameters: Hyperparameters,
    y: Vec<f64>,
    precision: Vec<f64>,
) -> Result<Model> {
    let likelihood = GaussianNoise::new(y, precision)?;
    Model::new("gaussian", structure, Arc::new(likelihood), hyperparameters)
}

/// The same where the noise has a standard deviation to learn, the hyperparameter after the structure's on a logarithmic scale, and
/// precisions are relative to it.
pub fn gaussian_noise_learnt(
    structure: Structure,
    hyperparameters: Hyperparameters,
    y: Vec<f64>,
    precision: Vec<f64>,
) -> Result<Model> {
    let likelihood = LearntNoise::new(y, precision)?;
    Model::new("gaussian", structure, Arc::new(likelihood), hyperparameters)
}
