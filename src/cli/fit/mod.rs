//! Fits models to data: one file a model reads its options, and the job they share does the rest.

mod funnel;
mod job;
mod lgcp;
mod logistic;
mod sv;
mod task;

pub(crate) use job::{Finished, Job, as_typed, open};
pub(crate) use lgcp::{Lgcp, parse_levels};
pub(crate) use task::{STATE, Task};

use super::failure::Failure;
use clap::Subcommand;
use sshmc::Result;
use std::path::{Path, PathBuf};

/// Models that can be fitted.
#[derive(Debug, Subcommand)]
pub(crate) enum Fit {
    /// A log-Gaussian Cox process: points in a window, or counts on a grid
    Lgcp(Box<lgcp::Lgcp>),
    /// Stochastic volatility: series of returns or prices
    Sv(sv::Sv),
    /// Hierarchical logistic regression: labelled rows in groups
    Logistic(logistic::Logistic),
    /// Neal's funnel: no data, a posterior known in closed form
    Funnel(funnel::Funnel),
}

impl Fit {
    /// Reads, fits, writes and prints.
    pub(crate) fn run(&self) -> std::result::Result<(), Failure> {
        match self {
            Fit::Lgcp(options) => options.run(),
            Fit::Sv(options) => options.run(),
            Fit::Logistic(options) => options.run(),
            Fit::Funnel(options) => options.run(),
        }
    }

    /// Goes on with a task in its directory, whose files so far are in `partial`.
    pub(crate) fn take_up(
        &mut self,
        task: &Task,
        directory: &Path,
        partial: &Path,
        quiet: bool,
    ) -> Result<()> {
        let copy = |path: &mut PathBuf| task.copy_of(path, partial).map(|copy| *path = copy);
        let common = match self {
            Fit::Lgcp(options) => options.replace_files(copy)?,
            Fit::Sv(options) => options.replace_files(copy)?,
            Fit::Logistic(options) => options.replace_files(copy)?,
            Fit::Funnel(options) => options.common_mut(),
        };
        common.take_up(&task.words, directory, quiet);
        Ok(())
    }
}
