//! Evaluates, inverts and draws each law in the coordinate y where it is smooth and free: a itself, log a, or a logit.
//!
//! Working in y keeps all of it finite: Γ(0.001) puts half its mass below 10⁻³⁰⁰, which log a holds with ease. The
//! density of y, with s = sigmoid(y), is
//!
//! | law | y | log density of y, up to its constant |
//! |---|---|---|
//! | normal | a | −(y−m)²/2s² |
//! | Cauchy | a | −log(1 + ((y−l)/s)²) |
//! | half-normal | log a | y − e^{2y}/2s² |
//! | half-Cauchy | log a | −log cosh(y − log s) |
//! | lognormal | log a | −(y−m)²/2s² |
//! | gamma | log a | shape·y − rate·e^y |
//! | inverse gamma | log a | −shape·y − scale·e^{−y} |
//! | flat in log a | log a | 0 |
//! | beta, uniform | logit of the position | a·log s + b·log(1−s) |

use std::f64::consts::{FRAC_PI_2, LN_2, PI};

use rand::Rng;
use rand_distr::{Distribution as _, Gamma, Open01, StandardNormal};

use super::special::{
    beta_tails, gamma_tails, log_beta, log_gamma, log_sigmoid, normal_tails, sigmoid,
};

/// How a value a follows from the coordinate y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Coordinate {
    /// a = y.
    Identity,
    /// a = e^y.
    Log,
    /// a = lower + (upper − lower)·sigmoid(y).
    Logit { lower: f64, upper: f64 },
}

impl Coordinate {
    /// The open interval of values.
    pub(super) fn support(self) -> (f64, f64) {
        match self {
            Coordinate::Identity => (f64::NEG_INFINITY, f64::INFINITY),
            Coordinate::Log => (0.0, f64::INFINITY),
            Coordinate::Logit { lower, upper } => (lower, upper),
        }
    }

    pub(super) fn value(self, y: f64) -> f64 {
        match self {
            Coordinate::Identity => y,
            Coordinate::Log => y.exp(),
            Coordinate::Logit { lower, upper } => lower * sigmoid(-y) + upper * sigmoid(y),
        }
    }

    /// The y of a value inside the support.
    pub(super) fn inverse(self, a: f64) -> f64 {
        match self {
            Coordinate::Identity => a,
            Coordinate::Log => a.ln(),
            Coordinate::Logit { lower, upper } => (a - lower).ln() - (upper - a).ln(),
        }
    }

    /// da/dy, and the derivative of log(da/dy), at the value a.
    pub(super) fn slope(self, a: f64) -> (f64, f64) {
        match self {
            Coordinate::Identity => (1.0, 0.0),
            Coordinate::Log => (a, 1.0),
            Coordinate::Logit { lower, upper } => {
                let width = upper - lower;
                let (s, t) = ((a - lower) / width, (upper - a) / width);
                (width * s * t, t - s)
            }
        }
    }
}

/// A law in its own coordinate. Laws that are special cases of one another share an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kernel {
    Normal { mean: f64, sd: f64 },
    Cauchy { location: f64, scale: f64 },
    HalfNormal { scale: f64 },
    HalfCauchy { scale: f64 },
    LogNormal { m: f64, s: f64 },
    Gamma { shape: f64, rate: f64 },
    InvGamma { shape: f64, scale: f64 },
    FlatLog,
    Beta { a: f64, b: f64 },
}

