//! Holds what a pilot run found, and models that are ready to be sampled.

use crate::coordinates::Coordinates;
use crate::integrate::HyperMetric;
use crate::model::Model;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a pilot run found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PilotResult {
    /// Margin of the torus as a share of the window's longer side; none if the torus stays as it is.
    pub(super) margin: Option<f64>,
    /// The longest range it makes likely.
    pub(super) longest: f64,
    /// Latent gradients it took, and seconds of CPU time.
    pub(super) cost: u64,
    pub(super) seconds: f64,
    /// Coordinates; none if the model has none of this kind.
    pub(super) found: Option<Found>,
}

/// Where and how to sample.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Found {
    pub(super) coordinates: Coordinates,
    /// Where hyperparameters are in these coordinates.
    pub(super) metric: HyperMetric,
    /// A step size that served.
    pub(super) step: f64,
}

/// A model ready to be sampled.
#[derive(Clone)]
pub(super) struct Prepared {
    pub(super) model: Arc<Model>,
    pub(super) found: Option<Found>,
    pub(super) cost: u64,
    pub(super) seconds: f64,
}

impl Prepared {
    /// A model as it is.
    pub(super) fn plain(model: &Arc<Model>) -> Self {
        Self { model: model.clone(), found: None, cost: 0, seconds: 0.0 }
    }
}
