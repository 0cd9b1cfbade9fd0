//! Audits energies: a sample of transitions of a device that computes in single precision is recomputed in double.
//!
//! Errors of a trajectory cost acceptance and nothing else, because the Metropolis decision looks at its ends. Errors of the energies
//! at the ends change what is sampled. So both ends of some trajectories are fetched, and their difference in H is compared.

use super::state::EnergyAudit;
use super::transition::Watch;
use crate::coordinates::Coordinates;
use crate::draws::DIVERGENT;
use crate::error::Result;
use crate::hamiltonian::{LatentMass, MassKind, Target};
use crate::integrate::System;
use crate::model::Model;
use std::ops::Range;
use std::sync::Arc;

/// Transitions of a run that are audited.
const AUDITS: u32 = 8;

/// Audits the chains of a model while they run in a batch.
pub(super) struct Auditor {
    /// Where in the batch they are.
    lanes: Range<usize>,
    model: Arc<Model>,
    mass: MassKind,
    /// Draws between two audits; none where the device computes in f64 itself.
    every: Option<u32>,
    found: Option<EnergyAudit>,
}

impl Auditor {
    /// For the chains of a model at `lanes` of a batch; of `draws` draws, if the device is not exact, some are audited.
    pub(super) fn new(
        model: &Arc<Model>,
        mass: &MassKind,
        lanes: Range<usize>,
        draws: Option<u32>,
    ) -> Self {
        let every = draws.map(|draws| draws.div_ceil(AUDITS).max(1));
        Self { lanes, model: model.clone(), mass: mass.clone(), every, found: None }
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
    fn energy(&self, system: &mut System, chain: usize) -> Result<Option<f64>> {
        let n = self.model.structure().dim();
        let (mut z, mut r) = (vec![0.0; n], vec![0.0; n]);
        let Some(coordinates) = system.latents.point(chain, &mut z, &mut r) else {
            return Ok(None);
        };
        let m = self.model.hyperparameters().len();
        let own = chain * m..(chain + 1) * m;
        let (phi, p) = (&system.phi[own.clone()], &system.p[own]);
        let energy = energy(&self.model, &self.mass, &coordinates, phi, [&z, &r])?;
        Ok(Some(energy + 0.5 * p.iter().map(|p| p * p).sum::<f64>()))
    }

    /// What was found so far.
    pub(super) fn found(&self) -> Option<EnergyAudit> {
        self.found
    }

    /// Goes on from what was found before.
    pub(super) fn go_on(&mut self, found: Option<EnergyAudit>) {
        self.found = found;
    }
}

/// Audits of one transition: which chains, and the energies at the start, here and in f64.
pub(super) struct Audit<'a> {
    audits: Vec<(&'a mut Auditor, usize)>,
    before: Vec<(f64, Option<f64>)>,
}

impl<'a> Audit<'a> {
    /// Of draw number `draw`, one chain of each model; none if it is not one of the sample.
    pub(super) fn of(auditors: &'a mut [Auditor], draw: u32) -> Option<Self> {
        let each = auditors.iter_mut();
        let audits: Vec<_> =
            each.filter_map(|auditor| auditor.chain(draw).map(|chain| (auditor, chain))).collect();
        (!audits.is_empty()).then_some(Self { audits, before: Vec::new() })
    }
}

impl Watch for Audit<'_> {
    fn look(&mut self, system: &mut System) -> Result<()> {
        // Asking for energies also makes the last kick of p, which may still wait for the device's answer.
        let here = system.energies().to_vec();
        let exact = self.audits.iter().map(|(auditor, chain)| auditor.energy(system, *chain));
        let exact = exact.collect::<Result<Vec<_>>>()?;
        let now = self.audits.iter().map(|&(_, chain)| here[chain]).zip(exact);
        if self.before.is_empty() {
            self.before = now.collect();
            return Ok(());
        }
        let ends = self.before.drain(..).zip(now.collect::<Vec<_>>());
        for ((auditor, _), ((from, exact_from), (to, exact_to))) in self.audits.iter_mut().zip(ends)
        {
            if let (Some(exact_from), Some(exact_to)) = (exact_from, exact_to) {
                auditor.compare(to - from, exact_to - exact_from);
            }
        }
        Ok(())
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
