//! Gives GPUs likelihoods whose WGSL is wrong: none of them is sampled with, and the error says what is wrong and where.

use crate::worlds::device;
use sshmc::likelihood::{Curvature, NegativeBinomialLog, PoissonLog, SiteTwin};
use sshmc::prelude::*;
use sshmc::prior::{Distribution, Hyperparameter, Hyperparameters, Scale};
use sshmc::structure::{Ar1, Structure};
use std::sync::Arc;

const COUNTS: [f64; 6] = [0.0, 3.0, 1.0, 7.0, 2.0, 40.0];
const POISSON: &str = include_str!("../../shaders/site/poisson.wgsl");
const NEGATIVE_BINOMIAL: &str = include_str!("../../shaders/site/negative_binomial.wgsl");

/// Counts of a law, with any code for a GPU.
#[derive(Debug)]
struct Own {
    law: Box<dyn Likelihood>,
    twin: SiteTwin,
}

impl Likelihood for Own {
    fn sites(&self) -> usize {
        self.law.sites()
    }

    fn parameters(&self) -> usize {
        self.law.parameters()
    }

    fn evaluate(&self, eta: &[f64], own: &[f64], by_eta: &mut [f64], by_own: &mut [f64]) -> f64 {
        self.law.evaluate(eta, own, by_eta, by_own)
    }

    fn curvature(&self, eta: &[f64], own: &[f64]) -> Curvature {
        self.law.curvature(eta, own)
    }

    fn aside(&self, own: &[f64], by_own: &mut [f64]) -> f64 {
        self.law.aside(own, by_own)
    }

    fn twin(&self) -> Option<SiteTwin> {
        Some(self.twin.clone())
    }
}

fn fit_law(law: Box<dyn Likelihood>, wgsl: String, data: Vec<[f32; 2]>) -> sshmc::Result<Fit> {
    let positive = Distribution::HalfNormal { scale: 1.0 };
    let one = Distribution::Uniform { lower: -1.0, upper: 1.0 };
    let mut hyperparameters = vec![
        Hyperparameter::new("phi", Scale::Tanh, one)?,
        Hyperparameter::new("sigma", Scale::Exp(1.0), positive)?,
    ];
    for _ in 0..law.parameters() {
        hyperparameters.push(Hyperparameter::new("size", Scale::Exp(1.0), positive)?);
    }
    let structure = Structure::Ar1(Ar1::new(COUNTS.len())?);
    let likelihood = Arc::new(Own { law, twin: SiteTwin { wgsl: wgsl.into(), data } });
    let model = Model::new("own", structure, likelihood, Hyperparameters::new(hyperparameters))?;
    Sampler::default().device(device()).chains(1).warmup(5).draws(5).fit(model)
}

fn fit(wgsl: String, data: Vec<[f32; 2]>) -> sshmc::Result<Fit> {
    let law = PoissonLog::new(COUNTS.to_vec(), vec![1.0; COUNTS.len()])?;
    fit_law(Box::new(law), wgsl, data)
}

fn data() -> Vec<[f32; 2]> {
    COUNTS.iter().map(|&y| [y as f32, 1.0]).collect()
}

#[test]
fn a_right_twin_runs_whatever_constant_it_leaves_out() {
    assert!(fit(POISSON.into(), data()).is_ok());
    let shifted = POISSON.replace("join(rate,", "join(rate + vec2f(0.25, 0.0),");
    assert_ne!(shifted, POISSON);
    assert!(fit(shifted, data()).is_ok());
    // Single precision will do: the audit of energies says what it costs.
    let plain = "fn site(datum: vec2f, eta: vec2f) -> vec3f {\n    let rate = exp(eta.x);\n    \
                 return vec3f(rate - datum.x * eta.x, 0.0, rate - datum.x);\n}\n";
    assert!(fit(plain.into(), data()).is_ok());
}

#[test]
fn a_twin_that_computes_something_else_is_refused() {
    let wrong = [
        ("rate.x - datum.x)", "rate.x + datum.x)", "expected gradient"),
        ("rate.x - datum.x)", "0.999 * (rate.x - datum.x))", "expected gradient"),
        // One site alone, that of the largest count.
        ("rate.x - datum.x)", "rate.x - min(datum.x, 39.0))", "site 5"),
        ("-multiply(", "multiply(", "values that change by"),
        ("vec2f(datum.x, 0.0)", "vec2f(0.999 * datum.x, 0.0)", "values that change by"),
        ("join(rate,", "join(rate / zero_of(eta),", "expected a number"),
        ("rate.x - datum.x)", "(rate.x - datum.x) / zero_of(eta).x)", "expected gradient"),
    ];
    let helper = "fn zero_of(eta: vec2f) -> vec2f { return bitcast<vec2f>(vec2u(zero)); }\n";
    for (right, spoilt, word) in wrong {
        assert!(POISSON.contains(right), "{right}");
        let wgsl = helper.to_owned() + &POISSON.replace(right, spoilt);
        let message = fit(wgsl, data()).map(drop).unwrap_err().to_string();
        assert!(message.starts_with("WGSL twin") && message.contains(word), "{spoilt}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn what_a_likelihood_has_of_its_own_is_compared_too() {
    let fit = |wgsl: String| {
        let law = NegativeBinomialLog::new(COUNTS.to_vec(), vec![1.0; COUNTS.len()]).unwrap();
        fit_law(Box::new(law), wgsl, data())
    };
    assert!(fit(NEGATIVE_BINOMIAL.into()).is_ok());
    let wrong = [
        ("by_own[0] = ", "by_own[0] = -", "derivative"),
        ("by_own[0] = ", "by_own[0] = 1.001 * ", "derivative"),
        ("by_own[0] = ", "let unused = ", "derivative"),
        // A size that is not the one it is asked about.
        ("exponential_pair(own[0])", "exponential_pair(0.9 * own[0])", "expected gradient"),
    ];
    for (right, spoilt, word) in wrong {
        assert!(NEGATIVE_BINOMIAL.contains(right), "{right}");
        let wgsl = NEGATIVE_BINOMIAL.replace(right, spoilt);
        let message = fit(wgsl).map(drop).unwrap_err().to_string();
        assert!(message.starts_with("WGSL twin") && message.contains(word), "{spoilt}: {message}");
    }
}

#[test]
fn data_that_do_not_fit_are_refused() {
    let short = data()[1..].to_vec();
    let message = fit(POISSON.into(), short).map(drop).unwrap_err().to_string();
    assert!(message.contains("each of 6 sites") && message.contains("got 5"), "{message}");
    let mut swapped = data();
    swapped.swap(1, 2);
    let message = fit(POISSON.into(), swapped).map(drop).unwrap_err().to_string();
    assert!(message.contains("site 1"), "{message}");
}

#[test]
fn errors_of_the_compiler_show_the_users_own_line() {
    let wgsl = POISSON.replace("exponential_pair(eta)", "exponentail_pair(eta)");
    let message = fit(wgsl, data()).map(drop).unwrap_err().to_string();
    assert!(message.starts_with("WGSL twin, line 4:"), "{message}");
    assert!(message.contains("`let rate = multiply(") && message.contains("exponentail_pair"));
    // A name that the check does not have, but a stage that is used later.
    let taken = format!("{POISSON}\nfn main() {{}}\n");
    let message = fit(taken, data()).map(drop).unwrap_err().to_string();
    assert!(message.starts_with("WGSL twin, line "), "{message}");
    // The device is still good.
    assert!(fit(POISSON.into(), data()).is_ok());
}
