//! Walks through a world by one kernel, whatever it is made of.

use super::world::{Draw, World};
use crate::baseline::{Address, Rival, Space, State};
use crate::coordinates::Coordinates;
use crate::device::{Device, Latents};
use crate::error::{Error, Result};
use crate::hamiltonian::{MassKind, Target};
use crate::integrate::{HyperMetric, Integrator, System};
use crate::model::Model;
use crate::numeric::axpy;
use crate::random::{Purpose, Stream};
use crate::sample::{Info, Sshmc, Tuning};
use nalgebra::DMatrix;
use std::sync::Arc;

/// Stands at a point of a world and moves by a kernel that should leave the posterior as it is.
pub trait Walker {
    /// Makes a transition, or the one the kernel makes when time runs backwards; says whether it moved.
    fn advance(&mut self, transition: u32, backwards: bool) -> Result<bool>;

    /// Hyperparameters where it stands.
    fn phi(&self) -> &[f64];

    /// Writes the predictor where it stands.
    fn predictor(&mut self, out: &mut [f64]);

    /// Takes note that the data have changed.
    fn look_again(&mut self);
}

/// Puts a walker at a draw of a world, with a seed.
pub(super) type Make = dyn Fn(&World, &Draw, u64) -> Result<Box<dyn Walker>> + Send + Sync;

/// A kernel with its name.
pub struct Way {
    /// What to call it.
    pub name: String,
    make: Box<Make>,
}

impl Way {
    /// A kernel of this name, made by a function.
    pub fn new(
        name: impl Into<String>,
        make: impl Fn(&World, &Draw, u64) -> Result<Box<dyn Walker>> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), make: Box::new(make) }
    }

    /// Its walker at a draw; the world must hold the draw's data.
    pub fn at(&self, world: &World, draw: &Draw, seed: u64) -> Result<Box<dyn Walker>> {
        (self.make)(world, draw, seed)
    }
}

/// How the sampler proper moves.
#[derive(Clone, Debug)]
pub struct KernelPlan {
    /// Coordinates of the latents.
    pub coordinates: Coordinates,
    /// Their mass.
    pub mass: MassKind,
    /// How trajectories are made.
    pub integrator: Integrator,
    /// Their steps.
    pub tuning: Tuning,
    /// Whether the hyperparameters' metric is dense and uneven, as fits learn it.
    pub dense: bool,
    /// Whether latents follow the hyperparameters, as fits learn it.
    pub tilt: bool,
}

/// Scale of the hyperparameters' metric: a compromise between all models' tiny worlds.
const SCALE: f64 = 0.5;

/// Variances and covariances of hyperparameters without symmetry, such as warm-up learns: any are valid.
pub(super) fn covariance(size: usize) -> DMatrix<f64> {
    let uneven = |k: usize| SCALE * (1.0 + 0.2 * (k % 3) as f64);
    let entry = |i: usize, j: usize| uneven(i) * uneven(j) * if i == j { 1.0 } else { 0.4 };
    DMatrix::from_fn(size, size, entry)
}

/// Seed of the draws of the prior that a tilt is learnt from: the same for all worlds, so that the kernel does not depend on where a walk
/// begins.
const LEANING: u64 = 20_140_812;

impl KernelPlan {
    /// One chain of a model at a draw, its latents changed by `wrap` if a test wants them wrong.
    pub fn system(
        &self,
        model: &Arc<Model>,
        draw: &Draw,
        seed: u64,
        wrap: impl FnOnce(Box<dyn Latents>) -> Box<dyn Latents>,
    ) -> Result<System> {
        let centre = model.hyperparameters().start();
        let metric = match self.dense {
            true => HyperMetric::dense(&centre, covariance(centre.len())),
            false => Some(HyperMetric::diagonal(&centre, &vec![SCALE; centre.len()])),
        };
        let metric = metric
            .ok_or_else(|| Error::Numeric("a covariance that is not positive definite".into()))?;
        let mut target = Target::new(model.clone(), &self.coordinates)?;
        let mut phi = draw.phi.clone();
        target.sampled(&draw.phi, &mut phi);
        let z = place(&mut target, &phi, &draw.u)?;
        let device = Device::cpu();
        let latents = device.latents(model, &self.coordinates, &self.mass, seed, vec![(0, z)])?;
        let mut system = System::new(wrap(latents), vec![metric], phi);
        system.evaluate();
        Ok(system)
    }

