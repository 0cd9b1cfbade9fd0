//! Samples large latent Gaussian fields with unknown hyperparameters.

pub mod error;
pub mod prior;

pub use error::{Error, Result};
