//! Holds the checks that users can run to what they promise: they pass what is right and catch what is planted.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]
#![allow(clippy::print_stdout, reason = "scores are shown beside a failure, or when asked for")]

#[path = "../common/cli.rs"]
mod cli;
mod commands;
mod joint;
mod kill;
mod matrix;
mod mutants;
mod spoilt;

/// Chance that a correct program fails any of the statistical tests here.
pub(crate) const FALSE_ALARM: f64 = 1e-6;
/// Verdicts that share it: two tests of up to 20 kernels of 4 models, and of the mutants' controls.
pub(crate) const VERDICTS: usize = 2 * (4 * 20 + 3 * 6);
/// What is left for each.
pub(crate) const EACH: f64 = FALSE_ALARM / VERDICTS as f64;
