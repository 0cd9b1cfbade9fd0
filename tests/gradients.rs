//! Holds potentials and gradients, in every model and every kind of coordinates, against differences and dense algebra.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod common;

use common::torus::{TorusField, fourier};
use common::{
    Case, STEP, cases, close, condition, difference, difference_bound, log_det, matrix, normals,
    root,
};
use nalgebra::{DMatrix, DVector};
use sshmc::coordinates::Coordinates;
use sshmc::hamiltonian::Target;
use sshmc::likelihood::{Curvature, Likelihood, PoissonLog};
use sshmc::model::{Column, MeanTerm, Model};
use sshmc::prior::{Hyperparameter, Hyperparameters};
use sshmc::structure::{
    Anisotropy, Correlation, Dense, Embedding, Information, Kernel, Spectral, Structure,
};
use std::sync::Arc;

/// U and its gradients, written into dirty buffers.
fn evaluate(target: &mut Target, z: &[f64], phi: &[f64]) -> (f64, Vec<f64>, Vec<f64>) {
    let (mut by_z, mut by_phi) = (vec![f64::NAN; z.len()], vec![f64::NAN; phi.len()]);
    let potential = target.evaluate(z, phi, &mut by_z, &mut by_phi);
    (potential, by_z, by_phi)
}

fn target(case: &Case, coordinates: &Coordinates) -> Target {
    Target::new(case.model.clone(), coordinates).unwrap()
}

/// Σ at φ.
fn prior_covariance(case: &Case, phi: &[f64]) -> DMatrix<f64> {
    let t = root(case.model.structure(), &Information::NONE, &case.working(phi));
    &t * t.transpose()
}

/// Both gradients against differences at one point.
fn check_gradients(case: &Case, coordinates: &Coordinates, seed: u32) -> Result<(), String> {
    let (z, phi) = case.point(seed);
    let mut target = target(case, coordinates);
    let (potential, by_z, by_phi) = evaluate(&mut target, &z, &phi);
    let slopes: f64 = by_z.iter().chain(&by_phi).map(|g| g.abs()).sum();
    let n = z.len() as f64;
    let condition = condition(&prior_covariance(case, &phi)).min(1e4) * n.sqrt();
    let bound = difference_bound(n + potential.abs() + slopes, condition);
    let all: Vec<f64> = z.iter().chain(&phi).copied().collect();
    let want: Vec<f64> = (0..all.len())
        .map(|k| {
            difference(&all, k, STEP, |x| evaluate(&mut target, &x[..z.len()], &x[z.len()..]).0)
        })
        .collect();
    let got: Vec<f64> = by_z.into_iter().chain(by_phi).collect();
    let name =
        format!("{}, {}: gradient in (z, φ), {} latents", case.name, coordinates.name(), z.len());
    close(&name, &got, &want, bound)
}

#[test]
fn gradients_match_differences() {
    for case in cases() {
        for coordinates in case.coordinates() {
            for seed in 0..3 {
                check_gradients(&case, &coordinates, seed).unwrap();
            }
        }
    }
}

/// A likelihood whose gradient is off by a hundred-thousandth at one site.
#[derive(Debug)]
struct Spoilt(PoissonLog);

impl Likelihood for Spoilt {
    fn sites(&self) -> usize {
        self.0.sites()
    }
    fn evaluate(&self, eta: &[f64], own: &[f64], gradient: &mut [f64], by_own: &mut [f64]) -> f64 {
        let value = self.0.evaluate(eta, own, gradient, by_own);
        gradient[0] *= 1.0 + 1e-5;
        value
    }
    fn curvature(&self, eta: &[f64], own: &[f64]) -> Curvature {
        self.0.curvature(eta, own)
    }
}

#[test]
fn a_slightly_wrong_gradient_is_noticed() {
    let spectral = Spectral::new(1, 2, 1.0, Kernel::Exponential, (0.0, f64::INFINITY)).unwrap();
    let counts = PoissonLog::new(vec![3.0, 1.0], vec![2.0, 0.5]).unwrap();
    let model = |likelihood: Arc<dyn Likelihood>| {
        let structure = Structure::Spectral(spectral.clone());
        let model = Model::new("spoilt", structure, likelihood, common::field_priors(1.0)).unwrap();
        Case { name: "spoilt", model: Arc::new(model) }
    };
    for coordinates in model(Arc::new(counts.clone())).coordinates() {
        check_gradients(&model(Arc::new(counts.clone())), &coordinates, 1).unwrap();
        assert!(
            check_gradients(&model(Arc::new(Spoilt(counts.clone()))), &coordinates, 1).is_err()
        );
    }
}

