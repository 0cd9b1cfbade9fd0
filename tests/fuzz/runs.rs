//! The directory of a run: its record, its summary, its draws as text and as Zarr, its data, and the states of its chains.

use super::{Tally, scratch, storm};
use sshmc::archive::{Archive, archive_of};
use sshmc::checkpoint::{CheckpointOptions, Checkpoints};
use sshmc::report::{self, Run, forecast, predict_cells};
use sshmc::sample::Keeper;
use sshmc::spatial::Predictive;
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Fits something small by the binary.
fn fit(directory: &Path, line: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_sshmc"))
        .current_dir(directory)
        .args(line.split(' '))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Every file below a directory whose name ends like this.
fn find(directory: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(find(&path, ending)),
            false if path.to_string_lossy().ends_with(ending) => found.push(path),
            false => {}
        }
    }
    found.sort();
    found
}

/// A directory with small fits of some kinds.
pub(super) fn fits(models: &[&str]) -> tempfile::TempDir {
    let directory = scratch();
    let here = directory.path();
    let short = "--chains 2 --warmup 30 --draws 12 --quiet --out";
    for model in models {
        let (data, line) = match *model {
            "cox" => ("lgcp --grid 4x5 --total 30", "lgcp --counts data-cox/counts.csv"),
            "sv" => ("sv --steps 12", "sv --returns data-sv/returns.csv"),
            "logistic" => (
                "logistic --groups 2 --features 2 --rows 12",
                "logistic --table data-logistic/table.csv --group group --label y",
            ),
            _ => ("funnel --dim 3", "funnel --dim 3"),
        };
        fit(here, &format!("simulate {data} --out data-{model} --quiet"));
        fit(here, &format!("fit {line} {short} {model}"));
    }
    directory
}

/// Everything that is read of a run; the page, which takes longest, every so often.
fn use_run(directory: &Path, with_page: bool) -> sshmc::Result<()> {
    let run = Run::open(directory)?;
    let fields = run.fields()?;
    assert!(fields.all().iter().all(|field| field.len() == fields.sites()));
    if run.record.lgcp.is_some() {
        let data = run.lgcp()?;
        let likelihood = data.likelihood;
        let (counts, window) = (&data.counts, &data.window);
        let predictive = Predictive { counts, likelihood, window, seed: 1 };
        predict_cells(&run, 5, &predictive)?;
    } else if run.summary.model == "sv" {
        forecast(&run, 2, 1)?;
    }
    if with_page {
        report::page(&run)?;
    }
    Ok(())
}

