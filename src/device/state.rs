//! Holds one chain's latents outside of any device, complete enough to go on from with the same bits.

use crate::coordinates::Coordinates;
use crate::hamiltonian::Tilt;
use serde::{Deserialize, Serialize};

/// One chain's latents between two transitions. Numbers of a device in single precision are here in double, which loses nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LatentState {
    /// The coordinates z is in.
    pub coordinates: Coordinates,
    /// How z follows the hyperparameters, if that was learnt.
    pub tilt: Option<Tilt>,
    /// Position.
    pub z: Vec<f64>,
    /// ∂U/∂z there.
    pub by_z: Vec<f64>,
    /// The reported latents at the sites.
    pub field: Vec<f64>,
    /// The predictor at the sites; empty on a device that does not keep it.
    pub predictor: Vec<f64>,
    /// Latent gradients evaluated so far.
    pub gradients: u64,
    /// Sums that a device keeps; none where the host does.
    pub kept: Option<DeviceSums>,
}

/// Running means and moments that a device keeps for a chain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeviceSums {
    /// Points in the means of latents, score and predictor, and those means.
    pub observed: u64,
    /// Mean latents.
    pub x: Vec<f64>,
    /// Mean score.
    pub g: Vec<f64>,
    /// Mean of the predictor's constant part.
    pub constant: f64,
    /// Mean coefficients of the covariates.
    pub effects: Vec<f64>,
    /// Draws in the sums over fields.
    pub draws: u64,
    /// Those sums, over draws or over observations.
    pub fields: FieldSums,
}

/// Sums over the draws of a field, to the bit as a device keeps them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FieldSums {
    /// The first draw, from which deviations are measured.
    pub reference: Vec<f32>,
    /// Sums of deviations at every site, then of their squares, in pairs of floats.
    pub sums: Vec<[f32; 2]>,
    /// The same of e to the deviation, less one; empty where nobody asked for exponentials.
    pub exponential: Vec<[f32; 2]>,
    /// Draws above each level, level after level.
    pub above: Vec<u32>,
}
