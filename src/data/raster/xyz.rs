//! Reads a raster from a table with the centre and the value of each pixel.

use std::path::Path;

use super::Raster;
use crate::data::table::Table;
use crate::error::{Error, Result};

/// How far from its place in the lattice a centre may lie, in pixels: decimals are often cut.
const SLACK: f64 = 0.02;

/// Reads columns `x`, `y` and `value` (empty or NA: missing); pixels that are not listed are missing too.
pub(super) fn read(path: &Path) -> Result<Raster> {
    let mut table = Table::open(path)?;
    let (x, y, value) = (table.column("x")?, table.column("y")?, table.column("value")?);
    let mut pixels = Vec::new();
    while let Some(row) = table.next_row()? {
        let value = row.number_or_missing(&value)?.unwrap_or(f64::NAN);
        pixels.push((row.number(&x)?, row.number(&y)?, value, row.line()));
    }
    let across = Axis::of(pixels.iter().map(|p| p.0));
    let along = Axis::of(pixels.iter().map(|p| p.1));
    let (Some(across), Some(along)) = (across, along) else {
        let remedy = "list the centres of a rectangle of pixels";
        return Err(table.refuse("at least two columns and two rows of pixels", "fewer", remedy));
    };
    // A lattice with far more places than pixels is no lattice.
    if across.count.saturating_mul(along.count) > 100 * pixels.len() + 10_000 {
        let got = format!("centres with spacings down to {} and {}", across.step, along.step);
        let remedy = "interpolate scattered values to a raster first";
        return Err(table.refuse("centres of regular pixels", got, remedy));
    }
    let mut values = vec![f64::NAN; across.count * along.count];
    let mut taken = vec![false; values.len()];
    for (x, y, value, line) in pixels {
        let place = format!("{}, line {line}", path.display());
        let (Some(j), Some(i)) = (across.index(x), along.index(y)) else {
            let expected = format!("a centre on the lattice of {} by {}", across.step, along.step);
            let remedy = "interpolate scattered values to a raster first";
            return Err(Error::input(place, expected, format!("({x}, {y})"), remedy));
        };
        let index = i * across.count + j;
        if std::mem::replace(&mut taken[index], true) {
            let got = format!("({x}, {y}) again");
            return Err(Error::input(place, "each pixel once", got, "remove one of the lines"));
        }
        values[index] = value;
    }
    let corner = (across.first - 0.5 * across.step, along.first - 0.5 * along.step);
    let size = (along.count, across.count);
    Raster::new(path, size, corner, (across.step, along.step), values, None)
}

/// Equal steps along one axis.
struct Axis {
    first: f64,
    step: f64,
    count: usize,
}

impl Axis {
    /// The steps of the smallest spacing between distinct coordinates.
    fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.collect();
        sorted.sort_by(f64::total_cmp);
        let (first, last) = (*sorted.first()?, *sorted.last()?);
        let least = 1e-9 * (last - first);
        let gaps = sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|&gap| gap > least);
        let step = gaps.fold(f64::INFINITY, f64::min);
        let steps = ((last - first) / step).round();
        // Spread over the whole length, or a rounded step would drift.
        (1.0..1e6).contains(&steps).then(|| Axis {
            first,
            step: (last - first) / steps,
            count: steps as usize + 1,
        })
    }

    fn index(&self, value: f64) -> Option<usize> {
        let place = (value - self.first) / self.step;
        ((place - place.round()).abs() <= SLACK).then_some(place.round() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn parse(text: &str) -> Result<Raster> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("r.csv");
        fs::write(&path, text).unwrap();
        read(&path)
    }

    #[test]
    fn centres_make_a_raster_with_gaps() {
        let raster = parse("x,y,value\n1,10,5\n3,10,6\n3,14,7\n1,12,NA\n").unwrap();
        assert_eq!(raster.bounds(), ((0.0, 9.0), (4.0, 15.0)));
        assert_eq!((raster.rows, raster.columns), (3, 2));
        assert_eq!(raster.values[0..2], [5.0, 6.0]);
        assert!(raster.values[2].is_nan() && raster.values[4].is_nan());
        assert_eq!(raster.values[5], 7.0);
    }

    #[test]
    fn scattered_and_repeated_centres_are_refused() {
        for (text, part) in [
            ("x,y,value\n0,0,1\n1,0,1\n0,1,1\n1.4,1,2\n2,0,3\n", "line"),
            ("x,y,value\n0,0,1\n1,0,1\n0,1,1\n0,1,2\n", "line 5: expected each pixel once"),
            ("x,y,value\n0,0,1\n0,1,1\n", "at least two columns"),
            ("x,y,z\n0,0,1\n", "a column `value`"),
        ] {
            let message = parse(text).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
