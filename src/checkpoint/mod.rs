//! Keeps the states of a run's chains in files while it goes on, so that a run that was stopped or killed can be resumed.
//!
//! Each batch of chains has a file of its own, so that chains on different threads need not wait for each other. Draws go into the
//! archive chunk by chunk, and a file holds only those that do not fill one yet. A file that turns out damaged is named and the one before
//! it is used, and so it is where a chunk of the archive that the newer one needs is damaged; if that does not help the batch starts
//! afresh, which costs time and changes no bit.

mod file;

use crate::archive::{Archive, archive_of};
use crate::draws::{ChainDraws, Mark};
use crate::error::{Error, Result};
use crate::sample::{BatchState, Keeper, PilotResult};
use file::Fault;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The folder of a run's directory with everything that is needed to go on.
pub const STATE: &str = "state";

/// Name of the file with what the pilot run found.
const PILOT: &str = "pilot";

/// Checkpoints of a run in its directory.
pub struct Checkpoints<'a> {
    directory: PathBuf,
    archive: Archive,
    /// Where it runs: another device would give other bits.
    device: String,
    options: CheckpointOptions<'a>,
    /// What of each chain is in the archive.
    marks: Mutex<BTreeMap<u32, Mark>>,
}

/// When checkpoints are made, and who is told.
#[derive(Clone, Copy)]
pub struct CheckpointOptions<'a> {
    /// Time between two.
    pub interval: Duration,
    /// Set from outside to stop the run, and from inside when a state could not be kept.
    pub stop: &'a AtomicBool,
    /// Told of damaged files.
    pub warn: &'a (dyn Fn(&str) + Sync),
}

/// Whether the state of any chain was kept in a run's `directory`, so that it can go on from there.
pub fn has_states(directory: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(directory.join(STATE)) else { return false };
    entries.any(|entry| {
        entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with("chain-"))
    })
}

/// What a file holds.
#[derive(Serialize, Deserialize)]
struct Kept {
    device: String,
    marks: Vec<Mark>,
    /// With only those draws that are not in the archive.
    state: BatchState,
}

impl<'a> Checkpoints<'a> {
    /// Keeps the states of a run on `device` in its `directory`, whose archive is given.
    pub fn open(
        directory: &Path,
        archive: Archive,
        device: &str,
        options: CheckpointOptions<'a>,
    ) -> Result<Self> {
        let states = directory.join(STATE);
        fs::create_dir_all(&states).map_err(Error::io("create", &states))?;
        let marks = Mutex::new(BTreeMap::new());
        Ok(Self { directory: states, archive, device: device.to_owned(), options, marks })
    }

    /// Takes over the chains of a run that has ended, as if they had been run here.
    pub fn import(&self, directory: &Path) -> Result<()> {
        let archive = Archive::open(&archive_of(directory))?;
        let states = directory.join(STATE);
        let other = Checkpoints::open(directory, archive, &self.device, self.options)?;
        let entries = fs::read_dir(&states).map_err(Error::io("read", &states))?;
        for entry in entries {
            let name = entry.map_err(Error::io("read", &states))?.file_name();
            let name = name.to_string_lossy();
            let Some(first) = name.strip_prefix("chain-").and_then(|id| id.parse().ok()) else {
                continue;
            };
            match other.state(first, u32::MAX)? {
                Some(state) if state.records.iter().all(|one| self.archive.fits(one)) => {
                    self.keep(&state)?;
                }
                Some(_) => {
                    return Err(Error::input(
                        directory.display().to_string(),
                        "fields thinned like those of the other parts",
                        "others",
                        "run all parts with the same --chains, or a larger --keep-fields",
                    ));
                }
                None => {
                    return Err(Error::input(
                        states.join(name.as_ref()).display().to_string(),
                        "the state of a chain",
                        "a damaged file",
                        "run that part again",
                    ));
                }
            }
        }
        Ok(())
    }

    /// Ends a run that has fewer draws than there was room for: `archive` is the same for those that were made.
    pub fn end(&self, archive: &Archive, chains: &[ChainDraws]) -> Result<()> {
        let mut chains = chains.iter();
        chains.try_for_each(|chain| archive.append(chain, self.mark(chain.chain)).map(drop))
    }

