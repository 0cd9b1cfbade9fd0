//! Shows the whole of the tool without any set-up: real points, their fit, maps and a report.

use super::failure::Failure;
use super::fit::{Fit, Lgcp, as_typed};
use super::screen::Screen;
use clap::Args;
use clap::Parser;
use sshmc::data::OutputDir;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The data, with their source and licence: built in, so that the demonstration needs no files.
const POINTS: &str = include_str!("../../data/airports/points.csv");
const WINDOW: &str = include_str!("../../data/airports/window.geojson");
const SOURCE: &str = include_str!("../../data/airports/README.md");

/// What is believed beforehand. The default priors would do, but a range as long as the map takes longer to explore.
const PRIORS: [&str; 2] = ["range=lognormal(13.3,0.5)", "sigma=half-normal(1)"];

/// Options of the demonstration.
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// Directory for the data and the results
    #[arg(long, value_name = "DIR", default_value = "sshmc-demo")]
    out: PathBuf,
    /// Seed of the fit
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Draws of each chain [default: until they can be trusted]
    #[arg(long, value_name = "N")]
    draws: Option<u32>,
    /// Do not open the report
    #[arg(long)]
    no_open: bool,
    /// Print nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

/// The command that the demonstration runs.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Line {
    #[command(subcommand)]
    fit: Fit,
}

impl Demo {
    /// Writes the data, runs the command that fits them, and shows the report.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let data = self.out.join("airports");
        write_data(&data).map_err(Failure::preparing)?;
        let results = self.out.join("fit");
        let words = self.command(&data, &results);
        let full: Vec<String> = std::iter::once("fit".to_owned()).chain(words.clone()).collect();
        let command = as_typed(std::iter::once("sshmc".to_owned()).chain(full.clone()));
        let mut screen = Screen::open(self.quiet);
        screen.tell(&format!(
            "Where are the airports of the contiguous United States? The data are in {}. This demonstration runs\n\n  {command}\n\n",
            data.display()
        ))?;
        let mut fit = self.parse(&words)?;
        fit.set_words(full);
        fit.run()?;
        let report = results.join("report.html");
        if !self.no_open && !self.quiet && std::io::stdout().is_terminal() {
            open(&report);
        }
        Ok(())
    }

    fn command(&self, data: &Path, results: &Path) -> Vec<String> {
        let mut words: Vec<String> =
            ["lgcp", "--crs", "EPSG:5070", "--grid", "40", "--warmup", "1000"]
                .map(String::from)
                .to_vec();
        // Regions a few hundred kilometres wide, within which the intensity varies by a factor of a few.
        for prior in PRIORS {
            words.extend(["--prior".to_owned(), prior.to_owned()]);
        }
        for (option, value) in [
            ("--points", data.join("points.csv").display().to_string()),
            ("--window", data.join("window.geojson").display().to_string()),
            ("--seed", self.seed.to_string()),
            ("--out", results.display().to_string()),
        ] {
            words.extend([option.to_owned(), value]);
        }
        if let Some(draws) = self.draws {
            words.extend(["--draws".to_owned(), draws.to_string()]);
        }
        words
    }

    fn parse(&self, words: &[String]) -> Result<Lgcp, Failure> {
        let quiet = self.quiet.then(|| "--quiet".to_owned());
        match Line::try_parse_from(words.iter().cloned().chain(quiet)) {
            Ok(Line { fit: Fit::Lgcp(fit) }) => Ok(*fit),
            Ok(_) => Err(Failure::Broken("the demonstration fits another model".into())),
            Err(error) => Err(Failure::BadInput(super::one_line(&error.render().to_string()))),
        }
    }
}

fn write_data(directory: &Path) -> sshmc::Result<()> {
    let output = OutputDir::create(directory)?;
    output.write_text("points.csv", POINTS)?;
    output.write_text("window.geojson", WINDOW)?;
    output.write_text("source.md", SOURCE)?;
    output.commit().map(|_| ())
}

/// Opens a file the way the desktop does; without a desktop, or if it fails, the path has been printed anyway.
fn open(path: &Path) {
    let has_screen = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let mut command = if cfg!(target_os = "macos") {
        Command::new("open")
    } else if cfg!(target_os = "windows") {
        Command::new("explorer")
    } else if has_screen("DISPLAY") || has_screen("WAYLAND_DISPLAY") {
        Command::new("xdg-open")
    } else {
        return;
    };
    let silent = command.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = silent.spawn();
}
