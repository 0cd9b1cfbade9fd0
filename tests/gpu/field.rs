//! Checks what is reported: fields of accepted and rejected points, running moments, draws at chosen sites, learnt means.

use crate::worlds::{World, device, worlds};
use sshmc::device::Flow;
use sshmc::device::Latents;
use sshmc::draws::{FieldDraws, FieldPlan};
use sshmc::hamiltonian::{MassKind, Target};

fn world() -> World {
    named("33 x 32")
}

fn named(name: &str) -> World {
    worlds().into_iter().find(|w| w.name == name).unwrap()
}

fn open(world: &World) -> Box<dyn Latents> {
    let chains = world.ids().map(|chain| (chain, world.z(chain))).collect();
    device().latents(&world.model, &world.rounded(0.0), &MassKind::Identity, 1, chains).unwrap()
}

fn worst(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Takes steps so that a proposal differs from the saved point, and decides.
fn transition(gpu: &mut dyn Latents, phi: &[f64], index: u32, accepted: &[bool]) {
    let (mut u, mut du) = (vec![0.0; accepted.len()], vec![0.0; phi.len()]);
    gpu.refresh(index, phi);
    gpu.save();
    gpu.kick(&vec![0.05; accepted.len()], Flow::Rotation);
    gpu.flow(&vec![0.3; accepted.len()], Flow::Rotation);
    gpu.evaluate(phi, &mut u, &mut du);
    gpu.settle(accepted);
}

#[test]
fn fields_moments_and_draws_follow_the_accepted_points() {
    let world = world();
    let sites = world.model.structure().sites();
    let phi: Vec<f64> = world.ids().flat_map(|chain| world.phi(chain)).collect();
    let mut gpu = open(&world);
    let (mut u, mut du) = (vec![0.0; 2], vec![0.0; phi.len()]);
    gpu.evaluate(&phi, &mut u, &mut du);
    gpu.save();
    let plan = FieldPlan::new(sites, 2, 10, 4 * 2 * 10 * 17);
    let mut on_device = vec![FieldDraws::new(&plan, 10); 2];
    let mut on_host = on_device.clone();
    gpu.choose(&[plan.kept(); 2]).unwrap();
    let mut field = vec![0.0; sites];
    let mut before = [vec![0.0; sites], vec![0.0; sites]];
    for index in 0..6 {
        for (chain, before) in before.iter_mut().enumerate() {
            gpu.field(chain, before);
        }
        let accepted = [index % 2 == 0, index % 3 == 0];
        transition(&mut *gpu, &phi, index, &accepted);
        gpu.record(&mut on_device);
        for (chain, host) in on_host.iter_mut().enumerate() {
            gpu.field(chain, &mut field);
            assert_eq!(worst(&field, &before[chain]) > 1e-3, accepted[chain], "{index} {chain}");
            host.record(&field);
        }
    }
    gpu.finish(&mut on_device);
    gpu.status().unwrap();
    for (device, host) in on_device.iter().zip(&on_host) {
        assert_eq!(device.count(), host.count());
        // Six updates of numbers below ten in single precision.
        let bound = 6.0 * 10.0 * 2f64.powi(-24);
        assert!(worst(device.mean(), host.mean()) <= bound);
        assert!(worst(&device.variance(), &host.variance()) <= 40.0 * bound);
        assert!(host.variance().iter().any(|v| *v > 1e-3), "the fields never moved");
        for k in 0..plan.kept().len() {
            assert!(device.series(k).eq(host.series(k)), "draws of site {k}");
        }
    }
}

#[test]
fn a_rejected_chain_stands_where_it_stood() {
    let world = world();
    let n = world.model.structure().dim();
    let phi: Vec<f64> = world.ids().flat_map(|chain| world.phi(chain)).collect();
    let mut gpu = open(&world);
    let (mut u, mut du) = (vec![0.0; 2], vec![0.0; phi.len()]);
    gpu.evaluate(&phi, &mut u, &mut du);
    transition(&mut *gpu, &phi, 4, &[false, true]);
    let (mut z, mut r) = (vec![0.0; n], vec![0.0; n]);
    gpu.point(0, &mut z, &mut r).unwrap();
    assert_eq!(z, world.z(world.ids().start));
    gpu.point(1, &mut z, &mut r).unwrap();
    assert!(
        worst(&z, &world.z(world.ids().start + 1)) > 0.01,
        "the accepted chain must have moved"
    );
}

#[test]
fn learnt_means_are_those_of_the_points_seen() {
    for name in ["33 x 32", "20 x 30, covariates"] {
        learns(&named(name));
    }
}

fn learns(world: &World) {
    let (n, sites) = (world.model.structure().dim(), world.model.structure().sites());
    let phi: Vec<f64> = world.ids().flat_map(|chain| world.phi(chain)).collect();
    let m = phi.len() / 2;
    let mut gpu = open(world);
    let (mut u, mut du) = (vec![0.0; 2], vec![0.0; phi.len()]);
    gpu.evaluate(&phi, &mut u, &mut du);
    let mut target = Target::new(world.model.clone(), &world.rounded(0.0)).unwrap();
    let zeros = || [vec![0.0; n], vec![0.0; n], vec![0.0; sites]];
    let mut want = zeros();
    const POINTS: u32 = 3;
    // A first window must leave no trace.
    for window in 0..2 {
        for index in 0..POINTS {
            transition(&mut *gpu, &phi, 10 * window + index, &[true, index == 1]);
            assert!(gpu.observe());
            if window == 1 {
                let (mut z, mut r, mut by_z) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
                gpu.point(1, &mut z, &mut r).unwrap();
                target.evaluate(&z, &phi[m..], &mut by_z, &mut du[..m]);
                let [mut x, mut g, _] = zeros();
                target.latents_and_score(&z, &by_z, &mut x, &mut g);
                for (mean, now) in want.iter_mut().zip([&x[..], &g[..], target.predictor()]) {
                    mean.iter_mut().zip(now).for_each(|(m, x)| *m += x / f64::from(POINTS));
                }
            }
        }
        if window == 0 {
            gpu.forget();
        }
    }
    let [mut x, mut g, mut eta] = zeros();
    gpu.learnt(1, &mut x, &mut g, &mut eta);
    let size = |v: &[f64]| v.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    for (name, got, want) in [("x", &x, &want[0]), ("g", &g, &want[1]), ("η", &eta, &want[2])] {
        // g is a difference divided by the root of an eigenvalue: a few hundred units of single precision.
        let bound = 512.0 * 2f64.powi(-24) * size(want).max(1.0);
        assert!(worst(got, want) <= bound, "{name}: {:e}, bound {bound:e}", worst(got, want));
        let half: Vec<f64> = want.iter().map(|w| 0.999 * w).collect();
        assert!(worst(got, &half) > bound, "{name}: the comparison must see a thousandth");
    }
}
