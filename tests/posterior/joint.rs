//! Tests the joint distribution of hyperparameters, field and data: Geweke's test and simulation-based calibration.
//!
//! Geweke (2004): transitions of the sampler alternated with fresh data leave the joint distribution as it is, so that all
//! moments along that chain are those of independent draws. Calibration: of a stationary path of 16 states any one is
//! equally likely to have any rank among them. A draw of the prior with its data is such a state, and as transitions are
//! reversible it can be put at a uniform place of the path by walking from it to both sides (Besag & Clifford 1989), so
//! the ranks are exactly uniform however slowly the sampler mixes. Both have a false-alarm rate of 1e-6.

use crate::common::FALSE_ALARM;
use crate::compare::{judge, mean_score};
use crate::world::{Draw, World, statistics, worlds};
use sshmc::coordinates::Coordinates;
use sshmc::device::{CpuLatents, Flow};
use sshmc::hamiltonian::{MassKind, Target};
use sshmc::integrate::{HyperMetric, Integrator, Steps, System};
use sshmc::prior::Hyperparameters;
use sshmc::random::{Purpose, Stream};
use sshmc::sample::{Info, Kernel, Tuning};
use sshmc::structure::Information;

/// How to move.
struct Way {
    name: &'static str,
    coordinates: Coordinates,
    mass: MassKind,
    integrator: Integrator,
    tuning: Tuning,
    /// Whether proposals are put to Metropolis; if not, the way is wrong.
    metropolis: bool,
}

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

fn ways(world: &World) -> Vec<Way> {
    let prior = MassKind::Precision(Information::NONE);
    let way = |name, coordinates, mass, integrator, tuning| Way {
        name,
        coordinates,
        mass,
        integrator,
        tuning,
        metropolis: true,
    };
    // Centred hyperparameters are held by all latents at once.
    let slow = Tuning { ratio: 0.4, ..TUNING };
    let turning = Integrator::Joint(Flow::Rotation);
    let abla = Integrator::Abla { flow: Flow::Drift, k1: 2, k2: 1 };
    let informed = world.case.coordinates().pop().unwrap();
    vec![
        way("whitened", Coordinates::whitened(), MassKind::Identity, turning, TUNING),
        way("informed", informed, MassKind::Identity, turning, TUNING),
        way("centred, ABLA", Coordinates::Centred, prior, abla, slow),
    ]
}

/// Steps long enough that trajectories without Metropolis widen the target (a unit oscillator by 1/(1 − ε²/4)), and short
/// enough that they do not run away from it, which would hide in large standard errors.
fn unchecked() -> Way {
    Way {
        name: "without Metropolis",
        coordinates: Coordinates::whitened(),
        mass: MassKind::Identity,
        integrator: Integrator::Joint(Flow::Drift),
        tuning: Tuning { step: 0.8, path: 1.6, ..TUNING },
        metropolis: false,
    }
}

/// A kernel standing at a draw.
fn kernel(world: &World, way: &Way, draw: &Draw, seed: u64) -> Kernel {
    let model = &world.case.model;
    let mut target = Target::new(model.clone(), &way.coordinates).unwrap();
    let mut z = vec![0.0; draw.u.len()];
    assert!(target.place(&draw.phi, &draw.u, &mut z));
    let chains = vec![(0, z)];
    let latents = CpuLatents::new(model, &way.coordinates, &way.mass, seed, chains).unwrap();
    let centre = model.hyperparameters().start();
    let metric = HyperMetric::diagonal(&centre, &vec![0.5; centre.len()]);
    let mut system = System::new(Box::new(latents), vec![metric], draw.phi.clone());
    system.evaluate();
    Kernel::new(system, way.integrator, way.tuning, seed, vec![0])
}