    /// A walker at a draw of a world.
    pub fn walker(&self, world: &World, draw: &Draw, seed: u64) -> Result<Box<dyn Walker>> {
        let mut system = self.system(world.model(), draw, seed, |own| own)?;
        if self.tilt {
            lean(world, &mut system)?;
        }
        let kernel = Sshmc::new(system, self.integrator, self.tuning, seed, vec![0]);
        Ok(Box::new(KernelWalker::new(kernel)))
    }
}

/// Lets latents follow the hyperparameters as fits do, learnt from a draw of the prior and the data in place.
fn lean(world: &World, system: &mut System) -> Result<()> {
    let model = world.model();
    let mut rng = Stream::new(LEANING, 0, 0, Purpose::Prior).rng();
    let other = world.draw(model.hyperparameters(), &mut rng)?;
    let mut latents = other.u;
    for (column, c) in model.columns().iter().zip(model.coefficients(&other.phi)) {
        axpy(c, column, &mut latents);
    }
    let (centre, scale) = (system.metrics[0].centre().to_vec(), system.metrics[0].scales());
    let draws = [(other.phi, latents)];
    if system.latents.lean(0, &centre, &scale, &draws, &system.phi) {
        system.evaluate();
        return Ok(());
    }
    Err(Error::Numeric("no tilt can be learnt at a draw of the prior".into()))
}

/// z at the sampler's φ and latents u.
fn place(target: &mut Target, phi: &[f64], u: &[f64]) -> Result<Vec<f64>> {
    let mut z = vec![0.0; u.len()];
    match target.place(phi, u, &mut z) {
        true => Ok(z),
        false => {
            Err(Error::Numeric("a draw of the prior has no place in these coordinates".into()))
        }
    }
}

/// Walks by the sampler proper. Its transitions are reversible.
pub struct KernelWalker {
    kernel: Sshmc,
    /// The model's φ.
    phi: Vec<f64>,
}

impl KernelWalker {
    fn new(kernel: Sshmc) -> Self {
        let mut walker = Self { phi: kernel.system.phi.clone(), kernel };
        walker.read_phi();
        walker
    }

    fn read_phi(&mut self) {
        let system = &self.kernel.system;
        system.latents.hyperparameters(0, &system.phi, &mut self.phi);
    }
}

impl Walker for KernelWalker {
    fn advance(&mut self, transition: u32, _backwards: bool) -> Result<bool> {
        let mut info = [Info::default()];
        self.kernel.transition(transition, &mut info);
        self.kernel.system.latents.status()?;
        self.read_phi();
        Ok(info[0].accepted)
    }

    fn phi(&self) -> &[f64] {
        &self.phi
    }

    fn predictor(&mut self, out: &mut [f64]) {
        self.kernel.system.latents.predictor(0, out);
    }

    fn look_again(&mut self) {
        self.kernel.system.evaluate();
    }
}

/// Walks by one of the other methods.
pub struct RivalWalker {
    space: Space,
    state: State,
    rival: Box<dyn Rival>,
    seed: u64,
}

impl RivalWalker {
    /// A walker at a draw by the method that `make` returns, with these step sizes.
    pub fn at(
        world: &World,
        draw: &Draw,
        seed: u64,
        coordinates: &Coordinates,
        steps: [f64; 2],
        make: impl FnOnce(&mut Space, &State) -> Result<Box<dyn Rival>>,
    ) -> Result<Box<dyn Walker>> {
        let mut space = Space::new(world.model(), coordinates)?;
        let z = place(space.target(), &draw.phi, &draw.u)?;
        let state = space.state(z, draw.phi.clone());
        let mut rival = make(&mut space, &state)?;
        rival.set_steps(steps);
        Ok(Box::new(Self { space, state, rival, seed }))
    }
}

impl Walker for RivalWalker {
    fn advance(&mut self, transition: u32, backwards: bool) -> Result<bool> {
        let address = Address { seed: self.seed, chain: 0, transition };
        let (space, state) = (&mut self.space, &mut self.state);
        let outcome = match backwards {
            false => self.rival.transition(space, state, address),
            true => self.rival.transition_back(space, state, address),
        };
        Ok(outcome.accepted)
    }

    fn phi(&self) -> &[f64] {
        &self.state.phi
    }

    fn predictor(&mut self, out: &mut [f64]) {
        // The last evaluation may have been of a proposal that was refused.
        self.space.evaluate(&mut self.state);
        out.copy_from_slice(self.space.target().predictor());
    }

    fn look_again(&mut self) {
        self.space.evaluate(&mut self.state);
    }
}
