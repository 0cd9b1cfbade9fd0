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
        let place = format!("--covariate {name}={}", raster.source());
        Self::standardised(name, place, raster.means(counts.grid()), counts)
    }

    /// Takes one value per cell, all of them known where something was observed.
    pub fn from_values(name: &str, values: Vec<f64>, counts: &Counts) -> Result<Self> {
        let place = format!("covariate {name}");
        let cells = counts.grid().cells();
        if values.len() != cells {
            let (expected, got) = (format!("{cells} values"), values.len().to_string());
            return Err(Error::input(place, expected, got, "give one value per cell, row by row"));
        }
        let (covariate, missing) = Self::standardised(name, place.clone(), values, counts)?;
        match missing.first() {
            None => Ok(covariate),
            Some(cell) => {
                let (i, j) = counts.grid().position(*cell);
                let got = format!("none in cell ({i}, {j})");
                let remedy = "hide the cells where it is missing first";
                Err(Error::input(place, "a value in every observed cell", got, remedy))
            }
        }
    }

    fn standardised(
        name: &str,
        place: String,
        means: Vec<f64>,
        counts: &Counts,
    ) -> Result<(Self, Vec<usize>)> {
        check_name(name)?;
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
        "size",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_standardised_over_what_was_observed_and_gaps_refused() {
        let counts = Counts::from_vec(2, 3, vec![1.0, 0.0, f64::NAN, 2.0, 0.0, 0.0]).unwrap();
        let values = vec![1.0, 2.0, f64::NAN, 3.0, 4.0, 5.0];
        let slope = Covariate::from_values("slope", values, &counts).unwrap();
        assert_eq!((slope.mean(), slope.sd()), (3.0, 2f64.sqrt()));
        assert_eq!(slope.values()[2..4], [0.0, 0.0]);
        assert!((slope.values()[5] - 2f64.sqrt()).abs() < 4.0 * f64::EPSILON);
        for (values, part) in [
            (vec![1.0; 5], "6 values"),
            (vec![1.0; 6], "varies"),
            (vec![1.0, f64::NAN, 0.0, 0.0, 0.0, 0.0], "cell (0, 1)"),
        ] {
            let message = Covariate::from_values("slope", values, &counts).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
