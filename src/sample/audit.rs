//! Audits energies: a sample of transitions of a device that computes in single precision is recomputed in double.
//!
//! Errors of a trajectory cost acceptance and nothing else, because the Metropolis decision looks at its ends. Errors of the energies
//! at the ends change what is sampled. So both ends of some trajectories are fetched, and their difference in H is compared.

use super::transition::{Info, Kernel};
use crate::baseline::DIVERGENT;
use crate::coordinates::Coordinates;
use crate::device::Device;
use crate::error::Result;
use crate::hamiltonian::{LatentMass, MassKind, Target};
use crate::model::Model;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Transitions of a run that are audited.
const AUDITS: u32 = 8;

/// What an audit found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnergyAudit {
    /// Transitions that were recomputed.
    pub transitions: u32,
    /// The largest error of a difference in energy.
    pub worst: f64,
}

impl EnergyAudit {
    /// An error of a difference in energy beyond which a run is suspect: acceptance probabilities are off by 5 %.
    pub const SUSPECT: f64 = 0.05;

    pub(crate) fn worse(self, other: Self) -> Self {
        Self {
            transitions: self.transitions + other.transitions,
            worst: self.worst.max(other.worst),
        }
    }
}

/// Audits a batch of chains while it runs.
pub(crate) struct Auditor {
    model: Arc<Model>,
    mass: MassKind,
    /// Draws between two audits; none where the device computes in f64 itself.
    every: Option<u32>,
    found: Option<EnergyAudit>,
}

impl Auditor {
    pub(crate) fn new(model: &Arc<Model>, mass: &MassKind, device: &Device, draws: u32) -> Self {
        let every = device.is_gpu().then(|| draws.div_ceil(AUDITS).max(1));
        Self { model: model.clone(), mass: mass.clone(), every, found: None }
    }

    /// Makes transition `transition`, draw number `draw`, and audits one chain of it if it is one of the sample.
    pub(crate) fn transition(
        &mut self,
        draw: u32,
        kernel: &mut Kernel,
        transition: u32,
        info: &mut [Info],
    ) -> Result<()> {
        let Some(every) = self.every.filter(|&every| draw.is_multiple_of(every)) else {
            kernel.transition(transition, info);
            return Ok(());
        };
        let chain = (draw / every) as usize % info.len();
        kernel.refresh(transition);
        let before = self.energy(kernel, chain)?;
        kernel.travel(transition);
        let after = self.energy(kernel, chain)?;
        if let (Some(before), Some(after)) = (before, after) {
            let here = kernel.system.energies()[chain] - kernel.energy_before(chain);
            self.compare(here, after - before);
        }
        kernel.decide(transition, info);
        Ok(())
    }

    /// Books the error of a difference in energy. Where the trajectory diverged both reject, whatever the digits.
    fn compare(&mut self, here: f64, exact: f64) {
        let lost = |d: f64| d.is_nan() || d > DIVERGENT;
        if lost(here) && lost(exact) {
            return;
        }
        let error = (here - exact).abs();
        let worst = if error.is_nan() { f64::INFINITY } else { error };
        let found = EnergyAudit { transitions: 1, worst };
        self.found = Some(self.found.map_or(found, |so_far| so_far.worse(found)));
    }

    /// H of a chain in f64; none if the device's own is.
    fn energy(&self, kernel: &mut Kernel, chain: usize) -> Result<Option<f64>> {
        let n = self.model.structure().dim();
        let (mut z, mut r) = (vec![0.0; n], vec![0.0; n]);
        let Some(coordinates) = kernel.system.latents.point(chain, &mut z, &mut r) else {
            return Ok(None);
        };
        let m = self.model.hyperparameters().len();
        let own = chain * m..(chain + 1) * m;
        let (phi, p) = (&kernel.system.phi[own.clone()], &kernel.system.p[own]);
        let energy = energy(&self.model, &self.mass, &coordinates, phi, [&z, &r])?;
        Ok(Some(energy + 0.5 * p.iter().map(|p| p * p).sum::<f64>()))
    }

    /// What was found so far.
    pub(crate) fn found(&self) -> Option<EnergyAudit> {
        self.found
    }

    /// Goes on from what was found before.
    pub(crate) fn go_on(&mut self, found: Option<EnergyAudit>) {
        self.found = found;
    }
}

/// U(z, φ) plus the kinetic energy of r, in f64.
fn energy(
    model: &Arc<Model>,
    mass: &MassKind,
    coordinates: &Coordinates,
    phi: &[f64],
    [z, r]: [&[f64]; 2],
) -> Result<f64> {
    let mut target = Target::new(model.clone(), coordinates)?;
    let mut mass = LatentMass::new(model.structure(), mass, coordinates)?;
    let (mut by_z, mut by_phi) = (vec![0.0; z.len()], vec![0.0; phi.len()]);
    let potential = target.evaluate(z, phi, &mut by_z, &mut by_phi);
    if !mass.set(target.working(phi).0) {
        return Ok(f64::INFINITY);
    }
    Ok(potential + mass.kinetic(r))
}
