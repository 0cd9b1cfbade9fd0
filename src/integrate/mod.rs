//! Moves (z, r, φ, p) along trajectories that are reversible, preserve volume and nearly conserve H.

mod abla;
mod curved;
mod generalized;
mod joint;
mod metric;
mod system;

pub use curved::{Metric, MetricKind};
pub use generalized::{Flight, Generalized, RETURN_TOLERANCE, Surface, TOLERANCE};
pub use metric::HyperMetric;
pub use system::{Steps, System};

use crate::device::Flow;

/// How a trajectory is made of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integrator {
    /// Latents and hyperparameters move together: one gradient a step. For constant masses, where H is separable.
    Joint(Flow),
    /// Alternating blockwise leapfrog, the paper's: needed where a block's mass depends on the other block.
    Abla {
        /// The latents' flow.
        flow: Flow,
        /// Inner steps of each half of the latent block.
        k1: u32,
        /// Inner steps of the hyperparameter block.
        k2: u32,
    },
}

impl Integrator {
    /// Makes one step on every chain whose step sizes are not zero.
    pub fn step(self, system: &mut System, steps: &Steps) {
        match self {
            Integrator::Joint(flow) => joint::step(system, steps, flow),
            Integrator::Abla { flow, k1, k2 } => abla::step(system, steps, flow, k1, k2),
        }
    }

    /// The flow its latents follow.
    pub fn flow(self) -> Flow {
        match self {
            Integrator::Joint(flow) | Integrator::Abla { flow, .. } => flow,
        }
    }
}
