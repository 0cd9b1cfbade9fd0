//! Draws a log-Gaussian Cox process: a field on the grid, then points given the field.
//!
//! x = μ + u with u ~ N(0, Σ(σ, range)); y ~ Poisson(area e^x) in each cell, points uniform within it. The mean is
//! μ = log(total / map area) − σ²/2, which makes `total` the expected number of points over all fields and patterns.

use super::{positive, stream};
use crate::data::{Counts, Grid, OutputDir};
use crate::error::{Error, Result};
use crate::structure::{Anisotropy, Correlation, Information, Kernel, Spectral, Structure};
use rand_distr::{Distribution, Poisson};
use serde_json::json;
use std::io::Write;

/// The most cells of a simulated grid: 1024², which takes seconds, and a minute or two where the range is so long that
/// the correlation has to be periodised.
const MOST_CELLS: usize = 1 << 20;
/// The most points that are expected and drawn.
const MOST_POINTS: f64 = 1e7;

/// Which random numbers are for what.
const FIELD: u32 = 0;
const COUNT: u32 = 1;
const PLACE: u32 = 2;

/// What a pattern is drawn from; the longest side of the grid has length 1.
#[derive(Clone, Copy, Debug)]
pub struct PatternTruth {
    /// Rows of cells.
    pub rows: usize,
    /// Columns of cells.
    pub columns: usize,
    /// Standard deviation of the field.
    pub sigma: f64,
    /// Range of the correlation in map units.
    pub range: f64,
    /// Expected number of points.
    pub total: f64,
    /// Correlation function.
    pub kernel: Kernel,
    /// How it depends on direction.
    pub anisotropy: Anisotropy,
}

/// A simulated pattern.
#[derive(Clone, Debug)]
pub struct PointPattern {
    /// What it was drawn from.
    pub truth: PatternTruth,
    /// The seed it was drawn with.
    pub seed: u64,
    /// Mean of the log intensity.
    pub mu: f64,
    /// Log intensity of each cell, row-major.
    pub x: Vec<f64>,
    /// Points in each cell.
    pub counts: Counts,
    /// Coordinates (x, y) of the points in map units, cell after cell.
    pub points: Vec<(f64, f64)>,
}

/// Draws a pattern.
pub fn lgcp(truth: &PatternTruth, seed: u64) -> Result<PointPattern> {
    check(truth)?;
    let grid = Grid::unit(truth.rows, truth.columns)?;
    let (width, height) = grid.extent();
    let mu = (truth.total / (width * height)).ln() - 0.5 * truth.sigma * truth.sigma;
    let x: Vec<f64> = field(truth, &grid, seed)?.iter().map(|u| mu + u).collect();
    let rates: Vec<f64> = x.iter().map(|x| grid.cell_area() * x.exp()).collect();
    let expected: f64 = rates.iter().sum();
    if expected.is_nan() || expected > MOST_POINTS {
        return Err(Error::input(
            "sigma",
            format!("a field with at most {MOST_POINTS} points"),
            format!("one with {expected:.3e}"),
            "lower --sigma or --total, or take another --seed",
        ));
    }
    let counts = rates.iter().enumerate().map(|(cell, &rate)| count(rate, seed, cell)).collect();
    let counts: Vec<f64> = counts;
    if counts.iter().all(|&y| y == 0.0) {
        let remedy = "raise --total or take another --seed";
        return Err(Error::input("total", "a pattern with points", "an empty pattern", remedy));
    }
    let points = points(&grid, &counts, seed);
    let counts = Counts::from_vec(truth.rows, truth.columns, counts)?;
    Ok(PointPattern { truth: *truth, seed, mu, x, counts, points })
}

fn check(truth: &PatternTruth) -> Result<()> {
    let PatternTruth { rows, columns, .. } = *truth;
    let cells = rows.saturating_mul(columns);
    if !(4..=MOST_CELLS).contains(&cells) {
        return Err(Error::input(
            "grid",
            format!("between 4 and {MOST_CELLS} cells"),
            format!("{rows} x {columns}"),
            "give --grid 64, or rows and columns as --grid 48x64",
        ));
    }
    positive("sigma", truth.sigma, 10.0)?;
    // A longer range than the map looks like a constant, and its periodised correlation takes long to add up.
    positive("range", truth.range, 1.0)?;
    positive("total", truth.total, MOST_POINTS)
}

/// The field without its mean, drawn as the model has it: exactly embedded wherever that is possible.
fn field(truth: &PatternTruth, grid: &Grid, seed: u64) -> Result<Vec<f64>> {
    // A hair more than the range, because the table's end is compared after rounding.
    let ranges = (truth.range, 1.01 * truth.range);
    let PatternTruth { rows, columns, kernel, anisotropy, .. } = *truth;
    let correlation = Correlation { kernel, anisotropy };
    let spectral = Spectral::new(rows, columns, grid.cell(), correlation, ranges)?;
    let structure = Structure::Spectral(spectral);
    let mut factor = structure.factor(&Information::NONE)?;
    if !factor.set(&[truth.sigma.ln(), truth.range.ln()]) {
        return Err(Error::Numeric("the field's covariance cannot be factorised".into()));
    }
    let z = super::normals(seed, FIELD, structure.dim());
    let mut latents = vec![0.0; structure.dim()];
    factor.apply(&z, &mut latents);
    let mut field = vec![0.0; structure.sites()];
    structure.basis().write_field(&latents, &mut field);
    Ok(field)
}

