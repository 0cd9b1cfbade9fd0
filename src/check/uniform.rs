//! Judges whether ranks are uniform by their empirical distribution function, with exact probabilities.
//!
//! Of N ranks that are uniform on 0 … K − 1 the number C_k below k is binomial with share k/K. At each k that number has a
//! two-sided tail probability, and the smallest of them over k is the statistic (Säilynoja, Bürkner and Vehtari 2022, who find
//! its level by simulation). The C_k are a Markov chain, since of those not below k a binomial number with share 1/(K − k)
//! is k itself, so that the probability to stay between any bounds at all k is a sum over paths, made here k by k.

use super::binomial::{chance, outside};

/// The rank of a value among others, of which so many are below it and so many equal; `uniform` decides between ties.
pub(super) fn rank_among_ties(below: u32, equal: u32, uniform: f64) -> u32 {
    below + (uniform * f64::from(equal + 1)) as u32
}

/// The ranks of one quantity.
#[derive(Clone, Debug)]
pub struct Uniformity {
    /// Number of ranks below 1, 2, … K − 1.
    below: Vec<usize>,
    law: Law,
}

/// Bounds at each k = 1 … K − 1 between which the number of ranks below k stays, both included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Band {
    /// Fewest.
    pub low: Vec<usize>,
    /// Most.
    pub high: Vec<usize>,
}

/// Relative difference of tail probabilities that rounding may make.
const TIE: f64 = 1e-9;

/// The law of the numbers below each k.
#[derive(Clone, Debug)]
struct Law {
    ranks: usize,
    cells: usize,
}

impl Uniformity {
    /// From how often each rank was seen.
    pub fn new(counts: &[u32]) -> Self {
        let ranks = counts.iter().map(|&c| c as usize).sum();
        let sums = counts.iter().scan(0usize, |sum, &c| {
            *sum += c as usize;
            Some(*sum)
        });
        let below = sums.take(counts.len().saturating_sub(1)).collect();
        Self { below, law: Law { ranks, cells: counts.len() } }
    }

    /// The chance that uniform ranks are as far from uniform as these. Its rounding is relative to itself, however small it is: what
    /// leaves is added up, and not taken from one.
    pub fn p_value(&self) -> f64 {
        let tails = self.below.iter().enumerate().map(|(i, &c)| self.law.tails(i + 1)[c]);
        // Tails that differ by rounding alone, as those of mirror images do, are as far from uniform as each other.
        let smallest = tails.fold(1.0, f64::min) * (1.0 + TIE);
        self.law.leaves(&self.law.band_beyond(smallest)).min(1.0)
    }

    /// The narrowest band of this kind that uniform ranks leave with at most this chance.
    pub fn band(&self, chance: f64) -> Band {
        self.law.band(chance)
    }

    /// ECDF minus the uniform's at k/K, k = 0 … K.
    pub fn difference(&self) -> Vec<(f64, f64)> {
        let inner = self.below.iter().copied().enumerate();
        self.law.curve(inner.map(|(i, c)| (i + 1, c)))
    }

    /// Lower and upper edge of a band as differences.
    pub fn edges(&self, band: &Band) -> [Vec<(f64, f64)>; 2] {
        [&band.low, &band.high]
            .map(|edge| self.law.curve(edge.iter().enumerate().map(|(i, &c)| (i + 1, c))))
    }
}

impl Law {
    /// The two-sided tail probability of every number of ranks below k.
    fn tails(&self, k: usize) -> Vec<f64> {
        let share = k as f64 / self.cells as f64;
        let mass: Vec<f64> = (0..=self.ranks).map(|c| chance(self.ranks, share, c)).collect();
        let mut low = mass.clone();
        (1..low.len()).for_each(|c| low[c] += low[c - 1]);
        let mut high = mass;
        (0..high.len() - 1).rev().for_each(|c| high[c] += high[c + 1]);
        low.iter().zip(&high).map(|(l, h)| (2.0 * l.min(*h)).min(1.0)).collect()
    }

    /// All numbers whose tail probability is larger than `level`.
    fn band_beyond(&self, level: f64) -> Band {
        let each = (1..self.cells).map(|k| {
            let tails = self.tails(k);
            let low = tails.iter().position(|&t| t > level);
            let high = tails.iter().rposition(|&t| t > level);
            // An empty interval: nothing stays.
            low.zip(high).unwrap_or((1, 0))
        });
        let (low, high) = each.unzip();
        Band { low, high }
    }

    /// The chance that uniform ranks leave a band: what leaves it first at k, added up over k.
    fn leaves(&self, band: &Band) -> f64 {
        // Chances of each number of ranks below k, having stayed so far.
        let mut now = vec![(0usize, 1.0)];
        let mut left = 0.0;
        for k in 0..self.cells.saturating_sub(1) {
            let share = 1.0 / (self.cells - k) as f64;
            let (low, high) = (band.low[k], band.high[k]);
            let mut next: Vec<(usize, f64)> = (low..=high).map(|c| (c, 0.0)).collect();
            for &(before, weight) in now.iter().filter(|(_, weight)| *weight > 0.0) {
                let rest = self.ranks - before;
                left += weight
                    * outside(rest, share, low as i64 - before as i64, high as i64 - before as i64);
                for (c, sum) in next.iter_mut().filter(|(c, _)| *c >= before) {
                    *sum += weight * chance(rest, share, *c - before);
                }
            }
            now = next;
        }
        left
    }

