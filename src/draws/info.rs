//! Says what a reader may want to know of a transition, whatever the method.

/// An energy error beyond this is a divergence: the integrator, not the posterior, decided.
pub const DIVERGENT: f64 = 1000.0;

/// What a reader may want to know of a transition.
#[derive(Clone, Copy, Debug, Default)]
pub struct Info {
    /// Whether a proposal was taken.
    pub accepted: bool,
    /// Its acceptance probability; the mean of both where blocks take turns.
    pub acceptance: f64,
    /// The same of the latents alone, and of the hyperparameters alone; both the same where there is only one decision.
    pub block_acceptance: [f64; 2],
    /// H at the start of the trajectory.
    pub energy: f64,
    /// Integrator steps made, of all blocks.
    pub steps: u32,
    /// Whether the trajectory diverged, could not be solved for or did not return to its start.
    pub divergent: bool,
}

impl Info {
    /// Of one trajectory with this energy error; nothing is taken yet.
    pub(crate) fn of_error(error: f64, energy: f64, steps: u32) -> Self {
        let error = if error.is_nan() { f64::INFINITY } else { error };
        let acceptance = (-error).exp().min(1.0);
        let divergent = error > DIVERGENT;
        let block_acceptance = [acceptance; 2];
        Self { accepted: false, acceptance, block_acceptance, energy, steps, divergent }
    }

    /// Of two blocks one after the other.
    pub(crate) fn of_blocks(latents: Self, hyperparameters: Self) -> Self {
        let block_acceptance = [latents.acceptance, hyperparameters.acceptance];
        Self {
            accepted: latents.accepted || hyperparameters.accepted,
            acceptance: 0.5 * (block_acceptance[0] + block_acceptance[1]),
            block_acceptance,
            energy: latents.energy,
            steps: latents.steps + hyperparameters.steps,
            divergent: latents.divergent || hyperparameters.divergent,
        }
    }
}
