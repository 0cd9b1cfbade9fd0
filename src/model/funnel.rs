//! Assembles Neal's funnel: x_i ~ N(0, e^{−v}), v ~ N(0, 9), no data.

use super::Model;
use crate::error::Result;
use crate::likelihood::Nothing;
use crate::prior::{Hyperparameter, Hyperparameters};
use crate::structure::{Groups, Structure};
use std::sync::Arc;

/// The funnel with `dim` latents; `priors` such as `v=normal(0,3)` replace the default.
pub fn funnel(dim: usize, priors: &[String]) -> Result<Model> {
    let mut hyperparameters = Hyperparameters::new(vec![Hyperparameter::funnel_v()]);
    for prior in priors {
        hyperparameters.set_prior(prior)?;
    }
    let structure = Structure::Groups(Groups::new(dim, 1)?.with_sign(-1.0)?);
    Model::new("funnel", structure, Arc::new(Nothing { sites: dim }), hyperparameters)
}
