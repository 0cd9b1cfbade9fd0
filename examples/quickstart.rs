//! Fits a log-Gaussian Cox process to counts on a grid and prints what was learnt.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use sshmc::prelude::*;
use sshmc::simulate::{self, PatternTruth};
use std::error::Error;

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
    // Draws until the results can be trusted.
    let fit = fit(&Sampler::default())?;
    println!("true sigma {}, true range {}\n", TRUTH.sigma, TRUTH.range);
    println!("{}", fit.summary());
    Ok(())
}

pub(crate) fn fit(sampler: &Sampler) -> sshmc::Result<Fit> {
    // Counts of your own come from Counts::new(rows, columns, &counts) or Counts::read(path).
    Lgcp::new(simulate::lgcp(&TRUTH, 7)?.counts).fit(sampler)
}
