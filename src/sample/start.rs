//! Finds where a chain starts: hyperparameters near their start values, latents near zero, with a finite density.

use crate::coordinates::Coordinates;
use crate::error::{Error, Result};
use crate::hamiltonian::Target;
use crate::integrate::HyperMetric;
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
/// The same where the posterior is known roughly, in its standard deviations.
const WIDE: f64 = 1.5;

/// A starting point for one chain, the same whatever other chains there are; `known` is where hyperparameters are in coordinates in
/// which latents are standardised, if that is known.
pub(crate) fn start(
    model: &Arc<Model>,
    coordinates: &Coordinates,
    known: Option<&HyperMetric>,
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
        let closer = 1.0 / (1.0 + 0.1 * f64::from(attempt));
        let (phi, z) = match known {
            Some(metric) => {
                let (own, rest) = noise.split_at_mut(m);
                own.iter_mut().for_each(|e| *e *= WIDE * closer);
                let mut phi = vec![0.0; m];
                metric.restore(own, &mut phi);
                rest.iter_mut().for_each(|e| *e *= closer);
                (phi, rest.to_vec())
            }
            None => {
                let near = |(c, e): (&f64, &f64)| c + SPREAD * closer * e;
                let z = noise[m..].iter().map(|e| 0.1 * e).collect();
                (centre.iter().zip(&noise).map(near).collect(), z)
            }
        };
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
