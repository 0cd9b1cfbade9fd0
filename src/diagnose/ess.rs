//! Turns autocovariances into an effective sample size by Geyer's initial sequences.
//!
//! S_eff = S / τ with τ = -1 + 2 Σ_k P_k, where P_k = ρ_2k + ρ_2k+1 are pair sums of the
//! autocorrelation. For a reversible chain they are positive and falling, so the sum stops at the
//! first that is not positive and the rest is made monotone (Geyer 1992; Vehtari et al. 2021,
//! equations 10-13). Truncation rules are those of Stan and ArviZ to the letter, because a lag more
//! or less is what makes two programs differ.

/// Effective size of `chains` chains with mean autocovariance γ and variance `between` of means.
///
/// `rho` is scratch. NaN if γ has fewer than two lags or the variance is not positive and finite.
pub(crate) fn effective_size(
    autocovariance: &[f64],
    between: f64,
    chains: usize,
    rho: &mut Vec<f64>,
) -> f64 {
    let length = autocovariance.len();
    if length < 2 {
        return f64::NAN;
    }
    let n = length as f64;
    let within = autocovariance[0] * n / (n - 1.0);
    let total = within * (n - 1.0) / n + between;
    let correlation = |lag: usize| 1.0 - (within - autocovariance[lag]) / total;
    let doubled = initial_positive(length, correlation, rho);
    make_monotone(&mut rho[..doubled]);
    let tau = -1.0 + 2.0 * rho[..doubled].iter().sum::<f64>() + rho[doubled];
    let draws = chains as f64 * n;
    // A bound for antithetic chains, whose estimate would otherwise pass any limit. The comparison
    // is written so that NaN stays NaN, which f64::max would swallow.
    let least = 1.0 / draws.log10();
    let tau = if tau < least { least } else { tau };
    draws / tau
}

/// Fills ρ while pairs are positive and tells how many lags count twice; the next counts once.
fn initial_positive(
    length: usize,
    correlation: impl Fn(usize) -> f64,
    rho: &mut Vec<f64>,
) -> usize {
    rho.clear();
    rho.resize(length, 0.0);
    let (mut even, mut odd) = (1.0, correlation(1));
    (rho[0], rho[1]) = (even, odd);
    let mut lag = 1;
    while lag + 3 < length && even + odd > 0.0 {
        (even, odd) = (correlation(lag + 1), correlation(lag + 2));
        if even + odd >= 0.0 {
            (rho[lag + 1], rho[lag + 2]) = (even, odd);
        }
        lag += 2;
    }
    // The even half of the last pair still improves the estimate.
    if even > 0.0 {
        rho[lag - 1] = even;
    }
    // NaN ends the loop above at once and must not be dropped from the sum.
    if odd.is_nan() {
        rho[0] = odd;
        return 1;
    }
    lag - 1
}

/// Lowers each pair to the mean of the pair before it where it would rise above it.
fn make_monotone(rho: &mut [f64]) {
    for lag in (2..rho.len()).step_by(2) {
        let before = rho[lag - 2] + rho[lag - 1];
        if lag + 1 < rho.len() && rho[lag] + rho[lag + 1] > before {
            rho[lag] = before / 2.0;
            rho[lag + 1] = rho[lag];
        }
    }
}

/// Geyer's initial monotone sequence on one chain, without splitting, bound or averaging.
///
/// NaN if the estimated variance is not positive, as can happen for strongly antithetic chains.
pub(crate) fn initial_monotone(autocovariance: &[f64]) -> f64 {
    let Some(variance) = autocovariance.first() else { return f64::NAN };
    let mut least = f64::INFINITY;
    let mut sum = 0.0;
    for pair in autocovariance.chunks_exact(2) {
        least = least.min(pair[0] + pair[1]);
        if least <= 0.0 {
            break;
        }
        sum += least;
    }
    let tau = 2.0 * sum / variance - 1.0;
    if tau > 0.0 { autocovariance.len() as f64 / tau } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ρ_t = φ^t with the noise-free autocovariance, whose pairs are positive and falling.
    fn geometric(phi: f64, length: usize) -> Vec<f64> {
        (0..length).map(|lag| phi.powi(lag as i32)).collect()
    }

    #[test]
    fn geometric_autocovariance_has_the_closed_form() {
        for phi in [0.0, 0.3, 0.9] {
            let n = 4000.0;
            // With between = 1/(n-1) the biased and unbiased variances cancel in ρ, which is then
            // φ^t (n-1)/n, so τ = 1 + 2 φ/(1-φ) (n-1)/n; the rest of the sum is below φ^3990.
            let tau = 1.0 + 2.0 * phi / (1.0 - phi) * (n - 1.0) / n;
            // One rounding for each of n lags.
            let bound = 4.0 * n * f64::EPSILON;
            let got = effective_size(&geometric(phi, 4000), 1.0 / (n - 1.0), 1, &mut Vec::new());
            assert!((got / (n / tau) - 1.0).abs() < bound, "{got} {}", n / tau);
            let plain = initial_monotone(&geometric(phi, 4000));
            let want = n * (1.0 - phi) / (1.0 + phi);
            assert!((plain / want - 1.0).abs() < bound, "{plain} {want}");
        }
    }

    #[test]
    fn a_rising_pair_is_lowered() {
        let mut rho = [1.0, 0.5, 0.2, 0.1, 0.3, 0.2, 0.1, 0.0];
        make_monotone(&mut rho);
        let want = [1.0, 0.5, 0.2, 0.1, 0.3 / 2.0, 0.3 / 2.0, 0.1, 0.0];
        for (got, want) in rho.iter().zip(want) {
            assert!((got - want).abs() < 1e-15, "{rho:?}");
        }
    }

    #[test]
    fn antithetic_chains_meet_the_bound() {
        let got = effective_size(&geometric(-0.99, 100), 0.0, 4, &mut Vec::new());
        assert_eq!(got, 400.0 / (1.0 / 400f64.log10()));
        assert!(initial_monotone(&geometric(-0.99, 100)).is_nan());
    }

    #[test]
    fn broken_input_gives_nan() {
        for series in [&[][..], &[1.0], &[0.0, 0.0], &[f64::NAN; 8], &[0.0; 9]] {
            assert!(effective_size(series, 0.0, 1, &mut Vec::new()).is_nan(), "{series:?}");
            assert!(initial_monotone(series).is_nan(), "{series:?}");
        }
    }
}