impl Kernel {
    /// The normalised log density of y and its derivative in y.
    pub(super) fn log_density(self, y: f64) -> (f64, f64) {
        match self {
            Kernel::Normal { mean, sd } | Kernel::LogNormal { m: mean, s: sd } => {
                let z = (y - mean) / sd;
                (-0.5 * z * z - sd.ln() - 0.5 * (2.0 * PI).ln(), -z / sd)
            }
            Kernel::Cauchy { location, scale } => {
                let z = (y - location) / scale;
                // The second form of the derivative does not square a large z.
                let pull = if z.abs() < 1.0 { z / (1.0 + z * z) } else { 1.0 / (z + 1.0 / z) };
                (-PI.ln() - scale.ln() - 2.0 * z.hypot(1.0).ln(), -2.0 * pull / scale)
            }
            Kernel::HalfNormal { scale } => {
                let z = y.exp() / scale;
                (0.5 * (2.0 / PI).ln() - scale.ln() + y - 0.5 * z * z, 1.0 - z * z)
            }
            Kernel::HalfCauchy { scale } => {
                let z = y - scale.ln();
                let log_cosh = z.abs() + (-2.0 * z.abs()).exp().ln_1p() - LN_2;
                (-PI.ln() - log_cosh, -z.tanh())
            }
            Kernel::Gamma { shape, rate } => {
                let x = rate * y.exp();
                (shape * (y + rate.ln()) - x - log_gamma(shape), shape - x)
            }
            Kernel::InvGamma { shape, scale } => {
                let x = scale * (-y).exp();
                (shape * (scale.ln() - y) - x - log_gamma(shape), x - shape)
            }
            Kernel::FlatLog => (0.0, 0.0),
            Kernel::Beta { a, b } => (
                a * log_sigmoid(y) + b * log_sigmoid(-y) - log_beta(a, b),
                a * sigmoid(-y) - b * sigmoid(y),
            ),
        }
    }

    /// P(Y < y) and P(Y > y); nothing for an improper law.
    pub(super) fn tails(self, y: f64) -> Option<(f64, f64)> {
        Some(match self {
            Kernel::Normal { mean, sd } | Kernel::LogNormal { m: mean, s: sd } => {
                normal_tails((y - mean) / sd)
            }
            Kernel::Cauchy { location, scale } => {
                let z = (y - location) / scale;
                (1f64.atan2(-z) / PI, 1f64.atan2(z) / PI)
            }
            Kernel::HalfNormal { scale } => gamma_tails(0.5, 2.0 * (y - scale.ln()) - LN_2),
            Kernel::HalfCauchy { scale } => {
                let z = (y - scale.ln()).exp();
                (z.atan() / FRAC_PI_2, 1f64.atan2(z) / FRAC_PI_2)
            }
            Kernel::Gamma { shape, rate } => gamma_tails(shape, y + rate.ln()),
            Kernel::InvGamma { shape, scale } => {
                let (p, q) = gamma_tails(shape, scale.ln() - y);
                (q, p)
            }
            Kernel::FlatLog => return None,
            Kernel::Beta { a, b } => beta_tails(a, b, y),
        })
    }

    /// The y with P(Y < y) = p and P(Y > y) = q, p + q = 1, by bisection on the smaller tail. One method for all laws,
    /// exact to the last bits, and quick enough for what is asked once per run.
    pub(super) fn quantile(self, p: f64, q: f64) -> Option<f64> {
        let too_low =
            |y: f64| self.tails(y).map(|(below, above)| if p <= q { below < p } else { above > q });
        let (mut low, mut high) = (-1.0, 1.0);
        while !too_low(low)? && low > -1e300 {
            low *= 2.0;
        }
        while too_low(high)? && high < 1e300 {
            high *= 2.0;
        }
        loop {
            let middle = low + 0.5 * (high - low);
            // Neighbouring floats: no further halving is possible.
            if middle <= low || middle >= high {
                return Some(middle);
            }
            if too_low(middle)? {
                low = middle;
            } else {
                high = middle;
            }
        }
    }

    /// A draw of y; nothing for an improper law.
    pub(super) fn sample<R: Rng + ?Sized>(self, rng: &mut R) -> Option<f64> {
        let mut normal = || -> f64 { StandardNormal.sample(rng) };
        Some(match self {
            Kernel::Normal { mean, sd } | Kernel::LogNormal { m: mean, s: sd } => {
                mean + sd * normal()
            }
            Kernel::HalfNormal { scale } => scale.ln() + normal().abs().max(f64::MIN_POSITIVE).ln(),
            Kernel::Cauchy { location, scale } => location + scale * (PI * (open(rng) - 0.5)).tan(),
            Kernel::HalfCauchy { scale } => scale.ln() + (FRAC_PI_2 * open(rng)).tan().ln(),
            Kernel::Gamma { shape, rate } => log_gamma_draw(shape, rng)? - rate.ln(),
            Kernel::InvGamma { shape, scale } => scale.ln() - log_gamma_draw(shape, rng)?,
            Kernel::FlatLog => return None,
            Kernel::Beta { a, b } => log_gamma_draw(a, rng)? - log_gamma_draw(b, rng)?,
        })
    }
}

