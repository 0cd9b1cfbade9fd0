//! Holds what a batch of chains needs to go on from where it was, and the one who keeps it while a run goes on.
//!
//! Randomness is a function of seed, chain and transition, so its state is the number of the transition.

use super::found::PilotResult;
use super::learner::FieldLearner;
use super::step_size::DualAveraging;
use super::window::Moments;
use crate::baseline::Scales;
use crate::device::LatentState;
use crate::draws::ChainDraws;
use crate::error::{Error, Result};
use crate::integrate::HyperMetric;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What the next trajectory of a chain needs to know.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Tuning {
    /// ε of the latents.
    pub step: f64,
    /// ε of the hyperparameters over ε of the latents.
    pub ratio: f64,
    /// Length of a trajectory, in the latents' time.
    pub path: f64,
    /// The length is uniform on path × [1 − jitter, 1 + jitter].
    pub jitter: f64,
    /// Share of careful trajectories.
    pub careful: f64,
    /// Whether a trajectory that loses its energy is tried once more with smaller steps.
    pub retry: bool,
    /// Most steps a trajectory may have.
    pub most_steps: u32,
    /// Steps of every trajectory, whatever their size; none: as many as the length asks for.
    pub steps: Option<u32>,
}

/// Where one chain is between two transitions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChainState {
    pub(super) latents: LatentState,
    pub(super) phi: Vec<f64>,
    pub(super) by_phi: Vec<f64>,
    pub(super) potential: f64,
    pub(super) tuned: Tuned,
}

/// What the method that moves a chain was tuned to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Tuned {
    /// The sampler proper.
    Sshmc { metric: HyperMetric, tuning: Tuning },
    /// Another: step sizes, the scales it learnt last, and gradients it computed past its target.
    Rival { steps: [f64; 2], scales: Option<Scales>, extra: f64 },
}

impl ChainState {
    /// What is said of a state of another method.
    pub(super) fn of_another(&self) -> Error {
        Error::Numeric("the state that was kept is one of another method".into())
    }
}

/// What warm-up has learnt so far of a chain; the rest follows from the settings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct AdapterState {
    /// Step sizes of latents and of hyperparameters.
    pub(super) steps: [DualAveraging; 2],
    pub(super) field: Option<FieldLearner>,
    pub(super) window: Window,
}

/// What is remembered of a window's draws.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Window {
    /// Draws of φ, and whether its posterior was narrow in the window before.
    Draws { draws: Vec<Vec<f64>>, narrow: bool },
    /// Moments of latents and φ.
    Moments(Moments),
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

/// What an audit found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnergyAudit {
    /// Transitions that were recomputed.
    pub transitions: u32,
    /// The largest error of a difference in energy.
    pub worst: f64,
}

impl EnergyAudit {
    /// An error of a difference in energy beyond which a run is suspect: acceptance probabilities are off by 5 %.
    pub const SUSPECT: f64 = 0.05;

    pub(super) fn worse(self, other: Self) -> Self {
        Self {
            transitions: self.transitions + other.transitions,
            worst: self.worst.max(other.worst),
        }
    }

    /// What two audits found together.
    pub(crate) fn worst_of(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one.worse(other)),
            (one, other) => one.or(other),
        }
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
