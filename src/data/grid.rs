//! Describes a rectangle of square cells and where they lie.

use serde::Serialize;

use crate::error::{Error, Result};

/// A rectangle of square cells. Cell `(i, j)` is in row `i`, along y, and column `j`, along x, both from 0.
///
/// Everything given per cell is row-major: cell `(i, j)` is entry `i * columns + j`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Grid {
    rows: usize,
    columns: usize,
    cell: f64,
    origin: (f64, f64),
}

impl Grid {
    /// A grid whose longest side is the unit of length: the side of a cell is `1 / max(rows, columns)`.
    pub fn unit(rows: usize, columns: usize) -> Result<Self> {
        Self::new(rows, columns, 1.0 / rows.max(columns).max(1) as f64, (0.0, 0.0))
    }

    /// A grid of cells of a given side, with the outer corner of cell `(0, 0)` at `origin`.
    pub fn new(rows: usize, columns: usize, cell: f64, origin: (f64, f64)) -> Result<Self> {
        if rows == 0 || columns == 0 || rows.checked_mul(columns).is_none() {
            return Err(Error::input(
                "grid",
                "at least one row and one column, and a number of cells that can be counted",
                format!("{rows} rows and {columns} columns"),
                "give both sides as small positive whole numbers",
            ));
        }
        // The area is what models divide by; a side of 1e-200 has none.
        let sized = cell > 0.0 && (cell * cell).is_normal();
        if !(sized && origin.0.is_finite() && origin.1.is_finite()) {
            return Err(Error::input(
                "grid",
                "a positive cell side whose square is finite and not 0, and a finite origin",
                format!("side {cell} and origin ({}, {})", origin.0, origin.1),
                "give them in map units",
            ));
        }
        Ok(Grid { rows, columns, cell, origin })
    }

    /// The number of rows, along y.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns, along x.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The side of a cell in map units.
    pub fn cell(&self) -> f64 {
        self.cell
    }

    /// The outer corner `(x, y)` of cell `(0, 0)` in map units.
    pub fn origin(&self) -> (f64, f64) {
        self.origin
    }

    /// The number of cells.
    pub fn cells(&self) -> usize {
        self.rows * self.columns
    }

    /// The area of one cell in square map units.
    pub fn cell_area(&self) -> f64 {
        self.cell * self.cell
    }

    /// The width along x and the height along y in map units.
    pub fn extent(&self) -> (f64, f64) {
        (self.columns as f64 * self.cell, self.rows as f64 * self.cell)
    }

    /// The entry of cell `(i, j)`, or `None` outside the grid.
    pub fn index(&self, i: usize, j: usize) -> Option<usize> {
        (i < self.rows && j < self.columns).then(|| i * self.columns + j)
    }

    /// The entry of the cell that holds a place, or `None` outside the grid; the outer edges are inside.
    pub fn cell_of(&self, (x, y): (f64, f64)) -> Option<usize> {
        let along = |value: f64, start: f64, cells: usize| {
            let place = (value - start) / self.cell;
            // Rounding may put the far edge a hair beyond the last cell.
            (place >= 0.0 && place <= cells as f64 + 1e-9).then(|| (place as usize).min(cells - 1))
        };
        let (j, i) = (along(x, self.origin.0, self.columns)?, along(y, self.origin.1, self.rows)?);
        self.index(i, j)
    }

    /// The row and column `(i, j)` of an entry.
    pub fn position(&self, index: usize) -> (usize, usize) {
        (index / self.columns, index % self.columns)
    }

    /// The centre `(x, y)` of cell `(i, j)` in map units.
    pub fn centre(&self, i: usize, j: usize) -> (f64, f64) {
        let along = |start: f64, steps: usize| start + (steps as f64 + 0.5) * self.cell;
        (along(self.origin.0, j), along(self.origin.1, i))
    }

    /// The sides in words, rows first.
    pub(super) fn sides(&self) -> String {
        format!("{} × {}", self.rows, self.columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_side_is_the_unit() {
        let grid = Grid::unit(4, 8).unwrap();
        assert_eq!(grid.cell, 0.125);
        assert_eq!(grid.extent(), (1.0, 0.5));
        assert_eq!(grid.cell_area(), 0.015625);
        assert_eq!(Grid::unit(8, 4).unwrap().extent(), (0.5, 1.0));
    }

    #[test]
    fn entries_are_row_major_and_centres_follow_the_columns_along_x() {
        let grid = Grid::new(3, 5, 2.0, (10.0, -1.0)).unwrap();
        assert_eq!(grid.index(1, 2), Some(7));
        assert_eq!(grid.index(3, 0), None);
        assert_eq!(grid.index(0, 5), None);
        assert!((0..grid.cells()).all(|k| {
            let (i, j) = grid.position(k);
            grid.index(i, j) == Some(k)
        }));
        assert_eq!(grid.centre(1, 2), (15.0, 2.0));
        assert!((0..grid.cells()).all(|k| {
            let (i, j) = grid.position(k);
            grid.cell_of(grid.centre(i, j)) == Some(k)
        }));
        assert_eq!(grid.cell_of((20.0, 5.0)), Some(14));
        assert_eq!(grid.cell_of((9.99, 0.0)), None);
    }

    #[test]
    fn impossible_grids_are_refused() {
        for (rows, columns) in [(0, 3), (3, 0), (usize::MAX, 2)] {
            assert!(Grid::unit(rows, columns).is_err(), "{rows} × {columns}");
        }
        for cell in [0.0, -1.0, 1e-200, 1e200, f64::NAN, f64::INFINITY] {
            assert!(Grid::new(2, 2, cell, (0.0, 0.0)).is_err(), "{cell}");
        }
        assert!(Grid::new(2, 2, 1.0, (f64::NAN, 0.0)).is_err());
    }
}
