//! Describes the Gaussian prior of the latents by its structure, and does its linear algebra.
//!
//! A structure says how N(0, Σ(w)) is laid out for working hyperparameters w (always unconstrained:
//! log σ, log range, atanh φ, …). Everything else in the crate reaches Σ through one object, the
//! [`Factor`] of V = (Σ(w)⁻¹ + K)⁻¹ = T T', where K is the [`Information`] that coordinates or masses
//! add to the prior precision (K = 0 gives Σ itself):
//!
//! | wanted | from the factor |
//! |---|---|
//! | a draw of N(0, V) | T z, z ~ N(0, I) |
//! | V v, V⁻¹ v | T T' v, T⁻ᵀ T⁻¹ v |
//! | log determinant | `log_det` |
//! | ∂(a'T z)/∂w | `sensitivity`: all other derivatives follow from it |
//!
//! Latents live in the structure's *basis*: the spectral one for grids, their own values otherwise.

mod ar1;
mod covariance;
mod dense;
mod fisher;
mod groups;
mod spectral;
mod triangular;

pub use ar1::Ar1;
pub(crate) use ar1::Process;
pub use covariance::{Covariance, Stationary};
pub use dense::Dense;
pub use fisher::Fisher;
pub use groups::Groups;
pub use spectral::{
    Anisotropy, Correlation, Embedding, Kernel, Sides, Spectral, SpectralFactor, SpectrumTable,
    Torus,
};
pub(crate) use spectral::{Eigenvalues, Layout, NODES, Place, Transform, variance};

