//! Says what is believed about the hyperparameters before the data, and turns it into densities the sampler can walk on.

mod belief;
mod distribution;
mod kernel;
mod parse;
mod scale;
mod special;

pub use belief::Prior;
pub use distribution::Distribution;
pub use parse::parse;
pub use scale::Scale;
