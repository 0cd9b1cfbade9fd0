//! Checks what is reported: fields of accepted and rejected points, running moments, draws at chosen sites, learnt means.

use crate::worlds::{World, device, transition, worlds};
use sshmc::check::largest_difference;
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
    gpu.choose(&[&plan; 2]).unwrap();
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
            assert_eq!(
                largest_difference(&field, &before[chain]) > 1e-3,
                accepted[chain],
                "{index} {chain}"
            );
            host.record(&field);
        }
    }
    gpu.finish(&mut on_device);
    gpu.status().unwrap();
    for (device, host) in on_device.iter().zip(&on_host) {
        assert_eq!(device.count(), host.count());
        // Six updates of numbers below ten in pairs of floats.
        let bound = 6.0 * 10.0 * 2f64.powi(-46);
        assert!(largest_difference(device.mean(), host.mean()) <= bound);
        assert!(largest_difference(&device.variance(), &host.variance()) <= 40.0 * bound);
        assert!(host.variance().iter().any(|v| *v > 1e-3), "the fields never moved");
        for k in 0..plan.kept().len() {
            assert!(device.series(k).eq(host.series(k)), "draws of site {k}");
        }
    }
}

/// The same sums in single precision, as they must not be.
fn single_precision_mean(draws: impl Iterator<Item = f32>) -> f32 {
    let (mut mean, mut count) = (0f32, 0f32);
    for x in draws {
        count += 1.0;
        mean += (x - mean) / count;
    }
    mean
}

/// A pair of floats takes an error of 2⁻⁴⁶ of the sum with every draw, and `exponential_pair` is good to 2⁻³²; R and E are the largest
/// deviation from the first draw and the largest exponential.
#[test]
fn sums_over_many_draws_are_those_of_double_precision() {
    const POINTS: u32 = 40;
    const REPEATS: usize = 500;
    let world = named("3 x 5, fixed mean");
    let (sites, chains) = (world.model.structure().sites(), world.chains as usize);
    let phi: Vec<f64> = world.ids().flat_map(|chain| world.phi(chain)).collect();
    let mut gpu = open(&world);
    let (mut u, mut du) = (vec![0.0; chains], vec![0.0; phi.len()]);
    gpu.evaluate(&phi, &mut u, &mut du);
    gpu.save();
    let plan = FieldPlan::new(sites, chains, 10, 4 * chains * 10).with_exponential(&[2.0, 4.0]);
    let mut on_device: Vec<_> = (0..chains).map(|_| FieldDraws::new(&plan, 10)).collect();
    let mut on_host = on_device.clone();
    gpu.choose(&vec![&plan; chains]).unwrap();
    let mut fields = vec![Vec::new(); chains];
    for index in 0..POINTS {
        transition(&mut *gpu, &phi, index, &vec![true; chains]);
        for _ in 0..REPEATS {
            gpu.record(&mut on_device);
        }
        for (chain, host) in on_host.iter_mut().enumerate() {
            let mut field = vec![0.0; sites];
            gpu.field(chain, &mut field);
            (0..REPEATS).for_each(|_| host.record(&field));
            fields[chain].push(field);
        }
    }
    gpu.finish(&mut on_device);
    gpu.status().unwrap();
    let n = f64::from(POINTS) * REPEATS as f64;
    let (sum, exp) = (n * 2f64.powi(-46), 2f64.powi(-32));
    for ((device, host), fields) in on_device.iter().zip(&on_host).zip(&fields) {
        assert_eq!(device.count(), host.count());
        let flat = || fields.iter().flat_map(|field| field.iter().zip(&fields[0]));
        let r = flat().map(|(x, first)| (x - first).abs()).fold(0.0, f64::max);
        let e = flat().map(|(x, _)| x.exp()).fold(0.0, f64::max);
        assert!(r > 0.5, "the fields hardly moved: {r}");
        assert!(largest_difference(device.mean(), host.mean()) <= sum * r);
        assert!(largest_difference(&device.variance(), &host.variance()) <= 4.0 * sum * r * r);
        let (got, want) = (device.exponential().unwrap(), host.exponential().unwrap());
        assert!(largest_difference(got.mean(), want.mean()) <= (exp + sum) * e);
        let square = |sd: Vec<f64>| sd.into_iter().map(|s| s * s).collect::<Vec<_>>();
        let difference = largest_difference(&square(got.sd()), &square(want.sd()));
        assert!(difference <= (8.0 * exp + 4.0 * sum) * e * e, "{difference:e}");
        let counts = got.exceedances().zip(want.exceedances());
        counts.for_each(|(got, want)| assert_eq!(got, want));
        assert!(want.exceedances().any(|(_, p)| p.iter().any(|&p| p > 0.0 && p < 1.0)));
        // Single precision would not have done.
        let single = |site: usize| {
            let draws = fields.iter().flat_map(|f| std::iter::repeat_n(f[site] as f32, REPEATS));
            f64::from(single_precision_mean(draws))
        };
        let single: Vec<f64> = (0..sites).map(single).collect();
        assert!(
            largest_difference(&single, host.mean()) > sum * r,
            "the comparison must see f32 rounding"
        );
    }
}

