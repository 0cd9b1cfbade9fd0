//! Steps latents and hyperparameters together: kick ε/2, flow ε, kick ε/2.
//!
//! With [`Flow::Drift`] this is the leapfrog. With [`Flow::Rotation`] the Gaussian reference ½|z|² + ½|ψ|² is followed exactly and only
//! what differs from it is kicked, so the step size does not shrink as latents are added that follow their prior.

use super::{Steps, System};
use crate::device::Flow;

pub(super) fn step(system: &mut System, steps: &Steps, flow: Flow) {
    system.leap_latents(steps, 1.0, flow);
    system.kick_hyperparameters(steps, 0.5, flow, false);
    system.flow_hyperparameters(steps, 1.0, flow);
    system.evaluate();
    system.kick_latents(steps, 0.5, flow);
    system.kick_hyperparameters(steps, 0.5, flow, false);
}
