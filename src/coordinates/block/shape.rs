//! Standardises the two hyperparameters of a field, so that functions of them can be written as short polynomials.
//!
//! From w = (log σ, log ℓ) to θ = (log τ, η), then u = L⁻¹(θ − centre), then û, which is u shortened to 2.5 tanh(|u|/2.5):
//! - log τ = log σ + a(log ℓ), a being the mean of ½ log S_k at variance one over a band of frequencies. Data determine τ (the
//!   microergodic combination) far better than σ and ℓ by themselves;
//! - (ℓ/R)⁴ = logistic(4η), R the longest range of the model: η is log ℓ until close to R, and has no end there;
//! - û is bounded, so that polynomials in it are, too.

use super::spline::Spline;
use serde::{Deserialize, Serialize};

/// Where û ends.
const REACH: f64 = 2.5;
/// How sharply η turns away from log ℓ at the longest range.
const SHARPNESS: f64 = 4.0;
/// Terms of a quadratic, and of a linear function of û.
pub(crate) const QUADRATIC: usize = 6;
pub(crate) const LINEAR: usize = 3;

/// The way from w to û.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Shape {
    /// log R.
    pub(crate) log_longest: f64,
    /// a(log ℓ).
    pub(crate) level: Spline,
    /// Mean of θ.
    pub(crate) centre: [f64; 2],
    /// L, lower triangular, with L L' the covariance of θ: its first column and its last entry.
    pub(crate) root: [f64; 3],
}

/// Where w is: û and its derivatives in w.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// û.
    pub(crate) at: [f64; 2],
    /// ∂û_i/∂w_j.
    pub(crate) by_w: [[f64; 2]; 2],
    /// About how much smaller the field is than û says, where û is short of u: 2/(1 + e^(−x)), x = log τ − log τ(û); one in the middle.
    pub(crate) fade: f64,
    /// ∂log fade/∂w_j.
    pub(crate) fade_by_w: [f64; 2],
}

impl Shape {
    /// η, and its derivative in log ℓ.
    pub(crate) fn unbounded(&self, log_range: f64) -> (f64, f64) {
        let below = SHARPNESS * (log_range - self.log_longest);
        // 1 − (ℓ/R)⁴.
        let left = -below.exp_m1();
        ((below - left.ln()) / SHARPNESS + self.log_longest, 1.0 / left)
    }

    /// log ℓ at an η.
    pub(crate) fn bounded(&self, eta: f64) -> f64 {
        let x = SHARPNESS * (eta - self.log_longest);
        self.log_longest - (-x).exp().ln_1p() / SHARPNESS
    }

    /// log of ∂log ℓ/∂η, and the derivative of that in η.
    pub(crate) fn log_slope(&self, eta: f64) -> (f64, f64) {
        let x = SHARPNESS * (eta - self.log_longest);
        (-x.max(0.0) - (-x.abs()).exp().ln_1p(), -SHARPNESS / (1.0 + (-x).exp()))
    }

    /// θ at w, and ∂θ/∂(log ℓ).
    pub(crate) fn theta(&self, w: &[f64]) -> ([f64; 2], [f64; 2]) {
        let (a, slope) = self.level.at(w[1]);
        let (eta, eta_slope) = self.unbounded(w[1]);
        ([w[0] + a, eta], [slope, eta_slope])
    }

    /// w at θ.
    pub(crate) fn working(&self, theta: [f64; 2]) -> [f64; 2] {
        let log_range = self.bounded(theta[1]);
        [theta[0] - self.level.at(log_range).0, log_range]
    }

    /// û at w, with its derivatives.
    pub(crate) fn place(&self, w: &[f64]) -> Place {
        let (theta, slopes) = self.theta(w);
        let [l00, l10, l11] = self.root;
        let u0 = (theta[0] - self.centre[0]) / l00;
        let u1 = (theta[1] - self.centre[1] - l10 * u0) / l11;
        // ∂u/∂θ = L⁻¹, ∂θ/∂w = [1, slope; 0, slope].
        let by_range = [slopes[0] / l00, (slopes[1] - l10 * slopes[0] / l00) / l11];
        let by_sigma = [1.0 / l00, -l10 / (l00 * l11)];
        let (share, bend) = shortening(u0.hypot(u1));
        let by_u =
            [[share + bend * u0 * u0, bend * u0 * u1], [bend * u0 * u1, share + bend * u1 * u1]];
        let along = |row: [f64; 2], by: [f64; 2]| row[0] * by[0] + row[1] * by[1];
        let at = [share * u0, share * u1];
        let by_w = by_u.map(|row| [along(row, by_sigma), along(row, by_range)]);
        let fade = 2.0 / (1.0 + (-l00 * (u0 - at[0])).exp());
        let left = 1.0 - 0.5 * fade;
        let fade_by_w = [left * (1.0 - l00 * by_w[0][0]), left * (slopes[0] - l00 * by_w[0][1])];
        Place { at, by_w, fade, fade_by_w }
    }

