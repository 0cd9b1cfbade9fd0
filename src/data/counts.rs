//! Holds the number of points in each cell of a grid, what was not observed, and the effort spent looking.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::cells::read_cells;
use super::grid::Grid;
use super::pattern::{Pattern, Resolution};
use super::points::Points;
use super::raster::Raster;
use super::table::{Column, Row, Table};
use super::window::Window;
use crate::error::{Error, Result};
use crate::random::{Purpose, Stream};
use rand::RngExt;
use rand_distr::{Binomial, Distribution};

/// The largest count: 2⁵³, up to which every whole number is an `f64`.
const LARGEST: f64 = 9_007_199_254_740_992.0;

/// Stream that chooses the points to hold out.
const THINNING: u32 = 0x7468_696e;

/// Points of a cell that are held out one by one; of more, as many as a binomial draw says.
const MANY: f64 = 1e6;

/// The fewest cells that are accepted; below that there is no field to learn.
const FEWEST_CELLS: usize = 4;

/// Counts of points on a grid, row-major.
///
/// In an unobserved cell the count and the exposure are both 0, and only there is the exposure 0. A Poisson term
/// `y log μ − exposure · area · λ` therefore vanishes there without a branch.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts {
    grid: Grid,
    counts: Vec<f64>,
    observed: Vec<bool>,
    exposure: Vec<f64>,
    /// Shares of cells inside the window; none: all of every cell.
    shares: Option<Vec<f64>>,
}

impl Counts {
    /// Reads a file with columns `i`, `j` and `y`: one row per cell in any order, indices from 0, other columns
    /// ignored. An empty field, `NA` or `NaN` in `y` marks a cell that was not observed.
    pub fn read(path: &Path) -> Result<Self> {
        Self::from_table(Table::open(path)?)
    }

    /// Reads the counts from an open table, as [`Counts::read`] does.
    pub fn from_table(mut table: Table) -> Result<Self> {
        let y = table.column("y")?;
        let (grid, cells) = read_cells(&mut table, UNCOUNTED, |row| read_count(row, &y))?;
        let counts = cells.iter().map(|cell| cell.value).collect();
        Self::informative(&table.source().display().to_string(), grid, counts)
    }

    /// Takes row-major counts of any number type, with NaN in cells that were not observed. The longest side of the grid has
    /// length 1; [`Counts::on_grid`] puts it elsewhere.
    pub fn new<T: Copy + Into<f64>>(rows: usize, columns: usize, counts: &[T]) -> Result<Self> {
        Self::from_vec(rows, columns, counts.iter().map(|&y| y.into()).collect())
    }

    /// Counts points in the cells of a grid over a window; those outside it are left out.
    pub fn from_points(
        points: &[(f64, f64)],
        window: &Window,
        resolution: Resolution,
    ) -> Result<Self> {
        let points = Points::new("points", points.to_vec(), None)?;
        Ok(Pattern::new(&points, window.clone(), resolution)?.counts)
    }

    /// Takes row-major counts, with NaN in cells that were not observed. The longest side of the grid has length 1.
    pub fn from_vec(rows: usize, columns: usize, counts: Vec<f64>) -> Result<Self> {
        let grid = Grid::unit(rows, columns)?;
        if counts.len() != grid.cells() {
            let expected = format!("{} values for {} cells", grid.cells(), grid.sides());
            let remedy = "give one value per cell, row by row";
            return Err(Error::input("counts", expected, counts.len().to_string(), remedy));
        }
        if let Some(index) = counts.iter().position(|&y| !y.is_nan() && !is_count(y)) {
            let (i, j) = grid.position(index);
            let remedy = "count points; mark an unobserved cell with NaN";
            let got = counts[index].to_string();
            return Err(Error::input(format!("counts, cell ({i}, {j})"), COUNT, got, remedy));
        }
        Self::informative("counts", grid, counts)
    }

