//! Reads a table with one row per grid cell, in any order, and puts it in row-major order.
//!
//! The grid is as large as the largest indices say. It is never allocated before the rows are known to fill it, so
//! one stray index of a billion costs a message and not the memory.

use super::grid::Grid;
use super::table::{Row, Table};
use crate::error::Result;

/// What one row says about its cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    pub(super) i: u32,
    pub(super) j: u32,
    pub(super) value: f64,
    pub(super) line: u64,
}

/// Reads the cells from columns `i` and `j`, with the value that `value` takes from each row. `unobserved` says how
/// to mark a cell instead of leaving it out.
pub(super) fn read_cells(
    table: &mut Table,
    unobserved: &str,
    mut value: impl FnMut(&Row<'_>) -> Result<f64>,
) -> Result<(Grid, Vec<Cell>)> {
    let (i, j) = (table.column("i")?, table.column("j")?);
    let mut cells = Vec::new();
    while let Some(row) = table.next_row()? {
        cells.push(Cell {
            i: row.index(&i)?,
            j: row.index(&j)?,
            value: value(&row)?,
            line: row.line(),
        });
    }
    cells.sort_unstable_by_key(|cell| (cell.i, cell.j, cell.line));
    refuse_duplicates(table, &cells)?;
    let grid = refuse_gaps(table, &cells, unobserved)?;
    Ok((grid, cells))
}

fn refuse_duplicates(table: &Table, cells: &[Cell]) -> Result<()> {
    let twice = cells.windows(2).find(|pair| (pair[0].i, pair[0].j) == (pair[1].i, pair[1].j));
    let Some([first, second]) = twice else {
        return Ok(());
    };
    let got = format!("cell ({}, {}) again, first given on line {}", first.i, first.j, first.line);
    let remedy = "remove one of the two lines";
    Err(table.refuse_line(second.line, "each cell once", got, remedy))
}

/// The grid that the sorted, distinct cells fill.
fn refuse_gaps(table: &Table, cells: &[Cell], unobserved: &str) -> Result<Grid> {
    let farthest = |index: fn(&Cell) -> u32| {
        let cell = cells.iter().max_by_key(|cell| index(cell));
        cell.map_or((0, 0), |cell| (u64::from(index(cell)) + 1, cell.line))
    };
    let ((rows, row_line), (columns, column_line)) = (farthest(|c| c.i), farthest(|c| c.j));
    let size = u128::from(rows) * u128::from(columns);
    if size == cells.len() as u128 {
        return Grid::unit(rows as usize, columns as usize);
    }
    let missing = size - cells.len() as u128;
    let place = |cell: &Cell| u128::from(cell.i) * u128::from(columns) + u128::from(cell.j);
    let filled = (0..).zip(cells).take_while(|&(due, cell)| place(cell) == due).count() as u128;
    let (i, j) = (filled / u128::from(columns), filled % u128::from(columns));
    let got = match missing {
        1 => format!("none for cell ({i}, {j})"),
        _ => format!("none for {missing} of them, first ({i}, {j})"),
    };
    let least = |index: fn(&Cell) -> u32| cells.iter().map(index).min();
    let remedy = match (least(|c| c.i), least(|c| c.j)) {
        (Some(1), Some(1)) => "indices start at 0, not 1: subtract 1 from every i and j".to_owned(),
        _ => format!("indices start at 0; {unobserved}"),
    };
    let expected = format!(
        "a row for each of the {rows} × {columns} cells \
         (largest i on line {row_line}, largest j on line {column_line})"
    );
    Err(table.refuse(expected, got, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rows: &str) -> Result<(Grid, Vec<Cell>)> {
        let text = format!("i,j\n{rows}");
        let mut table = Table::from_reader("c.csv", std::io::Cursor::new(text))?;
        read_cells(&mut table, "mark it", |row| Ok(row.line() as f64))
    }

    #[test]
    fn rows_in_any_order_come_out_row_major() {
        let (grid, cells) = read("1,2\n0,0\n1,0\n0,2\n0,1\n1,1\n").unwrap();
        assert_eq!((grid.rows(), grid.columns()), (2, 3));
        let lines: Vec<u64> = cells.iter().map(|cell| cell.line).collect();
        assert_eq!(lines, [3, 6, 5, 4, 7, 2]);
        assert!(cells.iter().all(|cell| cell.value == cell.line as f64));
    }

    #[test]
    fn a_far_index_is_reported_and_not_allocated() {
        for far in ["1000000000", "4294967295"] {
            let message = read(&format!("0,0\n0,1\n{far},{far}\n")).unwrap_err().to_string();
            assert!(message.contains("first (0, 2)"), "{message}");
            assert!(message.contains("largest i on line 4"), "{message}");
        }
    }

    #[test]
    fn a_duplicate_names_both_lines_even_when_the_number_of_rows_is_right() {
        let message = read("0,0\n0,1\n1,0\n0,1\n1,2\n1,1\n").unwrap_err().to_string();
        assert!(message.contains("line 5") && message.contains("line 3"), "{message}");
    }
}
