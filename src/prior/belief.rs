//! Joins a distribution to the scale it is about and carries it over to the coordinate φ_k the sampler moves.
//!
//! With a = scale(w) the log density of w is log p(a(w)) + log|da/dw| − log P(scale's interval). It takes three forms:
//! *natural* if the law's own coordinate is a multiple of w (lognormal on σ), so that the Jacobian is a constant;
//! *truncated* if a law on the whole line is put on a constrained scale (normal on φ) and renormalised there; *bounded*
//! if it is uniform: then φ_k = logit((a − lower)/(upper − lower)) has the logistic density, whatever the scale.

use rand::Rng;
use rand_distr::{Distribution as _, Open01};

use super::distribution::{Distribution, number};
use super::kernel::Coordinate;
use super::scale::Scale;
use crate::error::{Error, Result};

/// How far inside its bounds a value outside them is put: a thousandth of their width, or logit 0.001 in φ_k.
const INSIDE: f64 = 6.906_754_778_648_554;

/// The least share of a difference of tails that still has six good digits.
const CANCELLED: f64 = 1e-9;

/// A checked prior: a distribution on a named scale of a hyperparameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Belief {
    scale_name: String,
    scale: Scale,
    distribution: Distribution,
    form: Form,
}

/// How the density of the distribution becomes one of φ_k.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// The distribution's own coordinate is factor · w.
    Natural { factor: f64 },
    /// Only the part inside the scale's interval counts: what lies below it, above it, and in it.
    Truncated { below: f64, above: f64, mass: f64 },
    /// φ_k is the distribution's own coordinate.
    Bounded { lower: f64, upper: f64 },
}

impl Belief {
    /// Puts the distribution on the scale, if they fit. A beta distribution on [`Scale::Tanh`] is one of (a + 1)/2.
    pub fn new(scale_name: &str, scale: Scale, distribution: Distribution) -> Result<Self> {
        let place = format!("prior {scale_name}={distribution}");
        distribution.check(&place)?;
        let prior = Self::assumed(scale_name, scale, distribution);
        match prior.form_if_it_fits() {
            None => Err(prior.misfit(&place)),
            Some(Form::Truncated { mass, .. }) if mass < f64::MIN_POSITIVE => Err(Error::input(
                place,
                format!("some probability on {}", interval(prior.scale.interval())),
                "next to none",
                "move the centre towards that interval and make the width comparable with it",
            )),
            Some(form) => Ok(Belief { form, ..prior }),
        }
    }

    /// A prior the crate itself names, known to fit.
    pub(super) fn assumed(scale_name: &str, scale: Scale, distribution: Distribution) -> Self {
        let scale = match (scale, distribution) {
            (Scale::Tanh, Distribution::Beta { .. }) => Scale::HalfTanh,
            _ => scale,
        };
        let form = Form::Natural { factor: 1.0 };
        let prior = Belief { scale_name: scale_name.to_string(), scale, distribution, form };
        Belief { form: prior.form_if_it_fits().unwrap_or(form), ..prior }
    }

    fn form_if_it_fits(&self) -> Option<Form> {
        let (kernel, coordinate) = self.distribution.kernel();
        let (first, last) = self.scale.interval();
        match (self.distribution, coordinate, self.scale) {
            (Distribution::Uniform { lower, upper }, ..) => {
                (lower >= first && upper <= last).then_some(Form::Bounded { lower, upper })
            }
            (_, Coordinate::Identity, Scale::Linear(factor))
            | (_, Coordinate::Log, Scale::Exp(factor)) => Some(Form::Natural { factor }),
            (Distribution::Beta { .. }, _, Scale::HalfTanh) => Some(Form::Natural { factor: 2.0 }),
            (_, Coordinate::Identity, _) => {
                let (below, not_below) = kernel.tails(first)?;
                let (not_above, above) = kernel.tails(last)?;
                // The smaller of the two tails is the one that has kept its digits.
                let (whole, rest) =
                    if below < 0.5 { (not_above, below) } else { (not_below, above) };
                let mass = whole - rest;
                // A law far wider than the interval leaves a difference of rounding errors only.
                let mass = if mass < CANCELLED * whole { 0.0 } else { mass };
                Some(Form::Truncated { below, above, mass })
            }
            _ => None,
        }
    }

