//! Holds a small problem and the points it is evaluated at on both devices.

use super::normals;
use crate::coordinates::Coordinates;
use crate::model::Model;
use crate::structure::Information;
use std::ops::Range;
use std::sync::Arc;

/// A problem with points to evaluate it at, which single precision holds exactly.
#[derive(Clone, Debug)]
pub struct Problem {
    /// What to call it.
    pub name: String,
    /// The model.
    pub model: Arc<Model>,
    /// Information of its coordinates; zero: whitened ones.
    pub kappa: f64,
    /// Number of chains.
    pub chains: u32,
    /// A step that keeps trajectories near the typical set.
    pub step: f64,
}

impl Problem {
    /// Numbers of its chains.
    pub fn ids(&self) -> Range<u32> {
        7..7 + self.chains
    }

    /// Latents of a chain, not symmetric in any way.
    pub fn z(&self, chain: u32) -> Vec<f64> {
        let n = self.model.structure().dim();
        normals(n, chain).iter().map(|z| f64::from((0.4 * z + 0.05) as f32)).collect()
    }

    /// Hyperparameters of a chain.
    pub fn phi(&self, chain: u32) -> Vec<f64> {
        let start = self.model.start();
        let noise = normals(start.len().max(8), 100 + chain);
        start.iter().zip(noise).map(|(phi, e)| phi + 0.3 * e).collect()
    }

    /// Coordinates as a device rounds them: κ and all of q but its first entry in single precision. `error` is a relative error of
    /// κ, to spoil a reference.
    pub fn rounded(&self, error: f64) -> Coordinates {
        if self.kappa == 0.0 {
            return Coordinates::whitened();
        }
        let kappa = f64::from(self.kappa as f32) * (1.0 + error);
        let shift = normals(self.model.structure().dim(), 5);
        let shift = shift.iter().map(|q| f64::from((0.1 * q) as f32)).collect();
        Coordinates::Informed {
            information: Information::Scalar(kappa),
            shift: Some(Arc::new(shift)),
        }
    }
}
