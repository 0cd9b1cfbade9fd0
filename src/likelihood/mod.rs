//! Says how likely the data are given the latent values at the observed sites.

mod bernoulli;
mod counts;
mod gaussian;
mod learnt_noise;
mod negative_binomial;
mod nothing;
mod poisson;
mod stochvol;

pub use bernoulli::BernoulliLogit;
pub use counts::CountLikelihood;
pub use gaussian::GaussianNoise;
pub use learnt_noise::LearntNoise;
pub use negative_binomial::NegativeBinomialLog;
pub use nothing::Nothing;
pub use poisson::PoissonLog;
pub use stochvol::StochasticVolatility;

use crate::error::{Error, Result};
use crate::numeric::{exp, vectorised};
use nalgebra::DMatrix;
use std::fmt::Debug;
use std::sync::Arc;

/// What an approximation of a likelihood's curvature can be: κ I, or a block per group.
#[derive(Clone, Debug)]
pub enum Curvature {
    /// Minus the second derivative at each site.
    Sites(Vec<f64>),
    /// Minus the Hessian of each group's coefficients.
    Blocks(Vec<DMatrix<f64>>),
}

/// A likelihood as a GPU computes it, for sites that depend on their own predictor value only.
#[derive(Clone, Debug)]
pub struct SiteTwin {
    /// WGSL of `fn site(datum: vec2f, eta: vec2f) -> vec3f`. Numbers whose sum over all sites matters are two floats, high and low: the
    /// predictor, and −log p, which is the result's first two; its third is the derivative. `join`, `multiply` and
    /// `exponential_pair` compute with such pairs; `exponential` and `logarithm` are good to the last digit of one float, where
    /// the built-in functions are not.
    ///
    /// A likelihood with hyperparameters of its own finds their working values, as two floats, in `own[0]` and so on, and leaves the
    /// derivatives of its value in them in `by_own[0]` and so on; what does not depend on the predictor is [`Likelihood::aside`].
    /// `divide`, `logarithm_pair` and `logarithm_1p_pair` help with them.
    pub wgsl: std::borrow::Cow<'static, str>,
    /// Two numbers for each site.
    pub data: Vec<[f32; 2]>,
}

/// −log p(y | η) for the predictor η at the sites (field plus mean), its gradient and its curvature.
///
/// The models shipped use the ones of this module; a user's own likelihood implements this trait.
pub trait Likelihood: Debug + Send + Sync {
    /// Number of predictor values it reads.
    fn sites(&self) -> usize;

    /// Number of hyperparameters of its own, such as a dispersion or the scale of noise. In a model they come right after the
    /// structure's.
    fn parameters(&self) -> usize {
        0
    }

    /// Returns −log p(y | η) at the working values `own` of its hyperparameters, and writes the gradients in both. What it leaves out
    /// depends on neither. Overflow gives infinity or NaN, not a panic.
    fn evaluate(&self, eta: &[f64], own: &[f64], by_eta: &mut [f64], by_own: &mut [f64]) -> f64;

    /// Minus the Hessian of log p in η (its expectation over y where that is simpler): what coordinates learn from.
    fn curvature(&self, eta: &[f64], own: &[f64]) -> Curvature;

    /// The part of −log p that does not depend on η, and its gradient in `own`: what a twin leaves to the host, which adds it up in
    /// f64. [`Self::evaluate`] has it in it.
    fn aside(&self, _own: &[f64], by_own: &mut [f64]) -> f64 {
        by_own.fill(0.0);
        0.0
    }

    /// The same on a GPU; none if there is no such thing, and the model then runs on the CPU only.
    fn twin(&self) -> Option<SiteTwin> {
        None
    }

    /// Writes the gradient in η of Σ_g tr(W_g C_g(η)), C_g being the blocks of [`Self::curvature`]: what a metric made of them
    /// needs. False if it is not offered, as by likelihoods whose curvature is not in blocks.
    fn curvature_gradient(
        &self,
        _eta: &[f64],
        _own: &[f64],
        _weights: &[DMatrix<f64>],
        _out: &mut [f64],
    ) -> bool {
        false
    }

    /// The likelihood of one group's predictor values alone; none if the curvature is not in blocks.
    fn part(&self, _group: usize) -> Option<Arc<dyn Likelihood>> {
        None
    }

    /// Predictor values from which a sampler may sensibly start, if zero would not do.
    fn start(&self) -> Option<Vec<f64>> {
        None
    }
}

/// out = exp(sign·x): the one place where the likelihoods spend their time.
fn exponentials(sign: f64, x: &[f64], out: &mut [f64]) {
    vectorised(
        #[inline(always)]
        || out.iter_mut().zip(x).for_each(|(out, x)| *out = exp(sign * x)),
    );
}

/// Names the first value that is not what it should be, if there is one.
fn check(
    name: &str,
    values: &[f64],
    expected: &str,
    remedy: &str,
    good: impl Fn(f64) -> bool,
) -> Result<()> {
    match values.iter().position(|&value| !good(value)) {
        None => Ok(()),
        Some(i) => {
            Err(Error::input(format!("{name} {i}"), expected, format!("{:?}", values[i]), remedy))
        }
    }
}

/// Compares the lengths of two inputs that belong together.
fn check_length(name: &str, got: usize, want: usize, of: &str) -> Result<()> {
    if got == want {
        return Ok(());
    }
    Err(Error::input(
        name,
        format!("{want} values, one for each {of}"),
        got.to_string(),
        "check how the data were read",
    ))
}
