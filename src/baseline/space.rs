//! Holds where a chain is, and the target it moves on.

use crate::coordinates::Coordinates;
use crate::error::Result;
use crate::hamiltonian::Target;
use crate::model::Model;
use crate::random::{Purpose, Stream};
use std::sync::Arc;

/// Which random numbers a transition uses.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    /// Seed of the run.
    pub seed: u64,
    /// Number of the chain.
    pub chain: u32,
    /// Number of the transition.
    pub transition: u32,
}

impl Address {
    /// The stream for a purpose.
    pub(crate) fn stream(self, purpose: Purpose) -> Stream {
        Stream::new(self.seed, self.chain, self.transition, purpose)
    }

    /// Standard normals for a purpose.
    pub(crate) fn normals(self, purpose: Purpose, count: usize) -> Vec<f64> {
        let mut out = vec![0.0; count];
        self.stream(purpose).fill_normals(&mut out);
        out
    }
}

/// An evaluated point: positions, potential, gradients, and what is reported there.
#[derive(Clone, Debug)]
pub struct State {
    /// Latents in the coordinates that are sampled.
    pub z: Vec<f64>,
    /// Hyperparameters.
    pub phi: Vec<f64>,
    /// ∂U/∂z.
    pub by_z: Vec<f64>,
    /// ∂U/∂φ.
    pub by_phi: Vec<f64>,
    /// U.
    pub potential: f64,
    /// The latents at the sites as they are reported.
    pub field: Vec<f64>,
}

impl State {
    /// Takes another state's place without new memory.
    pub(crate) fn take(&mut self, other: &State) {
        self.z.copy_from_slice(&other.z);
        self.phi.copy_from_slice(&other.phi);
        self.by_z.copy_from_slice(&other.by_z);
        self.by_phi.copy_from_slice(&other.by_phi);
        self.potential = other.potential;
        self.field.copy_from_slice(&other.field);
    }
}

/// A target, with a count of what evaluations cost.
pub struct Space {
    target: Target,
    /// Gradients that were computed past the target.
    extra: f64,
}

impl Space {
    /// The posterior of a model in given coordinates.
    pub fn new(model: &Arc<Model>, coordinates: &Coordinates) -> Result<Self> {
        Ok(Self { target: Target::new(model.clone(), coordinates)?, extra: 0.0 })
    }

    /// The target.
    pub fn target(&mut self) -> &mut Target {
        &mut self.target
    }

    /// The model.
    pub fn model(&self) -> &Arc<Model> {
        self.target.model()
    }

    /// An evaluated state at (z, φ).
    pub fn state(&mut self, z: Vec<f64>, phi: Vec<f64>) -> State {
        let sites = self.model().structure().sites();
        let mut state = State {
            by_z: vec![0.0; z.len()],
            by_phi: vec![0.0; phi.len()],
            potential: f64::INFINITY,
            field: vec![0.0; sites],
            z,
            phi,
        };
        self.evaluate(&mut state);
        state
    }

    /// Evaluates a state whose positions have changed.
    pub fn evaluate(&mut self, state: &mut State) {
        let State { z, phi, by_z, by_phi, .. } = state;
        state.potential = self.target.evaluate(z, phi, by_z, by_phi);
        state.field.copy_from_slice(self.target.reported());
    }

    /// Changes coordinates; the latents stay where they are.
    pub fn change(&mut self, coordinates: &Coordinates, state: &mut State) -> Result<()> {
        self.evaluate(state);
        self.target.change(coordinates, &mut state.phi, &mut state.z)?;
        self.evaluate(state);
        Ok(())
    }

    /// Coordinates and what was counted so far: all that a space holds besides its model.
    pub(crate) fn kept(&self) -> (Coordinates, u64, f64) {
        (self.target.coordinates().clone(), self.target.evaluations(), self.extra)
    }

    /// Goes on in the coordinates and with the counts of another space of this model.
    pub(crate) fn restore(
        &mut self,
        coordinates: &Coordinates,
        evaluations: u64,
        extra: f64,
    ) -> Result<()> {
        self.extra = extra;
        self.target.restore(coordinates, None, evaluations)
    }

    /// Counts work done past the target, in gradients.
    pub(crate) fn count(&mut self, gradients: f64) {
        self.extra += gradients;
    }

    /// Latent gradients evaluated so far.
    pub fn gradients(&self) -> u64 {
        self.target.evaluations() + self.extra.round() as u64
    }
}
