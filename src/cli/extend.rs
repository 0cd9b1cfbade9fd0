//! Adds draws to a fit that has ended, as if it had been asked for them from the start.

use super::failure::Failure;
use super::fit::{Fit, Task};
use super::resume::{ended, go_on};
use clap::Args;
use sshmc::archive::archive_of;
use sshmc::checkpoint::STATE;
use sshmc::data::OutputDir;
use sshmc::device::Device;
use sshmc::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
The chains go on from their last draws, and all results are made anew. They have the same bits as those of a fit that was asked for
all these draws from the start, except where draws of the whole field were thinned to --keep-fields: what was kept of every so many
draws still is, so the archive grows in proportion.

Example:
  sshmc extend events-fit --draws 2000";

/// Options of extending.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Extend {
    /// The directory of the fit
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Draws of each chain to add
    #[arg(long, value_name = "N")]
    draws: u32,
    /// Print nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

impl Extend {
    pub(crate) fn run(&self) -> std::result::Result<(), Failure> {
        if self.draws == 0 {
            let error = Error::input("--draws", "at least 1", "0", "ask for at least one");
            return Err(Failure::preparing(error));
        }
        let task = ended(&self.directory).map_err(Failure::preparing)?;
        let mut fit = Fit::parse(&task)?;
        let common = fit.common().map_err(Failure::preparing)?;
        let (chains, draws) = common.thin_for.unwrap_or((common.chains, common.draws));
        let total = common.draws.saturating_add(self.draws);
        // Refused before anything is written.
        common.draws = total;
        common.settings(Device::cpu()).map_err(Failure::preparing)?;
        let task = task
            .with_option("--draws", &total.to_string())
            .with_option("--thin-for", &format!("{chains},{draws}"));
        self.begin(&task).map_err(Failure::preparing)?;
        go_on(&task, &self.directory, &[], self.quiet)
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
