//! Maps: windows and points in GeoJSON, rasters in GeoTIFF, NumPy and text.

use super::{assert_mixed, assert_refused, corpus, reader, scratch, storm};
use sshmc::data::{Crs, Grid, Points, Raster, Window, write_geotiff};
use std::fs;
use std::path::Path;

fn grid() -> Grid {
    Grid::new(4, 3, 0.3, (0.0, 0.0)).unwrap()
}

#[test]
fn windows() {
    let directory = scratch();
    let path = directory.path().join("damaged.geojson");
    let read = |_: usize, bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let window = Window::read(&path)?;
        let shares = window.inside_shares(&grid());
        assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{shares:?}");
        window.contains((0.5, 0.5));
        fs::write(&path, window.to_geojson().to_string()).unwrap();
        let again = Window::read(&path).unwrap();
        assert_eq!(again.area(), window.area(), "a window that is written is another one");
        Ok(())
    };
    reader("windows", 1.0, "windows", read);
}

#[test]
fn layers_of_points() {
    let directory = scratch();
    let path = directory.path().join("damaged.geojson");
    let read = |_: usize, bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        Points::read(&path, "x", "y").map(drop)
    };
    reader("layers of points", 1.0, "layers", read);
}

/// Reads a raster and averages it over a grid.
fn raster(path: &Path, bytes: &[u8]) -> sshmc::Result<()> {
    fs::write(path, bytes).unwrap();
    let raster = Raster::read(path, ((0.0, 0.0), (1.0, 1.0)))?;
    assert_eq!(raster.means(&grid()).len(), 12);
    // Uncovered parts are refused in words, whatever the raster.
    let _ = raster.cover(((0.0, 0.0), (1.0, 1.0)), 0.3);
    Ok(())
}

/// GeoTIFFs as other programs write them, and as this one does.
#[test]
fn geotiffs() {
    let directory = scratch();
    let path = directory.path().join("damaged.tif");
    assert_refused("geotiff", |bytes| raster(&path, bytes));
    let mut all = corpus("geotiff");
    let values: Vec<f64> = (0..12).map(|k| if k == 5 { f64::NAN } else { f64::from(k) }).collect();
    let mut ours = std::io::Cursor::new(Vec::new());
    write_geotiff(&grid(), &values, Some(&Crs::Epsg(5070)), &mut ours).unwrap();
    all.push(ours.into_inner());
    let tally = storm("GeoTIFF", 1.0, &all, |_, bytes| raster(&path, bytes));
    assert_mixed("GeoTIFF", &tally);
}

#[test]
fn numpy_arrays() {
    let directory = scratch();
    let path = directory.path().join("damaged.npy");
    reader("NumPy", 1.0, "npy", |_, bytes| raster(&path, bytes));
}

#[test]
fn rasters_in_text() {
    let directory = scratch();
    let path = directory.path().join("damaged.csv");
    reader("rasters in text", 1.0, "xyz", |_, bytes| raster(&path, bytes));
}
