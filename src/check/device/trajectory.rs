//! Compares potentials, gradients and whole trajectories, point by point, with the same in f64.
//!
//! The reference is written down here once more: leapfrogs of [`Target`], on the same random numbers.

use super::Problem;
use super::worst::{Worst, point, see};
use crate::device::{Device, Flow, Latents};
use crate::error::Result;
use crate::hamiltonian::{MassKind, Target};
use crate::random::{Purpose, Stream};

const SEED: u64 = 11;
/// The transition whose momenta are drawn.
const TRANSITION: u32 = 3;

/// Errors of one step, in units of the last place, relative to the norm of everything that is added up:
///
/// - 3: two transforms, whose error is 1.3 units of their norm at 1024 a side and grows as its logarithm; two scans of an
///   autoregression, which are in pairs of floats, do better;
/// - 2: the factor's diagonal before the first and after the second, each rounded and multiplied, four times half a unit;
/// - 2: the site's exponential, which is good to about one unit and a half, and its difference from the data;
/// - 1: the kick, a product and a sum of half a unit each; the turn's three shears are as many again, but of a tenth of their size.
const UNITS: f64 = 8.0;

/// What is compared at every point; each quantity has a worst error of its own. A device in f64 does not hand r over, which then
/// shows in the kinetic energy.
pub const COMPARED: [&str; 6] = ["U", "∂U/∂φ", "∂U/∂z", "z", "r", "kinetic energy"];

/// Relative errors that spoil a reference, so that tests can see a comparison fail.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spoilt {
    /// Of the coordinates' information, where they have any.
    pub kappa: f64,
    /// Of the latents at the start.
    pub z: f64,
    /// Of the momenta at the start.
    pub r: f64,
    /// Of the steps.
    pub step: f64,
}

/// One chain in f64.
struct Reference {
    target: Target,
    z: Vec<f64>,
    r: Vec<f64>,
    y: Vec<f64>,
    phi: Vec<f64>,
    by_phi: Vec<f64>,
    potential: f64,
    step: f64,
}

