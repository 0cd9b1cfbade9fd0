//! Tables: counts, exposures, returns, prices, series, groups, points.

use super::{reader, scratch};
use sshmc::data::{
    Counts, GroupedColumns, GroupedTable, Pattern, Points, Resolution, Returns, Series,
    SeriesColumns, Table, default_window, read_german,
};
use sshmc::model::{LgcpOptions, lgcp, logistic, stochvol};
use std::fs;
use std::io::Cursor;

fn table(bytes: &[u8]) -> sshmc::Result<Table> {
    Table::from_reader("damaged.csv", Cursor::new(bytes.to_vec()))
}

/// The largest grid a model is made of, so that cases stay cheap.
const LARGEST: usize = 64;

#[test]
fn counts() {
    let read = |_: usize, bytes: &[u8]| {
        let mut counts = Counts::from_table(table(bytes)?)?;
        if table(bytes)?.columns().iter().any(|name| name == "exposure") {
            counts = counts.with_exposure_table(table(bytes)?)?;
        }
        if counts.grid().cells() <= LARGEST {
            lgcp(&counts, &LgcpOptions::default())?;
        }
        Ok(())
    };
    reader("counts", 0.5, "counts", read);
}

#[test]
fn exposures() {
    let counts = Counts::from_vec(3, 2, vec![1.0; 6]).unwrap();
    let read = |_: usize, bytes: &[u8]| {
        counts.clone().with_exposure_table(table(bytes)?)?;
        Ok(())
    };
    reader("exposures", 1.0, "exposures", read);
}

#[test]
fn returns() {
    let read =
        |_: usize, bytes: &[u8]| stochvol(&Returns::from_table(table(bytes)?)?, &[]).map(drop);
    reader("returns", 1.0, "returns", read);
}

#[test]
fn series() {
    let directory = scratch();
    let path = directory.path().join("damaged.csv");
    for (name, folder, prices, by, values) in [
        ("series side by side", "series", false, None, &["a", "b"][..]),
        ("series of prices", "prices", true, Some("b"), &["a"][..]),
    ] {
        let columns = SeriesColumns {
            values: values.iter().map(ToString::to_string).collect(),
            prices,
            by: by.map(String::from),
        };
        let read = |_: usize, bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            for one in Series::read(&path, &columns)? {
                let finite = one.returns.y().iter().all(|y| y.is_finite());
                assert!(finite, "{}: returns that are no numbers", one.name);
            }
            Ok(())
        };
        reader(name, 0.5, folder, read);
    }
}

#[test]
fn groups() {
    let columns = GroupedColumns { intercept: true, ..GroupedColumns::default() };
    let read = |_: usize, bytes: &[u8]| {
        logistic(&GroupedTable::from_table(table(bytes)?, &columns)?, &[]).map(drop)
    };
    reader("groups", 1.0, "groups", read);
}

#[test]
fn german_credit() {
    let directory = scratch();
    let path = directory.path().join("german.data");
    let read = |_: usize, bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        read_german(&path).map(drop)
    };
    reader("german credit", 0.5, "german", read);
}

#[test]
fn points() {
    let directory = scratch();
    let path = directory.path().join("damaged.csv");
    let read = |_: usize, bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let points = Points::read(&path, "x", "y")?;
        points.degrees(None);
        let window = default_window(&points, None)?;
        Pattern::new(&points, window, Resolution::Cells(6))?;
        Ok(())
    };
    reader("points", 1.0, "points", read);
}
