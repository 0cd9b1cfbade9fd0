//! Gives every random number an address, so that it can be computed anywhere, in any order, and again.
//!
//! A number is addressed by (seed, chain, transition, purpose, index); nothing has a state that must be handed on.
//! Chains can run on any number of threads, a run can resume in the middle, and a second implementation can check the
//! first number by number.

pub mod philox;
pub mod rng;
pub mod stream;

pub use rng::StreamRng;
pub use stream::{Purpose, Stream};
