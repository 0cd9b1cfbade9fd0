//! Says what is believed about the hyperparameters before the data, and turns it into densities the sampler can walk on.

mod distribution;
mod kernel;
mod scale;
mod special;

pub use distribution::Distribution;
pub use scale::Scale;
