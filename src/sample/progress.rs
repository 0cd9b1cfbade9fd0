//! Tells of what a run does while it goes on.

use super::state::Keeper;
use super::until::Check;
use crate::draws::Info;
use crate::model::Model;
use std::sync::Arc;

/// Where a chain is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Tuning.
    Warmup,
    /// Drawing.
    Sampling,
}

/// Told of every transition, from any thread: a progress bar, or nothing.
pub trait Progress: Sync {
    /// A chain made a transition; `values` are its hyperparameters on their reported scale.
    fn transition(&self, chain: u32, stage: Stage, info: &Info, values: &[f64]);

    /// A chain goes on after so many transitions that were made before.
    fn resumed(&self, _chain: u32, _transitions: u32) {}

    /// All chains of a model were looked at, and go on to so many draws each, or not at all.
    fn checked(&self, _check: &Check, _next: Option<u32>) {}
}

impl Progress for () {
    fn transition(&self, _: u32, _: Stage, _: &Info, _: &[f64]) {}
}

/// One of several models that are fitted together: who is told of its progress, and who keeps its states.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    /// The model.
    pub model: &'a Arc<Model>,
    /// Told of every transition.
    pub progress: &'a dyn Progress,
    /// Keeps its chains' states.
    pub keeper: &'a dyn Keeper,
}
