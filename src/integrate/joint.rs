//! Steps latents and hyperparameters together: kick ε/2, flow ε, kick ε/2.
//!
//! With [`Flow::Drift`] this is the leapfrog. With [`Flow::Rotation`] the Gaussian reference ½|z|² + ½|ψ|² is followed exactly and only
//! what differs from it is kicked, so the step size does not shrink as latents are added that follow their prior.
//!
//! Two half kicks that follow each other are at the same point, so they are made as one, of ε: a step passes over the latents once. A chain
//! whose trajectory is over has a step of zero, and its last kick of ε/2 is made while others go on.

use super::{Steps, System};
use crate::device::Flow;

/// A step but for its last half kick, which is left to the next one or to `System::land`.
pub(super) fn advance(system: &mut System, steps: &Steps, flow: Flow) {
    system.leap(steps, flow);
    system.evaluate();
}
