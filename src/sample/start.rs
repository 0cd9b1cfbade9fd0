//! Finds where a chain starts: hyperparameters near their start values, latents near zero, with a finite density.

use crate::coordinates::Coordinates;
use crate::error::{Error, Result};
use crate::hamiltonian::Target;
use crate::model::Model;
use crate::random::{Purpose, Stream};
use std::sync::Arc;

/// A chain's first point: φ and z.
pub(crate) struct Start {
    pub(crate) phi: Vec<f64>,
    pub(crate) z: Vec<f64>,
}

/// Tries before a chain gives up.
const TRIES: u32 = 100;
/// Spread of the starting hyperparameters on their unconstrained scale: chains must not start together, or R-hat is blind.
const SPREAD: f64 = 0.5;

/// A starting point for one chain, the same whatever other chains there are.
pub(crate) fn start(
    model: &Arc<Model>,
    coordinates: &Coordinates,
    seed: u64,
    chain: u32,
) -> Result<Start> {
    let (n, m) = (model.structure().dim(), model.hyperparameters().len());
    let mut target = Target::new(model.clone(), coordinates)?;
    let centre = model.start();
    let (mut by_z, mut by_phi) = (vec![0.0; n], vec![0.0; m]);
    for attempt in 0..TRIES {
        let mut noise = vec![0.0; n + m];
        Stream::new(seed, chain, attempt, Purpose::Start).fill_normals(&mut noise);
        // Later tries stay closer, in case the start values are good and the spread is not.
        let spread = SPREAD / (1.0 + 0.1 * f64::from(attempt));
        let phi: Vec<f64> = centre.iter().zip(&noise).map(|(c, e)| c + spread * e).collect();
        let z: Vec<f64> = noise[m..].iter().map(|e| 0.1 * e).collect();
        let potential = target.evaluate(&z, &phi, &mut by_z, &mut by_phi);
        let slopes = by_z.iter().chain(&by_phi).all(|g| g.is_finite());
        if potential.is_finite() && slopes {
            return Ok(Start { phi, z });
        }
    }
    Err(Error::Numeric(format!(
        "chain {chain} found no starting point with a finite density in {TRIES} tries; check the data for extreme values, \
         or give priors that keep the hyperparameters in a sensible range (--prior NAME=DIST)"
    )))
}
