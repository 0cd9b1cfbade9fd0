//! Puts every other method to Geweke's test (see [`crate::joint`]): none may change the joint distribution.

use crate::joint::{compare, without_jacobian};
use crate::world::{Draw, World, statistics, worlds};
use sshmc::baseline::{
    Address, Hmc, HmcGibbs, Nuts, Rival, RmhmcGibbs, SoftAbs, Space, State, Trajectory,
};
use sshmc::coordinates::Coordinates;
use sshmc::hamiltonian::MassKind;
use sshmc::random::{Purpose, Stream};
use sshmc::structure::Information;

const TRAJECTORY: Trajectory =
    Trajectory { steps: Some(6), hyper_steps: 3, path: 1.5, jitter: 0.3, most_steps: 32 };

/// How a method is made for a state of a space.
type Make = fn(&mut Space, &State) -> Box<dyn Rival>;

struct Way {
    name: &'static str,
    coordinates: Coordinates,
    steps: [f64; 2],
    make: Make,
}

fn ways(world: &World) -> Vec<Way> {
    let informed = world.case.coordinates().pop().unwrap();
    let way = |name, coordinates, steps, make| Way { name, coordinates, steps, make };
    let prior = |space: &mut Space, state: &State| -> Box<dyn Rival> {
        let mass = MassKind::Precision(Information::NONE);
        Box::new(HmcGibbs::new(space, state, mass, TRAJECTORY).unwrap())
    };
    let mut all = vec![
        way("hmc", Coordinates::whitened(), [0.2; 2], |_, state| {
            Box::new(Hmc::new(state, TRAJECTORY, false))
        }),
        way("nuts", informed, [0.25; 2], |_, state| Box::new(Nuts::new(state, 32, false))),
        way("hmc-gibbs", Coordinates::Centred, [0.3, 0.15], prior),
        way("rmhmc-gibbs", Coordinates::Centred, [0.4, 0.4], |space, state| {
            Box::new(RmhmcGibbs::new(space, state, TRAJECTORY).unwrap())
        }),
    ];
    if ["funnel", "logistic"].contains(&world.case.name) {
        all.push(way("rmhmc-softabs", Coordinates::Centred, [0.25; 2], |space, _| {
            let model = space.model().clone();
            Box::new(SoftAbs::new(&model, TRAJECTORY).unwrap())
        }));
    }
    all
}

fn place(space: &mut Space, draw: &Draw) -> State {
    let mut z = vec![0.0; draw.u.len()];
    assert!(space.target().place(&draw.phi, &draw.u, &mut z));
    space.state(z, draw.phi.clone())
}

/// Statistics of the successive-conditional simulator, chain by chain, and how often it moved.
fn successive(world: &World, way: &Way, chains: u32, length: u32) -> (Vec<Vec<Vec<f64>>>, f64) {
    let mut moved = 0;
    let mut all = Vec::new();
    for chain in 0..chains {
        let seed = 700 + u64::from(chain);
        let priors = world.case.model.hyperparameters();
        let start = world.draw(priors, &mut Stream::new(seed, 0, 0, Purpose::Prior).rng());
        let mut space = Space::new(&world.case.model, &way.coordinates).unwrap();
        let mut state = place(&mut space, &start);
        let mut rival = (way.make)(&mut space, &state);
        rival.set_steps(way.steps);
        let mut rows = Vec::new();
        for transition in 0..length {
            let outcome =
                rival.transition(&mut space, &mut state, Address { seed, chain: 0, transition });
            moved += u32::from(outcome.accepted);
            space.evaluate(&mut state);
            let eta = space.target().predictor().to_vec();
            let y = world.observe(&eta, &mut Stream::new(seed, 0, transition, Purpose::Data).rng());
            space.evaluate(&mut state);
            rows.push(statistics(&state.phi, &eta, &y));
        }
        all.push(rows);
    }
    (all, f64::from(moved) / f64::from(chains * length))
}

#[test]
fn no_method_changes_the_joint_distribution() {
    for world in worlds() {
        let priors = world.case.model.hyperparameters();
        for way in ways(&world) {
            let (paths, moved) = successive(&world, &way, 4, 3000);
            compare(&world, way.name, &paths, moved, priors).unwrap();
            let wrong = compare(&world, way.name, &paths, moved, &without_jacobian(&world));
            // Slow paths have wide errors in which a moved prior hides; the quick ones must see it.
            let slow = way.coordinates == Coordinates::Centred;
            let (name, way) = (world.case.name, way.name);
            assert!(slow || wrong.is_err(), "{name}, {way}: a Jacobian too much passes");
        }
    }
}
