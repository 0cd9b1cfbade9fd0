//! Finds the field whose pair correlation is nearest to an estimated one.
//!
//! A log-Gaussian Cox process has g(r) = exp(σ² c(r/ℓ)). Of all σ and ℓ on a fine lattice those are taken that make
//! Σ (ĝ^¼ − g^¼)² smallest (minimum contrast, Møller and Waagepetersen 2004). The result is rough, and good enough to choose a
//! grid by or to start a chain at.

use super::Clustering;

/// Variance of the log intensity below which a pattern looks like chance.
const LEAST_VARIANCE: f64 = 0.1;
/// The power that evens out the noise of large values.
const POWER: f64 = 0.25;
/// Steps of the lattice in log ℓ and in σ, and the step in σ.
const RANGES: u32 = 60;
const SIGMAS: u32 = 59;
const SIGMA_STEP: f64 = 0.06;

/// The clustering whose g is nearest to `g` at these distances, its range within `ranges`; none if it looks like chance.
pub(super) fn minimum_contrast(
    distances: &[f64],
    g: &[f64],
    correlation: impl Fn(f64) -> f64,
    (shortest, longest): (f64, f64),
) -> Option<Clustering> {
    let observed: Vec<f64> = g.iter().map(|g| g.max(0.0).powf(POWER)).collect();
    let mut best = (f64::INFINITY, Clustering { sigma: 0.0, range: 0.0 });
    for step in 0..RANGES {
        let range = shortest * (longest / shortest).powf(f64::from(step) / f64::from(RANGES - 1));
        let shape: Vec<f64> = distances.iter().map(|r| correlation(r / range)).collect();
        for step in 1..=SIGMAS {
            let sigma = SIGMA_STEP * f64::from(step);
            let contrast =
                |(c, seen): (&f64, &f64)| (seen - (POWER * sigma * sigma * c).exp()).powi(2);
            let distance: f64 = shape.iter().zip(&observed).map(contrast).sum();
            if distance < best.0 {
                best = (distance, Clustering { sigma, range });
            }
        }
    }
    (best.1.sigma * best.1.sigma >= LEAST_VARIANCE).then_some(best.1)
}