/// One transition, or one trajectory that is always taken.
fn advance(kernel: &mut Kernel, way: &Way, seed: u64, transition: u32) -> bool {
    if way.metropolis {
        let mut info = [Info::default()];
        kernel.transition(transition, &mut info);
        return info[0].accepted;
    }
    let system = &mut kernel.system;
    system.latents.refresh(transition, &system.phi);
    Stream::new(seed, 0, transition, Purpose::Hyper).fill_normals(&mut system.p);
    let Tuning { step, path, .. } = way.tuning;
    let steps = Steps { latents: vec![step], hyperparameters: vec![step] };
    for _ in 0..(path / step).round() as u32 {
        way.integrator.step(system, &steps);
    }
    system.latents.save();
    true
}

/// Statistics of the successive-conditional simulator, chain by chain, and how often it moved.
fn successive(world: &World, way: &Way, chains: u32, length: u32) -> (Vec<Vec<Vec<f64>>>, f64) {
    let priors = world.case.model.hyperparameters();
    let mut eta = vec![0.0; world.case.model.structure().sites()];
    let mut moved = 0;
    let mut all = Vec::new();
    for chain in 0..chains {
        let seed = 900 + u64::from(chain);
        let start = world.draw(priors, &mut Stream::new(seed, 0, 0, Purpose::Prior).rng());
        let mut kernel = kernel(world, way, &start, seed);
        let mut rows = Vec::new();
        for t in 0..length {
            moved += u32::from(advance(&mut kernel, way, seed, t));
            kernel.system.latents.predictor(0, &mut eta);
            let y = world.observe(&eta, &mut Stream::new(seed, 0, t, Purpose::Data).rng());
            kernel.system.evaluate();
            rows.push(statistics(&kernel.system.phi, &eta, &y));
        }
        all.push(rows);
    }
    (all, f64::from(moved) / f64::from(chains * length))
}

/// Geweke's test against independent draws whose hyperparameters come from `priors`.
fn geweke(world: &World, way: &Way, priors: &Hyperparameters) -> Result<(), String> {
    let (paths, moved) = successive(world, way, 4, 4000);
    compare(world, way.name, &paths, moved, priors)
}

/// Compares the moments of paths with those of independent draws.
pub(crate) fn compare(
    world: &World,
    way: &str,
    paths: &[Vec<Vec<f64>>],
    moved: f64,
    priors: &Hyperparameters,
) -> Result<(), String> {
    let draws: Vec<Vec<f64>> = (0..40_000)
        .map(|i| {
            let draw = world.draw(priors, &mut Stream::new(5, 0, i, Purpose::Prior).rng());
            statistics(&draw.phi, &draw.eta, &draw.y)
        })
        .collect();
    let count = draws.len() as f64;
    let scores: Vec<_> = (0..draws[0].len())
        .map(|k| {
            let mean = draws.iter().map(|d| d[k]).sum::<f64>() / count;
            let variance = draws.iter().map(|d| (d[k] - mean).powi(2)).sum::<f64>() / count;
            let series: Vec<Vec<f64>> =
                paths.iter().map(|rows| rows.iter().map(|row| row[k]).collect()).collect();
            let error = (variance / count).sqrt();
            mean_score(format!("statistic {k}"), &series, mean, error)
        })
        .collect();
    let name = format!("{}, {way}", world.case.name);
    let worst = judge(&name, &scores)?;
    println!("Geweke, {name}: largest |z| {worst:.2} of {}, {moved:.2} accepted", scores.len());
    Ok(())
}

/// The priors with one replaced.
fn spoilt(world: &World, prior: &str) -> Hyperparameters {
    let mut priors = world.case.model.hyperparameters().clone();
    priors.set_prior(prior).unwrap();
    priors
}

/// A prior tilted by e^w, as if a Jacobian were counted once too often: normal means move by the variance.
pub(crate) fn without_jacobian(world: &World) -> Hyperparameters {
    let tilted = match world.case.name {
        "lgcp" => "sigma=lognormal(-0.54,0.4)",
        "sv" => "sigma=lognormal(-0.25,0.5)",
        "logistic" => "gamma=normal(0.69,0.7)",
        _ => "v=normal(1.3,1)",
    };
    spoilt(world, tilted)
}

