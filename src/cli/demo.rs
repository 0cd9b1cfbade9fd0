//! Shows the whole of the tool without any set-up: a simulated pattern, its fit, and a map.

use super::failure::Failure;
use super::fit::{Job, write_field};
use super::screen::Screen;
use clap::Args;
use sshmc::data::OutputDir;
use sshmc::model;
use sshmc::report::Truth;
use sshmc::sample::Settings;
use sshmc::simulate::{PatternTruth, PointPattern, lgcp};
use sshmc::structure::Kernel;
use std::path::PathBuf;

/// The pattern: clumps a tenth of the map wide, and about one point in four cells of five.
const TRUTH: PatternTruth = PatternTruth {
    rows: 32,
    columns: 32,
    sigma: 1.4,
    range: 0.1,
    total: 800.0,
    kernel: Kernel::Exponential,
};

/// Options of the demonstration.
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// Directory for the data, the results and the map
    #[arg(long, value_name = "DIR", default_value = "sshmc-demo")]
    out: PathBuf,
    /// Seed of the data and of the fit
    #[arg(long, value_name = "N", default_value_t = 2)]
    seed: u64,
    /// Print nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

impl Demo {
    /// Simulates, fits, draws, and says where to look.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let pattern = lgcp(&TRUTH, self.seed).map_err(Failure::preparing)?;
        let output = OutputDir::create(&self.out).map_err(Failure::preparing)?;
        pattern.write(&output).map_err(Failure::running)?;
        let mut screen = Screen::open(self.quiet);
        screen.tell(&format!(
            "Drew a log-Gaussian Cox process with sigma {}, range {} and mu {:.2}: {} points.\n",
            TRUTH.sigma,
            TRUTH.range,
            pattern.mu,
            pattern.points.len()
        ))?;
        let model =
            model::lgcp(&pattern.counts, &Default::default()).map_err(Failure::preparing)?;
        let job = Job {
            subject: "a log-Gaussian Cox process to their counts in 32 x 32 cells, as if those were unknown".into(),
            model,
            settings: Settings { seed: self.seed, ..Settings::default() },
            output,
            shown: self.out.clone(),
            truth: truth(&pattern),
            notice: None,
        };
        job.run(&mut screen, self.quiet, |_, field, output| {
            write_field(&pattern.counts, field, output)
        })?;
        screen.tell(&format!(
            "Open {} in a browser: the map of the posterior with the points' cells.\n",
            self.out.join("field_mean.svg").display()
        ))
    }
}

fn truth(pattern: &PointPattern) -> Truth {
    let PatternTruth { sigma, range, .. } = pattern.truth;
    [("sigma", sigma), ("range", range), ("mu", pattern.mu)]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
}
