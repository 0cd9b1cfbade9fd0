//! Judges whether ranks are uniform by their empirical distribution function, with exact probabilities.
//!
//! Of N ranks that are uniform on 0 … K − 1 the number C_k below k is binomial with share k/K. At each k that number has a
//! two-sided tail probability, and the smallest of them over k is the statistic (Säilynoja, Bürkner and Vehtari 2022, who find
//! its level by simulation). The C_k are a Markov chain, since of those not below k a binomial number with share 1/(K − k)
//! is k itself, so that the probability to stay between any bounds at all k is a sum over paths, made here k by k.

/// The ranks of one quantity.
#[derive(Clone, Debug)]
pub struct Uniformity {
    /// Number of ranks below 1, 2, … K − 1.
    below: Vec<usize>,
    ranks: usize,
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
    /// log n! for n up to the number of ranks.
    log_factorial: Vec<f64>,
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
        Self { below, ranks, law: Law::new(ranks, counts.len()) }
    }

    /// The chance that uniform ranks are as far from uniform as these.
    pub fn p_value(&self) -> f64 {
        let tails = self.below.iter().enumerate().map(|(i, &c)| self.law.tail(i + 1, c));
        // Tails that differ by rounding alone, as those of mirror images do, are as far from uniform as each other.
        let smallest = tails.fold(1.0, f64::min) * (1.0 + TIE);
        (1.0 - self.law.stays(&self.law.band_beyond(smallest))).clamp(0.0, 1.0)
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

    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks
    }
}

impl Law {
    fn new(ranks: usize, cells: usize) -> Self {
        let mut log_factorial = vec![0.0; ranks + 1];
        for n in 1..=ranks {
            log_factorial[n] = log_factorial[n - 1] + (n as f64).ln();
        }
        Self { ranks, cells, log_factorial }
    }

    /// P(B = c) of a binomial number of n trials with share p.
    fn binomial(&self, n: usize, p: f64, c: usize) -> f64 {
        if c > n {
            return 0.0;
        }
        if p >= 1.0 {
            return f64::from(u8::from(c == n));
        }
        let f = &self.log_factorial;
        let ways = f[n] - f[c] - f[n - c];
        (ways + c as f64 * p.ln() + (n - c) as f64 * (-p).ln_1p()).exp()
    }

    /// The two-sided tail probability of c ranks below k.
    fn tail(&self, k: usize, c: usize) -> f64 {
        self.tails(k).get(c).copied().unwrap_or(0.0)
    }

    /// The same for every c.
    fn tails(&self, k: usize) -> Vec<f64> {
        let share = k as f64 / self.cells as f64;
        let mass: Vec<f64> =
            (0..=self.ranks).map(|c| self.binomial(self.ranks, share, c)).collect();
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

    /// The chance that uniform ranks stay in a band.
    fn stays(&self, band: &Band) -> f64 {
        // Chances of each number of ranks below k, having stayed so far.
        let mut now = vec![(0usize, 1.0)];
        for k in 0..self.cells.saturating_sub(1) {
            let share = 1.0 / (self.cells - k) as f64;
            let (low, high) = (band.low[k], band.high[k]);
            let mut next = Vec::with_capacity((high + 1).saturating_sub(low));
            for c in low..=high {
                let reach = now.iter().filter(|(before, _)| *before <= c);
                let chance = reach
                    .map(|&(before, p)| p * self.binomial(self.ranks - before, share, c - before))
                    .sum::<f64>();
                next.push((c, chance));
            }
            now = next;
        }
        now.iter().map(|(_, p)| p).sum()
    }

    /// The narrowest band that is left with at most a given chance, by bisection of its pointwise level.
    fn band(&self, chance: f64) -> Band {
        let (mut good, mut bad) = (-40.0f64, 0.0f64);
        for _ in 0..40 {
            let middle = 0.5 * (good + bad);
            let leaves = 1.0 - self.stays(&self.band_beyond(middle.exp()));
            if leaves <= chance {
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
        let law = Law::new(4, 3);
        let mut by_level: Vec<(f64, f64)> = Vec::new();
        for code in 0..81u32 {
            let mut counts = [0u32; 3];
            (0..4).for_each(|i| counts[(code / 3u32.pow(i) % 3) as usize] += 1);
            let (a, b) = (counts[0] as usize, (counts[0] + counts[1]) as usize);
            by_level.push((law.tail(1, a).min(law.tail(2, b)), Uniformity::new(&counts).p_value()));
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
    fn bands_are_left_as_often_as_they_say() {
        let ranks = Uniformity::new(&uniform(100, 20, 0));
        for chance in [0.05, 1e-3, 1e-6] {
            let left = 1.0 - ranks.law.stays(&ranks.band(chance));
            assert!(left <= chance && left > 0.3 * chance, "{left} instead of {chance}");
        }
        let [low, high] = ranks.edges(&ranks.band(0.05));
        assert!(low.iter().zip(&high).all(|(l, h)| l.1 <= h.1));
        assert_eq!((low.len(), ranks.difference().len()), (21, 21));
    }
}
