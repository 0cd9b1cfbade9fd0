//! Holds the GPU against the CPU, stage by stage and run by run. Fails, and says what to install, where there is no adapter.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]
#![allow(clippy::print_stdout, reason = "figures are shown beside a failure, or when asked for")]

mod evaluate;
mod worlds;
