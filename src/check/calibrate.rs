//! Calibrates whole fits by simulation: the rank of a truth among the draws of a fit to its data is uniform (Talts et al. 2018).
//!
//! A replicate draws hyperparameters and field from the prior and data from them, fits the data as `sshmc fit` does, warm-up and
//! all, and ranks the truth among draws that are so far apart that they are nearly independent. Field summaries and the
//! log-likelihood are ranked beside the hyperparameters, because ranks of hyperparameters alone cannot see a posterior that
//! ignores the data (Modrák et al. 2023).

use super::world::{Draw, World};
use crate::diagnose::ess_bulk;
use crate::draws::ChainDraws;
use crate::error::Result;
use crate::hamiltonian::add_mean;
use crate::model::Model;
use crate::random::{Purpose, Stream};
use crate::sample::{Fit, Keeper, Settings, run_kept};
use std::sync::Arc;
use std::time::Instant;

/// How replicates are fitted and ranked.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// Settings of each fit; their seed is that of the whole check.
    pub fit: Settings,
    /// Draws that a truth is ranked among.
    pub among: u32,
}

/// A fit whose draws are worth fewer independent ones than a truth is ranked among is made again with more draws, but never with
/// more than this many times as many.
const MOST_LONGER: f64 = 8.0;
/// Some more than the effective size asks for, since that is an estimate.
const MARGIN: f64 = 1.3;

/// What came out of one world.
#[derive(Clone, Debug, PartialEq)]
pub struct Replicate {
    /// Its number, from 0.
    pub number: u32,
    /// The rank of each quantity's truth.
    pub ranks: Vec<u32>,
    /// Draws of each chain that it took.
    pub draws: u32,
    /// The smallest bulk effective sample size of a ranked quantity.
    pub ess: f64,
    /// Divergent transitions.
    pub divergent: u32,
    /// Seconds it took.
    pub seconds: f64,
}

/// Names of the ranked quantities of a world.
pub fn quantities(world: &World) -> Vec<String> {
    let model = world.model();
    let mut names: Vec<String> =
        model.hyperparameters().names().iter().map(ToString::to_string).collect();
    names.extend(world.has_data().then(|| "log-likelihood".to_owned()));
    names.extend(["field mean", "field maximum", "field spread"].map(String::from));
    names.push(format!("field at site {}", watched_site(model)));
    names
}

/// A site away from the edges and the middle.
fn watched_site(model: &Model) -> usize {
    model.structure().sites() * 3 / 8
}