impl Reference {
    fn new(problem: &Problem, chain: u32, step: f64, spoilt: Spoilt) -> Result<Self> {
        let n = problem.model.structure().dim();
        let mut r = vec![0.0; n];
        Stream::new(SEED, chain, TRANSITION, Purpose::Momentum).fill_normals(&mut r);
        r.iter_mut().for_each(|r| *r *= 1.0 + spoilt.r);
        Ok(Self {
            target: Target::new(problem.model.clone(), &problem.rounded(spoilt.kappa))?,
            z: problem.z(chain).iter().map(|z| z * (1.0 + spoilt.z)).collect(),
            r,
            y: vec![0.0; n],
            phi: problem.phi(chain),
            by_phi: vec![0.0; problem.model.hyperparameters().len()],
            potential: 0.0,
            step: step * (1.0 + spoilt.step),
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

    /// Two halves of a kick, then the flow.
    fn step(&mut self, flow: Flow) {
        self.kick(0.5 * self.step, flow);
        self.kick(0.5 * self.step, flow);
        let (sin, cos) = self.step.sin_cos();
        for (z, r) in self.z.iter_mut().zip(&mut self.r) {
            match flow {
                Flow::Rotation => (*z, *r) = (cos * *z + sin * *r, cos * *r - sin * *z),
                Flow::Drift => *z += self.step * *r,
            }
        }
    }
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn apart(a: &[f64], b: &[f64]) -> f64 {
    norm(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>())
}

/// Both sides of a comparison, and the worst errors so far.
struct Pair {
    latents: Box<dyn Latents>,
    references: Vec<Reference>,
    /// Half of its is what rounding a number takes from it, relative to the number.
    unit: f64,
    gpu: bool,
    worst: Vec<Worst>,
}

impl Pair {
    /// Compares everything at a point that was reached by so many steps.
    fn look(&mut self, phi: &[f64], step: usize) -> Result<()> {
        let (b, m) = (self.references.len(), phi.len() / self.references.len());
        let (mut potential, mut by_phi) = (vec![f64::NAN; b], vec![f64::NAN; phi.len()]);
        let mut kinetic = vec![f64::NAN; b];
        self.latents.evaluate(phi, &mut potential, &mut by_phi);
        self.latents.kinetic(phi, &mut kinetic, None);
        for (chain, reference) in self.references.iter_mut().enumerate() {
            reference.evaluate();
            let place = format!("step {step} of chain {chain}");
            let worst = &mut self.worst;
            let mut see = |what, pair, bound| see(worst, what, &place, pair, bound);
            // Errors add up at most linearly with the steps so far. Those of energies are products of an error and a slope.
            let (scale, force) = (norm(&reference.z) + norm(&reference.r), norm(&reference.y));
            let size = self.unit * UNITS * (1 + step) as f64 * (scale + force);
            see("U", [potential[chain], reference.potential], size * force);
            // A derivative by φ is a sum over latents of such products, whose roundings are independent: it grows as the root of their
            // number, and five standard deviations are allowed.
            let together = (5.0 / (reference.z.len() as f64).sqrt()).min(1.0);
            for (got, want) in by_phi[chain * m..].iter().zip(&reference.by_phi) {
                see("∂U/∂φ", [*got, *want], together * size * (force + scale));
            }
            let half_square = 0.5 * reference.r.iter().map(|r| r * r).sum::<f64>();
            see("kinetic energy", [kinetic[chain], half_square], size * norm(&reference.r));
            let state = self.latents.snapshot(chain)?;
            // What an error of z does to the gradient, through the curvature, has to fit into the same.
            see("∂U/∂z", [apart(&state.by_z, &reference.y), 0.0], size);
            see("z", [apart(&state.z, &reference.z), 0.0], size);
            if self.gpu {
                let [z, r] = point(&mut *self.latents, chain, state.z.len())?;
                see("z", [apart(&z, &reference.z), 0.0], size);
                see("r", [apart(&r, &reference.r), 0.0], size);
            }
        }
        Ok(())
    }
}

/// Follows a trajectory of so many steps on both and compares at every point: the worst error of each quantity, in units of what
/// rounding explains.
pub fn trajectory_errors(
    device: &Device,
    problem: &Problem,
    flow: Flow,
    steps: usize,
    spoilt: Spoilt,
) -> Result<Vec<Worst>> {
    let chains: Vec<(u32, Vec<f64>)> = problem.ids().map(|id| (id, problem.z(id))).collect();
    let phi: Vec<f64> = problem.ids().flat_map(|chain| problem.phi(chain)).collect();
    // A chain of its own pace, and one that has already halted.
    let pace = |chain: usize| [1.0, 0.6, 0.0][chain % 3] * problem.step;
    let full: Vec<f64> = (0..chains.len()).map(pace).collect();
    let halves: Vec<f64> = full.iter().map(|s| 0.5 * s).collect();
    let references = problem.ids().zip(&full);
    let references = references.map(|(id, step)| Reference::new(problem, id, *step, spoilt));
    let (coordinates, identity) = (problem.rounded(0.0), MassKind::Identity);
    let mut comparison = Pair {
        references: references.collect::<Result<_>>()?,
        latents: device.latents(&problem.model, &coordinates, &identity, SEED, chains)?,
        unit: 2f64.powi(if device.is_gpu() { -23 } else { -52 }),
        gpu: device.is_gpu(),
        worst: Vec::new(),
    };
    comparison.latents.refresh(TRANSITION, &phi);
    for step in 0..=steps {
        comparison.look(&phi, step)?;
        comparison.references.iter_mut().for_each(|reference| reference.step(flow));
        comparison.latents.kick(&halves, flow);
        comparison.latents.kick(&halves, flow);
        comparison.latents.flow(&full, flow);
    }
    comparison.latents.status()?;
    Ok(comparison.worst)
}
