//! Tells how far draws of Markov chains can be trusted: R̂, effective sizes and Monte Carlo errors.
//!
//! Definitions are those of Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), "Rank-
//! normalization, folding, and localization: an improved R̂ for assessing convergence of MCMC",
//! Bayesian Analysis 16, 667-718, and figures agree with the Python package ArviZ to rounding.
//!
//! Conventions:
//! - `draws` is one slice per chain, all equally long, warm-up already removed.
//! - Chains are split into halves; of an odd number of draws the middle one belongs to neither.
//! - What cannot be computed is NaN, and nothing panics: fewer than four draws per chain, chains
//!   of unequal length, no chain, a draw that is not finite, draws that are all equal. Only
//!   [`quantile`] and the moments of [`summarise`] answer for equal draws.
//! - [`rhat`] of a single chain is NaN, as in ArviZ; [`split_rhat_plain`] compares its halves.
//! - [`mcse_sd`] uses the effective size of the squared deviations, as the R package posterior
//!   and ArviZ do; arviz-stats 0.8.0 used that of the draws, which its issue 428 calls a mistake.
//!
//! Each function below makes a [`Diagnoser`] for one use. For many series keep one, or call
//! [`ess_bulk_many`].
//!
//! ```
//! let chains: Vec<Vec<f64>> =
//!     (1..5).map(|c| (0..100).map(|i| f64::from(i * i * c % 101)).collect()).collect();
//! let draws: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
//! let summary = sshmc::diagnose::summarise(&draws);
//! assert!(summary.ess_bulk > 100.0 && summary.mcse_mean < summary.sd);
//! ```

mod autocovariance;
mod beta;
mod energy;
mod ess;
mod many;
mod moments;
mod normal;
mod quantile;
mod rank;
mod reliability;
mod rhat;
mod student;
mod summary;
mod workspace;

pub(crate) use beta::{deviance, stirling_error};
pub use energy::ebfmi;
pub use many::ess_bulk_many;
pub use normal::normal_quantile;
pub(crate) use quantile::quantile_of_sorted;
pub use reliability::Reliability;
pub use rhat::split_rhat_plain;
pub use student::student_quantile;
pub use summary::{ParameterSummary, summarise};
pub use workspace::Diagnoser;

/// The larger of rank-normalised split R̂ of the draws and of the draws folded at their median.
///
/// Below 1.01 is good. The fold shows chains that agree in place but not in scale.
pub fn rhat(draws: &[&[f64]]) -> f64 {
    Diagnoser::new().rhat(draws)
}

/// Effective sample size for the centre of the distribution, from rank-normalised half-chains.
pub fn ess_bulk(draws: &[&[f64]]) -> f64 {
    Diagnoser::new().ess_bulk(draws)
}

/// Effective sample size for the tails: the smaller of those for the 5 % and 95 % quantiles.
pub fn ess_tail(draws: &[&[f64]]) -> f64 {
    Diagnoser::new().ess_tail(draws)
}

/// Effective sample size for the mean; means nothing where the variance is infinite.
pub fn ess_mean(draws: &[&[f64]]) -> f64 {
    Diagnoser::new().ess_mean(draws)
}

/// Monte Carlo standard error of the mean.
pub fn mcse_mean(draws: &[&[f64]]) -> f64 {
    Diagnoser::new().mcse_mean(draws)
}

/// Monte Carlo standard error of the standard deviation, without assuming normality.
pub fn mcse_sd(draws: &[&[f64]]) -> f64 {
    Diagnoser::new().mcse_sd(draws)
}

/// Monte Carlo standard error of the quantile at `p`; NaN for `p` outside [0, 1].
pub fn mcse_quantile(draws: &[&[f64]], p: f64) -> f64 {
    Diagnoser::new().mcse_quantile(draws, p)
}

/// The quantile at `p` of all draws together, interpolated as numpy does by default.
pub fn quantile(draws: &[&[f64]], p: f64) -> f64 {
    Diagnoser::new().quantile(draws, p)
}

/// Effective sample size of one chain by Geyer's initial monotone sequence, neither split nor
/// bounded. NaN where the variance estimate is not positive, as in strongly antithetic chains.
pub fn geyer_ess(chain: &[f64]) -> f64 {
    Diagnoser::new().geyer_ess(chain)
}
