//! Guesses the scale of a pattern's clusters and with it how fine a grid it deserves.
//!
//! The kernel is taken to be exponential: which one it is does not matter for a grid.

use super::PairCorrelation;
use super::contrast::minimum_contrast;
use crate::data::Window;

/// Fewest points worth an estimate.
pub(super) const FEWEST_POINTS: usize = 20;
/// Cells along the longer side that are chosen without being asked: a map is no map with fewer, and takes minutes with more.
const FEWEST_CELLS: f64 = 24.0;
const MOST_CELLS: f64 = 96.0;
/// Cells to a clustering scale: enough to tell cluster from gap.
const CELLS_PER_SCALE: f64 = 3.0;

/// What pairs of points say about clustering.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clustering {
    /// Standard deviation of the log intensity.
    pub sigma: f64,
    /// Range of its correlation in map units; for the exponential kernel the distance over which it falls to 1/e.
    pub range: f64,
}

/// Estimates clustering; none if the points are few or look placed by chance.
pub fn clustering(pairs: &PairCorrelation, places: &[(f64, f64)]) -> Option<Clustering> {
    if places.len() < FEWEST_POINTS {
        return None;
    }
    let (distances, g) = (pairs.distances(), pairs.of(places));
    let (shortest, longest) = (distances[0], *distances.last()?);
    minimum_contrast(&distances, &g, |r| (-r).exp(), (shortest, longest))
}

/// How many cells along the longer side suit a clustering scale.
pub fn suggest_cells(window: &Window, clustering: Option<&Clustering>) -> usize {
    let (low, high) = window.bounds();
    let side = (high.0 - low.0).max(high.1 - low.1);
    let wanted = clustering.map_or(32.0, |c| CELLS_PER_SCALE * side / c.range);
    wanted.clamp(FEWEST_CELLS, MOST_CELLS).ceil() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert_eq!(suggest_cells(&window, Some(&Clustering { sigma: 1.0, range: 0.06 })), 50);
        assert_eq!(suggest_cells(&window, Some(&Clustering { sigma: 1.0, range: 0.001 })), 96);
        assert_eq!(suggest_cells(&window, None), 32);
    }
}
