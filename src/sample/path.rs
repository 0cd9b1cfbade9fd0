//! Learns how long trajectories should be from how far hyperparameters go in them.
//!
//! Trajectories vary in length anyway, so every window of the warm-up holds shorter and longer ones. With lag-one correlation ρ a
//! trajectory of length t buys (1 − ρ)/(1 + ρ) independent draws for a cost of t. Far from a quarter turn 1 − ρ grows as t², and longer
//! trajectories pay; past it they do not. The elasticity of that efficiency, found by comparing the shorter half of the window's
//! trajectories with the longer one for the slowest hyperparameter, says which way to go. It is noisy, so only what exceeds its
//! standard error counts, and chains that are quick enough are left alone.

use serde::{Deserialize, Serialize};

/// Fewest transitions of a window that say anything.
const FEWEST: usize = 40;
/// Longest path, as a multiple of the shortest.
const LONGEST: f64 = 4.0;
/// Correlation below which the slowest hyperparameter is quick enough.
const QUICK: f64 = 0.5;
/// Largest correlation that is told from one, and least that is told from minus one.
const BOUND: f64 = 0.98;

/// Learns the mean length of a chain's trajectories.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PathLearner {
    shortest: f64,
    path: f64,
    lengths: Vec<f64>,
}

impl PathLearner {
    /// Starts at the shortest.
    pub(super) fn new(shortest: f64) -> Self {
        Self { shortest, path: shortest, lengths: Vec::new() }
    }

    /// The mean length now.
    pub(super) fn path(&self) -> f64 {
        self.path
    }

    /// Tells of a trajectory of this length.
    pub(super) fn add(&mut self, length: f64) {
        self.lengths.push(length);
    }

    /// Learns from a window: `draws` are the hyperparameters after each of its trajectories.
    pub(super) fn learn(&mut self, draws: &[Vec<f64>]) {
        if let Some((elasticity, error)) = elasticity(&self.lengths, draws) {
            let beyond = elasticity.signum() * (elasticity.abs() - error).max(0.0);
            let change = (0.5 * beyond).clamp(-0.5, 0.5).exp();
            self.path = (self.path * change).clamp(self.shortest, LONGEST * self.shortest);
        }
        self.lengths.clear();
    }
}

/// d log efficiency / d log length of the slowest hyperparameter and its standard error; none if the window does not say, or
/// even the slowest is quick.
fn elasticity(lengths: &[f64], draws: &[Vec<f64>]) -> Option<(f64, f64)> {
    if draws.len() < FEWEST || lengths.len() != draws.len() {
        return None;
    }
    let mut order: Vec<usize> = (1..draws.len()).collect();
    order.sort_by(|&a, &b| lengths[a].total_cmp(&lengths[b]));
    let (short, long) = order.split_at(order.len() / 2);
    let mean_length =
        |half: &[usize]| half.iter().map(|&t| lengths[t]).sum::<f64>() / half.len() as f64;
    let ratio = (mean_length(long) / mean_length(short)).ln();
    let (rho, slowest) = (0..draws[0].len())
        .map(|i| (correlation(&order, draws, i), i))
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    let gain = |half: &[usize]| {
        let rho = correlation(half, draws, slowest).clamp(-BOUND, BOUND);
        (1.0 - rho) / (1.0 + rho)
    };
    let value = (gain(long) / gain(short)).ln() / ratio - 1.0;
    // A mean of m squared normal jumps has the relative error √(2/m), and d log gain = −2 dρ/(1 − ρ²); two halves.
    let error = 2.0 * (2.0 * 2.0 / short.len() as f64).sqrt() / ((1.0 + rho) * ratio);
    (rho > QUICK && value.is_finite() && error.is_finite()).then_some((value, error))
}

/// Correlation of hyperparameter i before and after the chosen trajectories, by their squared jumps.
fn correlation(chosen: &[usize], draws: &[Vec<f64>], i: usize) -> f64 {
    let count = draws.len() as f64;
    let mean = draws.iter().map(|d| d[i]).sum::<f64>() / count;
    let variance = draws.iter().map(|d| (d[i] - mean).powi(2)).sum::<f64>() / count;
    let jump = |&t: &usize| (draws[t][i] - draws[t - 1][i]).powi(2);
    1.0 - chosen.iter().map(jump).sum::<f64>() / (2.0 * variance * chosen.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    /// Draws of a chain whose correlation over a trajectory of length t is `rho(t)`, beside one that is independent.
    fn window(path: f64, count: usize, rho: impl Fn(f64) -> f64) -> (Vec<f64>, Vec<Vec<f64>>) {
        let stream = Stream::new(5, 0, 0, Purpose::Other);
        let mut normals = vec![0.0; 2 * count];
        Stream::new(6, 0, 0, Purpose::Other).fill_normals(&mut normals);
        let (mut lengths, mut draws, mut now) = (Vec::new(), Vec::new(), normals[0]);
        for t in 0..count {
            let length = path * (0.5 + stream.uniform(t as u32));
            let rho = rho(length);
            now = rho * now + (1.0 - rho * rho).sqrt() * normals[2 * t];
            lengths.push(length);
            draws.push(vec![normals[2 * t + 1], now]);
        }
        (lengths, draws)
    }

    fn learnt(rho: impl Fn(f64) -> f64) -> f64 {
        let mut learner = PathLearner::new(1.6);
        for count in [50, 100, 200, 375] {
            let (lengths, draws) = window(learner.path(), count, &rho);
            lengths.iter().for_each(|&l| learner.add(l));
            learner.learn(&draws);
        }
        learner.path()
    }

    #[test]
    fn slow_turns_lengthen_trajectories_and_others_do_not() {
        let slow = learnt(|t| (0.3 * t).cos());
        assert!(slow > 2.4, "a quarter turn takes 5.2, got {slow}");
        let fast = learnt(|t| (1.2 * t).cos());
        assert!(fast < 1.9, "a quarter turn takes 1.3, got {fast}");
        let stuck = learnt(|_| 0.6);
        assert!(stuck < 1.9, "length does not matter, got {stuck}");
    }

    #[test]
    fn a_window_that_says_nothing_changes_nothing() {
        let mut learner = PathLearner::new(2.0);
        learner.learn(&[]);
        (0..50).for_each(|_| learner.add(1.0));
        learner.learn(&vec![vec![0.0]; 50]);
        assert_eq!(learner.path(), 2.0);
    }
}
