//! Holds every integrator, in every coordinates and with every mass, to the laws a trajectory must obey.
//!
//! A trajectory run backwards returns to where it began, the map of (z, r, φ, p) keeps volume, and the energy error at
//! a fixed length falls as ε². Each law is shown to be broken by something that breaks it.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod common;

use common::probe::{Fault, Open, Probe, SEED};
use common::{Case, cases, close, normals};
use nalgebra::DMatrix;
use sshmc::coordinates::Coordinates;
use sshmc::device::{CpuLatents, Flow};
use sshmc::hamiltonian::{LatentMass, MassKind};
use sshmc::integrate::{HyperMetric, Integrator, Steps, System};
use std::sync::{Arc, Mutex};

/// A model with coordinates, a mass and a trajectory's recipe.
struct Setting<'a> {
    case: &'a Case,
    coordinates: Coordinates,
    mass: MassKind,
    integrator: Integrator,
}

impl Setting<'_> {
    fn name(&self) -> String {
        let (case, coordinates) = (self.case.name, self.coordinates.name());
        format!("{case}, {coordinates}, {:?}, {:?}", self.mass, self.integrator)
    }
}

/// Integrators for a mass: joint ones need a constant mass, rotations the identity.
fn integrators(identity: bool) -> Vec<Integrator> {
    let inner = [1, 2, 3].into_iter().flat_map(|k1| [1, 2, 3].map(|k2| (k1, k2)));
    let abla = |flow| move |(k1, k2)| Integrator::Abla { flow, k1, k2 };
    let mut all: Vec<Integrator> = inner.map(abla(Flow::Drift)).collect();
    if identity {
        all.extend([Flow::Drift, Flow::Rotation].map(Integrator::Joint));
        all.push(abla(Flow::Rotation)((2, 1)));
    }
    all
}

fn each_setting(mut check: impl FnMut(&Setting)) {
    let mut count = 0;
    for case in &cases() {
        for coordinates in case.coordinates() {
            for mass in case.masses() {
                let structure = case.model.structure();
                let identity =
                    LatentMass::new(structure, &mass, &coordinates).unwrap().is_identity();
                for integrator in integrators(identity) {
                    let (coordinates, mass) = (coordinates.clone(), mass.clone());
                    check(&Setting { case, coordinates, mass, integrator });
                    count += 1;
                }
            }
        }
    }
    assert!(count > 1000, "only {count} settings");
}

/// A metric without symmetry.
fn metric(phi: &[f64]) -> HyperMetric {
    let m = phi.len();
    let root =
        DMatrix::from_fn(m, m, |i, j| if i == j { 0.3 } else { 0.1 / (1 + i + 2 * j) as f64 });
    let centre: Vec<f64> = phi.iter().map(|p| p + 0.2).collect();
    HyperMetric::dense(&centre, &root * root.transpose()).unwrap()
}

/// As many steps for each chain; those that have made theirs wait for the others.
fn go(integrator: Integrator, system: &mut System, counts: &[u32], step: f64) {
    let longest = counts.iter().copied().max().unwrap();
    let choose = |k: u32, _: &System, steps: &mut Steps| {
        for (b, &count) in counts.iter().enumerate() {
            steps.latents[b] = if k < count { step } else { 0.0 };
            steps.hyperparameters[b] = 0.8 * steps.latents[b];
        }
    };
    integrator.travel(system, &mut Steps::zero(counts.len()), longest, choose);
}

/// A system in the open.
struct Bench {
    system: System,
    open: Arc<Mutex<Open>>,
    integrator: Integrator,
}

impl Bench {
    fn new(setting: &Setting, fault: Fault, seed: u32) -> Self {
        let probe = Probe::new(setting.case, &setting.coordinates, &setting.mass, fault);
        let open = probe.open.clone();
        let (z, phi) = setting.case.point(seed);
        open.lock().unwrap().z = z;
        let mut system = System::new(Box::new(probe), vec![metric(&phi)], phi);
        system.evaluate();
        system.latents.refresh(seed, &system.phi);
        system.p = normals(system.phi.len(), 300 + seed);
        Self { system, open, integrator: setting.integrator }
    }

    /// Steps of different length for the two blocks, so that neither stands for the other.
    fn go(&mut self, count: u32, step: f64) {
        go(self.integrator, &mut self.system, &[count], step);
    }

    fn state(&self) -> Vec<f64> {
        let open = self.open.lock().unwrap();
        [&open.z, &open.r, &self.system.phi, &self.system.p]
            .into_iter()
            .flatten()
            .copied()
            .collect()
    }

