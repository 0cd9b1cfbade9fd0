//! Continues a fit that was stopped or killed, from its last checkpoints to the results it would have had anyway.

use super::failure::Failure;
use super::fit::{Fit, Task};
use super::screen::Screen;
use clap::Args;
use sshmc::data::OutputDir;
use sshmc::{Error, Result};
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
A fit writes into DIR.partial until it has ended, and keeps the state of its chains there every --checkpoint-interval seconds
and when it is told to stop. It goes on from there with its own copies of the input, and ends with the same bits as if it
had never stopped. Of a fit that has ended there is nothing to resume; `sshmc extend` adds draws to it.

Example:
  sshmc resume events-fit";

/// Options of resuming.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Resume {
    /// The directory that was given to --out
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Print nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

impl Resume {
    pub(crate) fn run(&self) -> std::result::Result<(), Failure> {
        let partial = OutputDir::partial(&self.directory).map_err(Failure::preparing)?;
        if let Some(task) = Task::read(&partial).map_err(Failure::preparing)? {
            return go_on(&task, &self.directory, &[], self.quiet);
        }
        ended(&self.directory).map_err(Failure::preparing)?;
        Screen::open(self.quiet).tell(&format!(
            "{0} has ended: there is nothing to resume. `sshmc extend {0}` adds draws until it can be trusted, `--draws N` exactly N.\n",
            self.directory.display()
        ))
    }
}

const NAME: &str = "name the directory given to `sshmc fit … --out DIR`";

/// Runs a task in the directory where it was begun, with the chains of other runs.
pub(crate) fn go_on(
    task: &Task,
    directory: &Path,
    sources: &[PathBuf],
    quiet: bool,
) -> std::result::Result<(), Failure> {
    let partial = OutputDir::partial(directory).map_err(Failure::preparing)?;
    let mut fit = Fit::parse(task)?;
    let common = fit.take_up(task, directory, &partial, sources).map_err(Failure::preparing)?;
    common.quiet = quiet;
    fit.run()
}

/// The task of a run that has ended; anything else is refused.
pub(crate) fn ended(directory: &Path) -> Result<Task> {
    let refuse = |expected: &str, got: &str, remedy: &str| {
        Err(Error::input(directory.display().to_string(), expected, got, remedy))
    };
    if Task::read(&OutputDir::partial(directory)?)?.is_some() {
        let remedy = format!("`sshmc resume {}` ends it", directory.display());
        return refuse("a fit that has ended", "an unfinished one", &remedy);
    }
    match Task::read(directory)? {
        Some(task) => Ok(task),
        None if directory.join("run.json").exists() => {
            refuse("a fit whose state was kept", "one without", "fit it anew")
        }
        None if directory.exists() => refuse("a fit that was kept", "something else", NAME),
        None => refuse("a fit that was kept", "nothing there", NAME),
    }
}
