//! Draws new data from an earlier fit.

use super::failure::Failure;
use super::options::at_most;
use super::screen::Screen;
use clap::Args;
use sshmc::data::add_file;
use sshmc::report::{CellPrediction, LgcpRun, Run, forecast, predict_cells};
use sshmc::spatial::Predictive;
use sshmc::{Error, Result};
use std::fmt::Write;
use std::path::PathBuf;

/// Points of all patterns together that are worth a file.
const MOST_POINTS: f64 = 1e8;

/// Options of predictions.
#[derive(Args, Debug)]
#[command(after_help = "\
Writes into DIR/predictions. Of a Cox process: counts.csv (i, j, and mean, sd and quantiles of the points a second survey with
the same effort would find in each cell) and patterns.csv (pattern, x, y: whole simulated patterns). Of stochastic volatility:
forecast.csv (step, and mean, sd and quantiles of the volatility and of the return).

Examples:
  sshmc predict sshmc-out/lgcp --patterns 20
  sshmc predict sshmc-out/sv --horizon 30")]
pub(crate) struct Predict {
    /// Directory that a fit wrote
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Draws of the posterior that counts of a Cox process are predicted from [default: 1000]
    #[arg(long, value_name = "N")]
    draws: Option<usize>,
    /// Point patterns of a Cox process to simulate [default: 10]
    #[arg(long, value_name = "N")]
    patterns: Option<usize>,
    /// Steps of stochastic volatility ahead to forecast [default: 20]
    #[arg(long, value_name = "N")]
    horizon: Option<usize>,
    /// Seed of the new data
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

impl Predict {
    pub(crate) fn run(&self) -> std::result::Result<(), Failure> {
        let run = Run::open(&self.directory).map_err(Failure::preparing)?;
        self.check(&run.summary.model).map_err(Failure::preparing)?;
        let files = match run.summary.model.as_str() {
            "lgcp" => self.points(&run),
            "sv" => self.returns(&run),
            other => Err(Error::input(
                self.directory.display().to_string(),
                "a fit of lgcp or sv",
                format!("one of {other}"),
                "predict from another directory",
            )),
        };
        let mut screen = Screen::open(false);
        for (name, text) in files.map_err(Failure::preparing)? {
            add_file(&self.directory, &name, text.as_bytes()).map_err(Failure::running)?;
            screen.tell(&format!("{}\n", self.directory.join(&name).display()))?;
        }
        Ok(())
    }

    /// Refuses numbers that are out of bounds, and options that mean nothing to a model.
    fn check(&self, model: &str) -> Result<()> {
        for (name, of, value, most) in [
            ("--draws", "lgcp", self.draws, 1_000_000),
            ("--patterns", "lgcp", self.patterns, 100_000),
            ("--horizon", "sv", self.horizon, 1_000_000),
        ] {
            let Some(value) = value else { continue };
            if ["lgcp", "sv"].contains(&model) && model != of {
                let (expected, got) = (format!("a fit of {of}"), format!("one of {model}"));
                return Err(Error::input(name, expected, got, format!("leave out {name}")));
            }
            at_most(name, value as u64, most)?;
            if value == 0 {
                return Err(Error::input(name, "at least 1", "0", "ask for at least one"));
            }
        }
        Ok(())
    }

    fn points(&self, run: &Run) -> Result<Vec<(String, String)>> {
        let LgcpRun { counts, window, grid, likelihood, .. } = run.lgcp()?;
        let predictive =
            Predictive { counts: &counts, likelihood, window: &window, seed: self.seed };
        let mut table = String::from("i,j,mean,sd,q05,q50,q95\n");
        for (cell, prediction) in
            predict_cells(run, self.draws.unwrap_or(1000), &predictive)?.iter().enumerate()
        {
            let (i, j) = grid.position(cell);
            if counts.observed()[cell] {
                let _ = writeln!(table, "{i},{j},{}", figures(prediction));
            }
        }
        let mut patterns = String::from("pattern,x,y\n");
        let mut total = 0.0;
        for (k, (chain, place, field)) in
            run.fields()?.spread(self.patterns.unwrap_or(10)).into_iter().enumerate()
        {
            let drawn = predictive.counts(k, field, &run.own(likelihood, chain, place));
            total += drawn.iter().sum::<f64>();
            if total > MOST_POINTS {
                let got = format!("{total:.3e} in the first {} of them", k + 1);
                let expected = format!("at most {MOST_POINTS:.0e} points in all patterns");
                return Err(Error::input("--patterns", expected, got, "ask for fewer"));
            }
            for (x, y) in predictive.places(k, &drawn) {
                let _ = writeln!(patterns, "{k},{x:?},{y:?}");
            }
        }
        Ok(vec![
            ("predictions/counts.csv".into(), table),
            ("predictions/patterns.csv".into(), patterns),
        ])
    }

    fn returns(&self, run: &Run) -> Result<Vec<(String, String)>> {
        let names = ["mean", "sd", "q05", "q50", "q95"];
        let heading = |of: &str| names.map(|name| format!("{of}_{name}")).join(",");
        let mut table = format!("step,{},{}\n", heading("volatility"), heading("return"));
        for (step, one) in forecast(run, self.horizon.unwrap_or(20), self.seed)?.iter().enumerate()
        {
            let (volatility, value) = (figures(&one.volatility), figures(&one.value));
            let _ = writeln!(table, "{},{volatility},{value}", step + 1);
        }
        Ok(vec![("predictions/forecast.csv".into(), table)])
    }
}

fn figures(prediction: &CellPrediction) -> String {
    let CellPrediction { mean, sd, quantiles: [low, middle, high] } = prediction;
    format!("{mean:?},{sd:?},{low:?},{middle:?},{high:?}")
}
