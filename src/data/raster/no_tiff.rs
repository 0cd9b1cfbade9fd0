//! Stands in for GeoTIFF in a build without the feature `archive`, and says so.

use super::Raster;
use crate::error::{Error, Result};
use std::path::Path;

pub(super) fn read(path: &Path) -> Result<Raster> {
    let remedy = "build sshmc with the feature archive, or convert it";
    let expected = "a raster in NumPy (.npy) or CSV (.csv with x, y, value)";
    Err(Error::input(path.display().to_string(), expected, "a GeoTIFF", remedy))
}