    /// w at û.
    pub(crate) fn at_place(&self, at: [f64; 2]) -> [f64; 2] {
        let length = at[0].hypot(at[1]);
        let longer = if length > 0.0 { REACH * (length / REACH).atanh() / length } else { 1.0 };
        let u = at.map(|x| longer * x);
        let [l00, l10, l11] = self.root;
        self.working([self.centre[0] + l00 * u[0], self.centre[1] + l10 * u[0] + l11 * u[1]])
    }
}

/// |û|/|u| at a length of u, and its derivative over that length.
fn shortening(length: f64) -> (f64, f64) {
    let x = length / REACH;
    if x < 1e-3 {
        return (1.0 - x * x / 3.0, -2.0 / (3.0 * REACH * REACH));
    }
    let share = x.tanh() / x;
    (share, ((1.0 - x.tanh().powi(2)) - share) / (length * length))
}

impl Place {
    /// The terms 1, û₁, û₂, û₁², û₁û₂, û₂².
    pub(crate) fn terms(&self) -> [f64; QUADRATIC] {
        terms(self.at)
    }

    /// ∂/∂w of something whose derivatives in the terms and in log fade are these; added to `by_w`.
    pub(crate) fn pull_back(
        &self,
        by_terms: &[f64; QUADRATIC],
        by_log_fade: f64,
        by_w: &mut [f64],
    ) {
        let [x, y] = self.at;
        let by_at = [
            by_terms[1] + 2.0 * x * by_terms[3] + y * by_terms[4],
            by_terms[2] + x * by_terms[4] + 2.0 * y * by_terms[5],
        ];
        for (k, by_w) in by_w.iter_mut().take(2).enumerate() {
            *by_w += by_at[0] * self.by_w[0][k] + by_at[1] * self.by_w[1][k];
            *by_w += by_log_fade * self.fade_by_w[k];
        }
    }
}

/// The terms at û.
pub(crate) fn terms([x, y]: [f64; 2]) -> [f64; QUADRATIC] {
    [1.0, x, y, x * x, x * y, y * y]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape() -> Shape {
        Shape {
            log_longest: 0.7,
            level: Spline::new(-3.0, 0.5, vec![1.0, 0.6, 0.1, -0.3, -0.5, -0.55, -0.57, -0.6]),
            centre: [0.2, -1.5],
            root: [0.3, -0.2, 0.5],
        }
    }

    #[test]
    fn derivatives_are_those_of_the_place_and_places_can_be_left() {
        let shape = shape();
        for w in [[0.1, -2.0], [0.5, -0.1], [-0.4, 0.65], [1.0, -4.0], [0.325, -1.5]] {
            let place = shape.place(&w);
            let back = shape.at_place(place.at);
            assert!((0..2).all(|k| (back[k] - w[k]).abs() < 1e-6), "{w:?} {back:?}");
            for k in 0..2 {
                let h = 1e-6;
                let moved = |by: f64| {
                    let mut w = w;
                    w[k] += by;
                    shape.place(&w)
                };
                let (up, down) = (moved(h), moved(-h));
                let weights = [0.3, -0.7, 0.2, 0.5, -0.1, 0.4];
                let sum = |place: &Place| {
                    let terms = place.terms();
                    terms.iter().zip(&weights).map(|(a, b)| a * b).sum::<f64>() + place.fade.ln()
                };
                let want = (sum(&up) - sum(&down)) / (2.0 * h);
                let mut by_w = [0.0; 2];
                place.pull_back(&weights, 1.0, &mut by_w);
                assert!((by_w[k] - want).abs() < 1e-6 * (1.0 + want.abs()), "{by_w:?} {want}");
            }
        }
    }
}
