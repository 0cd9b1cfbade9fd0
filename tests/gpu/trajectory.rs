//! Compares potentials, gradients and whole trajectories, point by point, with the same in f64.
//!
//! The reference is written down here once more: leapfrogs of [`Target`], on the same random numbers.

use crate::worlds::{World, device, worlds};
use sshmc::device::Flow;
use sshmc::hamiltonian::{MassKind, Target};
use sshmc::random::{Purpose, Stream};

/// Steps of a trajectory.
const STEPS: usize = 5;
const SEED: u64 = 11;

/// One chain in f64.
struct Reference {
    target: Target,
    z: Vec<f64>,
    r: Vec<f64>,
    y: Vec<f64>,
    phi: Vec<f64>,
    by_phi: Vec<f64>,
    potential: f64,
}

impl Reference {
    fn new(world: &World, chain: u32, kappa_error: f64) -> Self {
        let n = world.model.structure().dim();
        let mut r = vec![0.0; n];
        Stream::new(SEED, chain, 3, Purpose::Momentum).fill_normals(&mut r);
        let coordinates = world.rounded(kappa_error);
        Self {
            target: Target::new(world.model.clone(), &coordinates).unwrap(),
            z: world.z(chain),
            r,
            y: vec![0.0; n],
            phi: world.phi(chain),
            by_phi: vec![0.0; world.model.hyperparameters().len()],
            potential: 0.0,
        }
    }

    fn evaluate(&mut self) {
        self.potential = self.target.evaluate(&self.z, &self.phi, &mut self.y, &mut self.by_phi);
    }

    fn kick(&mut self, step: f64, flow: Flow) {
        let reference = if flow == Flow::Rotation { 1.0 } else { 0.0 };
        for i in 0..self.z.len() {
            self.r[i] -= step * (self.y[i] - reference * self.z[i]);
        }
    }

    fn flow(&mut self, step: f64, flow: Flow) {
        let (sin, cos) = step.sin_cos();
        for (z, r) in self.z.iter_mut().zip(&mut self.r) {
            match flow {
                Flow::Rotation => (*z, *r) = (cos * *z + sin * *r, cos * *r - sin * *z),
                Flow::Drift => *z += step * *r,
            }
        }
    }
}

/// The worst ratio of an error to its bound, and where.
struct Worst {
    ratio: f64,
    text: String,
}

impl Worst {
    fn see(&mut self, what: &str, got: f64, want: f64, bound: f64) {
        let ratio = (got - want).abs() / bound;
        if ratio.is_nan() || ratio > self.ratio {
            self.ratio = if ratio.is_nan() { f64::INFINITY } else { ratio };
            self.text = format!("{what}: got {got}, want {want}, bound {bound:e}");
        }
    }
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Follows a trajectory on both and compares at every point. `kappa_error` spoils the reference.
fn compare(world: &World, flow: Flow, kappa_error: f64) -> Worst {
    let chains: Vec<(u32, Vec<f64>)> = world.ids().map(|chain| (chain, world.z(chain))).collect();
    let phi: Vec<f64> = world.ids().flat_map(|chain| world.phi(chain)).collect();
    let coordinates = world.rounded(0.0);
    let mut gpu =
        device().latents(&world.model, &coordinates, &MassKind::Identity, SEED, chains).unwrap();
    let mut references: Vec<Reference> =
        world.ids().map(|chain| Reference::new(world, chain, kappa_error)).collect();
    let (b, m, n) = (references.len(), references[0].phi.len(), references[0].z.len());
    let (mut potential, mut by_phi) = (vec![f64::NAN; b], vec![f64::NAN; b * m]);
    let (mut z, mut r) = (vec![f64::NAN; n], vec![f64::NAN; n]);
    let mut worst = Worst { ratio: 0.0, text: String::new() };
    gpu.refresh(3, &phi);
    // A chain of its own pace, and one that has already halted.
    let pace = |chain: usize| [1.0, 0.6, 0.0][chain % 3] * world.step;
    let steps: Vec<f64> = (0..b).map(pace).collect();
    let halves: Vec<f64> = steps.iter().map(|s| 0.5 * s).collect();
    for step in 0..=STEPS {
        gpu.evaluate(&phi, &mut potential, &mut by_phi);
        for (chain, reference) in references.iter_mut().enumerate() {
            reference.evaluate();
            // Rounding of a transform is a few units of its norm; errors grow at most linearly with the steps so far.
            let units = 2f64.powi(-23) * 8.0 * (1 + step) as f64;
            let (scale, force) = (norm(&reference.z) + norm(&reference.r), norm(&reference.y));
            let size = units * (scale + force);
            let label = format!("{} {flow:?} step {step} chain {chain}", world.name);
            worst.see(&format!("{label}, U"), potential[chain], reference.potential, size * force);
            for k in 0..m {
                let got = by_phi[chain * m + k];
                let bound = size * (force + scale);
                worst.see(&format!("{label}, by φ {k}"), got, reference.by_phi[k], bound);
            }
            gpu.point(chain, &mut z, &mut r).unwrap();
            let apart = |a: &[f64], b: &[f64]| {
                norm(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>())
            };
            worst.see(&format!("{label}, |Δz|"), apart(&z, &reference.z), 0.0, size);
            worst.see(&format!("{label}, |Δr|"), apart(&r, &reference.r), 0.0, size);
            reference.kick(0.5 * steps[chain], flow);
            reference.kick(0.5 * steps[chain], flow);
            reference.flow(steps[chain], flow);
        }
        gpu.kick(&halves, flow);
        gpu.kick(&halves, flow);
        gpu.flow(&steps, flow);
    }
    gpu.status().unwrap();
    worst
}

#[test]
fn trajectories_follow_those_in_double_precision() {
    for world in worlds() {
        for flow in [Flow::Rotation, Flow::Drift] {
            let worst = compare(&world, flow, 0.0);
            println!("{} {flow:?}: {:.3} of the bound ({})", world.name, worst.ratio, worst.text);
            assert!(worst.ratio <= 1.0, "{}", worst.text);
        }
    }
}

#[test]
fn the_comparison_sees_a_small_error() {
    for name in ["33 x 32", "20 x 30, covariates", "1025 returns"] {
        let world = worlds().into_iter().find(|w| w.name == name).unwrap();
        let worst = compare(&world, Flow::Rotation, 1e-3);
        assert!(worst.ratio > 1.0, "κ off by a thousandth passes: {}", worst.text);
    }
}
