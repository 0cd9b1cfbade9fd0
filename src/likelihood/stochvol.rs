//! Observes returns whose log variance is the predictor.
//!
//! > y_t ~ N(0, e^{η_t}):  −log p = Σ ½ η_t + ½ y_t² e^{−η_t}  (up to a constant)
//!
//! Minus the second derivative is ½ y² e^{−η}, whose expectation over y is ½ whatever η is.

use super::{Curvature, Likelihood, SiteTwin, check, exponentials};
use crate::error::Result;
use crate::numeric::{inline, two_floats, vectorised};

/// Sites on either side over which squared returns are averaged for a start: short enough to follow the volatility,
/// long enough that the average of 2·10+1 squares is within a third of the variance.
const START_REACH: usize = 10;

/// Sites worked on at a time.
const PIECE: usize = 1024;

/// Gaussian returns with stochastic volatility.
#[derive(Clone, Debug, PartialEq)]
pub struct StochasticVolatility {
    squares: Vec<f64>,
}

impl StochasticVolatility {
    /// Returns in any unit; their scale is the mean of the predictor.
    pub fn new(y: &[f64]) -> Result<Self> {
        // The square is what is used, so it is the square that has to be finite, and there.
        check(
            "return",
            y,
            "a number whose square is finite and not lost",
            "drop missing days, or take another unit",
            |y| (y * y).is_finite() && (y == 0.0 || y * y > 0.0),
        )?;
        Ok(StochasticVolatility { squares: y.iter().map(|y| y * y).collect() })
    }
}

impl Likelihood for StochasticVolatility {
    fn sites(&self) -> usize {
        self.squares.len()
    }

    fn evaluate(&self, eta: &[f64], _: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        // In pieces that stay in the fastest cache between the exponentials and their use.
        let pieces = gradient.chunks_mut(PIECE).zip(eta.chunks(PIECE));
        let mut total = 0.0;
        for ((gradient, eta), squares) in pieces.zip(self.squares.chunks(PIECE)) {
            exponentials(-1.0, eta, gradient);
            total += vectorised(
                #[inline(always)]
                || {
                    let sum = inline::sum_of([gradient, eta, squares], |[e, eta, square]| {
                        eta + square * e
                    });
                    for (gradient, square) in gradient.iter_mut().zip(squares) {
                        *gradient = 0.5 - 0.5 * (square * *gradient);
                    }
                    sum
                },
            );
        }
        0.5 * total
    }

    fn twin(&self) -> Option<SiteTwin> {
        let data = self.squares.iter().map(|&y| two_floats(y)).collect();
        Some(SiteTwin { wgsl: include_str!("../../shaders/site/stochvol.wgsl").into(), data })
    }

    fn curvature(&self, _: &[f64], _: &[f64]) -> Curvature {
        Curvature::Sites(vec![0.5; self.sites()])
    }

    /// The log of a moving average of the squares, drawn a little towards their overall mean so that it is finite.
    fn start(&self) -> Option<Vec<f64>> {
        let n = self.sites();
        let mean = self.squares.iter().sum::<f64>() / n as f64;
        let smooth = |t: usize| {
            let window = &self.squares[t.saturating_sub(START_REACH)..(t + START_REACH + 1).min(n)];
            ((window.iter().sum::<f64>() + mean) / (window.len() + 1) as f64).ln()
        };
        let start: Vec<f64> = (0..n).map(smooth).collect();
        start.iter().all(|x| x.is_finite()).then_some(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_follows_the_volatility() {
        let y: Vec<f64> = (0..200).map(|t| if t < 100 { 0.01 } else { 2.0 }).collect();
        let start = StochasticVolatility::new(&y).unwrap().start().unwrap();
        assert!(
            start[50] < -2.0 && (start[150] - 4f64.ln()).abs() < 0.1,
            "{} {}",
            start[50],
            start[150]
        );
    }

    #[test]
    fn start_is_none_without_any_movement() {
        assert_eq!(StochasticVolatility::new(&[0.0; 5]).unwrap().start(), None);
        assert_eq!(
            StochasticVolatility::new(&[1.0, 0.0, 0.0]).unwrap().start().map(|s| s.len()),
            Some(3)
        );
    }

    #[test]
    fn bad_data_are_errors() {
        for y in [f64::NAN, f64::INFINITY, 1e200] {
            assert!(StochasticVolatility::new(&[0.1, y]).is_err());
        }
    }
}