/// Puts the quantities at one point together, in the order of their names.
fn measure(model: &Model, data: bool, values: &[f64], field: &[f64], eta: &[f64]) -> Vec<f64> {
    let n = field.len() as f64;
    let mean = field.iter().sum::<f64>() / n;
    let mut all = values.to_vec();
    if data {
        all.push(-model.likelihood().evaluate(eta, &mut vec![0.0; eta.len()]));
    }
    all.push(mean);
    all.push(field.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    all.push(field.iter().map(|x| (x - mean).powi(2)).sum());
    all.push(field[watched_site(model)]);
    all
}

/// The quantities of every draw of a chain, quantity by quantity.
fn measure_chain(model: &Model, data: bool, chain: &ChainDraws) -> Vec<Vec<f64>> {
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for (t, field) in chain.field.fields().enumerate() {
        let values: Vec<f64> = chain.parameters.iter().map(|p| p[t]).collect();
        let field: Vec<f64> = field.iter().map(|&x| f64::from(x)).collect();
        let eta = match model.reports_mean() {
            true => field.clone(),
            false => predictor(model, &values, &field),
        };
        let row = measure(model, data, &values, &field, &eta);
        columns.resize(row.len(), Vec::new());
        columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }
    columns
}

/// The predictor from reported values and a field without its mean.
fn predictor(model: &Model, values: &[f64], field: &[f64]) -> Vec<f64> {
    let all = model.hyperparameters();
    let coefficient = |term: &crate::model::MeanTerm| {
        let k = term.hyperparameter;
        term.scale * all[k].report().inverse(values[k])
    };
    let c: Vec<f64> = model.mean().iter().map(coefficient).collect();
    let mut eta = vec![0.0; field.len()];
    add_mean(model, &c, field, &mut eta);
    eta
}

/// The quantities at the truth.
fn truth(model: &Model, data: bool, draw: &Draw) -> Vec<f64> {
    let values = model.hyperparameters().values(&draw.phi);
    let field = if model.reports_mean() { &draw.eta } else { &draw.field };
    measure(model, data, &values, field, &draw.eta)
}

/// Draws a world, fits it and ranks its truth. The keeper may stop it.
pub fn replicate(
    world: &World,
    plan: &Calibration,
    number: u32,
    keeper: &dyn Keeper,
) -> Result<Replicate> {
    let begun = Instant::now();
    let seed = plan.fit.seed;
    let stream = |purpose| Stream::new(seed, number, 0, purpose);
    let draw = world.draw(world.model().hyperparameters(), &mut stream(Purpose::Prior).rng())?;
    let model = Arc::new(world.fitted_model(&draw.y)?);
    let data = world.has_data();
    let mut settings = Settings {
        // Every world has its own, far from those of its neighbours and of neighbouring checks.
        seed: seed.wrapping_add((1 + u64::from(number)).wrapping_mul(0x9E37_79B9_7F4A_7C15)),
        field_memory: Some(usize::MAX / 2),
        ..plan.fit.clone()
    };
    let mut sample = Sample::of(&run_kept(&model, &settings, &(), keeper)?, data);
    let wanted = f64::from(plan.among);
    if sample.ess < wanted {
        let longer = (MARGIN * wanted / sample.ess.max(1.0)).clamp(1.0, MOST_LONGER);
        settings.draws = (f64::from(settings.draws) * longer).ceil() as u32;
        sample = Sample::of(&run_kept(&model, &settings, &(), keeper)?, data);
    }
    let truth = truth(&model, data, &draw);
    let ties = stream(Purpose::Other);
    let rank =
        |(k, truth): (usize, &f64)| sample.rank(k, *truth, plan.among, ties.uniform(k as u32));
    Ok(Replicate {
        number,
        ranks: truth.iter().enumerate().map(rank).collect(),
        draws: settings.draws,
        ess: sample.ess,
        divergent: sample.divergent,
        seconds: begun.elapsed().as_secs_f64(),
    })
}

/// The ranked quantities of a fit.
struct Sample {
    /// Quantity by quantity, chain by chain.
    draws: Vec<Vec<Vec<f64>>>,
    ess: f64,
    divergent: u32,
}

impl Sample {
    fn of(fit: &Fit, data: bool) -> Self {
        let chains: Vec<_> =
            fit.chains.iter().map(|chain| measure_chain(&fit.model, data, chain)).collect();
        let quantities = chains.first().map_or(0, Vec::len);
        let draws: Vec<Vec<Vec<f64>>> = (0..quantities)
            .map(|k| chains.iter().map(|chain| chain[k].clone()).collect())
            .collect();
        let ess = draws.iter().map(|chains: &Vec<Vec<f64>>| {
            let slices: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
            let ess = ess_bulk(&slices);
            if ess.is_nan() { 0.0 } else { ess }
        });
        let ess = ess.fold(f64::INFINITY, f64::min);
        let divergent = fit.chains.iter().flat_map(|c| &c.divergent).filter(|&&d| d).count() as u32;
        Self { draws, ess, divergent }
    }

    /// The rank of a truth among draws spread evenly over all chains; `uniform` decides between ties.
    fn rank(&self, quantity: usize, truth: f64, among: u32, uniform: f64) -> u32 {
        let chains = &self.draws[quantity];
        let length = chains[0].len();
        let total = length * chains.len();
        let among = among as usize;
        let (mut below, mut equal) = (0u32, 0u32);
        for j in 0..among {
            let place = (2 * j + 1) * total / (2 * among);
            let value = chains[place / length][place % length];
            below += u32::from(value < truth);
            equal += u32::from(value == truth);
        }
        below + (uniform * f64::from(equal + 1)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_among_draws_from_all_of_every_chain() {
        let chain = |from: u32| (from..from + 10).map(f64::from).collect::<Vec<_>>();
        let sample = Sample { draws: vec![vec![chain(0), chain(10)]], ess: 20.0, divergent: 0 };
        assert_eq!(sample.rank(0, 9.5, 20, 0.5), 10);
        // Of every fifth, 2, 7, 12 and 17, two are smaller.
        assert_eq!(sample.rank(0, 9.5, 4, 0.5), 2);
        assert_eq!([0.1, 0.9].map(|u| sample.rank(0, 7.0, 4, u)), [1, 2]);
        assert_eq!(sample.rank(0, -1.0, 4, 0.99), 0);
        assert_eq!(sample.rank(0, 99.0, 4, 0.0), 4);
    }
}
