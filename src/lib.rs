//! Samples large latent Gaussian fields with unknown hyperparameters.

pub mod error;
pub mod numeric;
pub mod random;

pub use error::{Error, Result};
