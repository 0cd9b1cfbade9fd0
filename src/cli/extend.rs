//! Adds draws to a fit that has ended, as if it had been asked for them from the start.

use super::failure::Failure;
use super::fit::{Fit, Task};
use super::length::{LENGTHS, Length, parse_duration};
use super::options::Common;
use super::resume::{ended, go_on};
use super::summary;
use clap::Args;
use sshmc::archive::archive_of;
use sshmc::checkpoint::STATE;
use sshmc::data::OutputDir;
use sshmc::device::Device;
use sshmc::report::Summary;
use sshmc::sample::Until;
use sshmc::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const AFTER_HELP: &str = "\
The chains go on from their last draws, until every hyperparameter and the field have bulk and tail effective sizes of 400 and R-hat of
at most 1.01, for at most 16000 draws of each chain in all, or four times as many as there are if that is more. All results are made
anew, with the same bits as those of a fit that was asked for all these draws from the start, except where draws of the whole field were
thinned to --keep-fields: what was kept of every so many draws still is, so the archive grows in proportion.

Examples:
  sshmc extend events-fit
  sshmc extend events-fit --max-time 2h
  sshmc extend events-fit --draws 2000";

/// Options of extending.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Extend {
    /// The directory of the fit
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Draws of each chain to add, exactly [default: as many as it takes]; of several series that differ in length, each gets as many
    /// as the longest has and N more
    #[arg(long, value_name = "N", conflicts_with_all = ["max_time", "max_draws"])]
    draws: Option<u32>,
    /// Draws of each chain, with those it has, after which it ends even if it cannot be trusted yet
    #[arg(long, value_name = "N")]
    max_draws: Option<u32>,
    /// Elapsed time from now after which it ends with the draws it has, such as 90s, 10m or 2h
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    max_time: Option<Duration>,
    /// Print nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

impl Extend {
    pub(crate) fn run(&self) -> std::result::Result<(), Failure> {
        if self.draws == Some(0) {
            let error = Error::input("--draws", "at least 1", "0", "ask for at least one");
            return Err(Failure::preparing(error));
        }
        let task = ended(&self.directory).map_err(Failure::preparing)?;
        let mut fit = Fit::parse(&task)?;
        let common = fit.common().map_err(Failure::preparing)?;
        let (chains, draws) = common.planned();
        let task = self.longer(&task, common).map_err(Failure::preparing)?;
        let task = task.with_option("--thin-for", &format!("{chains},{draws}"));
        // Refused before anything is written.
        let mut longer = Fit::parse(&task)?;
        let settings = longer.common().and_then(|common| common.settings(Device::cpu()));
        settings.map_err(Failure::preparing)?;
        self.begin(&task).map_err(Failure::preparing)?;
        go_on(&task, &self.directory, &[], self.quiet)
    }

    /// The task that draws more.
    fn longer(&self, task: &Task, common: &Common) -> Result<Task> {
        let made = drawn(&self.directory, common)?;
        let task = LENGTHS
            .iter()
            .fold(task.without_option("--draws"), |task, name| task.without_option(name));
        if let Some(more) = self.draws {
            return Ok(task.with_option("--draws", &made.saturating_add(more).to_string()));
        }
        // A run that was looked at before goes on where it would have; one that was not is looked at from its length on.
        let first = match common.draws() {
            (first, Some(_)) => first,
            (draws, None) => Length::first_from(draws),
        };
        let most = self.max_draws.unwrap_or(Until::default().most.max(made.saturating_mul(4)));
        let task = task
            .with_option("--check-from", &first.to_string())
            .with_option("--max-draws", &most.to_string());
        match self.max_time {
            None => Ok(task),
            Some(time) => {
                let before = figures(&self.directory, |s| s.sampler.elapsed_seconds)?;
                let seconds = time.as_secs_f64() + before.into_iter().fold(0.0, f64::max);
                Ok(task.with_option("--max-time", &format!("{seconds:.1}s")))
            }
        }
    }

    /// Begins the longer run with what the shorter one left.
    fn begin(&self, task: &Task) -> Result<()> {
        Task::clear_stillborn(&self.directory)?;
        let mut output = OutputDir::begin(&self.directory)?;
        take_along(&self.directory, output.staging())?;
        // Of several series each has a directory of its own, which becomes unfinished again.
        for entry in fs::read_dir(&self.directory).map_err(Error::io("read", &self.directory))? {
            let entry = entry.map_err(Error::io("read", &self.directory))?;
            if entry.path().join(STATE).is_dir() {
                let mut name = entry.file_name();
                name.push(".partial");
                take_along(&entry.path(), &output.staging().join(name))?;
            }
        }
        // Last, because a directory with a task counts as one that can be resumed.
        task.write_into(output.staging())?;
        output.keep();
        Ok(())
    }
}

/// Draws of each chain of a run that has ended; those of the longest series if there are several.
pub(crate) fn drawn(directory: &Path, common: &Common) -> Result<u32> {
    match common.draws() {
        (draws, None) => Ok(draws),
        (_, Some(_)) => Ok(figures(directory, |s| s.draws)?.into_iter().max().unwrap_or(0)),
    }
}

/// A figure of a run that has ended, or of each of its series.
fn figures<T>(directory: &Path, figure: impl Fn(&Summary) -> T) -> Result<Vec<T>> {
    let mut series = Vec::new();
    for entry in fs::read_dir(directory).map_err(Error::io("read", directory))? {
        let path = entry.map_err(Error::io("read", directory))?.path();
        if path.join(STATE).is_dir() {
            series.push(path);
        }
    }
    if series.is_empty() {
        series.push(directory.to_path_buf());
    }
    series.iter().map(|path| summary::read(path).map(|summary| figure(&summary))).collect()
}

/// Copies states and draws, but not the task.
fn take_along(from: &Path, to: &Path) -> Result<()> {
    copy(&from.join(STATE), &to.join(STATE))?;
    let draws = archive_of(from);
    match draws.is_dir() {
        true => copy(&draws, &archive_of(to)),
        false => Ok(()),
    }
}

/// Copies a directory with all that is in it, apart from a task.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).map_err(Error::io("create", to))?;
    for entry in fs::read_dir(from).map_err(Error::io("read", from))? {
        let entry = entry.map_err(Error::io("read", from))?;
        let (here, there) = (entry.path(), to.join(entry.file_name()));
        if here.is_dir() {
            copy(&here, &there)?;
        } else if entry.file_name() != "task.json" {
            fs::copy(&here, &there).map_err(Error::io("copy", &here))?;
        }
    }
    Ok(())
}
