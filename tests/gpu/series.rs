//! Compares what is learnt along a series and its moments with the processor's, on the same random numbers.

use crate::worlds::{World, device, transition, worlds};
use sshmc::device::Device;
use sshmc::draws::{FieldDraws, FieldPlan};
use sshmc::hamiltonian::MassKind;

const POINTS: u32 = 3;

/// Means of latents, score and predictor, and mean and variance of the field.
struct Seen {
    means: [Vec<f64>; 3],
    moments: [Vec<f64>; 2],
}

/// Makes some transitions, the last chain's first not accepted, and observes and records that chain. A first window leaves no trace.
fn follow(device: &Device, world: &World, points: u32) -> Seen {
    let chains: Vec<(u32, Vec<f64>)> = world.ids().map(|id| (id, world.z(id))).collect();
    let (count, last) = (chains.len(), chains.len() - 1);
    let phi: Vec<f64> = world.ids().flat_map(|id| world.phi(id)).collect();
    let n = world.model.structure().dim();
    let (coordinates, identity) = (world.rounded(0.0), MassKind::Identity);
    let mut latents = device.latents(&world.model, &coordinates, &identity, 1, chains).unwrap();
    latents.evaluate(&phi, &mut vec![0.0; count], &mut vec![0.0; phi.len()]);
    latents.save();
    let plan = FieldPlan::new(n, count, points as usize, 1 << 30);
    let mut draws = vec![FieldDraws::new(&plan, points as usize); count];
    latents.choose(&vec![&plan; count]).unwrap();
    let mut means = [vec![0.0; n], vec![0.0; n], vec![0.0; n]];
    for window in 0..2 {
        latents.forget();
        for index in 0..if window == 0 { 1 } else { points } {
            let mut accepted = vec![true; count];
            accepted[last] = index > 0;
            transition(&mut *latents, &phi, 10 * window + index, &accepted);
            let kept_there = latents.observe();
            assert_eq!(kept_there, device.is_gpu());
            if !kept_there && window == 1 {
                if index == 0 {
                    // The processor's own gradient is that of the proposal until it is asked again.
                    latents.evaluate(&phi, &mut vec![0.0; count], &mut vec![0.0; phi.len()]);
                    latents.save();
                }
                let mut now = [vec![0.0; n], vec![0.0; n], vec![0.0; n]];
                let [x, g, eta] = &mut now;
                latents.latents_and_score(last, x, g);
                latents.predictor(last, eta);
                for (mean, now) in means.iter_mut().zip(&now) {
                    mean.iter_mut().zip(now).for_each(|(m, x)| *m += x / f64::from(points));
                }
            }
        }
    }
    if device.is_gpu() {
        let [x, g, eta] = &mut means;
        latents.learnt(last, x, g, eta);
    }
    // Then draws of their own, since a device keeps either.
    for index in 0..points {
        transition(&mut *latents, &phi, 100 + index, &vec![true; count]);
        latents.record(&mut draws);
    }
    latents.finish(&mut draws);
    latents.status().unwrap();
    Seen { means, moments: [draws[last].mean().to_vec(), draws[last].variance()] }
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Differences in units of what rounding explains.
///
/// A step leaves errors of eight units of the norm of z and r (see `sshmc::check`), which is that of standard normals, and there are twice
/// as many steps as points. The factor F has norm 1/√κ at most, and adds errors of its own size. The score's slope is ½ − g, and a
/// variance's twice the largest deviation.
fn ratios(world: &World, got: &Seen, want: &Seen) -> Vec<(&'static str, f64)> {
    let n = world.model.structure().dim() as f64;
    let largest = |x: &[f64]| x.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let [x, g, eta] = &want.means;
    let size = 2.0 * n.sqrt() / world.kappa.sqrt() + norm(x) + norm(eta);
    let latents = 8.0 * 2f64.powi(-23) * f64::from(2 * POINTS + 1) * size;
    let spread = 2.0 * largest(&want.moments[1]).sqrt() + largest(&want.moments[1]);
    let compare = |name, got: &[f64], want: &[f64], bound: f64| {
        let difference: Vec<f64> = got.iter().zip(want).map(|(a, b)| a - b).collect();
        let ratio = norm(&difference) / bound;
        (name, if ratio.is_nan() { f64::INFINITY } else { ratio })
    };
    vec![
        compare("x", &got.means[0], x, latents),
        compare("g", &got.means[1], g, latents * (0.5 + largest(g))),
        compare("η", &got.means[2], eta, latents),
        compare("mean", &got.moments[0], &want.moments[0], latents),
        compare("variance", &got.moments[1], &want.moments[1], latents * spread.max(1.0)),
    ]
}

#[test]
fn learnt_means_and_moments_of_a_series_are_the_processors() {
    for name in ["8 returns", "1025 returns", "5000 returns"] {
        let world = worlds().into_iter().find(|w| w.name == name).unwrap();
        let gpu = follow(&device(), &world, POINTS);
        let cpu = follow(&Device::cpu(), &world, POINTS);
        for (what, ratio) in ratios(&world, &gpu, &cpu) {
            println!("{name}, {what}: {ratio:.3} of the bound");
            assert!(ratio <= 1.0, "{name}, {what}: {ratio} of the bound");
        }
        // A thousandth off, and a little more where a number is near zero.
        let off = |v: &Vec<f64>| v.iter().map(|x| 1.001 * x + 1e-4).collect::<Vec<f64>>();
        let spoilt = Seen {
            means: [off(&cpu.means[0]), off(&cpu.means[1]), off(&cpu.means[2])],
            moments: [off(&cpu.moments[0]), off(&cpu.moments[1])],
        };
        for (what, ratio) in ratios(&world, &gpu, &spoilt) {
            println!("  spoilt, {what}: {ratio:.1} of the bound");
            assert!(ratio > 1.0, "{name}, {what}: an error of a thousandth passes");
        }
    }
}
