//! Samples large latent Gaussian fields with unknown hyperparameters.

pub mod error;
pub mod likelihood;
pub mod structure;
mod vector;

pub use error::{Error, Result};
