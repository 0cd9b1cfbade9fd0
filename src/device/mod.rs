//! Keeps the latents of a batch of chains where they are computed, behind one narrow seam.
//!
//! [`Latents`] is all a sampler sees of a device: what moves ([`Move`]), what warm-up learns from ([`Learn`]), what is recorded
//! ([`Record`]) and what is kept ([`Keep`]). A table of
//! [`Latents`] says which calls wait for a device that computes apart from the host. Hyperparameters stay with the caller.
//!
//! Chains of a batch may belong to several models, each a [`Lane`]; what a lane computes depends on itself alone, so that a run has the same
//! bits whoever shares its batch. Arrays over chains are flat: hyperparameters of chain b are at b·m … (b+1)·m.

mod choice;
mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;
#[cfg(not(feature = "gpu"))]
#[path = "no_gpu.rs"]
pub mod gpu;
mod seam;
mod state;

pub use choice::{Device, Lane};
pub use cpu::CpuLatents;
pub use seam::{Flow, Keep, Latents, Learn, Move, Quantity, Reading, Record};
pub use state::{DeviceSums, FieldSums, LatentState};
