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
    /// Draws of the posterior that counts are predicted from
    #[arg(long, value_name = "N", default_value_t = 1000)]
    draws: usize,
    /// Point patterns to simulate
    #[arg(long, value_name = "N", default_value_t = 10)]
    patterns: usize,
    /// Steps ahead to forecast
    #[arg(long, value_name = "N", default_value_t = 20)]
    horizon: usize,
    /// Seed of the new data
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

impl Predict {
    pub(crate) fn run(&self) -> std::result::Result<(), Failure> {
        let run = Run::open(&self.directory).map_err(Failure::preparing)?;
        self.check().map_err(Failure::preparing)?;
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

    fn check(&self) -> Result<()> {
        for (name, value, most) in [
            ("--draws", self.draws, 1_000_000),
            ("--patterns", self.patterns, 100_000),
            ("--horizon", self.horizon, 1_000_000),
        ] {
            at_most(name, value as u64, most)?;
            if value == 0 {
                return Err(Error::input(name, "at least 1", "0", "ask for at least one"));
            }
        }
        Ok(())
    }

    fn points(&self, run: &Run) -> Result<Vec<(String, String)>> {
        let LgcpRun { counts, window, grid, .. } = run.lgcp()?;
        let predictive = Predictive { counts: &counts, window: &window, seed: self.seed };
        let mut table = String::from("i,j,mean,sd,q05,q50,q95\n");
        for (cell, prediction) in predict_cells(run, self.draws, &predictive)?.iter().enumerate() {
            let (i, j) = grid.position(cell);
            if counts.observed()[cell] {
                let _ = writeln!(table, "{i},{j},{}", figures(prediction));
            }
        }
        let mut patterns = String::from("pattern,x,y\n");
        let mut total = 0.0;
        for (k, (_, _, field)) in run.fields()?.spread(self.patterns).into_iter().enumerate() {
            let drawn = predictive.counts(k, field);
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
        for (step, one) in forecast(run, self.horizon, self.seed)?.iter().enumerate() {
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
