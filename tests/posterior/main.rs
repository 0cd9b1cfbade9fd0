//! Asks whether whole runs draw from the posterior: closed forms and stored references.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]
#![allow(clippy::print_stdout, reason = "scores are shown beside a failure, or when asked for")]

#[path = "../common/mod.rs"]
mod common;
mod compare;
mod conjugate;
mod determinism;
mod grids;
mod references;
mod stored;
mod tori;
mod windows;
