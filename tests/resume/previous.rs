//! Damages a chunk that only the newest checkpoint needs: the run goes on from the one before it.

use sshmc::archive::{Archive, Axis, Contents, archive_of};
use sshmc::checkpoint::{CheckpointOptions, Checkpoints};
use sshmc::data::Counts;
use sshmc::model::{LgcpOptions, Model, lgcp};
use sshmc::sample::{Fit, Info, Progress, Settings, Stage, field_plan, run, run_kept};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const WARMUP: u32 = 60;

/// Stops a run after so many draws, and remembers from where it went on.
struct Stopper<'a> {
    after: u32,
    drawn: AtomicU32,
    stop: &'a AtomicBool,
    resumed: AtomicU32,
}

impl Progress for Stopper<'_> {
    fn transition(&self, _: u32, stage: Stage, _: &Info, _: &[f64]) {
        let drawn = u32::from(stage == Stage::Sampling);
        if self.drawn.fetch_add(drawn, Ordering::Relaxed) + drawn == self.after {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn resumed(&self, _: u32, transitions: u32) {
        self.resumed.store(transitions, Ordering::Relaxed);
    }
}

/// Runs with states kept at the end of warm-up and when it is stopped; says from where it went on and what was complained about.
fn kept(
    directory: &Path,
    model: &Arc<Model>,
    settings: &Settings,
    after: u32,
) -> (sshmc::Result<Fit>, u32, String) {
    let sites = model.structure().sites();
    let contents = Contents {
        model: "test".into(),
        names: model.hyperparameters().names().iter().map(ToString::to_string).collect(),
        chains: vec![0],
        draws: settings.draws as usize,
        axes: vec![Axis { name: "i".into(), values: (0..sites).map(|k| k as f64).collect() }],
        data: Vec::new(),
    };
    let plan = field_plan(model, settings);
    let archive = Archive::create(&archive_of(directory), &contents, &plan).unwrap();
    let (stop, said) = (AtomicBool::new(false), Mutex::new(String::new()));
    let warn = |text: &str| said.lock().unwrap().push_str(text);
    let options = CheckpointOptions { interval: Duration::MAX, stop: &stop, warn: &warn };
    let keeper = Checkpoints::open(directory, archive, "cpu", options).unwrap();
    let (drawn, resumed) = (AtomicU32::new(0), AtomicU32::new(0));
    let stopper = Stopper { after, drawn, stop: &stop, resumed };
    let outcome = run_kept(model, settings, &stopper, &keeper);
    let said = said.lock().unwrap().clone();
    (outcome, stopper.resumed.load(Ordering::Relaxed), said)
}

#[test]
fn a_chunk_that_is_damaged_costs_no_more_than_the_last_checkpoint() {
    let counts = (0..30).map(|cell| f64::from(cell * 7 % 5)).collect();
    let counts = Counts::from_vec(5, 6, counts).unwrap();
    let model = Arc::new(lgcp(&counts, &LgcpOptions::default()).unwrap());
    let settings = Settings {
        chains: 1,
        warmup: WARMUP,
        draws: 800,
        small_torus: false,
        ..Settings::default()
    };
    let want = run(&model, &settings, &()).unwrap();
    for damaged in ["posterior/sigma/c/0/0", "sample_stats/energy/c/0/0", "posterior/field/c/0/0/0"]
    {
        let directory = tempfile::tempdir().unwrap();
        let (stopped, _, said) = kept(directory.path(), &model, &settings, 700);
        assert!(matches!(stopped, Err(sshmc::Error::Stopped)) && said.is_empty(), "{said}");
        let path = archive_of(directory.path()).join(damaged);
        let mut bytes = fs::read(&path).unwrap();
        bytes[20] ^= 1;
        fs::write(&path, bytes).unwrap();
        let (ended, from, said) = kept(directory.path(), &model, &settings, u32::MAX);
        assert_eq!(from, WARMUP, "{damaged}: it went on from elsewhere");
        assert!(said.contains(damaged) && said.contains("the one before it is used"), "{said}");
        let got = ended.unwrap();
        assert_eq!(got.chains[0].parameters, want.chains[0].parameters, "{damaged}");
        assert_eq!(got.chains[0].energy, want.chains[0].energy, "{damaged}");
    }
    // Undamaged it goes on from where it stopped.
    let directory = tempfile::tempdir().unwrap();
    kept(directory.path(), &model, &settings, 700).0.unwrap_err();
    let (_, from, said) = kept(directory.path(), &model, &settings, u32::MAX);
    assert_eq!((from, said.as_str()), (WARMUP + 700, ""));
}
