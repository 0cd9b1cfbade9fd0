//! Holds the GPU against the CPU, stage by stage and run by run. Fails, and says what to install, where there is no adapter.
//!
//! `SSHMC_TEST_ADAPTER` chooses an adapter by a part of its name, for instance a second and stricter software driver.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]
#![allow(clippy::print_stdout, reason = "figures are shown beside a failure, or when asked for")]

mod abla;
mod audits;
#[path = "../common/mod.rs"]
mod common;
#[path = "../posterior/compare.rs"]
mod compare;
mod cost;
mod dense;
mod energies;
mod errors;
mod faults;
mod field;
mod grids;
mod likelihoods;
mod momenta;
mod own;
mod posterior;
mod reference;
mod resume;
mod series;
mod soak;
mod together;
mod trajectory;
mod twin;
mod worlds;
