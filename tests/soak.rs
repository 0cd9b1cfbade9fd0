//! Runs long and often in one process, and watches memory: what is live, by a counting allocator, and what the process holds.
//!
//! `SSHMC_SOAK_RUNS` and `SSHMC_SOAK_DRAWS` ask for more (see docs/FAULTS.md).

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]
#![allow(clippy::print_stdout, reason = "figures are shown when asked for")]

mod common;

use sshmc::archive::{Archive, Axis, Contents, archive_of};
use sshmc::checkpoint::{CheckpointOptions, Checkpoints};
use sshmc::data::Counts;
use sshmc::model::{LgcpOptions, Model, lgcp};
use sshmc::sample::{Info, Progress, Settings, Stage, field_plan, run, run_kept};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// One test at a time: both look at the memory of the whole process.
static ALONE: Mutex<()> = Mutex::new(());

/// Bytes that were asked for and not given back.
fn live() -> i64 {
    let stats = COUNTING.stats();
    stats.bytes_allocated as i64 - stats.bytes_deallocated as i64
}

/// Bytes that the process holds, where the system tells.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let kibibytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    1024.0 * kibibytes.unwrap_or(0.0)
}

fn asked(variable: &str, default: u32) -> u32 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn field(side: usize) -> Model {
    let counts = (0..side * side).map(|cell| f64::from((cell * 7 % 5) as u32)).collect();
    lgcp(&Counts::from_vec(side, side, counts).unwrap(), &LgcpOptions::default()).unwrap()
}

/// The least that was live in the second quarter of the runs and in the last.
fn quarters(values: &[i64]) -> (i64, i64) {
    let n = values.len();
    let least = |part: &[i64]| part.iter().copied().min().unwrap();
    (least(&values[n / 4..n / 2]), least(&values[3 * n / 4..]))
}

/// Short runs of every kind of model, each made anew; `leak` bytes are lost on purpose after each.
fn short_runs(runs: u32, leak: usize) -> Vec<i64> {
    let cases = common::cases();
    let mut after = Vec::new();
    for k in 0..runs {
        let settings = Settings {
            chains: 2,
            threads: Some(1),
            warmup: 8,
            draws: 4,
            seed: u64::from(k),
            ..Settings::default()
        };
        let fit = match k as usize % (cases.len() + 1) {
            0 => run(&Arc::new(field(3)), &settings, &()),
            one => run(&cases[one - 1].model, &settings, &()),
        };
        drop(fit.unwrap());
        std::mem::forget(vec![1u8; leak]);
        after.push(live());
    }
    after
}

#[test]
fn short_runs_leave_no_memory_behind() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let runs = asked("SSHMC_SOAK_RUNS", 200);
    let before = resident();
    let (early, late) = quarters(&short_runs(runs, 0));
    let growth = (late - early) as f64 / (0.5 * f64::from(runs));
    println!(
        "{runs} runs: {early} bytes live in the second quarter, {late} in the last, {growth:+.1} a run; resident {:.1} MiB \
         before and {:.1} after",
        before / 1048576.0,
        resident() / 1048576.0
    );
    assert!(late - early < allowed(runs), "{} bytes are lost", late - early);
    let (early, late) = quarters(&short_runs(100, 512));
    assert!(late - early > allowed(100), "a leak of 512 bytes a run is not seen: {early}, {late}");
}

/// Bytes that may be live in the last quarter and not in the second: tables of spectra grow where a chain gets for the first time.
fn allowed(runs: u32) -> i64 {
    (16 << 10) + 4 * i64::from(runs)
}

/// Draws so far, and at some of them: the draw, bytes live and bytes resident.
type Seen = (u32, Vec<(u32, i64, f64)>);

/// What was live and resident at some draws.
struct Watch {
    every: u32,
    seen: Mutex<Seen>,
}

impl Progress for Watch {
    fn transition(&self, chain: u32, stage: Stage, _: &Info, _: &[f64]) {
        if chain != 0 || stage != Stage::Sampling {
            return;
        }
        let mut seen = self.seen.lock().unwrap();
        seen.0 += 1;
        if seen.0.is_multiple_of(self.every) {
            let draw = seen.0;
            seen.1.push((draw, live(), resident()));
        }
    }
}

/// One run whose states are kept again and again. Its draws have their room from the start, so nothing may grow but pages that are
/// touched for the first time.
#[test]
fn a_long_run_has_flat_memory() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let draws = asked("SSHMC_SOAK_DRAWS", 3000);
    let model = Arc::new(field(12));
    let settings = Settings {
        chains: 1,
        threads: Some(1),
        warmup: 200,
        draws,
        field_memory: Some(1 << 20),
        ..Settings::default()
    };
    let directory = tempfile::tempdir().unwrap();
    let names = model.hyperparameters().names().iter().map(ToString::to_string).collect();
    let sites = model.structure().sites();
    let contents = Contents {
        model: "soak".into(),
        names,
        chains: vec![0],
        draws: draws as usize,
        axes: vec![Axis { name: "i".into(), values: (0..sites).map(|k| k as f64).collect() }],
        data: Vec::new(),
    };
    let plan = field_plan(&model, &settings);
    let archive = Archive::create(&archive_of(directory.path()), &contents, &plan).unwrap();
    let stop = AtomicBool::new(false);
    let interval = Duration::from_millis(u64::from(asked("SSHMC_SOAK_INTERVAL", 50)));
    let options = CheckpointOptions { interval, stop: &stop, warn: &|_: &str| {} };
    let keeper = Checkpoints::open(directory.path(), archive, "cpu", options).unwrap();
    let watch = Watch { every: (draws / 100).max(1), seen: Mutex::default() };
    let begun = std::time::Instant::now();
    run_kept(&model, &settings, &watch, &keeper).unwrap();
    assert!(!stop.load(Ordering::Relaxed));
    let seen = watch.seen.into_inner().unwrap().1;
    let values: Vec<i64> = seen.iter().map(|one| one.1).collect();
    let (early, late) = quarters(&values);
    let (half, end) = (seen[seen.len() / 2], seen[seen.len() - 1]);
    // What half the draws take: hyperparameters, energy, acceptance, steps, divergence, the field at one site however long the run is,
    // and at more sites and times within the memory it may have.
    let m = model.hyperparameters().len() as f64;
    let own = f64::from(end.0 - half.0) * (8.0 * (m + 2.0) + 5.0 + 4.0) + 2.0 * f64::from(1 << 20);
    println!(
        "{draws} draws in {:.0} s: live {early} bytes in the second quarter, {late} in the last; resident {:.1} MiB in the middle \
         and {:.1} at the end, of which {:.1} may be draws",
        begun.elapsed().as_secs_f64(),
        half.2 / 1048576.0,
        end.2 / 1048576.0,
        own / 1048576.0
    );
    assert!(late - early < 64 << 10, "{} bytes more are live", late - early);
    assert!(end.2 - half.2 < own + f64::from(8 << 20), "{:.0} bytes more are held", end.2 - half.2);
}
