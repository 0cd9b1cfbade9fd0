//! Shows the whole of the tool without any set-up: real points, their fit, maps and a report.

use super::airports::{POINTS, SOURCE, WINDOW};
use super::failure::Failure;
use super::fit::{Fit, Lgcp, as_typed};
use super::screen::Screen;
use clap::Args;
use clap::Parser;
use sshmc::data::OutputDir;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Options of the demonstration.
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// Directory for the data and the results
    #[arg(long, value_name = "DIR", default_value = "sshmc-demo")]
    out: PathBuf,
    /// Seed of the fit [default: that of `sshmc fit`]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
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

    /// What a user would type who knows nothing but where the files are: everything else is the defaults' business.
    fn command(&self, data: &Path, results: &Path) -> Vec<String> {
        let file = |name: &str| Some(data.join(name).display().to_string());
        let options = [
            ("--points", file("points.csv")),
            ("--window", file("window.geojson")),
            ("--crs", Some("EPSG:5070".to_owned())),
            ("--seed", self.seed.map(|seed| seed.to_string())),
            ("--draws", self.draws.map(|draws| draws.to_string())),
            ("--out", Some(results.display().to_string())),
        ];
        let given = options.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value?]));
        std::iter::once("lgcp".to_owned()).chain(given.flatten()).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use sshmc::data::{Points, Table, Window};
    use sshmc::spatial::Detail;

    fn demo(seed: Option<u64>, draws: Option<u32>) -> Demo {
        Demo { out: "d".into(), seed, draws, no_open: true, quiet: false }
    }

    #[test]
    fn nothing_is_given_that_the_defaults_can_choose() {
        let line = |demo: Demo| demo.command("d".as_ref(), "fit".as_ref()).join(" ");
        let (start, end) =
            ("lgcp --points d/points.csv --window d/window.geojson --crs EPSG:5070", "--out fit");
        assert_eq!(line(demo(None, None)), format!("{start} {end}"));
        assert_eq!(line(demo(Some(3), Some(20))), format!("{start} --seed 3 --draws 20 {end}"));
        let words = demo(None, None).command("d".as_ref(), "fit".as_ref());
        demo(None, None).parse(&words).unwrap();
    }

    #[test]
    fn the_grid_that_is_chosen_for_it_is_fine() {
        let table = Table::from_reader("points.csv", POINTS.as_bytes()).unwrap();
        let points = Points::from_table(table, "x", "y").unwrap();
        let window = Window::from_geojson("window.geojson", WINDOW).unwrap();
        let cells = Detail::of(&window, points.places()).cells();
        assert!((100..=128).contains(&cells), "{cells}");
    }
}
