//! Samples large latent Gaussian fields with unknown hyperparameters.

pub mod diagnose;
pub mod error;

pub use error::{Error, Result};
