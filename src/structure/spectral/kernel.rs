//! Gives the correlation functions of stationary fields.

use crate::numeric::exp;
use serde::{Deserialize, Serialize};

/// A correlation function c(d/ℓ) of distance d with range parameter ℓ, c(0) = 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kernel {
    /// exp(−r): rough fields, the usual choice for Cox processes.
    Exponential,
    /// (1 + r√3) exp(−r√3): once differentiable.
    Matern32,
    /// (1 + r√5 + 5r²/3) exp(−r√5): twice differentiable.
    Matern52,
}

impl Kernel {
    /// The correlation at distance r in units of the range.
    #[inline(always)]
    pub fn correlation(self, r: f64) -> f64 {
        match self {
            Kernel::Exponential => exp(-r),
            Kernel::Matern32 => {
                let a = r * 1.732_050_807_568_877_2;
                (1.0 + a) * exp(-a)
            }
            Kernel::Matern52 => {
                let a = r * 2.236_067_977_499_79;
                (1.0 + a + a * a / 3.0) * exp(-a)
            }
        }
    }

    /// The distance, in units of the range, beyond which the correlation is below 1e-13 and is left out of sums.
    pub(crate) fn reach(self) -> f64 {
        match self {
            Kernel::Exponential => 31.0,
            Kernel::Matern32 => 20.0,
            Kernel::Matern52 => 16.5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlations_start_at_one_and_end_below_rounding() {
        for kernel in [Kernel::Exponential, Kernel::Matern32, Kernel::Matern52] {
            assert_eq!(kernel.correlation(0.0), 1.0);
            assert!(kernel.correlation(kernel.reach()) < 1e-13);
            assert!(kernel.correlation(0.5) > kernel.correlation(0.6));
        }
    }
}
