//! Compares two runs: their posteriors, and how well they predict points that neither has seen.

use super::{LgcpRun, Run};
use crate::data::{Counts, Table};
use crate::error::{Error, Result};

/// A hyperparameter in two runs.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Its name.
    pub name: String,
    /// Mean and standard deviation in the first run.
    pub first: (f64, f64),
    /// The same in the second.
    pub second: (f64, f64),
    /// Difference of the means in units of their Monte Carlo error: beyond 4 it is no accident of sampling.
    pub errors: f64,
}

/// The hyperparameters that both runs have.
pub fn compare_posteriors(a: &Run, b: &Run) -> Vec<Pair> {
    let common = a.summary.parameters.iter();
    common
        .filter_map(|(name, one)| {
            let two = b.summary.parameters.get(name)?;
            let error = one.mcse_mean.hypot(two.mcse_mean);
            Some(Pair {
                name: name.clone(),
                first: (one.mean, one.sd),
                second: (two.mean, two.sd),
                errors: (two.mean - one.mean) / error,
            })
        })
        .collect()
}

/// The log score of held-out points under one run and its standard error, and those of the difference to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scores {
    /// Log score of the first run.
    pub first: f64,
    /// Log score of the second run.
    pub second: f64,
    /// Second minus first: positive if the second predicts better.
    pub difference: f64,
    /// Standard error of the difference, from its spread over cells.
    pub error: f64,
}

/// Scores two runs on the points that both held out; none if neither held any out.
pub fn compare_scores(a: &Run, b: &Run) -> Result<Option<Scores>> {
    let share = |run: &Run| run.record.lgcp.as_ref().and_then(|lgcp| lgcp.held_out);
    if share(a).is_none() && share(b).is_none() {
        return Ok(None);
    }
    let (first, second) = (scores(a)?, scores(b)?);
    if first.0 != second.0 {
        return Err(Error::input(
            b.directory.display().to_string(),
            format!("the cells and held-out points of {}", a.directory.display()),
            "others",
            "fit both with the same points, grid, --hold-out and --seed",
        ));
    }
    let differences: Vec<f64> = first.1.iter().zip(&second.1).map(|(a, b)| b - a).collect();
    let n = differences.len().max(2) as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
    Ok(Some(Scores {
        first: first.1.iter().sum(),
        second: second.1.iter().sum(),
        difference: n * mean,
        error: (n * variance).sqrt(),
    }))
}

/// Held-out counts and the log predictive probability of each, cell by cell where anything was held out.
fn scores(run: &Run) -> Result<(Vec<f64>, Vec<f64>)> {
    let path = run.directory.join("held_out.csv");
    if !path.exists() {
        return Err(Error::input(
            run.directory.display().to_string(),
            "a run with points held out",
            "one without",
            "fit with --hold-out 0.2 and the same seed",
        ));
    }
    let LgcpRun { grid, likelihood, .. } = run.lgcp()?;
    let mut held = Counts::read(&path)?;
    if Table::open(&path)?.columns().iter().any(|name| name == "exposure") {
        held = held.with_exposure_file(&path)?;
    }
    let held = held.on_grid(grid)?;
    let fields = run.fields()?;
    let all: Vec<_> = fields
        .spread(usize::MAX)
        .into_iter()
        .map(|(chain, place, field)| (field, run.own(likelihood, chain, place)))
        .collect();
    let area = grid.cell_area();
    let cells = (0..grid.cells()).filter(|&cell| held.exposure()[cell] > 0.0);
    let (mut counts, mut scores) = (Vec::new(), Vec::new());
    for cell in cells {
        let (y, exposure) = (held.counts()[cell], held.exposure()[cell] * area);
        let logs: Vec<f64> = all
            .iter()
            .map(|(field, own)| {
                likelihood.log_probability(y, exposure.ln() + f64::from(field[cell]), own)
            })
            .collect();
        counts.push(y);
        scores.push(log_mean_exp(&logs));
    }
    Ok((counts, scores))
}

fn log_mean_exp(logs: &[f64]) -> f64 {
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logs.iter().map(|l| (l - top).exp()).sum();
    top + (sum / logs.len().max(1) as f64).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_logarithms_are_averaged_without_loss() {
        let mean = log_mean_exp(&[-1000.0, -1000.0 + 3f64.ln()]);
        assert!((mean - (-1000.0 + 2f64.ln())).abs() < 1e-12);
    }
}
