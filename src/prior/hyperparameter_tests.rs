//! Checks the hyperparameters as models and users meet them: by name, by text, by vector.

use rand::SeedableRng;
use rand::rngs::StdRng;

use super::*;

fn volatility() -> Hyperparameters {
    Hyperparameters::new(vec![
        Hyperparameter::volatility_phi(),
        Hyperparameter::volatility_sigma(),
        Hyperparameter::volatility_beta(),
    ])
}

#[test]
fn values_come_on_the_reported_scale() {
    let unknowns = volatility();
    assert_eq!(unknowns.names(), ["phi", "sigma", "beta"]);
    let values = unknowns.values(&[1.2, -2.0, 0.3]);
    for (value, expected) in values.iter().zip([1.2f64.tanh(), (-2f64).exp(), 0.3f64.exp()]) {
        assert!((value - expected).abs() < 1e-15, "{value}, {expected}");
    }
}

#[test]
fn log_prior_is_the_papers_and_adds_to_the_gradient() {
    let unknowns = volatility();
    let by_hand = |phi: [f64; 3]| {
        let (u, s2) = ((phi[0].tanh() + 1.0) / 2.0, (2.0 * phi[1]).exp());
        let jacobians = (1.0 - phi[0].tanh().powi(2)).ln() + 2.0 * phi[1];
        19.0 * u.ln() + 0.5 * (1.0 - u).ln() - 6.0 * s2.ln() - 0.25 / s2 + jacobians
    };
    let (here, there) = ([1.7, -1.4, 0.2], [0.6, -1.9, -3.0]);
    let mut gradient = vec![10.0; 3];
    let gap = unknowns.log_prior(&here, &mut gradient) - by_hand(here);
    let other = unknowns.log_prior(&there, &mut [0.0; 3]) - by_hand(there);
    assert!((gap - other).abs() < 1e-11, "{gap}, {other}");
    for k in 0..3 {
        let (mut up, mut down) = (here, here);
        up[k] += 1e-5;
        down[k] -= 1e-5;
        let central = (by_hand(up) - by_hand(down)) / 2e-5;
        // Rounding: 1e-15·20/1e-5; truncation: 1e-10·f‴/6 with f‴ below 100.
        assert!((gradient[k] - 10.0 - central).abs() < 1e-8, "{k}: {} {central}", gradient[k]);
    }
}

#[test]
fn a_prior_on_an_alias_is_the_same_belief() {
    // σ² ~ lognormal(2m, 2s) is σ ~ lognormal(m, s); μ = 2 log β ~ N(2m, 2s) is β ~ lognormal(m, s).
    for (first, second) in [
        ("sigma=lognormal(-1,0.4)", "sigma2=lognormal(-2,0.8)"),
        ("beta=lognormal(-1,0.4)", "mu=normal(-2,0.8)"),
        ("sigma=uniform(0,1)", "sigma = uniform(0, 1)"),
    ] {
        let (mut one, mut other) = (volatility(), volatility());
        one.set_prior(first).unwrap();
        other.set_prior(second).unwrap();
        for w in [-1.5, -0.2, 0.9] {
            let (p, q) =
                (one.log_prior(&[w; 3], &mut [0.0; 3]), other.log_prior(&[w; 3], &mut [0.0; 3]));
            assert!((p - q).abs() < 1e-12, "{first} {second}: {p} {q}");
        }
    }
}

#[test]
fn bounds_hold_whatever_the_coordinate() {
    let mut unknowns = volatility();
    unknowns.set_prior("sigma2=uniform(0.01,4)").unwrap();
    unknowns.set_prior("phi=uniform(0,1)").unwrap();
    for phi in [-800.0, -3.0, 0.0, 3.0, 800.0] {
        let values = unknowns.values(&[phi; 3]);
        assert!(
            (0.0..=1.0).contains(&values[0]) && (0.1 - 1e-15..=2.0 + 1e-14).contains(&values[1]),
            "{values:?}"
        );
        let (mut w, mut dw) = ([0.0; 3], [0.0; 3]);
        unknowns.working(&[phi; 3], &mut w, &mut dw);
        assert!(w[..2].iter().chain(&dw).all(|x| x.is_finite()), "{phi}: {w:?} {dw:?}");
    }
    assert_eq!(unknowns[1].start(), unknowns[1].prior().quantile(0.5).unwrap());
    assert!((unknowns[0].prior_quantile(0.3).unwrap() - 0.3).abs() < 1e-14);
}

