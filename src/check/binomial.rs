//! Computes binomial probabilities to nearly all digits, however many trials there are.
//!
//! log n! of a large n has lost as many digits as it has before the point. Catherine Loader's form (2000) has none to lose: the probability
//! is a normal density times e to the power of small terms.

use crate::diagnose::{deviance, stirling_error};
use std::f64::consts::TAU;

/// P(B = c) of a binomial number of n trials with share p.
pub(super) fn chance(n: usize, p: f64, c: usize) -> f64 {
    if c > n {
        return 0.0;
    }
    if p >= 1.0 {
        return f64::from(u8::from(c == n));
    }
    let (trials, hits, misses) = (n as f64, c as f64, (n - c) as f64);
    if c == 0 {
        return (trials * (-p).ln_1p()).exp();
    }
    if c == n {
        return (trials * p.ln()).exp();
    }
    let small = stirling_error(trials) - stirling_error(hits) - stirling_error(misses);
    let far = deviance(hits, trials * p) + deviance(misses, trials * (1.0 - p));
    (small - far).exp() * (trials / (TAU * hits * misses)).sqrt()
}

/// P(B < low or B > high).
pub(super) fn outside(n: usize, p: f64, low: i64, high: i64) -> f64 {
    let (last, mean) = (n as i64, n as f64 * p);
    if low > high || high < 0 || low > last {
        return 1.0;
    }
    // From each edge outwards, as long as anything is added; before the mean is passed terms grow.
    let add = |sum: &mut f64, c: i64, past: bool| {
        let term = chance(n, p, c as usize);
        *sum += term;
        !past || (term > 0.0 && term >= 1e-17 * *sum)
    };
    let mut sum = 0.0;
    let _ = (0..low.min(last + 1)).rev().all(|c| add(&mut sum, c, (c as f64) < mean));
    let mut above = 0.0;
    let _ = (high + 1..=last).all(|c| add(&mut above, c, c as f64 > mean));
    sum + above
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_those_of_the_definition() {
        let pascal =
            |n: usize, c: usize| (0..c).fold(1.0, |w, i| w * (n - i) as f64 / (i + 1) as f64);
        for (n, p) in [(1, 0.3f64), (7, 0.5), (40, 0.03), (60, 0.9)] {
            let mut sum = 0.0;
            for c in 0..=n {
                let exact = pascal(n, c) * p.powi(c as i32) * (1.0 - p).powi((n - c) as i32);
                let got = chance(n, p, c);
                assert!((got / exact - 1.0).abs() < 1e-12, "{n} {p} {c}: {got} and {exact}");
                sum += got;
            }
            assert!((sum - 1.0).abs() < 1e-13);
        }
        let (n, p) = (1_000_000, 0.25);
        let sum: f64 = (230_000..270_000).map(|c| chance(n, p, c)).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{sum}");
    }

    #[test]
    fn what_is_outside_is_all_the_rest() {
        for (low, high) in [(0, 20), (3, 9), (8, 8), (-2, 4), (5, 90), (15, 18), (0, 1)] {
            let inside: f64 = (0..=20)
                .filter(|c| (low..=high).contains(c))
                .map(|c| chance(20, 0.4, c as usize))
                .sum();
            assert!((outside(20, 0.4, low, high) - (1.0 - inside)).abs() < 1e-14);
        }
        assert_eq!([outside(5, 0.4, 2, 1), outside(5, 0.4, 6, 9), outside(5, 1.0, 0, 4)], [1.0; 3]);
        // Beyond what is left of one after rounding.
        let far = outside(100, 0.5, 0, 98);
        let exact = 101.0 * 0.5f64.powi(100);
        assert!((far / exact - 1.0).abs() < 1e-12, "{far:e}");
    }
}
