//! Tables: counts, exposures, returns, prices, series, groups, points.

use super::{assert_mixed, corpus, scratch, storm};
use sshmc::data::{
    Counts, GroupedColumns, GroupedTable, Pattern, Points, Resolution, Returns, Series,
    SeriesColumns, Table, default_window, read_german,
};
use sshmc::model::{LgcpOptions, lgcp, logistic, stochvol};
use std::fs;
use std::io::Cursor;

fn files(folder: &str) -> Vec<Vec<u8>> {
    corpus(folder).into_iter().map(|file| file.1).collect()
}

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
    assert_mixed("counts", &storm("counts", 0.5, &files("counts"), read));
}

#[test]
fn exposures() {
    let counts = Counts::from_vec(3, 2, vec![1.0; 6]).unwrap();
    let read = |_: usize, bytes: &[u8]| {
        counts.clone().with_exposure_table(table(bytes)?)?;
        Ok(())
    };
    assert_mixed("exposures", &storm("exposures", 1.0, &files("exposures"), read));
}

#[test]
fn returns() {
    let read =
        |_: usize, bytes: &[u8]| stochvol(&Returns::from_table(table(bytes)?)?, &[]).map(drop);
    assert_mixed("returns", &storm("returns", 1.0, &files("returns"), read));
}

#[test]
fn series() {
    let directory = scratch();
    let path = directory.path().join("damaged.csv");
    for (name, prices, by, values) in [
        ("series side by side", false, None, &["a", "b"][..]),
        ("series of prices", true, Some("b"), &["a"][..]),
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
        assert_mixed(name, &storm(name, 0.5, &files("series"), read));
    }
}

#[test]
fn groups() {
    let columns = GroupedColumns { intercept: true, ..GroupedColumns::default() };
    let read = |_: usize, bytes: &[u8]| {
        logistic(&GroupedTable::from_table(table(bytes)?, &columns)?, &[]).map(drop)
    };
    assert_mixed("groups", &storm("groups", 1.0, &files("groups"), read));
}

#[test]
fn german_credit() {
    let directory = scratch();
    let path = directory.path().join("german.data");
    let read = |_: usize, bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        read_german(&path).map(drop)
    };
    assert_mixed("german credit", &storm("german credit", 0.5, &files("german"), read));
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
    assert_mixed("points", &storm("points", 1.0, &files("points"), read));
}
