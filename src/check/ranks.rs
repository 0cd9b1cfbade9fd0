//! Makes an exact test of a kernel: ranks of a draw among states the kernel leads to from it.
//!
//! Of a stationary path of states any one is equally likely to have any rank among them. A draw of the prior with its data is a
//! state of the posterior, and it is put at a uniform place of the path by walking from it to both sides, to one of them backwards
//! in time (Besag and Clifford 1989; Gandy and Scott 2020). So its ranks are exactly uniform however slowly the kernel mixes.

use super::apart;
use super::uniform::{Uniformity, rank_among_ties};
use super::walk::Way;
use super::world::World;
use crate::error::Result;
use crate::prior::Hyperparameters;
use crate::random::{Purpose, Stream};

/// How long the test is.
#[derive(Clone, Copy, Debug)]
pub struct RankTest {
    /// Worlds that are drawn.
    pub replicates: u32,
    /// States of a path.
    pub states: u32,
    /// Seed.
    pub seed: u64,
}

impl Default for RankTest {
    fn default() -> Self {
        Self { replicates: 1000, states: 16, seed: 1 }
    }
}

/// How often each rank was seen.
#[derive(Clone, Debug)]
pub struct RankCounts {
    /// What was ranked.
    pub names: Vec<String>,
    /// Counts of each quantity's ranks.
    pub counts: Vec<Vec<u32>>,
    /// Share of transitions that moved.
    pub moved: f64,
}

impl RankCounts {
    /// The quantity whose ranks are least uniform, and the chance that a right kernel has any that are as far from uniform.
    pub fn worst(&self) -> Option<(&str, f64)> {
        let values = self.names.iter().zip(&self.counts);
        let worst = values
            .map(|(name, counts)| (name.as_str(), Uniformity::new(counts).p_value()))
            .min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((worst.0, (worst.1 * self.names.len() as f64).min(1.0)))
    }
}

/// What is ranked: hyperparameters, the mean and the spread of the predictor, and the log-likelihood.
fn watched(world: &World, phi: &[f64], eta: &[f64], data: bool) -> Vec<f64> {
    let n = eta.len() as f64;
    let mean = eta.iter().sum::<f64>() / n;
    let mut all = phi.to_vec();
    all.push(mean);
    all.push(eta.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / n);
    if data {
        all.push(world.log_likelihood(eta, phi));
    }
    all
}

/// Ranks of draws whose hyperparameters come from `priors`.
pub fn exact_ranks(
    world: &World,
    way: &Way,
    priors: &Hyperparameters,
    test: &RankTest,
) -> Result<RankCounts> {
    let data = world.has_data();
    let mut names: Vec<String> = priors.names().iter().map(ToString::to_string).collect();
    names.extend(["mean".into(), "spread".into()]);
    names.extend(data.then(|| "log-likelihood".to_owned()));
    let mut counts = vec![vec![0u32; test.states as usize]; names.len()];
    let mut moved = 0u64;
    for replicate in 0..test.replicates {
        let stream = |purpose| Stream::new(test.seed, replicate, 0, purpose);
        let draw = world.draw(priors, &mut stream(Purpose::Prior).rng())?;
        world.put(&draw.y)?;
        let mut path = Path::from(watched(world, &draw.phi, &draw.eta, data));
        let place = stream(Purpose::Other);
        let before = (place.uniform(0) * f64::from(test.states)) as u32;
        for (backwards, length) in [(true, before), (false, test.states - 1 - before)] {
            let mut walker = way.at(world, &draw, apart(test.seed, replicate))?;
            let mut eta = draw.eta.clone();
            for t in 0..length {
                let t = t + if backwards { BACKWARDS } else { 0 };
                moved += u64::from(walker.advance(t, backwards)?);
                walker.predictor(&mut eta);
                path.see(&watched(world, walker.phi(), &eta, data));
            }
        }
        for (k, counts) in counts.iter_mut().enumerate() {
            let rank = path.rank(k, place.uniform(1 + k as u32));
            counts[rank as usize] += 1;
        }
    }
    let made = u64::from(test.replicates) * u64::from(test.states - 1);
    Ok(RankCounts { names, counts, moved: moved as f64 / made.max(1) as f64 })
}

/// Number of the first transition backwards, so that both directions have random numbers of their own.
const BACKWARDS: u32 = 1 << 20;

/// How many states of a path are below where it began, and how many equal to it.
struct Path {
    truth: Vec<f64>,
    below: Vec<u32>,
    equal: Vec<u32>,
}

impl Path {
    fn from(truth: Vec<f64>) -> Self {
        let zeros = vec![0; truth.len()];
        Self { truth, below: zeros.clone(), equal: zeros }
    }

    fn see(&mut self, values: &[f64]) {
        for (k, (&value, &truth)) in values.iter().zip(&self.truth).enumerate() {
            // A refused proposal comes back with the rounding of its coordinates.
            let tie = (value - truth).abs() <= 1e-9 * (1.0 + truth.abs());
            self.equal[k] += u32::from(tie);
            self.below[k] += u32::from(!tie && value < truth);
        }
    }

    /// The rank of where it began; `uniform` decides between ties.
    fn rank(&self, k: usize, uniform: f64) -> u32 {
        rank_among_ties(self.below[k], self.equal[k], uniform)
    }
}