    /// Removes what is of no use once the run has ended.
    pub fn tidy(&self) {
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.extension().is_some_and(|extension| extension == "old") {
                // What will not go is litter and no failure.
                let _ = fs::remove_file(path);
            }
        }
    }

    fn file(&self, first: u32) -> PathBuf {
        self.directory.join(format!("chain-{first}"))
    }

    /// The other chains cannot go on for long if one cannot be kept: they stop with what was kept of them.
    fn or_stop<T>(&self, outcome: Result<T>) -> Result<T> {
        if outcome.is_err() {
            self.options.stop.store(true, Ordering::Relaxed);
        }
        outcome
    }

    fn write(&self, path: &Path, value: &impl Serialize) -> Result<()> {
        self.or_stop(file::write(path, value).map_err(Error::io("write", path)))
    }

    /// The newest value that is whole, and that `complete` can complete.
    fn read<T: DeserializeOwned>(
        &self,
        path: &Path,
        complete: impl Fn(&mut T) -> Result<()>,
    ) -> Result<Option<T>> {
        let previous = file::previous(path);
        for (path, next) in [(path, Some(&previous)), (&previous, None)] {
            let why = match file::read(path) {
                Ok(mut value) => match complete(&mut value) {
                    Ok(()) => return Ok(Some(value)),
                    Err(error) => error.to_string(),
                },
                Err(Fault::Missing) => continue,
                Err(Fault::Foreign(version)) => {
                    return Err(Error::input(
                        path.display().to_string(),
                        format!("a checkpoint of sshmc {}", env!("CARGO_PKG_VERSION")),
                        format!("one of sshmc {version}"),
                        "resume with the version that began the run, or begin again",
                    ));
                }
                Err(Fault::Damaged(why)) => why,
            };
            (self.options.warn)(&format!(
                "{} cannot be used ({why}); {}",
                path.display(),
                match next {
                    Some(previous) if previous.exists() => "the one before it is used",
                    _ => AFRESH,
                }
            ));
        }
        Ok(None)
    }

    /// Puts what is in the archive before what a file holds, unless that is of a later time. A run elsewhere is not for us to complete.
    fn complete(&self, kept: &mut Kept, latest: u32) -> Result<()> {
        if kept.device != self.device {
            return Ok(());
        }
        if kept.state.transitions > latest {
            return Err(Error::Numeric(AHEAD.into()));
        }
        let mut records = kept.state.records.iter_mut().zip(&kept.marks);
        records.try_for_each(|(record, &mark)| self.archive.complete(record, mark))
    }

    /// The state of the batch whose first chain this is, after at most `latest` transitions and with all its draws.
    fn state(&self, first: u32, latest: u32) -> Result<Option<BatchState>> {
        let path = self.file(first);
        let kept = self.read(&path, |kept| self.complete(kept, latest))?;
        let Some(Kept { device, marks, state }) = kept else { return Ok(None) };
        if device != self.device {
            return Err(Error::input(
                path.display().to_string(),
                format!("a run on {}", self.device),
                format!("one that was begun on {}", file::brief(&device)),
                "another device gives other bits; continue it where it was begun",
            ));
        }
        if let Ok(mut known) = self.marks.lock() {
            known.extend(state.records.iter().map(|record| record.chain).zip(marks));
        }
        Ok(Some(state))
    }

    fn mark(&self, chain: u32) -> Mark {
        self.marks.lock().ok().and_then(|marks| marks.get(&chain).copied()).unwrap_or_default()
    }
}

/// Why a state is not used that is whole.
const AHEAD: &str = "it is of a later time than what was kept of the other series";

const AFRESH: &str = "these chains start afresh";

impl Keeper for Checkpoints<'_> {
    fn recall(&self, ids: &[u32], latest: u32) -> Result<Option<BatchState>> {
        // What an earlier call found in the archive may be more than this one will.
        if let Ok(mut known) = self.marks.lock() {
            known.retain(|chain, _| !ids.contains(chain));
        }
        let mut whole: Option<BatchState> = None;
        // A batch that was run in parts elsewhere is put together.
        while whole.as_ref().is_none_or(|state| state.ids.len() < ids.len()) {
            let next = whole.as_ref().map_or(0, |state| state.ids.len());
            let Some(part) = self.state(ids[next], latest)? else { return Ok(None) };
            match &mut whole {
                None => whole = Some(part),
                Some(state) => state.join(part),
            }
        }
        Ok(whole.filter(|state| state.ids == ids))
    }

    fn keep(&self, state: &BatchState) -> Result<()> {
        let mut marks = Vec::with_capacity(state.records.len());
        for record in &state.records {
            let appended = self.archive.append(record, self.mark(record.chain));
            let mark = self.or_stop(appended)?;
            if let Ok(mut known) = self.marks.lock() {
                known.insert(record.chain, mark);
            }
            marks.push(mark);
        }
        let rest = state.records.iter().zip(&marks).map(|(record, &mark)| record.since(mark));
        let state = state.with_records(rest.collect());
        let first = state.ids.first().copied().unwrap_or(0);
        let kept = Kept { device: self.device.clone(), marks, state };
        self.write(&self.file(first), &kept)
    }

    fn is_due(&self, since: Duration) -> bool {
        since >= self.options.interval
    }

    fn keeps(&self) -> bool {
        true
    }

    fn is_stopping(&self) -> bool {
        self.options.stop.load(Ordering::Relaxed)
    }

    fn recall_pilot(&self) -> Result<Option<PilotResult>> {
        self.read(&self.directory.join(PILOT), |_| Ok(()))
    }

    fn keep_pilot(&self, pilot: &PilotResult) -> Result<()> {
        self.write(&self.directory.join(PILOT), pilot)
    }
}
