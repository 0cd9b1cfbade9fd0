//! Writes the report of an earlier fit anew.

use super::failure::Failure;
use super::screen::Screen;
use clap::Args;
use sshmc::data::add_file;
use sshmc::report::{Run, page};
use std::path::{Path, PathBuf};

/// Options of the report.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  sshmc report sshmc-out/lgcp")]
pub(crate) struct Report {
    /// Directory that a fit wrote
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl Report {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let run = Run::open(&self.directory).map_err(Failure::preparing)?;
        write_report(&run).map_err(Failure::running)?;
        let path: &Path = &self.directory.join("report.html");
        Screen::open(false).tell(&format!("Open {} in a browser.\n", path.display()))
    }
}

/// Puts the page into the directory of its run.
pub(super) fn write_report(run: &Run) -> sshmc::Result<()> {
    add_file(&run.directory, "report.html", page(run)?.as_bytes())
}
