//! Holds block-informed coordinates against what every change of variables must be: exact, whatever was learnt.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod common;

use common::{STEP, close, difference, difference_bound, log_det, normals};
use nalgebra::DMatrix;
use sshmc::coordinates::{BlockSizes, Coordinates};
use sshmc::data::{Counts, Covariate, Raster};
use sshmc::hamiltonian::Target;
use sshmc::likelihood::CountLikelihood;
use sshmc::model::{LgcpOptions, Model, lgcp};
use sshmc::structure::{Anisotropy, Kernel, Structure};
use std::sync::Arc;

const SIZES: BlockSizes = BlockSizes { block: 9, band: 20, directions: 5 };

/// Counts on a grid, a corner of it unobserved.
fn counts(rows: usize, columns: usize) -> Counts {
    let noise = normals(rows * columns, 7);
    let values = noise.iter().enumerate().map(|(cell, e)| {
        if cell % columns + cell / columns < 2 { f64::NAN } else { (1.3 * e).exp().floor() }
    });
    Counts::from_vec(rows, columns, values.collect()).unwrap()
}

/// A smooth covariate on the grid.
fn covariate(name: &str, counts: &Counts, waves: f64) -> Covariate {
    let grid = counts.grid();
    let mut csv = String::from("x,y,value\n");
    for cell in 0..grid.cells() {
        let (i, j) = grid.position(cell);
        let (x, y) = grid.centre(i, j);
        csv += &format!("{x},{y},{}\n", (waves * cell as f64).sin());
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("covariate.csv");
    std::fs::write(&path, csv).unwrap();
    let raster = Raster::read(&path, ((0.0, 0.0), grid.extent())).unwrap();
    Covariate::new(name, &raster, counts).unwrap().0
}

/// Cox processes with every kernel, directions, covariates, bounded priors, and a known mean.
fn models() -> Vec<(String, Arc<Model>)> {
    let counts = counts(3, 4);
    let plain = LgcpOptions::default();
    let slanting = Anisotropy::new(35.0, 2.0).unwrap();
    let mut all: Vec<(String, LgcpOptions)> = Kernel::ALL
        .map(|kernel| (format!("{kernel:?}"), LgcpOptions { kernel, ..plain.clone() }))
        .to_vec();
    let covariates = || vec![covariate("a", &counts, 0.7), covariate("b", &counts, 1.9)];
    all.push(("slanting".into(), LgcpOptions { anisotropy: slanting, ..plain.clone() }));
    all.push(("known mean".into(), LgcpOptions { mu: Some(1.0), ..plain.clone() }));
    let likelihood = CountLikelihood::NegativeBinomial;
    let scattered = LgcpOptions { likelihood, covariates: covariates(), ..plain.clone() };
    all.push(("negative binomial".into(), scattered));
    all.push(("covariates".into(), LgcpOptions { covariates: covariates(), ..plain.clone() }));
    let bounded = ["range=uniform(0.05,1.5)", "sigma=uniform(0.1,4)", "mu=uniform(-9,9)"];
    let priors = bounded.map(String::from).to_vec();
    all.push(("bounded".into(), LgcpOptions { priors, ..plain }));
    let build =
        |(name, options): (String, LgcpOptions)| (name, Arc::new(lgcp(&counts, &options).unwrap()));
    all.into_iter().map(build).collect()
}

fn block(model: &Model) -> Coordinates {
    let likely = [[0.1, -1.0], [0.5, -1.6], [-0.3, -0.7], [0.2, -1.9], [0.3, -0.5]];
    Coordinates::block_informed(model, &likely, Some(SIZES)).unwrap()
}

/// A point in the sampler's variables.
fn point(model: &Model, target: &Target, seed: u32) -> (Vec<f64>, Vec<f64>) {
    let z = normals(model.structure().dim(), 100 + seed);
    let mut phi = normals(model.hyperparameters().len(), 200 + seed);
    let mut inside = phi.clone();
    phi.iter_mut().for_each(|e| *e *= 0.4);
    phi[1] -= if model.hyperparameters()[1].prior().bounds().is_some() { 0.0 } else { 1.0 };
    target.hyperparameters(&phi, &mut inside);
    (z, phi)
}

fn potential(target: &mut Target, z: &[f64], phi: &[f64]) -> f64 {
    target.evaluate(z, phi, &mut vec![0.0; z.len()], &mut vec![0.0; phi.len()])
}

/// Both gradients against differences.
fn check_gradients(
    model: &Arc<Model>,
    coordinates: &Coordinates,
    seed: u32,
    spoil: f64,
) -> Result<(), String> {
    let mut target = Target::new(model.clone(), coordinates).unwrap();
    let (z, phi) = point(model, &target, seed);
    let (mut by_z, mut by_phi) = (vec![f64::NAN; z.len()], vec![f64::NAN; phi.len()]);
    let size = target.evaluate(&z, &phi, &mut by_z, &mut by_phi);
    assert!(size.is_finite());
    by_phi[0] *= 1.0 + spoil;
    let got: Vec<f64> = by_z.iter().chain(&by_phi).copied().collect();
    let slopes: f64 = got.iter().map(|g| g.abs()).sum();
    let all: Vec<f64> = z.iter().chain(&phi).copied().collect();
    let want: Vec<f64> = (0..all.len())
        .map(|k| {
            difference(&all, k, STEP, |x| potential(&mut target, &x[..z.len()], &x[z.len()..]))
        })
        .collect();
    close("gradient", &got, &want, difference_bound(z.len() as f64 + size.abs() + slopes, 100.0))
}

#[test]
fn gradients_match_differences_and_a_spoilt_one_does_not() {
    for (name, model) in models() {
        let coordinates = block(&model);
        for seed in 0..3 {
            check_gradients(&model, &coordinates, seed, 0.0)
                .unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(check_gradients(&model, &coordinates, seed, 1e-4).is_err(), "{name}");
        }
    }
}

/// (z, φ) of the sampler to the latents and the model's φ.
fn map(target: &mut Target, all: &[f64], n: usize) -> Vec<f64> {
    let (z, phi) = all.split_at(n);
    potential(target, z, phi);
    let mut out = vec![f64::NAN; all.len()];
    let (u, own) = out.split_at_mut(n);
    target.latents(z, u);
    target.hyperparameters(phi, own);
    out
}

/// How far U in block coordinates is from U in centred ones less the log determinant of the map between them.
fn density_error(model: &Arc<Model>, seed: u32) -> f64 {
    let n = model.structure().dim();
    let mut target = Target::new(model.clone(), &block(model)).unwrap();
    let (z, phi) = point(model, &target, seed);
    let all: Vec<f64> = z.iter().chain(&phi).copied().collect();
    let count = all.len();
    let mut jacobian = DMatrix::zeros(count, count);
    for k in 0..count {
        for (steps, weight) in [(1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0)] {
            let mut moved = all.clone();
            moved[k] += steps * STEP;
            for (i, x) in map(&mut target, &moved, n).into_iter().enumerate() {
                jacobian[(i, k)] += weight * x / (12.0 * STEP);
            }
        }
    }
    let there = map(&mut target, &all, n);
    let mut centred = Target::new(model.clone(), &Coordinates::Centred).unwrap();
    let want = potential(&mut centred, &there[..n], &there[n..]) - log_det(&jacobian);
    (potential(&mut target, &z, &phi) - want).abs()
}

#[test]
fn the_density_is_that_of_the_model() {
    for (name, model) in models() {
        for seed in 0..2 {
            let error = density_error(&model, seed);
            assert!(error < 1e-7, "{name}: off by {error:e}");
        }
    }
}

#[test]
fn a_change_of_coordinates_keeps_latents_and_hyperparameters() {
    for (name, model) in models() {
        let n = model.structure().dim();
        let block = block(&model);
        let mut target = Target::new(model.clone(), &block).unwrap();
        let (mut z, mut phi) = point(&model, &target, 3);
        let all: Vec<f64> = z.iter().chain(&phi).copied().collect();
        let before = map(&mut target, &all, n);
        let field = target.reported().to_vec();
        for to in [&Coordinates::whitened(), &block] {
            target.change(to, &mut phi, &mut z).unwrap();
            let now: Vec<f64> = z.iter().chain(&phi).copied().collect();
            let after = map(&mut target, &now, n);
            close(&format!("{name}: latents"), &after, &before, 1e-7).unwrap();
            close(&format!("{name}: field"), target.reported(), &field, 1e-7).unwrap();
        }
        let back: Vec<f64> = z.iter().chain(&phi).copied().collect();
        close(&format!("{name}: back"), &back, &all, 1e-6).unwrap();
    }
}

/// Smaller tori than twice the window, as a pilot run chooses, have them too.
#[test]
fn coordinates_exist_where_the_field_is_on_a_grid_only() {
    for (name, model) in models() {
        assert!(matches!(model.structure(), Structure::Spectral(_)), "{name}");
        assert_eq!(block(&model).name(), "block-informed");
    }
    let series = common::series(20, &[]);
    assert!(Coordinates::block_informed(&series, &[[0.0, 0.0]], Some(SIZES)).is_none());
}