/// U, u and log|det T| = ½log|V| by dense algebra from Σ, K, q, m and T alone.
fn dense_potential(
    case: &Case,
    coordinates: &Coordinates,
    z: &[f64],
    phi: &[f64],
) -> (f64, DVector<f64>, f64) {
    let (structure, w) = (case.model.structure(), case.working(phi));
    let (sigma, mean, n) = (prior_covariance(case, phi), case.mean(phi), z.len());
    let precision = sigma.clone().try_inverse().unwrap();
    let z = DVector::from_column_slice(z);
    let (u, volume) = match coordinates {
        Coordinates::Block(_) => unreachable!("tests/blocks.rs is about these"),
        Coordinates::Centred => (z, 0.0),
        Coordinates::Informed { information, shift } => {
            // A structure may round K to one it can factor (an AR(1)'s end entries); s is made of the K asked for.
            let k = matrix(n, |v, out| out.copy_from_slice(&information.times(v)));
            let own = common::information_matrix(structure, information, &w);
            let v = (&precision + own).try_inverse().unwrap();
            let shift = shift.as_ref().map_or(DVector::zeros(n), |q| DVector::from_column_slice(q));
            let u = &v * (shift - k * &mean) + root(structure, information, &w) * z;
            (u, 0.5 * log_det(&v))
        }
    };
    let mut eta = vec![0.0; structure.sites()];
    structure.basis().write_field((&u + &mean).as_slice(), &mut eta);
    eta.iter_mut().for_each(|eta| *eta += case.model.offset());
    let misfit = case.model.misfit(&eta, phi, &mut vec![0.0; eta.len()]);
    let density = case.model.hyperparameters().log_prior(phi, &mut vec![0.0; phi.len()]);
    let prior = 0.5 * (u.dot(&(&precision * &u)) + log_det(&sigma));
    (misfit + prior - volume - density, u, volume)
}

/// Rounding of dense algebra with the prior's condition, on numbers of a size.
fn rounding(case: &Case, phi: &[f64], size: f64) -> f64 {
    let n = case.model.structure().dim() as f64;
    16.0 * n * f64::EPSILON * condition(&prior_covariance(case, phi)) * (n + size)
}

#[test]
fn potentials_and_latents_match_dense_algebra() {
    for case in cases() {
        for coordinates in case.coordinates() {
            for seed in 0..3 {
                let (z, phi) = case.point(seed);
                let mut target = target(&case, &coordinates);
                let got = evaluate(&mut target, &z, &phi).0;
                let mut latents = vec![f64::NAN; z.len()];
                target.latents(&z, &mut latents);
                let (want, u, _) = dense_potential(&case, &coordinates, &z, &phi);
                let name = format!("{}, {}", case.name, coordinates.name());
                let bound = rounding(&case, &phi, want.abs() + u.amax());
                close(&format!("{name}: U"), &[got], &[want], bound).unwrap();
                close(&format!("{name}: u"), &latents, u.as_slice(), bound).unwrap();
            }
        }
    }
}

/// From any coordinates to any other the latents stay, and U changes by log|det T| alone.
#[test]
fn a_change_of_coordinates_keeps_the_field_and_the_density() {
    for case in cases() {
        let all = case.coordinates();
        for (from, to) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
            let (mut z, mut phi) = case.point(4);
            let mut target = target(&case, from);
            let before = evaluate(&mut target, &z, &phi).0;
            let (_, u, volume_before) = dense_potential(&case, from, &z, &phi);
            let field = target.reported().to_vec();
            target.change(to, &mut phi, &mut z).unwrap();
            let after = evaluate(&mut target, &z, &phi).0;
            let (_, _, volume_after) = dense_potential(&case, to, &z, &phi);
            let mut latents = vec![f64::NAN; z.len()];
            target.latents(&z, &mut latents);
            let name = format!("{}, {} to {}", case.name, from.name(), to.name());
            let bound = rounding(&case, &phi, before.abs() + u.amax());
            close(&format!("{name}: latents"), &latents, u.as_slice(), bound).unwrap();
            close(&format!("{name}: field"), target.reported(), &field, bound).unwrap();
            let (got, want) = (after + volume_after, before + volume_before);
            close(&format!("{name}: density"), &[got], &[want], bound).unwrap();
            let mut placed = vec![f64::NAN; z.len()];
            assert!(target.place(&phi, u.as_slice(), &mut placed));
            close(&format!("{name}: placed"), &placed, &z, bound).unwrap();
        }
    }
}

