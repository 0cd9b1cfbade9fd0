//! Replaces values by the normal scores of their ranks, with tied values sharing their mean rank.
//!
//! z = Φ⁻¹((r - 3/8) / (S + 1/4)) for rank r of S (Blom 1958; Vehtari et al. 2021, equation 14).

use super::normal::normal_quantile;

/// Owns the sort keys and the table of scores, so that series of one size need no allocation.
#[derive(Debug, Default)]
pub(crate) struct Ranker {
    /// Order-preserving bits of the value above, its position below.
    keys: Vec<u128>,
    /// Score at twice the rank: mean ranks of ties are multiples of one half.
    scores: Vec<f64>,
}

impl Ranker {
    /// Overwrites finite values by their normal scores.
    pub(crate) fn normalise(&mut self, values: &mut [f64]) {
        self.prepare(values.len());
        self.keys.clear();
        let keyed = values.iter().enumerate();
        self.keys.extend(keyed.map(|(place, value)| pack(*value, place)));
        self.keys.sort_unstable();
        let mut start = 0;
        while start < self.keys.len() {
            let value = self.keys[start] >> 64;
            let mut end = start + 1;
            while end < self.keys.len() && self.keys[end] >> 64 == value {
                end += 1;
            }
            // Ranks start+1 to end, so twice their mean is start + 1 + end.
            let score = self.scores[start + 1 + end];
            for key in &self.keys[start..end] {
                values[*key as u64 as usize] = score;
            }
            start = end;
        }
    }

    fn prepare(&mut self, size: usize) {
        if self.scores.len() == 2 * size + 1 {
            return;
        }
        let denominator = size as f64 + 0.25;
        let score = |doubled| normal_quantile((0.5 * doubled as f64 - 0.375) / denominator);
        self.scores.clear();
        self.scores.extend((0..=2 * size).map(score));
    }
}

/// Packs value and position into one integer that sorts by value; one compare, no indirection.
fn pack(value: f64, place: usize) -> u128 {
    // Adding zero turns -0 into +0, which must tie with it.
    let bits = (value + 0.0).to_bits();
    let sign = 1 << 63;
    let ordered = if bits & sign == 0 { bits | sign } else { !bits };
    u128::from(ordered) << 64 | place as u128
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores_of(values: &[f64]) -> Vec<f64> {
        let mut values = values.to_vec();
        Ranker::default().normalise(&mut values);
        values
    }

    fn score(rank: f64, size: f64) -> f64 {
        normal_quantile((rank - 0.375) / (size + 0.25))
    }

    #[test]
    fn ranks_of_distinct_values() {
        let got = scores_of(&[3.0, -7.0, 1e300, 0.5]);
        assert_eq!(got, [3.0, 1.0, 4.0, 2.0].map(|rank| score(rank, 4.0)));
    }

    #[test]
    fn ties_share_their_mean_rank_and_zero_has_no_sign() {
        let got = scores_of(&[0.0, 5.0, -0.0, 0.0, -1.0]);
        assert_eq!(got, [3.0, 5.0, 3.0, 3.0, 1.0].map(|rank| score(rank, 5.0)));
    }

    #[test]
    fn a_used_ranker_serves_another_size() {
        let mut ranker = Ranker::default();
        ranker.normalise(&mut [4.0, 3.0, 2.0, 1.0, 0.0]);
        let mut values = [1.0, 2.0];
        ranker.normalise(&mut values);
        assert_eq!(values.to_vec(), scores_of(&[1.0, 2.0]));
        ranker.normalise(&mut []);
    }
}
