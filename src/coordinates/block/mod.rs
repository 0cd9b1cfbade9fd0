//! Gives every mode of a field coordinates that follow the hyperparameters, where data say more than the prior does.
//!
//! Latents u are Fourier modes with prior standard deviations s_k(w), and the mean of the field has coefficients c. What the data say
//! about smooth modes differs from mode to mode, couples them (through a mask, an uneven intensity), and changes with the
//! hyperparameters; no single κ describes it. With û(w) the standardised hyperparameters (see [`Shape`]) and T(û) their monomials,
//!
//! - the *block*, the m smoothest modes:  u = U(û)(d(û) ∘ z) + K(û)(c − c̄(û)) + p(û), U unit upper triangular;
//! - the *band*, the next ones:           u = s ∘ (z + Q((d(û) − 1) ∘ Q'z − t) + v(û)), t following the block and c;
//! - all others:                          u = s ∘ (z + v(û)).
//!
//! U, K, log κ, p, c̄ and v are polynomials in û, with d = (s⁻² + κ)^(−½), fitted to Gaussian approximations of the posterior at a few places (see
//! [`learn`](super::learn)); the coefficients of the mean are themselves c = c̄(û) + R(û)(d_c(û) ∘ ζ), so that the sampler's
//! hyperparameters are (log σ + a(log ℓ), range, ζ). All of it is a change of variables: whatever was fitted, the posterior is
//! the same, and what fits well is fast.

mod band;
mod chart;
mod rows;
mod shape;
mod spline;
mod triangle;

pub(crate) use band::Band;
pub(super) use chart::BlockChart;
pub(crate) use shape::{LINEAR, QUADRATIC, Shape, terms};
pub(crate) use spline::Spline;
pub(crate) use triangle::Triangle;

use crate::prior::Hyperparameters;
use serde::{Deserialize, Serialize};

/// Coordinates of a field on a grid that follow its hyperparameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    pub(crate) shape: Shape,
    /// Whether the sampler moves η instead of the range's own coordinate; not where a prior bounds it.
    pub(crate) unbounded: bool,
    /// The block's modes, as places in a vector of latents.
    pub(crate) modes: Vec<u32>,
    /// U.
    pub(crate) triangle: Triangle,
    /// K: for each coefficient of the mean six terms, one after the other, of each mode. Data often determine the sum of a coefficient and of the
    /// modes that are like its column far better than either, so that these must follow closely.
    pub(crate) couplings: Vec<Vec<f64>>,
    /// log κ, and p, of each mode: six terms, one after the other.
    pub(crate) log_information: Vec<f64>,
    pub(crate) means: Vec<f64>,
    pub(crate) coefficients: Coefficients,
    /// v of every latent, zero in the block: three terms.
    pub(crate) drift: [Vec<f32>; LINEAR],
    pub(crate) band: Option<Band>,
}

/// How the coefficients of the mean follow: c = c̄(û) + R(û)(d_c(û) ∘ ζ).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Coefficients {
    /// Which hyperparameter each is, and what its working value is multiplied by.
    pub(crate) hyperparameters: Vec<(usize, f64)>,
    /// Whether the sampler moves ζ; otherwise, where a prior has bounds, the hyperparameters themselves.
    pub(crate) followed: bool,
    pub(crate) means: Vec<[f64; QUADRATIC]>,
    pub(crate) log_scales: Vec<[f64; QUADRATIC]>,
    /// R right of its diagonal, row after row.
    pub(crate) links: Vec<[f64; LINEAR]>,
}

impl Coefficients {
    pub(crate) fn len(&self) -> usize {
        self.means.len()
    }

    /// c̄ at these terms.
    pub(crate) fn mean(&self, k: usize, terms: &[f64; QUADRATIC]) -> f64 {
        polynomial(&self.means[k], terms)
    }

    fn scale(&self, k: usize, terms: &[f64; QUADRATIC]) -> f64 {
        polynomial(&self.log_scales[k], terms).exp()
    }

    /// The links of row k with the columns after it.
    fn links(&self, k: usize) -> &[[f64; LINEAR]] {
        let n = self.len();
        let start = k * (2 * n - k - 1) / 2;
        &self.links[start..start + n - 1 - k]
    }
}

fn polynomial<const K: usize>(coefficients: &[f64; K], terms: &[f64; QUADRATIC]) -> f64 {
    coefficients.iter().zip(terms).map(|(c, t)| c * t).sum()
}

/// Adds a factor times a polynomial's coefficients to derivatives in its terms.
fn add(factor: f64, coefficients: &[f64], by_terms: &mut [f64; QUADRATIC]) {
    by_terms.iter_mut().zip(coefficients).for_each(|(by, c)| *by += factor * c);
}

impl Block {
    /// Latents in the block.
    pub fn size(&self) -> usize {
        self.modes.len()
    }

