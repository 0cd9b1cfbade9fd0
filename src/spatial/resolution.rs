//! Says how fine a grid a pattern deserves, and how far a coarser one leads astray.
//!
//! The model gives a cell of side h the correlation of its centre, where the points have the cell's average: two places in
//! one cell are 0.52 h apart on average, so counts vary less by a share of about 0.52 h/ℓ while neighbours correlate as they
//! should, and a fit that has to explain both takes the range for longer than it is. How much longer depends on the waves that
//! points show at all. The spectrum of the exponential covariance falls as 2πσ²/(ℓk³), and n points per unit of area drown it in
//! noise of 1/n from k = (2πσ²n/ℓ)^⅓ on; 1/k is the finest detail d. Where more points lie more is seen: places weighted by what
//! they say about the range (n^⅔ each, with an error as n^⅔) have e^{σ²/2} times the mean of n, so that
//!
//! d = (ℓ e^{−σ²/2} / (2πσ²n))^⅓.
//!
//! Minimising the Whittle divergence between the averaged field and the model, for 100 to 20 000 points, σ from 0.75 to 2.9
//! and ℓ from 0.02 to 0.25 of the map, log ℓ comes out too large by
//!
//! 0.18 (h/d)² / (1 + 0.1 (h/d)²) + 0.15 (h/ℓ)²
//!
//! within a fifth or 0.01 where that is less than a quarter; σ moves less. docs/MAPS.md has fits beside it.

use super::scale::LEAST_VARIANCE;
use super::{Clustering, PairCorrelation, clustering};
use crate::data::Window;

/// Cells to the finest detail: the range is then 3 % too long by the formula, and by 10 % if it is off as much as in the worst of
/// the fits beside it: less than a third of the range's posterior sd in most patterns.
const CELLS_PER_DETAIL: f64 = 2.5;
/// Cells to a clustering scale, which decides where points are so few that they show no detail finer than it.
const CELLS_PER_SCALE: f64 = 3.0;
/// Cells along the longer side that are chosen without being asked: a map is no map with fewer, and with more a fit takes
/// many minutes.
const FEWEST_CELLS: usize = 32;
const MOST_CELLS: usize = 128;
/// The range, over the longer side, of the weak field that may hide in points that look placed by chance.
const HIDDEN_RANGE: f64 = 0.1;
/// The variance up to which the densest places are as dense as a lognormal law says: a window has too few places for more.
const MOST_VARIANCE: f64 = 4.0;
/// Errors of the range beyond which the formula is not to be trusted.
const LARGEST_ERROR: f64 = 0.5;

/// What a pattern shows and a grid has to resolve; lengths are in map units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detail {
    /// Strength and scale of the clusters; none if the points are few or look placed by chance.
    pub clustering: Option<Clustering>,
    /// The finest detail of the log intensity that so many points can show.
    pub finest: f64,
    range: f64,
    side: f64,
}

impl Detail {
    /// Looks at those places that lie inside a window.
    pub fn of(window: &Window, places: &[(f64, f64)]) -> Self {
        let inside: Vec<_> = places.iter().copied().filter(|&p| window.contains(p)).collect();
        Self::new(window, inside.len(), clustering(&PairCorrelation::new(window), &inside))
    }

    fn new(window: &Window, points: usize, clustering: Option<Clustering>) -> Self {
        let (low, high) = window.bounds();
        let side = (high.0 - low.0).max(high.1 - low.1);
        let (variance, range) = match clustering {
            Some(Clustering { sigma, range }) => (sigma * sigma, range),
            None => (LEAST_VARIANCE, HIDDEN_RANGE * side),
        };
        let density = points.max(1) as f64 / window.area();
        let dense = density * (0.5 * variance.min(MOST_VARIANCE)).exp();
        let seen = std::f64::consts::TAU * variance * dense;
        let finest = (range / seen).cbrt();
        Self { clustering, finest, range, side }
    }

    /// The cells along the longer side that resolve it, however many.
    pub fn resolving(&self) -> usize {
        let cell = (self.finest / CELLS_PER_DETAIL).min(self.range / CELLS_PER_SCALE);
        (self.side / cell).ceil().max(FEWEST_CELLS as f64) as usize
    }

