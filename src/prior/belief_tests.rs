//! Checks that priors carried to the sampler's coordinate stay densities, with right derivatives, quantiles and draws.

use rand::SeedableRng;
use rand::rngs::StdRng;

use super::*;

/// Each scale with each kind of distribution that makes sense on it.
fn priors() -> Vec<Belief> {
    use Distribution::*;
    let exp = |c: f64| Scale::Exp(c);
    let on_line = [
        Normal { mean: 1.0, sd: 0.5 },
        Cauchy { location: -0.3, scale: 0.4 },
        Uniform { lower: -0.5, upper: 0.75 },
    ];
    let positive = [
        HalfNormal { scale: 2.0 },
        HalfCauchy { scale: 0.5 },
        LogNormal { m: -3.0, s: 1.0 },
        Gamma { shape: 2.5, rate: 3.0 },
        InvGamma { shape: 1.7, scale: 0.3 },
        Exponential { rate: 0.01 },
        ScaledInvChi2 { nu: 10.0, s2: 0.05 },
        PcSigma { s0: 3.0, p: 0.05 },
        PcRange { r0: 0.05, p: 0.05 },
        Uniform { lower: 0.0, upper: 2.0 },
        Uniform { lower: 0.2, upper: 0.7 },
        Normal { mean: 0.5, sd: 1.0 },
        Normal { mean: -8.0, sd: 1.0 },
        Cauchy { location: 0.5, scale: 1.0 },
    ];
    let mut pairs = vec![];
    pairs.extend(on_line.map(|law| (Scale::Linear(2.0), law)));
    pairs.extend(on_line.map(|law| (Scale::Tanh, law)));
    pairs.extend(positive.map(|law| (exp(1.0), law)));
    pairs.extend(positive.map(|law| (exp(2.0), law)));
    pairs.push((Scale::Tanh, Beta { a: 20.0, b: 1.5 }));
    pairs.push((Scale::Tanh, Uniform { lower: -1.0, upper: 1.0 }));
    pairs.push((Scale::HalfTanh, Normal { mean: 0.8, sd: 0.3 }));
    pairs.push((Scale::HalfTanh, Uniform { lower: 0.5, upper: 1.0 }));
    pairs.into_iter().map(|(scale, law)| Belief::new("a", scale, law).unwrap()).collect()
}

#[test]
fn the_density_of_the_coordinate_integrates_to_one() {
    // Trapezium rule in φ = median + sinh(y): smooth, and the tails reach 10¹⁷ where every overflow would show.
    let step = 0.002;
    for prior in priors() {
        let centre = prior.quantile(0.5).unwrap();
        let total: f64 = (-20_000..=20_000)
            .map(|k| {
                let y = f64::from(k) * step;
                step * y.cosh() * prior.log_density(centre + y.sinh()).0.exp()
            })
            .sum();
        assert!((total - 1.0).abs() < 1e-9, "{:?} {prior}: {total}", prior.scale);
    }
}

#[test]
fn derivatives_match_central_differences() {
    let h = 1e-5;
    for prior in priors() {
        for p in [0.03, 0.4, 0.9] {
            let phi = prior.quantile(p).unwrap();
            let central = (prior.log_density(phi + h).0 - prior.log_density(phi - h).0) / (2.0 * h);
            let exact = prior.log_density(phi).1;
            // Rounding 1e-15·|log p|/h and truncation h²·p‴/6, p‴ below a few thousand on these laws.
            assert!(
                (exact - central).abs() < 1e-7,
                "{:?} {prior}: {exact}, {central}",
                prior.scale
            );
            let slope = (prior.working(phi + h).0 - prior.working(phi - h).0) / (2.0 * h);
            assert!((prior.working(phi).1 - slope).abs() < 1e-8, "{:?} {prior}", prior.scale);
        }
    }
}

#[test]
fn draws_agree_with_quantiles() {
    // 38 priors × 3 counts at five standard deviations: a correct sampler fails for 1 seed in 15 000.
    let (mut rng, count) = (StdRng::seed_from_u64(7), 4_000);
    for prior in priors() {
        let draws: Vec<f64> = (0..count).map(|_| prior.sample(&mut rng).unwrap()).collect();
        for p in [0.1, 0.5, 0.9] {
            let bound = prior.quantile(p).unwrap();
            let below = draws.iter().filter(|&&phi| phi < bound).count() as f64;
            let sd = (f64::from(count) * p * (1.0 - p)).sqrt();
            assert!((below - f64::from(count) * p).abs() < 5.0 * sd, "{prior} at {p}: {below}");
        }
    }
}

