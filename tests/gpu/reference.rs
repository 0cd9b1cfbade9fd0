//! Holds the fast priors against dense products, both on the GPU: Σ v and Σ⁻¹ v of matrices written down entry by entry.
//!
//! With T the factor a block multiplies by, Σ v = T (T'v): the field at z = T'v. Σ⁻¹ is in the gradient of a prior without data: Σ⁻¹u in
//! centred coordinates, F'Σ⁻¹u in informed ones, u = F z.

use crate::common::torus::{TorusField, fourier};
use crate::common::{ar1_priors, field_priors, normals};
use crate::worlds::device;
use nalgebra::{DMatrix, DVector};
use sshmc::coordinates::Coordinates;
use sshmc::device::LatentState;
use sshmc::hamiltonian::MassKind;
use sshmc::likelihood::Nothing;
use sshmc::model::Model;
use sshmc::structure::{Ar1, Information, Kernel, Sides, Spectral, Structure, Torus};
use std::sync::Arc;

const UNIT: f64 = 1.0 / (1 << 23) as f64;

fn without_data(
    structure: Structure,
    hyperparameters: sshmc::prior::Hyperparameters,
) -> Arc<Model> {
    let nothing = Arc::new(Nothing { sites: structure.sites() });
    Arc::new(Model::new("prior", structure, nothing, hyperparameters).unwrap())
}

fn rounded(x: impl IntoIterator<Item = f64>) -> DVector<f64> {
    let values: Vec<f64> = x.into_iter().map(|x| f64::from(x as f32)).collect();
    DVector::from_vec(values)
}

/// One chain's field and gradient at z, from the fast block.
fn fast(model: &Arc<Model>, coordinates: &Coordinates, w: &[f64], z: &DVector<f64>) -> LatentState {
    let mass = match coordinates {
        Coordinates::Centred => MassKind::Precision(Information::NONE),
        _ => MassKind::Identity,
    };
    let phi = model.hyperparameters().coordinates(w);
    let chains = vec![(0, z.as_slice().to_vec())];
    let mut latents = device().latents(model, coordinates, &mass, 1, chains).unwrap();
    latents.evaluate(&phi, &mut [0.0], &mut vec![0.0; phi.len()]);
    let state = latents.snapshot(0).unwrap();
    latents.status().unwrap();
    state
}

/// A product on the GPU, and the size of what it adds up: an entry, an element and their product are each rounded to half a unit.
fn dense(matrix: &DMatrix<f64>, v: &DVector<f64>) -> (DVector<f64>, DVector<f64>) {
    let mut product = device().dense(v.len(), 1, None).unwrap();
    product.set(matrix.as_slice()).unwrap();
    let mut out = vec![f64::NAN; v.len()];
    product.multiply(v.as_slice(), &mut out).unwrap();
    (DVector::from_vec(out), 1.5 * UNIT * (matrix.abs() * v.abs()))
}

/// The difference of two vectors in units of what rounding explains: eight units in a block (see `sshmc::check`), and the product's own.
fn ratio(fast: &DVector<f64>, slow: &DVector<f64>, own: &DVector<f64>) -> f64 {
    let ratio = (fast - slow).norm() / (8.0 * UNIT * slow.norm() + own.norm());
    if ratio.is_nan() { f64::INFINITY } else { ratio }
}

fn judge(what: &str, right: f64, spoilt: f64) {
    println!("{what}: {right:.3} of the bound; {spoilt:.1} if a hyperparameter is off by 1e-4");
    assert!(right <= 1.0, "{what}: {right} of the bound");
    assert!(spoilt > 1.0, "{what}: a hyperparameter that is off passes, {spoilt} of the bound");
}

/// How far the matrix's hyperparameters are off in the twin that must fail.
const OFF: f64 = 1e-4;

struct Grid {
    model: Arc<Model>,
    field: TorusField,
    basis: DMatrix<f64>,
    w: [f64; 2],
}

impl Grid {
    fn new(kernel: Kernel) -> Self {
        let spectral =
            Spectral::with_sides(5, 7, 0.2, kernel, (0.01, 0.4), Sides::PowersOfTwo).unwrap();
        let (torus, table) = (spectral.torus(), spectral.table());
        let (correlation, embedding) = (table.correlation(), table.embedding());
        let field = TorusField { torus, correlation, embedding, cell: spectral.cell() };
        let model = without_data(Structure::Spectral(spectral), field_priors(0.2));
        Self { model, field, basis: fourier(torus), w: [0.3, 0.25f64.ln()] }
    }

    fn covariance(&self, off: f64) -> DMatrix<f64> {
        self.field.matrix(&[self.w[0], self.w[1] + off])
    }

    /// What every basis function is scaled by, squared, from the matrix itself.
    fn eigenvalues(&self) -> DVector<f64> {
        (&self.basis * self.covariance(0.0) * self.basis.transpose()).diagonal()
    }