/// The score that coordinates learn from is the likelihood's gradient, whatever the coordinates.
#[test]
fn the_score_is_the_likelihoods_gradient() {
    for case in cases() {
        for coordinates in case.coordinates() {
            let (z, phi) = case.point(5);
            let mut target = target(&case, &coordinates);
            let by_z = evaluate(&mut target, &z, &phi).1;
            let (mut x, mut g) = (vec![f64::NAN; z.len()], vec![f64::NAN; z.len()]);
            target.latents_and_score(&z, &by_z, &mut x, &mut g);
            let mut at_sites = vec![0.0; case.model.structure().sites()];
            case.model.misfit(target.predictor(), &phi, &mut at_sites);
            let mut want = vec![f64::NAN; z.len()];
            case.model.structure().basis().write_basis(&at_sites, &mut want);
            let name = format!("{}, {}", case.name, coordinates.name());
            let size = by_z.iter().fold(0.0f64, |a, g| a.max(g.abs()));
            let bound = rounding(&case, &phi, size);
            close(&format!("{name}: score"), &g, &want, bound).unwrap();
            let (_, u, _) = dense_potential(&case, &coordinates, &z, &phi);
            let mean = u + case.mean(&phi);
            close(&format!("{name}: latents with mean"), &x, mean.as_slice(), bound).unwrap();
        }
    }
}

/// A Cox process on a window of a torus, once by the spectral structure and once by dense algebra on all its cells.
struct Twins {
    spectral: Case,
    dense: Case,
    basis: DMatrix<f64>,
}

fn twins(rows: usize, columns: usize, correlation: Correlation, ranges: (f64, f64)) -> Twins {
    let cell = 0.5;
    let spectral = Spectral::new(rows, columns, cell, correlation, ranges).unwrap();
    let torus = spectral.torus();
    let embedding = spectral.table().embedding();
    let counts: Vec<f64> = (0..rows * columns).map(|i| ((3 * i + 1) % 4) as f64).collect();
    let exposure: Vec<f64> = (0..rows * columns).map(|i| 0.5 + 0.1 * i as f64).collect();
    let (mut all_counts, mut all_exposure) = (vec![0.0; torus.dim()], vec![0.0; torus.dim()]);
    for site in 0..rows * columns {
        let cell = site / columns * torus.p2 + site % columns;
        (all_counts[cell], all_exposure[cell]) = (counts[site], exposure[site]);
    }
    let field = TorusField { torus, correlation, embedding, cell };
    let case = |name, structure, counts, exposure| {
        let mut all: Vec<Hyperparameter> = common::field_priors(0.8).iter().cloned().collect();
        all.push(Hyperparameter::field_mu());
        let likelihood = Arc::new(PoissonLog::new(counts, exposure).unwrap());
        let model = Model::new("twin", structure, likelihood, Hyperparameters::new(all)).unwrap();
        let term = MeanTerm { hyperparameter: 2, scale: 1.0, column: Column::Constant };
        Case { name, model: Arc::new(model.with_mean(term).unwrap()) }
    };
    let dense = Structure::Dense(Dense::new(Arc::new(field)).unwrap());
    Twins {
        spectral: case("spectral", Structure::Spectral(spectral), counts, exposure),
        dense: case("dense", dense, all_counts, all_exposure),
        basis: fourier(torus),
    }
}