    /// Directions of the band.
    pub fn directions(&self) -> usize {
        self.band.as_ref().map_or(0, |band| band.count)
    }

    /// The sampler's φ₀ is the model's plus this, a function of its φ₁; and the slope of that in φ₁.
    fn shear(&self, all: &Hyperparameters, phi: &[f64]) -> (f64, f64) {
        let (w, dw) = all[1].working(phi[1]);
        let (a, slope) = self.shape.level.at(w);
        (a, slope * dw)
    }

    /// w of the field's own two hyperparameters.
    fn working(all: &Hyperparameters, phi: &[f64]) -> ([f64; 2], [f64; 2]) {
        let ((w0, dw0), (w1, dw1)) = (all[0].working(phi[0]), all[1].working(phi[1]));
        ([w0, w1], [dw0, dw1])
    }

    /// Writes the model's φ at the sampler's, and returns the log determinant of that map.
    pub(crate) fn hyperparameters(
        &self,
        all: &Hyperparameters,
        sampled: &[f64],
        phi: &mut [f64],
    ) -> f64 {
        phi.copy_from_slice(sampled);
        let mut volume = 0.0;
        if self.unbounded {
            phi[1] = self.shape.bounded(sampled[1]);
            volume += self.shape.log_slope(sampled[1]).0;
        }
        phi[0] -= self.shear(all, phi).0;
        let own = &self.coefficients;
        if !own.followed {
            return volume;
        }
        let terms = self.shape.place(&Self::working(all, phi).0).terms();
        for k in 0..own.len() {
            let (hyperparameter, factor) = own.hyperparameters[k];
            let mut c = own.mean(k, &terms) + own.scale(k, &terms) * sampled[hyperparameter];
            for (link, other) in own.links(k).iter().zip(k + 1..) {
                let reach = own.scale(other, &terms) * sampled[own.hyperparameters[other].0];
                c += polynomial(link, &terms) * reach;
            }
            phi[hyperparameter] = c / factor;
            volume += polynomial(&own.log_scales[k], &terms) - factor.abs().ln();
        }
        volume
    }

    /// Writes the sampler's φ at the model's.
    pub(crate) fn sampled(&self, all: &Hyperparameters, phi: &[f64], sampled: &mut [f64]) {
        sampled.copy_from_slice(phi);
        sampled[0] += self.shear(all, phi).0;
        if self.unbounded {
            sampled[1] = self.shape.unbounded(phi[1]).0;
        }
        let own = &self.coefficients;
        if !own.followed {
            return;
        }
        let terms = self.shape.place(&Self::working(all, phi).0).terms();
        for k in (0..own.len()).rev() {
            let (hyperparameter, factor) = own.hyperparameters[k];
            let mut rest = factor * phi[hyperparameter] - own.mean(k, &terms);
            for (link, other) in own.links(k).iter().zip(k + 1..) {
                let reach = own.scale(other, &terms) * sampled[own.hyperparameters[other].0];
                rest -= polynomial(link, &terms) * reach;
            }
            sampled[hyperparameter] = rest / own.scale(k, &terms);
        }
    }

    /// Turns ∂U/∂φ of the model into the gradient in the sampler's φ of U less the log determinant of the map.
    pub(crate) fn pull_back(
        &self,
        all: &Hyperparameters,
        sampled: &[f64],
        phi: &[f64],
        by_phi: &mut [f64],
    ) {
        let own = &self.coefficients;
        if own.followed {
            let (w, dw) = Self::working(all, phi);
            let place = self.shape.place(&w);
            let terms = place.terms();
            let mut by_terms = [0.0; QUADRATIC];
            // From the last, because the gradient in c of those before is still needed.
            for k in (0..own.len()).rev() {
                let by_c = |k: usize| by_phi[own.hyperparameters[k].0] / own.hyperparameters[k].1;
                let scale = own.scale(k, &terms);
                let reach = scale * sampled[own.hyperparameters[k].0];
                let mut by_reach = by_c(k);
                for row in 0..k {
                    let link = &own.links(row)[k - row - 1];
                    by_reach += by_c(row) * polynomial(link, &terms);
                    add(by_c(row) * reach, link, &mut by_terms);
                }
                add(by_c(k), &own.means[k], &mut by_terms);
                add(by_reach * reach - 1.0, &own.log_scales[k], &mut by_terms);
                by_phi[own.hyperparameters[k].0] = by_reach * scale;
            }
            let mut by_w = [0.0; 2];
            place.pull_back(&by_terms, 0.0, &mut by_w);
            by_phi[0] += by_w[0] * dw[0];
            by_phi[1] += by_w[1] * dw[1];
        }
        by_phi[1] -= by_phi[0] * self.shear(all, phi).1;
        if self.unbounded {
            let (log_slope, bend) = self.shape.log_slope(sampled[1]);
            by_phi[1] = by_phi[1] * log_slope.exp() - bend;
        }
    }
}
