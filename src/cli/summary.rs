//! Prints the results of an earlier fit from its directory.

use super::failure::Failure;
use super::fit::as_typed;
use super::screen::Screen;
use clap::Args;
use sshmc::Error;
use sshmc::report::{self, Truth, check_results};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Options of the summary.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  sshmc summary sshmc-out/lgcp")]
pub(crate) struct Summary {
    /// Directory that a fit wrote
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl Summary {
    /// Reads and prints. True values stand beside the posterior if the data of the fit were simulated there.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let summary = read(&self.directory).map_err(Failure::preparing)?;
        let mut screen = Screen::open(false);
        let report::Summary { model, method, seed, warmup, .. } = &summary;
        writeln!(screen, "{model} by {method}, seed {seed}, {warmup} warm-up transitions")
            .and_then(|()| {
                summary.notes.iter().try_for_each(|note| writeln!(screen, "note: {note}"))
            })
            .and_then(|()| writeln!(screen))
            .and_then(|()| summary.write_text(&truth(&self.directory), &mut screen))
            .and_then(|()| {
                match summary.advice(&as_typed([self.directory.display().to_string()])) {
                    Some(advice) => writeln!(screen, "advice:  {advice}"),
                    None => Ok(()),
                }
            })
            .map_err(Failure::printing)?;
        screen.tell("")
    }
}

pub(crate) fn read(directory: &Path) -> sshmc::Result<report::Summary> {
    let path = directory.join("summary.json");
    check_results(directory, "summary.json")?;
    let text = fs::read(&path).map_err(Error::io("read", &path))?;
    serde_json::from_slice(&text).map_err(|error| {
        let got = format!("something else ({error})");
        Error::input(path.display().to_string(), "the summary of a fit", got, "run the fit again")
    })
}

/// What `truth.json` says about the hyperparameters; nothing if there is none.
fn truth(directory: &Path) -> Truth {
    let text = fs::read(directory.join("truth.json")).unwrap_or_default();
    let value: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    let parameters = value.get("parameters").and_then(|p| p.as_object());
    let numbers = parameters.into_iter().flatten();
    numbers.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect()
}
