//! Reads comma-separated tables row by row and says where anything is wrong.

use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use csv::ByteRecord;

use super::line_feeds::LineFeeds;
use super::names::{closest, listed, shown};
use crate::error::{Error, Result};

/// Large enough that reading is bound by parsing, small beside any grid.
const BUFFER_BYTES: usize = 1 << 16;

/// A table whose header has been read and whose rows are streamed, so that its length is no matter.
///
/// A byte-order mark, `\r\n`, quoted fields, blanks around fields and blank lines are tolerated. In a table of one
/// column a blank line before the last row is a missing value and refused.
pub struct Table {
    source: PathBuf,
    columns: Vec<String>,
    reader: csv::Reader<LineFeeds<Box<dyn Read>>>,
    record: ByteRecord,
    /// The line on which the current record starts, from 1.
    line: u64,
    /// The blank lines just before it.
    blank_lines: u64,
    rows: u64,
}

/// A column that a table is known to have.
#[derive(Debug, Clone)]
pub struct Column {
    index: usize,
    name: String,
}

impl Column {
    /// Its name in the header.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Table {
    /// Opens a file and reads its header line.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io("read", path))?;
        Self::from_reader(path, file)
    }

    /// Reads the header line of anything readable; `source` is what messages call it.
    pub fn from_reader(source: impl Into<PathBuf>, reader: impl Read + 'static) -> Result<Self> {
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(BUFFER_BYTES)
            .from_reader(LineFeeds::new(Box::new(reader) as Box<dyn Read>));
        let mut table = Table {
            source: source.into(),
            columns: Vec::new(),
            reader,
            record: ByteRecord::new(),
            line: 1,
            blank_lines: 0,
            rows: 0,
        };
        table.read_header()?;
        Ok(table)
    }

    fn read_header(&mut self) -> Result<()> {
        let found = self.advance()?;
        let row = Row { table: self };
        let columns = (0..self.record.len())
            .map(|index| row.field(index).map(str::to_owned))
            .collect::<Result<Vec<_>>>()?;
        if !found || columns.iter().all(String::is_empty) {
            let got = if found { "a blank header" } else { "an empty file" };
            let remedy = "write the column names on the first line and one row per line below";
            return Err(self.refuse("a header line that names the columns", got, remedy));
        }
        if let [only] = columns.as_slice() {
            for (delimiter, name) in [(';', "semicolons"), ('\t', "tabs")] {
                if only.contains(delimiter) {
                    let got = format!("a header separated by {name}");
                    let remedy =
                        "save the file with commas between columns and a point for decimals";
                    return Err(row.refuse("columns separated by commas", got, remedy));
                }
            }
        }
        self.columns = columns;
        Ok(())
    }

    /// The column names in the order of the file.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// How messages call this table.
    pub fn source(&self) -> &Path {
        &self.source
    }

    /// Finds a column by its exact name, or says which ones there are.
    pub fn column(&self, name: &str) -> Result<Column> {
        let mut matches = (0..self.columns.len()).filter(|&index| self.columns[index] == name);
        match (matches.next(), matches.next()) {
            (Some(index), None) => Ok(Column { index, name: name.to_owned() }),
            (Some(_), Some(_)) => Err(self.refuse(
                format!("one column {}", shown(name)),
                "more than one of that name",
                "rename or remove the others in the header line",
            )),
            (None, _) => Err(self.no_column(name, None)),
        }
    }

    /// The same for a name that was given by an option, or can be: a complaint says so.
    pub fn column_of(&self, option: &str, name: &str) -> Result<Column> {
        match self.columns.iter().any(|column| column == name) {
            true => self.column(name),
            false => Err(self.no_column(name, Some(option))),
        }
    }

    fn no_column(&self, name: &str, option: Option<&str>) -> Error {
        let headless = self.columns.iter().all(|column| column.parse::<f64>().is_ok());
        let columns = listed(&self.columns);
        let (got, remedy) = match (closest(name, &self.columns), option) {
            _ if headless => {
                let remedy = "the first line must name the columns; add a header line";
                (format!("the columns {columns}"), remedy.to_owned())
            }
            (Some(near), None) => {
                (format!("the columns {columns}"), format!("did you mean {}?", shown(near)))
            }
            (None, None) => {
                let remedy = format!("name one of the columns {} in the header line", shown(name));
                (format!("the columns {columns}"), remedy)
            }
            (near, Some(option)) => {
                let near =
                    near.map_or(String::new(), |near| format!("did you mean {}? ", shown(near)));
                ("none of that name".to_owned(), format!("{near}give {option} one of {columns}"))
            }
        };
        self.refuse(format!("a column {}", shown(name)), got, remedy)
    }

    /// The next row, or `None` after the last; a table without any row is refused.
    pub fn next_row(&mut self) -> Result<Option<Row<'_>>> {
        loop {
            if !self.advance()? {
                return if self.rows > 0 { Ok(None) } else { Err(self.no_rows()) };
            }
            let blank = self.record.len() == 1 && self.record[0].trim_ascii().is_empty();
            if !blank || self.columns.len() == 1 {
                break;
            }
        }
        self.rows += 1;
        let row = Row { table: self };
        if self.columns.len() == 1 && self.blank_lines > 0 {
            let got = format!("{} blank line(s) before it", self.blank_lines);
            let remedy = "a blank line is a missing value; fill it in or remove the line";
            return Err(row.refuse("one value on every line", got, remedy));
        }
        if self.record.len() != self.columns.len() {
            let expected = format!("{} fields as in the header", self.columns.len());
            let remedy = "look for a missing or extra comma or an open quote on this line";
            return Err(row.refuse(expected, self.record.len().to_string(), remedy));
        }
        Ok(Some(row))
    }

    fn no_rows(&self) -> Error {
        let remedy = "write one row per line below the header";
        self.refuse("rows below the header", "a header only", remedy)
    }

    /// Reads one record and finds the line it starts on; false at the end.
    fn advance(&mut self) -> Result<bool> {
        let before = self.reader.position().line();
        let found = self.reader.read_byte_record(&mut self.record);
        if !found.map_err(|error| self.unreadable(error))? {
            return Ok(false);
        }
        // The parser stands after the record and its line feed. Quoted line feeds lie between the start and there,
        // and a quote left open until the end of the file has swallowed the closing one.
        let quoted = self.record.as_slice().iter().filter(|&&byte| byte == b'\n').count() as u64;
        let after = self.reader.position().line();
        self.line = after.saturating_sub(1 + quoted).max(before);
        self.blank_lines = self.line - before;
        Ok(true)
    }

    fn unreadable(&self, error: csv::Error) -> Error {
        let source = match error.into_kind() {
            csv::ErrorKind::Io(source) => source,
            other => std::io::Error::other(format!("{other:?}")),
        };
        Error::Io { action: "read", path: self.source.clone(), source }
    }

    /// An error about the table as a whole.
    pub fn refuse(
        &self,
        expected: impl Into<String>,
        got: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Error {
        Error::input(self.source.display().to_string(), expected, got, remedy)
    }

    /// An error about one line of the table.
    pub(super) fn refuse_line(
        &self,
        line: u64,
        expected: impl Into<String>,
        got: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Error {
        Error::input(format!("{}, line {line}", self.source.display()), expected, got, remedy)
    }
}

/// One row of a table.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    table: &'a Table,
}

