//! Runs latents on a GPU in f32, all chains at once.
//!
//! # Cost
//!
//! The host drives integrators, hyperparameters and the Metropolis decision; latents never leave the device. Kicks and flows are
//! not commands of their own: they wait in the chains' `Motion` until the next evaluation and ride on its first stage. An evaluation is one
//! submission and one wait, in which a few numbers per workgroup travel. [`Gpu::cost`] counts dispatches, waits and bytes, and
//! the tests hold them to what is promised: three dispatches for a leapfrog step of a field, L + 2 waits for a transition
//! of L steps, nothing compiled or allocated twice. Recording a draw is three dispatches more and no wait: what is summed over draws stays
//! there until it is asked for.
//!
//! Chains that the adapter's limits do not hold together are split into batches that take turns ([`crate::device::Device::room`]).
//!
//! On the host our code keeps and uses its memory again; wgpu does not. A transition of five steps of a field with its record, 19 submissions of
//! 24 dispatches and 7 waits, asks for memory 1037 times, and the same commands given to wgpu 30.0.1 by hand 1025 times.
//!
//! # Precision
//!
//! A rough trajectory costs acceptance; a rough energy costs correctness. So
//! - sums are pairs of floats (`shaders/shared/two_float.wgsl`), one per workgroup, and the host adds them in f64. Compilers may treat f32
//!   arithmetic as exact and drop the second float, so every intermediate passes a guard that they cannot see through
//!   (`guard.wgsl`), and a self-test finds out whether it holds ([`Gpu::sums_exactly`]);
//! - so is every term of them that comes from a site, with an exponential of its own (`precise.wgsl`), and all of an autoregression
//!   that its potential depends on: errors that have the same sign at every site, or that a recursion carries along, do not average out. A field's
//!   transforms are in single precision; their errors do average out where forces balance, as they do at any draw;
//! - where one float is enough `exp` and `log` are our own too (`elementary.wgsl`): the built-in ones may be off by many units in the last place;
//! - a turn of (z, r) is made of three shears, each of which keeps volume exactly: a rotation by rounded sine and cosine would
//!   stretch phase space by 1e-7 in each of a million directions at every step;
//! - tables (twiddles, eigenvalues) and everything that depends on hyperparameters alone are computed in f64 and rounded once, and numbers that
//!   nearly cancel are subtracted before they are rounded;
//! - latents are stored in coordinates where the prior is simple, never as field values, whose small eigenvalues f32 would lose;
//! - a sample of transitions is recomputed in f64 and the worst error reported ([`crate::sample::EnergyAudit`]).
//!
//! # Adding a stage
//!
//! 1. Write `shaders/<structure>/<stage>.wgsl` with entry point `main`, storage buffers at group 0 from binding 0 up, read-only ones first
//!    where possible, at most eight. Sizes are constants that the shader uses without declaring them. Set `zero` first, guard every index,
//!    and keep barriers in uniform control flow: nothing checks that for you.
//! 2. List it where the structure's other stages are: its pieces, constants and which bindings are only read. Add it to the list
//!    of that file's stages for tests, and its struct, if it brings one, to the layout test in `shader_tests.rs`.
//! 3. Bind its buffers once, with the bytes a dispatch moves, and record it in the structure's block.
//! 4. Compare it with f64 in `tests/gpu`, with a twin of the comparison that must fail.
//!
//! A structure is a file like `spectral.rs` or `ar1.rs`: stages, buffers, parameters from hyperparameters, and what the sums
//! mean. A likelihood is one function in `shaders/site/`, with its value in two floats.

mod adapters;
mod ar1;
mod context;
mod dense;
mod field;
mod latents;
mod mistake;
mod params;
mod recording;
mod requests;
mod self_test;
mod spectral;
mod stage;
mod state;
mod twin;

pub use adapters::{AdapterSummary, list};
pub(crate) use adapters::{Wanted, open};
pub use context::{Cost, Gpu};
pub use dense::DenseMatrix;
pub use latents::MOST_COVARIATES;
pub(crate) use latents::{GpuLatents, alike, room, supported};

/// Invocations of a workgroup in stages that need no particular number.
const WORKGROUP: usize = 64;
/// The same in stages that do not share memory; large, because a dispatch has at most 65535 workgroups.
const WIDE: usize = 256;

#[cfg(test)]
mod shader_tests;
