//! Runs latents on a GPU in f32, all chains at once.

mod adapters;
mod context;
mod field;
mod latents;
mod params;
mod recording;
mod self_test;
mod spectral;
mod stage;
mod state;

pub use adapters::{AdapterSummary, list};
pub(crate) use adapters::{Wanted, open};
pub use context::{Cost, Gpu};
pub(crate) use latents::GpuLatents;

/// Invocations of a workgroup in stages that need no particular number.
const WORKGROUP: usize = 64;
/// The same in stages that do not share memory; large, because a dispatch has at most 65535 workgroups.
const WIDE: usize = 256;

#[cfg(test)]
mod shader_tests;