impl<'a> Row<'a> {
    /// The line of the file on which it starts, from 1.
    pub fn line(&self) -> u64 {
        self.table.line
    }

    /// An error about this row.
    pub fn refuse(
        &self,
        expected: impl Into<String>,
        got: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Error {
        self.table.refuse_line(self.table.line, expected, got, remedy)
    }

    fn field(&self, index: usize) -> Result<&'a str> {
        let bytes = self.table.record.get(index).unwrap_or_default();
        let text = std::str::from_utf8(bytes).map_err(|_| {
            self.refuse("UTF-8 text", "other bytes", "save the file as CSV with UTF-8 encoding")
        })?;
        Ok(text.trim())
    }

    /// The field in a column, without the blanks around it.
    pub fn text(&self, column: &Column) -> Result<&'a str> {
        self.field(column.index)
    }

    /// A finite number, or `None` where the field is empty, `NA` or `NaN`.
    pub fn number_or_missing(&self, column: &Column) -> Result<Option<f64>> {
        let text = self.text(column)?;
        if is_missing(text) {
            return Ok(None);
        }
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Some(number)),
            _ => Err(self.unfit(
                column,
                "a finite number",
                "write a plain number such as 0.5 or -2e-3",
            )),
        }
    }

    /// A finite number; a missing one is refused.
    pub fn number(&self, column: &Column) -> Result<f64> {
        let remedy = "fill in the value or remove the row";
        self.number_or_missing(column)?.ok_or_else(|| self.unfit(column, "a finite number", remedy))
    }

    /// A whole number from 0 that fits 32 bits; `3.0` is one.
    pub fn index(&self, column: &Column) -> Result<u32> {
        let text = self.text(column)?;
        if let Ok(index) = text.parse::<u32>() {
            return Ok(index);
        }
        match text.parse::<f64>() {
            Ok(index) if index.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&index) => {
                Ok(index as u32)
            }
            _ => Err(self.unfit(
                column,
                "a whole number from 0 to 4294967295",
                "number rows and columns 0, 1, 2, …",
            )),
        }
    }

    /// An error about the field in a column, which it repeats.
    pub fn unfit(&self, column: &Column, expected: impl Display, remedy: &str) -> Error {
        let got = match self.text(column) {
            Ok("") => "an empty field".to_owned(),
            Ok(text) => shown(text),
            Err(error) => return error,
        };
        self.refuse(format!("{expected} in column {}", shown(&column.name)), got, remedy)
    }
}

