//! Reads a point pattern: where events were seen.

use std::path::Path;

use super::crs::{Crs, looks_like_degrees, within_degrees};
use super::geojson;
use super::table::Table;
use crate::error::{Error, Result};

/// Places of events in map units, in the order of their file.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    places: Vec<(f64, f64)>,
    crs: Option<Crs>,
    source: String,
    named_degrees: bool,
}

impl Points {
    /// Reads a CSV file with the coordinates in two of its columns, or the points of a GeoJSON file (by its name).
    pub fn read(path: &Path, x: &str, y: &str) -> Result<Self> {
        if geojson::is_named(path) { Self::read_geojson(path) } else { Self::read_csv(path, x, y) }
    }

    fn read_geojson(path: &Path) -> Result<Self> {
        let found = geojson::read(path)?;
        if found.points.is_empty() {
            let got = match (found.polygons.len(), found.others.first()) {
                (0, None) => "none".to_owned(),
                (0, Some(kind)) => format!("a {kind}"),
                (n, _) => format!("{n} polygons"),
            };
            let remedy = "give a layer of points; the region goes to --window";
            return Err(Error::input(path.display().to_string(), "points", got, remedy));
        }
        Self::new(path.display().to_string(), found.points, found.crs)
    }

    fn read_csv(path: &Path, x: &str, y: &str) -> Result<Self> {
        Self::from_table(Table::open(path)?, x, y)
    }

    /// Takes the coordinates from two columns of an open table.
    pub fn from_table(mut table: Table, x: &str, y: &str) -> Result<Self> {
        let (x_column, y_column) =
            (table.column_of("--x-column", x)?, table.column_of("--y-column", y)?);
        let mut places = Vec::new();
        while let Some(row) = table.next_row()? {
            places.push((row.number(&x_column)?, row.number(&y_column)?));
        }
        let mut points = Self::new(table.source().display().to_string(), places, None)?;
        points.named_degrees = names_degrees(x) || names_degrees(y);
        Ok(points)
    }

    /// Takes places that `source` gave.
    pub fn new(
        source: impl Into<String>,
        places: Vec<(f64, f64)>,
        crs: Option<Crs>,
    ) -> Result<Self> {
        let source = source.into();
        if places.is_empty() {
            let remedy = "give at least one point";
            return Err(Error::input(source, "points", "none", remedy));
        }
        if let Some(bad) = places.iter().position(|p| !(p.0.is_finite() && p.1.is_finite())) {
            let place = format!("{source}, point {}", bad + 1);
            let got = format!("{:?}", places[bad]);
            return Err(Error::input(place, "finite coordinates", got, "correct or remove it"));
        }
        Ok(Points { places, crs, source, named_degrees: false })
    }

    /// The places.
    pub fn places(&self) -> &[(f64, f64)] {
        &self.places
    }

    /// The reference system, if the file names one.
    pub fn crs(&self) -> Option<&Crs> {
        self.crs.as_ref()
    }

    /// The file they came from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The number of points.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none; never so.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Lower left and upper right corner of the smallest rectangle around them.
    pub fn bounds(&self) -> ((f64, f64), (f64, f64)) {
        let start = ((f64::INFINITY, f64::INFINITY), (f64::NEG_INFINITY, f64::NEG_INFINITY));
        self.places.iter().fold(start, |(low, high), &(x, y)| {
            ((low.0.min(x), low.1.min(y)), (high.0.max(x), high.1.max(y)))
        })
    }

    /// Why the coordinates are taken for degrees, if they are.
    pub fn degrees(&self, crs: Option<&Crs>) -> Option<String> {
        let (low, high) = self.bounds();
        match crs {
            Some(crs) if crs.is_geographic() => {
                Some(format!("{crs}, whose coordinates are degrees"))
            }
            Some(crs) if crs.is_metric() => None,
            // A system that is not known says nothing, but no degrees lie beyond these bounds.
            Some(_) if !within_degrees(low, high) => None,
            _ if self.named_degrees => Some("columns named for longitude and latitude".into()),
            _ if looks_like_degrees(low, high) => Some(format!(
                "x between {} and {} and y between {} and {}, which look like longitude and latitude",
                low.0, high.0, low.1, high.1
            )),
            _ => None,
        }
    }
}

/// Whether a column is named as degrees are.
fn names_degrees(name: &str) -> bool {
    let name = name.to_lowercase();
    ["lon", "lat", "lng", "long", "longitude", "latitude"].contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn tables_and_layers_give_the_same_points() {
        let directory = tempfile::tempdir().unwrap();
        let (csv, json) = (directory.path().join("p.csv"), directory.path().join("p.geojson"));
        fs::write(&csv, "id,east,north\na,1,2\nb,3,4.5\n").unwrap();
        fs::write(&json, r#"{"type":"MultiPoint","coordinates":[[1,2],[3,4.5]]}"#).unwrap();
        let table = Points::read(&csv, "east", "north").unwrap();
        assert_eq!(table.places(), Points::read(&json, "x", "y").unwrap().places());
        assert_eq!(table.bounds(), ((1.0, 2.0), (3.0, 4.5)));
        assert!(Points::read(&csv, "x", "y").unwrap_err().to_string().contains("a column `x`"));
        fs::write(&csv, "x,y\n1,2\n3,\n").unwrap();
        assert!(Points::read(&csv, "x", "y").unwrap_err().to_string().contains("line 3"));
    }

    #[test]
    fn degrees_are_known_by_name_system_or_look() {
        let points = Points::new("p", vec![(-120.0, 35.0), (-119.0, 36.0)], None).unwrap();
        assert!(points.degrees(None).unwrap().contains("look like"));
        assert!(points.degrees(Some(&Crs::Epsg(4326))).unwrap().contains("EPSG:4326"));
        assert!(points.degrees(Some(&Crs::Epsg(3310))).is_none());
        assert!(points.degrees(Some(&Crs::Epsg(99999))).unwrap().contains("look like"));
        let mut far = Points::new("p", vec![(-2e5, 35.0), (-1e5, 36.0)], None).unwrap();
        far.named_degrees = true;
        assert!(far.degrees(Some(&Crs::Epsg(99999))).is_none() && far.degrees(None).is_some());
        assert!(names_degrees("Lon") && names_degrees("latitude") && !names_degrees("x"));
    }
}
