//! Gathers small functions on numbers and slices that are fast and give the same bits on every machine.

pub mod elementary;
pub mod simd;
pub mod slice;
