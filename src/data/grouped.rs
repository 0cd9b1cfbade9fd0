//! Holds labelled rows of features that fall into groups, for hierarchical regression.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use super::names::{argument, shown};
use super::table::{Column, Row, Table};
use crate::error::{Error, Result};

const INTERCEPT: &str = "intercept";

/// Which columns of a file mean what; all that are not named are features.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupedColumns {
    /// The column with the name of the group.
    pub group: String,
    /// The column with the label: 0 and 1, or -1 and 1.
    pub label: String,
    /// Columns to leave out.
    pub ignore: Vec<String>,
    /// Whether to put a constant feature `intercept` before the others.
    pub intercept: bool,
}

impl Default for GroupedColumns {
    fn default() -> Self {
        let (group, label) = ("group".to_owned(), "label".to_owned());
        GroupedColumns { group, label, ignore: Vec::new(), intercept: false }
    }
}

/// Labelled rows of features, those of a group next to each other.
///
/// Groups are in order of first appearance and rows within a group in their original order.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupedTable {
    group_column: String,
    label_column: String,
    groups: Vec<String>,
    features: Vec<String>,
    offsets: Vec<usize>,
    x: Vec<f64>,
    label: Vec<f64>,
}

impl GroupedTable {
    /// Reads a file with a group and a label on every row and numbers in every other column.
    pub fn read(path: &Path, columns: &GroupedColumns) -> Result<Self> {
        Self::from_table(Table::open(path)?, columns)
    }

    /// Reads the rows of an open table, as [`GroupedTable::read`] does.
    pub fn from_table(mut table: Table, columns: &GroupedColumns) -> Result<Self> {
        let group = table.column_of("--group", &columns.group)?;
        let feature_columns = feature_columns(&table, columns)?;
        let added = columns.intercept.then(|| INTERCEPT.to_owned());
        let given = feature_columns.iter().map(|column| column.name().to_owned());
        let features: Vec<String> = added.into_iter().chain(given).collect();
        let place = table.source().display().to_string();
        refuse_unclear_names(&place, [&columns.group, &columns.label], &features)?;
        let mut labels = Labels::new(table.column_of("--label", &columns.label)?);
        let mut rows = Rows::default();
        while let Some(row) = table.next_row()? {
            rows.push_group(&row, &group)?;
            rows.label.push(labels.read(&row)?);
            rows.x.extend(columns.intercept.then_some(1.0));
            for column in &feature_columns {
                rows.x.push(read_feature(&row, column)?);
            }
        }
        let names = (columns.group.clone(), columns.label.clone());
        rows.arrange(&place, names, features)
    }

    /// Takes one group name and one label per row, and the features row by row, with their names.
    pub fn new(groups: &[&str], features: &[&str], x: &[f64], label: &[bool]) -> Result<Self> {
        let names = |all: &[&str]| all.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let label = label.iter().map(|&yes| if yes { 1.0 } else { -1.0 }).collect();
        Self::from_rows(&names(groups), names(features), x.to_vec(), label)
    }

    /// Takes one group name and one label (-1 or 1) per row, and the features row by row.
    pub fn from_rows(
        groups: &[String],
        features: Vec<String>,
        x: Vec<f64>,
        label: Vec<f64>,
    ) -> Result<Self> {
        let refuse = |expected: &str, got: String| {
            Err(Error::input("grouped rows", expected, got, "check how the rows were put together"))
        };
        refuse_unclear_names("grouped rows", ["group", "label"], &features)?;
        if label.len() != groups.len() || groups.len().checked_mul(features.len()) != Some(x.len())
        {
            let got =
                format!("{} groups, {} labels, {} values", groups.len(), label.len(), x.len());
            return refuse("a group, a label and one value per feature in every row", got);
        }
        if let Some(row) = label.iter().position(|value| value.abs() != 1.0) {
            return refuse("labels -1 and 1", format!("{} in row {row}", label[row]));
        }
        if let Some(index) = x.iter().position(|value| !value.is_finite()) {
            let row = index / features.len();
            return refuse("finite features", format!("{} in row {row}", x[index]));
        }
        if let Some(row) = groups.iter().position(|name| name.trim().is_empty()) {
            return refuse("a name for every group", format!("none in row {row}"));
        }
        let mut rows = Rows { x, label, ..Rows::default() };
        groups.iter().for_each(|name| rows.push_name(name));
        rows.arrange("grouped rows", ("group".to_owned(), "label".to_owned()), features)
    }

    /// The names of the groups.
    pub fn groups(&self) -> &[String] {
        &self.groups
    }

    /// The names of the features.
    pub fn features(&self) -> &[String] {
        &self.features
    }

    /// Where each group starts, and the number of rows at the end: group `g` has rows `offsets[g]..offsets[g + 1]`.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The features, row-major: feature `k` of row `n` is entry `n * features().len() + k`.
    pub fn x(&self) -> &[f64] {
        &self.x
    }

    /// The label of each row, -1 or 1.
    pub fn label(&self) -> &[f64] {
        &self.label
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.label.len()
    }