    /// Accepts values that are counts or NaN if they say anything at all.
    fn informative(place: &str, grid: Grid, mut counts: Vec<f64>) -> Result<Self> {
        let refuse = |expected: &str, got: &str, remedy: &str| {
            Err(Error::input(place, expected, got, remedy))
        };
        let observed: Vec<bool> = counts.iter().map(|y| !y.is_nan()).collect();
        if !observed.contains(&true) {
            let remedy = "give the counts of the cells that were looked at, 0 included";
            return refuse("some observed cells", "NaN, NA or nothing in every cell", remedy);
        }
        if grid.cells() < FEWEST_CELLS {
            let remedy = "lay a finer grid over the points";
            return refuse("at least 4 cells", &format!("{} cells", grid.sides()), remedy);
        }
        if !counts.iter().any(|&y| y > 0.0) {
            let remedy =
                "a pattern without points says nothing about its field; check the column `y`";
            return refuse("at least one point", "0 in every observed cell", remedy);
        }
        // Adding 0 turns -0 into 0.
        counts.iter_mut().for_each(|y| *y = if y.is_nan() { 0.0 } else { *y + 0.0 });
        let exposure = observed.iter().map(|&seen| f64::from(u8::from(seen))).collect();
        Ok(Counts { grid, counts, observed, exposure, shares: None })
    }

    /// Takes row-major counts of a grid of which only shares of some cells are inside the window; their exposure is the
    /// share, and a cell with none was not observed.
    pub(super) fn with_shares(
        place: &str,
        grid: Grid,
        mut counts: Vec<f64>,
        shares: Vec<f64>,
    ) -> Result<Self> {
        for (y, &share) in counts.iter_mut().zip(&shares) {
            if share == 0.0 {
                *y = f64::NAN;
            }
        }
        let mut all = Self::informative(place, grid, counts)?;
        all.exposure.clone_from(&shares);
        all.shares = Some(shares);
        Ok(all)
    }

    /// The same counts on a grid of as many rows and columns that lies elsewhere.
    pub fn on_grid(mut self, grid: Grid) -> Result<Self> {
        if (grid.rows(), grid.columns()) != (self.grid.rows(), self.grid.columns()) {
            let expected = format!("{} cells", grid.sides());
            let remedy = "give counts and grid of one run";
            return Err(Error::input("counts", expected, self.grid.sides(), remedy));
        }
        self.grid = grid;
        Ok(self)
    }

    /// Splits the points at random: each is held out with probability `share`, independently of the others. The exposure is
    /// split alike, so that both parts have the same intensity.
    pub fn thin(&self, share: f64, seed: u64) -> Result<(Self, Self)> {
        if !(share > 0.0 && share < 1.0) {
            let remedy = "hold out for instance 0.2";
            let got = share.to_string();
            return Err(Error::input("--hold-out", "a share between 0 and 1", got, remedy));
        }
        let mut rng = Stream::new(seed, 0, THINNING, Purpose::Other).rng();
        let (mut kept, mut held) = (self.clone(), self.clone());
        for (cell, &y) in self.counts.iter().enumerate() {
            let out = match Binomial::new(y as u64, share) {
                // As many draws as points would take forever where there are very many.
                Ok(many) if y > MANY => many.sample(&mut rng) as f64,
                _ => (0..y as u64).filter(|_| rng.random_bool(share)).count() as f64,
            };
            (kept.counts[cell], held.counts[cell]) = (y - out, out);
            kept.exposure[cell] *= 1.0 - share;
            held.exposure[cell] *= share;
        }
        if kept.total() == 0.0 || held.total() == 0.0 {
            let got = format!("{} of {} points held out", held.total(), self.total());
            let remedy = "choose another share";
            return Err(Error::input("--hold-out", "points in both parts", got, remedy));
        }
        Ok((kept, held))
    }

    /// The share of a cell that is inside the window.
    pub fn share(&self, cell: usize) -> f64 {
        self.shares.as_ref().map_or(1.0, |shares| shares[cell])
    }

    /// Treats cells as not observed and returns how many points they held.
    pub fn hide(&mut self, cells: &[usize]) -> Result<f64> {
        let mut lost = 0.0;
        for &cell in cells {
            lost += self.counts[cell];
            self.counts[cell] = 0.0;
            self.observed[cell] = false;
            self.exposure[cell] = 0.0;
        }
        if self.total() == 0.0 {
            let remedy = "exposure or covariates are missing wherever there are points";
            return Err(Error::input("counts", "points in observed cells", "none", remedy));
        }
        Ok(lost)
    }

