//! Holds the generalized leapfrog to the laws of `laws.rs`, on every surface it is used on.
//!
//! A trajectory run backwards returns to within 1e-10 of its start, the map of (q, p) keeps volume, and the energy error falls as ε².
//! Each law is shown to be broken by something that breaks it.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod common;

use common::{Case, cases, normals};
use nalgebra::DMatrix;
use sshmc::baseline::{GroupSurface, HyperSurface, JointSurface, Space, prior_precisions};
use sshmc::coordinates::Coordinates;
use sshmc::integrate::{Flight, Generalized, MetricKind, Surface};

/// What is done wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// The metric's force has the wrong sign.
    BendSign,
    /// The matrix remembers how often it was asked for.
    Memory,
}

/// A surface, spoilt or not.
struct Spoilt<S> {
    surface: S,
    fault: Fault,
    asked: u32,
}

impl<S: Surface> Surface for Spoilt<S> {
    fn dim(&self) -> usize {
        self.surface.dim()
    }

    fn potential(&mut self, q: &[f64], gradient: &mut [f64]) -> f64 {
        self.surface.potential(q, gradient)
    }

    fn matrix(&mut self, q: &[f64]) -> Option<DMatrix<f64>> {
        self.asked += 1;
        let growth =
            if self.fault == Fault::Memory { 1e-4 * f64::from(self.asked / 40) } else { 0.0 };
        self.surface.matrix(q).map(|a| a * (1.0 + growth))
    }

    fn contract(&mut self, weight: &DMatrix<f64>, out: &mut [f64]) {
        self.surface.contract(weight, out);
        if self.fault == Fault::BendSign {
            out.iter_mut().for_each(|o| *o = -*o);
        }
    }
}

/// A point over any surface.
type Point<'a> = Generalized<Box<dyn Surface + 'a>>;

/// Calls `check` with every surface at a point of it.
fn each_surface(fault: Fault, seed: u32, check: &mut dyn FnMut(&str, &mut Point<'_>, &[f64])) {
    for case in &cases() {
        let mut space = Space::new(&case.model, &Coordinates::Centred).unwrap();
        let (z, phi) = case.point(seed);
        let mut state = space.state(z.clone(), phi.clone());
        let constant: Vec<f64> = prior_precisions(&case.model).iter().map(|p| p + 0.5).collect();
        let mut run = |name: &str, kind, surface: Box<dyn Surface + '_>, q: &[f64]| {
            let spoilt: Box<dyn Surface + '_> = Box::new(Spoilt { surface, fault, asked: 0 });
            check(&format!("{}, {name}", case.name), &mut Generalized::new(spoilt, kind), q);
        };
        if case.model.structure().fisher(&case.working(&phi)).is_some() {
            let surface = HyperSurface::new(&mut space, &mut state, &constant);
            run("hyperparameters", MetricKind::Plain, Box::new(surface), &phi);
        }
        if let Some(part) = case.model.likelihood().part(0) {
            let surface = GroupSurface::new(part.as_ref(), &[0.0, 0.0], &[], 0.7);
            run("group", MetricKind::Plain, Box::new(surface), &z[..2]);
        }
        if joint(case) {
            let q = [&z[..], &phi[..]].concat();
            for alpha in [2.0, 1e6] {
                let surface = JointSurface::new(&mut space, &mut state);
                run(
                    &format!("SoftAbs {alpha}"),
                    MetricKind::SoftAbs { alpha },
                    Box::new(surface),
                    &q,
                );
            }
        }
    }
}

fn joint(case: &Case) -> bool {
    ["funnel", "logistic"].contains(&case.name)
}

/// Whether the surface's metric depends on the position, so that a fault in its force can be seen.
fn curved(name: &str) -> bool {
    !["funnel, hyperparameters", "logistic, hyperparameters"].contains(&name)
}

/// How far from its start a trajectory comes back, over the size of the state.
fn return_error(point: &mut Point<'_>, q: &[f64]) -> f64 {
    assert!(point.place(q));
    point.draw(&normals(q.len(), 40));
    let start = [point.position(), point.momentum()].concat();
    let go = |point: &mut Generalized<_>| {
        for _ in 0..10 {
            assert!(point.step(0.05));
        }
        point.reverse();
    };
    go(point);
    go(point);
    let end = [point.position(), point.momentum()].concat();
    let size = start.iter().fold(1.0f64, |a, x| a.max(x.abs()));
    start.iter().zip(&end).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / size
}

#[test]
fn trajectories_are_reversible() {
    let mut count = 0;
    each_surface(Fault::None, 1, &mut |name, point, q| {
        let error = return_error(point, q);
        assert!(error <= 1e-10, "{name}: returns with error {error:e}");
        count += 1;
    });
    assert!(count >= 13, "only {count} surfaces");
}

