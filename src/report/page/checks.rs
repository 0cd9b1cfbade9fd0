//! Checks a fit against its data: would the fitted model have produced anything like them?

use super::chart::{COLOURS, Chart, extent};
use super::html::{drawing, escape, table};
use crate::error::Result;
use crate::report::numbers::number;
use crate::report::{LgcpRun, Run};
use crate::spatial::{PairCorrelation, Predictive};
use rand_distr::{Distribution, StandardNormal};

/// New data sets drawn from the posterior.
const COUNTS: usize = 200;
const PATTERNS: usize = 80;
/// Points of a pattern that is drawn, of which the pair correlation takes a part anyway.
const POINTS: f64 = 50_000.0;

/// A figure of the data and the same of new data sets.
struct Check {
    name: &'static str,
    observed: f64,
    predicted: Vec<f64>,
}

impl Check {
    /// A row of the table, and whether the observed value is within the interval that the row shows.
    fn row(&self) -> (Vec<String>, bool) {
        let mut sorted = self.predicted.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| sorted[(share * (sorted.len() - 1) as f64).round() as usize];
        let below = sorted.iter().filter(|&&v| v < self.observed).count();
        let equal = sorted.iter().filter(|&&v| v == self.observed).count();
        // Ties count half, as for any discrete figure.
        let share = (below as f64 + 0.5 * equal as f64) / sorted.len() as f64;
        let (low, high) = (at(0.05), at(0.95));
        let cells = vec![
            self.name.to_owned(),
            number(self.observed),
            number(at(0.5)),
            format!("{} to {}", number(low), number(high)),
            format!("{:.0} %", 100.0 * share),
        ];
        (cells, (low..=high).contains(&self.observed))
    }
}

/// The table of checks with a sentence on what it says.
fn show(checks: &[Check]) -> String {
    let rows: Vec<(Vec<String>, bool)> = checks.iter().map(Check::row).collect();
    let strange: Vec<&str> =
        checks.iter().zip(&rows).filter(|(_, row)| !row.1).map(|(check, _)| check.name).collect();
    let sentence = sentence(&strange, checks.len());
    let heading =
        ["figure", "data", "predicted median", "90 % of predictions", "predictions below data"];
    let rows: Vec<Vec<String>> = rows.into_iter().map(|row| row.0).collect();
    format!("<p>{}</p>\n{}", escape(&sentence), table(&heading, &rows))
}

/// What it means that these of so many figures lie outside their intervals.
fn sentence(strange: &[&str], figures: usize) -> String {
    let found = match strange.len() {
        0 => {
            return format!(
                "Data drawn from the fitted model look like the data: all {figures} figures of the data lie within 90 % of \
                 the predictions."
            );
        }
        1 => format!("1 of {figures} figures of the data lies"),
        some => format!("{some} of {figures} figures of the data lie"),
    };
    let meaning = match strange.len() {
        1 => "one alone says little unless it lies far outside",
        _ => {
            "several together say that the fitted model differs from the data there; take it with caution"
        }
    };
    format!(
        "{found} outside 90 % of the predictions: {}. Of data that the model describes, each would lie outside about once in \
         10 times: {meaning}.",
        strange.join(", ")
    )
}

/// Checks of a Cox process: counts, and the pair correlation with its envelope.
pub(super) fn lgcp(run: &Run, data: &LgcpRun) -> Result<String> {
    let fields = run.fields()?;
    let (counts, window) = (&data.counts, &data.window);
    let likelihood = data.likelihood;
    let predictive = Predictive { counts, likelihood, window, seed: run.summary.seed };
    let draw = |k: usize, (chain, place, field): (usize, usize, &[f32])| {
        predictive.counts(k, field, &run.own(likelihood, chain, place))
    };
    let observed = figures(counts.counts(), counts.observed());
    let predicted: Vec<[f64; 4]> = fields
        .spread(COUNTS)
        .into_iter()
        .enumerate()
        .map(|(k, of)| figures(&draw(k, of), counts.observed()))
        .collect();
    let names =
        ["points in all", "empty cells", "most points in a cell", "variance ÷ mean of counts"];
    let checks: Vec<Check> = names
        .iter()
        .enumerate()
        .map(|(f, &name)| Check {
            name,
            observed: observed[f],
            predicted: predicted.iter().map(|all| all[f]).collect(),
        })
        .collect();
    let places =
        data.places.clone().unwrap_or_else(|| predictive.some_places(0, counts.counts(), POINTS));
    let pairs = PairCorrelation::new(window);
    let envelope: Vec<Vec<f64>> = fields
        .spread(PATTERNS)
        .into_iter()
        .enumerate()
        .map(|(k, of)| pairs.of(&predictive.some_places(k, &draw(k, of), POINTS)))
        .collect();
    let chart = pair_chart(&pairs, &pairs.of(&places), &envelope);
    let caption = "Pair correlation g(r): how much more often points lie at distance r than by chance. Line: data; band: 90 % \
                   of patterns drawn from the fitted model.";
    Ok(format!("{}<div class=\"half\">{}</div>\n", show(&checks), drawing(&chart, caption)))
}

