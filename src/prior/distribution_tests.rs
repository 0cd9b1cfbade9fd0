//! Checks every distribution against integration, differences, draws and the densities printed in the papers.

use rand::SeedableRng;
use rand::rngs::StdRng;

use super::*;

fn proper() -> Vec<Distribution> {
    use Distribution::*;
    vec![
        Normal { mean: 1.3, sd: 0.4 },
        HalfNormal { scale: 2.0 },
        Cauchy { location: -1.5, scale: 0.7 },
        HalfCauchy { scale: 2.5 },
        LogNormal { m: -3.0, s: 1.0 },
        Gamma { shape: 2.5, rate: 3.0 },
        Gamma { shape: 0.4, rate: 0.1 },
        InvGamma { shape: 1.7, scale: 0.3 },
        Exponential { rate: 0.01 },
        Beta { a: 20.0, b: 1.5 },
        Beta { a: 0.5, b: 0.7 },
        ScaledInvChi2 { nu: 10.0, s2: 0.05 },
        Uniform { lower: -0.5, upper: 2.5 },
        PcSigma { s0: 3.0, p: 0.05 },
        PcRange { r0: 0.05, p: 0.05 },
    ]
}

/// ∫ exp(log_density(a)) da by the trapezium rule in a variable where the integrand dies off doubly or singly
/// exponentially and is smooth, so that the rule converges faster than any power of the step.
fn integral(distribution: &Distribution) -> f64 {
    let (lower, upper) = distribution.support();
    let step = 0.01;
    let value_and_slope = |y: f64| match (lower.is_finite(), upper.is_finite()) {
        (false, _) => (y.sinh(), y.cosh()),
        (true, false) => (lower + y.exp(), y.exp()),
        (true, true) => {
            let s = 1.0 / (1.0 + (-y).exp());
            (lower + (upper - lower) * s, (upper - lower) * s * (1.0 - s))
        }
    };
    // 1 − s loses its last digits beyond 30; what lies outside weighs less than e^{-0.5·30}.
    let reach = if upper.is_finite() { 30.0 } else { 90.0 };
    (0..=(2.0 * reach / step) as usize)
        .map(|k| {
            let (a, slope) = value_and_slope(-reach + k as f64 * step);
            let density = distribution.log_density(a).exp();
            if density == 0.0 { 0.0 } else { density * slope * step }
        })
        .sum()
}

#[test]
fn every_density_integrates_to_one() {
    for distribution in proper() {
        let total = integral(&distribution);
        // Beta(0.5, 0.7) leaves 2e-7 beyond the reach, and 1 − s is rounded there.
        assert!((total - 1.0).abs() < 2e-6, "{distribution}: {total}");
    }
}

#[test]
fn derivatives_match_central_differences() {
    for distribution in proper() {
        for p in [0.1, 0.4, 0.8] {
            let a = distribution.quantile(p).unwrap();
            let h = 1e-5 * a.abs().min(1.0 - a.abs().min(0.9));
            let central =
                (distribution.log_density(a + h) - distribution.log_density(a - h)) / (2.0 * h);
            let exact = distribution.log_density_derivative(a);
            // Rounding 4e-16·|log density|/h and truncation h²/6·f‴, with f‴ ~ 100/a³.
            let bound = 1e-7 * (1.0 + exact.abs() + 1.0 / a.abs().min(1.0));
            assert!((exact - central).abs() < bound, "{distribution} at {a}: {exact}, {central}");
        }
    }
}

#[test]
fn draws_agree_with_quantiles() {
    // 15 laws × 5 counts at five standard deviations: a correct sampler fails for 1 seed in 20 000.
    let (mut rng, count) = (StdRng::seed_from_u64(20), 20_000);
    for distribution in proper() {
        let draws: Vec<f64> = (0..count).map(|_| distribution.sample(&mut rng).unwrap()).collect();
        for p in [0.02, 0.25, 0.5, 0.75, 0.98] {
            let bound = distribution.quantile(p).unwrap();
            let below = draws.iter().filter(|&&a| a < bound).count() as f64;
            let sd = (count as f64 * p * (1.0 - p)).sqrt();
            assert!((below - count as f64 * p).abs() < 5.0 * sd, "{distribution} at {p}: {below}");
        }
    }
}

