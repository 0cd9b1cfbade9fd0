//! Fits models to data: one file a model reads its options, and the job they share does the rest.

mod bounds;
mod funnel;
mod job;
mod lgcp;
mod logistic;
mod run;
mod sv;
mod task;

pub(crate) use bounds::check as check_bounds;
pub(crate) use job::{Job, as_typed, numbered, open};
pub(crate) use lgcp::{Lgcp, parse_levels};
pub(crate) use run::Finished;
pub(crate) use task::Task;

use super::failure::Failure;
use super::one_line;
use super::options::Common;
use clap::{Parser, Subcommand};
use sshmc::Result;
use std::path::{Path, PathBuf};

/// Models that can be fitted.
#[derive(Debug, Subcommand)]
pub(crate) enum Fit {
    /// A log-Gaussian Cox process: points in a window, or counts on a grid
    Lgcp(Box<lgcp::Lgcp>),
    /// Stochastic volatility: series of returns or prices
    Sv(Box<sv::Sv>),
    /// Hierarchical logistic regression: labelled rows in groups
    Logistic(Box<logistic::Logistic>),
    /// Neal's funnel: no data, a posterior known in closed form
    Funnel(Box<funnel::Funnel>),
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

    /// Reads the command that a task holds.
    pub(crate) fn parse(task: &Task) -> std::result::Result<Self, Failure> {
        let line = Line::try_parse_from(&task.words);
        let refuse = |error: clap::Error| Failure::BadInput(one_line(&error.render().to_string()));
        let Line { command: Command::Fit(fit) } = line.map_err(refuse)?;
        Ok(fit)
    }

    /// Reads other files than those that were named, and hands out the options that all fits share.
    fn replace_files(
        &mut self,
        replace: impl Fn(&mut PathBuf) -> Result<()>,
    ) -> Result<&mut Common> {
        match self {
            Fit::Lgcp(options) => options.replace_files(replace),
            Fit::Sv(options) => options.replace_files(replace),
            Fit::Logistic(options) => options.replace_files(replace),
            Fit::Funnel(options) => Ok(options.common_mut()),
        }
    }

    /// The options that all fits share.
    pub(crate) fn common(&mut self) -> Result<&mut Common> {
        self.replace_files(|_| Ok(()))
    }

    /// Goes on with a task in its directory, whose files so far are in `partial`, with the chains of other runs.
    pub(crate) fn take_up(
        &mut self,
        task: &Task,
        directory: &Path,
        partial: &Path,
        sources: &[PathBuf],
    ) -> Result<&mut Common> {
        let copy = |path: &mut PathBuf| task.copy_of(path, partial).map(|copy| *path = copy);
        let common = self.replace_files(copy)?;
        common.take_up(&task.words, directory, sources);
        Ok(common)
    }

    /// What two runs must have in common to be parts of one: model, data and settings, but not which chains.
    pub(crate) fn fingerprint(mut self, task: &Task) -> Result<String> {
        self.replace_files(|path| {
            *path = PathBuf::from(task.checksum_of(path));
            Ok(())
        })?
        .forget_place();
        Ok(format!("{self:?}"))
    }
}

/// The command that a task holds.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(subcommand)]
    Fit(Fit),
}
