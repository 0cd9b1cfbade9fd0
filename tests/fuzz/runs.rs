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

/// A directory with a small fit of each kind.
fn fits() -> tempfile::TempDir {
    let directory = scratch();
    let here = directory.path();
    fit(here, "simulate lgcp --grid 4x5 --total 30 --out data --quiet");
    fit(here, "simulate sv --steps 12 --out market --quiet");
    let short = "--chains 2 --warmup 30 --draws 12 --quiet --out";
    fit(here, &format!("fit lgcp --counts data/counts.csv {short} cox"));
    fit(here, &format!("fit sv --returns market/returns.csv {short} sv"));
    directory
}

/// Everything that is read of a run; the page, which takes longest, every so often.
fn use_run(directory: &Path, with_page: bool) -> sshmc::Result<()> {
    let run = Run::open(directory)?;
    let fields = run.fields()?;
    assert!(fields.all().iter().all(|field| field.len() == fields.sites()));
    if run.record.lgcp.is_some() {
        let data = run.lgcp()?;
        let predictive = Predictive { counts: &data.counts, window: &data.window, seed: 1 };
        predict_cells(&run, 5, &predictive)?;
    } else {
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
    let directory = fits();
    for (name, also) in [("cox", &["counts.csv", "window.geojson"][..]), ("sv", &["returns.csv"])] {
        let run = directory.path().join(name);
        let common = ["run.json", "summary.json", "hyperparameters.csv"];
        let paths: Vec<PathBuf> =
            common.iter().chain(also).map(|file| run.join(file)).filter(|p| p.exists()).collect();
        assert_eq!(paths.len(), common.len() + also.len(), "{name}");
        let tally = storm_run(&format!("files of a run of {name}"), 0.3, &run, &paths, 16);
        super::assert_mixed(name, &tally);
    }
}

#[test]
fn descriptions_and_chunks_of_draws() {
    let directory = fits();
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

/// The states of chains, as they are and with a checksum that fits what was changed, so that what is inside is read too.
#[test]
fn states_of_chains() {
    let directory = fits();
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