    /// The cells along the longer side that are chosen without being asked: those, unless they would take too long.
    pub fn cells(&self) -> usize {
        self.resolving().min(MOST_CELLS)
    }

    /// By what share cells of a side make the range too long; at most a half, beyond which nothing is known but that it is more.
    pub fn range_error(&self, cell: f64) -> f64 {
        let (fine, coarse) = ((cell / self.finest).powi(2), (cell / self.range).powi(2));
        (0.18 * fine / (1.0 + 0.1 * fine) + 0.15 * coarse).min(LARGEST_ERROR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detail(points: usize, clustering: Option<Clustering>) -> Detail {
        let window = Window::rectangle((0.0, 0.0), (2.0, 1.0), None).unwrap();
        Detail::new(&window, points, clustering)
    }

    const CLUSTERS: Clustering = Clustering { sigma: 1.0, range: 0.2 };

    #[test]
    fn more_points_and_rougher_fields_ask_for_finer_grids() {
        let cells =
            |points, sigma, range| detail(points, Some(Clustering { sigma, range })).resolving();
        // 2 · 2.5 / (0.2 e^(−½) / (2π · 1000/2))^⅓ = 147.9.
        assert_eq!(cells(1000, 1.0, 0.2), 148);
        // Eight times the points: twice the cells. Eight times the range: half of them.
        assert_eq!(cells(8000, 1.0, 0.2), 296);
        assert_eq!(cells(1000, 1.0, 1.6), 74);
        // Four times the variance: (4 e^(3/2))^⅓ = 2.62 times.
        assert_eq!(cells(1000, 2.0, 0.2), 388);
        // Thirty points show no detail as fine as a third of such a scale: 3 · 2 / 0.02.
        assert_eq!(cells(30, 1.0, 0.02), 300);
        assert_eq!(cells(20, 0.4, 0.5), FEWEST_CELLS);
    }

    #[test]
    fn what_is_chosen_is_bounded_and_does_not_depend_on_units() {
        assert_eq!(detail(500, Some(CLUSTERS)).cells(), 118);
        assert_eq!(detail(8000, Some(CLUSTERS)).cells(), MOST_CELLS);
        let metres = Window::rectangle((0.0, 0.0), (2000.0, 1000.0), None).unwrap();
        let clusters = Clustering { range: 200.0, ..CLUSTERS };
        assert_eq!(Detail::new(&metres, 500, Some(clusters)).cells(), 118);
        let chance = [20, 1000, 100_000].map(|points| detail(points, None).cells());
        assert_eq!(chance, [FEWEST_CELLS, 60, MOST_CELLS]);
    }

    /// What minimising the Whittle divergence gave on a map of side 1, for points as dense as where they say most.
    #[test]
    fn the_error_of_the_range_is_that_of_the_spectra() {
        let window = Window::rectangle((0.0, 0.0), (1.0, 1.0), None).unwrap();
        let pattern = |dense: f64, sigma: f64, range| {
            let points = (dense * (-0.5 * sigma * sigma).exp()).round() as usize;
            Detail::new(&window, points, Some(Clustering { sigma, range }))
        };
        let known: [(f64, f64, f64, f64, f64); 9] = [
            (2000.0, 1.0, 0.1, 48.0, 0.184),
            (2000.0, 1.0, 0.1, 64.0, 0.103),
            (2000.0, 1.0, 0.1, 128.0, 0.022),
            (300.0, 1.0, 0.1, 32.0, 0.120),
            (300.0, 1.0, 0.1, 64.0, 0.027),
            (8000.0, 1.0, 0.1, 96.0, 0.126),
            (3000.0, 0.75, 0.25, 32.0, 0.226),
            (500.0, 1.5, 0.06, 64.0, 0.100),
            (300.0, 1.5, 0.02, 119.0, 0.072),
        ];
        for (dense, sigma, range, cells, error) in known {
            let found = pattern(dense, sigma, range).range_error(1.0 / cells);
            let bound = (0.2 * error).max(0.01);
            assert!((found - error).abs() < bound, "{dense} {sigma} {range} {cells}: {found}");
        }
        assert_eq!(pattern(8000.0, 1.0, 0.1).range_error(1.0), LARGEST_ERROR);
        let chosen = pattern(2000.0, 1.0, 0.1);
        assert!(chosen.range_error(1.0 / chosen.cells() as f64) < 0.05);
    }
}
