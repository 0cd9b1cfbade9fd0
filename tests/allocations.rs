//! Counts allocations: once tuned, a chain draws and records without asking for memory.

mod common;

use common::cases;
use sshmc::sample::{Info, Progress, Settings, Stage, run};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;
use std::sync::Mutex;

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The number of allocations so far, at every kept draw.
struct Ledger {
    entries: Mutex<Vec<usize>>,
    /// Allocates at each draw itself, to show that it would be seen.
    wasteful: bool,
}

impl Progress for Ledger {
    fn transition(&self, _: u32, stage: Stage, _: &Info, values: &[f64]) {
        if stage == Stage::Sampling {
            if self.wasteful {
                drop(std::hint::black_box(values.to_vec()));
            }
            let mut entries = self.entries.lock().expect("no panic while it is held");
            entries.push(COUNTING.stats().allocations);
        }
    }
}

const DRAWS: u32 = 60;

/// Allocations between the first and the last kept draw.
fn allocations(model: &std::sync::Arc<sshmc::model::Model>, wasteful: bool) -> usize {
    let settings =
        Settings { chains: 1, threads: Some(1), warmup: 60, draws: DRAWS, ..Settings::default() };
    let entries = Mutex::new(Vec::with_capacity(DRAWS as usize));
    let ledger = Ledger { entries, wasteful };
    run(model, &settings, &ledger).expect("a run");
    let entries = ledger.entries.into_inner().expect("no panic while it was held");
    assert_eq!(entries.len(), DRAWS as usize);
    entries[entries.len() - 1] - entries[0]
}

// One test, because others would allocate beside it.
#[test]
fn a_tuned_chain_allocates_nothing() {
    // A dense covariance is the reference, factored anew at each step by routines that bring their own scratch.
    for case in cases().into_iter().filter(|case| case.name != "gaussian, dense") {
        // The spectrum of a range is tabulated when a chain first gets there, for all later chains: the second run finds it.
        allocations(&case.model, false);
        assert_eq!(allocations(&case.model, false), 0, "{}", case.name);
    }
    let first = &cases()[0];
    allocations(&first.model, false);
    assert_eq!(allocations(&first.model, true), DRAWS as usize - 1, "the count must notice");
}
