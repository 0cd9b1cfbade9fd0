//! Holds the checks that users can run to what they promise: they pass what is right and catch what is planted.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]
#![allow(clippy::print_stdout, reason = "scores are shown beside a failure, or when asked for")]

mod commands;
mod joint;
mod mutants;
mod spoilt;

/// Chance that a correct program fails a statistical test.
pub(crate) const FALSE_ALARM: f64 = 1e-6;
