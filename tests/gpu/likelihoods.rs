//! Holds what likelihoods learn of their own on a GPU, a size of counts and a scale of noise, against double precision.

use crate::worlds::{World, device, noisy};
use sshmc::check::EnergyPoint;
use sshmc::hamiltonian::{MassKind, Target};
use sshmc::likelihood::CountLikelihood;

/// Potentials and their derivatives must be good to this: a difference of it in log probability goes unseen.
const TOLERANCE: f64 = 1e-3;
/// How far the logarithm of what is learnt is off in the twin that must fail.
const OFF: f64 = 1e-3;

/// U and its derivative in what the likelihood has of its own, on the device.
fn here(point: &EnergyPoint) -> [f64; 2] {
    let chains = vec![(0, point.z.clone())];
    let identity = MassKind::Identity;
    let mut latents =
        device().latents(&point.model, &point.coordinates, &identity, 11, chains).unwrap();
    let (mut potential, mut by_phi) = ([f64::NAN], vec![f64::NAN; point.phi.len()]);
    latents.evaluate(&point.phi, &mut potential, &mut by_phi);
    latents.status().unwrap();
    [potential[0], by_phi[point.model.likelihood_parameters().start]]
}

/// The same in f64, at another value of it.
fn exact(point: &EnergyPoint, off: f64) -> [f64; 2] {
    let own = point.model.likelihood_parameters().start;
    let mut phi = point.phi.clone();
    phi[own] += off;
    let mut target = Target::new(point.model.clone(), &point.coordinates).unwrap();
    let mut by_phi = phi.clone();
    let potential = target.evaluate(&point.z, &phi, &mut vec![0.0; point.z.len()], &mut by_phi);
    [potential, by_phi[own]]
}

#[test]
fn what_a_likelihood_learns_of_its_own_has_the_derivatives_of_double_precision() {
    let mut points: Vec<EnergyPoint> = [0.0, 0.125]
        .map(|k| EnergyPoint::of_counts(CountLikelihood::NegativeBinomial, 128, k).unwrap())
        .into();
    let world = |kappa| World {
        name: format!("20000 steps, noise learnt, kappa {kappa}"),
        model: noisy(20_000),
        kappa,
        chains: 1,
        step: 0.0,
    };
    points.extend([0.0, 0.5].map(|kappa| EnergyPoint::of(world(kappa))));
    for point in points {
        let (got, want, spoilt) = (here(&point), exact(&point, 0.0), exact(&point, OFF));
        println!("{}: {got:?}, in f64 {want:?}, spoilt {spoilt:?}", point.name);
        for ((got, want), spoilt) in got.into_iter().zip(want).zip(spoilt) {
            let name = &point.name;
            assert!((got - want).abs() < TOLERANCE, "{name}: got {got}, want {want}");
            assert!((got - spoilt).abs() > TOLERANCE, "{name}: {OFF} off passes");
        }
    }
}
