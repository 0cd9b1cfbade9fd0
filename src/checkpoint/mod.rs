//! Keeps the states of a run's chains in files while it goes on, so that a run that was stopped or killed can be resumed.
//!
//! Each batch of chains has a file of its own, so that chains on different threads need not wait for each other. A file that turns out
//! damaged is named and the one before it is used; if that is damaged too the batch starts afresh, which costs time and changes no bit.

mod file;

use crate::error::{Error, Result};
use crate::sample::{BatchState, Keeper, PilotResult};
use file::Fault;
use serde::de::DeserializeOwned;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Checkpoints of a run in a directory.
pub struct Checkpoints<'a> {
    directory: PathBuf,
    interval: Duration,
    /// Set from outside to stop the run, and from inside when a state could not be kept.
    stop: &'a AtomicBool,
    /// Told of damaged files.
    warn: &'a (dyn Fn(&str) + Sync),
}

impl<'a> Checkpoints<'a> {
    /// Keeps states in `directory`, each batch's every `interval`.
    pub fn open(
        directory: &Path,
        interval: Duration,
        stop: &'a AtomicBool,
        warn: &'a (dyn Fn(&str) + Sync),
    ) -> Result<Self> {
        fs::create_dir_all(directory).map_err(Error::io("create", directory))?;
        Ok(Self { directory: directory.to_path_buf(), interval, stop, warn })
    }

    fn batch(&self, ids: &[u32]) -> PathBuf {
        self.directory.join(format!("chain-{}", ids.first().copied().unwrap_or(0)))
    }

    fn write(&self, path: &Path, value: &impl serde::Serialize) -> Result<()> {
        file::write(path, value).map_err(|source| {
            // The other chains cannot go on for long either: they stop at their last states that were kept.
            self.stop.store(true, Ordering::Relaxed);
            Error::Io { action: "write", path: path.to_path_buf(), source }
        })
    }

    /// The newest value that is whole.
    fn read<T: DeserializeOwned>(&self, path: &Path) -> Result<Option<T>> {
        let previous = file::previous(path);
        for (path, next) in [(path, Some(&previous)), (&previous, None)] {
            match file::read(path) {
                Ok(value) => return Ok(Some(value)),
                Err(Fault::Missing) => {}
                Err(Fault::Foreign(version)) => {
                    return Err(Error::input(
                        path.display().to_string(),
                        format!("a checkpoint of sshmc {}", env!("CARGO_PKG_VERSION")),
                        format!("one of sshmc {version}"),
                        "resume with the version that began the run, or begin again",
                    ));
                }
                Err(Fault::Damaged(why)) => (self.warn)(&format!(
                    "{} cannot be used ({why}); {}",
                    path.display(),
                    match next {
                        Some(previous) if previous.exists() => "the one before it is used",
                        _ => "these chains start afresh",
                    }
                )),
            }
        }
        Ok(None)
    }
}

impl Keeper for Checkpoints<'_> {
    fn recall(&self, ids: &[u32]) -> Result<Option<BatchState>> {
        let path = self.batch(ids);
        let state: Option<BatchState> = self.read(&path)?;
        match state {
            Some(state) if state.ids != ids => Err(Error::input(
                path.display().to_string(),
                format!("the state of chains {ids:?}"),
                format!("that of {:?}", state.ids),
                "it belongs to another run; begin again",
            )),
            state => Ok(state),
        }
    }

    fn keep(&self, state: &BatchState) -> Result<()> {
        self.write(&self.batch(&state.ids), state)
    }

    fn is_due(&self, since: Duration) -> bool {
        since >= self.interval
    }

    fn keeps(&self) -> bool {
        true
    }

    fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn recall_pilot(&self) -> Result<Option<PilotResult>> {
        self.read(&self.directory.join("pilot"))
    }

    fn keep_pilot(&self, pilot: &PilotResult) -> Result<()> {
        self.write(&self.directory.join("pilot"), pilot)
    }
}
