//! Audits energies: a sample of transitions of a device that computes in single precision is recomputed in double.
//!
//! Errors of a trajectory cost acceptance and nothing else, because the Metropolis decision looks at its ends. Errors of the energies
//! at the ends change what is sampled. So both ends of some trajectories are fetched, and their difference in H is compared.

use super::plan::Plan;
use super::transition::{Info, Kernel};
use crate::baseline::DIVERGENT;
use crate::coordinates::Coordinates;
use crate::error::Result;
use crate::hamiltonian::{LatentMass, MassKind, Target};
use crate::model::Model;
use serde::{Deserialize, Serialize};
use std::ops::Range;
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

    fn worse(self, other: Self) -> Self {
        Self {
            transitions: self.transitions + other.transitions,
            worst: self.worst.max(other.worst),
        }
    }

    /// What two audits found together.
    pub(crate) fn worst_of(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one.worse(other)),
            (one, other) => one.or(other),
        }
    }
}

/// Audits the chains of a model while they run in a batch.
pub(crate) struct Auditor {
    /// Where in the batch they are.
    lanes: Range<usize>,
    model: Arc<Model>,
    mass: MassKind,
    /// Draws between two audits; none where the device computes in f64 itself.
    every: Option<u32>,
    found: Option<EnergyAudit>,
}

impl Auditor {
    pub(crate) fn new(plan: &Plan<'_>, lanes: Range<usize>) -> Self {
        let (device, draws) = (&plan.settings.device, plan.settings.draws);
        let every = device.is_gpu().then(|| draws.div_ceil(AUDITS).max(1));
        Self { lanes, model: plan.model.clone(), mass: plan.mass.clone(), every, found: None }
    }

    /// Makes transition `transition` of a batch, draw number `draw`, and audits one chain of each model if it is one of the sample.
    pub(crate) fn transition(
        auditors: &mut [Self],
        draw: u32,
        kernel: &mut Kernel,
        transition: u32,
        info: &mut [Info],
    ) -> Result<()> {
        let each = auditors.iter_mut();
        let mut audits: Vec<(&mut Self, usize)> =
            each.filter_map(|auditor| auditor.chain(draw).map(|chain| (auditor, chain))).collect();
        if audits.is_empty() {
            kernel.transition(transition, info);
            return Ok(());
        }
        kernel.refresh(transition);
        let energies = |audits: &[(&mut Self, usize)], kernel: &mut Kernel| {
            let energy = |(auditor, chain): &(&mut Self, usize)| auditor.energy(kernel, *chain);
            audits.iter().map(energy).collect::<Result<Vec<_>>>()
        };
        let before = energies(&audits, kernel)?;
        kernel.travel(transition);
        let after = energies(&audits, kernel)?;
        for ((auditor, chain), ends) in audits.iter_mut().zip(before.into_iter().zip(after)) {
            if let (Some(before), Some(after)) = ends {
                let here = kernel.system.energies()[*chain] - kernel.energy_before(*chain);
                auditor.compare(here, after - before);
            }
        }
        kernel.decide(transition, info);
        Ok(())
    }

    /// The chain of the batch to be audited at a draw, if that is one of the sample.
    fn chain(&self, draw: u32) -> Option<usize> {
        let every = self.every.filter(|&every| draw.is_multiple_of(every))?;
        Some(self.lanes.start + (draw / every) as usize % self.lanes.len())
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
