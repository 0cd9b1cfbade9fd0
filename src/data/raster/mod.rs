//! Holds a value per pixel of a rectangle, such as elevation or population, and averages it over the cells of a grid.

mod npy;
#[cfg(feature = "archive")]
mod tiff;
#[cfg(not(feature = "archive"))]
#[path = "no_tiff.rs"]
mod tiff;
mod xyz;

#[cfg(feature = "archive")]
pub use tiff::write_geotiff;

use std::path::Path;

use super::crs::Crs;
use super::grid::Grid;
use crate::error::{Error, Result};

/// A rectangle of pixels. Row 0 is the southernmost and row-major order holds; NaN marks a missing pixel.
#[derive(Clone, Debug, PartialEq)]
pub struct Raster {
    /// Rows, along y.
    rows: usize,
    /// Columns, along x.
    columns: usize,
    /// Outer corner of pixel (0, 0).
    corner: (f64, f64),
    /// Width and height of a pixel.
    pixel: (f64, f64),
    values: Vec<f64>,
    crs: Option<Crs>,
    source: String,
}

/// Where a file without coordinates lies: lower left and upper right corner.
pub type Bounds = ((f64, f64), (f64, f64));

impl Raster {
    /// Reads GeoTIFF (`.tif`), NumPy (`.npy`, spread over `bounds`, row 0 in the south) or CSV with columns `x`, `y` and
    /// `value` at the centres of regular pixels.
    pub fn read(path: &Path, bounds: Bounds) -> Result<Self> {
        let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("tif" | "tiff") => tiff::read(path),
            Some("npy") => npy::read(path, bounds),
            Some("csv" | "txt") => xyz::read(path),
            _ => Err(Error::input(
                path.display().to_string(),
                "a raster: GeoTIFF (.tif), NumPy (.npy) or CSV (.csv with x, y, value)",
                "another kind of file",
                "convert it, for instance with gdal_translate -of GTiff",
            )),
        }
    }

    /// Puts a raster together; there is one value per pixel.
    fn new(
        source: &Path,
        (rows, columns): (usize, usize),
        corner: (f64, f64),
        pixel: (f64, f64),
        values: Vec<f64>,
        crs: Option<Crs>,
    ) -> Result<Self> {
        let source = source.display().to_string();
        let sized = |size: f64| size > 0.0 && size.is_finite();
        if !(sized(pixel.0) && sized(pixel.1) && corner.0.is_finite() && corner.1.is_finite()) {
            let got = format!("pixels of {} by {} at {corner:?}", pixel.0, pixel.1);
            return Err(Error::input(
                source,
                "pixels with a size and a place",
                got,
                "export it again",
            ));
        }
        if values.iter().all(|v| !v.is_finite()) {
            let remedy = "check its no-data value";
            return Err(Error::input(source, "some values", "none in any pixel", remedy));
        }
        Ok(Raster { rows, columns, corner, pixel, values, crs, source })
    }

    /// The reference system, if the file names one.
    pub fn crs(&self) -> Option<&Crs> {
        self.crs.as_ref()
    }

    /// The file it came from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Lower left and upper right corner.
    pub fn bounds(&self) -> Bounds {
        let (width, height) = (self.columns as f64 * self.pixel.0, self.rows as f64 * self.pixel.1);
        (self.corner, (self.corner.0 + width, self.corner.1 + height))
    }

    /// Refuses a raster that leaves a part of a region uncovered, up to a pixel or a cell at its edges.
    pub fn cover(&self, region: Bounds, cell: f64) -> Result<()> {
        let (low, high) = self.bounds();
        let slack = (self.pixel.0.max(cell), self.pixel.1.max(cell));
        let covered = low.0 <= region.0.0 + slack.0
            && low.1 <= region.0.1 + slack.1
            && high.0 >= region.1.0 - slack.0
            && high.1 >= region.1.1 - slack.1;
        if covered {
            return Ok(());
        }
        let corners =
            |(low, high): Bounds| format!("x {} to {}, y {} to {}", low.0, high.0, low.1, high.1);
        Err(Error::input(
            self.source.clone(),
            format!("a raster that covers the window ({})", corners(region)),
            corners((low, high)),
            "take a larger raster or cut the window to it",
        ))
    }

    /// The mean of each cell's pixels by the area they share with it; NaN where all of them are missing or none is there.
    pub fn means(&self, grid: &Grid) -> Vec<f64> {
        let along_x = self.shares(grid.origin().0, grid, grid.columns(), true);
        let along_y = self.shares(grid.origin().1, grid, grid.rows(), false);
        let mut means = Vec::with_capacity(grid.cells());
        for (first_row, row_weights) in &along_y {
            for (first_column, column_weights) in &along_x {
                let (mut sum, mut weight) = (0.0, 0.0);
                for (i, a) in row_weights.iter().enumerate() {
                    let row = &self.values[(first_row + i) * self.columns..][*first_column..];
                    for (value, b) in row.iter().zip(column_weights) {
                        if value.is_finite() {
                            sum += a * b * value;
                            weight += a * b;
                        }
                    }
                }
                means.push(if weight > 0.0 { sum / weight } else { f64::NAN });
            }
        }
        means
    }

    /// For each cell along one axis: the first pixel that overlaps it and the overlaps from there on.
    fn shares(&self, origin: f64, grid: &Grid, cells: usize, x: bool) -> Vec<(usize, Vec<f64>)> {
        let (start, pixel, count) = match x {
            true => (self.corner.0, self.pixel.0, self.columns),
            false => (self.corner.1, self.pixel.1, self.rows),
        };
        (0..cells)
            .map(|k| {
                // In pixels from the raster's corner.
                let low = (origin - start + k as f64 * grid.cell()) / pixel;
                let high = (origin - start + (k + 1) as f64 * grid.cell()) / pixel;
                let first = low.floor().max(0.0) as usize;
                let last = (high.ceil().max(0.0) as usize).min(count);
                let overlap = |p: usize| (high.min((p + 1) as f64) - low.max(p as f64)).max(0.0);
                (first.min(count), (first..last).map(overlap).collect())
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raster(
        rows: usize,
        columns: usize,
        corner: (f64, f64),
        pixel: f64,
        values: &[f64],
    ) -> Raster {
        let size = (rows, columns);
        Raster::new(Path::new("r"), size, corner, (pixel, pixel), values.to_vec(), None).unwrap()
    }

    #[test]
    fn means_weigh_pixels_by_shared_area() {
        let fine =
            raster(2, 4, (0.0, 0.0), 0.5, &[1.0, 3.0, 5.0, 7.0, 1.0, 3.0, f64::NAN, f64::NAN]);
        let grid = Grid::new(1, 2, 1.0, (0.0, 0.0)).unwrap();
        assert_eq!(fine.means(&grid), [2.0, 6.0]);
        let shifted = Grid::new(1, 1, 1.0, (0.25, 0.0)).unwrap();
        // Half of pixel 1, all of 2 and half of 3 in the lower row; 1 and 2 in part, above, where 3 is missing.
        let want = (0.25 * 1.0 + 0.5 * 3.0 + 0.25 * 5.0 + 0.25 * 1.0 + 0.5 * 3.0) / 1.75;
        assert!((shifted_mean(&fine, &shifted) - want).abs() < 1e-12);
        let coarse = raster(1, 1, (0.0, 0.0), 10.0, &[4.0]);
        assert_eq!(coarse.means(&grid), [4.0, 4.0]);
        let away = Grid::new(1, 1, 1.0, (50.0, 0.0)).unwrap();
        assert!(coarse.means(&away)[0].is_nan());
    }

    fn shifted_mean(raster: &Raster, grid: &Grid) -> f64 {
        raster.means(grid)[0]
    }

    #[test]
    fn gaps_at_the_edge_are_tolerated_up_to_a_pixel() {
        let raster = raster(2, 2, (0.0, 0.0), 1.0, &[1.0; 4]);
        assert!(raster.cover(((-0.5, 0.0), (2.0, 2.5)), 0.1).is_ok());
        let message = raster.cover(((0.0, 0.0), (4.0, 2.0)), 0.1).unwrap_err().to_string();
        assert!(message.contains("covers the window") && message.contains("x 0 to 2"), "{message}");
    }
}
