//! Predicts new data from the draws of a run: counts in cells, and returns to come.

use super::Run;
use crate::diagnose::quantile_of_sorted;
use crate::error::{Error, Result};
use crate::random::{Purpose, Stream};
use crate::spatial::Predictive;
use rand_distr::{Distribution, StandardNormal};

/// Stream of the returns to come.
const RETURNS: u32 = 0x666f_7265;

/// Predictive counts of one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellPrediction {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// 5 %, 50 % and 95 % quantile.
    pub quantiles: [f64; 3],
}

/// Predictive counts of every cell from at most so many draws: what a second survey with the same effort would find.
pub fn predict_cells(
    run: &Run,
    draws: usize,
    predictive: &Predictive<'_>,
) -> Result<Vec<CellPrediction>> {
    let fields = run.fields()?;
    let drawn: Vec<Vec<f32>> = fields
        .spread(draws)
        .into_iter()
        .enumerate()
        .map(|(k, (chain, place, field))| {
            let own = run.own(predictive.likelihood, chain, place);
            predictive.counts(k, field, &own).iter().map(|&y| y as f32).collect()
        })
        .collect();
    let sites = predictive.counts.grid().cells();
    Ok((0..sites).map(|cell| prediction(drawn.iter().map(|d| f64::from(d[cell])))).collect())
}

fn prediction(values: impl Iterator<Item = f64>) -> CellPrediction {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    let quantiles = [0.05, 0.5, 0.95].map(|p| quantile_of_sorted(&values, p));
    CellPrediction { mean, sd: variance.sqrt(), quantiles }
}

/// One step ahead: volatility and return.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Volatility: the standard deviation of the return given everything.
    pub volatility: CellPrediction,
    /// The return itself.
    pub value: CellPrediction,
}

/// Forecasts so many steps after the end of a series of returns, from every draw that was kept.
pub fn forecast(run: &Run, horizon: usize, seed: u64) -> Result<Vec<Forecast>> {
    run.returns()?;
    let fields = run.fields()?;
    let find = |name: &str| {
        run.series(name).ok_or_else(|| Error::Numeric(format!("the run has no draws of {name}")))
    };
    let (phi, sigma, beta) = (find("phi")?, find("sigma")?, find("beta")?);
    let spread = fields.spread(usize::MAX);
    let mut volatility = vec![Vec::with_capacity(spread.len()); horizon];
    let mut values = volatility.clone();
    for (k, (chain, number, field)) in spread.into_iter().enumerate() {
        let draw = number * run.record.field_stride;
        let (phi, sigma, beta) = (phi[chain][draw], sigma[chain][draw], beta[chain][draw]);
        let mut rng = Stream::new(seed, k as u32, RETURNS, Purpose::Other).rng();
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let mut x = field.last().map_or(0.0, |&x| f64::from(x));
        for step in 0..horizon {
            x = phi * x + sigma * normal();
            let size = beta * (0.5 * x).exp();
            volatility[step].push(size);
            values[step].push(size * normal());
        }
    }
    Ok(volatility
        .into_iter()
        .zip(values)
        .map(|(sizes, values)| Forecast {
            volatility: prediction(sizes.into_iter()),
            value: prediction(values.into_iter()),
        })
        .collect())
}
