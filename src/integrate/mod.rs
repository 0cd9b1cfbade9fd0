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
        self.advance(system, steps);
        self.land(system);
    }

    /// Makes `count` steps, each of the sizes that `choose` sets for it once the point before it is evaluated. They lead where as many
    /// calls of [`Self::step`] do, but for rounding, and cost less.
    pub fn travel(
        self,
        system: &mut System,
        steps: &mut Steps,
        count: u32,
        mut choose: impl FnMut(u32, &System, &mut Steps),
    ) {
        for step in 0..count {
            choose(step, system, steps);
            self.advance(system, steps);
        }
        self.land(system);
    }

    /// Makes a step but for what the next one can do along with its own beginning.
    fn advance(self, system: &mut System, steps: &Steps) {
        match self {
            Integrator::Joint(flow) => joint::advance(system, steps, flow),
            Integrator::Abla { flow, k1, k2 } => abla::step(system, steps, flow, k1, k2),
        }
    }

    /// Completes the last step.
    fn land(self, system: &mut System) {
        if let Integrator::Joint(flow) = self {
            system.land(flow);
        }
    }

    /// The flow its latents follow.
    pub fn flow(self) -> Flow {
        match self {
            Integrator::Joint(flow) | Integrator::Abla { flow, .. } => flow,
        }
    }
}
