//! Lets users check that the sampler draws from the right distribution, and that their device computes what it should.

mod calibrate;
mod device;
mod joint;
mod sizes;
mod table;
mod watch;

use super::failure::Failure;
use clap::Subcommand;
use sshmc::check::World;
use sshmc::random::{Purpose, Stream};
use std::io::IsTerminal;

/// What can be checked.
#[derive(Debug, Subcommand)]
pub(crate) enum Check {
    /// Fit data drawn from the prior, many times, and see whether the truths have uniform ranks among the draws
    Calibrate(Box<calibrate::Calibrate>),
    /// Put every transition kernel to two tests of the joint distribution of hyperparameters, field and data
    Joint(joint::Joint),
    /// Compare a GPU with the processor in double precision, for a bug report
    Device(device::Adapter),
}

impl Check {
    /// Checks, prints, and fails if something is wrong.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match self {
            Check::Calibrate(options) => options.run(),
            Check::Joint(options) => options.run(),
            Check::Device(options) => options.run(),
        }
    }
}

/// A bar that counts to a length, if someone is watching.
fn bar(length: u64, quiet: bool) -> indicatif::ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return indicatif::ProgressBar::hidden();
    }
    let bar = indicatif::ProgressBar::new(length);
    let template = "{pos} of {len} [{bar:24}] {eta:>4} left, {wide_msg}";
    if let Ok(style) = indicatif::ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

/// A chance as people say it.
fn once_in(chance: f64) -> String {
    format!("once in {:.0}", 1.0 / chance)
}

/// Smaller chances than that are not told apart when they are shared and compared.
const LEAST_CHANCE: f64 = 1e-100;

/// Accepts a chance strictly between 0 and 1 that can be resolved.
fn chance(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "expected a number such as 0.001".to_owned())?;
    match (LEAST_CHANCE..1.0).contains(&value) {
        true => Ok(value),
        false => Err("expected a number between 1e-100 and 1, such as 0.001".into()),
    }
}

/// Accepts a number of seconds.
fn pause(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| *seconds >= 0.0);
    seconds.ok_or_else(|| "expected a number of seconds, at least 0".into())
}

/// Threads to use.
fn pool(threads: Option<usize>) -> Result<rayon::ThreadPool, Failure> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build()
        .map_err(|e| Failure::Broken(format!("cannot start threads: {e}")))
}

/// Draws one world before the work begins, in case its prior cannot be drawn from.
fn try_draw(world: &World, seed: u64) -> sshmc::Result<()> {
    let mut rng = Stream::new(seed, 0, 0, Purpose::Prior).rng();
    world.draw(world.model().hyperparameters(), &mut rng).map(|_| ())
}
