//! Fits stochastic volatility to a series of returns.

use super::Job;
use crate::cli::failure::Failure;
use crate::cli::options::Common;
use crate::cli::screen::Screen;
use clap::Args;
use sshmc::data::Returns;
use sshmc::model::stochvol;
use sshmc::report::draw_volatility;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Writes into DIR: summary.json; hyperparameters.csv (every draw of phi, sigma and beta); field.csv (t from 1, posterior mean
and sd of the log volatility x, where the variance of a return is beta^2 e^x); volatility.svg.

Examples:
  sshmc fit sv --returns prices/returns.csv
  sshmc fit sv --returns returns.csv --prior 'phi=beta(20,1.5)' --draws 4000";

/// Options of stochastic volatility.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Sv {
    /// CSV with a column y: returns at equal steps, in order of time
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    returns: PathBuf,
    #[command(flatten)]
    common: Common,
}

impl Sv {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let returns = Returns::read(&self.returns).map_err(Failure::preparing)?;
        let model = stochvol(&returns, &self.common.priors).map_err(Failure::preparing)?;
        let subject = format!("stochastic volatility to {} returns", returns.steps());
        let chosen = self.common.device(returns.steps()).map_err(Failure::preparing)?;
        let job = Job::prepare(model, subject, &self.common, chosen, &[&self.returns])?;
        let quiet = self.common.quiet;
        job.run(&mut Screen::open(quiet), quiet, |summary, field, output| {
            let step = |site: usize| (site + 1).to_string();
            output.write_with("field.csv", |file| field.write_csv("t", step, file))?;
            let beta = summary.parameters.get("beta").map_or(1.0, |beta| beta.q50);
            output.write_text("volatility.svg", &draw_volatility(returns.y(), field, beta)?)
        })
    }
}
