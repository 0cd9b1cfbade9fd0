//! Interpolates quantiles of sorted values as numpy does by default (Hyndman and Fan's type 7).

/// The quantile of ascending values; NaN of nothing or for p outside [0, 1].
pub(crate) fn quantile_of_sorted(sorted: &[f64], p: f64) -> f64 {
    if sorted.is_empty() || !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    let last = sorted.len() - 1;
    let position = last as f64 * p;
    let below = (position.floor() as usize).min(last);
    let above = (below + 1).min(last);
    let weight = position - position.floor();
    let (low, high) = (sorted[below], sorted[above]);
    // Counted from the nearer end, so that neighbours that are equal give exactly their value: an
    // indicator `x <= quantile` must not lose its ties to rounding.
    if weight < 0.5 { low + (high - low) * weight } else { high - (high - low) * (1.0 - weight) }
}

/// The median by selection, which reorders the values; the mean of the middle two if even.
pub(crate) fn median_in_place(values: &mut [f64]) -> f64 {
    let count = values.len();
    if count == 0 {
        return f64::NAN;
    }
    let (below, upper, _) = values.select_nth_unstable_by(count / 2, f64::total_cmp);
    if count % 2 == 1 {
        return *upper;
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (lower + *upper) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolates_between_neighbours() {
        let sorted = [1.0, 2.0, 4.0, 8.0, 16.0];
        // Expected by position (n-1)p = 0, 0.5, 1, 2.2, 3.8, 4.
        let cases = [(0.0, 1.0), (0.125, 1.5), (0.25, 2.0), (0.55, 4.8), (0.95, 14.4), (1.0, 16.0)];
        for (p, want) in cases {
            let got = quantile_of_sorted(&sorted, p);
            assert!((got - want).abs() <= 8.0 * f64::EPSILON * want, "p={p}: {got} {want}");
        }
    }

    #[test]
    fn ties_are_exact() {
        let sorted = [0.1, 0.3, 0.3, 0.3, 0.7];
        for p in [0.3, 0.4, 0.5, 0.6, 0.7] {
            assert_eq!(quantile_of_sorted(&sorted, p), 0.3);
        }
    }

    #[test]
    fn nonsense_gives_nan() {
        assert!(quantile_of_sorted(&[], 0.5).is_nan());
        for p in [-0.1, 1.1, f64::NAN] {
            assert!(quantile_of_sorted(&[1.0, 2.0], p).is_nan());
        }
    }

    #[test]
    fn medians() {
        assert_eq!(median_in_place(&mut [5.0, -1.0, 3.0]), 3.0);
        assert_eq!(median_in_place(&mut [5.0, -1.0, 4.0, 3.0]), 3.5);
        assert!(median_in_place(&mut []).is_nan());
    }
}
