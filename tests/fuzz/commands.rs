//! Commands on damaged directories, as a user would run them: tasks are resumed and extended, truths are read.

use super::runs::fits;
use super::{scratch, storm};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a command: success, or one line with the code of something that cannot be used.
fn run(here: &Path, line: &str) -> sshmc::Result<()> {
    let output = Command::new(env!("CARGO_BIN_EXE_sshmc"))
        .current_dir(here)
        .args(line.split(' '))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.code() {
        Some(0) => Ok(()),
        Some(2) => {
            assert!(said.starts_with("error: ") || said.contains("\nerror: "), "{line}: {said}");
            let last = said.lines().last().unwrap_or_default();
            Err(sshmc::Error::Numeric(last.to_owned()))
        }
        _ => panic!("{line}: {:?}: {said}", output.status),
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(fs::copy(&path, target).unwrap()),
        }
    }
}

/// Words of a task; nothing if it is none.
fn words(task: &[u8]) -> Option<Vec<String>> {
    serde_json::from_slice::<Value>(task).ok().and_then(|task| {
        task["words"].as_array()?.iter().map(|word| Some(word.as_str()?.to_owned())).collect()
    })
}

/// Whether what a task asks for is done in a moment: damage may well ask for a billion draws.
fn is_short(task: &[u8]) -> bool {
    let long = |word: &String| word.parse::<f64>().is_ok_and(|number| number.abs() > 60.0);
    words(task).is_none_or(|words| {
        ["--draws", "--warmup", "--chains"].iter().all(|name| words.iter().any(|word| word == name))
            && !words.iter().any(long)
    })
}

/// Puts damaged files into copies of a run and runs a command on each.
fn storm_copies(name: &str, run_name: &str, files: &[&str], line: &str) {
    let source = fits(&["sv"]);
    let whole = source.path().join("sv");
    let written: Vec<Vec<u8>> =
        files.iter().map(|file| fs::read(whole.join(file)).unwrap()).collect();
    let here = scratch();
    let tally = storm(name, 0.01, &written, |k, bytes| {
        if files[k].ends_with("task.json") && !is_short(bytes) {
            return Ok(());
        }
        let left: Vec<PathBuf> =
            fs::read_dir(here.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        for path in left {
            let removed =
                if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
            removed.unwrap();
        }
        let copied = here.path().join(run_name);
        copy(&whole, &copied);
        fs::write(copied.join(files[k]), bytes).unwrap();
        run(here.path(), line)
    });
    assert!(tally.refused.get() > 0, "{name}: {tally:?}");
}

#[test]
fn tasks_that_are_resumed() {
    storm_copies(
        "tasks that are resumed",
        "run.partial",
        &["state/task.json"],
        "resume run --quiet",
    );
}

#[test]
fn runs_that_are_extended() {
    let files = [
        "state/task.json",
        "state/chain-0",
        "state/inputs/0-returns.csv",
        "run.json",
        "draws.zarr/zarr.json",
        "draws.zarr/posterior/phi/zarr.json",
        "draws.zarr/posterior/phi/c/0/0",
        "draws.zarr/sample_stats/energy/c/1/0",
    ];
    storm_copies("runs that are extended", "run", &files, "extend run --draws 3 --quiet");
}

#[test]
fn truths_beside_summaries() {
    let source = fits(&["sv"]);
    let here = source.path();
    let truth = fs::read(here.join("data-sv/truth.json")).unwrap();
    storm("truths beside summaries", 0.01, &[truth], |_, bytes| {
        fs::write(here.join("sv/truth.json"), bytes).unwrap();
        // A truth that cannot be read is none: the summary is shown without it.
        let shown = run(here, "summary sv");
        assert!(shown.is_ok(), "{shown:?}");
        shown
    });
}
