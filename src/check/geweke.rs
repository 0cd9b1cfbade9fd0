//! Makes Geweke's test of the joint distribution of hyperparameters, field and data.
//!
//! Transitions of a sampler alternated with fresh data leave the joint distribution as it is (Geweke 2004), so that all moments
//! along that chain are those of independent draws.
//!
//! Many short chains, each from a draw of its own, say more than few long ones: they are stationary from the first state on, so that their
//! means are independent, and the error of the mean over all of them can be estimated without a word about how slowly they move.

use super::apart;
use super::score::{Score, student_bound};
use super::walk::Way;
use super::world::World;
use crate::error::{Error, Result};
use crate::prior::Hyperparameters;
use crate::random::{Purpose, Stream};

/// How long the test is.
#[derive(Clone, Copy, Debug)]
pub struct Geweke {
    /// Chains.
    pub chains: u32,
    /// Transitions of each.
    pub length: u32,
    /// Independent draws to compare with.
    pub draws: u32,
    /// Seed.
    pub seed: u64,
}

impl Default for Geweke {
    fn default() -> Self {
        Self { chains: 32, length: 500, draws: 40_000, seed: 1 }
    }
}

/// Statistics along chains of transitions and fresh data.
#[derive(Clone, Debug)]
pub struct Paths {
    /// Chain by chain and transition by transition.
    pub rows: Vec<Vec<Vec<f64>>>,
    /// Share of transitions that moved.
    pub moved: f64,
}

/// Means of statistics over independent draws, with their standard errors.
#[derive(Clone, Debug)]
pub struct Moments {
    mean: Vec<f64>,
    sd: Vec<f64>,
    count: f64,
}

/// Moments that see hyperparameters, field, data and how they go together; none has a heavy tail.
fn statistics(phi: &[f64], eta: &[f64], y: &[f64]) -> Vec<f64> {
    let n = eta.len() as f64;
    let level = eta.iter().sum::<f64>() / n;
    let spread = eta.iter().map(|e| (1.0 + e * e).ln()).sum::<f64>() / n;
    let mut all = phi.to_vec();
    all.extend(phi.iter().map(|p| p * p));
    all.extend([level.tanh(), eta[0].tanh(), spread, phi[0] * spread]);
    if !y.is_empty() {
        // Moved by a quarter, so that signs show too.
        let size = |y: &f64| (1.0 + (y + 0.25).abs()).ln();
        let data = y.iter().map(size).sum::<f64>() / y.len() as f64;
        all.extend([data, phi[0] * data, level.tanh() * data]);
    }
    all
}

/// What the statistics of a world are called.
pub fn statistic_names(world: &World) -> Vec<String> {
    let priors = world.model().hyperparameters();
    // Priors between bounds are on a scale of their own, so these are the sampler's coordinates.
    let own = priors.names().into_iter().map(|name| format!("coordinate of {name}"));
    let mut names: Vec<String> = own.collect();
    names.extend(names.clone().into_iter().map(|name| format!("squared {name}")));
    let (first, rest) = (names[0].clone(), ["level", "first site", "spread"]);
    names.extend(rest.map(String::from));
    names.push(format!("{first} x spread"));
    if world.has_data() {
        names.extend(["data".into(), format!("{first} x data"), "level x data".into()]);
    }
    names
}

impl Geweke {
    /// Follows a kernel with fresh data after every transition.
    pub fn successive(&self, world: &World, way: &Way) -> Result<Paths> {
        let priors = world.model().hyperparameters();
        let mut eta = vec![0.0; world.model().structure().sites()];
        let (mut moved, mut rows) = (0u32, Vec::new());
        for chain in 0..self.chains {
            let stream = |t, purpose| Stream::new(self.seed, chain, t, purpose);
            let start = world.draw(priors, &mut stream(0, Purpose::Prior).rng())?;
            world.put(&start.y)?;
            // The walker's own numbers are those of chain 0.
            let mut walker = way.at(world, &start, apart(self.seed, chain))?;
            let mut path = Vec::with_capacity(self.length as usize);
            for t in 0..self.length {
                moved += u32::from(walker.advance(t, false)?);
                walker.predictor(&mut eta);
                let y = world.simulate_tamed(
                    &eta,
                    walker.phi(),
                    &mut stream(t, Purpose::Data).rng(),
                )?;
                world.put(&y)?;
                walker.look_again();
                path.push(statistics(walker.phi(), &eta, &y));
            }
            rows.push(path);
        }
        Ok(Paths { rows, moved: f64::from(moved) / f64::from(self.chains * self.length) })
    }

    /// Moments of independent draws whose hyperparameters come from `priors`.
    pub fn independent(&self, world: &World, priors: &Hyperparameters) -> Result<Moments> {
        let draws = (0..self.draws).map(|i| {
            // A chain number that no chain has.
            let stream = Stream::new(self.seed, u32::MAX, i, Purpose::Prior);
            let draw = world.draw(priors, &mut stream.rng())?;
            if !world.is_tame(&draw.eta) {
                return Err(Error::input(
                    "--prior",
                    "priors of worlds that Geweke's test can follow",
                    "a draw whose data are at the edge of numbers",
                    "state narrower ones",
                ));
            }
            Ok(statistics(&draw.phi, &draw.eta, &draw.y))
        });
        let draws = draws.collect::<Result<Vec<_>>>()?;
        let count = draws.len().max(1) as f64;
        let columns = draws.first().map_or(0, Vec::len);
        let mean: Vec<f64> =
            (0..columns).map(|k| draws.iter().map(|d| d[k]).sum::<f64>() / count).collect();
        let variance =
            |k: usize| draws.iter().map(|d| (d[k] - mean[k]).powi(2)).sum::<f64>() / count;
        let sd = (0..columns).map(|k| variance(k).sqrt()).collect();
        Ok(Moments { mean, sd, count })
    }
}

/// Scores every statistic; to be held against [`geweke_bound`].
pub fn geweke(names: &[String], paths: &Paths, moments: &Moments) -> Vec<Score> {
    let chains = paths.rows.len().max(2) as f64;
    let score = |(k, name): (usize, &String)| {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let each = paths.rows.iter().map(|rows| rows.iter().map(|row| row[k]).collect::<Vec<_>>());
        let means: Vec<f64> = each.map(|series| mean(&series)).collect();
        let got = mean(&means);
        let variance = means.iter().map(|m| (m - got).powi(2)).sum::<f64>() / (chains - 1.0);
        let sd = moments.sd[k];
        // A right chain's mean varies no more than one state does, however slowly it moves; a wrong one that runs away must not hide
        // in the large error that it has.
        let error = variance.sqrt().min(sd) / chains.sqrt();
        let error = error.hypot(sd / moments.count.sqrt());
        Score { name: name.clone(), got, want: moments.mean[k], error }
    };
    names.iter().enumerate().map(score).collect()
}

/// What the largest of `count` scores of so many chains stays below but for a chance of `false_alarm`.
///
/// Means of chains are not quite normal. How often a right kernel is beyond is counted by an ignored test of `tests/check`, for rates that
/// can be counted; far smaller ones are extrapolated, and what settles a doubt is the exact test of ranks.
pub fn geweke_bound(count: usize, false_alarm: f64, chains: u32) -> f64 {
    student_bound(count, false_alarm, chains.saturating_sub(1).max(1) as usize)
}
