//! Compares potentials, gradients and whole trajectories, point by point, with the same in f64.
//!
//! The reference is written down here once more: leapfrogs of [`Target`], on the same random numbers.

use super::Problem;
use crate::device::{Device, Flow};
use crate::error::Result;
use crate::hamiltonian::{MassKind, Target};
use crate::random::{Purpose, Stream};

/// Steps of a trajectory.
const STEPS: usize = 5;
const SEED: u64 = 11;
/// The transition whose momenta are drawn.
const TRANSITION: u32 = 3;

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
    fn new(problem: &Problem, chain: u32, error: f64) -> Result<Self> {
        let n = problem.model.structure().dim();
        let mut r = vec![0.0; n];
        Stream::new(SEED, chain, TRANSITION, Purpose::Momentum).fill_normals(&mut r);
        Ok(Self {
            target: Target::new(problem.model.clone(), &problem.rounded(error))?,
            z: problem.z(chain),
            r,
            y: vec![0.0; n],
            phi: problem.phi(chain),
            by_phi: vec![0.0; problem.model.hyperparameters().len()],
            potential: 0.0,
        })
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
#[derive(Clone, Debug, Default)]
pub struct Worst {
    /// The ratio; infinite if it is not a number.
    pub ratio: f64,
    /// Where, with both values.
    pub text: String,
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

fn apart(a: &[f64], b: &[f64]) -> f64 {
    norm(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>())
}

/// Follows a trajectory on both and compares at every point. `error` spoils the reference.
pub fn trajectory_error(
    device: &Device,
    problem: &Problem,
    flow: Flow,
    error: f64,
) -> Result<Worst> {
    let chains: Vec<(u32, Vec<f64>)> = problem.ids().map(|id| (id, problem.z(id))).collect();
    let phi: Vec<f64> = problem.ids().flat_map(|chain| problem.phi(chain)).collect();
    let coordinates = problem.rounded(0.0);
    let identity = MassKind::Identity;
    let mut latents = device.latents(&problem.model, &coordinates, &identity, SEED, chains)?;
    let mut references: Vec<Reference> =
        problem.ids().map(|id| Reference::new(problem, id, error)).collect::<Result<_>>()?;
    let (b, m) = (references.len(), problem.model.hyperparameters().len());
    let n = problem.model.structure().dim();
    let (mut potential, mut by_phi) = (vec![f64::NAN; b], vec![f64::NAN; b * m]);
    let (mut z, mut r) = (vec![f64::NAN; n], vec![f64::NAN; n]);
    let mut worst = Worst::default();
    latents.refresh(TRANSITION, &phi);
    // A chain of its own pace, and one that has already halted.
    let steps: Vec<f64> = (0..b).map(|chain| [1.0, 0.6, 0.0][chain % 3] * problem.step).collect();
    let halves: Vec<f64> = steps.iter().map(|s| 0.5 * s).collect();
    for step in 0..=STEPS {
        latents.evaluate(&phi, &mut potential, &mut by_phi);
        for (chain, reference) in references.iter_mut().enumerate() {
            reference.evaluate();
            // Rounding of a transform is a few units of its norm; errors grow at most linearly with the steps so far.
            let units = 2f64.powi(-23) * 8.0 * (1 + step) as f64;
            let (scale, force) = (norm(&reference.z) + norm(&reference.r), norm(&reference.y));
            let size = units * (scale + force);
            let label = format!("step {step} chain {chain}");
            worst.see(&format!("{label}, U"), potential[chain], reference.potential, size * force);
            for k in 0..m {
                let got = by_phi[chain * m + k];
                let bound = size * (force + scale);
                worst.see(&format!("{label}, by φ {k}"), got, reference.by_phi[k], bound);
            }
            // A device in f64 does not hand its points over: there is nothing to compare then.
            if latents.point(chain, &mut z, &mut r).is_some() {
                worst.see(&format!("{label}, |Δz|"), apart(&z, &reference.z), 0.0, size);
                worst.see(&format!("{label}, |Δr|"), apart(&r, &reference.r), 0.0, size);
            }
            reference.kick(0.5 * steps[chain], flow);
            reference.kick(0.5 * steps[chain], flow);
            reference.flow(steps[chain], flow);
        }
        latents.kick(&halves, flow);
        latents.kick(&halves, flow);
        latents.flow(&steps, flow);
    }
    latents.status()?;
    Ok(worst)
}