    fn misfit(&self, place: &str) -> Error {
        let allowed = self.scale.interval();
        let remedy = match (self.distribution, self.scale) {
            (Distribution::Uniform { .. }, _) => "choose bounds inside that interval",
            (_, Scale::Linear(_)) => {
                "use normal(mean,sd), cauchy(location,scale) or uniform(lower,upper)"
            }
            (_, Scale::Exp(_)) => {
                "use half-normal, half-cauchy, lognormal, gamma, inv-gamma, exponential, scaled-inv-chi2, \
                 flat-log, uniform, or a normal or cauchy cut off at 0"
            }
            (_, Scale::Tanh | Scale::HalfTanh) => {
                "use beta(a,b), uniform(lower,upper), or a normal or cauchy cut off at the ends"
            }
        };
        Error::input(
            place,
            format!("a distribution for {} on {}", self.scale_name, interval(allowed)),
            format!("{} on {}", self.distribution.name(), interval(self.distribution.support())),
            remedy,
        )
    }

    /// The name the prior was given under: the reported one or an alias.
    pub fn scale_name(&self) -> &str {
        &self.scale_name
    }

    /// The scale the distribution is about.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// The distribution on that scale.
    pub fn distribution(&self) -> &Distribution {
        &self.distribution
    }

    /// The bounds of a uniform prior, on the prior's own scale.
    pub fn bounds(&self) -> Option<(f64, f64)> {
        match self.form {
            Form::Bounded { lower, upper } => Some((lower, upper)),
            _ => None,
        }
    }

    /// The working value at φ_k and its derivative.
    pub fn working(&self, phi: f64) -> (f64, f64) {
        match self.form {
            Form::Bounded { lower, upper } => self.scale.between(lower, upper, phi),
            _ => (phi, 1.0),
        }
    }

    /// The φ_k of a working value; one outside the bounds is put a thousandth of their width inside.
    pub fn coordinate(&self, w: f64) -> f64 {
        let Form::Bounded { lower, upper } = self.form else { return w };
        let (low, high) = self.scale.gaps(w, lower, upper);
        if low <= 0.0 {
            -INSIDE
        } else if high <= 0.0 {
            INSIDE
        } else {
            low.ln() - high.ln()
        }
    }

    /// The log density of φ_k, every Jacobian included, and its derivative in φ_k.
    pub fn log_density(&self, phi: f64) -> (f64, f64) {
        let (kernel, _) = self.distribution.kernel();
        match self.form {
            Form::Bounded { .. } => kernel.log_density(phi),
            Form::Natural { factor } => {
                let (log_density, slope) = kernel.log_density(factor * phi);
                (log_density + factor.ln(), factor * slope)
            }
            Form::Truncated { mass, .. } => {
                let a = self.scale.value(phi);
                if a.is_infinite() {
                    // Beyond e^709 the value itself overflows; no density there, rather than a NaN, means rejection.
                    return (f64::NEG_INFINITY, 0.0);
                }
                let (log_density, slope) = kernel.log_density(a);
                (
                    log_density + self.scale.log_jacobian(phi) - mass.ln(),
                    slope * self.scale.derivative(phi) + self.scale.log_jacobian_derivative(phi),
                )
            }
        }
    }

    /// The φ_k that a draw from the prior stays below with probability p; nothing if improper or p is not in (0, 1).
    pub fn quantile(&self, p: f64) -> Option<f64> {
        if !(p > 0.0 && p < 1.0) {
            return None;
        }
        let (kernel, _) = self.distribution.kernel();
        match self.form {
            Form::Bounded { .. } => kernel.quantile(p, 1.0 - p),
            Form::Natural { factor } => Some(kernel.quantile(p, 1.0 - p)? / factor),
            Form::Truncated { below, above, mass } => {
                let a = kernel.quantile(below + p * mass, above + (1.0 - p) * mass)?;
                let (first, last) = self.scale.interval();
                // The last bit may fall on an end, where w is infinite.
                Some(self.scale.inverse(a.clamp(first.next_up(), last.next_down())))
            }
        }
    }

    /// A draw of φ_k; nothing if improper.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Option<f64> {
        let (kernel, _) = self.distribution.kernel();
        match self.form {
            Form::Bounded { .. } => kernel.sample(rng),
            Form::Natural { factor } => Some(kernel.sample(rng)? / factor),
            Form::Truncated { .. } => self.quantile(Open01.sample(rng)),
        }
    }
}

impl std::fmt::Display for Belief {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.scale_name, self.distribution)
    }
}

fn interval((lower, upper): (f64, f64)) -> String {
    format!("({}, {})", number(lower), number(upper))
}

#[cfg(test)]
#[path = "belief_tests.rs"]
mod tests;
