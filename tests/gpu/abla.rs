//! Follows the paper's own trajectories, blocks in turn, on both devices, and counts the waits.

use crate::worlds::{World, device, worlds};
use sshmc::check::{largest, largest_difference};
use sshmc::coordinates::Coordinates;
use sshmc::device::{Device, Flow};
use sshmc::hamiltonian::{MassKind, Target};
use sshmc::integrate::{HyperMetric, Integrator, Steps, System};
use sshmc::sample::{Info, Sshmc, Tuning};
use sshmc::structure::Information;

const ABLA: Integrator = Integrator::Abla { flow: Flow::Drift, k1: 2, k2: 1 };

/// A chain's latents: a point of the world, and what it is in centred coordinates if those are asked for, so that forces are of a
/// draw's size in both.
fn latents(world: &World, id: u32, centred: bool) -> Vec<f64> {
    let z = world.z(id);
    if !centred {
        return z;
    }
    let phi = world.phi(id);
    let mut target = Target::new(world.model.clone(), &Coordinates::whitened()).unwrap();
    let mut u = z.clone();
    target.evaluate(&z, &phi, &mut u, &mut vec![0.0; phi.len()]);
    target.latents(&z, &mut u);
    u.iter().map(|&u| f64::from(u as f32)).collect()
}

fn system(device: &Device, world: &World, centred: bool) -> System {
    let prior = MassKind::Precision(Information::NONE);
    let (coordinates, mass) = if centred {
        (Coordinates::Centred, prior)
    } else {
        (world.rounded(0.0), MassKind::Identity)
    };
    let chains = world.ids().map(|id| (id, latents(world, id, centred))).collect();
    let latents = device.latents(&world.model, &coordinates, &mass, 5, chains).unwrap();
    let metric = |id| HyperMetric::diagonal(&world.phi(id), &vec![0.05; world.phi(id).len()]);
    let phi = world.ids().flat_map(|id| world.phi(id)).collect();
    System::new(latents, world.ids().map(metric).collect(), phi)
}

/// φ, p and the change of H after a few steps.
fn travel(device: &Device, world: &World, centred: bool, step: f64) -> (Vec<f64>, Vec<f64>) {
    let mut system = system(device, world, centred);
    system.evaluate();
    system.latents.refresh(2, &system.phi);
    system.p.iter_mut().enumerate().for_each(|(k, p)| *p = (1.0 + k as f64).sin());
    let before = system.energies().to_vec();
    let chains = before.len();
    let steps = Steps { latents: vec![step; chains], hyperparameters: vec![step; chains] };
    for _ in 0..STEPS {
        ABLA.step(&mut system, &steps);
    }
    let after = system.energies().to_vec();
    system.latents.status().unwrap();
    let error = after.iter().zip(&before).map(|(a, b)| a - b).collect();
    ([system.phi.clone(), system.p.clone(), system.latent_error.clone()].concat(), error)
}

fn named(name: &str) -> World {
    worlds().into_iter().find(|w| w.name == name).unwrap()
}

const STEP: f64 = 0.01;
const STEPS: u32 = 3;

/// What rounding to single precision may do to an energy, or to a derivative of one by a hyperparameter, at the end of a trajectory.
///
/// Both are sums over latents of products like z·∂U/∂z, r² or z². Each product has been through some thirty roundings an
/// evaluation (two transforms or two scans, scaling, the move itself), of which a step of the paper's has three. Roundings of different latents are
/// independent, so that their sum over n latents grows as √n: with v the norm of (z, r, ∂U/∂z) a product is of size v²/n, and five
/// standard deviations of the sum are what this returns. The norms are those in whitened coordinates, which do not depend on units.
fn bound(world: &World) -> f64 {
    let roundings = 30.0 * f64::from(3 * STEPS + 1);
    let worst = world.ids().map(|id| {
        let (z, phi) = (world.z(id), world.phi(id));
        let mut target = Target::new(world.model.clone(), &Coordinates::whitened()).unwrap();
        let mut y = z.clone();
        target.evaluate(&z, &phi, &mut y, &mut vec![0.0; phi.len()]);
        let n = z.len() as f64;
        // Momenta are standard normal: n is the expectation of r'r.
        let v2 = n + z.iter().chain(&y).map(|x| x * x).sum::<f64>();
        5.0 * 2f64.powi(-24) * roundings.sqrt() * v2 / n.sqrt()
    });
    let worst = largest(worst);
    assert!(worst.is_finite(), "{}: nothing is beyond such a bound", world.name);
    worst
}

/// The worst difference of a trajectory on the two devices, relative to the bound.
fn difference(world: &World, centred: bool, spoilt: f64) -> f64 {
    let (on_gpu, gpu_error) = travel(&device(), world, centred, STEP);
    let (on_cpu, cpu_error) = travel(&Device::cpu(), world, centred, STEP * (1.0 + spoilt));
    let bound = bound(world);
    let [gpu, cpu] = [[on_gpu, gpu_error].concat(), [on_cpu, cpu_error].concat()];
    largest_difference(&gpu, &cpu) / bound
}

#[test]
fn trajectories_of_alternating_blocks_are_the_cpus() {
    for (name, centred) in
        [("30 x 21", true), ("5 x 63", true), ("33 x 32", false), ("1025 returns", false)]
    {
        let world = named(name);
        let worst = difference(&world, centred, 0.0);
        println!("{name}, centred {centred}: {worst:.4} of the bound {:e}", bound(&world));
        assert!(worst <= 1.0, "{name}, centred {centred}: {worst}");
        let spoilt = difference(&world, centred, 0.05);
        println!("  with a longer step {spoilt:.1}");
        assert!(spoilt > 1.0, "{name}: a step longer by a twentieth passes: {spoilt}");
    }
}

#[test]
fn while_hyperparameters_are_frozen_nothing_returns() {
    let device = match std::env::var("SSHMC_TEST_ADAPTER") {
        Ok(part) => Device::gpu_named(&part).unwrap(),
        Err(_) => Device::gpu().unwrap(),
    };
    let world = named("30 x 21");
    let mut system = system(&device, &world, true);
    system.evaluate();
    let tuning = Tuning {
        step: 0.01,
        ratio: 1.0,
        path: 0.04,
        jitter: 0.0,
        careful: 0.0,
        retry: false,
        most_steps: 100,
        steps: None,
    };
    let mut kernel = Sshmc::new(system, ABLA, tuning, 5, world.ids().collect());
    let mut info = vec![Info::default(); world.chains as usize];
    kernel.transition(0, &mut info);
    let before = device.as_gpu().unwrap().cost();
    kernel.transition(1, &mut info);
    let after = device.as_gpu().unwrap().cost();
    let (steps, waits) = (u64::from(info[0].steps), after.waits - before.waits);
    println!("{waits} waits for {steps} steps");
    assert_eq!(steps, 4);
    assert!(waits <= steps + 2, "{waits} waits for {steps} steps");
    assert_eq!(after.buffers, before.buffers, "allocated again");
}
