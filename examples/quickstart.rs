//! Fits a log-Gaussian Cox process to counts on a grid and prints what was learnt.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use sshmc::model::{LgcpOptions, lgcp};
use sshmc::report::{Summary, Truth};
use sshmc::sample::{Settings, Until, run};
use sshmc::simulate::{self, PatternTruth};
use sshmc::structure::{Anisotropy, Kernel};
use std::error::Error;
use std::io;
use std::sync::Arc;

/// Draws a pattern, so that there is something to fit and a truth to hold it against.
const TRUTH: PatternTruth = PatternTruth {
    rows: 16,
    columns: 16,
    sigma: 1.2,
    range: 0.15,
    total: 400.0,
    kernel: Kernel::Exponential,
    anisotropy: Anisotropy::NONE,
};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let summary = fit(&trusted())?;
    println!("true sigma {}, true range {}\n", TRUTH.sigma, TRUTH.range);
    summary.write_text(&Truth::new(), &mut io::stdout())?;
    Ok(())
}

/// Draws until the results can be trusted, looking after 500 draws of each chain first.
pub(crate) fn trusted() -> Settings {
    Settings { draws: 500, until: Some(Until::default()), ..Settings::default() }
}

pub(crate) fn fit(settings: &Settings) -> sshmc::Result<Summary> {
    // Counts of your own come from Counts::read(path) or Counts::from_vec(rows, columns, counts).
    let counts = simulate::lgcp(&TRUTH, 7)?.counts;
    let model = Arc::new(lgcp(&counts, &LgcpOptions::default())?);
    let fit = run(&model, settings, &())?;
    Ok(Summary::new(&fit))
}