    /// The narrowest band that is left with at most a given chance, by bisection of its pointwise level.
    fn band(&self, chance: f64) -> Band {
        // At this level it is left with less at all k together.
        let (mut good, mut bad) = ((chance / self.cells as f64).ln(), 0.0f64);
        for _ in 0..40 {
            let middle = 0.5 * (good + bad);
            if self.leaves(&self.band_beyond(middle.exp())) <= chance {
                good = middle;
            } else {
                bad = middle;
            }
        }
        self.band_beyond(good.exp())
    }

    /// Differences c/N − k/K at given (k, c), with zeros at both ends.
    fn curve(&self, inner: impl Iterator<Item = (usize, usize)>) -> Vec<(f64, f64)> {
        let ranks = self.ranks.max(1) as f64;
        let place = |(k, c): (usize, usize)| {
            let x = k as f64 / self.cells as f64;
            (x, c as f64 / ranks - x)
        };
        std::iter::once((0.0, 0.0)).chain(inner.map(place)).chain([(1.0, 0.0)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::normal_quantile;
    use crate::random::{Purpose, Stream};

    /// Counts of uniform ranks.
    fn uniform(ranks: u32, cells: usize, replicate: u32) -> Vec<u32> {
        let stream = Stream::new(3, replicate, 0, Purpose::Other);
        let mut counts = vec![0; cells];
        for i in 0..ranks {
            counts[(stream.uniform(i) * cells as f64) as usize] += 1;
        }
        counts
    }

    #[test]
    fn probabilities_are_those_of_every_outcome() {
        // All 3⁴ outcomes of four ranks on three cells.
        let law = Law { ranks: 4, cells: 3 };
        let mut by_level: Vec<(f64, f64)> = Vec::new();
        for code in 0..81u32 {
            let mut counts = [0u32; 3];
            (0..4).for_each(|i| counts[(code / 3u32.pow(i) % 3) as usize] += 1);
            let (a, b) = (counts[0] as usize, (counts[0] + counts[1]) as usize);
            let level = law.tails(1)[a].min(law.tails(2)[b]);
            by_level.push((level, Uniformity::new(&counts).p_value()));
        }
        for &(level, p) in &by_level {
            let share = by_level.iter().filter(|other| other.0 <= level + 1e-12).count();
            assert!((p - share as f64 / 81.0).abs() < 1e-12, "{p} against {share}/81");
        }
    }

    #[test]
    fn uniform_ranks_have_uniform_p_values_and_others_have_small_ones() {
        let p: Vec<f64> =
            (0..400).map(|r| Uniformity::new(&uniform(200, 64, r)).p_value()).collect();
        for level in [0.1, 0.5, 0.9] {
            let share = p.iter().filter(|&&p| p <= level).count() as f64 / 400.0;
            // Five standard errors: beyond them once in 1.7 million.
            let error = 5.0 * (level * (1.0 - level) / 400.0f64).sqrt();
            assert!((share - level).abs() < error, "{share} at {level}");
        }
        let mut leaning = uniform(200, 64, 1);
        leaning[0] += 30;
        assert!(Uniformity::new(&leaning).p_value() < 1e-6);
        let mut hollow = vec![2u32; 64];
        hollow[16..48].fill(6);
        assert!(Uniformity::new(&hollow).p_value() < 1e-4);
    }

    #[test]
    fn small_chances_are_known_to_many_digits() {
        // All of N ranks in one cell of K, which one of K outcomes of chance K^-N has at either end: tails of the ends are the smallest
        // there are, and no others are as small.
        for (ranks, cells) in [(12u32, 4usize), (100, 16), (250, 10)] {
            let mut counts = vec![0; cells];
            counts[0] = ranks;
            let exact = 2.0 * (cells as f64).powi(-(ranks as i32));
            let p = Uniformity::new(&counts).p_value();
            assert!((p / exact - 1.0).abs() < 1e-9, "{p:e} instead of {exact:e}");
        }
        // Far beyond what is left of one after rounding, with very many ranks.
        let mut counts = vec![20_000u32; 4];
        counts[0] += 2000;
        let p = Uniformity::new(&counts).p_value();
        assert!(p > 0.0 && p < 1e-20, "{p:e}");
        // Two cells have one number below one: p is its two-sided tail, nearly a normal one.
        let p = Uniformity::new(&[200_700, 199_300]).p_value();
        let (z, normal) = (-normal_quantile(0.5 * p), 699.5 / 100_000f64.sqrt());
        assert!((z - normal).abs() < 1e-4, "{z} instead of {normal}");
    }

    #[test]
    fn bands_are_left_as_often_as_they_say() {
        let ranks = Uniformity::new(&uniform(100, 20, 0));
        for chance in [0.05, 1e-3, 1e-6, 1e-30] {
            let left = ranks.law.leaves(&ranks.band(chance));
            assert!(left <= chance && left > 0.3 * chance, "{left} instead of {chance}");
        }
        let [low, high] = ranks.edges(&ranks.band(0.05));
        assert!(low.iter().zip(&high).all(|(l, h)| l.1 <= h.1));
        assert_eq!((low.len(), ranks.difference().len()), (21, 21));
    }
}
