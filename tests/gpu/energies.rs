//! Holds energies of a million latents to a thousandth.
//!
//! A series is evaluated far from anything typical, where forces do not balance and no error cancels. A field's transforms are in single
//! precision, so that its energy is as good as that where forces do balance: at a draw of the model it is fitted to.

use crate::worlds::{World, device, series};
use sshmc::check::EnergyPoint;
use sshmc::device::{Flow, Latents};
use sshmc::hamiltonian::MassKind;

/// Fails if U is off by a thousandth, or if a stretch that moves it by more passes.
fn check(point: &EnergyPoint, stretch: f64) {
    let got = point.potential(&device()).unwrap();
    let (want, spoilt) = (point.exact(0.0).unwrap(), point.exact(stretch).unwrap());
    let name = &point.name;
    println!("{name}: U = {want}, off by {:e}; stretched {:e}", got - want, got - spoilt);
    assert!((got - want).abs() < 1e-3, "{name}: got {got}, want {want}");
    assert!((got - spoilt).abs() > 1e-3, "{name}: a stretch of {stretch} passes");
}

#[test]
fn energies_of_a_million_returns_are_good_to_a_thousandth() {
    for kappa in [0.5, 0.0] {
        let model = series(1_000_000);
        let name = format!("a million returns, kappa {kappa}");
        check(&EnergyPoint::of(World { name, model, kappa, chains: 1, step: 0.0 }), 1e-8);
    }
}

/// A draw of a field and of counts given the field, so that forces balance.
pub(crate) fn field(side: usize, kappa: f64) -> EnergyPoint {
    EnergyPoint::of_field(side, kappa).unwrap()
}

#[test]
fn energies_of_a_million_spectral_latents_are_good_to_a_thousandth() {
    for side in [256, 512] {
        for kappa in [0.0, 0.125] {
            check(&field(side, kappa), 1e-8);
        }
    }
}

/// H of the only chain on the device, and in f64 from the same z and r.
fn energies(point: &EnergyPoint, gpu: &mut dyn Latents) -> [f64; 2] {
    let (n, m) = (point.z.len(), point.phi.len());
    let (mut potential, mut kinetic) = ([f64::NAN], [f64::NAN]);
    gpu.evaluate(&point.phi, &mut potential, &mut vec![0.0; m]);
    gpu.kinetic(&point.phi, &mut kinetic, None);
    let (mut z, mut r) = (vec![0.0; n], vec![0.0; n]);
    gpu.point(0, &mut z, &mut r).unwrap();
    [
        potential[0] + kinetic[0],
        point.exact_at(&z).unwrap() + 0.5 * r.iter().map(|r| r * r).sum::<f64>(),
    ]
}

/// What a Metropolis decision sees, the change of H along a trajectory, is that of double precision.
#[test]
fn changes_of_energy_on_a_grid_of_256_are_good_to_a_thousandth() {
    let point = field(256, 0.125);
    let chains = vec![(0, point.z.clone())];
    let mut gpu = device()
        .latents(&point.model, &point.coordinates, &MassKind::Identity, 11, chains)
        .unwrap();
    for (transition, steps) in [3, 6, 12].into_iter().enumerate() {
        gpu.refresh(transition as u32, &point.phi);
        let before = energies(&point, &mut *gpu);
        for step in 0..=steps {
            if step > 0 {
                gpu.evaluate(&point.phi, &mut [0.0], &mut vec![0.0; point.phi.len()]);
            }
            let half = if step == 0 || step == steps { 0.5 } else { 1.0 };
            gpu.kick(&[half * 0.1], Flow::Rotation);
            if step < steps {
                gpu.flow(&[0.1], Flow::Rotation);
            }
        }
        let after = energies(&point, &mut *gpu);
        let [here, exact] = [after[0] - before[0], after[1] - before[1]];
        println!("{steps} steps: H changes by {exact}, on the device by {:e} more", here - exact);
        assert!((here - exact).abs() <= 1e-3, "{here} instead of {exact}");
        assert!(exact.abs() > 0.05, "a trajectory that keeps H to {exact} shows nothing");
        gpu.settle(&[true]);
    }
}