    /// Writes a file that [`GroupedTable::read`] reads back exactly, without an intercept being asked for again.
    pub fn write_csv(&self, path: &Path) -> Result<()> {
        let mut file = File::create(path).map_err(Error::io("create", path))?;
        self.write(&mut file).map_err(Error::io("write", path))
    }

    /// Writes the contents of that file anywhere; buffered here.
    pub fn write(&self, writer: &mut impl Write) -> io::Result<()> {
        // Names are free text, so the CSV writer decides where quotes are needed.
        let mut writer = csv::Writer::from_writer(writer);
        let named = [&self.group_column, &self.label_column];
        writer.write_record(named.into_iter().chain(&self.features))?;
        for (group, name) in self.groups.iter().enumerate() {
            for row in self.offsets[group]..self.offsets[group + 1] {
                writer.write_field(name)?;
                writer.write_field(format!("{}", self.label[row]))?;
                let width = self.features.len();
                for value in &self.x[row * width..(row + 1) * width] {
                    writer.write_field(format!("{value:?}"))?;
                }
                writer.write_record(None::<&[u8]>)?;
            }
        }
        writer.flush()
    }
}

/// The columns that are neither group nor label nor ignored.
fn feature_columns(table: &Table, columns: &GroupedColumns) -> Result<Vec<Column>> {
    if columns.group == columns.label {
        let got = format!("{} for both", shown(&columns.group));
        return Err(table.refuse("a group and a label column", got, "name two columns"));
    }
    for name in &columns.ignore {
        if *name == columns.group || *name == columns.label {
            let got = format!("the group or label column {}", shown(name));
            return Err(table.refuse("features to ignore", got, "do not ignore that one"));
        }
        if !table.columns().contains(name) {
            table.column_of("--ignore", name)?;
        }
    }
    let used = [&columns.group, &columns.label];
    let is_feature = |name: &&String| !used.contains(name) && !columns.ignore.contains(name);
    table.columns().iter().filter(is_feature).map(|name| table.column(name)).collect()
}

/// A number, or how to do without the column.
fn read_feature(row: &Row<'_>, column: &Column) -> Result<f64> {
    let remedy =
        format!("correct it, or leave the column out with --ignore {}", argument(column.name()));
    match row.number_or_missing(column) {
        Ok(Some(number)) => Ok(number),
        _ => Err(row.unfit(column, "a finite number", &remedy)),
    }
}

/// Reads labels and sees that 0 and -1 are not both in use.
struct Labels {
    column: Column,
    /// The first negative label, 0 or -1, and its line.
    negative: Option<(f64, u64)>,
}

impl Labels {
    fn new(column: Column) -> Self {
        Labels { column, negative: None }
    }

    fn read(&mut self, row: &Row<'_>) -> Result<f64> {
        let number = row.number_or_missing(&self.column).ok().flatten();
        let Some(label) = number.filter(|label| [-1.0, 0.0, 1.0].contains(label)) else {
            let remedy = "code the two classes as 0 and 1";
            return Err(row.unfit(&self.column, "a label 0 or 1 (or -1 or 1)", remedy));
        };
        if label == 1.0 {
            return Ok(1.0);
        }
        let (other, line) = *self.negative.get_or_insert((label, row.line()));
        if other != label {
            let expected = format!("labels {other} and 1, as on line {line},");
            return Err(row.unfit(&self.column, expected, "code the two classes as 0 and 1"));
        }
        Ok(-1.0)
    }
}

/// Rows as they come, before those of a group are brought together.
#[derive(Default)]
struct Rows {
    groups: Vec<String>,
    known: HashMap<String, usize>,
    /// The group of each row.
    group: Vec<usize>,
    label: Vec<f64>,
    x: Vec<f64>,
}

impl Rows {
    fn push_group(&mut self, row: &Row<'_>, column: &Column) -> Result<()> {
        match row.text(column)? {
            "" => Err(row.unfit(column, "the name of a group", "fill it in or remove the row")),
            name => {
                self.push_name(name);
                Ok(())
            }
        }
    }

    fn push_name(&mut self, name: &str) {
        let group = self.known.get(name).copied().unwrap_or_else(|| {
            self.known.insert(name.to_owned(), self.groups.len());
            self.groups.push(name.to_owned());
            self.groups.len() - 1
        });
        self.group.push(group);
    }

    /// Checks the table as a whole and sorts the rows by group, stably, by counting.
    fn arrange(
        self,
        place: &str,
        (group_column, label_column): (String, String),
        features: Vec<String>,
    ) -> Result<GroupedTable> {
        self.refuse_one_class(place)?;
        let mut offsets = vec![0; self.groups.len() + 1];
        self.group.iter().for_each(|&group| offsets[group + 1] += 1);
        for group in 0..self.groups.len() {
            offsets[group + 1] += offsets[group];
        }
        let (mut next, width) = (offsets.clone(), features.len());
        let (mut x, mut label) = (vec![0.0; self.x.len()], vec![0.0; self.label.len()]);
        for (from, &group) in self.group.iter().enumerate() {
            let to = next[group];
            next[group] += 1;
            label[to] = self.label[from];
            x[to * width..(to + 1) * width]
                .copy_from_slice(&self.x[from * width..(from + 1) * width]);
        }
        let groups = self.groups;
        Ok(GroupedTable { group_column, label_column, groups, features, offsets, x, label })
    }