    /// The cells of the torus that the field reports.
    fn window(&self, x: &DVector<f64>) -> DVector<f64> {
        let Torus { rows, columns, p2, .. } = self.field.torus;
        let cells = (0..rows * columns).map(|cell| x[cell / columns * p2 + cell % columns]);
        DVector::from_iterator(rows * columns, cells)
    }
}

#[test]
fn fields_on_a_grid_are_products_with_their_covariance() {
    for kernel in [Kernel::Exponential, Kernel::Matern32] {
        let grid = Grid::new(kernel);
        let v = rounded(normals(grid.field.torus.dim(), 3));
        let root = grid.eigenvalues().map(f64::sqrt);
        let z = rounded((&grid.basis * &v).component_mul(&root).iter().copied());
        let state = fast(&grid.model, &Coordinates::whitened(), &grid.w, &z);
        let field = DVector::from_vec(state.field);
        let compare = |off: f64| {
            let (product, own) = dense(&grid.covariance(off), &v);
            ratio(&field, &grid.window(&product), &grid.window(&own))
        };
        judge(&format!("Σ v on a grid, {kernel:?}"), compare(0.0), compare(OFF));
    }
}

#[test]
fn gradients_on_a_grid_are_products_with_the_precision() {
    for kernel in [Kernel::Exponential, Kernel::Matern32] {
        let grid = Grid::new(kernel);
        let root = grid.eigenvalues().map(f64::sqrt);
        let draw = DVector::from_vec(normals(grid.field.torus.dim(), 4));
        let u = rounded(draw.component_mul(&root).iter().copied());
        let state = fast(&grid.model, &Coordinates::Centred, &grid.w, &u);
        let gradient = DVector::from_vec(state.by_z);
        let compare = |off: f64| {
            let precision = grid.covariance(off).cholesky().unwrap().inverse();
            let (product, own) = dense(&precision, &(grid.basis.transpose() * &u));
            ratio(&gradient, &(&grid.basis * product), &own)
        };
        judge(&format!("Σ⁻¹ u on a grid, {kernel:?}"), compare(0.0), compare(OFF));
    }
}

const STEPS: usize = 150;
const PHI: f64 = 0.93;
const SIGMA: f64 = 0.35;

fn series() -> Arc<Model> {
    without_data(Structure::Ar1(Ar1::new(STEPS).unwrap()), ar1_priors())
}

/// Σ of a stationary autoregression, entry by entry.
fn autoregression(phi: f64) -> DMatrix<f64> {
    let variance = SIGMA * SIGMA / (1.0 - phi * phi);
    DMatrix::from_fn(STEPS, STEPS, |s, t| variance * phi.powi(s.abs_diff(t) as i32))
}

#[test]
fn series_are_products_with_their_covariance() {
    let w = [PHI.atanh(), SIGMA.ln()];
    let v = rounded(normals(STEPS, 5));
    let root = autoregression(PHI).cholesky().unwrap().l();
    let z = rounded((root.transpose() * &v).iter().copied());
    let state = fast(&series(), &Coordinates::whitened(), &w, &z);
    let field = DVector::from_vec(state.field);
    let compare = |off: f64| {
        let (product, own) = dense(&autoregression(PHI + off), &v);
        ratio(&field, &product, &own)
    };
    judge("Σ v of a series", compare(0.0), compare(OFF));
}

#[test]
fn gradients_of_a_series_are_products_with_the_precision() {
    let (w, kappa) = ([PHI.atanh(), SIGMA.ln()], 0.5);
    // Σ⁻¹ + K is the precision of another autoregression (see src/structure/ar1.rs), whose root F is.
    let k = kappa * SIGMA * SIGMA;
    let [alpha, beta] = [1.0 - PHI, 1.0 + PHI].map(|a| (a * a + k).sqrt());
    let middle = 0.5 * (alpha + beta);
    let (rho, scale) = (PHI / (middle * middle), SIGMA / middle);
    let first = SIGMA / (alpha * beta).sqrt();
    let factor = DMatrix::from_fn(STEPS, STEPS, |t, s| match t.checked_sub(s) {
        None => 0.0,
        Some(lag) => rho.powi(lag as i32) * if s == 0 { first } else { scale },
    });
    let z = rounded(normals(STEPS, 6));
    let information = Information::Scalar(kappa);
    let informed = Coordinates::Informed { information, shift: None };
    let state = fast(&series(), &informed, &w, &z);
    let (gradient, u) = (DVector::from_vec(state.by_z), DVector::from_vec(state.field));
    let compare = |off: f64| {
        let precision = autoregression(PHI + off).cholesky().unwrap().inverse();
        let (product, own) = dense(&precision, &u);
        let own = factor.transpose().abs() * own;
        ratio(&gradient, &(factor.transpose() * product), &own)
    };
    judge("F'Σ⁻¹ u of a series", compare(0.0), compare(OFF));
}