/// The same coordinates in the basis and at the cells.
fn both_coordinates(kappa: f64, shifted: bool, basis: &DMatrix<f64>) -> [Coordinates; 2] {
    let q = DVector::from_vec(normals(basis.nrows(), 30));
    let at_cells = basis.transpose() * &q;
    [q, at_cells].map(|q| Coordinates::Informed {
        information: Information::Scalar(kappa),
        shift: shifted.then(|| Arc::new(q.as_slice().to_vec())),
    })
}

impl Twins {
    /// U and the gradient with respect to the latents agree; in centred coordinates the one in φ does too.
    fn check(&self, here: &Coordinates, there: &Coordinates) -> Result<(), String> {
        let (b, mut phi) = self.spectral.point(6);
        phi[1] = -0.35;
        let x = self.basis.tr_mul(&DVector::from_column_slice(&b));
        let bound = {
            let n = b.len() as f64;
            let condition = condition(&prior_covariance(&self.dense, &phi));
            // The dense twin's algebra, and the table's interpolation of relative error 1e-9 in each eigenvalue.
            (64.0 * n * f64::EPSILON * condition + 1e-9) * n * (1.0 + condition.sqrt())
        };
        let run = |case: &Case, coordinates: &Coordinates, u: &[f64]| {
            let mut target = target(case, coordinates);
            let mut z = vec![f64::NAN; u.len()];
            assert!(target.place(&phi, u, &mut z));
            let (potential, by_z, by_phi) = evaluate(&mut target, &z, &phi);
            let by_u = match coordinates {
                Coordinates::Block(_) => unreachable!("tests/blocks.rs is about these"),
                Coordinates::Centred => DVector::from_vec(by_z),
                Coordinates::Informed { information, .. } => {
                    let t = root(case.model.structure(), information, &case.working(&phi));
                    t.transpose().lu().solve(&DVector::from_vec(by_z)).unwrap()
                }
            };
            (potential, by_u, by_phi)
        };
        let (got, got_by_u, got_by_phi) = run(&self.spectral, here, &b);
        let (want, want_by_x, want_by_phi) = run(&self.dense, there, x.as_slice());
        close("U", &[got], &[want], bound)?;
        close("∂U/∂u", got_by_u.as_slice(), (&self.basis * want_by_x).as_slice(), bound)?;
        if *here == Coordinates::Centred {
            // Differentiating a polynomial of 8 nodes on a panel of half-width 0.1 costs up to 8²/0.1 in accuracy.
            close("∂U/∂φ", &got_by_phi, &want_by_phi, 640.0 * bound)?;
        }
        Ok(())
    }
}

#[test]
fn the_fused_chart_is_the_dense_field_on_the_torus() {
    let open = (0.0, f64::INFINITY);
    let slanting = Anisotropy::new(35.0, 2.0).unwrap();
    for (ranges, correlation) in [
        (open, Kernel::Exponential.into()),
        ((0.1, 0.75), Kernel::Exponential.into()),
        (open, Kernel::Matern32.into()),
        (open, Kernel::Matern1.into()),
        (open, Kernel::Gaussian.into()),
        (open, Correlation { kernel: Kernel::Exponential, anisotropy: slanting }),
        (open, Correlation { kernel: Kernel::Matern1, anisotropy: slanting }),
    ] {
        let twins = twins(2, 3, correlation, ranges);
        let Structure::Spectral(spectral) = twins.spectral.model.structure() else { panic!() };
        let exact = spectral.table().embedding() == Embedding::Exact;
        assert_eq!(exact, ranges.1 < 1.0, "both embeddings are to be seen");
        twins.check(&Coordinates::Centred, &Coordinates::Centred).unwrap();
        for (kappa, shifted) in [(0.0, false), (0.0, true), (0.6, false), (0.6, true)] {
            let [here, there] = both_coordinates(kappa, shifted, &twins.basis);
            twins.check(&here, &there).unwrap_or_else(|e| panic!("{correlation:?} κ {kappa}: {e}"));
        }
    }
}

#[test]
fn a_slightly_different_chart_is_noticed() {
    let twins = twins(2, 3, Kernel::Exponential.into(), (0.0, f64::INFINITY));
    let [here, _] = both_coordinates(0.6, true, &twins.basis);
    let [_, there] = both_coordinates(0.6 + 1e-5, true, &twins.basis);
    assert!(twins.check(&here, &there).is_err());
}
