//! Guesses the strength and the scale of a pattern's clusters.
//!
//! A log-Gaussian Cox process with exponential covariance has g(r) = exp(σ² e^{−r/ℓ}). The σ and ℓ whose g is nearest to the
//! estimated one (minimum contrast, Σ (ĝ^¼ − g^¼)², Møller and Waagepetersen 2004) are rough, and good enough for a grid.

use super::PairCorrelation;

/// Fewest points worth an estimate.
const FEWEST_POINTS: usize = 20;
/// Variance of the log intensity below which a pattern looks like chance.
pub(super) const LEAST_VARIANCE: f64 = 0.1;
/// The power that evens out the noise of large values.
const POWER: f64 = 0.25;

/// What the pair correlation says about clustering.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clustering {
    /// Standard deviation of the log intensity.
    pub sigma: f64,
    /// Distance over which its correlation falls to 1/e, in map units.
    pub range: f64,
}

/// Estimates clustering; none if the points are few or look placed by chance.
pub fn clustering(pairs: &PairCorrelation, places: &[(f64, f64)]) -> Option<Clustering> {
    if places.len() < FEWEST_POINTS {
        return None;
    }
    let (distances, g) = (pairs.distances(), pairs.of(places));
    let (shortest, longest) = (distances[0], *distances.last()?);
    let mut best = (f64::INFINITY, Clustering { sigma: 0.0, range: 0.0 });
    for step in 0..60 {
        let range = shortest * (longest / shortest).powf(f64::from(step) / 59.0);
        for square in 1..60 {
            let sigma = 0.06 * f64::from(square);
            let contrast = |(r, g): (&f64, &f64)| {
                let model = (POWER * sigma * sigma * (-r / range).exp()).exp();
                (g.max(0.0).powf(POWER) - model).powi(2)
            };
            let distance: f64 = distances.iter().zip(&g).map(contrast).sum();
            if distance < best.0 {
                best = (distance, Clustering { sigma, range });
            }
        }
    }
    (best.1.sigma * best.1.sigma >= LEAST_VARIANCE).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Window;
    use crate::simulate::{PatternTruth, lgcp};
    use crate::structure::{Anisotropy, Kernel};

    #[test]
    fn the_scale_of_a_simulated_pattern_is_found_and_chance_has_none() {
        let window = Window::rectangle((0.0, 0.0), (1.0, 1.0), None).unwrap();
        let pairs = PairCorrelation::new(&window);
        let draw = |sigma: f64| {
            let truth = PatternTruth {
                rows: 64,
                columns: 64,
                sigma,
                range: 0.06,
                total: 2000.0,
                kernel: Kernel::Exponential,
                anisotropy: Anisotropy::NONE,
            };
            lgcp(&truth, 4).unwrap().points
        };
        let found = clustering(&pairs, &draw(1.5)).unwrap();
        assert!((0.02..0.15).contains(&found.range), "{found:?}");
        assert!((0.9..2.2).contains(&found.sigma), "{found:?}");
        assert!(clustering(&pairs, &draw(0.01)).is_none());
        assert!(clustering(&pairs, &draw(1.5)[..10]).is_none());
    }
}
