//! Runs the factor suite on every structure, and on spoilt factors that it must reject.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod suite;

use nalgebra::DMatrix;
use sshmc::structure::{Ar1, Dense, Factor, Groups, Information, Stationary, Structure};
use std::sync::Arc;
use suite::{Case, FIFTH_DERIVATIVE, check_draws, check_factor};

fn ar1_covariance(n: usize, w: &[f64]) -> DMatrix<f64> {
    let variance = (w[1].exp() * w[0].cosh()).powi(2);
    DMatrix::from_fn(n, n, |i, j| variance * w[0].tanh().powi(i.abs_diff(j) as i32))
}

fn ar1(n: usize, kappa: f64) -> Box<dyn Factor> {
    Structure::Ar1(Ar1::new(n).unwrap()).factor(&Information::Scalar(kappa)).unwrap()
}

/// Points on a wavy line: no two distances alike.
fn points(n: usize) -> Vec<(f64, f64)> {
    (0..n).map(|i| i as f64).map(|i| (0.7 * i, (1.9 * i).sin())).collect()
}

fn exponential_covariance(n: usize, w: &[f64]) -> DMatrix<f64> {
    let points = points(n);
    DMatrix::from_fn(n, n, |i, j| {
        let (x, y) = (points[i].0 - points[j].0, points[i].1 - points[j].1);
        (2.0 * w[0] - (x * x + y * y).sqrt() / w[1].exp()).exp()
    })
}

fn dense(n: usize, kappa: f64) -> Box<dyn Factor> {
    let covariance = Arc::new(Stationary::exponential(&points(n)).unwrap());
    Structure::Dense(Dense::new(covariance).unwrap()).factor(&Information::Scalar(kappa)).unwrap()
}

/// Blocks X'X of 0, 1, 2, … rows: singular ones among them.
fn blocks(groups: usize, size: usize) -> Information {
    let block = |g: usize| {
        let x = DMatrix::from_fn(g, size, |i, j| (1.0 + (3 * g + 5 * i + 7 * j) as f64).sin());
        x.tr_mul(&x)
    };
    Information::Blocks(Arc::new((0..groups).map(block).collect()))
}

fn groups(groups: usize, size: usize, sign: f64, information: &Information) -> Box<dyn Factor> {
    let structure = Groups::new(groups, size).unwrap().with_sign(sign).unwrap();
    Structure::Groups(structure).factor(information).unwrap()
}

#[test]
fn autoregression_passes() {
    for n in [1, 2, 3, 4, 5, 6, 7, 64] {
        for kappa in [0.0, 1e-9, 0.5, 40.0, 1e8] {
            for w in [
                [0.4, -0.3],
                [-1.2, 0.8],
                [2.5, -2.0],
                [0.0, 0.1],
                [6.0, -1.0],
                [-7.5, 1.5],
                [0.7, -9.0],
            ] {
                let sigma = |w: &[f64]| ar1_covariance(n, w);
                let mut case = Case {
                    factor: ar1(n, kappa),
                    w: w.to_vec(),
                    sigma: &sigma,
                    factorised: false,
                    fifth_derivative: FIFTH_DERIVATIVE,
                };
                check_factor(&mut case)
                    .unwrap_or_else(|e| panic!("n {n}, κ {kappa}, w {w:?}: {e}"));
            }
        }
    }
}

#[test]
fn groups_pass() {
    for (count, size) in [(1, 1), (2, 1), (1, 3), (7, 1), (3, 4), (4, 16)] {
        for sign in [1.0, -1.0] {
            let scalars = [0.0, 1e-6, 3.0, 1e5].map(Information::Scalar);
            for information in scalars.into_iter().chain([blocks(count, size)]) {
                for w in [0.3, -2.0, 5.0, -12.0] {
                    let n = count * size;
                    let sigma = |w: &[f64]| DMatrix::identity(n, n) * (sign * w[0]).exp();
                    let factor = groups(count, size, sign, &information);
                    let mut case = Case {
                        factor,
                        w: vec![w],
                        sigma: &sigma,
                        factorised: false,
                        fifth_derivative: FIFTH_DERIVATIVE,
                    };
                    check_factor(&mut case).unwrap_or_else(|e| {
                        panic!("{count}×{size}, sign {sign}, γ {w}, {information:?}: {e}")
                    });
                }
            }
        }
    }
}

#[test]
fn dense_passes() {
    for n in [1, 2, 3, 7, 64] {
        for kappa in [0.0, 1e-3, 0.7, 300.0] {
            for w in [[0.2, 0.5], [-1.0, -1.3], [1.4, 2.0]] {
                let sigma = |w: &[f64]| exponential_covariance(n, w);
                let mut case = Case {
                    factor: dense(n, kappa),
                    w: w.to_vec(),
                    sigma: &sigma,
                    factorised: true,
                    fifth_derivative: FIFTH_DERIVATIVE,
                };
                check_factor(&mut case)
                    .unwrap_or_else(|e| panic!("n {n}, κ {kappa}, w {w:?}: {e}"));
            }
        }
    }
}

#[test]
fn dense_information_blocks_are_refused() {
    let covariance = Arc::new(Stationary::exponential(&points(4)).unwrap());
    let structure = Structure::Dense(Dense::new(covariance).unwrap());
    assert!(structure.factor(&blocks(2, 2)).is_err());
    assert_eq!((structure.dim(), structure.parameters()), (4, 2));
}

