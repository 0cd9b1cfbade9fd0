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
    fn recall(&self, ids: &[u32]) -> Result<Option<BatchState>> {
        Ok(self.kept.lock().unwrap().iter().rev().find(|state| state.ids == ids).cloned())
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

/// Runs one batch in pieces: stopped after each of these numbers of transitions, and then to its end.
pub(crate) fn run_in_pieces(
    model: &std::sync::Arc<sshmc::model::Model>,
    settings: &Settings,
    pieces: &[u32],
) -> Fit {
    let stopper = Stopper {
        after: AtomicU32::new(0),
        asked: AtomicU32::new(0),
        kept: Mutex::new(Vec::new()),
    };
    for &piece in pieces {
        stopper.after.store(piece, Ordering::Relaxed);
        stopper.asked.store(0, Ordering::Relaxed);
        let stopped = run_kept(model, settings, &(), &stopper);
        assert!(matches!(stopped, Err(sshmc::Error::Stopped)), "it was not stopped");
    }
    stopper.after.store(u32::MAX, Ordering::Relaxed);
    run_kept(model, settings, &(), &stopper).unwrap()
}