/// A prior one standard deviation away.
fn elsewhere(world: &World) -> Hyperparameters {
    let moved = match world.case.name {
        "lgcp" => "sigma=lognormal(-0.3,0.4)",
        "sv" => "sigma=lognormal(0,0.5)",
        "logistic" => "gamma=normal(0.9,0.7)",
        _ => "v=normal(1.3,1)",
    };
    spoilt(world, moved)
}

#[test]
fn the_joint_distribution_stays_as_it_is() {
    for world in worlds() {
        let priors = world.case.model.hyperparameters();
        for way in ways(&world) {
            geweke(&world, &way, priors).unwrap();
        }
        let way = &ways(&world)[0];
        let name = world.case.name;
        assert!(
            geweke(&world, way, &without_jacobian(&world)).is_err(),
            "{name}: a Jacobian too much passes"
        );
        assert!(geweke(&world, &unchecked(), priors).is_err(), "{name}: no Metropolis passes");
    }
}

const STATES: usize = 16;

/// χ² of the ranks of each hyperparameter and of the field's mean, over `replicates` worlds.
fn calibration(
    world: &World,
    way: &Way,
    priors: &Hyperparameters,
    replicates: u32,
) -> Result<(), String> {
    let m = priors.len();
    let mut counts = vec![[0.0; STATES]; m + 1];
    for replicate in 0..replicates {
        let seed = 5000 + u64::from(replicate);
        let draw = world.draw(priors, &mut Stream::new(seed, 0, 0, Purpose::Prior).rng());
        let place = Stream::new(seed, 0, 0, Purpose::Other);
        let before = (place.uniform(0) * STATES as f64) as u32;
        let truth = watched(&draw.phi, &draw.eta);
        let mut below = vec![0; m + 1];
        let mut equal = vec![0; m + 1];
        for (side, length) in [before, STATES as u32 - 1 - before].into_iter().enumerate() {
            let mut kernel = kernel(world, way, &draw, seed);
            let mut eta = draw.eta.clone();
            for t in 0..length {
                advance(&mut kernel, way, seed, 1000 * side as u32 + t);
                kernel.system.latents.predictor(0, &mut eta);
                for (k, value) in watched(&kernel.system.phi, &eta).into_iter().enumerate() {
                    // A refused proposal comes back with the rounding of its coordinates.
                    let tie = (value - truth[k]).abs() <= 1e-9 * (1.0 + truth[k].abs());
                    equal[k] += usize::from(tie);
                    below[k] += usize::from(!tie && value < truth[k]);
                }
            }
        }
        for k in 0..=m {
            let tie = place.uniform(1 + k as u32) * (equal[k] + 1) as f64;
            counts[k][below[k] + tie as usize] += 1.0;
        }
    }
    // Beyond k + 2√(kx) + 2x a χ² with k degrees of freedom has less than e^{−x} (Laurent & Massart 2000).
    let (degrees, x) = ((STATES - 1) as f64, ((m + 1) as f64 / FALSE_ALARM).ln());
    let bound = degrees + 2.0 * (degrees * x).sqrt() + 2.0 * x;
    let expected = f64::from(replicates) / STATES as f64;
    for (k, counts) in counts.iter().enumerate() {
        let statistic = counts.iter().map(|c| (c - expected).powi(2) / expected).sum::<f64>();
        if statistic > bound {
            let name = format!("{}, {}", world.case.name, way.name);
            return Err(format!(
                "{name}: ranks of {k}: χ² {statistic:.0}, bound {bound:.0}: {counts:?}"
            ));
        }
    }
    Ok(())
}

/// What is ranked: hyperparameters and the mean predictor.
fn watched(phi: &[f64], eta: &[f64]) -> Vec<f64> {
    let mut all = phi.to_vec();
    all.push(eta.iter().sum::<f64>() / eta.len() as f64);
    all
}

#[test]
fn ranks_are_uniform() {
    for world in worlds() {
        let priors = world.case.model.hyperparameters();
        for way in ways(&world) {
            calibration(&world, &way, priors, 1000).unwrap();
        }
        let way = &ways(&world)[0];
        let name = world.case.name;
        assert!(
            calibration(&world, way, &elsewhere(&world), 1000).is_err(),
            "{name}: a prior elsewhere passes"
        );
    }
}
