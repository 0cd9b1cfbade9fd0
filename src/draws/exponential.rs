//! Follows the exponential of a field, such as the intensity of a Cox process, over every draw.

use serde::{Deserialize, Serialize};

/// Running moments of e^x at every site and how often it exceeded each level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exponential {
    count: u64,
    mean: Vec<f64>,
    squares: Vec<f64>,
    /// Levels and their logarithms, with the number of draws above them at every site.
    levels: Vec<(f64, f64, Vec<u32>)>,
}

impl Exponential {
    /// Nothing seen yet.
    pub fn new(sites: usize, levels: &[f64]) -> Self {
        let level = |&c: &f64| (c, c.ln(), vec![0; sites]);
        Self {
            count: 0,
            mean: vec![0.0; sites],
            squares: vec![0.0; sites],
            levels: levels.iter().map(level).collect(),
        }
    }

    /// Adds a draw of x.
    pub fn record(&mut self, field: &[f64]) {
        self.count += 1;
        let weight = 1.0 / self.count as f64;
        for ((mean, squares), &x) in self.mean.iter_mut().zip(&mut self.squares).zip(field) {
            let value = x.exp();
            let before = value - *mean;
            *mean += weight * before;
            *squares += before * (value - *mean);
        }
        for (_, log, above) in &mut self.levels {
            above.iter_mut().zip(field).for_each(|(n, &x)| *n += u32::from(x > *log));
        }
    }

    /// Takes what was accumulated elsewhere over `count` draws: moments, and draws above each level, level after level.
    pub(crate) fn set(&mut self, count: u64, mean: Vec<f64>, squares: Vec<f64>, above: &[u32]) {
        let counts = above.chunks_exact(mean.len().max(1));
        self.levels.iter_mut().zip(counts).for_each(|(level, own)| level.2.copy_from_slice(own));
        (self.count, self.mean, self.squares) = (count, mean, squares);
    }

    /// All draws of several chains together; none if there are no chains.
    pub fn pooled<'a>(chains: impl IntoIterator<Item = &'a Exponential>) -> Option<Exponential> {
        let mut chains = chains.into_iter();
        let mut total = chains.next()?.clone();
        chains.for_each(|chain| total.merge(chain));
        Some(total)
    }

    /// Adds what another chain saw at the same sites and levels (Chan, Golub and LeVeque 1979).
    fn merge(&mut self, other: &Exponential) {
        let (n, m) = (self.count as f64, other.count as f64);
        let total = (n + m).max(1.0);
        for site in 0..self.mean.len() {
            let difference = other.mean[site] - self.mean[site];
            self.mean[site] += difference * m / total;
            self.squares[site] += other.squares[site] + difference * difference * n * m / total;
        }
        for (mine, theirs) in self.levels.iter_mut().zip(&other.levels) {
            mine.2.iter_mut().zip(&theirs.2).for_each(|(a, b)| *a += b);
        }
        self.count += other.count;
    }

    /// Mean of e^x at every site.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Standard deviation of e^x at every site.
    pub fn sd(&self) -> Vec<f64> {
        let n = (self.count.max(2) - 1) as f64;
        self.squares.iter().map(|s| (s / n).sqrt()).collect()
    }

    /// Each level with the share of draws above it at every site.
    pub fn exceedances(&self) -> impl Iterator<Item = (f64, Vec<f64>)> + '_ {
        let n = self.count.max(1) as f64;
        self.levels
            .iter()
            .map(move |(c, _, above)| (*c, above.iter().map(|&k| f64::from(k) / n).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_pool_to_the_moments_of_all_draws() {
        let draws = [[0.1, -1.0], [0.7, 2.0], [-0.4, 0.5], [1.1, 0.2], [0.0, -3.0]];
        let mut chains = [Exponential::new(2, &[1.0, 3.0]), Exponential::new(2, &[1.0, 3.0])];
        draws.iter().enumerate().for_each(|(k, draw)| chains[usize::from(k > 1)].record(draw));
        let pooled = Exponential::pooled(&chains).unwrap();
        for site in 0..2 {
            let values: Vec<f64> = draws.iter().map(|d| d[site].exp()).collect();
            let mean = values.iter().sum::<f64>() / 5.0;
            let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 4.0;
            assert!((pooled.mean()[site] - mean).abs() < 1e-14);
            assert!((pooled.sd()[site] - variance.sqrt()).abs() < 1e-13);
            for (level, share) in pooled.exceedances() {
                let above = values.iter().filter(|&&v| v > level).count();
                assert_eq!(share[site], above as f64 / 5.0);
            }
        }
        assert!(Exponential::pooled([]).is_none());
    }
}