    fn set_state(&mut self, state: &[f64]) {
        let open = &mut *self.open.lock().unwrap();
        let (n, m) = (open.z.len(), self.system.phi.len());
        open.z.copy_from_slice(&state[..n]);
        open.r.copy_from_slice(&state[n..2 * n]);
        self.system.phi.copy_from_slice(&state[2 * n..2 * n + m]);
        self.system.p.copy_from_slice(&state[2 * n + m..]);
    }

    fn energy(&mut self) -> f64 {
        self.system.energies()[0]
    }
}

/// How far from its start a trajectory comes back, over the size of the state.
fn return_error(setting: &Setting, trajectory: impl Fn(&mut Bench, bool)) -> f64 {
    let mut bench = Bench::new(setting, Fault::None, 1);
    let start = bench.state();
    trajectory(&mut bench, false);
    bench.system.reverse();
    trajectory(&mut bench, true);
    bench.system.reverse();
    let end = bench.state();
    let size = start.iter().fold(1.0f64, |a, x| a.max(x.abs()));
    start.iter().zip(&end).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / size
}

/// Ten steps of 0.05 amplify rounding by less than e^{τ·rate}: a million ulps is far above that, 1e-9 far below ε².
const RETURN_BOUND: f64 = 1e-9;

#[test]
fn trajectories_are_reversible() {
    each_setting(|setting| {
        let error = return_error(setting, |bench, _| bench.go(10, 0.05));
        assert!(error <= RETURN_BOUND, "{}: returns with error {error:e}", setting.name());
    });
}

/// Φ₁(ε) ∘ Φ₂(ε) without its mirror image, made of ABLA steps in which one block stands still.
#[test]
fn a_step_that_is_no_palindrome_does_not_return() {
    for case in &cases() {
        let setting = Setting {
            case,
            coordinates: Coordinates::Centred,
            mass: case.masses()[1].clone(),
            integrator: Integrator::Abla { flow: Flow::Drift, k1: 1, k2: 1 },
        };
        let error = return_error(&setting, |bench, _| {
            for _ in 0..10 {
                for (latents, hyperparameters) in [(0.05, 0.0), (0.0, 0.05)] {
                    let steps =
                        Steps { latents: vec![latents], hyperparameters: vec![hyperparameters] };
                    bench.integrator.step(&mut bench.system, &steps);
                }
            }
        });
        assert!(error > 1e3 * RETURN_BOUND, "{}: returns with error {error:e}", case.name);
    }
}

