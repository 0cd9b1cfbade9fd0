//! Samples Neal's funnel, whose answer is known: v is normal with mean 0 and standard deviation 3.

use super::Job;
use crate::cli::failure::Failure;
use crate::cli::options::{Common, at_most};
use crate::cli::screen::Screen;
use clap::Args;
use sshmc::Error;
use sshmc::model::funnel;
use sshmc::report::{FieldMoments, Truth};

const AFTER_HELP: &str = "\
Writes into DIR: report.html; summary.json; hyperparameters.csv (every draw of v); field.csv (i, mean and sd of each latent);
draws.zarr (all draws, for ArviZ).
With the default prior E v = 0 and E v^2 = 9.

Example:
  sshmc fit funnel --dim 100";

/// Options of the funnel.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Funnel {
    /// Number of latents
    #[arg(long, value_name = "N", default_value_t = 100, help_heading = "Model")]
    dim: usize,
    #[command(flatten)]
    common: Common,
}

impl Funnel {
    pub(super) fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    pub(crate) fn run(&self) -> Result<(), Failure> {
        at_most("--dim", self.dim as u64, 10_000_000).map_err(Failure::preparing)?;
        if self.dim == 0 {
            let error = Error::input("--dim", "at least 1", "0", "ask for at least one latent");
            return Err(Failure::preparing(error));
        }
        let model = funnel(self.dim, &self.common.priors).map_err(Failure::preparing)?;
        let subject = format!("Neal's funnel with {} latents", self.dim);
        let chosen = self.common.device(0).map_err(Failure::preparing)?;
        let chosen = self.common.reconsider(chosen, &model).map_err(Failure::preparing)?;
        let mut job = Job::prepare(model, subject, &self.common, chosen, &[])?;
        if self.common.priors.is_empty() {
            job.truth = Truth::from([("v".to_owned(), 0.0)]);
        }
        let quiet = self.common.quiet;
        job.run(&mut Screen::open(quiet), quiet, |run| {
            let key = |site: usize| site.to_string();
            let field = FieldMoments::new(run.fit);
            run.output.write_with("field.csv", |file| field.write_csv("i", key, file))
        })
        .map(|_| ())
    }
}
