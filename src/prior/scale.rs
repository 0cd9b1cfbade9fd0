//! Relates the value a user thinks in to the working value w, in which nothing is constrained.
//!
//! | scale | a(w) | log\|da/dw\| |
//! |---|---|---|
//! | `Linear(c)` | c w | log c |
//! | `Exp(c)` | e^{c w} | log c + c w |
//! | `Tanh` | tanh w | −2 log cosh w |
//! | `HalfTanh` | (tanh w + 1)/2 | −2 log cosh w − log 2 |

use std::f64::consts::LN_2;

use super::special::{log_affine_sigmoid, sigmoid};

/// An increasing map from the working value w to the value a that a user reads or puts a prior on. Factors c are positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// a = c w.
    Linear(f64),
    /// a = e^{c w}: with w = log σ, `Exp(1.0)` is σ and `Exp(2.0)` is σ².
    Exp(f64),
    /// a = tanh w, the coefficient of a stationary AR(1) process.
    Tanh,
    /// a = (tanh w + 1)/2, where beta priors for such a coefficient live.
    HalfTanh,
}

impl Scale {
    /// The value a at w.
    pub fn value(self, w: f64) -> f64 {
        match self {
            Scale::Linear(c) => c * w,
            Scale::Exp(c) => (c * w).exp(),
            Scale::Tanh => w.tanh(),
            Scale::HalfTanh => sigmoid(2.0 * w),
        }
    }

    /// The w at which the value is a: infinite at the ends of the interval, NaN outside it.
    pub fn inverse(self, a: f64) -> f64 {
        match self {
            Scale::Linear(c) => a / c,
            Scale::Exp(c) => a.ln() / c,
            Scale::Tanh => 0.5 * (a.ln_1p() - (-a).ln_1p()),
            Scale::HalfTanh => 0.5 * (a.ln() - (-a).ln_1p()),
        }
    }

    /// da/dw.
    pub fn derivative(self, w: f64) -> f64 {
        match self {
            Scale::Linear(c) => c,
            Scale::Exp(c) => c * (c * w).exp(),
            Scale::Tanh => 4.0 * sigmoid(2.0 * w) * sigmoid(-2.0 * w),
            Scale::HalfTanh => 2.0 * sigmoid(2.0 * w) * sigmoid(-2.0 * w),
        }
    }

    /// log|da/dw|, finite wherever w is.
    pub fn log_jacobian(self, w: f64) -> f64 {
        match self {
            Scale::Linear(c) => c.abs().ln(),
            Scale::Exp(c) => c.abs().ln() + c * w,
            Scale::Tanh => 2.0 * (LN_2 - w.abs() - (-2.0 * w.abs()).exp().ln_1p()),
            Scale::HalfTanh => Scale::Tanh.log_jacobian(w) - LN_2,
        }
    }

    /// The derivative of [`log_jacobian`](Self::log_jacobian) in w.
    pub fn log_jacobian_derivative(self, w: f64) -> f64 {
        match self {
            Scale::Linear(_) => 0.0,
            Scale::Exp(c) => c,
            Scale::Tanh | Scale::HalfTanh => -2.0 * w.tanh(),
        }
    }

    /// The open interval of values, (lower, upper).
    pub fn interval(self) -> (f64, f64) {
        match self {
            Scale::Linear(_) => (f64::NEG_INFINITY, f64::INFINITY),
            Scale::Exp(_) => (0.0, f64::INFINITY),
            Scale::Tanh => (-1.0, 1.0),
            Scale::HalfTanh => (0.0, 1.0),
        }
    }

    /// The w at the value lower + (upper − lower)·sigmoid(y), and dw/dy. Where a bound is an end of the interval the
    /// logarithm is taken analytically: rounding would put w at infinity.
    pub(super) fn between(self, lower: f64, upper: f64, y: f64) -> (f64, f64) {
        let width = upper - lower;
        match self {
            Scale::Linear(c) => {
                let (s, t) = (sigmoid(y), sigmoid(-y));
                ((lower * t + upper * s) / c, width * s * t / c)
            }
            Scale::Exp(c) => {
                let (log, slope) = log_affine_sigmoid(lower, width, y);
                (log / c, slope / c)
            }
            Scale::Tanh => half_log_ratio(1.0 + lower, 1.0 - upper, width, y),
            Scale::HalfTanh => half_log_ratio(lower, 1.0 - upper, width, y),
        }
    }