#[test]
fn a_metric_with_a_memory_does_not_return_and_is_caught() {
    let mut caught = 0;
    each_surface(Fault::Memory, 1, &mut |name, point, q| {
        let error = return_error(point, q);
        assert!(error > 1e-8, "{name}: returns with error {error:e}");
        assert!(point.place(q));
        point.draw(&normals(q.len(), 40));
        caught += u32::from(point.fly(20, 0.05) == Flight::Irreversible);
    });
    assert!(caught >= 10, "only {caught} caught");
    each_surface(Fault::None, 1, &mut |name, point, q| {
        assert!(point.place(q));
        point.draw(&normals(q.len(), 40));
        assert_eq!(point.fly(10, 0.05), Flight::Landed, "{name}");
    });
}

/// log|det J| of three steps by five-point differences, and a bound on its error from two step widths (see `laws.rs`).
fn log_volume(point: &mut Point<'_>, q: &[f64]) -> (f64, f64) {
    assert!(point.place(q));
    point.draw(&normals(q.len(), 41));
    let start = [point.position(), point.momentum()].concat();
    let (n, d) = (q.len(), 2 * q.len());
    let mut image = |state: &[f64]| {
        assert!(point.place(&state[..n]));
        point.set_momentum(&state[n..]);
        for _ in 0..3 {
            assert!(point.step(0.05));
        }
        [point.position(), point.momentum()].concat()
    };
    let mut jacobian = |h: f64| {
        let mut j = DMatrix::zeros(d, d);
        for k in 0..d {
            let mut at = |steps: f64| {
                let mut moved = start.clone();
                moved[k] += steps * h;
                image(&moved)
            };
            let [a, b, c, e] = [1.0, -1.0, 2.0, -2.0].map(&mut at);
            for i in 0..d {
                j[(i, k)] = (8.0 * (a[i] - b[i]) - (c[i] - e[i])) / (12.0 * h);
            }
        }
        j
    };
    let (fine, coarse) = (jacobian(1e-3), jacobian(2e-3));
    let inverse = fine.clone().try_inverse().unwrap();
    // The implicit equations are solved to 1e-12 of the state's size.
    let size = start.iter().fold(1.0f64, |a, x| a.max(x.abs()));
    let slack = (&fine - &coarse).abs().add_scalar(16.0 * 1e-12 * size / 1e-3);
    let bound = (inverse.abs() * slack).trace();
    (common::log_det(&fine), bound)
}

#[test]
fn trajectories_keep_volume() {
    each_surface(Fault::None, 2, &mut |name, point, q| {
        let (volume, bound) = log_volume(point, q);
        assert!(
            volume.abs() <= bound && bound < 1e-3,
            "{name}: log|det J| {volume:e}, bound {bound:e}"
        );
    });
}

#[test]
fn a_force_of_the_wrong_sign_is_seen_to_change_volume() {
    let mut seen = 0;
    each_surface(Fault::BendSign, 2, &mut |_, point, q| {
        let (volume, bound) = log_volume(point, q);
        seen += u32::from(volume.abs() > bound);
    });
    assert!(seen >= 8, "seen on {seen} surfaces only");
}

/// Root mean square energy error after a fixed time.
fn energy_error(fault: Fault, wanted: &str, step: f64) -> f64 {
    let mut sum = 0.0;
    for seed in 10..16 {
        each_surface(fault, seed, &mut |name, point, q| {
            if name == wanted {
                assert!(point.place(q));
                point.draw(&normals(q.len(), 50 + seed));
                let before = point.energy();
                let there = (0..(0.16 / step).round() as u32).all(|_| point.step(step));
                assert!(there || fault != Fault::None, "{name}, start {seed}: lost");
                sum += if there { (point.energy() - before).powi(2) } else { f64::NAN };
            }
        });
    }
    sum.sqrt()
}

#[test]
fn energy_errors_fall_as_the_square_of_the_step() {
    let mut names = Vec::new();
    each_surface(Fault::None, 1, &mut |name, _, _| names.push(name.to_owned()));
    let order = |fault, name: &str| {
        let [a, b, c] = [0.02, 0.01, 0.005].map(|step| energy_error(fault, name, step));
        [(a / b).log2(), (b / c).log2()]
    };
    let mut broken = 0;
    for name in &names {
        let slopes = order(Fault::None, name);
        assert!(slopes.iter().all(|s| (1.6..2.4).contains(s)), "{name}: slopes {slopes:?}");
        let spoilt = order(Fault::BendSign, name);
        broken += u32::from(curved(name) && spoilt.iter().any(|s| !(1.6..2.4).contains(s)));
    }
    assert!(broken >= 8, "a wrong sign shows on {broken} surfaces only");
}
