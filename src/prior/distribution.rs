//! Names the distributions a user can choose and says what each one means.
//!
//! Densities are normalised, apart from the improper `FlatLog`. Penalised-complexity priors follow Simpson et al. (2017)
//! for σ and Fuglstad et al. (2019) for the range of a field in the plane.

use std::fmt;

use rand::Rng;

use super::kernel::{Coordinate, Kernel};
use crate::error::{Error, Result};

/// Parameters beyond these sizes could overflow on the way to a density, and nobody measures in such units.
const SIZES: std::ops::RangeInclusive<f64> = 1e-100..=1e100;

/// A law with a larger shape is a fixed value; summing its tails would take for ever.
const LARGEST_SHAPE: f64 = 1e8;

/// A distribution of a real value a, with the parameters a user types.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the fields are the parameters named in each variant's formula")]
pub enum Distribution {
    /// N(mean, sd²).
    Normal { mean: f64, sd: f64 },
    /// |N(0, scale²)|.
    HalfNormal { scale: f64 },
    /// ∝ 1 / (1 + ((a − location)/scale)²).
    Cauchy { location: f64, scale: f64 },
    /// A Cauchy around 0, positive part.
    HalfCauchy { scale: f64 },
    /// log a ~ N(m, s²).
    LogNormal { m: f64, s: f64 },
    /// ∝ a^{shape−1} e^{−rate·a}.
    Gamma { shape: f64, rate: f64 },
    /// ∝ a^{−shape−1} e^{−scale/a}.
    InvGamma { shape: f64, scale: f64 },
    /// ∝ e^{−rate·a}.
    Exponential { rate: f64 },
    /// ∝ x^{a−1} (1−x)^{b−1} on (0, 1).
    Beta { a: f64, b: f64 },
    /// ∝ x^{−ν/2−1} e^{−ν·s2/(2x)}.
    ScaledInvChi2 { nu: f64, s2: f64 },
    /// Constant between the bounds, which are kept for good.
    Uniform { lower: f64, upper: f64 },
    /// Improper, density 1/a: every factor of e is equally likely.
    FlatLog,
    /// Penalised complexity for a standard deviation: exponential with P(σ > s0) = p.
    PcSigma { s0: f64, p: f64 },
    /// Penalised complexity for a range in the plane: density λ r⁻² e^{−λ/r} with P(range < r0) = p.
    PcRange { r0: f64, p: f64 },
}