    /// The distances (a − lower, upper − a) at w, without the cancellation that 1 − tanh w suffers.
    pub(super) fn gaps(self, w: f64, lower: f64, upper: f64) -> (f64, f64) {
        let (s, t) = (sigmoid(2.0 * w), sigmoid(-2.0 * w));
        match self {
            Scale::Tanh => (2.0 * s - (1.0 + lower), 2.0 * t - (1.0 - upper)),
            Scale::HalfTanh => (s - lower, t - (1.0 - upper)),
            _ => (self.value(w) - lower, upper - self.value(w)),
        }
    }
}

/// ½ log of (below + width·sigmoid(y)) over (above + width·sigmoid(−y)), and its derivative in y.
fn half_log_ratio(below: f64, above: f64, width: f64, y: f64) -> (f64, f64) {
    let (log_low, slope_low) = log_affine_sigmoid(below, width, y);
    let (log_high, slope_high) = log_affine_sigmoid(above, width, -y);
    (0.5 * (log_low - log_high), 0.5 * (slope_low + slope_high))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Scale; 6] = [
        Scale::Linear(1.0),
        Scale::Linear(2.0),
        Scale::Exp(1.0),
        Scale::Exp(2.0),
        Scale::Tanh,
        Scale::HalfTanh,
    ];

    #[test]
    fn inverse_undoes_value() {
        for scale in ALL {
            for w in [-5.3, -0.7, 0.0, 0.4, 5.1] {
                let back = scale.inverse(scale.value(w));
                // tanh squeezes: an ulp of a is e^{2|w|}/4 ulps of w.
                let bound = 4.0 * f64::EPSILON * (2.0 * f64::abs(w)).exp().max(8.0);
                assert!((back - w).abs() <= bound, "{scale:?} at {w}: {back}, bound {bound}");
            }
        }
    }

    #[test]
    fn derivatives_match_central_differences() {
        // Truncation h²·f‴/6 and rounding eps·f/h are both below 1e-8·f for h = 1e-5.
        let h = 1e-5;
        for scale in ALL {
            for w in [-2.3, -0.4, 0.9, 3.1] {
                let slope = (scale.value(w + h) - scale.value(w - h)) / (2.0 * h);
                let bound = 1e-8 * (1.0 + scale.value(w).abs());
                assert!((scale.derivative(w) - slope).abs() < bound, "{scale:?} at {w}");
                assert!(
                    (scale.log_jacobian(w) - scale.derivative(w).abs().ln()).abs() < 1e-12,
                    "{scale:?} at {w}"
                );
                let slope = (scale.log_jacobian(w + h) - scale.log_jacobian(w - h)) / (2.0 * h);
                assert!(
                    (scale.log_jacobian_derivative(w) - slope).abs() < 1e-8,
                    "{scale:?} at {w}"
                );
            }
        }
    }

    #[test]
    fn jacobians_stay_finite_far_out() {
        for scale in ALL {
            for w in [-900.0, -50.0, 50.0, 900.0] {
                assert!(scale.log_jacobian(w).is_finite(), "{scale:?} at {w}");
            }
        }
        assert!((Scale::Tanh.log_jacobian(50.0) - (2.0 * LN_2 - 100.0)).abs() < 1e-13);
    }

    #[test]
    fn between_is_the_inverse_of_the_blend() {
        let cases = [
            (Scale::Linear(2.0), -1.0, 3.0),
            (Scale::Exp(2.0), 0.5, 4.0),
            (Scale::Tanh, -0.2, 0.9),
            (Scale::HalfTanh, 0.1, 0.7),
        ];
        for (scale, lower, upper) in cases {
            for y in [-3.0, 0.2, 4.0] {
                let (w, slope) = scale.between(lower, upper, y);
                assert!(
                    (scale.value(w) - (lower + (upper - lower) * sigmoid(y))).abs() < 1e-14,
                    "{scale:?} at {y}"
                );
                let h = 1e-5;
                let central = (scale.between(lower, upper, y + h).0
                    - scale.between(lower, upper, y - h).0)
                    / (2.0 * h);
                assert!(
                    (slope - central).abs() < 1e-8,
                    "{scale:?} at {y}: {slope} against {central}"
                );
                let (low, high) = scale.gaps(w, lower, upper);
                assert!(((low / high).ln() - y).abs() < 1e-12, "{scale:?} at {y}");
            }
        }
    }

    #[test]
    fn between_reaches_the_ends_of_the_interval_without_infinities() {
        let (w, slope) = Scale::Tanh.between(-1.0, 1.0, 1000.0);
        assert!((w - 500.0).abs() < 1e-10 && (slope - 0.5).abs() < 1e-15, "{w} {slope}");
        let (w, slope) = Scale::Exp(1.0).between(0.0, 1.0, -1000.0);
        assert!((w + 1000.0).abs() < 1e-10 && (slope - 1.0).abs() < 1e-15, "{w} {slope}");
    }
}
