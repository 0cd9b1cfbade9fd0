//! Samples large latent Gaussian fields with unknown hyperparameters.

pub mod data;
pub mod error;
pub mod numeric;
pub mod random;

pub use error::{Error, Result};
