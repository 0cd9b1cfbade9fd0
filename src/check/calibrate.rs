//! Calibrates whole fits by simulation: the rank of a truth among the draws of a fit to its data is uniform (Talts et al. 2018).
//!
//! A replicate draws hyperparameters and field from the prior and data from them, fits the data as `sshmc fit` does, warm-up and
//! all, and ranks the truth among draws that are so far apart that they are nearly independent. Field summaries and the
//! log-likelihood are ranked beside the hyperparameters, because ranks of hyperparameters alone cannot see a posterior that
//! ignores the data (Modrák et al. 2023).

use super::apart;
use super::uniform::rank_among_ties;
use super::world::{Draw, World};
use crate::diagnose::ess_bulk;
use crate::draws::ChainDraws;
use crate::error::Result;
use crate::hamiltonian::add_mean;
use crate::model::Model;
use crate::random::{Purpose, Stream};
use crate::sample::{Fit, Keeper, Settings, run, run_kept};
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

/// Independent draws that a fit should be worth for each that a truth is ranked among: those are then so far apart that they are
/// nearly independent. A fit that is worth fewer is made again with more draws.
const WORTH: f64 = 2.0;
/// But never with more than this many times as many.
const MOST_LONGER: u32 = 8;
/// Some more than the effective size asks for, since that is an estimate.
const MARGIN: f64 = 1.3;

/// Makes one draw of the first world, in case its prior cannot be drawn from or its model cannot be sampled this way.
pub fn try_fit(world: &World, plan: &Calibration) -> Result<()> {
    let mut rng = Stream::new(plan.fit.seed, 0, 0, Purpose::Prior).rng();
    let draw = world.draw(world.model().hyperparameters(), &mut rng)?;
    let model = Arc::new(world.fitted_model(&draw.y)?);
    let short = Settings { chains: 1, warmup: 0, draws: 1, small_torus: false, ..plan.fit.clone() };
    run(&model, &short, &()).map(|_| ())
}

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

impl Replicate {
    /// Whether the fit is worth fewer independent draws than its truth is ranked among, however much longer it was made: its ranks
    /// need not be uniform.
    pub fn is_short(&self, among: u32) -> bool {
        self.ess < f64::from(among)
    }
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
        let own = own(model, values);
        let by = (&mut vec![0.0; eta.len()], &mut vec![0.0; own.len()]);
        all.push(-model.likelihood().evaluate(eta, &own, by.0, by.1));
    }
    all.push(mean);
    all.push(field.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    all.push(field.iter().map(|x| (x - mean).powi(2)).sum());
    all.push(field[watched_site(model)]);
    all
}

