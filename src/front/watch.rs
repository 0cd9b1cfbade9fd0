//! Tells a closure how a fit goes on, and ends it early with the draws it has if the closure asks for that.
//!
//! A run that stops hands the states of its chains over, as it would for a checkpoint. Chains that were stopped at different draws are cut
//! to the length that keeps most draws in all: on few cores some may hardly have begun.

use crate::error::{Error, Result};
use crate::model::Model;
use crate::sample::{
    BatchState, Ended, EnergyAudit, Fit, Info, Keeper, PilotResult, Progress, Settings, Stage,
    run_kept,
};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// What a chain has just done.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Step<'a> {
    /// The chain's number.
    pub chain: u32,
    /// Whether it is still tuning.
    pub stage: Stage,
    /// Transitions it has made in all.
    pub transitions: u32,
    /// Those after warm-up.
    pub draws: u32,
    /// Its hyperparameters on their reported scale, in the order of the model.
    pub values: &'a [f64],
    /// Acceptance probability, steps and energy of the transition.
    pub info: &'a Info,
}

type Told = dyn Fn(&Step<'_>) -> ControlFlow<()> + Send + Sync;

/// A closure that is told of every transition.
pub(super) struct Watch {
    told: Box<Told>,
}

impl Watch {
    pub(super) fn new(told: impl Fn(&Step<'_>) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Watch { told: Box::new(told) }
    }
}

/// A run that is watched: transitions of each chain, and what its chains handed over when they were stopped.
struct Watched<'a> {
    watch: &'a Watch,
    warmup: u32,
    made: Mutex<BTreeMap<u32, u32>>,
    stopping: AtomicBool,
    kept: Kept,
}

/// What the chains of a run handed over.
#[derive(Default)]
struct Kept {
    states: Mutex<BTreeMap<u32, BatchState>>,
    pilot: Mutex<Option<PilotResult>>,
}

/// A lock whose holders never panic while they hold it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Progress for Watched<'_> {
    fn transition(&self, chain: u32, stage: Stage, info: &Info, values: &[f64]) {
        let transitions = {
            let mut made = lock(&self.made);
            let made = made.entry(chain).or_default();
            *made += 1;
            *made
        };
        let draws = transitions.saturating_sub(self.warmup);
        let step = Step { chain, stage, transitions, draws, values, info };
        if (self.watch.told)(&step).is_break() {
            self.stopping.store(true, Ordering::Relaxed);
        }
    }
}

impl Keeper for Watched<'_> {
    fn keep(&self, state: &BatchState) -> Result<()> {
        self.kept.keep(state)
    }

    fn keeps(&self) -> bool {
        // A chain that has come to the end of a round has its draws, whatever happens to the others.
        true
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    fn keep_pilot(&self, pilot: &PilotResult) -> Result<()> {
        self.kept.keep_pilot(pilot)
    }
}

impl Keeper for Kept {
    fn recall(&self, ids: &[u32], latest: u32) -> Result<Option<BatchState>> {
        let states = lock(&self.states);
        let known = ids.first().and_then(|first| states.get(first));
        Ok(known.filter(|state| state.ids == ids && state.transitions <= latest).cloned())
    }

    fn keep(&self, state: &BatchState) -> Result<()> {
        if let Some(&first) = state.ids.first() {
            lock(&self.states).insert(first, state.clone());
        }
        Ok(())
    }

    fn recall_pilot(&self) -> Result<Option<PilotResult>> {
        Ok(lock(&self.pilot).clone())
    }

    fn keep_pilot(&self, pilot: &PilotResult) -> Result<()> {
        *lock(&self.pilot) = Some(pilot.clone());
        Ok(())
    }
}

/// Fits a model while a closure is told of it.
pub(super) fn sample(model: &Arc<Model>, settings: &Settings, watch: &Watch) -> Result<Fit> {
    let watched = Watched {
        watch,
        warmup: settings.warmup,
        made: Mutex::default(),
        stopping: AtomicBool::new(false),
        kept: Kept::default(),
    };
    match run_kept(model, settings, &watched, &watched) {
        Err(Error::Stopped) => watched.kept.fit(model, settings),
        ended => ended,
    }
}

impl Kept {
    /// A fit of the draws that were made; stopped without one if there are none.
    fn fit(&self, model: &Arc<Model>, settings: &Settings) -> Result<Fit> {
        let batches: Vec<(Vec<u32>, u32)> = lock(&self.states)
            .values()
            .map(|state| (state.ids.clone(), state.transitions.saturating_sub(settings.warmup)))
            .collect();
        let common = length_that_keeps_most(&batches).ok_or(Error::Stopped)?;
        // Fields were thinned for the run that was asked for.
        let planned = settings.planned.or(Some((settings.chains, settings.most_draws())));
        let enough = batches.into_iter().filter(|(_, draws)| *draws >= common);
        let parts = enough.map(|(ids, draws)| {
            let (first_chain, chains) = (ids.first().copied().unwrap_or(0), ids.len() as u32);
            let until = None;
            let own = Settings { first_chain, chains, draws, until, planned, ..settings.clone() };
            // They are where they are to go: their records are completed, and nothing is drawn.
            run_kept(model, &own, &(), self)
        });
        joined(parts.collect::<Result<_>>()?, common)
    }
}

/// The number of draws that, asked of every chain that has as many, keeps most draws in all; none if no chain has any.
fn length_that_keeps_most(batches: &[(Vec<u32>, u32)]) -> Option<u32> {
    let total = |&draws: &u32| {
        let longer = batches.iter().filter(|(_, own)| *own >= draws);
        let chains: usize = longer.map(|(ids, _)| ids.len()).sum();
        (u64::from(draws) * chains as u64, draws)
    };
    batches.iter().map(|(_, draws)| *draws).filter(|&draws| draws > 0).max_by_key(total)
}

/// Fits of some chains each as one of all of them, with as many draws of each.
fn joined(parts: Vec<Fit>, draws: u32) -> Result<Fit> {
    let mut parts = parts.into_iter();
    let mut all = parts.next().ok_or(Error::Stopped)?;
    for part in parts {
        all.chains.extend(part.chains);
        all.audit = EnergyAudit::worst_of(all.audit, part.audit);
        all.elapsed = all.elapsed.max(part.elapsed);
    }
    all.chains.iter_mut().for_each(|chain| chain.cut(draws as usize));
    (all.settings.chains, all.settings.draws) = (all.chains.len() as u32, draws);
    all.ended = Ended::Stopped;
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stopped_chains_are_cut_where_most_draws_stay() {
        let batches = |draws: &[u32]| -> Vec<(Vec<u32>, u32)> {
            (0..).zip(draws).map(|(id, &draws)| (vec![id], draws)).collect()
        };
        assert_eq!(length_that_keeps_most(&batches(&[500, 480, 3, 0])), Some(480));
        assert_eq!(length_that_keeps_most(&batches(&[500, 20, 20, 20])), Some(500));
        assert_eq!(length_that_keeps_most(&batches(&[50, 40, 40, 40])), Some(40));
        assert_eq!(length_that_keeps_most(&batches(&[0, 0])), None);
        assert_eq!(length_that_keeps_most(&[]), None);
        let lockstep = vec![(vec![0, 1, 2], 7), (vec![3], 9)];
        assert_eq!(length_that_keeps_most(&lockstep), Some(7));
    }
}