#[test]
fn the_coordinate_comes_back_from_the_working_value() {
    for prior in priors() {
        for phi in [-4.0, -0.3, 0.0, 2.5] {
            let back = prior.coordinate(prior.working(phi).0);
            assert!((back - phi).abs() < 1e-12, "{:?} {prior}: {back} for {phi}", prior.scale);
        }
    }
}

#[test]
fn values_outside_the_bounds_are_put_just_inside() {
    let prior =
        Belief::new("sigma", Scale::Exp(1.0), Distribution::Uniform { lower: 1.0, upper: 3.0 });
    let prior = prior.unwrap();
    for (outside, expected) in [(0.0, 1.002), (0.5, 1.002), (3.0, 2.998), (9.0, 2.998)] {
        let (w, _) = prior.working(prior.coordinate(f64::ln(outside)));
        assert!((w.exp() - expected).abs() < 1e-12, "{outside}: {}", w.exp());
    }
}

#[test]
fn exponential_variance_gives_the_papers_density() {
    // v = e^γ ~ Exp(λ): log p(γ) = γ − λ e^γ + log λ.
    let prior =
        Belief::new("v", Scale::Exp(1.0), Distribution::Exponential { rate: 0.01 }).unwrap();
    for gamma in [-3.0, 0.5, 4.0, 7.0] {
        let expected = gamma - 0.01 * f64::exp(gamma) + f64::ln(0.01);
        assert!((prior.log_density(gamma).0 - expected).abs() < 1e-12, "{gamma}");
        assert!((prior.log_density(gamma).1 - (1.0 - 0.01 * f64::exp(gamma))).abs() < 1e-12);
    }
}

#[test]
fn flat_in_the_log_is_constant_everywhere() {
    let prior = Belief::new("beta", Scale::Exp(1.0), Distribution::FlatLog).unwrap();
    for phi in [-1e4, 0.0, 1e4] {
        assert_eq!(prior.log_density(phi), (0.0, 0.0));
    }
    assert_eq!(prior.quantile(0.5), None);
    assert_eq!(prior.sample(&mut StdRng::seed_from_u64(1)), None);
}

#[test]
fn a_prior_without_mass_on_its_scale_is_refused() {
    let cases = [
        (Scale::Exp(1.0), Distribution::Normal { mean: -1e3, sd: 1.0 }),
        (Scale::Tanh, Distribution::Normal { mean: 50.0, sd: 1.0 }),
        (Scale::Tanh, Distribution::Cauchy { location: 0.0, scale: 1e20 }),
    ];
    for (scale, law) in cases {
        let error = Belief::new("a", scale, law).unwrap_err().to_string();
        assert!(error.starts_with(&format!("prior a={law}: expected some probability")), "{error}");
        assert!(error.contains("move the centre"), "{error}");
    }
}

#[test]
fn extreme_parameters_either_work_or_are_refused() {
    use Distribution::*;
    for big in [1e-310, 1e-100, 1e-50, 1e8, 1e50, 1e100, 1e308] {
        let laws = [
            HalfNormal { scale: big },
            HalfCauchy { scale: big },
            LogNormal { m: big.ln(), s: big },
            Gamma { shape: big.min(1e8), rate: big },
            InvGamma { shape: 1.0 / big, scale: big },
            ScaledInvChi2 { nu: 10.0, s2: big },
            Uniform { lower: 0.0, upper: big },
            PcSigma { s0: big, p: 0.999_999 },
            PcRange { r0: big, p: 1e-90 },
            Normal { mean: big, sd: big },
            Cauchy { location: -big, scale: big },
        ];
        for law in laws {
            let Ok(prior) = Belief::new("sigma", Scale::Exp(1.0), law) else { continue };
            let phi = prior.quantile(0.3).unwrap();
            let (log_density, slope) = prior.log_density(phi);
            assert!(phi.is_finite() && log_density.is_finite() && slope.is_finite(), "{prior}");
        }
    }
}
