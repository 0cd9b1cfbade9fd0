//! Stops and kills calibrations as clusters do, and holds what comes out against one that was left alone.

use crate::cli::{sshmc, succeed, text};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

fn line(out: &str) -> String {
    format!(
        "check calibrate sv --length 40 --replicates 40 --chains 1 --warmup 150 --draws 60 --among 7 --seed 6 --threads 1 \
         --false-alarm 1e-9 --out {out}"
    )
}

/// Starts a calibration and waits until so many replicates are done.
fn begin(here: &Path, replicates: usize) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_sshmc"))
        .current_dir(here)
        .args(line("broken").split_whitespace())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while ranks(here, "broken").len() <= replicates {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it could be stopped");
        thread::sleep(Duration::from_millis(5));
    }
    child
}

/// The lines of the ranks that are there, sorted and without seconds.
fn ranks(here: &Path, out: &str) -> Vec<String> {
    let text = fs::read_to_string(here.join(out).join("ranks.csv")).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let mut lines: Vec<String> =
        whole.lines().filter_map(|line| Some(line.rsplit_once(',')?.0.to_owned())).collect();
    lines.sort();
    lines
}

#[test]
fn a_calibration_that_is_stopped_and_killed_ends_with_the_same_ranks() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    succeed(here, &line("whole"));
    let child = begin(here, 2);
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let complaint = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{complaint}");
    assert!(complaint.starts_with("stopped: ") && complaint.contains("goes on in broken"));
    let done = ranks(here, "broken").len();
    assert!((3..41).contains(&done), "{done} lines");
    let mut child = begin(here, done);
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().code(), None);
    let output = sshmc(here, &line("broken"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("going on after "), "{}", text(&output.stdout));
    assert_eq!(ranks(here, "broken"), ranks(here, "whole"));
    assert_eq!(ranks(here, "whole").len(), 41);
}
