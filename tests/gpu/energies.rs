//! Holds energies of a million latents to a thousandth.
//!
//! A series is evaluated far from anything typical, where forces do not balance and no error cancels. A field's transforms are in single
//! precision, so that its energy is as good as that where forces do balance: at a draw of the model it is fitted to.

use crate::common::normals;
use crate::worlds::{World, device, series};
use rand_distr::{Distribution, Poisson};
use sshmc::coordinates::Coordinates;
use sshmc::data::Counts;
use sshmc::device::{Flow, Latents};
use sshmc::hamiltonian::{MassKind, Target};
use sshmc::model::{LgcpOptions, Model, lgcp};
use sshmc::random::{Purpose, Stream};
use sshmc::structure::{Information, Sides};
use std::sync::Arc;

/// A point, and the coordinates it is in, all of which single precision holds.
pub(crate) struct Point {
    name: String,
    pub(crate) model: Arc<Model>,
    pub(crate) coordinates: Coordinates,
    pub(crate) z: Vec<f64>,
    pub(crate) phi: Vec<f64>,
}

impl Point {
    /// U in f64 at another z.
    fn exact_at(&self, z: &[f64]) -> f64 {
        let mut target = Target::new(self.model.clone(), &self.coordinates).unwrap();
        target.evaluate(z, &self.phi, &mut vec![0.0; z.len()], &mut vec![0.0; self.phi.len()])
    }

    /// U in f64, with z stretched by 1 + `stretch`.
    fn exact(&self, stretch: f64) -> f64 {
        self.exact_at(&self.z.iter().map(|z| z * (1.0 + stretch)).collect::<Vec<_>>())
    }

    /// U on the device.
    fn potential(&self) -> f64 {
        let chains = vec![(0, self.z.clone())];
        let mut gpu = device()
            .latents(&self.model, &self.coordinates, &MassKind::Identity, 11, chains)
            .unwrap();
        let mut got = [f64::NAN];
        gpu.evaluate(&self.phi, &mut got, &mut vec![0.0; self.phi.len()]);
        gpu.status().unwrap();
        got[0]
    }

    /// Fails if U is off by a thousandth, or if a stretch that moves it by more passes.
    fn check(&self, stretch: f64) {
        let (got, want, spoilt) = (self.potential(), self.exact(0.0), self.exact(stretch));
        println!(
            "{}: U = {want}, off by {:e}; stretched {:e}",
            self.name,
            got - want,
            got - spoilt
        );
        assert!((got - want).abs() < 1e-3, "{}: got {got}, want {want}", self.name);
        assert!((got - spoilt).abs() > 1e-3, "{}: a stretch of {stretch} passes", self.name);
    }
}

fn rounded(x: &[f64]) -> Vec<f64> {
    x.iter().map(|&x| f64::from(x as f32)).collect()
}

#[test]
fn energies_of_a_million_returns_are_good_to_a_thousandth() {
    for kappa in [0.5, 0.0] {
        let model = series(1_000_000);
        let world = World { name: "", model, kappa, chains: 1, step: 0.0 };
        let id = world.ids().start;
        let point = Point {
            name: format!("a million returns, kappa {kappa}"),
            coordinates: world.rounded(0.0),
            z: world.z(id),
            phi: world.phi(id),
            model: world.model,
        };
        point.check(1e-8);
    }
}

/// A draw of a field and of counts given the field, so that forces balance.
pub(crate) fn field(side: usize, kappa: f64) -> Point {
    let options = LgcpOptions { sides: Sides::PowersOfTwo, ..LgcpOptions::default() };
    let model = |counts| {
        let counts = Counts::from_vec(side, side, counts).unwrap();
        Arc::new(lgcp(&counts, &options).unwrap())
    };
    let cells = (side * side) as f64;
    let empty = model(vec![1.0; side * side]);
    let working = [0.0, 0.03f64.ln(), (0.5 * cells).ln() - 0.5];
    let phi = empty.hyperparameters().coordinates(&working);
    let mut z = rounded(&normals(empty.structure().dim(), 3));
    let mut target = Target::new(empty.clone(), &Coordinates::whitened()).unwrap();
    let mut by_z = z.clone();
    target.evaluate(&z, &phi, &mut by_z, &mut vec![0.0; phi.len()]);
    let mut rng = Stream::new(5, 0, 0, Purpose::Other).rng();
    let counts = target
        .predictor()
        .iter()
        .map(|eta| Poisson::new(eta.exp() / cells).unwrap().sample(&mut rng));
    let model = model(counts.collect());
    let phi = model.hyperparameters().coordinates(&working);
    let coordinates = if kappa == 0.0 {
        Coordinates::whitened()
    } else {
        let shift = rounded(&normals(z.len(), 5)).iter().map(|q| 0.125 * q).collect();
        Coordinates::Informed {
            information: Information::Scalar(kappa),
            shift: Some(Arc::new(shift)),
        }
    };
    let mut target = Target::new(model.clone(), &Coordinates::whitened()).unwrap();
    target.evaluate(&z, &phi, &mut by_z, &mut vec![0.0; phi.len()]);
    target.change(&coordinates, &phi, &mut z).unwrap();
    Point {
        name: format!("{side} x {side}, kappa {kappa}"),
        model,
        coordinates,
        z: rounded(&z),
        phi,
    }
}

#[test]
fn energies_of_a_million_spectral_latents_are_good_to_a_thousandth() {
    for side in [256, 512] {
        for kappa in [0.0, 0.125] {
            field(side, kappa).check(1e-8);
        }
    }
}

/// H of the only chain on the device, and in f64 from the same z and r.
fn energies(point: &Point, gpu: &mut dyn Latents) -> [f64; 2] {
    let (n, m) = (point.z.len(), point.phi.len());
    let (mut potential, mut kinetic) = ([f64::NAN], [f64::NAN]);
    gpu.evaluate(&point.phi, &mut potential, &mut vec![0.0; m]);
    gpu.kinetic(&point.phi, &mut kinetic, None);
    let (mut z, mut r) = (vec![0.0; n], vec![0.0; n]);
    gpu.point(0, &mut z, &mut r).unwrap();
    [potential[0] + kinetic[0], point.exact_at(&z) + 0.5 * r.iter().map(|r| r * r).sum::<f64>()]
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
