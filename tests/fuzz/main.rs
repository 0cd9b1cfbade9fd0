//! Damages valid files in every way a proptest strategy can think of, and checks that reading them ends in data or in one line, never
//! in a panic.
//!
//! Each reader gets a few thousand damaged files by default; `SSHMC_FUZZ_CASES` asks for more (see docs/FAULTS.md). Cases are
//! drawn from a fixed seed, or from `SSHMC_FUZZ_SEED`. What they start from is in tests/data/corpus, a folder for each reader; a file that once
//! broke a reader is kept: beside them if it is read today, and else in the folder `refused` there, to end in one line ever after.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]
#![allow(clippy::print_stdout, reason = "figures are shown when asked for")]

mod commands;
mod ledgers;
mod maps;
mod mutate;
mod runs;
mod tables;

use mutate::{Damage, damages};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

/// Damaged files of each reader unless more are asked for.
const CASES: u32 = 3000;

fn number(variable: &str, default: u32) -> u32 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The files in a folder of the corpus, by name.
fn folder(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/corpus").join(name);
    let entries = fs::read_dir(directory).into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// The valid files of a reader.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let files: Vec<Vec<u8>> = folder(name).into_iter().map(|file| file.1).collect();
    assert!(!files.is_empty(), "no files of {name}");
    files
}

/// Holds a reader to the files that once broke it: each ends in one line.
fn assert_refused(name: &str, read: impl Fn(&[u8]) -> sshmc::Result<()>) {
    for (path, bytes) in folder(&format!("{name}/refused")) {
        let outcome = read(&bytes);
        let error = outcome.err().unwrap_or_else(|| panic!("{} is accepted", path.display()));
        one_line(&error).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
    }
}

/// Puts a reader to the valid files of a folder, damaged, and to those that once broke it.
fn reader(what: &str, share: f64, name: &str, read: impl Fn(usize, &[u8]) -> sshmc::Result<()>) {
    assert_refused(name, |bytes| read(0, bytes));
    assert_mixed(what, &storm(what, share, &corpus(name), read));
}

/// A directory for files that are rewritten again and again: in memory where there is such a place.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir());
    made.unwrap()
}

/// How many cases a reader accepted and refused.
#[derive(Debug, Default)]
struct Tally {
    accepted: Cell<u32>,
    refused: Cell<u32>,
}

/// Reads many damaged versions of files. `read` is told which file it was and gets its contents.
fn storm(
    name: &str,
    share: f64,
    files: &[Vec<u8>],
    read: impl Fn(usize, &[u8]) -> sshmc::Result<()>,
) -> Tally {
    for (k, file) in files.iter().enumerate() {
        let whole = read(k, file);
        assert!(whole.is_ok(), "{name}: file {k}: {whole:?}");
    }
    let cases = (f64::from(number("SSHMC_FUZZ_CASES", CASES)) * share).ceil() as u32;
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut seed = [0u8; 32];
    seed[..4].copy_from_slice(&number("SSHMC_FUZZ_SEED", 1).to_le_bytes());
    seed[8..8 + name.len().min(24)].copy_from_slice(&name.as_bytes()[..name.len().min(24)]);
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let tally = Tally::default();
    let outcome = TestRunner::new_with_rng(config, random).run(&damages(), |damage: Damage| {
        let (k, bytes) = damage.apply(files);
        match read(k, &bytes) {
            Ok(()) => tally.accepted.set(tally.accepted.get() + 1),
            Err(error) => {
                tally.refused.set(tally.refused.get() + 1);
                one_line(&error).map_err(|fault| {
                    TestCaseError::fail(format!("{fault}: {}", String::from_utf8_lossy(&bytes)))
                })?;
            }
        }
        Ok(())
    });
    println!("{name}: {} accepted, {} refused", tally.accepted.get(), tally.refused.get());
    outcome.unwrap_or_else(|fault| panic!("{name}: {fault}"));
    tally
}

/// Both outcomes have to occur, or the damage is too tame or too wild to test anything.
fn assert_mixed(name: &str, tally: &Tally) {
    let (accepted, refused) = (tally.accepted.get(), tally.refused.get());
    assert!(accepted > refused / 60 && refused > accepted / 60, "{name}: {tally:?}");
}

/// What is wrong with a message, if anything is: it must be one line of bearable length. The command line takes control characters out.
fn one_line(error: &sshmc::Error) -> Result<(), String> {
    let message = error.to_string();
    match () {
        () if message.len() > 1500 => Err(format!("a message of {} bytes", message.len())),
        () if message.trim().is_empty() => Err("an empty message".to_owned()),
        () if message.contains('\n') => Err(format!("more than one line: {message:?}")),
        () => Ok(()),
    }
}

/// The harness itself: a reader that panics on some damage is caught, whatever the seed.
#[test]
fn a_panic_is_found() {
    let files = [b"y\n1\n2\n3\n".to_vec()];
    let found = std::panic::catch_unwind(|| {
        storm("a reader that panics", 1.0, &files, |_, bytes| {
            assert!(bytes.first() != Some(&b'0'), "no zero is expected here");
            Ok(())
        })
    });
    assert!(found.is_err(), "the harness sees nothing");
}

/// The harness itself: a reader that accepts what it has to refuse is caught.
#[test]
fn what_must_be_refused_is_held_to() {
    for (name, count) in [("npy", 1), ("run", 3)] {
        assert!(folder(&format!("{name}/refused")).len() >= count, "{name}");
    }
    let accepts = std::panic::catch_unwind(|| assert_refused("npy", |_| Ok(())));
    assert!(accepts.is_err(), "the harness sees nothing");
}
