//! Lists the kernels of this crate, tuned for tiny worlds.

use super::walk::{KernelPlan, RivalWalker, Way, covariance};
use super::world::World;
use crate::baseline::{
    Hmc, HmcGibbs, Nuts, Rival, RmhmcGibbs, Scales, SoftAbs, Space, State, Trajectory,
};
use crate::coordinates::{BlockSizes, Coordinates};
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

/// Short steps: a few rich cells are steep, and a step too long for them makes the chain stick there. As many trajectories are careful
/// as in fits with a wide posterior.
const TUNING: Tuning = Tuning {
    step: 0.2,
    ratio: 1.0,
    path: 1.5,
    jitter: 0.3,
    careful: 0.15,
    retry: false,
    most_steps: 100,
    steps: None,
};

/// Trajectories of the other methods.
const TRAJECTORY: Trajectory =
    Trajectory { steps: Some(6), hyper_steps: 3, path: 1.5, jitter: 0.3, most_steps: 32 };

/// The sampler proper as fits use it: in each kind of coordinates, with each kind of mass, and with latents that follow the
/// hyperparameters.
pub fn kernel_plans(world: &World) -> Vec<(&'static str, KernelPlan)> {
    let plan = |coordinates, mass, tilt| {
        let constant = mass == MassKind::Identity;
        let abla = Integrator::Abla { flow: Flow::Drift, k1: 2, k2: 1 };
        // Centred hyperparameters are held by all latents at once.
        let slow = Tuning { ratio: 0.4, ..TUNING };
        KernelPlan {
            coordinates,
            mass,
            integrator: if constant { Integrator::Joint(Flow::Rotation) } else { abla },
            tuning: if constant { TUNING } else { slow },
            dense: true,
            tilt,
        }
    };
    let (whitened, informed) = (Coordinates::whitened(), informed(world));
    let prior = MassKind::Precision(Information::NONE);
    let data = MassKind::Precision(information(world, 40));
    let identity = MassKind::Identity;
    let block = Coordinates::block_informed(world.model(), &LIKELY, Some(SIZES));
    // Steps long enough for some trajectories to be lost and tried again.
    let retrying = Tuning { step: 0.5, careful: 0.0, retry: true, ..TUNING };
    let block = block.map(|own| {
        let plan = plan(own, identity.clone(), false);
        ("sshmc, block-informed", KernelPlan { tuning: retrying, ..plan })
    });
    let others = vec![
        ("sshmc, whitened, tilted", plan(whitened, identity.clone(), true)),
        ("sshmc, informed", plan(informed.clone(), identity.clone(), false)),
        ("sshmc, informed, tilted", plan(informed.clone(), identity, true)),
        ("sshmc, informed, prior mass", plan(informed, prior.clone(), false)),
        ("sshmc, centred, tilted", plan(Coordinates::Centred, prior, true)),
        ("sshmc, centred, informed mass", plan(Coordinates::Centred, data, false)),
    ];
    others.into_iter().chain(block).collect()
}

/// What block-informed coordinates are learnt from, and how large they are: any are valid, and some of each kind are to be there.
const LIKELY: [[f64; 2]; 4] = [[0.0, -1.0], [0.5, -1.6], [-0.4, -0.6], [0.3, -1.2]];
const SIZES: BlockSizes = BlockSizes { block: 5, band: 8, directions: 2 };

/// Numbers without symmetry.
fn normals(count: usize, index: u32) -> Vec<f64> {
    let mut out = vec![0.0; count];
    Stream::new(20_140_811, 0, index, Purpose::Other).fill_normals(&mut out);
    out
}

/// Information without symmetry: any is valid.
fn information(world: &World, index: u32) -> Information {
    match world.model().structure() {
        Structure::Groups(groups) => {
            let size = groups.size();
            let block = |g: usize| {
                let x = DMatrix::from_column_slice(3, size, &normals(3 * size, index + g as u32));
                x.tr_mul(&x)
            };
            Information::Blocks(Arc::new((0..groups.dim() / size).map(block).collect()))
        }
        _ => Information::Scalar(0.7),
    }
}

/// The same with a shift.
fn informed(world: &World) -> Coordinates {
    let shift = normals(world.model().structure().dim(), 20);
    Coordinates::Informed { information: information(world, 10), shift: Some(Arc::new(shift)) }
}

/// Scales without symmetry, such as warm-up learns.
fn scales(state: &State) -> Scales {
    let uneven = |k: usize| 0.7 + 0.2 * (k % 4) as f64;
    Scales {
        latents: (0..state.z.len()).map(uneven).collect(),
        centre: vec![0.1; state.phi.len()],
        covariance: covariance(state.phi.len()),
    }
}

type MakeRival = fn(&mut Space, &State, &Coordinates) -> Result<Box<dyn Rival>>;

/// One of the other methods.
struct RivalPlan {
    name: &'static str,
    /// Step sizes in centred coordinates.
    centred: [f64; 2],
    /// And in others, if it takes them.
    others: Option<[f64; 2]>,
    make: MakeRival,
}

/// The other methods.
fn rivals(world: &World) -> Vec<RivalPlan> {
    let plan = |name, centred, others, make| RivalPlan { name, centred, others, make };
    let mut all = vec![
        plan("hmc", [0.2; 2], Some([0.25; 2]), |_, state, _| {
            Ok(Box::new(Hmc::new(state, TRAJECTORY, true)))
        }),
        plan("nuts", [0.2; 2], Some([0.25; 2]), |_, state, _| {
            Ok(Box::new(Nuts::new(state, 32, true)))
        }),
        plan("hmc-gibbs", [0.3, 0.3], Some([0.3, 0.4]), |space, state, coordinates| {
            let mass = match coordinates {
                Coordinates::Centred => MassKind::Precision(Information::NONE),
                Coordinates::Informed { .. } | Coordinates::Block(_) => MassKind::Identity,
            };
            Ok(Box::new(HmcGibbs::new(space, state, mass, TRAJECTORY)?))
        }),
        plan("rmhmc-gibbs", [0.4, 0.4], None, |space, state, _| {
            Ok(Box::new(RmhmcGibbs::new(space, state, TRAJECTORY)?))
        }),
    ];
    if matches!(world.model().structure(), Structure::Groups(_)) {
        all.push(plan("rmhmc-softabs", [0.25; 2], None, |space, _, _| {
            let model = space.model().clone();
            Ok(Box::new(SoftAbs::new(&model, TRAJECTORY)?))
        }));
    }
    all
}

/// Every kernel that suits a world.
pub fn ways(world: &World) -> Vec<Way> {
    let sshmc = kernel_plans(world).into_iter().map(|(name, plan)| {
        Way::new(name, move |world, draw, seed| plan.walker(world, draw, seed))
    });
    let mut all: Vec<Way> = sshmc.collect();
    for RivalPlan { name, centred, others, make } in rivals(world) {
        let mut kinds = vec![("centred", Coordinates::Centred, centred)];
        if let Some(steps) = others {
            kinds.push(("whitened", Coordinates::whitened(), steps));
            kinds.push(("informed", informed(world), steps));
        }
        for (kind, coordinates, steps) in kinds {
            all.push(Way::new(format!("{name}, {kind}"), move |world, draw, seed| {
                RivalWalker::at(world, draw, seed, &coordinates, steps, |space, state| {
                    let mut rival = make(space, state, &coordinates)?;
                    rival.learn(&scales(state));
                    Ok(rival)
                })
            }));
        }
    }
    all
}