/// How files say that a value is not there.
fn is_missing(text: &str) -> bool {
    text.is_empty() || text.eq_ignore_ascii_case("na") || text.eq_ignore_ascii_case("nan")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        Table::from_reader("t.csv", std::io::Cursor::new(text.to_owned())).unwrap()
    }

    fn numbers_with_lines(text: &str, name: &str) -> Vec<(u64, f64)> {
        let mut table = table(text);
        let column = table.column(name).unwrap();
        let mut found = Vec::new();
        while let Some(row) = table.next_row().unwrap() {
            found.push((row.line(), row.number(&column).unwrap()));
        }
        found
    }

    #[test]
    fn lines_are_counted_through_blanks_returns_and_quotes() {
        let expected = vec![(2, 1.0), (3, 2.0), (5, 3.0)];
        for text in [
            "a,b\n1,x\n2,x\n\n3,x\n",
            "a,b\r\n1,x\r\n2,x\r\n\r\n3,x\r\n",
            "\u{feff}a,b\n1,x\n2,x\n  \n3,x",
            "a , \"b\"\n 1 ,x\n\"2\",\"x\ny\"\n3,\"\"\"q\"\"\"\n\n\n",
        ] {
            assert_eq!(numbers_with_lines(text, "a"), expected, "{text:?}");
        }
        assert_eq!(numbers_with_lines("\n\nb,a\nx,7\n", "a"), vec![(4, 7.0)]);
    }

    #[test]
    fn an_open_quote_is_blamed_on_the_line_where_it_opens() {
        let mut table = table("a,b\n1,2\n\"3,4\n5,6\n7,8");
        assert!(table.next_row().is_ok());
        let message = table.next_row().err().unwrap().to_string();
        assert!(message.contains("line 3: expected 2 fields"), "{message}");
        assert!(message.contains("open quote"), "{message}");
    }

    #[test]
    fn columns_that_are_not_read_need_not_be_text() {
        let bytes = b"a,place\n1,Z\xfcrich\n".to_vec();
        let mut table = Table::from_reader("t.csv", std::io::Cursor::new(bytes)).unwrap();
        let (a, place) = (table.column("a").unwrap(), table.column("place").unwrap());
        let row = table.next_row().unwrap().unwrap();
        assert_eq!(row.number(&a).unwrap(), 1.0);
        assert!(row.text(&place).unwrap_err().to_string().contains("UTF-8"));
    }

    #[test]
    fn missing_values_and_indices_have_their_spellings() {
        let mut table = table("a,k\n,3.0\nNA,4\nnan,0\n-1.5,-0\n");
        let (a, k) = (table.column("a").unwrap(), table.column("k").unwrap());
        let mut found = Vec::new();
        while let Some(row) = table.next_row().unwrap() {
            found.push((row.number_or_missing(&a).unwrap(), row.index(&k).unwrap()));
        }
        assert_eq!(found, vec![(None, 3), (None, 4), (None, 0), (Some(-1.5), 0)]);
    }
}
