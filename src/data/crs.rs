//! Names the coordinate reference system of a file, tells degrees from lengths, and refuses to mix systems.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::names::shown;
use crate::error::{Error, Result};

/// Geographic systems that files in the wild declare; their coordinates are degrees.
const GEOGRAPHIC: [u32; 24] = [
    4326, 4269, 4267, 4258, 4283, 4617, 4674, 4230, 4277, 4314, 4612, 4148, 4152, 4171, 4202, 4203,
    4490, 4610, 4759, 4979, 4995, 6318, 6668, 7844,
];

/// Projected systems in metres: those of countries and continents that are met most. Others may be in feet, so their
/// lengths are given without a unit.
const METRIC: [u32; 22] = [
    2056, 2154, 2180, 2193, 21781, 27700, 28992, 31370, 3006, 3035, 3067, 3310, 3347, 3395, 3577,
    3857, 3978, 5070, 5880, 6350, 6933, 8857,
];

/// The same: universal transverse Mercator on several ellipsoids, and the grids of Australia.
const METRIC_RANGES: [std::ops::RangeInclusive<u32>; 7] = [
    32601..=32660,
    32701..=32760,
    25828..=25838,
    26901..=26923,
    28348..=28358,
    7846..=7859,
    31978..=31985,
];

/// A coordinate reference system, by its number in the EPSG register or by whatever name a file gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Crs {
    /// A number of the EPSG register.
    Epsg(u32),
    /// Any other name.
    Named(String),
}

impl Crs {
    /// Reads `EPSG:3310`, `urn:ogc:def:crs:EPSG::3310`, `urn:ogc:def:crs:OGC:1.3:CRS84`, or any other name.
    pub fn parse(name: &str) -> Self {
        let name = name.trim();
        let upper = name.to_uppercase();
        if upper.ends_with("CRS84") {
            return Crs::Epsg(4326);
        }
        let number = upper.rsplit([':', '/', '#']).next().and_then(|last| last.parse().ok());
        match number {
            Some(code) if upper.contains("EPSG") => Crs::Epsg(code),
            _ => Crs::Named(name.to_owned()),
        }
    }

    /// Reads what was typed after `--crs`: a name that an authority gave, since any other says nothing about coordinates.
    pub fn typed(name: &str) -> Result<Self> {
        let crs = Self::parse(name);
        let named = match name.trim().rsplit_once([':', '/', '#']) {
            Some((authority, code)) => {
                authority.starts_with(|c: char| c.is_ascii_alphabetic())
                    && !code.is_empty()
                    && code.chars().all(|c| c.is_ascii_alphanumeric())
            }
            None => false,
        };
        // A number of the register that cannot be one, such as EPSG:abc.
        let misnumbered = name.to_uppercase().contains("EPSG") && !matches!(crs, Crs::Epsg(1..));
        if (named && !misnumbered) || crs.is_geographic() {
            return Ok(crs);
        }
        Err(Error::input(
            "--crs",
            "AUTHORITY:CODE",
            shown(name),
            "give the number of the points' system, for instance --crs EPSG:5070, or leave it out",
        ))
    }

    /// Whether its coordinates are known to be metres.
    pub fn is_metric(&self) -> bool {
        let Crs::Epsg(code) = self else { return false };
        METRIC.contains(code) || METRIC_RANGES.iter().any(|range| range.contains(code))
    }

    /// Whether its coordinates are known to be degrees.
    pub fn is_geographic(&self) -> bool {
        matches!(self, Crs::Epsg(code) if GEOGRAPHIC.contains(code))
    }
}

impl fmt::Display for Crs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Crs::Epsg(code) => write!(f, "EPSG:{code}"),
            Crs::Named(name) => f.write_str(name),
        }
    }
}

/// The system that all inputs share, with the name of the first that declared one.
#[derive(Clone, Debug, Default)]
pub struct SharedCrs {
    known: Option<(Crs, String)>,
}