/// Lines of 512 points and more share workgroups.
#[test]
fn long_lines_are_transformed_as_in_double_precision() {
    for (rows, columns) in [(5, 200), (5, 400), (200, 5)] {
        let name = format!("{rows} x {columns}");
        let model = crate::worlds::cox(rows, columns, None);
        let world = World { name: name.clone(), model, kappa: 0.1, chains: 2, step: 0.1 };
        let phi: Vec<f64> = world.ids().flat_map(|chain| world.phi(chain)).collect();
        let (m, n) = (phi.len() / 2, world.model.structure().dim());
        let mut gpu = open(&world);
        let (mut u, mut du) = (vec![0.0; 2], vec![0.0; phi.len()]);
        gpu.evaluate(&phi, &mut u, &mut du);
        let mut target = Target::new(world.model.clone(), &world.rounded(0.0)).unwrap();
        for (chain, id) in world.ids().enumerate() {
            let own = &phi[chain * m..(chain + 1) * m];
            let (mut by_z, mut by_phi) = (vec![0.0; n], vec![0.0; m]);
            let mut evaluate = |z: &[f64]| target.evaluate(z, own, &mut by_z, &mut by_phi);
            let slightly: Vec<f64> = world.z(id).iter().map(|z| 1.0001 * z).collect();
            let (other, want) = (evaluate(&slightly), evaluate(&world.z(id)));
            // Sixteen units of single precision of all that is added up.
            let bound = 16.0 * 2f64.powi(-24) * n as f64;
            assert!((u[chain] - want).abs() <= bound, "{name}: {} and {want}", u[chain]);
            assert!((other - want).abs() > bound, "{name}: must see a ten-thousandth");
            let got = gpu.snapshot(chain).unwrap().by_z;
            let size = by_z.iter().fold(0.0f64, |most, y| most.max(y.abs()));
            let bound = 64.0 * 2f64.powi(-24) * size;
            assert!(
                largest_difference(&got, &by_z) <= bound,
                "{name}: {:e}",
                largest_difference(&got, &by_z) / size
            );
            let half: Vec<f64> = by_z.iter().map(|y| 0.999 * y).collect();
            assert!(largest_difference(&got, &half) > bound, "{name}: must see a thousandth");
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
        largest_difference(&z, &world.z(world.ids().start + 1)) > 0.01,
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
        assert!(
            largest_difference(got, want) <= bound,
            "{name}: {:e}, bound {bound:e}",
            largest_difference(got, want)
        );
        let half: Vec<f64> = want.iter().map(|w| 0.999 * w).collect();
        assert!(
            largest_difference(got, &half) > bound,
            "{name}: the comparison must see a thousandth"
        );
    }
}
