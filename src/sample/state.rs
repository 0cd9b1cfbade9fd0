//! Holds what a batch of chains needs to go on from where it was, and the one who keeps it while a run goes on.
//!
//! Randomness is a function of seed, chain and transition, so its state is the number of the transition.

use super::audit::EnergyAudit;
use super::pilot::PilotResult;
use super::transition::Tuning;
use super::warmup::AdapterState;
use crate::device::LatentState;
use crate::draws::ChainDraws;
use crate::error::Result;
use crate::integrate::HyperMetric;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Where one chain is between two transitions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChainState {
    pub(super) latents: LatentState,
    pub(super) phi: Vec<f64>,
    pub(super) by_phi: Vec<f64>,
    pub(super) potential: f64,
    pub(super) metric: HyperMetric,
    pub(super) tuning: Tuning,
}

/// Where a batch of chains is between two transitions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BatchState {
    /// Numbers of its chains.
    pub ids: Vec<u32>,
    /// Transitions made, of warm-up and after it.
    pub transitions: u32,
    /// Seconds that each chain was computed in the present stage.
    pub(super) seconds: f64,
    /// Seconds that have passed in the run.
    pub(super) elapsed: f64,
    pub(super) chains: Vec<ChainState>,
    /// What is being learnt; empty after warm-up.
    pub(super) adapters: Vec<AdapterState>,
    /// What was recorded; empty during warm-up.
    pub records: Vec<ChainDraws>,
    pub(super) audit: Option<EnergyAudit>,
}

impl BatchState {
    /// The same with other records.
    pub(crate) fn with_records(&self, records: Vec<ChainDraws>) -> Self {
        Self {
            ids: self.ids.clone(),
            transitions: self.transitions,
            seconds: self.seconds,
            elapsed: self.elapsed,
            chains: self.chains.clone(),
            adapters: self.adapters.clone(),
            records,
            audit: self.audit,
        }
    }

    /// Adds the chains of another batch that has come as far.
    pub fn join(&mut self, other: Self) {
        let (own, more) = (self.ids.len() as f64, other.ids.len() as f64);
        self.seconds = (own * self.seconds + more * other.seconds) / (own + more).max(1.0);
        self.elapsed = self.elapsed.max(other.elapsed);
        self.ids.extend(other.ids);
        self.transitions = self.transitions.min(other.transitions);
        self.chains.extend(other.chains);
        self.adapters.extend(other.adapters);
        self.records.extend(other.records);
        self.audit = EnergyAudit::worst_of(self.audit, other.audit);
    }
}

/// Keeps states while a run goes on, and gives them back to one that is resumed. Called from any thread; what is not said
/// otherwise keeps nothing.
pub trait Keeper: Sync {
    /// The last state that was kept of the batch of these chains, of those after at most `latest` transitions.
    fn recall(&self, _ids: &[u32], _latest: u32) -> Result<Option<BatchState>> {
        Ok(None)
    }

    /// Keeps a state. An error ends the run.
    fn keep(&self, _state: &BatchState) -> Result<()> {
        Ok(())
    }

    /// Whether a state is to be kept, so long after the last one.
    fn is_due(&self, _since: Duration) -> bool {
        false
    }

    /// Whether states are kept at all, so that the last one is worth making.
    fn keeps(&self) -> bool {
        false
    }

    /// Whether the run is to stop as soon as its state is kept.
    fn is_stopping(&self) -> bool {
        false
    }

    /// What the pilot run found, if it was kept.
    fn recall_pilot(&self) -> Result<Option<PilotResult>> {
        Ok(None)
    }

    /// Keeps what the pilot run found.
    fn keep_pilot(&self, _pilot: &PilotResult) -> Result<()> {
        Ok(())
    }
}

impl Keeper for () {}
