//! Keeps what a chain produced: every hyperparameter draw, the field's running moments, and as many field draws as fit.

mod exponential;
mod field;
mod info;

pub use exponential::Exponential;
pub use field::{FieldDraws, FieldPlan, pooled};
pub use info::{DIVERGENT, Info};

use serde::{Deserialize, Serialize};

/// How many entries of a chain are on disk in whole chunks: draws, draws at sites, and whole fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Draws of hyperparameters and statistics.
    pub draws: usize,
    /// Draws at the sites that are diagnosed.
    pub sites: usize,
    /// Whole fields.
    pub fields: usize,
}

/// Everything one chain recorded after warm-up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChainDraws {
    /// The chain's number.
    pub chain: u32,
    /// Draws of each hyperparameter on its reported scale.
    pub parameters: Vec<Vec<f64>>,
    /// H at the start of each trajectory.
    pub energy: Vec<f64>,
    /// Acceptance probability of each transition.
    pub acceptance: Vec<f64>,
    /// Integrator steps of each transition.
    pub steps: Vec<u32>,
    /// Which transitions diverged.
    pub divergent: Vec<bool>,
    /// The field.
    pub field: FieldDraws,
    /// Step size of the latents after warm-up.
    pub step_size: f64,
    /// Latent gradients evaluated during warm-up.
    pub warmup_gradients: u64,
    /// Latent gradients evaluated after it.
    pub gradients: u64,
    /// Seconds of warm-up: CPU time where the chain has a thread of its own, its share of the elapsed time on a GPU.
    pub warmup_seconds: f64,
    /// The same after it.
    pub seconds: f64,
}

impl ChainDraws {
    /// Nothing yet, with room for every draw.
    pub fn new(chain: u32, hyperparameters: usize, plan: &FieldPlan, draws: usize) -> Self {
        let room = || Vec::with_capacity(draws);
        Self {
            chain,
            parameters: (0..hyperparameters).map(|_| room()).collect(),
            energy: room(),
            acceptance: room(),
            steps: Vec::with_capacity(draws),
            divergent: Vec::with_capacity(draws),
            field: FieldDraws::new(plan, draws),
            step_size: f64::NAN,
            warmup_gradients: 0,
            gradients: 0,
            warmup_seconds: 0.0,
            seconds: 0.0,
        }
    }

    /// Adds a transition and the hyperparameters after it, on their reported scale; the field is recorded by itself.
    pub(crate) fn record(&mut self, info: &Info, values: &[f64]) {
        self.parameters.iter_mut().zip(values).for_each(|(draws, &value)| draws.push(value));
        self.energy.push(info.energy);
        self.acceptance.push(info.acceptance);
        self.steps.push(info.steps);
        self.divergent.push(info.divergent);
    }

    /// Makes room for `draws` draws in all, apart from those of the field, so that recording asks for no memory.
    pub(crate) fn make_room(&mut self, draws: usize) {
        let more = draws.saturating_sub(self.energy.len());
        self.parameters.iter_mut().for_each(|values| values.reserve_exact(more));
        self.energy.reserve_exact(more);
        self.acceptance.reserve_exact(more);
        self.steps.reserve_exact(more);
        self.divergent.reserve_exact(more);
    }

    /// The same with only those draws that come after what an archive has.
    pub(crate) fn since(&self, mark: Mark) -> Self {
        let from = mark.draws;
        Self {
            chain: self.chain,
            parameters: self.parameters.iter().map(|values| values[from..].to_vec()).collect(),
            energy: self.energy[from..].to_vec(),
            acceptance: self.acceptance[from..].to_vec(),
            steps: self.steps[from..].to_vec(),
            divergent: self.divergent[from..].to_vec(),
            field: self.field.since(mark.sites, mark.fields),
            step_size: self.step_size,
            warmup_gradients: self.warmup_gradients,
            gradients: self.gradients,
            warmup_seconds: self.warmup_seconds,
            seconds: self.seconds,
        }
    }

    /// Leaves out draws beyond so many, so that chains that were stopped have as many each; moments of the field keep them.
    pub(crate) fn cut(&mut self, draws: usize) {
        self.parameters.iter_mut().for_each(|values| values.truncate(draws));
        self.energy.truncate(draws);
        self.acceptance.truncate(draws);
        self.steps.truncate(draws);
        self.divergent.truncate(draws);
        self.field.cut(draws);
    }

    /// Takes the field out and leaves an empty one.
    pub(crate) fn take_field(&mut self, plan: &FieldPlan) -> FieldDraws {
        std::mem::replace(&mut self.field, FieldDraws::new(plan, 0))
    }
}
