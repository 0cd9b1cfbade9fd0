//! Samples large latent Gaussian fields with unknown hyperparameters.

pub mod data;
pub mod error;

pub use error::{Error, Result};
