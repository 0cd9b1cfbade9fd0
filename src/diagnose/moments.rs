//! Gives means and variances in two passes, so that a large common offset costs no digits.

/// Partial sums kept side by side: they round less than one long sum and use vector registers.
const LANES: usize = 8;

fn sum(values: &[f64], term: impl Fn(f64) -> f64) -> f64 {
    let mut lanes = [0.0; LANES];
    let chunks = values.chunks_exact(LANES);
    let rest: f64 = chunks.remainder().iter().map(|value| term(*value)).sum();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += term(*value);
        }
    }
    lanes.iter().sum::<f64>() + rest
}

/// The arithmetic mean; NaN of nothing.
///
/// The second pass adds the mean of what the first left over. Autocovariances take the mean to be
/// exact: an error of some roundings of a mean far from zero would show in them.
pub(crate) fn mean(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let rough = sum(values, |value| value) / count;
    rough + sum(values, |value| value - rough) / count
}

/// The variance with divisor n - 1; NaN of fewer than two values.
pub(crate) fn variance(values: &[f64]) -> f64 {
    let centre = mean(values);
    sum(values, |value| (value - centre) * (value - centre)) / (values.len() as f64 - 1.0)
}

/// Mean over chains of the variances within; chains of `length` values lie end to end.
pub(crate) fn variance_within(values: &[f64], length: usize) -> f64 {
    let chains = values.chunks_exact(length.max(1));
    let count = chains.len() as f64;
    chains.map(variance).sum::<f64>() / count
}

/// Variance over chains of the means; chains of `length` values lie end to end.
pub(crate) fn variance_between(values: &[f64], length: usize) -> f64 {
    let chains = values.chunks_exact(length.max(1));
    let count = chains.len() as f64;
    let centre = chains.clone().map(mean).sum::<f64>() / count;
    let squares: f64 = chains.map(mean).map(|value| (value - centre) * (value - centre)).sum();
    squares / (count - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_cases_by_hand() {
        assert_eq!(mean(&[1.0, 2.0, 6.0]), 3.0);
        assert_eq!(variance(&[1.0, 2.0, 6.0]), 7.0);
        // Chains (0, 2) and (4, 8): variances 2 and 8, means 1 and 6.
        assert_eq!(variance_within(&[0.0, 2.0, 4.0, 8.0], 2), 5.0);
        assert_eq!(variance_between(&[0.0, 2.0, 4.0, 8.0], 2), 12.5);
    }

    #[test]
    fn a_large_offset_keeps_the_variance() {
        // 2^40 + {0, 1, 2} is exact, so the answer is too.
        let far = f64::from(2u32.pow(20)).powi(2);
        assert_eq!(variance(&[far, far + 1.0, far + 2.0]), 1.0);
    }

    #[test]
    fn too_little_gives_nan() {
        assert!(mean(&[]).is_nan());
        assert!(variance(&[1.0]).is_nan());
        assert!(variance_between(&[1.0, 2.0], 2).is_nan());
        assert!(variance_within(&[], 0).is_nan());
    }
}