    fn refuse_one_class(&self, place: &str) -> Result<()> {
        let positive = self.label.iter().filter(|&&label| label > 0.0).count();
        if positive == 0 || positive == self.label.len() {
            let got = match self.label.len() {
                0 => "no rows".to_owned(),
                rows => format!("one class in all {rows} rows"),
            };
            let remedy = "with one class there is nothing to tell apart; check the label column";
            return Err(Error::input(place, "labels of two classes", got, remedy));
        }
        Ok(())
    }
}

/// Names must tell features apart, in reports and when the table is written and read again.
fn refuse_unclear_names(place: &str, used: [&str; 2], features: &[String]) -> Result<()> {
    if features.is_empty() {
        let expected = "at least one feature besides the group and the label";
        let remedy = "add a column of numbers or ask for an intercept";
        return Err(Error::input(place, expected, "none", remedy));
    }
    let mut seen = HashSet::from(used);
    for name in features {
        let got = match name.trim() {
            "" => "a column without a name".to_owned(),
            _ if !seen.insert(name) => format!("{} twice", shown(name)),
            _ => continue,
        };
        let remedy = "rename or remove that column";
        return Err(Error::input(place, "a name of its own for every feature", got, remedy));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, columns: &GroupedColumns) -> Result<GroupedTable> {
        GroupedTable::from_table(
            Table::from_reader("g.csv", io::Cursor::new(text.to_owned()))?,
            columns,
        )
    }

    const TEXT: &str =
        "size,label,group,note,dose\n1,1,b,x,10\n2,0,a,x,20\n3,0,b,x,30\n4,1,a,x,40\n";

    #[test]
    fn rows_of_a_group_come_together_in_their_order() {
        let columns = GroupedColumns {
            ignore: vec!["note".into()],
            intercept: true,
            ..GroupedColumns::default()
        };
        let table = read(TEXT, &columns).unwrap();
        assert_eq!(table.groups(), ["b", "a"]);
        assert_eq!(table.features(), ["intercept", "size", "dose"]);
        assert_eq!(table.offsets(), [0, 2, 4]);
        assert_eq!(table.x(), [1., 1., 10., 1., 3., 30., 1., 2., 20., 1., 4., 40.]);
        assert_eq!(table.label(), [1.0, -1.0, -1.0, 1.0]);
        assert_eq!(table.rows(), 4);
    }

    #[test]
    fn both_codings_of_the_label_mean_the_same() {
        let columns = GroupedColumns { ignore: vec!["note".into()], ..GroupedColumns::default() };
        let signed = TEXT.replace(",0,", ",-1,").replace(",1,", ",1.0,");
        assert_eq!(read(TEXT, &columns).unwrap(), read(&signed, &columns).unwrap());
    }

    #[test]
    fn an_intercept_alone_is_a_feature() {
        let columns = GroupedColumns { intercept: true, ..GroupedColumns::default() };
        let table = read("group,label\na,0\nb,1\n", &columns).unwrap();
        assert_eq!(table.x(), [1.0, 1.0]);
    }

    #[test]
    fn a_written_table_reads_back_exactly() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("grouped.csv");
        let groups = ["north, \"old\"", "süd", "north, \"old\""].map(String::from);
        let features = vec!["a,b".to_owned(), "c".to_owned()];
        let x = vec![0.1, 1e-300, -1.0 / 3.0, 0.0, 2.0, 7.5e200];
        let table = GroupedTable::from_rows(&groups, features, x, vec![1.0, -1.0, 1.0]).unwrap();
        table.write_csv(&path).unwrap();
        assert_eq!(GroupedTable::read(&path, &GroupedColumns::default()).unwrap(), table);
    }

    #[test]
    fn the_library_constructor_checks_the_same_things() {
        let build = |features: &[&str], x: Vec<f64>, label: Vec<f64>| {
            let groups = ["a", "b"].map(String::from);
            let features = features.iter().map(|&name| name.to_owned()).collect();
            GroupedTable::from_rows(&groups, features, x, label).unwrap_err().to_string()
        };
        let good = || vec![1.0, -1.0];
        for (message, part) in [
            (build(&["x"], vec![1.0], good()), "2 groups, 2 labels, 1 values"),
            (build(&["x"], good(), vec![1.0]), "2 groups, 1 labels, 2 values"),
            (build(&["x"], good(), vec![1.0, 0.0]), "0 in row 1"),
            (build(&["x"], vec![1.0, f64::NAN], good()), "NaN in row 1"),
            (build(&["x"], good(), vec![1.0, 1.0]), "one class in all 2 rows"),
            (build(&[], vec![], good()), "at least one feature"),
            (build(&["label"], good(), good()), "`label` twice"),
            (build(&[" "], good(), good()), "a column without a name"),
        ] {
            assert!(message.contains(part), "{message}");
        }
    }
}