    /// Multiplies the exposure of each cell by a raster's mean there, the effort per unit of area. Where it is missing or 0
    /// nothing was observed; the number of points there, which cannot be, is returned.
    pub fn with_exposure_raster(mut self, raster: &Raster) -> Result<(Self, f64)> {
        let means = raster.means(&self.grid);
        if let Some(cell) = (0..means.len()).find(|&c| self.observed[c] && means[c] < 0.0) {
            let (i, j) = self.grid.position(cell);
            let got = format!("{} in cell ({i}, {j})", means[cell]);
            let remedy = "exposure is an effort or a population; check its no-data value";
            return Err(Error::input(raster.source(), "exposures of at least 0", got, remedy));
        }
        let unseen: Vec<usize> = (0..means.len())
            .filter(|&c| self.observed[c] && !(means[c] > 0.0 && means[c].is_finite()))
            .collect();
        let lost = self.hide(&unseen)?;
        for (cell, exposure) in self.exposure.iter_mut().enumerate() {
            if self.observed[cell] {
                *exposure *= means[cell];
            }
        }
        Ok((self, lost))
    }

    /// Multiplies the exposure of each cell, row-major, which is 1 to begin with, or the share of the cell inside the window. Where
    /// it is 0 nothing was observed.
    pub fn with_exposure(mut self, exposure: &[f64]) -> Result<Self> {
        if exposure.len() != self.grid.cells() {
            let expected = format!("{} values for {} cells", self.grid.cells(), self.grid.sides());
            let remedy = "give one value per cell, row by row";
            return Err(Error::input("exposure", expected, exposure.len().to_string(), remedy));
        }
        let possible = |cell: usize, e: f64| match self.counts[cell] > 0.0 {
            true => e > 0.0 && e.is_finite(),
            false => e >= 0.0 && e.is_finite(),
        };
        if let Some(cell) = (0..exposure.len()).find(|&cell| !possible(cell, exposure[cell])) {
            let (i, j) = self.grid.position(cell);
            let got = format!("{} beside a count of {}", exposure[cell], self.counts[cell]);
            let remedy = "exposure is an effort or a population: 0 only where nobody looked";
            let place = format!("exposure, cell ({i}, {j})");
            return Err(Error::input(place, "a number of at least 0", got, remedy));
        }
        let unseen: Vec<usize> =
            (0..exposure.len()).filter(|&cell| exposure[cell] == 0.0).collect();
        self.hide(&unseen)?;
        self.exposure.iter_mut().zip(exposure).for_each(|(own, e)| *own *= e);
        Ok(self)
    }

    /// Multiplies the exposure of all observed cells, which is 1 to begin with.
    pub fn with_exposure_value(mut self, exposure: f64) -> Result<Self> {
        if !(exposure.is_finite() && exposure > 0.0) {
            let remedy = "give the effort per unit of area relative to 1, for instance 0.5";
            let expected = "a positive finite number";
            return Err(Error::input("exposure", expected, exposure.to_string(), remedy));
        }
        for (entry, &seen) in self.exposure.iter_mut().zip(&self.observed) {
            *entry = if seen { exposure * *entry } else { 0.0 };
        }
        Ok(self)
    }

    /// Reads one exposure per cell from a file with columns `i`, `j` and `exposure` (or `value`). A cell with
    /// exposure 0 was not observed.
    pub fn with_exposure_file(self, path: &Path) -> Result<Self> {
        self.with_exposure_table(Table::open(path)?)
    }

    /// Reads one exposure per cell from an open table, as [`Counts::with_exposure_file`] does.
    pub fn with_exposure_table(mut self, mut table: Table) -> Result<Self> {
        let named_value = !table.columns().iter().any(|name| name == "exposure")
            && table.columns().iter().any(|name| name == "value");
        let column = table.column(if named_value { "value" } else { "exposure" })?;
        let (grid, cells) = read_cells(&mut table, UNEXPOSED, |row| read_exposure(row, &column))?;
        if (grid.rows(), grid.columns()) != (self.grid.rows(), self.grid.columns()) {
            let expected = format!("the {} cells of the counts", self.grid.sides());
            let remedy = "give exposure on the same grid, rows i and columns j in the same roles";
            return Err(table.refuse(expected, format!("{} cells", grid.sides()), remedy));
        }
        for (index, cell) in cells.iter().enumerate() {
            if cell.value == 0.0 && self.counts[index] > 0.0 {
                let got = format!("0 in cell ({}, {}), which has a count", cell.i, cell.j);
                let remedy = "points were seen there: correct the exposure or empty the count";
                return Err(table.refuse_line(cell.line, "a positive exposure", got, remedy));
            }
            self.observed[index] &= cell.value > 0.0;
            let share = self.share(index);
            self.exposure[index] = if self.observed[index] { share * cell.value } else { 0.0 };
        }
        Ok(self)
    }