#[test]
fn coordinates_undo_working() {
    let mut unknowns = volatility();
    unknowns.set_prior("beta=uniform(0,5)").unwrap();
    let phi = [0.4, -1.1, 2.2];
    let (mut w, mut dw) = ([0.0; 3], [0.0; 3]);
    unknowns.working(&phi, &mut w, &mut dw);
    for (back, phi) in unknowns.coordinates(&w).iter().zip(phi) {
        assert!((back - phi).abs() < 1e-13, "{back}, {phi}");
    }
}

#[test]
fn an_improper_prior_cannot_be_drawn_from_but_has_a_start() {
    let (mut unknowns, mut rng) = (volatility(), StdRng::seed_from_u64(3));
    let error = unknowns.sample(&mut rng).unwrap_err().to_string();
    assert!(
        error.contains("beta=flat-log")
            && error.contains("improper")
            && error.contains("name another prior")
    );
    assert_eq!(unknowns[2].prior_quantile(0.5), None);
    assert_eq!(unknowns[2].clone().with_fallback_start(-4.0).start(), -4.0);
    unknowns.set_prior("beta=half-cauchy(1)").unwrap();
    assert_eq!(unknowns.sample(&mut rng).unwrap().len(), 3);
}

#[test]
fn a_vague_prior_does_not_decide_where_to_start() {
    let mut unknowns = volatility();
    unknowns.set_prior("sigma2=inv-gamma(0.001,0.001)").unwrap();
    assert_eq!(unknowns[1].start(), 0.0);
    unknowns.set_prior("sigma2=inv-gamma(3,0.1)").unwrap();
    assert!((unknowns[1].start() - unknowns[1].prior().quantile(0.5).unwrap()).abs() < 1e-15);
}

#[test]
fn sentences_speak_of_the_quantity_that_was_named() {
    let mut unknowns = volatility();
    // Quantiles of 2u − 1 with u ~ Beta(20, 1.5), found by a midpoint sum in √(1 − u) with 200 000 cells.
    let expected = "median 0.886, 95 % between 0.588 and 0.989";
    assert_eq!(unknowns[0].describe_prior(), expected);
    unknowns.set_prior("sigma=pc(3,0.05)").unwrap();
    assert_eq!(unknowns[1].describe_prior(), "P(sigma > 3) = 0.05");
    assert!(unknowns[2].describe_prior().starts_with("improper"));
}

#[test]
fn priors_that_do_not_fit_are_refused() {
    let mut unknowns = volatility();
    let field = Hyperparameters::new(vec![
        Hyperparameter::field_sigma(),
        Hyperparameter::field_range(0.05).unwrap(),
        Hyperparameter::field_mu(),
    ]);
    let cases = [
        (
            "sigma=beta(2,2)",
            "expected a distribution for sigma on (0, inf), got beta on (0, 1); use half-normal",
        ),
        (
            "phi=gamma(2,2)",
            "expected a distribution for phi on (-1, 1), got gamma on (0, inf); use beta(a,b)",
        ),
        ("phi=half-normal(1)", "on (-1, 1)"),
        ("sigma=uniform(-1,1)", "got uniform on (-1, 1); choose bounds inside that interval"),
        ("phi=uniform(0,2)", "got uniform on (0, 2); choose bounds inside that interval"),
        ("tau=gamma(2,2)", "expected one of phi, sigma (or sigma2), beta (or mu), got tau"),
    ];
    for (text, part) in cases {
        let before = unknowns.clone();
        let error = unknowns.set_prior(text).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("prior {text}: ")) && error.contains(part),
            "{text}: {error}"
        );
        assert_eq!(unknowns, before, "{text} changed something");
    }
    for text in ["mu=half-normal(2)", "mu=flat-log", "mu=beta(1,2)"] {
        let error = field.clone().set_prior(text).unwrap_err().to_string();
        assert!(error.contains("for mu on (-inf, inf)") && error.contains("use normal"), "{error}");
    }
    let error = Hyperparameter::funnel_v().with_prior("w", Distribution::FlatLog).unwrap_err();
    assert_eq!(error.to_string(), "prior w=flat-log: expected v, got w; use one of these names");
}
