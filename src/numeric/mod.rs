//! Gathers small functions on numbers and slices that are fast and give the same bits on every machine.

pub mod elementary;
pub mod simd;
pub mod slice;

pub use elementary::{exp, ln, sin_cos_turns};
pub use simd::vectorised;
pub use slice::{axpy, dot, squared_norm, sum};