    /// The grid.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The number of points in each cell, 0 where unobserved.
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// Which cells were observed.
    pub fn observed(&self) -> &[bool] {
        &self.observed
    }

    /// The exposure of each cell, 0 where unobserved: the expected count is exposure × cell area × intensity.
    pub fn exposure(&self) -> &[f64] {
        &self.exposure
    }

    /// The number of points in all.
    pub fn total(&self) -> f64 {
        self.counts.iter().sum()
    }

    /// Points per unit of observed area and exposure.
    pub fn mean_intensity(&self) -> f64 {
        self.total() / (self.exposure.iter().sum::<f64>() * self.grid.cell_area())
    }

    /// The number of cells that were observed.
    pub fn observed_cells(&self) -> usize {
        self.observed.iter().filter(|&&seen| seen).count()
    }

    /// Writes a file that [`Counts::read`] reads. If exposure is not 1 throughout it has a fourth column, and
    /// [`Counts::with_exposure_file`] reads the same file.
    pub fn write_csv(&self, path: &Path) -> Result<()> {
        let file = File::create(path).map_err(Error::io("create", path))?;
        let mut writer = BufWriter::new(file);
        self.write(&mut writer).and_then(|()| writer.flush()).map_err(Error::io("write", path))
    }

    /// Writes the contents of that file anywhere.
    pub fn write(&self, writer: &mut impl Write) -> io::Result<()> {
        let exposed =
            (self.exposure.iter().zip(&self.observed)).any(|(&e, &seen)| seen && e != 1.0);
        writeln!(writer, "i,j,y{}", if exposed { ",exposure" } else { "" })?;
        for (index, y) in self.counts.iter().enumerate() {
            let (i, j) = self.grid.position(index);
            write!(writer, "{i},{j},")?;
            if self.observed[index] {
                write!(writer, "{y}")?;
            }
            if exposed {
                write!(writer, ",{:?}", self.exposure[index])?;
            }
            writeln!(writer)?;
        }
        Ok(())
    }
}

/// How a cell is marked as not observed, in a file of counts and in a file of exposures.
const UNCOUNTED: &str = "give an unobserved cell an empty field or NA in column `y`";
const UNEXPOSED: &str = "give an unobserved cell exposure 0";

const COUNT: &str = "a whole number from 0 to 2^53";

fn is_count(y: f64) -> bool {
    y.fract() == 0.0 && (0.0..=LARGEST).contains(&y)
}

/// The count of a row, NaN if it is missing.
fn read_count(row: &Row<'_>, column: &Column) -> Result<f64> {
    match row.number_or_missing(column)? {
        None => Ok(f64::NAN),
        Some(y) if is_count(y) => Ok(y),
        Some(_) => Err(row.unfit(column, COUNT, UNCOUNTED)),
    }
}

