//! Fits a log-Gaussian Cox process on a 128 x 128 grid, all chains at once on a GPU.
//!
//! `cargo run --release --example lgcp_gpu` takes the best adapter there is; `-- NAME-PART` one by name. The first number after that is
//! the number of draws of each chain.

use sshmc::prelude::*;
use sshmc::report::{Summary, Truth};
use sshmc::simulate::{self, PatternTruth};
use std::error::Error;

/// Fits simulated counts, of which the truth is known.
pub(crate) fn fit(device: Device, draws: u32) -> Result<(Summary, Truth), Box<dyn Error>> {
    let truth = PatternTruth {
        rows: 128,
        columns: 128,
        sigma: 1.0,
        range: 0.05,
        total: 5000.0,
        kernel: Kernel::Exponential,
        anisotropy: Anisotropy::NONE,
    };
    let pattern = simulate::lgcp(&truth, 1)?;
    let known = [("sigma", truth.sigma), ("range", truth.range), ("mu", pattern.mu)];
    let known = known.map(|(name, value)| (name.to_owned(), value));
    let sampler = Sampler::default().device(device).warmup(draws / 2).draws(draws);
    let fit = Lgcp::new(pattern.counts).fit(&sampler)?;
    Ok((fit.summary(), Truth::from(known)))
}

/// Does what the user asked for on the command line.
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let named = arguments.next_if(|argument| argument.parse::<u32>().is_err());
    let draws = arguments.next().map_or(Ok(500), |n| n.parse())?;
    let device = match named {
        Some(part) => Device::gpu_named(&part)?,
        None => Device::gpu()?,
    };
    let (summary, truth) = fit(device, draws)?;
    summary.write_text(&truth, &mut std::io::stdout())?;
    Ok(())
}
