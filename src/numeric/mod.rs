//! Gathers small functions on numbers and slices that are fast and give the same bits on every machine.
//!
//! Functions of one number ([`exp`], [`ln`], [`ln_1p`], [`sin_cos_turns`]) are made to be called in a loop inside [`vectorised`].
//! Functions of slices ([`sum`], [`dot`], [`squared_norm`], [`axpy`], [`scale_into`]) choose the instruction set themselves; inside
//! [`vectorised`] call their twins in [`inline`], which take over the set already chosen.

pub mod inline;

mod elementary;
mod simd;
mod slice;

pub use elementary::{exp, ln, ln_1p, sin_cos_turns, two_floats};
pub use simd::vectorised;
pub use slice::{axpy, dot, scale_into, squared_norm, sum};
