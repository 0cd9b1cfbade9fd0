//! Gives every reader every kind of bad file and checks that the message names the place and the remedy.

use std::fs;
use std::path::Path;

use sshmc::data::{Counts, GroupedColumns, GroupedTable, Returns};

type Reader = fn(&Path) -> sshmc::Result<()>;

fn counts(path: &Path) -> sshmc::Result<()> {
    Counts::read(path).map(drop)
}

fn exposure(path: &Path) -> sshmc::Result<()> {
    Counts::from_vec(2, 2, vec![0.0, 1.0, f64::NAN, 3.0])?.with_exposure_file(path).map(drop)
}

fn returns(path: &Path) -> sshmc::Result<()> {
    Returns::read(path).map(drop)
}

fn grouped(path: &Path) -> sshmc::Result<()> {
    GroupedTable::read(path, &GroupedColumns::default()).map(drop)
}

/// Writes each text to a file, reads it, and looks for the parts of the message that should refuse it.
fn refuse_all(reader: Reader, cases: &[(&str, &[&str])]) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("bad.csv");
    for (text, parts) in cases {
        fs::write(&path, text).expect("a file");
        let message = reader(&path).expect_err(text).to_string();
        assert!(message.contains("bad.csv"), "no file name for {text:?}: {message}");
        assert!(!message.contains('\n'), "more than one line for {text:?}: {message}");
        for form in [": expected ", ", got ", "; "] {
            assert!(message.contains(form), "no `{form}` for {text:?}: {message}");
        }
        for part in *parts {
            assert!(message.contains(part), "no `{part}` for {text:?}: {message}");
        }
    }
}

#[test]
fn tables_that_cannot_be_read() {
    refuse_all(
        returns,
        &[
            ("", &["an empty file"]),
            ("\n\n", &["an empty file"]),
            ("\u{feff}", &["an empty file"]),
            (" \n1\n", &["a blank header"]),
            ("y\n", &["rows below the header"]),
            ("y\n\n\n", &["rows below the header"]),
            ("date;y\n1;2\n", &["line 1", "semicolons", "with commas"]),
            ("date\ty\n1\t2\n", &["line 1", "tabs"]),
            ("Y,x\n1,2\n", &["a column `y`", "`Y`, `x`", "did you mean `Y`?"]),
            ("date,close\n1,2\n", &["a column `y`", "`date`, `close`"]),
            ("0.1\n0.2\n", &["the first line must name the columns"]),
            ("y,y\n1,2\n", &["more than one of that name"]),
            ("x,y\n1,2\n3\n", &["line 3", "2 fields", "got 1"]),
            ("x,y\r\n1,2\r\n3,4,5\r\n", &["line 3", "2 fields", "got 3"]),
            ("x,y\n1,2\n\"3,4\n5,6\n", &["line 3", "open quote"]),
        ],
    );
}

#[test]
fn returns_that_cannot_be_used() {
    refuse_all(
        returns,
        &[
            ("y\n1\nabc\n", &["line 3", "a finite number in column `y`", "`abc`"]),
            ("y\n1\nNaN\n2\n", &["line 3", "`NaN`", "fill in"]),
            ("y\r\n1\r\ninf\r\n", &["line 3", "`inf`"]),
            ("y\n1\n1e999\n", &["line 3", "`1e999`"]),
            ("t,y\n1,1\n2,\n", &["line 3", "an empty field"]),
            ("y\n1\n\n2\n", &["line 4", "1 blank line(s) before it"]),
            ("y\n1\n\"0,5\"\n", &["line 3", "`0,5`"]),
            ("y\n1\n", &["got 1 returns"]),
            ("y\n0\n0\n0\n", &["0 in all 3 steps", "no volatility to learn"]),
            ("y\n2\n2.0\n", &["2 in all 2 steps"]),
        ],
    );
}

