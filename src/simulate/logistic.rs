//! Draws labelled rows of features in groups.
//!
//! w_g ~ N(0, v I); x_0 = 1 and the other features standard normal; P(y = 1) = 1/(1 + exp(−w_g'x)), y = ±1.

use super::{normals, positive, stream, within};
use crate::data::{GroupedTable, OutputDir};
use crate::error::{Error, Result};
use serde_json::json;
use std::io::Write;

/// Which random numbers are for what.
const WEIGHT: u32 = 0;
const FEATURE: u32 = 1;
const LABEL: u32 = 2;
/// The most values a table may have.
const MOST_VALUES: usize = 100_000_000;

/// What a table is drawn from.
#[derive(Clone, Copy, Debug)]
pub struct RegressionTruth {
    /// Number of groups.
    pub groups: usize,
    /// Number of features, the constant one included.
    pub features: usize,
    /// Rows of each group.
    pub rows: usize,
    /// Variance of the coefficients.
    pub v: f64,
}

/// A simulated table.
#[derive(Clone, Debug)]
pub struct LabelledTable {
    /// What it was drawn from.
    pub truth: RegressionTruth,
    /// The seed it was drawn with.
    pub seed: u64,
    /// Coefficients, group after group.
    pub weights: Vec<f64>,
    /// Groups, features and labels.
    pub table: GroupedTable,
}

/// Draws a table.
pub fn logistic(truth: &RegressionTruth, seed: u64) -> Result<LabelledTable> {
    let RegressionTruth { groups, features, rows, v } = *truth;
    within("groups", groups, 1, 1_000_000)?;
    positive("v", v, 1e6)?;
    within("features", features, 1, (MOST_VALUES / groups).min(1000))?;
    within("rows", rows, 1, MOST_VALUES / (groups * features))?;
    let values = groups * rows * features;
    let weights: Vec<f64> =
        normals(seed, WEIGHT, groups * features).iter().map(|w| v.sqrt() * w).collect();
    let mut x = normals(seed, FEATURE, values);
    x.iter_mut().step_by(features).for_each(|first| *first = 1.0);
    let label: Vec<f64> = x
        .chunks_exact(features)
        .enumerate()
        .map(|(row, x)| {
            let own = &weights[row / rows * features..][..features];
            let logit: f64 = own.iter().zip(x).map(|(w, x)| w * x).sum();
            let yes = stream(seed, LABEL, 0).uniform(row as u32) < 1.0 / (1.0 + (-logit).exp());
            if yes { 1.0 } else { -1.0 }
        })
        .collect();
    if label.iter().all(|&y| y == label[0]) {
        let remedy = "draw more --rows or take another --seed";
        return Err(Error::input("rows", "labels of both classes", "one class only", remedy));
    }
    let names: Vec<String> = (0..groups * rows).map(|row| (row / rows).to_string()).collect();
    let columns = (0..features).map(|k| format!("x{k}")).collect();
    let table = GroupedTable::from_rows(&names, columns, x, label)?;
    Ok(LabelledTable { truth: *truth, seed, weights, table })
}

impl LabelledTable {
    /// Writes `table.csv` (group, y, x0, …), `weights.csv` (group, feature, w_true) and `truth.json`.
    pub fn write(&self, output: &OutputDir) -> Result<()> {
        let RegressionTruth { groups, features, rows, v } = self.truth;
        let table = &self.table;
        output.write_with("table.csv", |file| {
            writeln!(file, "group,y,{}", table.features().join(","))?;
            for (row, (y, x)) in table.label().iter().zip(table.x().chunks(features)).enumerate() {
                write!(file, "{},{y}", row / rows)?;
                x.iter().try_for_each(|x| write!(file, ",{x:?}"))?;
                writeln!(file)?;
            }
            Ok(())
        })?;
        output.write_with("weights.csv", |file| {
            writeln!(file, "group,feature,w_true")?;
            let numbered = self.weights.iter().enumerate();
            numbered
                .into_iter()
                .try_for_each(|(k, w)| writeln!(file, "{},x{},{w:?}", k / features, k % features))
        })?;
        output.write_json(
            "truth.json",
            &json!({
                "model": "logistic",
                "seed": self.seed,
                "groups": groups,
                "features": features,
                "rows_per_group": rows,
                "parameters": { "gamma": v.ln() },
                "v": v,
            }),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUTH: RegressionTruth = RegressionTruth { groups: 40, features: 3, rows: 500, v: 0.5 };

    #[test]
    fn labels_follow_their_probabilities() {
        let drawn = logistic(&TRUTH, 2).unwrap();
        let (table, features) = (&drawn.table, TRUTH.features);
        let (mut excess, mut variance) = (0.0, 0.0);
        for (row, (y, x)) in table.label().iter().zip(table.x().chunks(features)).enumerate() {
            assert_eq!(x[0], 1.0);
            let own = &drawn.weights[row / TRUTH.rows * features..][..features];
            let logit: f64 = own.iter().zip(x).map(|(w, x)| w * x).sum();
            let p = 1.0 / (1.0 + (-logit).exp());
            // Weighted by the logit, so that a wrong sign cannot hide.
            excess += logit * (f64::from(u8::from(*y > 0.0)) - p);
            variance += logit * logit * p * (1.0 - p);
        }
        assert!(excess.abs() < 4.0 * variance.sqrt(), "{excess} of {variance}");
        let n = drawn.weights.len() as f64;
        let square = drawn.weights.iter().map(|w| w * w).sum::<f64>() / n;
        assert!((square / 0.5 - 1.0).abs() < 4.0 * (2.0 / n).sqrt(), "{square}");
    }

    #[test]
    fn truths_that_make_no_table_are_refused() {
        let wrong = [
            RegressionTruth { groups: 0, ..TRUTH },
            RegressionTruth { features: 0, ..TRUTH },
            RegressionTruth { rows: 0, ..TRUTH },
            RegressionTruth { rows: usize::MAX, ..TRUTH },
            RegressionTruth { v: 0.0, ..TRUTH },
            RegressionTruth { groups: 1, rows: 1, ..TRUTH },
        ];
        for truth in wrong {
            assert!(matches!(logistic(&truth, 1), Err(Error::Input { .. })), "{truth:?}");
        }
    }
}