fn read_exposure(row: &Row<'_>, column: &Column) -> Result<f64> {
    match row.number_or_missing(column)? {
        Some(exposure) if exposure >= 0.0 => Ok(exposure),
        _ => Err(row.unfit(column, "an exposure of at least 0", UNEXPOSED)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_splits_points_and_exposure() {
        let counts = Counts::from_vec(2, 2, vec![400.0, 0.0, 700.0, f64::NAN]).unwrap();
        let (kept, held) = counts.thin(0.25, 1).unwrap();
        let added: Vec<f64> = kept.counts.iter().zip(&held.counts).map(|(a, b)| a + b).collect();
        assert_eq!(added, counts.counts);
        assert_eq!((kept.exposure[0], held.exposure[0], held.exposure[3]), (0.75, 0.25, 0.0));
        // Binomial(1100, 1/4): five standard deviations are 72.
        assert!((held.total() - 275.0).abs() < 72.0, "{}", held.total());
        assert_ne!(counts.thin(0.25, 2).unwrap().1, held);
        assert!(counts.thin(1.0, 1).is_err() && counts.thin(f64::NAN, 1).is_err());
        let crowded = Counts::from_vec(2, 2, vec![1e15, 0.0, 0.0, 0.0]).unwrap();
        let (kept, held) = crowded.thin(0.25, 1).unwrap();
        assert_eq!(kept.total() + held.total(), 1e15);
        // Six standard deviations.
        assert!((held.total() - 0.25e15).abs() < 6.0 * (1e15f64 * 0.1875).sqrt());
    }

    const NAN: f64 = f64::NAN;

    fn table(text: impl Into<String>) -> Table {
        Table::from_reader("c.csv", io::Cursor::new(text.into())).unwrap()
    }

    #[test]
    fn an_empty_count_is_a_mask() {
        let text = "y,i,j,note\n3,1,1,a\n,0,0,b\nNA,0,1,c\n2.0,1,0,d\n";
        let counts = Counts::from_table(table(text)).unwrap();
        assert_eq!(counts.counts(), [0.0, 0.0, 2.0, 3.0]);
        assert_eq!(counts.observed(), [false, false, true, true]);
        assert_eq!(counts.exposure(), [0.0, 0.0, 1.0, 1.0]);
        assert_eq!((counts.total(), counts.observed_cells()), (5.0, 2));
        assert_eq!(counts, Counts::from_vec(2, 2, vec![NAN, NAN, 2.0, 3.0]).unwrap());
    }

    #[test]
    fn exposure_and_mask_agree_whatever_the_order() {
        let counts = Counts::from_vec(1, 4, vec![1.0, NAN, 0.0, 2.0]).unwrap();
        let valued = counts.clone().with_exposure_value(0.25).unwrap();
        assert_eq!(valued.exposure(), [0.25, 0.0, 0.25, 0.25]);
        let text = "i,j,value\n0,0,2\n0,1,5\n0,2,0\n0,3,0.5\n";
        let filed = valued.with_exposure_table(table(text)).unwrap();
        assert_eq!(filed.exposure(), [2.0, 0.0, 0.0, 0.5]);
        assert_eq!(filed.observed(), [true, false, false, true]);
    }

    #[test]
    fn a_written_file_reads_back_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("counts.csv");
        let plain = Counts::from_vec(2, 3, vec![0.0, 1.0, NAN, LARGEST, 4.0, 5.0]).unwrap();
        plain.write_csv(&path).unwrap();
        assert_eq!(Counts::read(&path).unwrap(), plain);
        let exposed = plain.with_exposure_value(0.1).unwrap();
        exposed.write_csv(&path).unwrap();
        let back = Counts::read(&path).unwrap().with_exposure_file(&path).unwrap();
        assert_eq!(back, exposed);
    }

    #[test]
    fn the_library_constructor_checks_the_same_things() {
        for (rows, columns, counts, part) in [
            (2, 2, vec![1.0; 3], "expected 4 values for 2 × 2 cells, got 3"),
            (2, 2, vec![1.0, -1.0, 0.0, 0.0], "cell (0, 1): expected a whole number"),
            (2, 2, vec![1.0, 0.0, 0.5, 0.0], "cell (1, 0): expected a whole number"),
            (2, 2, vec![f64::INFINITY, 0.0, 0.0, 0.0], "got inf"),
            (2, 2, vec![0.0; 4], "at least one point"),
            (2, 2, vec![NAN; 4], "some observed cells"),
            (1, 3, vec![1.0; 3], "at least 4 cells"),
            (0, 3, vec![], "at least one row"),
        ] {
            let message = Counts::from_vec(rows, columns, counts).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn a_useless_exposure_value_is_refused() {
        for exposure in [0.0, -1.0, NAN, f64::INFINITY] {
            let counts = Counts::from_vec(2, 2, vec![1.0; 4]).unwrap();
            let message = counts.with_exposure_value(exposure).unwrap_err().to_string();
            assert!(message.starts_with("exposure: expected a positive"), "{message}");
        }
    }
}
