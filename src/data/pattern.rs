//! Puts a point pattern on a grid: points in cells, and how much of each cell could have had any.

use super::counts::Counts;
use super::crs::Crs;
use super::grid::Grid;
use super::points::Points;
use super::window::Window;
use crate::error::{Error, Result};

/// The most cells that are laid over a window.
const MOST_CELLS: usize = 1 << 22;

/// How fine a grid to lay over a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Resolution {
    /// So many cells along the longer side.
    Cells(usize),
    /// Cells of this side in map units.
    Size(f64),
}

/// A pattern on its grid.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// Points in cells; the exposure of a cell is the share of it inside the window.
    pub counts: Counts,
    /// The places inside the window.
    pub inside: Vec<(f64, f64)>,
    /// How many points lie outside it.
    pub outside: usize,
    /// The window.
    pub window: Window,
}

impl Pattern {
    /// Counts points in the cells of a grid over a window.
    pub fn new(points: &Points, window: Window, resolution: Resolution) -> Result<Self> {
        let grid = lay_grid(&window, resolution)?;
        let shares = window.inside_shares(&grid);
        let mut counts = vec![0.0; grid.cells()];
        let mut inside = Vec::new();
        for &place in points.places() {
            // A whole cell needs no look at the polygons.
            let cell = grid.cell_of(place).filter(|&cell| shares[cell] > 0.0);
            if let Some(cell) = cell.filter(|&c| shares[c] == 1.0 || window.contains(place)) {
                counts[cell] += 1.0;
                inside.push(place);
            }
        }
        if inside.is_empty() {
            let (low, high) = window.bounds();
            return Err(Error::input(
                points.source(),
                format!(
                    "points inside the window (x {} to {}, y {} to {})",
                    low.0, high.0, low.1, high.1
                ),
                format!("none of the {}", points.len()),
                "check that both are in the same coordinates, and x and y in their order",
            ));
        }
        let counts = Counts::with_shares(points.source(), grid, counts, shares)?;
        Ok(Pattern { counts, outside: points.len() - inside.len(), inside, window })
    }
}

/// The rectangle around points with room for those that could have been seen at its edge: as much on each side as the mean
/// gap between the points in that direction (Ripley and Rasson 1977).
pub fn default_window(points: &Points, crs: Option<Crs>) -> Result<Window> {
    let (low, high) = points.bounds();
    let room = 1.0 / (points.len().max(2) - 1) as f64;
    let margin = (room * (high.0 - low.0), room * (high.1 - low.1));
    if !(margin.0 > 0.0 && margin.1 > 0.0) {
        return Err(Error::input(
            points.source(),
            "points that span an area",
            format!("{} on a line or in one place", points.len()),
            "give the region in which they were looked for with --window",
        ));
    }
    let (low, high) =
        ((low.0 - margin.0, low.1 - margin.1), (high.0 + margin.0, high.1 + margin.1));
    Window::rectangle(low, high, crs)
}

/// A grid of square cells that covers a window, from its lower left corner.
fn lay_grid(window: &Window, resolution: Resolution) -> Result<Grid> {
    let (low, high) = window.bounds();
    let (width, height) = (high.0 - low.0, high.1 - low.1);
    let cell = match resolution {
        Resolution::Cells(cells) => width.max(height) / cells as f64,
        Resolution::Size(cell) => cell,
    };
    // A hair less, so that a side of exactly so many cells is not given one more by rounding.
    let along = |length: f64| (length / cell - 1e-9).ceil().max(1.0);
    let (rows, columns) = (along(height), along(width));
    if !(cell > 0.0 && rows * columns <= MOST_CELLS as f64) {
        let got = match resolution {
            Resolution::Cells(cells) => format!("{cells} along the longer side"),
            Resolution::Size(cell) => format!("cells of {cell} over {width} by {height}"),
        };
        let remedy = "choose --grid between 2 and 2048, or a larger --cell";
        return Err(Error::input("grid", format!("1 to {MOST_CELLS} cells"), got, remedy));
    }
    Grid::new(rows as usize, columns as usize, cell, low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use geo::polygon;

    fn triangle() -> Window {
        let polygon = polygon![(x: 0.0, y: 0.0), (x: 4.0, y: 0.0), (x: 0.0, y: 4.0)];
        Window::new("w", vec![polygon], None).unwrap()
    }

    #[test]
    fn points_are_counted_by_cell_and_the_rest_reported() {
        let places = vec![(0.5, 0.5), (0.6, 0.2), (2.5, 0.5), (3.9, 3.9), (1.9, 1.9), (-1.0, 0.0)];
        let points = Points::new("p", places, None).unwrap();
        let pattern = Pattern::new(&points, triangle(), Resolution::Cells(4)).unwrap();
        assert_eq!((pattern.inside.len(), pattern.outside), (4, 2));
        let counts = &pattern.counts;
        assert_eq!((counts.counts()[0], counts.counts()[2], counts.counts()[5]), (2.0, 1.0, 1.0));
        assert_eq!(counts.exposure()[3], 0.5);
        assert_eq!(counts.observed_cells(), 10);
        assert_eq!(counts.exposure().iter().sum::<f64>(), 8.0);
    }

    #[test]
    fn unusable_patterns_are_refused() {
        let far = Points::new("far.csv", vec![(100.0, 100.0)], None).unwrap();
        let message = Pattern::new(&far, triangle(), Resolution::Cells(4)).unwrap_err().to_string();
        assert!(message.contains("far.csv: expected points inside the window"), "{message}");
        let message = default_window(&far, None).unwrap_err().to_string();
        assert!(message.contains("on a line or in one place"), "{message}");
        let near = Points::new("near.csv", vec![(1.0, 1.0), (2.0, 2.0)], None).unwrap();
        for resolution in [Resolution::Cells(5000), Resolution::Size(1e-5), Resolution::Size(-1.0)]
        {
            assert!(Pattern::new(&near, triangle(), resolution).is_err(), "{resolution:?}");
        }
    }

    #[test]
    fn the_default_window_leaves_room() {
        let places = (0..11).map(|k| (f64::from(k), 2.0 * f64::from(k))).collect();
        let window = default_window(&Points::new("p", places, None).unwrap(), None).unwrap();
        assert_eq!(window.bounds(), ((-1.0, -2.0), (11.0, 22.0)));
    }
}
