//! Puts potential and kinetic energy together: the semi-separable Hamiltonian.
//!
//!   H(z, r, φ, p) = U(z, φ) + ½ r'M_z(φ)⁻¹r + ½ log|M_z(φ)| + ½ p'C p
//!
//! with z the latents in chosen coordinates, φ the hyperparameters, M_z the latents' mass (a function of φ only) and C the
//! inverse of the hyperparameters' constant mass. **M is a mass**: r ~ N(0, M).

mod mass;
mod target;
mod tilt;

pub use mass::{LatentMass, MassKind};
pub use target::Target;
pub(crate) use target::{Derivatives, add_mean, chain_rule};
pub use tilt::Tilt;
