//! Gives the correlation functions of stationary fields.

use super::anisotropy::Anisotropy;
use crate::numeric::exp;
use serde::{Deserialize, Serialize};

/// A correlation function c(d/ℓ) of distance d with range parameter ℓ.
///
/// All but the Gaussian are Matérn functions with κ = √(2ν)/ℓ, and the Gaussian is their limit for large ν, so the same ℓ
/// means much the same reach in each. The range √(8ν)/κ, where the correlation is near 0.13 and which INLA reports, is 2ℓ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kernel {
    /// exp(−r): rough fields, the usual choice for Cox processes (ν = ½).
    Exponential,
    /// r√2 K₁(r√2): Matérn with ν = 1, the field of the SPDE (κ² − Δ)x = white noise in the plane. Its eigenvalues come from the
    /// spectral density (κ² + |ω|²)⁻², aliased to the cells, and are those of the plane's correlation summed over images.
    Matern1,
    /// (1 + r√3) exp(−r√3): once differentiable.
    Matern32,
    /// (1 + r√5 + 5r²/3) exp(−r√5): twice differentiable.
    Matern52,
    /// (1 − τ) exp(−r²/2), and 1 at r = 0: as smooth as can be, but for a nugget of τ = [`Kernel::nugget`] of the variance.
    Gaussian,
}

/// The Gaussian's nugget. Its eigenvalues fall to zero faster than any number format can follow; the nugget keeps every one
/// at 1e-4 or more, so that they and their inverses are far from the ends of f32, and noise of a hundredth
/// of the field's deviation is seen on no map.
const NUGGET: f64 = 1e-4;

impl Kernel {
    /// Every one.
    pub const ALL: [Kernel; 5] = [
        Kernel::Exponential,
        Kernel::Matern1,
        Kernel::Matern32,
        Kernel::Matern52,
        Kernel::Gaussian,
    ];

    /// The share of the variance that neighbours, however close, do not have in common.
    pub fn nugget(self) -> f64 {
        if self == Kernel::Gaussian { NUGGET } else { 0.0 }
    }

    /// The correlation at distance r in units of the range, of what is left without the nugget, in the plane.
    #[inline(always)]
    pub fn correlation(self, r: f64) -> f64 {
        match self {
            Kernel::Exponential => exp(-r),
            Kernel::Matern1 => bessel(r * std::f64::consts::SQRT_2),
            Kernel::Matern32 => {
                let a = r * 1.732_050_807_568_877_2;
                (1.0 + a) * exp(-a)
            }
            Kernel::Matern52 => {
                let a = r * 2.236_067_977_499_79;
                (1.0 + a + a * a / 3.0) * exp(-a)
            }
            Kernel::Gaussian => exp(-0.5 * r * r),
        }
    }

    /// The distance, in units of the range, beyond which the correlation is below 1e-13 and is left out of sums.
    pub(crate) fn reach(self) -> f64 {
        match self {
            Kernel::Exponential => 31.0,
            Kernel::Matern1 => 24.0,
            Kernel::Matern32 => 20.0,
            Kernel::Matern52 => 16.5,
            Kernel::Gaussian => 7.8,
        }
    }

    /// Whether eigenvalues are known from the spectral density, without a transform.
    pub(crate) fn has_density(self) -> bool {
        self == Kernel::Matern1
    }

    /// Half the width, in log ℓ, of a panel of the table: narrower where eigenvalues change faster. Those of the Gaussian fall
    /// like exp(−ℓ²ω²/2) down to its nugget.
    pub(crate) fn half_width(self) -> f64 {
        if self == Kernel::Gaussian { 0.02 } else { 0.1 }
    }
}

/// a K₁(a), by the trapezoidal rule for K₁(a) = ∫₀^∞ exp(−a cosh t) cosh t dt, which converges faster than any power of its step.
#[inline(never)]
fn bessel(a: f64) -> f64 {
    const STEP: f64 = 0.1;
    if a < 1e-9 {
        return 1.0;
    }
    // Terms grow until cosh t = 1/a and then fall off a cliff.
    let term = |k: u32| {
        let cosh = (STEP * f64::from(k)).cosh();
        (-a * cosh).exp() * cosh
    };
    let end = ((750.0 / a).max(1.0).acosh() / STEP).ceil() as u32 + 1;
    a * STEP * (0.5 * term(0) + (1..=end).map(term).sum::<f64>())
}

/// A correlation function and the way it depends on direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correlation {
    /// As a function of distance.
    pub kernel: Kernel,
    /// What distance means.
    pub anisotropy: Anisotropy,
}

impl From<Kernel> for Correlation {
    fn from(kernel: Kernel) -> Self {
        Self { kernel, anisotropy: Anisotropy::NONE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlations_start_at_one_and_end_below_rounding() {
        for kernel in Kernel::ALL {
            assert_eq!(kernel.correlation(0.0), 1.0);
            assert!(kernel.correlation(kernel.reach()) < 1e-13);
            assert!(kernel.correlation(0.5) > kernel.correlation(0.6));
        }
    }

    #[test]
    fn matern_of_order_one_is_the_bessel_function() {
        // K₁ at 0.1, 1, 2 and 10 from published tables (Abramowitz and Stegun, 9.8).
        for (a, k1) in [
            (0.1, 9.853_844_780_870_606),
            (1.0, 0.601_907_230_197_234_6),
            (2.0, 0.139_865_881_816_522_43),
            (10.0, 1.864_877_345_382_558_5e-5),
        ] {
            assert!((bessel(a) / (a * k1) - 1.0).abs() < 1e-13, "{a}: {}", bessel(a));
        }
        // a K₁(a) = 1 + ½a² ln(a/2) + … near zero.
        for a in [1e-3f64, 1e-6] {
            let small = 0.5 * a * a * ((0.5 * a).ln() + 0.577_215_664_901_532_9 - 0.5);
            assert!((bessel(a) - 1.0 - small).abs() < 1e-11, "{a}: {}", bessel(a));
        }
    }
}
