//! Counts what the cost model promises: dispatches, waits, bytes, compilations and allocations.
//!
//! The device is opened anew, so that other tests do not count.

use crate::worlds::{World, worlds};
use sshmc::device::{Device, Flow, gpu::Cost};
use sshmc::draws::{FieldDraws, FieldPlan};
use sshmc::hamiltonian::MassKind;
use sshmc::integrate::{HyperMetric, Integrator, System};
use sshmc::sample::{Info, Sshmc, Tuning};
use sshmc::structure::Structure;

pub(crate) fn open() -> Device {
    match std::env::var("SSHMC_TEST_ADAPTER") {
        Ok(part) => Device::gpu_named(&part).unwrap(),
        Err(_) => Device::gpu().unwrap_or_else(|e| panic!("these tests need an adapter: {e}")),
    }
}

pub(crate) fn since(device: &Device, before: Cost) -> Cost {
    let now = device.as_gpu().unwrap().cost();
    Cost {
        dispatches: now.dispatches - before.dispatches,
        submissions: now.submissions - before.submissions,
        waits: now.waits - before.waits,
        uploaded: now.uploaded - before.uploaded,
        downloaded: now.downloaded - before.downloaded,
        traffic: now.traffic - before.traffic,
        pipelines: now.pipelines - before.pipelines,
        buffers: now.buffers - before.buffers,
    }
}

fn kernel(device: &Device, world: &World, integrator: Integrator) -> Sshmc {
    let chains: Vec<(u32, Vec<f64>)> = world.ids().map(|id| (id, world.z(id))).collect();
    let phi: Vec<f64> = world.ids().flat_map(|id| world.phi(id)).collect();
    let coordinates = world.rounded(0.0);
    let latents =
        device.latents(&world.model, &coordinates, &MassKind::Identity, 1, chains).unwrap();
    let metrics = world
        .ids()
        .map(|id| HyperMetric::diagonal(&world.phi(id), &vec![0.05; world.phi(id).len()]))
        .collect();
    let mut system = System::new(latents, metrics, phi);
    system.evaluate();
    let tuning = Tuning {
        step: 0.02,
        ratio: 1.0,
        path: 0.1,
        jitter: 0.0,
        careful: 0.0,
        retry: false,
        most_steps: 100,
        steps: None,
    };
    Sshmc::new(system, integrator, tuning, 1, world.ids().collect())
}

#[test]
fn a_leapfrog_step_is_three_dispatches_and_one_wait() {
    let device = open();
    let world = worlds().into_iter().find(|w| w.name == "33 x 32").unwrap();
    let mut kernel = kernel(&device, &world, Integrator::Joint(Flow::Rotation));
    let mut info = vec![Info::default(); world.chains as usize];
    kernel.transition(0, &mut info);
    let before = device.as_gpu().unwrap().cost();
    kernel.transition(1, &mut info);
    let cost = since(&device, before);
    let steps = u64::from(info[0].steps);
    assert_eq!(steps, 5);
    println!("{cost:?}");
    // Beside the steps: new momenta, two kinetic energies, the field reported when saved and when settled, and the choice.
    assert_eq!(cost.dispatches, 3 * steps + 6);
    assert!(cost.waits <= steps + 2, "{} waits for {steps} steps", cost.waits);
    assert_eq!((cost.pipelines, cost.buffers), (0, 0), "compiled or allocated again");
    kernel.system.latents.status().unwrap();
}

#[test]
fn recording_a_draw_neither_waits_nor_fetches_nor_allocates() {
    let device = open();
    let world = worlds().into_iter().find(|w| w.name == "33 x 32").unwrap();
    let mut kernel = kernel(&device, &world, Integrator::Joint(Flow::Rotation));
    let (chains, sites) = (world.chains as usize, world.model.structure().sites());
    // Room for some sites of every draw, and for a whole field every few draws.
    let plan = FieldPlan::new(sites, chains, 400, 4 * chains * 400 * 170);
    let plan = plan.with_exponential(&[1.0, 2.5]);
    let every = plan.every().unwrap() as u32;
    assert!((3..60).contains(&every), "a whole field every {every} draws");
    let mut draws = vec![FieldDraws::new(&plan, 400); chains];
    kernel.system.latents.choose(&vec![&plan; chains]).unwrap();
    let mut info = vec![Info::default(); chains];
    kernel.transition(0, &mut info);
    kernel.system.latents.record(&mut draws);
    for draw in 1..=every {
        let before = device.as_gpu().unwrap().cost();
        kernel.transition(draw, &mut info);
        let moved = since(&device, before);
        kernel.system.latents.record(&mut draws);
        let cost = since(&device, before);
        assert!(cost.waits <= u64::from(info[0].steps) + 2 + u64::from(draw == every));
        assert_eq!((cost.pipelines, cost.buffers), (0, 0), "compiled or allocated again");
        // The report with its sums, the exponential with its counts, and the chosen sites.
        assert_eq!(cost.dispatches - moved.dispatches, 3);
        let fetched = (cost.waits - moved.waits, cost.downloaded - moved.downloaded);
        let whole = (1, 4 * (sites * chains) as u64);
        assert_eq!(fetched, if draw == every { whole } else { (0, 0) }, "draw {draw}");
    }
    kernel.system.latents.finish(&mut draws);
    kernel.system.latents.status().unwrap();
    assert!(draws.iter().all(|own| own.fields().len() == 2 && own.count() == u64::from(every) + 1));
}

#[test]
fn bytes_moved_are_near_the_least() {
    let device = open();
    let world = worlds().into_iter().find(|w| w.name == "33 x 32").unwrap();
    let mut kernel = kernel(&device, &world, Integrator::Joint(Flow::Rotation));
    let before = device.as_gpu().unwrap().cost();
    kernel.system.evaluate();
    let cost = since(&device, before);
    let latents = (world.model.structure().dim() as u64 * u64::from(world.chains)) as f64;
    let words = cost.traffic as f64 / 4.0 / latents;
    let Structure::Spectral(field) = world.model.structure() else { unreachable!() };
    let torus = field.torus();
    let (n, rows) = (torus.dim() as f64, torus.rows.next_multiple_of(2) as f64);
    let half = 2.0 * (torus.p2 / 2 + 1) as f64 * rows / n;
    // The least three dispatches can do that leave nothing in registers: the first reads z, q and six coefficients for every four
    // latents, and hands eigenvalue and slope on; the last reads z, q, r and those, and writes z and r; the half-transformed window is
    // written and read twice; data are read and the field is written.
    let least = 7.0 + 6.0 / 4.0 + 2.0 * 2.0 / 4.0 + 4.0 * half + 3.0 * torus.sites() as f64 / n;
    println!("{words:.2} words a latent and step, of which {least:.2} are unavoidable");
    assert!(words <= 1.5 * least, "{words} words a latent, least {least}");
    // To the device travel a few numbers a chain, back two numbers a sum of a workgroup.
    assert!(cost.uploaded <= 200 * u64::from(world.chains), "{} bytes uploaded", cost.uploaded);
    let groups = 2.0 * latents.sqrt();
    assert!((cost.downloaded as f64) < 8.0 * 9.0 * groups, "{} bytes fetched", cost.downloaded);
}

#[test]
fn a_second_batch_compiles_nothing() {
    let device = open();
    let world = worlds().remove(1);
    drop(kernel(&device, &world, Integrator::Joint(Flow::Rotation)));
    let before = device.as_gpu().unwrap().cost();
    assert!(before.pipelines > 3);
    drop(kernel(&device, &world, Integrator::Joint(Flow::Rotation)));
    assert_eq!(since(&device, before).pipelines, 0);
}
