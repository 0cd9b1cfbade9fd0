//! Moves latents and hyperparameters in turns, each by leapfrog with the other held: HMC within Gibbs.
//!
//! The latents have the same mass M(φ) as in SSHMC, but the hyperparameters do not feel it: each turn draws momenta of its own
//! and ends in a Metropolis decision of its own, and the auxiliary potentials of the paper's equations are left out.

use super::{Address, Rival, Scales, Space, State, Trajectory};
use crate::draws::Info;
use crate::error::Result;
use crate::hamiltonian::{LatentMass, MassKind};
use crate::integrate::HyperMetric;
use crate::numeric::{axpy, squared_norm};
use crate::random::Purpose;

/// Which uniform numbers decide about the two blocks, and shorten their steps.
const LATENTS: u32 = 0;
const HYPERPARAMETERS: u32 = 1;

/// HMC within Gibbs.
pub struct HmcGibbs {
    latents: LatentTurn,
    hyperparameters: HyperTurn,
}

impl HmcGibbs {
    /// With a mass for the latents; the hyperparameters' constant metric is learnt.
    pub fn new(
        space: &mut Space,
        state: &State,
        kind: MassKind,
        trajectory: Trajectory,
    ) -> Result<Self> {
        let metric = HyperMetric::diagonal(&state.phi, &vec![1.0; state.phi.len()]);
        Ok(Self {
            latents: LatentTurn::new(space, state, &kind, trajectory)?,
            hyperparameters: HyperTurn::new(state, metric, trajectory),
        })
    }
}

impl Rival for HmcGibbs {
    fn transition(&mut self, space: &mut Space, state: &mut State, address: Address) -> Info {
        let latents = self.latents.take(space, state, address);
        let hyperparameters = self.hyperparameters.take(space, state, address);
        Info::of_blocks(latents, hyperparameters)
    }

    fn transition_back(&mut self, space: &mut Space, state: &mut State, address: Address) -> Info {
        let hyperparameters = self.hyperparameters.take(space, state, address);
        let latents = self.latents.take(space, state, address);
        Info::of_blocks(latents, hyperparameters)
    }

    fn set_steps(&mut self, steps: [f64; 2]) {
        self.latents.step = steps[0];
        self.hyperparameters.step = steps[1];
    }

    fn learn(&mut self, scales: &Scales) -> bool {
        let metric = HyperMetric::dense(&scales.centre, scales.covariance.clone());
        let learnt = metric.is_some();
        metric.into_iter().for_each(|metric| self.hyperparameters.metric = metric);
        learnt
    }
}

/// The latents' turn: leapfrog under M(φ) with φ held.
pub(super) struct LatentTurn {
    pub(super) step: f64,
    mass: LatentMass,
    trajectory: Trajectory,
    proposal: State,
    velocity: Vec<f64>,
}

impl LatentTurn {
    pub(super) fn new(
        space: &mut Space,
        state: &State,
        kind: &MassKind,
        trajectory: Trajectory,
    ) -> Result<Self> {
        Ok(Self {
            step: 0.1,
            mass: mass(space, kind)?,
            trajectory,
            proposal: state.clone(),
            velocity: vec![0.0; state.z.len()],
        })
    }

    /// Gives the latents another mass.
    pub(super) fn weigh(&mut self, space: &mut Space, kind: &MassKind) -> Result<()> {
        self.mass = mass(space, kind)?;
        Ok(())
    }

    pub(super) fn take(&mut self, space: &mut Space, state: &mut State, address: Address) -> Info {
        let mut r = address.normals(Purpose::Momentum, state.z.len());
        let w = space.target().working(&state.phi).0.to_vec();
        if !self.mass.set(&w) {
            return Info::of_error(f64::INFINITY, state.potential, 0);
        }
        self.mass.draw(&mut r);
        let uniform = address.stream(Purpose::Jitter).uniform(LATENTS);
        let (count, step) = self.trajectory.plan(self.step, uniform);
        let energy = state.potential + self.mass.kinetic(&r);
        self.proposal.take(state);
        let proposal = &mut self.proposal;
        let mut made = 0;
        while made < count && proposal.potential.is_finite() {
            axpy(-0.5 * step, &proposal.by_z, &mut r);
            self.mass.velocity(&r, &mut self.velocity);
            axpy(step, &self.velocity, &mut proposal.z);
            space.evaluate(proposal);
            axpy(-0.5 * step, &proposal.by_z, &mut r);
            made += 1;
        }
        let error = proposal.potential + self.mass.kinetic(&r) - energy;
        settle(error, energy, made, proposal, state, address, LATENTS)
    }
}

fn mass(space: &mut Space, kind: &MassKind) -> Result<LatentMass> {
    let coordinates = space.target().coordinates().clone();
    LatentMass::new(space.model().structure(), kind, &coordinates)
}

/// The hyperparameters' turn: leapfrog under a constant metric with the latents held.
pub(super) struct HyperTurn {
    pub(super) step: f64,
    pub(super) metric: HyperMetric,
    trajectory: Trajectory,
    proposal: State,
}

impl HyperTurn {
    pub(super) fn new(state: &State, metric: HyperMetric, trajectory: Trajectory) -> Self {
        Self { step: 0.1, metric, trajectory, proposal: state.clone() }
    }

    pub(super) fn take(&mut self, space: &mut Space, state: &mut State, address: Address) -> Info {
        let mut p = address.normals(Purpose::Hyper, state.phi.len());
        let uniform = address.stream(Purpose::Jitter).uniform(HYPERPARAMETERS);
        let step = super::shortened(self.step, self.trajectory.jitter, uniform);
        let energy = state.potential + 0.5 * squared_norm(&p);
        self.proposal.take(state);
        let proposal = &mut self.proposal;
        let mut made = 0;
        while made < self.trajectory.hyper_steps && proposal.potential.is_finite() {
            self.metric.kick(0.5 * step, &proposal.by_phi, &mut p);
            self.metric.drift(step, &p, &mut proposal.phi);
            space.evaluate(proposal);
            self.metric.kick(0.5 * step, &proposal.by_phi, &mut p);
            made += 1;
        }
        let error = proposal.potential + 0.5 * squared_norm(&p) - energy;
        settle(error, energy, made, proposal, state, address, HYPERPARAMETERS)
    }
}

/// Metropolis for one block.
fn settle(
    error: f64,
    energy: f64,
    made: u32,
    proposal: &State,
    state: &mut State,
    address: Address,
    block: u32,
) -> Info {
    let mut info = Info::of_error(error, energy, made);
    info.accepted = address.stream(Purpose::Accept).uniform(block) < info.acceptance;
    if info.accepted {
        state.take(proposal);
    }
    info
}
