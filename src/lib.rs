//! Samples large latent Gaussian fields with unknown hyperparameters.

pub mod coordinates;
pub mod data;
pub mod device;
pub mod diagnose;
pub mod draws;
pub mod error;
pub mod hamiltonian;
pub mod integrate;
pub mod likelihood;
pub mod model;
pub mod numeric;
pub mod prior;
pub mod random;
pub mod report;
pub mod sample;
pub mod simulate;
pub mod structure;
mod vector;

pub use error::{Error, Result};
