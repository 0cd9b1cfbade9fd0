//! Lists the kernels of this crate, tuned for tiny worlds.

use super::walk::{KernelPlan, RivalWalker, Way};
use super::world::World;
use crate::baseline::{Hmc, HmcGibbs, Nuts, Rival, RmhmcGibbs, SoftAbs, Space, State, Trajectory};
use crate::coordinates::Coordinates;
use crate::device::Flow;
use crate::error::Result;
use crate::hamiltonian::MassKind;
use crate::integrate::Integrator;
use crate::random::{Purpose, Stream};
use crate::sample::Tuning;
use crate::structure::{Information, Structure};
use nalgebra::DMatrix;
use std::sync::Arc;

/// A kernel that moves more rarely than in this share of its transitions says nothing about the posterior: a wrong sign in a
/// gradient, for one, leaves the posterior as it is, but next to no proposal survives Metropolis.
pub const FEWEST_MOVES: f64 = 0.2;

/// Short steps: a few rich cells are steep, and a step too long for them makes the chain stick there.
const TUNING: Tuning = Tuning {
    step: 0.2,
    ratio: 1.0,
    path: 1.5,
    jitter: 0.3,
    careful: 0.0,
    most_steps: 100,
    steps: None,
};

/// Trajectories of the other methods.
const TRAJECTORY: Trajectory =
    Trajectory { steps: Some(6), hyper_steps: 3, path: 1.5, jitter: 0.3, most_steps: 32 };

/// The sampler proper in each kind of coordinates: whitened, informed, and centred as published.
pub fn kernel_plans(world: &World) -> Vec<(&'static str, KernelPlan)> {
    let turning = Integrator::Joint(Flow::Rotation);
    let plan = |coordinates, mass, integrator, tuning| KernelPlan {
        coordinates,
        mass,
        integrator,
        tuning,
    };
    let prior = MassKind::Precision(Information::NONE);
    let abla = Integrator::Abla { flow: Flow::Drift, k1: 2, k2: 1 };
    // Centred hyperparameters are held by all latents at once.
    let slow = Tuning { ratio: 0.4, ..TUNING };
    let identity = MassKind::Identity;
    vec![
        ("sshmc, whitened", plan(Coordinates::whitened(), identity.clone(), turning, TUNING)),
        ("sshmc, informed", plan(informed(world), identity, turning, TUNING)),
        ("sshmc, centred", plan(Coordinates::Centred, prior, abla, slow)),
    ]
}

/// Information and a shift without symmetry: any are valid.
fn informed(world: &World) -> Coordinates {
    let structure = world.model().structure();
    let normals = |count: usize, index: u32| {
        let mut out = vec![0.0; count];
        Stream::new(20_140_811, 0, index, Purpose::Other).fill_normals(&mut out);
        out
    };
    let information = match structure {
        Structure::Groups(groups) => {
            let size = groups.size();
            let block = |g: usize| {
                let x = DMatrix::from_column_slice(3, size, &normals(3 * size, 10 + g as u32));
                x.tr_mul(&x)
            };
            Information::Blocks(Arc::new((0..groups.dim() / size).map(block).collect()))
        }
        _ => Information::Scalar(0.7),
    };
    Coordinates::Informed { information, shift: Some(Arc::new(normals(structure.dim(), 20))) }
}

type MakeRival = fn(&mut Space, &State) -> Result<Box<dyn Rival>>;

/// Every kernel that suits a world.
pub fn ways(world: &World) -> Vec<Way> {
    let sshmc = kernel_plans(world).into_iter().map(|(name, plan)| {
        Way::new(name, move |world, draw, seed| plan.walker(world.model(), draw, seed, |own| own))
    });
    let mut all: Vec<Way> = sshmc.collect();
    let mut rival = |name: &str, coordinates: Coordinates, steps: [f64; 2], make: MakeRival| {
        all.push(Way::new(name, move |world, draw, seed| {
            RivalWalker::at(world, draw, seed, &coordinates, steps, make)
        }));
    };
    let centred = || Coordinates::Centred;
    rival("hmc, whitened", Coordinates::whitened(), [0.2; 2], |_, state| {
        Ok(Box::new(Hmc::new(state, TRAJECTORY, false)))
    });
    rival("nuts, informed", informed(world), [0.25; 2], |_, state| {
        Ok(Box::new(Nuts::new(state, 32, false)))
    });
    rival("hmc-gibbs, centred", centred(), [0.3, 0.15], |space, state| {
        let mass = MassKind::Precision(Information::NONE);
        Ok(Box::new(HmcGibbs::new(space, state, mass, TRAJECTORY)?))
    });
    rival("rmhmc-gibbs, centred", centred(), [0.4, 0.4], |space, state| {
        Ok(Box::new(RmhmcGibbs::new(space, state, TRAJECTORY)?))
    });
    if matches!(world.model().structure(), Structure::Groups(_)) {
        rival("rmhmc-softabs, centred", centred(), [0.25; 2], |space, _| {
            let model = space.model().clone();
            Ok(Box::new(SoftAbs::new(&model, TRAJECTORY)?))
        });
    }
    all
}