/// log|det J| of three steps, and a bound on its error.
///
/// Entries of J come from five-point differences with steps 1e-3 and 2e-3, whose truncation errors are as 1 to 16; their
/// distance, with the rounding 16ε/h of each entry, is carried through d log|det J| = tr(J⁻¹dJ).
fn log_volume(setting: &Setting, fault: Fault) -> (f64, f64) {
    let mut bench = Bench::new(setting, fault, 2);
    let start = bench.state();
    let d = start.len();
    let mut image = |state: &[f64]| {
        bench.set_state(state);
        bench.system.evaluate();
        bench.go(3, 0.1);
        bench.state()
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
    let rounding = 64.0 * f64::EPSILON / 1e-3;
    let slack = (&fine - &coarse).abs().add_scalar(rounding);
    let bound = (inverse.abs() * slack).trace();
    (common::log_det(&fine), bound)
}

#[test]
fn trajectories_keep_volume() {
    each_setting(|setting| {
        // Inner counts beyond one of each kind change nothing about volume but the running time.
        if let Integrator::Abla { k1, k2, .. } = setting.integrator
            && (k1 * k2 == 3 || k1 == k2 && k1 > 1)
        {
            return;
        }
        let (volume, bound) = log_volume(setting, Fault::None);
        let name = setting.name();
        assert!(
            volume.abs() <= bound && bound < 1e-4,
            "{name}: log|det J| {volume:e}, bound {bound:e}"
        );
    });
}

#[test]
fn friction_is_seen_to_lose_volume() {
    for case in &cases() {
        for integrator in integrators(true) {
            let (coordinates, mass) = (Coordinates::Centred, MassKind::Identity);
            let (volume, bound) =
                log_volume(&Setting { case, coordinates, mass, integrator }, Fault::Friction);
            assert!(volume.abs() > bound, "{}: {volume:e} {bound:e}", case.name);
        }
    }
}

/// Root mean square energy error over six starts after time 0.16 in steps of ε.
fn energy_error(setting: &Setting, fault: Fault, step: f64) -> f64 {
    let squares = (10..16).map(|seed| {
        let mut bench = Bench::new(setting, fault, seed);
        let before = bench.energy();
        bench.go((0.16 / step).round() as u32, step);
        (bench.energy() - before).powi(2)
    });
    (squares.sum::<f64>() / 6.0).sqrt()
}

/// The two slopes of log|ΔH| against log ε over three ε; none if H is conserved to rounding.
fn slopes(setting: &Setting, fault: Fault) -> Option<[f64; 2]> {
    let [a, b, c] = [0.02, 0.01, 0.005].map(|step| energy_error(setting, fault, step));
    (c > 1e-11).then(|| [(a / b).log2(), (b / c).log2()])
}

fn second_order(slopes: [f64; 2]) -> bool {
    slopes.iter().all(|s| (1.7..2.3).contains(s))
}

#[test]
fn energy_errors_fall_as_the_square_of_the_step() {
    let mut exact = 0;
    each_setting(|setting| match slopes(setting, Fault::None) {
        Some(slopes) => assert!(second_order(slopes), "{}: slopes {slopes:?}", setting.name()),
        None => exact += 1,
    });
    assert_eq!(exact, 0, "settings without any energy error to measure");
}

#[test]
fn a_wrong_sign_is_seen_in_the_slope() {
    for case in &cases() {
        let prior = case.masses()[1].clone();
        for (mass, fault) in [(prior, Fault::AuxiliarySign), (MassKind::Identity, Fault::KickSign)]
        {
            let integrator = Integrator::Abla { flow: Flow::Drift, k1: 2, k2: 2 };
            let coordinates = Coordinates::Centred;
            let slopes = slopes(&Setting { case, coordinates, mass, integrator }, fault).unwrap();
            assert!(!second_order(slopes), "{}, {fault:?}: slopes {slopes:?}", case.name);
        }
    }
}

/// The same chain on the host's device.
fn on_device(setting: &Setting, seed: u32) -> System {
    let (z, phi) = setting.case.point(seed);
    let (model, mass) = (&setting.case.model, &setting.mass);
    let latents = CpuLatents::new(model, &setting.coordinates, mass, SEED, vec![(0, z)]).unwrap();
    let mut system = System::new(Box::new(latents), vec![metric(&phi)], phi);
    system.evaluate();
    system.latents.refresh(seed, &system.phi);
    system.p = normals(system.phi.len(), 300 + seed);
    system
}

/// What any device shows of its state: latents with their mean, φ, p and H.
fn visible(system: &mut System, n: usize) -> Vec<f64> {
    let (mut x, mut g) = (vec![f64::NAN; n], vec![f64::NAN; n]);
    system.latents.latents_and_score(0, &mut x, &mut g);
    let energy = system.energies()[0];
    [&x, &system.phi, &system.p, &vec![energy]].into_iter().flatten().copied().collect()
}

/// The device walks through the same points as the formulas in the open, one by one.
#[test]
fn the_device_follows_the_open_trajectory() {
    each_setting(|setting| {
        let n = setting.case.model.structure().dim();
        let mut bench = Bench::new(setting, Fault::None, 3);
        let mut device = on_device(setting, 3);
        let steps = Steps { latents: vec![0.05], hyperparameters: vec![0.04] };
        for step in 0..5 {
            bench.go(1, 0.05);
            setting.integrator.step(&mut device, &steps);
            let (got, want) = (visible(&mut device, n), visible(&mut bench.system, n));
            let size = want.iter().fold(1.0f64, |a, x| a.max(x.abs()));
            // The same sums in another order: some roundings each, carried on for five steps.
            let bound = 1024.0 * n as f64 * f64::EPSILON * size;
            close(&format!("{}, step {step}", setting.name()), &got, &want, bound).unwrap();
        }
    });
}

/// A trajectory is its steps, one by one, whether or not half kicks are joined.
#[test]
fn a_trajectory_leads_where_its_steps_do() {
    each_setting(|setting| {
        let n = setting.case.model.structure().dim();
        let (mut whole, mut stepwise) = (on_device(setting, 5), on_device(setting, 5));
        go(setting.integrator, &mut whole, &[5], 0.05);
        let steps = Steps { latents: vec![0.05], hyperparameters: vec![0.8 * 0.05] };
        for _ in 0..5 {
            setting.integrator.step(&mut stepwise, &steps);
        }
        let (got, want) = (visible(&mut whole, n), visible(&mut stepwise, n));
        let size = want.iter().fold(1.0f64, |a, x| a.max(x.abs()));
        // One rounding fewer a kick, carried on for five steps.
        let bound = 1024.0 * n as f64 * f64::EPSILON * size;
        close(&setting.name(), &got, &want, bound).unwrap();
        // A step more, of the hyperparameters alone, leads elsewhere.
        setting.integrator.step(&mut stepwise, &Steps { latents: vec![0.0], ..steps });
        let spoilt = visible(&mut stepwise, n);
        assert!(close(&setting.name(), &spoilt, &want, bound).is_err(), "{}", setting.name());
    });
}

#[test]
fn a_refused_proposal_leaves_the_saved_point_as_it_was() {
    each_setting(|setting| {
        let n = setting.case.model.structure().dim();
        let mut system = on_device(setting, 4);
        let steps = Steps { latents: vec![0.1], hyperparameters: vec![0.1] };
        system.latents.save();
        let (phi, p) = (system.phi.clone(), system.p.clone());
        let mut field = vec![f64::NAN; setting.case.model.structure().sites()];
        system.latents.field(0, &mut field);
        let before = visible(&mut system, n);
        let saved = system.latents.snapshot(0).unwrap();
        setting.integrator.step(&mut system, &steps);
        assert_ne!(visible(&mut system, n), before, "{}: nothing moved", setting.name());
        // The second time there is nothing to go back from.
        for _ in 0..2 {
            system.latents.settle(&[false]);
            let back = system.latents.snapshot(0).unwrap();
            assert_eq!(
                (back.z, back.by_z),
                (saved.z.clone(), saved.by_z.clone()),
                "{}",
                setting.name()
            );
        }
        let mut reported = vec![f64::NAN; field.len()];
        system.latents.field(0, &mut reported);
        assert_eq!(field, reported, "{}: the reported field moved", setting.name());
        (system.phi, system.p) = (phi, p);
        system.latents.refresh(4, &system.phi);
        system.evaluate();
        assert_eq!(visible(&mut system, n), before, "{}: the point moved", setting.name());
    });
}

/// In a batch a chain moves as it does alone, be its trajectory the longer or the shorter one, and a chain without steps stays where
/// it is.
#[test]
fn chains_of_a_batch_do_not_touch_each_other() {
    for case in &cases() {
        for (flow, counts) in
            [(Flow::Rotation, [4, 0]), (Flow::Rotation, [2, 5]), (Flow::Drift, [1, 3])]
        {
            let (coordinates, mass) = (Coordinates::whitened(), MassKind::Identity);
            let integrator = Integrator::Joint(flow);
            let setting = Setting { case, coordinates, mass, integrator };
            let n = case.model.structure().dim();
            let m = case.model.hyperparameters().len();
            let mut batch = two_on_device(&setting, [3, 7]);
            let resting = batch.phi[m..].to_vec();
            let mut alone = on_device(&setting, 3);
            go(integrator, &mut batch, &counts, 0.1);
            go(integrator, &mut alone, &counts[..1], 0.1);
            let name = format!("{}, {flow:?}, {counts:?}", case.name);
            assert_eq!(visible(&mut batch, n)[..n], visible(&mut alone, n)[..n], "{name}");
            assert_eq!(batch.phi[..m], alone.phi[..], "{name}");
            assert_eq!(batch.p[..m], alone.p[..], "{name}");
            assert_eq!(batch.energy(0), alone.energy(0), "{name}");
            let rested = batch.phi[m..] == resting[..];
            assert_eq!(rested, counts[1] == 0, "{name}: the other chain moved or did not");
        }
    }
}

/// Two chains in a batch.
fn two_on_device(setting: &Setting, seeds: [u32; 2]) -> System {
    let case = setting.case;
    let m = case.model.hyperparameters().len();
    let points = seeds.map(|seed| case.point(seed));
    let chains = points.iter().map(|(z, _)| (0, z.clone())).collect();
    let (coordinates, mass) = (&setting.coordinates, &setting.mass);
    let latents = CpuLatents::new(&case.model, coordinates, mass, SEED, chains).unwrap();
    let phi: Vec<f64> = points.iter().flat_map(|(_, phi)| phi.clone()).collect();
    let metrics = points.iter().map(|(_, phi)| metric(phi)).collect();
    let mut batch = System::new(Box::new(latents), metrics, phi);
    batch.evaluate();
    batch.latents.refresh(seeds[0], &batch.phi);
    batch.p = seeds.map(|seed| normals(m, 300 + seed)).concat();
    batch
}
