//! Reads series of returns or prices, one or many of them from one file.

use std::path::Path;

use super::names::shown;
use super::returns::Returns;
use super::table::{Column, Row, Table};
use crate::error::{Error, Result};

/// Which columns of a file hold series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesColumns {
    /// Columns with values, each a series of its own (or, with `by`, one column).
    pub values: Vec<String>,
    /// Whether the values are prices, which become demeaned log returns.
    pub prices: bool,
    /// Column that names the series a row belongs to, if the file lists one series below the other.
    pub by: Option<String>,
}

/// A named series of returns.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name: that of its column, or what the column `by` says.
    pub name: String,
    /// The returns.
    pub returns: Returns,
}

impl Series {
    /// Reads every series of a file in the order in which they appear.
    pub fn read(path: &Path, columns: &SeriesColumns) -> Result<Vec<Series>> {
        let mut table = Table::open(path)?;
        let option = if columns.prices { "--price-column" } else { "--column" };
        let values = columns.values.iter().map(|name| table.column_of(option, name));
        let values = values.collect::<Result<Vec<_>>>()?;
        let by = columns.by.as_ref().map(|name| table.column_of("--by", name)).transpose()?;
        if by.is_some() && values.len() != 1 {
            let got = format!("{} columns", values.len());
            return Err(table.refuse("one column of values beside --by", got, "name one column"));
        }
        let read = |row: &Row<'_>, column: &Column| match columns.prices {
            true => price(row, column),
            false => row.number(column),
        };
        let mut all: Vec<(String, Vec<f64>)> = match &by {
            Some(_) => Vec::new(),
            None => values.iter().map(|column| (column.name().to_owned(), Vec::new())).collect(),
        };
        while let Some(row) = table.next_row()? {
            let Some(by) = &by else {
                for (series, column) in all.iter_mut().zip(&values) {
                    series.1.push(read(&row, column)?);
                }
                continue;
            };
            let (name, value) = (name(&row, by)?, read(&row, &values[0])?);
            match all.iter_mut().find(|series| series.0 == name) {
                Some(series) => series.1.push(value),
                None => all.push((name, vec![value])),
            }
        }
        let several = all.len() > 1;
        let finish = |(name, values): (String, Vec<f64>)| {
            let place = match several {
                true => format!("{}, series {}", path.display(), shown(&name)),
                false => path.display().to_string(),
            };
            let y = if columns.prices { log_returns(values) } else { values };
            Ok(Series { name, returns: Returns::informative(&place, y)? })
        };
        all.into_iter().map(finish).collect()
    }
}

/// A name that can be a directory's.
fn name(row: &Row<'_>, column: &Column) -> Result<String> {
    let text = row.text(column)?;
    let plain = |c: char| c.is_alphanumeric() || "_-. ".contains(c);
    if !text.is_empty() && text.chars().all(plain) && !text.starts_with('.') {
        return Ok(text.to_owned());
    }
    let remedy = "name series by letters, digits, blanks, dots, _ and -";
    Err(row.unfit(column, "the name of a series", remedy))
}

fn price(row: &Row<'_>, column: &Column) -> Result<f64> {
    let price = row.number(column)?;
    if price > 0.0 {
        return Ok(price);
    }
    Err(row.unfit(column, "a price above 0", "prices have logarithms; correct or remove the row"))
}

/// Differences of the logarithms without their mean.
fn log_returns(prices: Vec<f64>) -> Vec<f64> {
    // A ratio is exact where prices are close, and may overflow where they are not.
    let change = |before: f64, after: f64| match after / before {
        ratio if ratio.is_normal() => ratio.ln(),
        _ => after.ln() - before.ln(),
    };
    let mut returns: Vec<f64> = prices.windows(2).map(|pair| change(pair[0], pair[1])).collect();
    let mean = returns.iter().sum::<f64>() / returns.len().max(1) as f64;
    returns.iter_mut().for_each(|y| *y -= mean);
    // The same ratio throughout is no variation; rounding must not make it look like some.
    let size = returns.iter().fold(0.0, |most: f64, y| most.max(y.abs()));
    if size < 1e-14 * (1.0 + mean.abs()) {
        returns.iter_mut().for_each(|y| *y = 0.0);
    }
    returns
}

impl SeriesColumns {
    /// The column `y` of returns.
    pub fn returns() -> Self {
        Self { values: vec!["y".into()], prices: false, by: None }
    }

    /// Refuses the same column twice.
    pub fn check(&self) -> Result<()> {
        let repeated = (1..self.values.len()).find(|&k| self.values[..k].contains(&self.values[k]));
        match repeated {
            None => Ok(()),
            Some(k) => {
                let remedy = "name each column once";
                Err(Error::input("columns", "different ones", shown(&self.values[k]), remedy))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn read(text: &str, columns: SeriesColumns) -> Result<Vec<Series>> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("p.csv");
        fs::write(&path, text).unwrap();
        Series::read(&path, &columns)
    }

    fn prices(values: &[&str], by: Option<&str>) -> SeriesColumns {
        let values = values.iter().map(ToString::to_string).collect();
        SeriesColumns { values, prices: true, by: by.map(String::from) }
    }

    #[test]
    fn prices_become_demeaned_log_returns() {
        let all =
            read("date,close\na,100\nb,110\nc,99\nd,120\n", prices(&["close"], None)).unwrap();
        let y = all[0].returns.y();
        let mean = (1.2f64).ln() / 3.0;
        for (got, ratio) in y.iter().zip([1.1, 0.9, 120.0 / 99.0f64]) {
            assert!((got - (ratio.ln() - mean)).abs() < 1e-14);
        }
        let refused = |text: &str| read(text, prices(&["close"], None)).unwrap_err().to_string();
        assert!(refused("close\n5\n-1\n4\n").contains("line 3: expected a price above 0"));
        assert!(refused("close\n5\n10\n20\n40\n").contains("returns that vary"));
        // The ratio of these overflows, their logarithms do not.
        let far = read("close\n1e-300\n1e300\n1\n", prices(&["close"], None)).unwrap();
        let want = 300.0 * 10f64.ln();
        for (got, step) in far[0].returns.y().iter().zip([2.0 * want, -want]) {
            assert!((got - (step - 0.5 * want)).abs() < 1e-9, "{got}");
        }
    }

    #[test]
    fn many_series_come_side_by_side_or_one_below_the_other() {
        let wide = read("a,b\n1,4\n2,5\n3,9\n", prices(&["a", "b"], None)).unwrap();
        let long =
            read("id,p\na,1\nb,4\na,2\nb,5\na,3\nb,9\n", prices(&["p"], Some("id"))).unwrap();
        assert_eq!(wide, long);
        assert_eq!(wide.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let message = read("id,p\na/b,1\n", prices(&["p"], Some("id"))).unwrap_err().to_string();
        assert!(message.contains("line 2") && message.contains("name of a series"), "{message}");
        let message = read("id,p\na,1\na,2\na,5\nb,1\n", prices(&["p"], Some("id"))).unwrap_err();
        assert!(message.to_string().contains("series `b`"), "{message}");
    }
}
