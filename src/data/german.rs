//! Reads the Statlog German credit file of the UCI repository as the paper used it.
//!
//! Each line has twenty attributes and a class, separated by blanks. Attribute 4, the purpose of the credit, is the group; the
//! others are numbers, or codes such as `A34` whose number after the attribute's own is taken. They are standardised, and a constant is
//! put before them. Class 1 (good) is the label 1, class 2 the label −1.

use super::GroupedTable;
use crate::error::{Error, Result};
use std::path::Path;

const ATTRIBUTES: usize = 20;
/// The attribute that is the group, from 0.
const PURPOSE: usize = 3;

/// The table of a file such as `german.data`.
pub fn read_german(path: &Path) -> Result<GroupedTable> {
    let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
    parse(&text, &path.display().to_string())
}

fn parse(text: &str, source: &str) -> Result<GroupedTable> {
    let (mut groups, mut label, mut columns) =
        (Vec::new(), Vec::new(), vec![Vec::new(); ATTRIBUTES - 1]);
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let row = Row::parse(line).map_err(|(expected, got)| {
            let place = format!("{source}, line {}", number + 1);
            let advice = "give the file german.data of the UCI repository as it is";
            Error::input(place, &expected, &got, advice)
        })?;
        label.push(row.label);
        groups.push(row.purpose);
        columns.iter_mut().zip(row.features).for_each(|(column, value)| column.push(value));
    }
    if label.is_empty() {
        let advice = "give the file german.data";
        return Err(Error::input(source, "lines of attributes", "none", advice));
    }
    columns.iter_mut().for_each(|column| standardise(column));
    let x = (0..label.len())
        .flat_map(|row| {
            std::iter::once(1.0).chain(columns.iter().map(move |c| c[row])).collect::<Vec<_>>()
        })
        .collect();
    let names = features().map(|k| format!("attribute{}", k + 1));
    let features = std::iter::once("intercept".to_owned()).chain(names).collect();
    GroupedTable::from_rows(&groups, features, x, label)
}

/// The attributes that are features, from 0.
fn features() -> impl Iterator<Item = usize> {
    (0..ATTRIBUTES).filter(|&k| k != PURPOSE)
}

/// A line of the file.
struct Row {
    purpose: String,
    features: Vec<f64>,
    label: f64,
}

impl Row {
    /// What a line says; or what was expected, and what stands there.
    fn parse(line: &str) -> std::result::Result<Self, (String, String)> {
        let entries: Vec<&str> = line.split_whitespace().collect();
        if entries.len() != ATTRIBUTES + 1 {
            let got = format!("{} entries", entries.len());
            return Err(("20 attributes and a class".into(), got));
        }
        let label = match entries[ATTRIBUTES] {
            "1" => 1.0,
            "2" => -1.0,
            other => return Err(("the class 1 or 2".into(), other.to_owned())),
        };
        let feature = |k: usize| {
            let expected = || (format!("a number or a code A{}…", k + 1), entries[k].to_owned());
            value(entries[k], k + 1).ok_or_else(expected)
        };
        let features = features().map(feature).collect::<std::result::Result<_, _>>()?;
        Ok(Self { purpose: entries[PURPOSE].to_owned(), features, label })
    }
}

/// A number, or the number of a code without the attribute's own.
fn value(entry: &str, attribute: usize) -> Option<f64> {
    let code = entry.strip_prefix('A').and_then(|code| code.strip_prefix(&attribute.to_string()));
    code.unwrap_or(entry).parse().ok().filter(|value: &f64| value.is_finite())
}

/// Mean zero and standard deviation one; a constant column becomes zero.
fn standardise(column: &mut [f64]) {
    let n = column.len() as f64;
    let mean = column.iter().sum::<f64>() / n;
    let sd = (column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
    column.iter_mut().for_each(|x| *x = if sd > 0.0 { (*x - mean) / sd } else { 0.0 });
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "\
A11 6 A34 A43 1169 A65 A75 4 A93 A101 4 A121 67 A143 A152 2 A173 1 A192 A201 1
A12 48 A32 A46 5951 A61 A73 2 A92 A101 2 A121 22 A143 A152 1 A173 1 A191 A201 2
";

    #[test]
    fn codes_and_numbers_are_standardised_in_groups() {
        let table = parse(LINES, "text").unwrap();
        assert_eq!(table.groups(), ["A43", "A46"]);
        assert_eq!(table.label(), [1.0, -1.0]);
        assert_eq!(table.features().len(), 20);
        // The intercept, codes 1 and 2 of attribute 1, 6 and 48 of attribute 2, 4 and 2 of attribute 3.
        assert_eq!(table.x()[..4], [1.0, -1.0, -1.0, 1.0]);
        assert_eq!(value("A101", 10), Some(1.0));
        assert_eq!(value("A410", 4), Some(10.0));
    }

    #[test]
    fn other_files_are_refused_with_their_line() {
        for (text, part) in [
            ("1 2 3\n", "line 1"),
            (&LINES.replace("A201 2", "A201 3"), "line 2"),
            (&LINES.replace("A12 ", "B12 "), "line 2"),
            ("\n", "none"),
        ] {
            let complaint = parse(text, "text").unwrap_err().to_string();
            assert!(complaint.contains(part), "{complaint}");
        }
    }
}
