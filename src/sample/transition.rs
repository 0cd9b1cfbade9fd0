//! Says what the one loop over transitions asks of a method, of what tunes it, and who may look on.

use super::state::{AdapterState, ChainState};
use crate::device::Record;
use crate::draws::Info;
use crate::error::Result;
use crate::integrate::System;

/// Chains of a batch that a method moves, each transition leaving the posterior as it is.
pub(super) trait Transition {
    /// Makes transition number `transition` on every chain; `watch` sees both ends of trajectories that are sums of energies.
    fn step(
        &mut self,
        transition: u32,
        watch: Option<&mut dyn Watch>,
        info: &mut [Info],
    ) -> Result<()>;

    /// An error if what was computed last is worthless.
    fn status(&self) -> Result<()> {
        Ok(())
    }

    /// Writes the model's φ of a chain.
    fn hyperparameters(&self, chain: usize, phi: &mut [f64]);

    /// Step size of a chain's latents.
    fn step_size(&self, chain: usize) -> f64;

    /// Latent gradients evaluated so far for a chain.
    fn gradients(&self, chain: usize) -> u64;

    /// Where fields are recorded.
    fn recorder(&mut self) -> &mut dyn Record;

    /// Where a chain is, between two transitions.
    fn snapshot(&mut self, chain: usize) -> Result<ChainState>;

    /// Puts a chain back where it was: from there it goes on with the same bits.
    fn restore(&mut self, chain: usize, state: &ChainState) -> Result<()>;
}

/// Looks at the start and at the end of the trajectories of a transition.
pub(super) trait Watch {
    /// Looks at them; energies may be asked for.
    fn look(&mut self, system: &mut System) -> Result<()>;
}

/// Tunes the chains of a batch during warm-up.
pub(super) trait Adapter<T: Transition> {
    /// Prepares the first transition.
    fn begin(&mut self, chains: &mut T);

    /// Learns from the warm-up transition `index` just made.
    fn update(&mut self, index: u32, chains: &mut T, info: &[Info]) -> Result<()>;

    /// Sets what is to hold from the last warm-up transition on.
    fn finish(&mut self, chains: &mut T);

    /// What was learnt so far of each chain.
    fn state(&self) -> Vec<AdapterState>;

    /// Goes on from what was learnt before.
    fn restore(&mut self, states: Vec<AdapterState>) -> Result<()>;
}
