//! Samples large latent Gaussian fields together with their unknown hyperparameters, by semi-separable Hamiltonian Monte Carlo that
//! tunes itself.
//!
//! ```
//! use sshmc::prelude::*;
//!
//! // Rows of eight cells, with three points in each cell of the western half and none in the others.
//! let y: Vec<u32> = (0..64).map(|cell| if cell % 8 < 4 { 3 } else { 0 }).collect();
//! let fit = Lgcp::new(Counts::new(8, 8, &y)?)
//!     .kernel(Kernel::Matern32)
//!     .prior("range", Prior::pc(0.05, 0.05))
//!     .fit(&Sampler::default().chains(2).warmup(200).draws(200))?;
//! println!("{}", fit.summary());
//! let map: Vec<f64> = fit.field_mean();
//! assert!(map[0] > map[7]);
//! # Ok::<(), sshmc::Error>(())
//! ```
//!
//! | to | use |
//! |---|---|
//! | fit a map of points or counts | [`Lgcp`] of [`Counts`]: from a slice, from points in a [`Window`], or from files |
//! | fit returns, labels in groups, the funnel | [`Volatility`], [`Logistic`], [`Funnel`] |
//! | choose chains, draws, seed, device, or watch and stop | [`Sampler`] |
//! | compute on a GPU | `Sampler::default().device(Device::gpu()?)`, or `Device::from_wgpu` with a device of yours |
//! | ask what was learnt | [`Fit`]: `summary`, `draws("sigma")`, `field_mean`, `field_sd`, `iter`, `save` |
//! | say what is believed | [`Prior`], or the same as text |
//! | bring a likelihood of your own | [`Likelihood`], a [`Model`] of it, and [`Sampler::fit`] |
//!
//! [`prelude`] has these names; what else there is stands under the modules.
//!
//! # Features
//!
//! All are on by default. Without any, what is left samples on the CPU and reads and writes CSV.
//!
//! | feature | adds |
//! |---|---|
//! | `gpu` | [`Device::gpu`] and its like, by wgpu |
//! | `archive` | `Fit::save`, draws in ArviZ's layout, checkpoints, GeoTIFF rasters |
//! | `report` | maps, figures and the page of a fit; includes `archive` |
//! | `cli` | the program `sshmc`; includes all others |
//!
//! # Conventions
//!
//! - **Memory order is row-major**: cell (i, j) of a grid is entry i × columns + j, indices from 0; row 0 is in the south.
//! - Lengths are in map units: those of the points' coordinates; the longer side of a grid that comes from counts is 1.
//!   Intensities are per unit of map area and exposure.
//! - Likelihoods return −log p up to a constant; potentials are minimised, and gradients are of the potential.
//! - A divergence is data about a chain, counted and reported; an [`Error`] ends the run.
//! - The same seed gives the same draws whatever the number of threads, or of chains run beside it.
//!
//! `docs/ARCHITECTURE.md` in the repository has the names of formulas and the order of the modules.

#![cfg_attr(
    not(feature = "cli"),
    allow(dead_code, unused_imports, reason = "what only other features use is no mistake")
)]

#[cfg(feature = "archive")]
pub mod archive;
pub mod baseline;
#[cfg(feature = "archive")]
pub mod check;
#[cfg(feature = "archive")]
pub mod checkpoint;
pub mod coordinates;
pub mod data;
pub mod device;
pub mod diagnose;
pub mod draws;
pub mod error;
mod front;
pub mod hamiltonian;
pub mod integrate;
pub mod likelihood;
pub mod model;
pub mod numeric;
pub mod prior;
pub mod random;
pub mod report;
pub mod sample;
mod shared;
#[cfg(feature = "archive")]
pub mod simulate;
pub mod spatial;
pub mod structure;

pub use data::{Counts, Grid, GroupedTable, Resolution, Returns, Window};
pub use device::Device;
pub use error::{DeviceError, Error, Result};
pub use front::{Draw, Funnel, Lgcp, Logistic, Sampler, Step, Volatility};
pub use likelihood::{CountLikelihood, Likelihood};
pub use model::Model;
pub use prior::Prior;
pub use report::Summary;
pub use sample::{Fit, Method, Settings, Until};
pub use structure::{Anisotropy, Kernel, Structure};
#[cfg(feature = "gpu")]
pub use wgpu;

/// Names that most programs need, to be had by `use sshmc::prelude::*`.
pub mod prelude {
    pub use crate::{
        Anisotropy, CountLikelihood, Counts, Device, Fit, Funnel, Grid, GroupedTable, Kernel, Lgcp,
        Likelihood, Logistic, Method, Model, Prior, Resolution, Returns, Sampler, Step, Volatility,
        Window,
    };
}

/// The code in README and in the pages of docs/, run as tests; tests/docs.rs sees to it that no page with code is missing.
#[cfg(all(doctest, feature = "cli"))]
mod book {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../docs/DEVICES.md")]
    struct Devices;
    #[doc = include_str!("../docs/LIBRARY.md")]
    struct Library;
}
