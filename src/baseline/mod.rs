//! Makes the transitions of the paper's rivals and of NUTS, on the same targets as the sampler proper.
//!
//! | rival | moves |
//! |---|---|
//! | [`Hmc`] | latents and hyperparameters together, with a constant diagonal mass |
//! | [`Nuts`] | the same, choosing the length of each trajectory (multinomial No-U-Turn) |
//! | [`HmcGibbs`] | latents given hyperparameters, then hyperparameters given latents: SSHMC without auxiliary potentials |
//! | [`RmhmcGibbs`] | the same in turns, with the Fisher metrics of Girolami and Calderhead (2011) |
//! | [`SoftAbs`] | everything together under the SoftAbs metric of Betancourt (2013), for small models |
//!
//! A [`Rival`] changes a [`State`] of a [`Space`], and tells what happened; it is tuned from outside.

mod fisher;
mod gibbs;
mod hmc;
mod nuts;
mod rmhmc;
mod softabs;
mod space;

pub use fisher::{GroupSurface, HyperSurface, expected_information, prior_precisions};
pub use gibbs::HmcGibbs;
pub use hmc::Hmc;
pub use nuts::Nuts;
pub use rmhmc::RmhmcGibbs;
pub use softabs::{JointSurface, SoftAbs};
pub use space::{Address, Space, State};

use crate::draws::Info;
use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};

/// What a window of warm-up draws says about the posterior's scales.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scales {
    /// Variance of each latent in its coordinates.
    pub latents: Vec<f64>,
    /// Mean of the hyperparameters.
    pub centre: Vec<f64>,
    /// Covariance of the hyperparameters.
    pub covariance: DMatrix<f64>,
}

/// A Markov transition that leaves the posterior as it is.
pub trait Rival: Send {
    /// Moves the state.
    fn transition(&mut self, space: &mut Space, state: &mut State, address: Address) -> Info;

    /// Moves the state as the same chain does when time runs backwards: the adjoint of [`Self::transition`], which is the transition
    /// itself unless it is made of blocks in turn.
    fn transition_back(&mut self, space: &mut Space, state: &mut State, address: Address) -> Info {
        self.transition(space, state, address)
    }

    /// Sets the step sizes of latents and hyperparameters; a rival with one step size takes the first.
    fn set_steps(&mut self, steps: [f64; 2]);

    /// Learns the scales of a window of warm-up, in place of those it had; false if it keeps those, or has none.
    fn learn(&mut self, _scales: &Scales) -> bool {
        false
    }
}

/// How long trajectories are.
#[derive(Clone, Copy, Debug)]
pub struct Trajectory {
    /// Steps of the latents, or of everything together; none: as many as the length asks for.
    pub steps: Option<u32>,
    /// Steps of the hyperparameters where they move by themselves.
    pub hyper_steps: u32,
    /// Mean length.
    pub path: f64,
    /// Lengths, or step sizes where their number is fixed, vary by this share.
    pub jitter: f64,
    /// Most steps.
    pub most_steps: u32,
}

impl Trajectory {
    /// Number and size of the steps, given the tuned step and a uniform number.
    pub(crate) fn plan(&self, step: f64, uniform: f64) -> (u32, f64) {
        match self.steps {
            Some(steps) => (steps, shortened(step, self.jitter, uniform)),
            None => {
                let length = self.path * (1.0 + self.jitter * (2.0 * uniform - 1.0));
                let count = ((length / step).round().max(1.0) as u32).min(self.most_steps);
                (count, step.min(length / f64::from(count)))
            }
        }
    }
}

/// A step shortened at random, so that trajectories of a fixed number of steps do not all have one length.
pub(crate) fn shortened(step: f64, jitter: f64, uniform: f64) -> f64 {
    step * (1.0 - jitter * uniform)
}
