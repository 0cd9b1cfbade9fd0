//! Shows each hyperparameter: posterior against prior, the chains over time, and their ranks.

use super::chart::{COLOURS, Chart, extent};
use super::html::{drawing, escape};
use crate::report::Run;

/// Most places along a trace; beyond that every so many draws are shown.
const MOST_PLACES: usize = 400;
/// Places at which a posterior density is drawn.
const CURVE: usize = 120;
/// Bars of a rank plot.
const BARS: usize = 20;

/// The three charts of every hyperparameter.
pub(super) fn charts(run: &Run) -> String {
    let mut out = String::new();
    for (k, name) in run.names.iter().enumerate() {
        let chains = &run.draws[k];
        let words = run.record.priors.get(k).map_or("", |prior| &prior.words);
        out += &format!("<h3>{}</h3>\n<div class=\"three\">\n", escape(name));
        out += &drawing(
            &density(run, k),
            &format!("posterior (solid) and prior (dashed); prior of {words}"),
        );
        out += &drawing(&trace(chains), "every chain should cover the same band, without trend");
        out += &drawing(
            &ranks(chains),
            "ranks over all chains: level lines mean that the chains agree",
        );
        out += "</div>\n";
    }
    out
}

/// Posterior by a Gaussian kernel, and the prior.
fn density(run: &Run, k: usize) -> String {
    let all: Vec<f64> = run.draws[k].iter().flatten().copied().filter(|v| v.is_finite()).collect();
    let (low, high) = spread(&all);
    let (x, posterior) = kernel(&all, low, high);
    let prior = run.record.priors.get(k).map_or(&[][..], |prior| &prior.curve);
    let prior: Vec<(f64, f64)> =
        prior.iter().copied().filter(|p| (low..=high).contains(&p.0)).collect();
    // A prior with a spike at its end would flatten the posterior.
    let top = extent(&posterior).1;
    let top = top.max(extent(prior.iter().map(|p| &p.1)).1.min(1.5 * top));
    let mut chart = Chart::new("posterior and prior", (low, high), (0.0, 1.05 * top));
    chart.line(prior, "#5b6876", 1.5, true);
    chart.line(x.into_iter().zip(posterior), COLOURS[0], 2.0, false);
    chart.finish()
}

/// The middle 99 % of values and a little room.
fn spread(values: &[f64]) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted.is_empty() {
        return (0.0, 1.0);
    }
    let at = |share: f64| sorted[(share * (sorted.len() - 1) as f64) as usize];
    let (low, high) = (at(0.005), at(0.995));
    let room = 0.15 * (high - low);
    // A positive quantity has no room below zero.
    let floor = if sorted[0] >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
    ((low - room).max(floor), high + room)
}

/// Density by a Gaussian kernel with Silverman's width.
fn kernel(values: &[f64], low: f64, high: f64) -> (Vec<f64>, Vec<f64>) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
    let sd = sd.min((high - low) / 4.0);
    let width = 1.06 * sd * n.powf(-0.2);
    let x: Vec<f64> = (0..=CURVE).map(|k| low + (high - low) * k as f64 / CURVE as f64).collect();
    // Some thousands of draws say all there is to see.
    let every = (values.len() / 4000).max(1);
    let thinned: Vec<f64> = values.iter().copied().step_by(every).collect();
    let scale = 1.0 / (thinned.len().max(1) as f64 * width * (2.0 * std::f64::consts::PI).sqrt());
    let density = |&x: &f64| {
        let bumps = thinned.iter().map(|v| (-0.5 * ((x - v) / width).powi(2)).exp());
        scale * bumps.sum::<f64>()
    };
    let density = x.iter().map(density).map(|d| if d.is_finite() { d } else { 0.0 }).collect();
    (x, density)
}

fn trace(chains: &[Vec<f64>]) -> String {
    let draws = chains.first().map_or(0, Vec::len);
    let every = draws.div_ceil(MOST_PLACES).max(1);
    let range = extent(chains.iter().flatten());
    let mut chart = Chart::new("draws of each chain", (0.0, draws as f64), range);
    for (chain, colour) in chains.iter().zip(COLOURS.iter().cycle()) {
        let line = chain.iter().enumerate().step_by(every).map(|(t, &v)| (t as f64, v));
        chart.line(line, colour, 0.8, false);
    }
    chart.finish()
}

/// Shares of each chain's draws in bands of rank, relative to even.
fn ranks(chains: &[Vec<f64>]) -> String {
    let mut all: Vec<(f64, usize)> = chains
        .iter()
        .enumerate()
        .flat_map(|(c, draws)| draws.iter().map(move |&v| (v, c)))
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut counts = vec![[0.0; BARS]; chains.len()];
    let total = all.len().max(1);
    for (rank, &(_, chain)) in all.iter().enumerate() {
        counts[chain][rank * BARS / total] += 1.0;
    }
    let even = total as f64 / (BARS * chains.len().max(1)) as f64;
    let top = counts.iter().flatten().map(|c| c / even).fold(1.5, f64::max);
    let mut chart = Chart::new("ranks of each chain's draws", (0.0, 1.0), (0.0, 1.05 * top));
    for (bars, colour) in counts.iter().zip(COLOURS.iter().cycle()) {
        let steps = bars.iter().enumerate().flat_map(|(k, &count)| {
            let at = |k: usize| k as f64 / BARS as f64;
            [(at(k), count / even), (at(k + 1), count / even)]
        });
        chart.line(steps, colour, 1.6, false);
    }
    chart.finish()
}