use crate::error::{Error, Result};
use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What is added to the prior precision: nothing, the same amount for every latent, or a block per group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Information {
    /// K = κ I; zero gives the prior itself.
    Scalar(f64),
    /// One symmetric positive semi-definite block per group (structure [`Groups`] only).
    Blocks(#[serde(with = "crate::shared")] Arc<Vec<DMatrix<f64>>>),
}

impl Information {
    /// No information: V is the prior covariance.
    pub const NONE: Information = Information::Scalar(0.0);

    /// Whether this is zero.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// K v.
    pub fn times(&self, v: &[f64]) -> Vec<f64> {
        match self {
            Information::Scalar(kappa) => v.iter().map(|v| kappa * v).collect(),
            Information::Blocks(blocks) => {
                let mut out = Vec::with_capacity(v.len());
                let mut rest = v;
                for block in blocks.iter() {
                    let (own, after) = rest.split_at(block.ncols());
                    out.extend((block * nalgebra::DVector::from_column_slice(own)).iter());
                    rest = after;
                }
                out
            }
        }
    }

    /// κ, for a structure that takes nothing else; `who` names it in the error.
    pub(crate) fn scalar(&self, who: &str) -> Result<f64> {
        match self {
            Information::Scalar(kappa) if *kappa >= 0.0 && kappa.is_finite() => Ok(*kappa),
            Information::Scalar(kappa) => Err(Error::input(
                format!("information added to {who}"),
                "a finite κ of at least zero",
                kappa.to_string(),
                "use 0 for the prior itself",
            )),
            Information::Blocks(blocks) => Err(Error::input(
                format!("information added to {who}"),
                "one κ for all latents",
                format!("{} blocks", blocks.len()),
                "pass Information::Scalar; only groups take blocks",
            )),
        }
    }
}

/// A square-root factor T of V = (Σ(w)⁻¹ + K)⁻¹ at one w, with derivatives in w.
///
/// `set` must be called before anything else and again whenever w changes. No method but `set` may
/// depend on anything that happened before the last `set`. Vectors have `dim` entries and gradients `parameters`;
/// what was in an output before does not matter.
pub trait Factor: Send {
    /// Number of latents.
    fn dim(&self) -> usize;

    /// Number of working hyperparameters.
    fn parameters(&self) -> usize;

    /// Moves to w. False if V is not finite and positive definite there: the proposal is then rejected.
    fn set(&mut self, w: &[f64]) -> bool;

    /// log|V|.
    fn log_det(&self) -> f64;

    /// Writes ∂ log|V| / ∂w.
    fn log_det_gradient(&self, out: &mut [f64]);

    /// out = T z.
    fn apply(&mut self, z: &[f64], out: &mut [f64]);

    /// out = T' y.
    fn apply_transposed(&mut self, y: &[f64], out: &mut [f64]);

    /// out = T⁻¹ u.
    fn solve(&mut self, u: &[f64], out: &mut [f64]);

    /// out = T⁻ᵀ r.
    fn solve_transposed(&mut self, r: &[f64], out: &mut [f64]);

    /// out_k = a' (∂T/∂w_k) z for every hyperparameter k.
    fn sensitivity(&mut self, a: &[f64], z: &[f64], out: &mut [f64]);

    /// out = K v for the information K (at the current w: an approximate K may depend on it).
    fn information(&self, v: &[f64], out: &mut [f64]);
}

/// How the structure's basis relates to the observed sites.
///
/// Latents are the sites' own values, or Fourier coefficients on a torus of which the sites are a window.
#[derive(Clone, Debug)]
pub struct Basis {
    transform: Option<Box<Transform>>,
}

impl Basis {
    /// Basis vector → values at the sites.
    pub fn write_field(&mut self, basis: &[f64], field: &mut [f64]) {
        match &mut self.transform {
            None => field.copy_from_slice(basis),
            Some(transform) => transform.write_field(basis, field),
        }
    }

    /// The adjoint: values at the sites, zero elsewhere → basis vector.
    pub fn write_basis(&mut self, field: &[f64], basis: &mut [f64]) {
        match &mut self.transform {
            None => basis.copy_from_slice(field),
            Some(transform) => transform.write_basis(field, basis),
        }
    }
}

/// The closed set of structures. Adding one touches every device, and the compiler lists where.
#[derive(Clone, Debug)]
pub enum Structure {
    /// A stationary field on a grid, in a torus.
    Spectral(Spectral),
    /// First-order autoregression on a line.
    Ar1(Ar1),
    /// Independent groups of exchangeable coefficients.
    Groups(Groups),
    /// Any covariance, by dense algebra: the reference for the others.
    Dense(Dense),
}

impl Structure {
    /// Number of latents.
    pub fn dim(&self) -> usize {
        match self {
            Structure::Spectral(s) => s.torus().dim(),
            Structure::Ar1(s) => s.dim(),
            Structure::Groups(s) => s.dim(),
            Structure::Dense(s) => s.dim(),
        }
    }

    /// Number of working hyperparameters.
    pub fn parameters(&self) -> usize {
        match self {
            Structure::Spectral(_) | Structure::Ar1(_) => 2,
            Structure::Groups(_) => 1,
            Structure::Dense(s) => s.parameters(),
        }
    }

    /// The factor of (Σ⁻¹ + K)⁻¹; an error if this structure has no such K.
    pub fn factor(&self, information: &Information) -> Result<Box<dyn Factor>> {
        Ok(match self {
            Structure::Spectral(s) => Box::new(s.factor(information)?),
            Structure::Ar1(s) => Box::new(s.factor(information)?),
            Structure::Groups(s) => s.factor(information)?,
            Structure::Dense(s) => Box::new(s.factor(information)?),
        })
    }

    /// Number of observed sites.
    pub fn sites(&self) -> usize {
        match self {
            Structure::Spectral(s) => s.torus().sites(),
            other => other.dim(),
        }
    }

    /// The way between basis and sites.
    pub fn basis(&self) -> Basis {
        let transform = match self {
            Structure::Spectral(s) => Some(Box::new(Transform::new(s.torus()))),
            _ => None,
        };
        Basis { transform }
    }

    /// The latents that are one everywhere, in the structure's basis.
    pub fn constant(&self) -> Vec<f64> {
        match self {
            Structure::Spectral(s) => {
                let mut basis = vec![0.0; s.torus().dim()];
                basis[0] = (s.torus().dim() as f64).sqrt();
                basis
            }
            other => vec![1.0; other.dim()],
        }
    }
}