/// A uniform draw that is neither 0 nor 1.
fn open<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    Open01.sample(rng)
}

/// The logarithm of a Γ(shape, 1) draw, as Γ(shape + 1)·U^{1/shape}, which cannot underflow.
fn log_gamma_draw<R: Rng + ?Sized>(shape: f64, rng: &mut R) -> Option<f64> {
    let lifted: f64 = Gamma::new(shape + 1.0, 1.0).ok()?.sample(rng);
    Some(lifted.ln() + open(rng).ln() / shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROPER: [Kernel; 10] = [
        Kernel::Normal { mean: 1.0, sd: 0.4 },
        Kernel::Cauchy { location: -2.0, scale: 0.5 },
        Kernel::HalfNormal { scale: 2.0 },
        Kernel::HalfCauchy { scale: 3.0 },
        Kernel::LogNormal { m: -3.0, s: 1.0 },
        Kernel::Gamma { shape: 0.3, rate: 2.0 },
        Kernel::Gamma { shape: 40.0, rate: 0.1 },
        Kernel::InvGamma { shape: 5.0, scale: 0.25 },
        Kernel::Beta { a: 20.0, b: 1.5 },
        Kernel::Beta { a: 1.0, b: 1.0 },
    ];

    #[test]
    fn tails_are_integrals_of_the_density() {
        // d(cdf)/dy against the density; h = 1e-4 leaves an error below h²·|f″| ~ 1e-6 for the narrowest law here.
        let h = 1e-4;
        for kernel in PROPER {
            let centre = kernel.quantile(0.5, 0.5).unwrap();
            for y in [centre - 0.6, centre, centre + 0.3] {
                let (low, high) = (kernel.tails(y - h).unwrap(), kernel.tails(y + h).unwrap());
                let density = kernel.log_density(y).0.exp();
                assert!(((high.0 - low.0) / (2.0 * h) - density).abs() < 1e-6, "{kernel:?} at {y}");
                assert!(((low.1 - high.1) / (2.0 * h) - density).abs() < 1e-6, "{kernel:?} at {y}");
            }
        }
    }

    #[test]
    fn quantiles_invert_both_tails_with_relative_precision() {
        for kernel in PROPER {
            for p in [1e-12, 0.025, 0.5] {
                let low = kernel.tails(kernel.quantile(p, 1.0 - p).unwrap()).unwrap().0;
                let high = kernel.tails(kernel.quantile(1.0 - p, p).unwrap()).unwrap().1;
                // A cdf steep in y magnifies the last bit of y by |y|·f(y)/p, some thousands here.
                assert!((low / p - 1.0).abs() < 1e-11, "{kernel:?} at {p}: {low}");
                assert!((high / p - 1.0).abs() < 1e-11, "{kernel:?} at {p}: {high}");
            }
        }
    }

    #[test]
    fn vague_laws_keep_finite_quantiles_and_draws() {
        use rand::SeedableRng;
        let mut rng = rand::rngs::StdRng::seed_from_u64(4);
        for kernel in [
            Kernel::Gamma { shape: 1e-3, rate: 1e-3 },
            Kernel::InvGamma { shape: 1e-3, scale: 1e-3 },
        ] {
            assert!(kernel.quantile(0.01, 0.99).unwrap().is_finite());
            assert!((0..1000).all(|_| kernel.sample(&mut rng).unwrap().is_finite()));
        }
    }

    #[test]
    fn no_density_is_nan_at_any_distance() {
        for kernel in PROPER {
            for y in [-1e300, -1e5, -800.0, 800.0, 1e5, 1e300] {
                let (log_density, slope) = kernel.log_density(y);
                assert!(!log_density.is_nan() && !slope.is_nan(), "{kernel:?} at {y}");
            }
        }
    }
}
