//! Samples large latent Gaussian fields with unknown hyperparameters by semi-separable Hamiltonian Monte Carlo.
//!
#![doc = include_str!("../README.md")]
//!
//! # Names
//!
//! | name | means |
//! |---|---|
//! | θ, x | latents as the paper and the models write them; x = mean + u |
//! | u | latents without their mean, u ~ N(0, Σ(w)) |
//! | η | predictor at the observed sites, what the likelihood sees: η = offset + Σⱼ cⱼ Zⱼ + u |
//! | cⱼ, Zⱼ | coefficient (a hyperparameter times a constant) and column of the mean |
//! | φ | hyperparameters, unconstrained; in block coordinates the sampler moves others in their place, `sampled`; also the coefficient of an AR(1) process, named `phi` |
//! | w | working values of the hyperparameters (log σ, log range, atanh φ); equal to φ unless the prior has bounds |
//! | ψ | φ standardised by its metric, φ = centre + Lψ |
//! | Σ, S | prior covariance of u, and its eigenvalues on a torus at σ = 1 |
//! | σ, ℓ, μ | standard deviation, range (map units) and mean of a field |
//! | K, κ | information added to the prior precision; κ if it is K = κI |
//! | V, T | V = (Σ⁻¹ + K)⁻¹ = T T' |
//! | q, s | shift of informed coordinates; s = q − K·mean |
//! | z | latents in the coordinates that are sampled: u = V s + T z, or u = z when centred |
//! | r, p | momenta of z and of ψ |
//! | M | mass of z, a function of φ alone |
//! | U, H | −log posterior of (z, φ) with the Jacobian; U plus kinetic energies |
//! | g | −∇ log p(y given η) at the sites |
//! | ε, k₁, k₂ | step size, and the inner steps of each block of ABLA |
//!
//! # Conventions
//!
//! - **M is a mass**: r ~ N(0, M) and the kinetic energy is ½r'M⁻¹r + ½log|M|. In centred coordinates the paper's choice is the
//!   prior precision, M = Σ(φ)⁻¹.
//! - **The Fourier basis is orthonormal** and real: X_k = n^{−½} Σ x_j e^{−2πi k·j/P}, with real and imaginary parts that stand
//!   for two frequencies times √2. White noise stays white noise; inner products keep their value.
//! - **Memory order is row-major**: cell (i, j) of a grid is entry i × columns + j, indices from 0; chain b's hyperparameters
//!   are entries b·m to (b+1)·m; coefficients come group after group.
//! - Lengths are in map units: those of the points' coordinates; the longer side of a grid that comes from counts is 1.
//!   Intensities are per unit of map area and exposure.
//! - Likelihoods return −log p up to a constant; potentials are minimised, and gradients are of the potential.
//! - A divergence is data about a chain, counted and reported; an [`Error`] ends the run.
//!
//! # Modules
//!
//! Each looks only at those before it, apart from [`error`], [`numeric`] and [`random`], which all may use.
//!
//! | module | holds |
//! |---|---|
//! | [`data`] | what is observed, checked once on entry; readers and writers |
//! | [`spatial`] | pair correlation and clustering scale of point patterns |
//! | [`prior`] | hyperparameters: names, scales, priors |
//! | [`structure`] | Σ(w): grid in a torus, AR(1), groups, dense |
//! | [`likelihood`] | −log p(y given η), gradient, curvature |
//! | [`model`] | the above put together, one file a model |
//! | [`coordinates`] | centred, whitened, informed, block-informed; how the last are learnt |
//! | [`hamiltonian`] | potential and masses |
//! | [`device`] | where latents live and are computed, behind one trait |
//! | [`integrate`] | joint leapfrog, ABLA, generalized leapfrog |
//! | [`baseline`] | transitions of other methods, to compare with |
//! | [`draws`] | what chains record |
//! | [`archive`] | draws on disk, in ArviZ's layout |
//! | [`diagnose`] | R-hat, effective sample sizes, Monte Carlo errors |
//! | [`sample`] | transitions, warm-up, chains: [`sample::run`] |
//! | [`checkpoint`] | states of chains in files, from which a run is resumed |
//! | [`report`] | summaries, tables, pictures |
//! | [`simulate`] | data at known truths |
//! | [`check`] | tests of the sampler's distribution and of devices, that users can run |

pub mod archive;
pub mod baseline;
pub mod check;
pub mod checkpoint;
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
mod shared;
pub mod simulate;
pub mod spatial;
pub mod structure;

pub use error::{DeviceError, Error, Result};
