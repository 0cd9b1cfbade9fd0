//! Keeps the states of a run in memory and stops it on the way.

use sshmc::Result;
use sshmc::sample::{BatchState, Fit, Keeper, Settings, run_kept};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Stops every batch as soon as it has made so many transitions, and remembers where it was.
pub(crate) struct Stopper {
    after: AtomicU32,
    asked: AtomicU32,
    kept: Mutex<Vec<BatchState>>,
}

impl Keeper for Stopper {
    fn recall(&self, ids: &[u32], latest: u32) -> Result<Option<BatchState>> {
        let kept = self.kept.lock().unwrap();
        let wanted = |state: &&BatchState| state.ids == ids && state.transitions <= latest;
        Ok(kept.iter().rev().find(wanted).cloned())
    }

    fn keep(&self, state: &BatchState) -> Result<()> {
        self.kept.lock().unwrap().push(state.clone());
        Ok(())
    }

    fn is_due(&self, _: Duration) -> bool {
        false
    }

    fn keeps(&self) -> bool {
        true
    }

    fn is_stopping(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) + 1 >= self.after.load(Ordering::Relaxed)
    }
}

impl Stopper {
    /// One that does not stop a run yet.
    pub(crate) fn new() -> Self {
        Self {
            after: AtomicU32::new(u32::MAX),
            asked: AtomicU32::new(0),
            kept: Mutex::new(Vec::new()),
        }
    }

    /// Stops the next run after so many transitions.
    pub(crate) fn stop_after(&self, transitions: u32) {
        self.after.store(transitions, Ordering::Relaxed);
        self.asked.store(0, Ordering::Relaxed);
    }

    /// Loses the newest states.
    pub(crate) fn lose(&self, count: usize) {
        let mut kept = self.kept.lock().unwrap();
        let left = kept.len().saturating_sub(count);
        kept.truncate(left);
    }
}

/// Runs one batch in pieces: stopped after each of these numbers of transitions, and then to its end.
pub(crate) fn run_in_pieces(
    model: &std::sync::Arc<sshmc::model::Model>,
    settings: &Settings,
    pieces: &[u32],
) -> Fit {
    let stopper = Stopper::new();
    for &piece in pieces {
        stopper.stop_after(piece);
        let stopped = run_kept(model, settings, &(), &stopper);
        assert!(matches!(stopped, Err(sshmc::Error::Stopped)), "it was not stopped");
    }
    stopper.stop_after(u32::MAX);
    run_kept(model, settings, &(), &stopper).unwrap()
}
