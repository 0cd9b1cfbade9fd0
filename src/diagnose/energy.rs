//! Measures how well momentum renewal explores the energy: the E-BFMI of one chain.

use super::moments::variance;

/// The estimated Bayesian fraction of missing information of one chain of energies,
///
/// E-BFMI = Σ (E_i - E_{i-1})² / Σ (E_i - Ē)²  (Betancourt 2016). Independent energies give 2;
/// below 0.3 the momentum renewal is too weak for the tails. Call it once per chain. NaN for fewer
/// than four energies, energies that are not finite, or constant ones.
pub fn ebfmi(energies: &[f64]) -> f64 {
    let usable = energies.len() >= 4 && energies.iter().all(|energy| energy.is_finite());
    if !usable || energies.iter().all(|energy| *energy == energies[0]) {
        return f64::NAN;
    }
    let step = |pair: &[f64]| (pair[1] - pair[0]) * (pair[1] - pair[0]);
    let steps: f64 = energies.windows(2).map(step).sum();
    steps / (variance(energies) * (energies.len() as f64 - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_has_the_closed_form() {
        // n - 1 unit steps over Σ (i - (n-1)/2)² = n(n²-1)/12 gives 12 / (n(n+1)).
        for n in [4_u32, 10, 1000] {
            let line: Vec<f64> = (0..n).map(|i| 50.0 + f64::from(i)).collect();
            let want = 12.0 / (f64::from(n) * f64::from(n + 1));
            assert!((ebfmi(&line) / want - 1.0).abs() < 1e-13);
        }
    }

    #[test]
    fn alternation_has_the_closed_form() {
        // Steps of 2 about mean 0 with n even: 4(n-1) / n.
        let zigzag: Vec<f64> = (0..100).map(|i| f64::from(1 - 2 * (i % 2))).collect();
        assert!((ebfmi(&zigzag) - 4.0 * 99.0 / 100.0).abs() < 1e-14);
    }

    #[test]
    fn an_autoregression_gives_two_times_one_minus_phi() {
        // E (E_i - E_{i-1})² = 2 (1 - φ) σ² when stationary. Waves of one frequency obey
        // cos-steps exactly: over whole periods Σ steps² / Σ squares = 2 (1 - cos ω).
        let omega = std::f64::consts::TAU / 50.0;
        let wave: Vec<f64> = (0..100_000).map(|i| (omega * f64::from(i)).cos()).collect();
        let want = 2.0 * (1.0 - omega.cos());
        // One step of 100 000 is missing at the end.
        assert!((ebfmi(&wave) / want - 1.0).abs() < 3e-5);
    }

    #[test]
    fn odd_input_gives_nan() {
        for energies in [&[][..], &[1.0, 2.0, 3.0], &[1.0; 9], &[1.0, 2.0, f64::NAN, 4.0, 5.0]] {
            assert!(ebfmi(energies).is_nan());
        }
        assert!(ebfmi(&[1.0, 2.0, f64::INFINITY, 4.0]).is_nan());
    }
}