impl Distribution {
    /// The word a user types.
    pub fn name(&self) -> &'static str {
        match self {
            Distribution::Normal { .. } => "normal",
            Distribution::HalfNormal { .. } => "half-normal",
            Distribution::Cauchy { .. } => "cauchy",
            Distribution::HalfCauchy { .. } => "half-cauchy",
            Distribution::LogNormal { .. } => "lognormal",
            Distribution::Gamma { .. } => "gamma",
            Distribution::InvGamma { .. } => "inv-gamma",
            Distribution::Exponential { .. } => "exponential",
            Distribution::Beta { .. } => "beta",
            Distribution::ScaledInvChi2 { .. } => "scaled-inv-chi2",
            Distribution::Uniform { .. } => "uniform",
            Distribution::FlatLog => "flat-log",
            Distribution::PcSigma { .. } | Distribution::PcRange { .. } => "pc",
        }
    }

    /// The parameters in the order a user types them, each with its name and whether it must be positive.
    fn arguments(&self) -> Vec<(&'static str, f64, bool)> {
        match *self {
            Distribution::Normal { mean, sd } => vec![("mean", mean, false), ("sd", sd, true)],
            Distribution::HalfNormal { scale } | Distribution::HalfCauchy { scale } => {
                vec![("scale", scale, true)]
            }
            Distribution::Cauchy { location, scale } => {
                vec![("location", location, false), ("scale", scale, true)]
            }
            Distribution::LogNormal { m, s } => vec![("m", m, false), ("s", s, true)],
            Distribution::Gamma { shape, rate } => {
                vec![("shape", shape, true), ("rate", rate, true)]
            }
            Distribution::InvGamma { shape, scale } => {
                vec![("shape", shape, true), ("scale", scale, true)]
            }
            Distribution::Exponential { rate } => vec![("rate", rate, true)],
            Distribution::Beta { a, b } => vec![("a", a, true), ("b", b, true)],
            Distribution::ScaledInvChi2 { nu, s2 } => vec![("nu", nu, true), ("s2", s2, true)],
            Distribution::Uniform { lower, upper } => {
                vec![("lower", lower, false), ("upper", upper, false)]
            }
            Distribution::FlatLog => vec![],
            Distribution::PcSigma { s0, p } => vec![("s0", s0, true), ("p", p, true)],
            Distribution::PcRange { r0, p } => vec![("r0", r0, true), ("p", p, true)],
        }
    }

    /// Checks that every parameter lies in its domain; `place` opens the error message.
    pub fn check(&self, place: &str) -> Result<()> {
        for (name, value, positive) in self.arguments() {
            let largest = match name {
                "shape" | "nu" | "a" | "b" => LARGEST_SHAPE,
                // m is a logarithm: that of 1e100.
                "m" => 230.0,
                _ => *SIZES.end(),
            };
            let smallest = if positive { *SIZES.start() } else { 0.0 };
            let expected = if !value.is_finite() || (positive && value <= 0.0) {
                format!("a {} {name}", if positive { "positive finite" } else { "finite" })
            } else if value.abs() > largest || value.abs() < smallest {
                format!("a {name} of size {} to {}", number(smallest), number(largest))
            } else {
                continue;
            };
            let remedy = format!("give {} a usable {name}", self.name());
            return Err(Error::input(place, expected, number(value), remedy));
        }
        match *self {
            Distribution::Uniform { lower, upper } if lower >= upper => Err(Error::input(
                place,
                "lower < upper",
                format!("{} and {}", number(lower), number(upper)),
                "write uniform(lower,upper) with the smaller bound first",
            )),
            Distribution::PcSigma { p, .. } | Distribution::PcRange { p, .. } if p >= 1.0 => {
                let remedy = "write pc(value,p) with a tail probability such as 0.05";
                Err(Error::input(place, "p between 0 and 1", number(p), remedy))
            }
            _ => Ok(()),
        }
    }

    /// The law in the coordinate where it is computed.
    pub(super) fn kernel(&self) -> (Kernel, Coordinate) {
        let log = |kernel| (kernel, Coordinate::Log);
        match *self {
            Distribution::Normal { mean, sd } => {
                (Kernel::Normal { mean, sd }, Coordinate::Identity)
            }
            Distribution::Cauchy { location, scale } => {
                (Kernel::Cauchy { location, scale }, Coordinate::Identity)
            }
            Distribution::HalfNormal { scale } => log(Kernel::HalfNormal { scale }),
            Distribution::HalfCauchy { scale } => log(Kernel::HalfCauchy { scale }),
            Distribution::LogNormal { m, s } => log(Kernel::LogNormal { m, s }),
            Distribution::Gamma { shape, rate } => log(Kernel::Gamma { shape, rate }),
            Distribution::Exponential { rate } => log(Kernel::Gamma { shape: 1.0, rate }),
            Distribution::PcSigma { s0, p } => {
                log(Kernel::Gamma { shape: 1.0, rate: -p.ln() / s0 })
            }
            Distribution::InvGamma { shape, scale } => log(Kernel::InvGamma { shape, scale }),
            Distribution::ScaledInvChi2 { nu, s2 } => {
                log(Kernel::InvGamma { shape: 0.5 * nu, scale: 0.5 * nu * s2 })
            }
            Distribution::PcRange { r0, p } => {
                log(Kernel::InvGamma { shape: 1.0, scale: -p.ln() * r0 })
            }
            Distribution::FlatLog => log(Kernel::FlatLog),
            Distribution::Beta { a, b } => {
                (Kernel::Beta { a, b }, Coordinate::Logit { lower: 0.0, upper: 1.0 })
            }
            Distribution::Uniform { lower, upper } => {
                (Kernel::Beta { a: 1.0, b: 1.0 }, Coordinate::Logit { lower, upper })
            }
        }
    }

    /// The open interval on which the density is positive.
    pub fn support(&self) -> (f64, f64) {
        self.kernel().1.support()
    }

    /// Whether the density has a finite integral.
    pub fn is_proper(&self) -> bool {
        !matches!(self, Distribution::FlatLog)
    }

    /// The log density at a, normalised; −∞ outside the support.
    pub fn log_density(&self, a: f64) -> f64 {
        let (kernel, coordinate) = self.kernel();
        if !inside(a, coordinate.support()) {
            return f64::NEG_INFINITY;
        }
        kernel.log_density(coordinate.inverse(a)).0 - coordinate.slope(a).0.ln()
    }

    /// The derivative of [`log_density`](Self::log_density) in a; 0 outside the support.
    pub fn log_density_derivative(&self, a: f64) -> f64 {
        let (kernel, coordinate) = self.kernel();
        if !inside(a, coordinate.support()) {
            return 0.0;
        }
        let (slope, log_slope) = coordinate.slope(a);
        (kernel.log_density(coordinate.inverse(a)).1 - log_slope) / slope
    }

    /// The value that a draw stays below with probability p; nothing if improper or p is not between 0 and 1.
    pub fn quantile(&self, p: f64) -> Option<f64> {
        if !inside(p, (0.0, 1.0)) {
            return None;
        }
        let (kernel, coordinate) = self.kernel();
        Some(coordinate.value(kernel.quantile(p, 1.0 - p)?))
    }

    /// A draw; nothing if improper.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Option<f64> {
        let (kernel, coordinate) = self.kernel();
        Some(coordinate.value(kernel.sample(rng)?))
    }

    /// What this says about a quantity called `name`, in plain words.
    pub fn describe(&self, name: &str) -> String {
        self.describe_with(name, |p| self.quantile(p))
    }

    /// The same for a quantity whose quantiles are not this distribution's own, because it is truncated or transformed.
    pub(super) fn describe_with(
        &self,
        name: &str,
        quantile: impl Fn(f64) -> Option<f64>,
    ) -> String {
        match *self {
            Distribution::PcSigma { s0, p } => {
                format!("P({name} > {}) = {}", clean(s0), clean(p))
            }
            Distribution::PcRange { r0, p } => {
                format!("P({name} < {}) = {}", clean(r0), clean(p))
            }
            Distribution::Uniform { lower, upper } => {
                format!("between {} and {}, all equally likely", clean(lower), clean(upper))
            }
            _ => match (quantile(0.025), quantile(0.5), quantile(0.975)) {
                (Some(low), Some(median), Some(high)) => {
                    // A median of zero comes out of the inversion as a speck beside the spread.
                    let speck = 1e-12 * (high - low);
                    let median = if median.abs() < speck { 0.0 } else { median };
                    let (low, median, high) = (rounded(low), rounded(median), rounded(high));
                    format!("median {median}, 95 % between {low} and {high}")
                }
                _ => "improper: every order of magnitude equally likely".to_string(),
            },
        }
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        let arguments: Vec<String> =
            self.arguments().iter().map(|argument| number(argument.1)).collect();
        if arguments.is_empty() { Ok(()) } else { write!(f, "({})", arguments.join(",")) }
    }
}

fn inside(a: f64, (lower, upper): (f64, f64)) -> bool {
    a > lower && a < upper
}

/// A number as short as it can be without losing a bit.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() || (1e-5..1e7).contains(&size) {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

/// A number to six digits, for reading: without the specks that arithmetic leaves.
fn clean(value: f64) -> String {
    format!("{value:.5e}").parse().map_or_else(|_| format!("{value}"), number)
}

/// A number to three digits, for reading.
fn rounded(value: f64) -> String {
    format!("{value:.2e}").parse().map_or_else(|_| format!("{value}"), number)
}

#[cfg(test)]
#[path = "distribution_tests.rs"]
mod tests;