/// Working values of the likelihood's own hyperparameters from all reported values.
fn own(model: &Model, values: &[f64]) -> Vec<f64> {
    let working = |k: usize| model.hyperparameters()[k].report().inverse(values[k]);
    model.likelihood_parameters().map(working).collect()
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
        seed: apart(seed, number),
        field_memory: Some(usize::MAX / 2),
        ..plan.fit.clone()
    };
    let mut sample = Sample::of(&run_kept(&model, &settings, &(), keeper)?, data);
    let (wanted, most) =
        (WORTH * f64::from(plan.among), settings.draws.saturating_mul(MOST_LONGER));
    while sample.ess < wanted && settings.draws < most {
        let longer = MARGIN * wanted / sample.ess.max(1.0);
        settings.draws = ((f64::from(settings.draws) * longer).ceil() as u32).min(most);
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
        rank_among_ties(below, equal, uniform)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Uniformity, WorldKind};
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

    /// The p-values of all quantities if a truth is ranked among independent draws of the prior, changed by `spoil`, as if they came
    /// from a fit of its data.
    fn p_values(kind: WorldKind, spoil: impl Fn(&mut Draw)) -> Vec<(String, f64)> {
        let world = kind.world(&kind.tiny_priors()).unwrap();
        let priors = world.model().hyperparameters();
        let (among, data) = (19, world.has_data());
        let names = quantities(&world);
        let mut counts = vec![vec![0u32; among as usize + 1]; names.len()];
        for number in 0..300 {
            let stream = |t| Stream::new(5, number, t, Purpose::Prior);
            let draw = world.draw(priors, &mut stream(0).rng()).unwrap();
            let model = world.fitted_model(&draw.y).unwrap();
            let mut chains = vec![vec![Vec::new()]; names.len()];
            for t in 0..among {
                let mut other = world.draw(priors, &mut stream(1 + t).rng()).unwrap();
                spoil(&mut other);
                let row = truth(&model, data, &other);
                chains.iter_mut().zip(row).for_each(|(chain, value)| chain[0].push(value));
            }
            let sample = Sample { draws: chains, ess: 19.0, divergent: 0 };
            let ties = Stream::new(5, number, 0, Purpose::Other);
            for (k, truth) in truth(&model, data, &draw).into_iter().enumerate() {
                counts[k][sample.rank(k, truth, among, ties.uniform(k as u32)) as usize] += 1;
            }
        }
        let p = counts.iter().map(|counts| Uniformity::new(counts).p_value());
        names.into_iter().zip(p).collect()
    }

    /// Of each p-value, for a chance of 1e-6 that any of the about 30 of a test is below it.
    const FALSE_ALARM: f64 = 1e-6 / 30.0;

    /// A posterior that ignores the data passes everywhere but in the log-likelihood.
    #[test]
    fn draws_of_the_prior_are_found_out_by_the_log_likelihood_alone() {
        for kind in WorldKind::tiny().into_iter().filter(|kind| kind.name() != "funnel") {
            for (name, p) in p_values(kind, |_| {}) {
                let uniform = p > FALSE_ALARM;
                assert_eq!(uniform, name != "log-likelihood", "{}, {name}: p {p:e}", kind.name());
            }
        }
    }

    /// Fields that are too flat, at hyperparameters that are right.
    #[test]
    fn flat_fields_are_found_out_by_their_summaries() {
        for kind in WorldKind::tiny() {
            let flatten = |draw: &mut Draw| {
                let change: Vec<f64> = draw.field.iter().map(|x| -0.6 * x).collect();
                draw.field.iter_mut().zip(&change).for_each(|(x, change)| *x += change);
                draw.eta.iter_mut().zip(&change).for_each(|(eta, change)| *eta += change);
            };
            let all = p_values(kind, flatten);
            let hyperparameters = kind.world(&[]).unwrap().model().hyperparameters().len();
            for (name, p) in &all[..hyperparameters] {
                assert!(*p > FALSE_ALARM, "{}, {name}: p {p:e}", kind.name());
            }
            for wrong in ["field maximum", "field spread"] {
                let (_, p) = all.iter().find(|(name, _)| name == wrong).unwrap();
                assert!(*p < FALSE_ALARM, "{}, {wrong} passes with p {p:e}", kind.name());
            }
        }
    }

    /// Data that a reader refuses because they say too little are worlds too.
    #[test]
    fn worlds_without_points_or_with_one_class_are_fitted() {
        for kind in [WorldKind::tiny()[0], WorldKind::tiny()[2]] {
            let world = kind.world(&[]).unwrap();
            let draw = world.draw(
                world.model().hyperparameters(),
                &mut Stream::new(1, 0, 0, Purpose::Prior).rng(),
            );
            let draw = draw.unwrap();
            let empty = vec![if kind.name() == "lgcp" { 0.0 } else { -1.0 }; draw.y.len()];
            let model = world.fitted_model(&empty).unwrap();
            world.put(&empty).unwrap();
            let own = -model.misfit(&draw.eta, &draw.phi, &mut vec![0.0; draw.eta.len()]);
            assert_eq!(own, world.log_likelihood(&draw.eta, &draw.phi), "{}", kind.name());
            assert!(model.start().iter().all(|phi| phi.is_finite()), "{:?}", model.start());
            let settings = Settings { chains: 1, warmup: 60, draws: 10, ..Settings::default() };
            assert_eq!(run(&Arc::new(model), &settings, &()).unwrap().chains[0].energy.len(), 10);
        }
    }
}