/// The number of points of one cell, from a stream of its own because the method rejects.
fn count(rate: f64, seed: u64, cell: usize) -> f64 {
    // A rate too small to be a positive number has no points.
    Poisson::new(rate).map_or(0.0, |law| law.sample(&mut stream(seed, COUNT, cell).rng()))
}

/// Points uniform in their cells.
fn points(grid: &Grid, counts: &[f64], seed: u64) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for (cell, &y) in counts.iter().enumerate() {
        let (i, j) = grid.position(cell);
        let (x, y0) = grid.centre(i, j);
        let stream = stream(seed, PLACE, cell);
        let offset = |index: u32| (stream.uniform(index) - 0.5) * grid.cell();
        points.extend((0..y as u32).map(|k| (x + offset(2 * k), y0 + offset(2 * k + 1))));
    }
    points
}

impl PointPattern {
    /// Writes `counts.csv` (i, j, y, x_true), `points.csv` (x, y in map units) and `truth.json`.
    pub fn write(&self, output: &OutputDir) -> Result<()> {
        let grid = self.counts.grid();
        output.write_with("counts.csv", |file| {
            writeln!(file, "i,j,y,x_true")?;
            for (cell, (y, x)) in self.counts.counts().iter().zip(&self.x).enumerate() {
                let (i, j) = grid.position(cell);
                writeln!(file, "{i},{j},{y},{x:?}")?;
            }
            Ok(())
        })?;
        output.write_with("points.csv", |file| {
            writeln!(file, "x,y")?;
            self.points.iter().try_for_each(|(x, y)| writeln!(file, "{x:?},{y:?}"))
        })?;
        let truth = &self.truth;
        output.write_json(
            "truth.json",
            &json!({
                "model": "lgcp",
                "seed": self.seed,
                "rows": truth.rows,
                "columns": truth.columns,
                "cell": grid.cell(),
                "kernel": truth.kernel,
                "anisotropy": truth.anisotropy,
                "parameters": { "sigma": truth.sigma, "range": truth.range, "mu": self.mu },
                "expected_points": truth.total,
                "points": self.points.len(),
            }),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUTH: PatternTruth = PatternTruth {
        rows: 12,
        columns: 20,
        sigma: 1.0,
        range: 0.1,
        total: 500.0,
        kernel: Kernel::Exponential,
        anisotropy: Anisotropy::NONE,
    };

    #[test]
    fn points_lie_in_the_cells_that_count_them() {
        let pattern = lgcp(&TRUTH, 3).unwrap();
        let grid = pattern.counts.grid();
        let mut counts = vec![0.0; grid.cells()];
        for &(x, y) in &pattern.points {
            let (i, j) = ((y / grid.cell()) as usize, (x / grid.cell()) as usize);
            counts[grid.index(i, j).unwrap()] += 1.0;
        }
        assert_eq!(counts, pattern.counts.counts());
        assert_eq!(pattern.points, lgcp(&TRUTH, 3).unwrap().points);
        assert_ne!(pattern.points, lgcp(&TRUTH, 4).unwrap().points);
    }

    #[test]
    fn fields_have_the_variance_and_correlation_and_patterns_the_total_asked_for() {
        let patterns: Vec<_> = (0..400).map(|seed| lgcp(&TRUTH, seed).unwrap()).collect();
        let n = patterns.len() as f64;
        let average = |f: &dyn Fn(&PointPattern) -> f64| patterns.iter().map(f).sum::<f64>() / n;
        // Cells 45 and 46 are neighbours, 0.05 apart. Products of normals have a standard deviation of at most √2 σ².
        let bound = 4.0 * 2f64.sqrt() / n.sqrt();
        assert!((average(&|p| (p.x[45] - p.mu).powi(2)) - 1.0).abs() < bound);
        let neighbours = average(&|p| (p.x[45] - p.mu) * (p.x[46] - p.mu));
        assert!((neighbours - (-0.5f64).exp()).abs() < bound, "{neighbours}");
        let totals = average(&|p| p.points.len() as f64);
        let spread = average(&|p| (p.points.len() as f64 - totals).powi(2)).sqrt();
        assert!((totals - 500.0).abs() < 4.0 * spread / n.sqrt(), "{totals} ± {spread}");
    }

    #[test]
    fn truths_that_make_no_pattern_are_refused() {
        let wrong = [
            PatternTruth { rows: 0, ..TRUTH },
            PatternTruth { rows: usize::MAX, ..TRUTH },
            PatternTruth { rows: 1, columns: 3, ..TRUTH },
            PatternTruth { sigma: 0.0, ..TRUTH },
            PatternTruth { sigma: f64::NAN, ..TRUTH },
            PatternTruth { range: -0.1, ..TRUTH },
            PatternTruth { range: 5.0, ..TRUTH },
            PatternTruth { total: 0.0, ..TRUTH },
            PatternTruth { total: f64::INFINITY, ..TRUTH },
            PatternTruth { total: 1e-9, ..TRUTH },
        ];
        for truth in wrong {
            assert!(matches!(lgcp(&truth, 1), Err(Error::Input { .. })), "{truth:?}");
        }
    }
}