#[test]
fn known_quantiles() {
    let close = |distribution: Distribution, p: f64, expected: f64| {
        let got = distribution.quantile(p).unwrap();
        assert!((got - expected).abs() < 1e-12 * (1.0 + expected.abs()), "{distribution}: {got}");
    };
    close(Distribution::Normal { mean: 1.0, sd: 2.0 }, 0.975, 1.0 + 2.0 * 1.959_963_984_540_054);
    close(Distribution::HalfNormal { scale: 2.0 }, 0.95, 2.0 * 1.959_963_984_540_054);
    close(Distribution::LogNormal { m: 0.05f64.ln(), s: 1.0 }, 0.5, 0.05);
    close(Distribution::Exponential { rate: 0.01 }, 0.5, 100.0 * 2f64.ln());
    close(Distribution::Uniform { lower: -1.0, upper: 3.0 }, 0.25, 0.0);
    close(Distribution::Cauchy { location: 2.0, scale: 3.0 }, 0.75, 5.0);
    close(Distribution::HalfCauchy { scale: 3.0 }, 0.5, 3.0);
}

#[test]
fn penalised_complexity_priors_keep_their_promise() {
    let sigma = Distribution::PcSigma { s0: 3.0, p: 0.05 };
    assert!((sigma.quantile(0.95).unwrap() - 3.0).abs() < 1e-12);
    let range = Distribution::PcRange { r0: 0.05, p: 0.01 };
    assert!((range.quantile(0.01).unwrap() - 0.05).abs() < 1e-14);
    let lambda = -0.01f64.ln() * 0.05;
    let r = 0.3;
    let expected = lambda.ln() - 2.0 * f64::ln(r) - lambda / r;
    assert!((range.log_density(r) - expected).abs() < 1e-13);
}

#[test]
fn scaled_inverse_chi_square_is_the_papers_density() {
    // p(σ²) ∝ (σ²)⁻⁶ e^{−0.25/σ²}: the difference to it does not depend on σ².
    let prior = Distribution::ScaledInvChi2 { nu: 10.0, s2: 0.05 };
    let gap = |x: f64| prior.log_density(x) - (-6.0 * x.ln() - 0.25 / x);
    for x in [0.004, 0.02, 0.3, 5.0] {
        assert!((gap(x) - gap(0.05)).abs() < 1e-11, "{x}");
    }
}

#[test]
fn outside_the_support_there_is_nothing() {
    for distribution in proper() {
        let (lower, upper) = distribution.support();
        for a in [lower, upper, lower - 1.0, upper + 1.0, f64::NAN] {
            assert_eq!(distribution.log_density(a), f64::NEG_INFINITY, "{distribution} at {a}");
            assert_eq!(distribution.log_density_derivative(a), 0.0, "{distribution} at {a}");
        }
    }
}

#[test]
fn the_improper_one_says_so() {
    let mut rng = StdRng::seed_from_u64(1);
    assert_eq!(Distribution::FlatLog.sample(&mut rng), None);
    assert_eq!(Distribution::FlatLog.quantile(0.5), None);
    assert!((Distribution::FlatLog.log_density(4.0) + 4f64.ln()).abs() < 1e-15);
    assert!(Distribution::FlatLog.describe("beta").starts_with("improper"));
}

#[test]
fn sentences_read_well() {
    let say = |distribution: Distribution| distribution.describe("sigma");
    assert_eq!(say(Distribution::PcSigma { s0: 3.0, p: 0.05 }), "P(sigma > 3) = 0.05");
    let speck = Distribution::PcRange { r0: 0.09300000000000011, p: 0.05 };
    assert_eq!(say(speck), "P(sigma < 0.093) = 0.05");
    assert_eq!(
        say(Distribution::LogNormal { m: 0.05f64.ln(), s: 1.0 }),
        "median 0.05, 95 % between 0.00704 and 0.355"
    );
    assert_eq!(
        say(Distribution::Uniform { lower: 0.0, upper: 2.0 }),
        "between 0 and 2, all equally likely"
    );
}
