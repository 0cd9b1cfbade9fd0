//! Holds a series of returns at equal steps of time.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::table::Table;
use crate::error::{Error, Result};

/// A series of finite returns that are not all the same, in order of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Returns {
    y: Vec<f64>,
}

impl Returns {
    /// Reads the column `y` of a file, one row per step; other columns are ignored.
    pub fn read(path: &Path) -> Result<Self> {
        Self::from_table(Table::open(path)?)
    }

    /// Reads the returns from an open table, as [`Returns::read`] does.
    pub fn from_table(mut table: Table) -> Result<Self> {
        let column = table.column("y")?;
        let mut y = Vec::new();
        while let Some(row) = table.next_row()? {
            y.push(row.number(&column)?);
        }
        Self::informative(&table.source().display().to_string(), y)
    }

    /// Takes returns as they are.
    pub fn new(y: &[f64]) -> Result<Self> {
        Self::from_vec(y.to_vec())
    }

    /// Takes the returns as they are.
    pub fn from_vec(y: Vec<f64>) -> Result<Self> {
        if let Some(index) = y.iter().position(|value| !value.is_finite()) {
            let remedy = "fill in or leave out that step";
            let place = format!("returns, step {index}");
            return Err(Error::input(place, "a finite number", y[index].to_string(), remedy));
        }
        Self::informative("returns", y)
    }

    /// Accepts finite values if they say anything about volatility.
    pub(super) fn informative(place: &str, y: Vec<f64>) -> Result<Self> {
        let constant = y.iter().all(|&value| value == y[0]);
        let (got, remedy) = match y.len() {
            0 | 1 => (format!("{} returns", y.len()), "give at least 2 steps"),
            _ if constant => (
                format!("{} in all {} steps", y[0], y.len()),
                "a constant series has no volatility to learn; check that `y` holds returns",
            ),
            _ => return Ok(Returns { y }),
        };
        Err(Error::input(place, "returns that vary", got, remedy))
    }

    /// The returns in order of time; isolated zeros are possible.
    pub fn y(&self) -> &[f64] {
        &self.y
    }

    /// The number of steps, at least 2.
    pub fn steps(&self) -> usize {
        self.y.len()
    }

    /// Writes a file that [`Returns::read`] reads back exactly.
    pub fn write_csv(&self, path: &Path) -> Result<()> {
        let file = File::create(path).map_err(Error::io("create", path))?;
        let mut writer = BufWriter::new(file);
        self.write(&mut writer).and_then(|()| writer.flush()).map_err(Error::io("write", path))
    }

    /// Writes the contents of that file anywhere.
    pub fn write(&self, writer: &mut impl Write) -> io::Result<()> {
        writeln!(writer, "y")?;
        // The debug form is the shortest that reads back to the same number, however small.
        self.y.iter().try_for_each(|value| writeln!(writer, "{value:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_series_reads_back_exactly() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("returns.csv");
        let returns = Returns::from_vec(vec![0.1, 0.0, -1.0 / 3.0, 1e-300, 5e300]).unwrap();
        returns.write_csv(&path).unwrap();
        assert_eq!(Returns::read(&path).unwrap(), returns);
        assert_eq!(returns.steps(), 5);
    }

    #[test]
    fn series_without_information_are_refused() {
        for (y, part) in [
            (vec![], "got 0 returns"),
            (vec![1.0], "got 1 returns"),
            (vec![0.0, -0.0, 0.0], "0 in all 3 steps"),
            (vec![2.5; 4], "2.5 in all 4 steps"),
            (vec![1.0, f64::NAN], "returns, step 1: expected a finite number, got NaN"),
            (vec![f64::INFINITY, 1.0], "returns, step 0"),
        ] {
            let message = Returns::from_vec(y).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