#[test]
fn dense_refuses_a_range_at_which_all_latents_are_one() {
    let mut factor = dense(20, 0.5);
    assert!(!factor.set(&[0.0, 60.0]) && !factor.set(&[400.0, 0.0]) && factor.set(&[0.0, 0.0]));
}

#[test]
fn draws_have_the_prior_covariance() {
    let w = [0.9, -0.4];
    for (n, seed) in [(1, 1), (2, 2), (3, 3), (7, 4)] {
        let mut series = ar1(n, 0.0);
        assert!(series.set(&w));
        check_draws(series.as_mut(), &ar1_covariance(n, &w), 20_000, seed).unwrap();
        let mut field = dense(n, 0.0);
        assert!(field.set(&w));
        check_draws(field.as_mut(), &exponential_covariance(n, &w), 20_000, seed).unwrap();
    }
    let mut coefficients = groups(2, 3, -1.0, &Information::NONE);
    assert!(coefficients.set(&[0.9]));
    check_draws(coefficients.as_mut(), &(DMatrix::identity(6, 6) * (-0.9f64).exp()), 20_000, 5)
        .unwrap();
}

#[test]
fn draws_of_a_slightly_different_prior_are_noticed() {
    let mut series = ar1(3, 0.0);
    assert!(series.set(&[0.9, -0.4]));
    // A tenth more standard deviation, or a little more persistence at the same marginal variance.
    assert!(check_draws(series.as_mut(), &ar1_covariance(3, &[0.9, -0.3]), 20_000, 3).is_err());
    let shift = (0.9f64.cosh() / 1.0f64.cosh()).ln();
    assert!(
        check_draws(series.as_mut(), &ar1_covariance(3, &[1.0, -0.4 + shift]), 20_000, 3).is_err()
    );
}

/// A factor with one thing wrong.
struct Spoilt {
    inner: Box<dyn Factor>,
    fault: &'static str,
    sets: usize,
}

impl Spoilt {
    fn nudge(&self, fault: &str, out: &mut [f64]) {
        if self.fault == fault {
            out[0] *= 1.0 + 1e-6;
        }
    }
}

impl Factor for Spoilt {
    fn dim(&self) -> usize {
        self.inner.dim()
    }
    fn parameters(&self) -> usize {
        self.inner.parameters()
    }
    fn set(&mut self, w: &[f64]) -> bool {
        self.sets += 1;
        self.inner.set(w)
    }
    fn log_det(&self) -> f64 {
        self.inner.log_det() + if self.fault == "log_det" { 1e-6 } else { 0.0 }
    }
    fn log_det_gradient(&self, out: &mut [f64]) {
        self.inner.log_det_gradient(out);
        self.nudge("log_det_gradient", out);
    }
    fn apply(&mut self, z: &[f64], out: &mut [f64]) {
        let before = out[0];
        self.inner.apply(z, out);
        self.nudge("apply", out);
        if self.fault == "dirty" {
            out[0] += before;
        }
    }
    fn apply_transposed(&mut self, y: &[f64], out: &mut [f64]) {
        self.inner.apply_transposed(y, out);
        self.nudge("apply_transposed", out);
    }
    fn solve(&mut self, u: &[f64], out: &mut [f64]) {
        self.inner.solve(u, out);
        self.nudge("solve", out);
    }
    fn solve_transposed(&mut self, r: &[f64], out: &mut [f64]) {
        self.inner.solve_transposed(r, out);
        self.nudge("solve_transposed", out);
    }
    fn sensitivity(&mut self, a: &[f64], z: &[f64], out: &mut [f64]) {
        self.inner.sensitivity(a, z, out);
        self.nudge("sensitivity", out);
    }
    fn information(&self, v: &[f64], out: &mut [f64]) {
        self.inner.information(v, out);
        self.nudge("information", out);
        if self.fault == "memory" {
            out[0] *= 1.0 + f64::EPSILON * self.sets as f64;
        }
    }
}

#[test]
fn every_single_fault_is_noticed() {
    let sigma = |w: &[f64]| ar1_covariance(7, w);
    let run = |fault: &'static str| {
        let factor = Box::new(Spoilt { inner: ar1(7, 0.5), fault, sets: 0 });
        check_factor(&mut Case {
            factor,
            w: vec![0.8, -0.5],
            sigma: &sigma,
            factorised: false,
            fifth_derivative: FIFTH_DERIVATIVE,
        })
    };
    run("none").unwrap();
    for fault in [
        "log_det",
        "log_det_gradient",
        "apply",
        "apply_transposed",
        "solve",
        "solve_transposed",
        "sensitivity",
        "information",
        "dirty",
        "memory",
    ] {
        assert!(run(fault).is_err(), "a fault in {fault} went unnoticed");
    }
}

#[test]
fn a_wrong_covariance_is_noticed() {
    let sigma = |w: &[f64]| ar1_covariance(7, &[w[0] + 1e-9, w[1]]);
    let mut case = Case {
        factor: ar1(7, 0.5),
        w: vec![0.8, -0.5],
        sigma: &sigma,
        factorised: false,
        fifth_derivative: FIFTH_DERIVATIVE,
    };
    assert!(check_factor(&mut case).is_err());
}