/// Damages some files of a run, one at a time, and reads it.
fn storm_run(name: &str, share: f64, directory: &Path, paths: &[PathBuf], pages: u32) -> Tally {
    let files: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    let count = Cell::new(0_u32);
    storm(name, share, &files, |k, bytes| {
        fs::write(&paths[k], bytes).unwrap();
        count.set(count.get() + 1);
        let with_page = count.get().is_multiple_of(pages);
        let outcome = std::panic::catch_unwind(|| use_run(directory, with_page));
        // Whatever happens the next case finds the run whole.
        fs::write(&paths[k], &files[k]).unwrap();
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[test]
fn records_summaries_and_data() {
    let directory = fits(&["cox", "sv", "logistic", "funnel"]);
    for (name, also, share) in [
        ("cox", &["counts.csv", "window.geojson"][..], 0.3),
        ("sv", &["returns.csv"], 0.3),
        ("logistic", &[], 0.1),
        ("funnel", &[], 0.1),
    ] {
        let run = directory.path().join(name);
        let common = ["run.json", "summary.json", "hyperparameters.csv"];
        let paths: Vec<PathBuf> =
            common.iter().chain(also).map(|file| run.join(file)).filter(|p| p.exists()).collect();
        assert_eq!(paths.len(), common.len() + also.len(), "{name}");
        let tally = storm_run(&format!("files of a run of {name}"), share, &run, &paths, 16);
        super::assert_mixed(name, &tally);
    }
}

#[test]
fn descriptions_and_chunks_of_draws() {
    let directory = fits(&["cox"]);
    let run = directory.path().join("cox");
    let archive = archive_of(&run);
    let posterior = archive.join("posterior");
    let described = vec![archive.join("zarr.json"), posterior.join("field/zarr.json")];
    let tally = storm_run("descriptions of draws", 0.5, &run, &described, 50);
    assert!(tally.refused.get() > 0, "{tally:?}");
    let chunks = find(&posterior.join("field/c"), "");
    assert!(!chunks.is_empty());
    let written: Vec<Vec<u8>> = chunks.iter().map(|chunk| fs::read(chunk).unwrap()).collect();
    let tally = storm("chunks of draws", 0.5, &written, |k, bytes| {
        fs::write(&chunks[k], bytes).unwrap();
        let outcome = Archive::fields(&archive);
        fs::write(&chunks[k], &written[k]).unwrap();
        // Any change must be seen: what is accepted was written so, here or for another chain.
        let known = written.iter().any(|whole| whole == bytes);
        assert_eq!(outcome.is_ok(), known, "a damaged chunk: {outcome:?}");
        outcome.map(drop)
    });
    assert!(tally.refused.get() > 0, "{tally:?}");
}

/// Files that once broke what reads a run, each in the place of the file whose name its own ends with.
#[test]
fn what_broke_a_run_is_refused() {
    let directory = fits(&["cox"]);
    let run = directory.path().join("cox");
    let field = archive_of(&run).join("posterior/field");
    let seen = Cell::new(0);
    for (ending, place, part) in [
        ("run.json", run.join("run.json"), "cells, got 4 × 5"),
        ("hyperparameters.csv", run.join("hyperparameters.csv"), "2 chains of 12 draws"),
        ("zarr.json", field.join("zarr.json"), "its shape is"),
    ] {
        let whole = fs::read(&place).unwrap();
        for (path, bytes) in super::folder("run/refused") {
            if !path.to_string_lossy().ends_with(&format!(".{ending}")) {
                continue;
            }
            fs::write(&place, bytes).unwrap();
            let error = use_run(&run, true).unwrap_err();
            super::one_line(&error).unwrap();
            assert!(error.to_string().contains(part), "{}: {error}", path.display());
            seen.set(seen.get() + 1);
        }
        fs::write(&place, whole).unwrap();
        use_run(&run, true).unwrap();
    }
    assert_eq!(seen.get(), super::folder("run/refused").len(), "a file of no known place");
}

/// Chunks of everything that is recalled with a state: hyperparameters, energies, acceptances, steps and divergences.
#[test]
fn chunks_that_are_recalled() {
    let directory = scratch();
    fit(
        directory.path(),
        "fit funnel --dim 2 --chains 1 --warmup 30 --draws 600 --quiet --out run",
    );
    let run = directory.path().join("run");
    let archive = archive_of(&run);
    let all = find(&archive, "/c/0/0").into_iter().filter(|path| {
        let text = path.to_string_lossy();
        text.contains("/posterior/v/") || text.contains("/sample_stats/")
    });
    let chunks: Vec<PathBuf> = all.collect();
    assert_eq!(chunks.len(), 5, "{chunks:?}");
    let written: Vec<Vec<u8>> = chunks.iter().map(|chunk| fs::read(chunk).unwrap()).collect();
    let stop = AtomicBool::new(false);
    let tally = storm("chunks that are recalled", 0.2, &written, |k, bytes| {
        fs::write(&chunks[k], bytes).unwrap();
        let options =
            CheckpointOptions { interval: Duration::MAX, stop: &stop, warn: &|_: &str| {} };
        let opened = Archive::open(&archive);
        let kept = opened.and_then(|archive| Checkpoints::open(&run, archive, "cpu", options));
        let outcome = kept.and_then(|kept| kept.recall(&[0], u32::MAX));
        fs::write(&chunks[k], &written[k]).unwrap();
        let found = outcome?.is_some();
        assert_eq!(found, bytes == written[k], "a damaged chunk of {}", chunks[k].display());
        if found { Ok(()) } else { Err(sshmc::Error::Numeric("refused".into())) }
    });
    assert!(tally.refused.get() > 0, "{tally:?}");
}

/// The states of chains, as they are and with a checksum that fits what was changed, so that what is inside is read too.
#[test]
fn states_of_chains() {
    let directory = fits(&["cox"]);
    let run = directory.path().join("cox");
    let path = run.join("state/chain-0");
    let whole = fs::read(&path).unwrap();
    let stop = AtomicBool::new(false);
    let recall = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let options =
            CheckpointOptions { interval: Duration::MAX, stop: &stop, warn: &|_: &str| {} };
        let archive = Archive::open(&archive_of(&run))?;
        let outcome = Checkpoints::open(&run, archive, "cpu", options)?.recall(&[0], u32::MAX);
        fs::write(&path, &whole).unwrap();
        outcome
    };
    assert!(recall(&whole).unwrap().is_some());
    let found = Cell::new(0u32);
    storm("states of chains", 0.5, std::slice::from_ref(&whole), |_, bytes| {
        if recall(bytes)?.is_some() {
            assert!(bytes == whole, "a changed state was taken for a good one");
            found.set(found.get() + 1);
        }
        Ok(())
    });
    storm("forged states of chains", 0.5, std::slice::from_ref(&whole), |_, bytes| {
        let mut forged = bytes.to_vec();
        if let Some((body, sum)) = forged.split_last_chunk_mut::<4>() {
            *sum = crc32fast::hash(body).to_le_bytes();
        }
        recall(&forged).map(drop)
    });
}
