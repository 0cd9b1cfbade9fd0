//! Interpolates a function of one variable smoothly, and goes on straight where its knots end.

use serde::{Deserialize, Serialize};

/// A natural cubic spline through equally spaced knots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spline {
    first: f64,
    step: f64,
    values: Vec<f64>,
    /// Second derivatives at the knots, zero at both ends.
    bends: Vec<f64>,
}

impl Spline {
    /// Through these values, at least two, at `first`, `first + step`, …
    pub(crate) fn new(first: f64, step: f64, values: Vec<f64>) -> Self {
        let n = values.len();
        let mut bends = vec![0.0; n];
        // Thomas' algorithm for m_{i−1} + 4 m_i + m_{i+1} = 6 (second difference) / step².
        let mut upper = vec![0.0; n];
        for i in 1..n.saturating_sub(1) {
            let jump = 6.0 * (values[i + 1] - 2.0 * values[i] + values[i - 1]) / (step * step);
            let pivot = 4.0 - upper[i - 1];
            upper[i] = 1.0 / pivot;
            bends[i] = (jump - bends[i - 1]) / pivot;
        }
        for i in (1..n.saturating_sub(1)).rev() {
            bends[i] -= upper[i] * bends[i + 1];
        }
        Self { first, step, values, bends }
    }

    /// Value and slope at x.
    pub(crate) fn at(&self, x: f64) -> (f64, f64) {
        let last = self.values.len() - 1;
        let position = (x - self.first) / self.step;
        let inside = position.clamp(0.0, last as f64);
        let i = (inside as usize).min(last - 1);
        let (t, h) = (inside - i as f64, self.step);
        let s = 1.0 - t;
        let (y, m) = (&self.values[i..i + 2], &self.bends[i..i + 2]);
        let value =
            s * y[0] + t * y[1] + h * h / 6.0 * ((s * s * s - s) * m[0] + (t * t * t - t) * m[1]);
        let slope =
            (y[1] - y[0]) / h + h / 6.0 * ((3.0 * t * t - 1.0) * m[1] - (3.0 * s * s - 1.0) * m[0]);
        (value + slope * h * (position - inside), slope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_a_smooth_function_and_goes_on_straight() {
        let f = |x: f64| (0.7 * x).sin();
        let spline =
            Spline::new(-2.0, 0.25, (0..21).map(|i| f(-2.0 + 0.25 * f64::from(i))).collect());
        for i in 0..40 {
            let x = -1.4 + 0.09 * f64::from(i);
            let (value, slope) = spline.at(x);
            assert!((value - f(x)).abs() < 1e-3, "{x}: {value}");
            let h = 1e-5;
            let want = (spline.at(x + h).0 - spline.at(x - h).0) / (2.0 * h);
            assert!((slope - want).abs() < 1e-7, "{x}: {slope} {want}");
        }
        let ((end, slope), (beyond, same)) = (spline.at(3.0), spline.at(4.0));
        assert!((beyond - end - slope).abs() < 1e-12 && same == slope);
        let (before, slope) = spline.at(-3.0);
        assert!((before + slope - f(-2.0)).abs() < 1e-12);
    }
}
