//! Compares the variance between chains with that within them: the potential scale reduction R̂.
//!
//! R̂ = sqrt((B/W + n - 1) / n) with B = n · variance of the chain means and W = mean of the chain
//! variances (Vehtari et al. 2021, equations 1-4).

use super::moments::{mean, variance, variance_between, variance_within};

/// R̂ of chains of `length` values laid end to end; infinite if no chain moves but they differ.
pub(crate) fn scale_reduction(values: &[f64], length: usize) -> f64 {
    from_variances(variance_within(values, length), variance_between(values, length), length)
}

fn from_variances(within: f64, between: f64, length: usize) -> f64 {
    let n = length as f64;
    ((n * between / within + n - 1.0) / n).sqrt()
}

/// R̂ of the half-chains without ranks, cheap enough to show while a run goes on.
///
/// Sorts and transforms nothing. Unlike [`rhat`](super::rhat) it
/// serves a single chain too, whose halves it compares; it misses chains that differ only in scale
/// and means little for heavy tails. NaN for fewer than four draws, unequal lengths, draws that are
/// not finite, or constant draws.
pub fn split_rhat_plain(draws: &[&[f64]]) -> f64 {
    let length = draws.first().map_or(0, |chain| chain.len());
    let finite = |chain: &&[f64]| chain.iter().all(|draw| draw.is_finite());
    if length < 4 || draws.iter().any(|chain| chain.len() != length) || !draws.iter().all(finite) {
        return f64::NAN;
    }
    let half = length / 2;
    let halves = || draws.iter().flat_map(|chain| [&chain[..half], &chain[length - half..]]);
    let count = 2.0 * draws.len() as f64;
    let within = halves().map(variance).sum::<f64>() / count;
    let means: Vec<f64> = halves().map(mean).collect();
    from_variances(within, variance(&means), half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_half_chains_by_hand() {
        // Halves (0, 2) and (4, 8): W = 5, variance of means 12.5, n = 2.
        let want = ((2.0 * 12.5 / 5.0 + 1.0) / 2.0_f64).sqrt();
        assert_eq!(scale_reduction(&[0.0, 2.0, 4.0, 8.0], 2), want);
        assert_eq!(split_rhat_plain(&[&[0.0, 2.0, 4.0, 8.0]]), want);
        // An odd number drops the middle draw.
        assert_eq!(split_rhat_plain(&[&[0.0, 2.0, 99.0, 4.0, 8.0]]), want);
    }

    #[test]
    fn stuck_chains_at_different_places_are_infinitely_bad() {
        assert_eq!(split_rhat_plain(&[&[1.0; 8], &[2.0; 8]]), f64::INFINITY);
    }

    #[test]
    fn odd_input_gives_nan() {
        assert!(split_rhat_plain(&[]).is_nan());
        assert!(split_rhat_plain(&[&[1.0, 2.0, 3.0]]).is_nan());
        assert!(split_rhat_plain(&[&[1.0; 10]]).is_nan());
        assert!(split_rhat_plain(&[&[1.0, 2.0, 3.0, 4.0], &[1.0, 2.0]]).is_nan());
        assert!(split_rhat_plain(&[&[1.0, 2.0, f64::NAN, 4.0]]).is_nan());
    }
}
