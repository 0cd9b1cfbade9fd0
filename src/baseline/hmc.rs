//! Moves latents and hyperparameters together by leapfrog with a constant diagonal mass: standard HMC.

use super::{Address, Rival, Scales, Space, State, Trajectory};
use crate::draws::Info;
use crate::numeric::squared_norm;
use crate::random::Purpose;

/// Momenta in units where the mass is the identity, and the scales that make it so.
#[derive(Clone, Debug)]
pub(super) struct Diagonal {
    /// Standard deviation of each latent as far as it is known.
    latents: Vec<f64>,
    /// The same of the hyperparameters.
    hyperparameters: Vec<f64>,
    learns: bool,
}

impl Diagonal {
    /// The identity, which learns or stays.
    pub(super) fn identity(n: usize, m: usize, learns: bool) -> Self {
        Self { latents: vec![1.0; n], hyperparameters: vec![1.0; m], learns }
    }

    pub(super) fn learn(&mut self, scales: &Scales) -> bool {
        if self.learns {
            let root = |v: &f64| v.sqrt();
            self.latents = scales.latents.iter().map(root).collect();
            self.hyperparameters = scales.covariance.diagonal().iter().map(root).collect();
        }
        self.learns
    }

    pub(super) fn draw(&self, address: Address) -> Momentum {
        Momentum {
            latents: address.normals(Purpose::Momentum, self.latents.len()),
            hyperparameters: address.normals(Purpose::Hyper, self.hyperparameters.len()),
        }
    }

    /// One leapfrog step, evaluated at its end.
    pub(super) fn leap(&self, space: &mut Space, state: &mut State, p: &mut Momentum, step: f64) {
        self.kick(state, p, 0.5 * step);
        for ((z, r), scale) in state.z.iter_mut().zip(&p.latents).zip(&self.latents) {
            *z += step * scale * r;
        }
        let own = state.phi.iter_mut().zip(&p.hyperparameters).zip(&self.hyperparameters);
        own.for_each(|((phi, p), scale)| *phi += step * scale * p);
        space.evaluate(state);
        self.kick(state, p, 0.5 * step);
    }

    fn kick(&self, state: &State, p: &mut Momentum, step: f64) {
        for ((r, g), scale) in p.latents.iter_mut().zip(&state.by_z).zip(&self.latents) {
            *r -= step * scale * g;
        }
        let own = p.hyperparameters.iter_mut().zip(&state.by_phi).zip(&self.hyperparameters);
        own.for_each(|((p, g), scale)| *p -= step * scale * g);
    }
}

/// A momentum of everything, p ~ N(0, I).
#[derive(Clone, Debug)]
pub(super) struct Momentum {
    pub(super) latents: Vec<f64>,
    pub(super) hyperparameters: Vec<f64>,
}

impl Momentum {
    pub(super) fn kinetic(&self) -> f64 {
        0.5 * (squared_norm(&self.latents) + squared_norm(&self.hyperparameters))
    }
}

/// Standard HMC on the joint space.
pub struct Hmc {
    mass: Diagonal,
    trajectory: Trajectory,
    step: f64,
    proposal: State,
}

impl Hmc {
    /// With identity mass, or a diagonal one that learns.
    pub fn new(state: &State, trajectory: Trajectory, learns: bool) -> Self {
        let mass = Diagonal::identity(state.z.len(), state.phi.len(), learns);
        Self { mass, trajectory, step: 0.1, proposal: state.clone() }
    }
}

impl Rival for Hmc {
    fn transition(&mut self, space: &mut Space, state: &mut State, address: Address) -> Info {
        let uniform = address.stream(Purpose::Jitter).uniform(0);
        let (count, step) = self.trajectory.plan(self.step, uniform);
        let mut p = self.mass.draw(address);
        let energy = state.potential + p.kinetic();
        self.proposal.take(state);
        let mut made = 0;
        while made < count && self.proposal.potential.is_finite() {
            self.mass.leap(space, &mut self.proposal, &mut p, step);
            made += 1;
        }
        let error = self.proposal.potential + p.kinetic() - energy;
        let mut info = Info::of_error(error, energy, made);
        info.accepted = address.stream(Purpose::Accept).uniform(0) < info.acceptance;
        if info.accepted {
            state.take(&self.proposal);
        }
        info
    }

    fn set_steps(&mut self, steps: [f64; 2]) {
        self.step = steps[0];
    }

    fn learn(&mut self, scales: &Scales) -> bool {
        self.mass.learn(scales)
    }
}
