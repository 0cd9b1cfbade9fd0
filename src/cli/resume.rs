//! Continues a fit that was stopped or killed, from its last checkpoints to the results it would have had anyway.

use super::failure::Failure;
use super::fit::{Fit, Task};
use super::screen::Screen;
use clap::{Args, Parser};
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

/// The command that a task holds.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    #[command(subcommand)]
    Fit(Fit),
}

impl Resume {
    pub(crate) fn run(&self) -> std::result::Result<(), Failure> {
        let partial = OutputDir::partial(&self.directory).map_err(Failure::preparing)?;
        match Task::read(&partial).map_err(Failure::preparing)? {
            Some(task) => go_on(&task, &self.directory, &partial, self.quiet),
            None => self.nothing_to_do().map_err(Failure::preparing),
        }
    }

    /// Of a run that has ended nothing is left to do; anything else is refused.
    fn nothing_to_do(&self) -> Result<()> {
        let directory = &self.directory;
        if Task::read(directory)?.is_none() {
            let (got, remedy) = match () {
                () if directory.join("run.json").exists() => (
                    "one of a method that is not kept",
                    "fit it anew; only --method sshmc can be resumed",
                ),
                () if directory.exists() => ("something else", NAME),
                () => ("nothing there", NAME),
            };
            let expected = "a fit that was stopped";
            return Err(Error::input(directory.display().to_string(), expected, got, remedy));
        }
        // A closed screen is no failure, and there is nothing else to do.
        let _ = Screen::open(self.quiet).tell(&format!(
            "{0} has ended: there is nothing to resume. `sshmc extend {0} --draws N` adds draws.\n",
            directory.display()
        ));
        Ok(())
    }
}

const NAME: &str = "name the directory given to `sshmc fit … --out DIR`";

/// Runs a task in the directory where it was begun.
pub(crate) fn go_on(
    task: &Task,
    directory: &Path,
    partial: &Path,
    quiet: bool,
) -> std::result::Result<(), Failure> {
    let line = Line::try_parse_from(&task.words);
    let Line { command: Command::Fit(mut fit) } =
        line.map_err(|error| Failure::BadInput(super::one_line(&error.render().to_string())))?;
    fit.take_up(task, directory, partial, quiet).map_err(Failure::preparing)?;
    fit.run()
}
