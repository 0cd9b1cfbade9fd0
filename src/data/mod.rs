//! Holds what is observed, checked once on entry, and reads and writes it.
//!
//! Everything past this border may rely on it: a [`Counts`], [`Returns`] or [`GroupedTable`] that exists is
//! complete, finite and carries information. Every refusal is one line that names the file and line, what was
//! expected, what was there and what to do.
//!
//! Files are comma-separated UTF-8 with a header line that names the columns. Grids are row-major: cell `(i, j)`
//! is entry `i * columns + j`, and indices start at 0.

mod cells;
mod clip;
mod counts;
mod covariate;
mod crs;
mod geojson;
mod german;
mod grid;
mod grouped;
mod line_feeds;
pub(crate) mod names;
#[cfg(feature = "archive")]
mod output;
mod pattern;
mod points;
mod raster;
mod returns;
mod series;
mod table;
mod window;

pub use counts::Counts;
pub use covariate::Covariate;
pub use crs::{Crs, SharedCrs};
pub use german::read_german;
pub use grid::Grid;
pub use grouped::{GroupedColumns, GroupedTable};
#[cfg(feature = "archive")]
pub(crate) use output::{LOCK, take_lock};
#[cfg(feature = "archive")]
pub use output::{OutputDir, add_file};
pub use pattern::{Pattern, Resolution, default_window};
pub use points::Points;
#[cfg(feature = "archive")]
pub use raster::write_geotiff;
pub use raster::{Bounds, Raster};
pub use returns::Returns;
pub use series::{Series, SeriesColumns};
pub use table::{Column, Row, Table};
pub use window::Window;
