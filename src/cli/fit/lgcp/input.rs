//! Reads what an LGCP is fitted to: points in a window, or counts on a grid, with exposure and covariates.

use super::advice::advice;
use crate::cli::options::at_most;
use clap::Args;
use sshmc::data::{
    Bounds, Counts, Covariate, Crs, Pattern, Points, Raster, Resolution, SharedCrs, Table, Window,
    default_window,
};
use sshmc::spatial::Detail;
use sshmc::{Error, Result};
use std::path::{Path, PathBuf};

/// Options that name the data.
#[derive(Args, Debug)]
#[command(next_help_heading = "Data")]
pub(crate) struct Input {
    /// Points: a CSV with columns x and y, or a GeoJSON layer of points
    #[arg(long, value_name = "FILE")]
    pub(super) points: Option<PathBuf>,
    /// Counts instead of points: a CSV with columns i, j, y: row, column (from 0) and count of each cell; empty or NA where
    /// not observed
    #[arg(long, value_name = "FILE", conflicts_with_all = ["points", "window", "grid", "cell", "crs"])]
    pub(super) counts: Option<PathBuf>,
    /// Region in which points could be seen: GeoJSON polygons [default: the points' rectangle with a margin]
    #[arg(long, value_name = "FILE")]
    window: Option<PathBuf>,
    /// Column of the CSV with the coordinate to the east
    #[arg(long, value_name = "NAME", default_value = "x")]
    x_column: String,
    /// Column of the CSV with the coordinate to the north
    #[arg(long, value_name = "NAME", default_value = "y")]
    y_column: String,
    /// Cells along the longer side of the window [default: 32 to 128, as fine as what the points show]
    #[arg(long, value_name = "N", conflicts_with = "cell")]
    grid: Option<usize>,
    /// Side of a cell in map units, instead of --grid
    #[arg(long, value_name = "SIZE")]
    cell: Option<f64>,
    /// Effort or population per unit of area: a number, a raster (.tif, .npy, .csv with x,y,value), or a CSV with columns
    /// i, j, exposure
    #[arg(long, value_name = "VALUE_OR_FILE", allow_negative_numbers = true)]
    exposure: Option<String>,
    /// Covariate of the log intensity as a raster (.tif, .npy, .csv with x,y,value); may be repeated
    #[arg(long = "covariate", value_name = "NAME=FILE")]
    covariates: Vec<String>,
    /// Reference system of the points, for instance EPSG:3310, if their file does not say
    #[arg(long, value_name = "CRS")]
    crs: Option<String>,
    /// Take longitudes and latitudes as they are, as if degrees were lengths
    #[arg(long)]
    allow_degrees: bool,
}

/// The data of an LGCP, read and checked.
pub(crate) struct LgcpData {
    /// Counts with exposure.
    pub(crate) counts: Counts,
    /// Points inside the window; none if only counts are known.
    pub(crate) places: Option<Vec<(f64, f64)>>,
    /// The window.
    pub(crate) window: Window,
    /// Covariates on the grid.
    pub(crate) covariates: Vec<Covariate>,
    /// Cells of which no map can be made, because a covariate is missing there.
    pub(crate) unmapped: Vec<usize>,
    /// Points that the fit does not see, if some are held out.
    pub(crate) held_out: Option<Counts>,
    /// What the user should know about the input.
    pub(crate) notes: Vec<String>,
}

impl LgcpData {
    fn new(counts: Counts, places: Option<Vec<(f64, f64)>>, window: Window) -> Self {
        let (covariates, unmapped, notes) = (vec![], vec![], vec![]);
        Self { counts, places, window, covariates, unmapped, held_out: None, notes }
    }

    /// Takes a share of the points away from the fit, and as much of the exposure.
    pub(super) fn hold_out(&mut self, share: f64, seed: u64) -> Result<()> {
        let (kept, held_out) = self.counts.thin(share, seed)?;
        self.notes.push(format!("{} points are held out for scoring", held_out.total()));
        (self.counts, self.held_out) = (kept, Some(held_out));
        Ok(())
    }
}

