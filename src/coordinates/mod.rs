//! Chooses the variables in which latents are sampled: a family that runs from the paper's to data-informed ones.
//!
//! The latents are u ~ N(0, Σ(w)) around a mean m = Σⱼ cⱼ Zⱼ whose coefficients c belong to the hyperparameters. With
//! information K and a shift q the sampler works on z,
//!
//!   u = V s + T z,   V = (Σ⁻¹ + K)⁻¹ = T T',   s = q − K m,
//!
//! - `centred`: u = z, as published. Hyperparameters then move by O(1/√n) a step.
//! - `whitened`: K = 0, q = 0: z is independent of the hyperparameters a priori.
//! - `informed`: K near the likelihood's information and q = K x̄ + E ∇ log p(y|x), so that z is close to N(0, I) a
//!   posteriori for every w. (By Stein's identity Σ⁻¹E[u|w] = E[∇ log p], so this q puts the mean of z at zero.)
//!
//! Any K and q are valid, being a change of variables; good ones are fast. In z the potential is
//!
//!   U = −log p(y|m + u) + ½u'Σ⁻¹u + ½log|Σ| − ½log|V| − log p(w).
//!
//! A [`Chart`] computes it and its gradients, in two halves around the likelihood.

mod autoregression;
mod block;
mod generic;
mod learn;
mod spectral;
mod tally;

use crate::error::Result;
use crate::model::Model;
use crate::structure::{Information, Structure};
use autoregression::AutoregressionChart;
pub use block::Block;
use block::BlockChart;
use generic::GenericChart;
pub use learn::BlockSizes;
pub(crate) use learn::{Fitted, learn};
use serde::{Deserialize, Serialize};
use spectral::SpectralChart;
use std::sync::Arc;

/// The variables in which latents are sampled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Coordinates {
    /// The latents themselves.
    Centred,
    /// Standardised by prior and information.
    Informed {
        /// K.
        information: Information,
        /// q, in the structure's basis; none means zero.
        #[serde(with = "crate::shared::optional")]
        shift: Option<Arc<Vec<f64>>>,
    },
    /// Standardised by what data say about each smooth mode of a field on a grid, for every value of its hyperparameters.
    Block(#[serde(with = "crate::shared")] Arc<Block>),
}

impl Coordinates {
    /// Coordinates that follow the hyperparameters of a field on a grid, learnt from a model and from values w = (log σ, log ℓ) that
    /// are likely a posteriori, as by a pilot run; without sizes these are chosen by cost, as a run does. None if the model is not one
    /// of such a field, seen site by site.
    pub fn block_informed(
        model: &Model,
        likely: &[[f64; 2]],
        sizes: Option<BlockSizes>,
    ) -> Option<Self> {
        Some(Coordinates::Block(Arc::new(learn(model, likely, None, sizes)?.block)))
    }

    /// The block that hyperparameters are sampled with, if there is one.
    pub(crate) fn block(&self) -> Option<&Arc<Block>> {
        match self {
            Coordinates::Block(block) => Some(block),
            Coordinates::Centred | Coordinates::Informed { .. } => None,
        }
    }

    /// Standardised by the prior alone.
    pub fn whitened() -> Self {
        Coordinates::Informed { information: Information::NONE, shift: None }
    }

    /// The name a user types.
    pub fn name(&self) -> &'static str {
        match self {
            Coordinates::Centred => "centred",
            Coordinates::Informed { information: Information::Scalar(0.0), shift: None } => {
                "whitened"
            }
            Coordinates::Informed { .. } => "informed",
            Coordinates::Block(_) => "block-informed",
        }
    }
}

/// Takes z to the field at the sites, and the likelihood's gradient there back to gradients in z and hyperparameters.
pub trait Chart: Send {
    /// Moves to (w, c, z), writes u at the sites and returns ½u'Σ⁻¹u + ½log|Σ| − ½log|V|; infinity outside the model.
    fn forward(&mut self, w: &[f64], c: &[f64], z: &[f64], sites: &mut [f64]) -> f64;

    /// Given g = −∇ log p at the sites, writes ∂U/∂z, ∂U/∂w and the part of ∂U/∂c that comes through u.
    ///
    /// Belongs to the last [`Self::forward`], whose `z` and `sites` these are, as do [`Self::latents`] and [`Self::site_gradient`].
    fn backward(
        &mut self,
        z: &[f64],
        sites: &[f64],
        g: &[f64],
        by_z: &mut [f64],
        by_w: &mut [f64],
        by_c: &mut [f64],
    );

    /// Writes the z at which the latents are u (in the structure's basis); false outside the model.
    fn invert(&mut self, w: &[f64], c: &[f64], u: &[f64], z: &mut [f64]) -> bool;

    /// Writes u in the structure's basis.
    fn latents(&mut self, z: &[f64], sites: &[f64], u: &mut [f64]);

    /// Writes g in the structure's basis, given the `by_z` of the last [`Self::backward`].
    fn site_gradient(&mut self, z: &[f64], sites: &[f64], by_z: &[f64], g: &mut [f64]);
}

/// The chart of a structure in given coordinates; `columns` are the Zⱼ in the structure's basis.
pub fn chart(
    structure: &Structure,
    columns: &[Vec<f64>],
    coordinates: &Coordinates,
) -> Result<Box<dyn Chart>> {
    match (structure, coordinates) {
        (Structure::Spectral(spectral), Coordinates::Informed { information, shift }) => {
            Ok(Box::new(SpectralChart::new(spectral, columns, information, shift.clone())?))
        }
        (Structure::Ar1(series), Coordinates::Informed { information, shift }) => {
            Ok(Box::new(AutoregressionChart::new(series, columns, information, shift.clone())?))
        }
        (Structure::Spectral(spectral), Coordinates::Block(block)) => {
            Ok(Box::new(BlockChart::new(spectral, block.clone())?))
        }
        _ => Ok(Box::new(GenericChart::new(structure, columns, coordinates)?)),
    }
}
