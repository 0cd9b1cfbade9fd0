//! Puts a covariate on the grid of the counts and standardises it.

use super::counts::Counts;
use super::raster::Raster;
use crate::error::{Error, Result};

/// A covariate, one value per cell, with mean 0 and standard deviation 1 over what was observed.
#[derive(Clone, Debug, PartialEq)]
pub struct Covariate {
    name: String,
    values: Vec<f64>,
    mean: f64,
    sd: f64,
}

impl Covariate {
    /// Averages a raster over the cells. Where it is missing the value is that of the mean, and the cell is to be left out:
    /// the second value lists those cells.
    pub fn new(name: &str, raster: &Raster, counts: &Counts) -> Result<(Self, Vec<usize>)> {
        check_name(name)?;
        let place = format!("--covariate {name}={}", raster.source());
        let means = raster.means(counts.grid());
        let observed = |cell: &usize| counts.exposure()[*cell] > 0.0;
        let (known, missing): (Vec<usize>, Vec<usize>) =
            (0..means.len()).filter(observed).partition(|&cell| means[cell].is_finite());
        if known.is_empty() {
            let remedy = "check its no-data value and its coordinates";
            return Err(Error::input(place, "values in the window", "none in any cell", remedy));
        }
        let total: f64 = known.iter().map(|&c| counts.share(c)).sum();
        let mean = known.iter().map(|&c| counts.share(c) * means[c]).sum::<f64>() / total;
        let squares = known.iter().map(|&c| counts.share(c) * (means[c] - mean).powi(2));
        let sd = (squares.sum::<f64>() / total).sqrt();
        if sd <= 1e-12 * mean.abs() || sd == 0.0 {
            let got = format!("{mean} in every cell");
            let remedy = "a constant says nothing beyond mu; leave it out";
            return Err(Error::input(place, "a covariate that varies", got, remedy));
        }
        let standard = |value: f64| if value.is_finite() { (value - mean) / sd } else { 0.0 };
        let values = means.into_iter().map(standard).collect();
        Ok((Covariate { name: name.to_owned(), values, mean, sd }, missing))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The standardised value of each cell.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Its mean over the observed area.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Its standard deviation over the observed area: a coefficient divided by it is per original unit.
    pub fn sd(&self) -> f64 {
        self.sd
    }
}

/// Names that would be confused with the model's own or cannot stand in a table's header.
fn check_name(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let start = name.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
    let taken = [
        "sigma",
        "sigma2",
        "range",
        "mu",
        "chain",
        "draw",
        "energy",
        "acceptance",
        "steps",
        "divergent",
        "ratio",
        "angle",
        "nugget",
    ];
    if start && name.chars().all(plain) && !taken.contains(&name) {
        return Ok(());
    }
    Err(Error::input(
        format!("--covariate {name}=…"),
        "a name of letters, digits and _ that is not taken",
        super::names::shown(name),
        "write --covariate NAME=FILE, for instance elevation=dem.tif",
    ))
}