impl Input {
    /// Reads everything.
    pub(super) fn read(&self) -> Result<LgcpData> {
        let mut shared = SharedCrs::default();
        let mut data = match (&self.points, &self.counts) {
            (Some(points), _) => self.read_points(points, &mut shared)?,
            (None, Some(counts)) => {
                let counts = Counts::read(counts)?;
                let window = Window::of_grid(counts.grid())?;
                LgcpData::new(counts, None, window)
            }
            (None, None) => {
                let expected = "--points FILE or --counts FILE";
                return Err(Error::input("fit lgcp", expected, "neither", "give one of them"));
            }
        };
        self.add_exposure(&mut data, &mut shared)?;
        self.add_covariates(&mut data, &mut shared)?;
        data.window = data.window.with_crs(shared.crs().cloned());
        Ok(data)
    }

    /// The files that are read, which results must not replace.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let rasters = self.covariates.iter().filter_map(|c| c.split_once('=')).map(|c| c.1.into());
        let named = [&self.points, &self.counts, &self.window].into_iter().flatten().cloned();
        named.chain(self.exposure.iter().map(PathBuf::from)).chain(rasters).collect()
    }

    /// Reads other files than those that were named.
    pub(super) fn replace_files(
        &mut self,
        replace: impl Fn(&mut PathBuf) -> Result<()>,
    ) -> Result<()> {
        for path in [&mut self.points, &mut self.counts, &mut self.window].into_iter().flatten() {
            replace(path)?;
        }
        if let Some(exposure) = &mut self.exposure {
            let mut path = PathBuf::from(&exposure);
            replace(&mut path)?;
            *exposure = path.display().to_string();
        }
        for covariate in &mut self.covariates {
            let Some((name, file)) = covariate.split_once('=') else { continue };
            let mut path = PathBuf::from(file);
            replace(&mut path)?;
            *covariate = format!("{name}={}", path.display());
        }
        Ok(())
    }

    fn read_points(&self, path: &Path, shared: &mut SharedCrs) -> Result<LgcpData> {
        let typed = self.crs.as_deref().map(Crs::typed).transpose()?;
        let points = Points::read(path, &self.x_column, &self.y_column)?;
        shared.take("--crs", typed.as_ref())?;
        shared.take(points.source(), points.crs())?;
        let given = self.window.as_deref().map(Window::read).transpose()?;
        if let (Some(window), Some(path)) = (&given, &self.window) {
            shared.take(&path.display().to_string(), window.crs())?;
        }
        let mut notes = Vec::new();
        self.check_degrees(&points, shared.crs(), &mut notes)?;
        let window = match given {
            Some(window) => window,
            None => {
                let window = default_window(&points, shared.crs().cloned())?;
                let (low, high) = window.bounds();
                notes.push(format!(
                    "no --window was given: the points' rectangle with a margin is taken, x {:.6} to {:.6}, y {:.6} to {:.6}",
                    low.0, high.0, low.1, high.1
                ));
                window
            }
        };
        let detail = Detail::of(&window, points.places());
        let pattern = Pattern::new(&points, window, self.resolution(&detail)?)?;
        let chosen = self.grid.is_none() && self.cell.is_none();
        notes.push(advice(pattern.counts.grid(), &detail, chosen));
        if pattern.outside > 0 {
            notes.push(format!(
                "{} of {} points lie outside the window and are left out",
                pattern.outside,
                points.len()
            ));
        }
        let Pattern { counts, inside, window, .. } = pattern;
        Ok(LgcpData { notes, ..LgcpData::new(counts, Some(inside), window) })
    }

    fn check_degrees(
        &self,
        points: &Points,
        crs: Option<&Crs>,
        notes: &mut Vec<String>,
    ) -> Result<()> {
        let Some(reason) = points.degrees(crs) else { return Ok(()) };
        if self.allow_degrees {
            notes.push(
                "coordinates are degrees taken as lengths: distances and areas are distorted"
                    .into(),
            );
            return Ok(());
        }
        Err(Error::input(
            points.source(),
            "coordinates that are lengths, such as metres",
            reason,
            "project points and window first (for instance ogr2ogr -t_srs EPSG:…), name the system with --crs if it \
             is one in metres, or give --allow-degrees",
        ))
    }

    fn resolution(&self, detail: &Detail) -> Result<Resolution> {
        match (self.grid, self.cell) {
            (Some(grid), _) => {
                if grid < 2 {
                    let remedy = "give the cells along the longer side, for instance --grid 64";
                    return Err(Error::input("--grid", "at least 2", grid.to_string(), remedy));
                }
                at_most("--grid", grid as u64, 2048)?;
                Ok(Resolution::Cells(grid))
            }
            (None, Some(cell)) if cell > 0.0 && cell.is_finite() => Ok(Resolution::Size(cell)),
            (None, Some(cell)) => {
                let remedy = "give the side of a cell in map units";
                Err(Error::input("--cell", "a positive number", cell.to_string(), remedy))
            }
            (None, None) => Ok(Resolution::Cells(detail.cells())),
        }
    }

    fn add_exposure(&self, data: &mut LgcpData, shared: &mut SharedCrs) -> Result<()> {
        let Some(text) = &self.exposure else { return Ok(()) };
        let counts = data.counts.clone();
        if let Ok(value) = text.trim().parse() {
            data.counts = counts.with_exposure_value(value)?;
            return Ok(());
        }
        let path = Path::new(text);
        if is_cell_table(path)? {
            data.counts = counts.with_exposure_file(path)?;
            return Ok(());
        }
        let raster = read_raster(path, data, shared)?;
        let (counts, lost) = counts.with_exposure_raster(&raster)?;
        data.counts = counts;
        if lost > 0.0 {
            data.notes.push(format!(
                "{lost} points lie in cells where the exposure is 0 or missing; these cells count as not observed"
            ));
        }
        Ok(())
    }

    fn add_covariates(&self, data: &mut LgcpData, shared: &mut SharedCrs) -> Result<()> {
        for text in &self.covariates {
            let Some((name, file)) = text.split_once('=') else {
                let remedy = "write for instance --covariate elevation=dem.tif";
                return Err(Error::input("--covariate", "NAME=FILE", text, remedy));
            };
            if data.covariates.iter().any(|known| known.name() == name) {
                let remedy = "give each covariate a name of its own";
                return Err(Error::input("--covariate", "each name once", name, remedy));
            }
            let raster = read_raster(Path::new(file), data, shared)?;
            let (covariate, missing) = Covariate::new(name, &raster, &data.counts)?;
            if !missing.is_empty() {
                let lost = data.counts.hide(&missing)?;
                data.unmapped.extend(&missing);
                data.notes.push(format!(
                    "{name} is missing in {} cells with {lost} points; these cells count as not observed",
                    missing.len()
                ));
            }
            data.covariates.push(covariate);
        }
        Ok(())
    }
}

/// A raster that covers the window and shares its coordinates.
fn read_raster(path: &Path, data: &LgcpData, shared: &mut SharedCrs) -> Result<Raster> {
    let bounds: Bounds = data.window.bounds();
    let raster = Raster::read(path, bounds)?;
    shared.take(raster.source(), raster.crs())?;
    raster.cover(bounds, data.counts.grid().cell())?;
    Ok(raster)
}

/// Whether a file is a table with a row per cell.
fn is_cell_table(path: &Path) -> Result<bool> {
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
    if matches!(extension.as_deref(), Some("tif" | "tiff" | "npy")) {
        return Ok(false);
    }
    let table = Table::open(path)?;
    let has = |name: &str| table.columns().iter().any(|column| column == name);
    Ok(!(has("x") && has("y")) || has("i"))
}
