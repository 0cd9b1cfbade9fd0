//! Asks whether whole runs draw from the posterior: closed forms, stored references, and joint-distribution tests.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]
#![allow(clippy::print_stdout, reason = "scores are shown beside a failure, or when asked for")]

#[path = "../common/mod.rs"]
mod common;
mod compare;
mod conjugate;
mod determinism;
mod grids;
mod joint;
mod references;
mod rivals;
mod windows;
mod world;