#[test]
fn counts_that_cannot_be_used() {
    refuse_all(
        counts,
        &[
            ("i,j,count\n0,0,1\n", &["a column `y`", "`i`, `j`, `count`"]),
            ("row,j,y\n0,0,1\n", &["a column `i`"]),
            ("i,j,y\n0,0,1\n0,1,-1\n", &["line 3", "whole number", "`-1`"]),
            ("i,j,y\n0,0,1\n0,1,0.5\n", &["line 3", "whole number", "`0.5`"]),
            ("i,j,y\n0,0,1e300\n", &["line 2", "2^53"]),
            ("i,j,y\n0,0,inf\n", &["line 2", "a finite number"]),
            ("i,j,y\n0,0,many\n", &["line 2", "`many`"]),
            ("i,j,y\n-1,0,1\n", &["line 2", "column `i`", "`-1`"]),
            ("i,j,y\n0,0.5,1\n", &["line 2", "column `j`", "`0.5`"]),
            ("i,j,y\n0,,1\n", &["line 2", "column `j`", "an empty field"]),
            ("i,j,y\n0,1e10,1\n", &["line 2", "4294967295"]),
            ("i,j,y\n0,0,1\n0,1,1\n0,0,2\n", &["line 4", "cell (0, 0) again", "line 2"]),
            (
                "i,j,y\n0,0,1\n0,1,1\n1,1,2\n",
                &["2 × 2", "none for cell (1, 0)", "empty field or NA"],
            ),
            ("i,j,y\n0,0,1\n0,1000000000,2\n", &["999999999 of them", "largest j on line 3"]),
            ("i,j,y\n1,1,1\n1,2,1\n2,1,1\n2,2,1\n", &["first (0, 0)", "subtract 1"]),
            ("i,j,y\n0,0,0\n0,1,0\n1,0,\n1,1,0\n", &["0 in every observed cell"]),
            ("i,j,y\n0,0,\n0,1,NA\n1,0,nan\n1,1,NaN\n", &["some observed cells"]),
            ("i,j,y\n0,0,1\n0,1,1\n0,2,1\n", &["at least 4 cells", "1 × 3"]),
            ("i,j,y\n0,0,1\n", &["at least 4 cells"]),
        ],
    );
}

#[test]
fn exposures_that_cannot_be_used() {
    refuse_all(
        exposure,
        &[
            ("i,j,effort\n0,0,1\n", &["a column `exposure`"]),
            ("i,j,Exposure\n0,0,1\n", &["did you mean `Exposure`?"]),
            ("i,j,exposure\n0,0,-1\n", &["line 2", "at least 0", "`-1`"]),
            ("i,j,value\n0,0,1\n0,1,\n", &["line 3", "an empty field", "exposure 0"]),
            ("i,j,value\n0,0,1\n0,1,1\n1,0,1\n", &["none for cell (1, 1)", "exposure 0"]),
            ("i,j,value\n0,0,1\n0,1,0\n1,0,1\n1,1,1\n", &["line 3", "which has a count"]),
            ("i,j,value\n0,0,1\n0,1,1\n0,2,1\n0,3,1\n", &["2 × 2", "got 1 × 4 cells"]),
        ],
    );
}

#[test]
fn grouped_tables_that_cannot_be_used() {
    refuse_all(
        grouped,
        &[
            ("Group,label,x\na,0,1\n", &["a column `group`", "did you mean `Group`?"]),
            ("group,class,x\na,0,1\n", &["a column `label`"]),
            ("group,label,x\na,2,1\n", &["line 2", "a label 0 or 1", "`2`"]),
            ("group,label,x\na,yes,1\n", &["line 2", "`yes`", "code the two classes"]),
            ("group,label,x\na,,1\n", &["line 2", "an empty field"]),
            ("group,label,x\na,0,1\na,-1,1\n", &["line 3", "as on line 2", "`-1`"]),
            ("group,label,x\na,0,1\nb,0,2\n", &["one class in all 2 rows"]),
            ("group,label,x\n,0,1\n", &["line 2", "the name of a group"]),
            ("group,label\na,0\nb,1\n", &["at least one feature"]),
            ("group,label,town\na,0,Ulm\n", &["line 2", "`Ulm`", "--ignore town"]),
            ("group,label,x\na,0,NA\n", &["line 2", "column `x`", "`NA`", "--ignore x"]),
            ("group,label,x\na,0,inf\n", &["line 2", "`inf`"]),
            ("group,label,x,x\na,0,1,2\n", &["one column `x`"]),
            (",group,label,x\n1,a,0,1\n", &["a column without a name"]),
        ],
    );
}

#[test]
fn grouped_options_that_cannot_be_used() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bad.csv");
    fs::write(&path, "group,label,x,intercept\na,0,1,1\nb,1,2,1\n").unwrap();
    let default = GroupedColumns::default;
    for (columns, part) in [
        (GroupedColumns { label: "group".into(), ..default() }, "`group` for both"),
        (GroupedColumns { ignore: vec!["label".into()], ..default() }, "do not ignore"),
        (GroupedColumns { ignore: vec!["y".into()], ..default() }, "a column `y`"),
        (GroupedColumns { intercept: true, ..default() }, "`intercept` twice"),
    ] {
        let message = GroupedTable::read(&path, &columns).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
    assert!(GroupedTable::read(&path, &default()).is_ok());
}

#[test]
fn files_that_are_not_there_or_not_text() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bad.csv");
    for reader in [counts, exposure, returns, grouped] {
        let message = reader(&path).unwrap_err().to_string();
        assert!(message.starts_with("cannot read") && message.contains("bad.csv"), "{message}");
        assert!(reader(directory.path()).unwrap_err().to_string().starts_with("cannot read"));
    }
    fs::write(&path, b"\xff\xfey\0\n\0").unwrap();
    let message = returns(&path).unwrap_err().to_string();
    assert!(message.contains("bad.csv, line 1: expected UTF-8 text"), "{message}");
}
