//! Stops, kills, damages, extends and merges fits as users and clusters do, and holds what comes out against a fit that was left
//! alone: to the last bit.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod arviz;
mod bounds;
mod broken_gpu;
#[path = "../common/cli.rs"]
mod cli;
mod clock;
mod crowd;
mod damage;
mod full;
mod grow;
mod kill;
mod methods;
mod previous;
mod refused;
mod stop;
mod trust;

use cli::binary;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// Two chains on a small grid, with a checkpoint every hundredth of a second.
const FIT: &str = "fit lgcp --counts data/counts.csv --chains 2 --warmup 100 --seed 3 --checkpoint-interval 0.01 --quiet";

/// A directory with the counts that [`FIT`] names.
fn with_data() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    succeed(directory.path(), "simulate lgcp --grid 10x12 --total 150 --out data --quiet");
    directory
}

/// Ready to run in a directory.
fn sshmc(directory: &Path, line: &str) -> Command {
    let mut command = binary(directory);
    command.args(line.split(' '));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn output(directory: &Path, line: &str) -> Output {
    sshmc(directory, line).output().unwrap()
}

fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs to the end without a word on standard error.
fn succeed(directory: &Path, line: &str) -> String {
    let output = output(directory, line);
    assert!(output.status.success() && output.stderr.is_empty(), "{line}: {}", complaint(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Starts a fit and waits until the states of both chains have been kept twice.
fn start(directory: &Path, line: &str, name: &str) -> Child {
    let mut child = sshmc(directory, &format!("{line} --out {name}")).spawn().unwrap();
    let state = directory.join(format!("{name}.partial/state"));
    let kept = || (0..2).all(|chain| state.join(format!("chain-{chain}.old")).exists());
    while !kept() {
        assert!(child.try_wait().unwrap().is_none(), "{line} ended before it could be stopped");
        std::thread::yield_now();
    }
    child
}

/// Every file of a run that must not depend on how it came about, by name.
fn bits(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    collect(directory, directory, &mut files);
    assert!(files.len() > 10, "{:?}", files.keys());
    let summary = files.get_mut("summary.json").unwrap();
    let mut figures: Value = serde_json::from_slice(summary).unwrap();
    for timing in ["cpu_seconds", "warmup_cpu_seconds", "elapsed_seconds", "min_ess_per_second"] {
        assert!(figures["sampler"].as_object_mut().unwrap().remove(timing).is_some());
    }
    *summary = figures.to_string().into_bytes();
    files
}

fn collect(root: &Path, directory: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        // The record and the report hold timings and the command; states hold timings.
        if ["run.json", "report.html", "state"].contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            files.insert(name, fs::read(&path).unwrap());
        }
    }
}

/// Fails with the names of the files that differ.
fn assert_same(directory: &Path, name: &str, want: &BTreeMap<String, Vec<u8>>) {
    let got = bits(&directory.join(name));
    let differ: Vec<&String> =
        got.keys().chain(want.keys()).filter(|key| got.get(*key) != want.get(*key)).collect();
    assert!(differ.is_empty(), "{name}: {differ:?}");
}
