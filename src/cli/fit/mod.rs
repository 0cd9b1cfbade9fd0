//! Fits models to data: one file a model reads its options, and the job they share does the rest.

mod funnel;
mod job;
mod lgcp;
mod logistic;
mod sv;

pub(crate) use job::{Finished, Job, as_typed};
pub(crate) use lgcp::{Lgcp, parse_levels};

use super::failure::Failure;
use clap::Subcommand;

/// Models that can be fitted.
#[derive(Debug, Subcommand)]
pub(crate) enum Fit {
    /// A log-Gaussian Cox process: points in a window, or counts on a grid
    Lgcp(Box<lgcp::Lgcp>),
    /// Stochastic volatility: series of returns or prices
    Sv(sv::Sv),
    /// Hierarchical logistic regression: labelled rows in groups
    Logistic(logistic::Logistic),
    /// Neal's funnel: no data, a posterior known in closed form
    Funnel(funnel::Funnel),
}

impl Fit {
    /// Reads, fits, writes and prints.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match self {
            Fit::Lgcp(options) => options.run(),
            Fit::Sv(options) => options.run(),
            Fit::Logistic(options) => options.run(),
            Fit::Funnel(options) => options.run(),
        }
    }
}