impl SharedCrs {
    /// Takes the system that `place` declares, if any; another than the one known so far is refused.
    pub fn take(&mut self, place: &str, crs: Option<&Crs>) -> Result<()> {
        let Some(crs) = crs else { return Ok(()) };
        match &self.known {
            None => self.known = Some((crs.clone(), place.to_owned())),
            Some((known, first)) if known != crs => {
                return Err(Error::input(
                    place,
                    format!("coordinates in {known}, as {first} has"),
                    format!("{crs}"),
                    "reproject one of them, for instance with ogr2ogr or gdalwarp -t_srs",
                ));
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// What is known.
    pub fn crs(&self) -> Option<&Crs> {
        self.known.as_ref().map(|known| &known.0)
    }
}

/// Whether a box of coordinates lies within the bounds of longitudes and latitudes.
pub(super) fn within_degrees(low: (f64, f64), high: (f64, f64)) -> bool {
    low.0 >= -180.0 && high.0 <= 180.0 && low.1 >= -90.0 && high.1 <= 90.0
}

/// Whether a box of coordinates looks like longitudes and latitudes: within their bounds and far from the origin for its
/// size, or as wide as a continent with places west of Greenwich. A plot that starts near (0, 0) does not.
pub(super) fn looks_like_degrees(low: (f64, f64), high: (f64, f64)) -> bool {
    // Within two degrees of (0, 0) is nothing but the Gulf of Guinea, and every pattern in the unit square.
    let away = [low.0, low.1, high.0, high.1].iter().any(|c| c.abs() > 2.0);
    let (width, height) = (high.0 - low.0, high.1 - low.1);
    let far = |low: f64, high: f64, size: f64| low.abs().min(high.abs()) > size && low * high > 0.0;
    let longest = width.max(height);
    let offset = far(low.0, high.0, longest) || far(low.1, high.1, longest);
    away && within_degrees(low, high) && (offset || (low.0 < 0.0 && width > 45.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_use_are_understood() {
        for (name, code) in [
            ("EPSG:3310", 3310),
            ("epsg:32633", 32633),
            ("urn:ogc:def:crs:EPSG::5070", 5070),
            ("http://www.opengis.net/def/crs/EPSG/0/27700", 27700),
            ("urn:ogc:def:crs:OGC:1.3:CRS84", 4326),
        ] {
            assert_eq!(Crs::parse(name), Crs::Epsg(code), "{name}");
        }
        assert_eq!(Crs::parse("my plot"), Crs::Named("my plot".into()));
        assert!(
            Crs::parse("EPSG:4326").is_geographic() && !Crs::parse("EPSG:4647").is_geographic()
        );
    }

    #[test]
    fn what_is_typed_must_be_a_name_of_an_authority() {
        for good in
            ["EPSG:5070", " epsg:99999", "ESRI:102008", "urn:ogc:def:crs:OGC:1.3:CRS84", "CRS84"]
        {
            assert_eq!(Crs::typed(good).unwrap(), Crs::parse(good));
        }
        for bad in
            ["", " ", "foo", "5070", "EPSG", "EPSG:", ":5070", "EPSG:abc", "EPSG:0", "EPSG:-1"]
        {
            let message = Crs::typed(bad).unwrap_err().to_string();
            assert!(message.contains("--crs: expected AUTHORITY:CODE"), "{bad}: {message}");
        }
    }

    #[test]
    fn systems_are_not_mixed() {
        let mut shared = SharedCrs::default();
        shared.take("a", None).unwrap();
        shared.take("b", Some(&Crs::Epsg(3310))).unwrap();
        shared.take("c", Some(&Crs::Epsg(3310))).unwrap();
        let message = shared.take("d", Some(&Crs::Epsg(32633))).unwrap_err().to_string();
        assert!(message.contains("EPSG:3310, as b has, got EPSG:32633"), "{message}");
    }

    #[test]
    fn degrees_are_told_from_plots() {
        assert!(looks_like_degrees((-124.4, 32.5), (-114.1, 42.0)));
        assert!(looks_like_degrees((-8.6, 49.9), (1.8, 60.9)));
        assert!(looks_like_degrees((-170.0, -60.0), (179.0, 80.0)));
        for high in [(1.0, 1.0), (100.0, 50.0), (20.0, 20.0)] {
            assert!(!looks_like_degrees((0.0, 0.0), high), "{high:?}");
            assert!(!looks_like_degrees((0.05 * high.0, 0.02 * high.1), high), "{high:?}");
        }
        assert!(!looks_like_degrees((500_000.0, 4_000_000.0), (600_000.0, 4_100_000.0)));
        assert!(!looks_like_degrees((-1.0, -1.0), (1.0, 1.0)));
        assert!(!looks_like_degrees((0.6, 0.7), (0.7, 0.8)));
    }
}