/// Total, empty cells, largest count, and variance over mean.
fn figures(counts: &[f64], observed: &[bool]) -> [f64; 4] {
    let seen: Vec<f64> =
        counts.iter().zip(observed).filter(|(_, seen)| **seen).map(|(&y, _)| y).collect();
    let n = seen.len().max(1) as f64;
    let total: f64 = seen.iter().sum();
    let mean = total / n;
    let variance = seen.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / n;
    let empty = seen.iter().filter(|&&y| y == 0.0).count() as f64;
    let ratio = if mean > 0.0 { variance / mean } else { 0.0 };
    [total, empty, seen.iter().copied().fold(0.0, f64::max), ratio]
}

fn pair_chart(pairs: &PairCorrelation, observed: &[f64], envelope: &[Vec<f64>]) -> String {
    let distances = pairs.distances();
    let bound = |share: f64| -> Vec<f64> {
        let at = |band: usize| {
            let mut values: Vec<f64> =
                envelope.iter().map(|g| g[band]).filter(|g| g.is_finite()).collect();
            values.sort_by(f64::total_cmp);
            let last = values.len().saturating_sub(1);
            values.get((share * last as f64).round() as usize).copied().unwrap_or(f64::NAN)
        };
        (0..distances.len()).map(at).collect()
    };
    let (low, high) = (bound(0.05), bound(0.95));
    let top = extent(observed).1.max(extent(&high).1);
    let far = distances.last().copied().unwrap_or(1.0);
    let mut chart = Chart::new("pair correlation g(r)", (0.0, far), (0.0, 1.05 * top));
    chart.line([(0.0, 1.0), (far, 1.0)], "#8a96a3", 1.0, true);
    chart.band(&distances, &low, &high, COLOURS[0]);
    chart.line(distances.iter().copied().zip(observed.iter().copied()), "#1d2733", 1.8, false);
    chart.finish()
}

/// Checks of stochastic volatility: size, tails and clustering of returns.
pub(super) fn volatility(run: &Run) -> Result<String> {
    let (returns, fields) = (run.returns()?, run.fields()?);
    let Some(beta) = run.series("beta") else { return Ok(String::new()) };
    let observed = shape(returns.y());
    let predicted: Vec<[f64; 4]> = fields
        .spread(COUNTS)
        .into_iter()
        .enumerate()
        .map(|(k, (chain, number, field))| {
            let beta = beta[chain][number * run.record.field_stride];
            let stream = crate::random::Stream::new(
                run.summary.seed,
                k as u32,
                0x7072_6572,
                crate::random::Purpose::Other,
            );
            let mut rng = stream.rng();
            let draw = |&x: &f32| {
                let noise: f64 = StandardNormal.sample(&mut rng);
                beta * (0.5 * f64::from(x)).exp() * noise
            };
            shape(&field.iter().map(draw).collect::<Vec<_>>())
        })
        .collect();
    let names = [
        "standard deviation",
        "largest absolute return",
        "kurtosis",
        "lag-1 correlation of absolute returns",
    ];
    let checks: Vec<Check> = names
        .iter()
        .enumerate()
        .map(|(f, &name)| Check {
            name,
            observed: observed[f],
            predicted: predicted.iter().map(|all| all[f]).collect(),
        })
        .collect();
    Ok(show(&checks))
}

/// Standard deviation, largest size, kurtosis and persistence of size.
fn shape(y: &[f64]) -> [f64; 4] {
    let n = y.len().max(1) as f64;
    let moment = |power: i32| y.iter().map(|v| v.powi(power)).sum::<f64>() / n;
    let (second, fourth) = (moment(2), moment(4));
    let sizes: Vec<f64> = y.iter().map(|v| v.abs()).collect();
    let mean = sizes.iter().sum::<f64>() / n;
    let spread: f64 = sizes.iter().map(|s| (s - mean).powi(2)).sum();
    let together: f64 = sizes.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
    let largest = sizes.iter().copied().fold(0.0, f64::max);
    [second.sqrt(), largest, fourth / (second * second), together / spread]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_outside_the_predictions_are_named() {
        let predicted: Vec<f64> = (0..100).map(f64::from).collect();
        let check = |observed| Check { name: "it", observed, predicted: predicted.clone() };
        assert!(show(&[check(50.0), check(5.0)]).contains("all 2 figures of the data lie within"));
        // Outside the interval that is shown, from 5 to 94, however little.
        let one = show(&[check(50.0), check(4.0)]);
        assert!(one.contains("5 to 94") && one.contains("1 of 2 figures"), "{one}");
        assert!(one.contains("predictions: it. ") && one.contains("says little"), "{one}");
        let both = show(&[check(1000.0), check(4.0)]);
        assert!(both.contains("2 of 2 figures") && both.contains("caution"), "{both}");
        assert_eq!(
            figures(&[0.0, 2.0, 4.0, 9.0], &[true, true, true, false]),
            [6.0, 1.0, 4.0, 4.0 / 3.0]
        );
    }

    #[test]
    fn shapes_of_series() {
        let [sd, largest, kurtosis, persistence] = shape(&[1.0, -1.0, 1.0, -1.0, 3.0, -3.0]);
        assert!((sd - (22.0f64 / 6.0).sqrt()).abs() < 1e-12);
        assert_eq!(largest, 3.0);
        assert!((kurtosis - (166.0 / 6.0) / (22.0f64 / 6.0).powi(2)).abs() < 1e-12);
        assert!(persistence > 0.0);
    }
}
