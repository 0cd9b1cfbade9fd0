//! Builds the models, the points and the comparisons that several suites share.

#![allow(dead_code, reason = "each test binary uses a part of this")]
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

pub(crate) mod keeper;
pub(crate) mod probe;
pub(crate) mod torus;

use nalgebra::{DMatrix, DVector};
use sshmc::coordinates::Coordinates;
use sshmc::data::{Counts, GroupedTable, Returns, Table};
use sshmc::hamiltonian::MassKind;
use sshmc::likelihood::{CountLikelihood, GaussianNoise};
use sshmc::model::{
    Column, LgcpOptions, MeanTerm, Model, funnel, gaussian, gaussian_noise_learnt, lgcp, logistic,
    stochvol,
};
use sshmc::prior::{Distribution, Hyperparameter, Hyperparameters, Scale};
use sshmc::random::{Purpose, Stream};
use sshmc::structure::{Ar1, Dense, Information, Kernel, Spectral, Stationary, Structure};
use std::io::Cursor;
use std::sync::Arc;

/// Chance that a correct program fails a statistical test.
pub(crate) const FALSE_ALARM: f64 = 1e-6;

/// A model with a name for messages.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) model: Arc<Model>,
}

/// Standard normal numbers that depend on nothing but the seed.
pub(crate) fn normals(n: usize, seed: u32) -> Vec<f64> {
    let mut out = vec![0.0; n];
    Stream::new(20_140_811, 0, seed, Purpose::Other).fill_normals(&mut out);
    out
}

/// Every model, small and without symmetry.
pub(crate) fn cases() -> Vec<Case> {
    let case = |name, model| Case { name, model: Arc::new(model) };
    vec![
        case("lgcp", cox(LgcpOptions::default())),
        case("lgcp, bounded range", cox(bounded())),
        case("sv", series(5, &[])),
        case("logistic", regression(&[])),
        case("funnel", funnel(4, &[]).unwrap()),
        case("gaussian, ar1", measured_series()),
        case("gaussian, dense", measured_points()),
        case("gaussian, spectral", measured_grid()),
        case("lgcp, negative binomial", cox(scattered())),
        case("gaussian, noise learnt", noisy_series()),
    ]
}

fn bounded() -> LgcpOptions {
    let priors = vec!["range=uniform(0.05,0.3)".to_owned(), "sigma2=inv-gamma(3,2)".to_owned()];
    LgcpOptions { priors, ..LgcpOptions::default() }
}

fn scattered() -> LgcpOptions {
    LgcpOptions { likelihood: CountLikelihood::NegativeBinomial, ..LgcpOptions::default() }
}

/// Counts on 2 × 3 cells, one of them unobserved, each with an exposure of its own.
fn cox(options: LgcpOptions) -> Model {
    let counts = vec![3.0, 0.0, f64::NAN, 1.0, 0.0, 5.0];
    let mut csv = String::from("i,j,exposure\n");
    for cell in 0..6 {
        csv += &format!("{},{},{}\n", cell / 3, cell % 3, 0.5 + 0.25 * f64::from(cell));
    }
    let exposure = Table::from_reader("exposure", Cursor::new(csv)).unwrap();
    let counts = Counts::from_vec(2, 3, counts).unwrap().with_exposure_table(exposure).unwrap();
    lgcp(&counts, &options).unwrap()
}

/// Returns of a few steps.
pub(crate) fn series(steps: usize, priors: &[String]) -> Model {
    let y = normals(steps, 1).iter().map(|e| 0.7 * e + 0.1).collect();
    stochvol(&Returns::from_vec(y).unwrap(), priors).unwrap()
}

/// Three groups of unequal size with two features.
pub(crate) fn regression(priors: &[String]) -> Model {
    let groups: Vec<String> = ["a", "b", "a", "c", "a", "b", "b"].map(String::from).to_vec();
    let label = vec![1.0, -1.0, -1.0, 1.0, 1.0, 1.0, -1.0];
    let features = vec!["x0".to_owned(), "x1".to_owned()];
    let table = GroupedTable::from_rows(&groups, features, normals(14, 2), label).unwrap();
    logistic(&table, priors).unwrap()
}

/// Hyperparameters of an AR(1) process and of a field, with proper priors.
pub(crate) fn ar1_priors() -> Hyperparameters {
    let mut all = Hyperparameters::new(vec![
        Hyperparameter::volatility_phi(),
        Hyperparameter::volatility_sigma(),
    ]);
    all.set_prior("phi=beta(4,2)").unwrap();
    all.set_prior("sigma=lognormal(-0.5,0.5)").unwrap();
    all
}

pub(crate) fn field_priors(median: f64) -> Hyperparameters {
    Hyperparameters::new(vec![
        Hyperparameter::field_sigma(),
        Hyperparameter::field_range(median).unwrap(),
    ])
}

/// An AR(1) process with a covariate, one step unmeasured.
fn measured_series() -> Model {
    let mut all: Vec<Hyperparameter> = ar1_priors().iter().cloned().collect();
    let slope = Distribution::Normal { mean: 0.3, sd: 2.0 };
    all.push(Hyperparameter::new("slope", Scale::Linear(1.0), slope).unwrap());
    let precision = vec![2.0, 0.5, 0.0, 4.0, 1.0];
    let noise = GaussianNoise::new(normals(5, 3), precision).unwrap();
    let structure = Structure::Ar1(Ar1::new(5).unwrap());
    let column = Column::Values(vec![1.0, -0.5, 0.3, 2.0, -1.2]);
    Model::new("gaussian", structure, Arc::new(noise), Hyperparameters::new(all))
        .unwrap()
        .with_mean(MeanTerm { hyperparameter: 2, scale: 1.5, column })
        .unwrap()
        .with_offset(0.4)
}

/// An AR(1) process whose noise is learnt, one step unmeasured.
fn noisy_series() -> Model {
    let mut all: Vec<Hyperparameter> = ar1_priors().iter().cloned().collect();
    let noise = Distribution::LogNormal { m: -0.3, s: 0.6 };
    all.push(Hyperparameter::new("noise", Scale::Exp(1.0), noise).unwrap());
    let structure = Structure::Ar1(Ar1::new(5).unwrap());
    let precision = vec![2.0, 0.5, 0.0, 4.0, 1.0];
    gaussian_noise_learnt(structure, Hyperparameters::new(all), normals(5, 6), precision).unwrap()
}

/// Points on a wavy line.
pub(crate) fn points(n: usize) -> Vec<(f64, f64)> {
    (0..n).map(|i| i as f64).map(|i| (0.7 * i, (1.9 * i).sin())).collect()
}

fn measured_points() -> Model {
    let dense = Dense::new(Arc::new(Stationary::exponential(&points(5)).unwrap())).unwrap();
    let precision = vec![1.0, 3.0, 0.2, 0.0, 2.0];
    gaussian(Structure::Dense(dense), field_priors(1.0), normals(5, 4), precision).unwrap()
}

fn measured_grid() -> Model {
    let ranges = (0.0, f64::INFINITY);
    let spectral = Spectral::new(3, 1, 0.5, Kernel::Matern32, ranges).unwrap();
    let precision = vec![1.5, 0.4, 3.0];
    gaussian(Structure::Spectral(spectral), field_priors(0.7), normals(3, 5), precision).unwrap()
}

/// Information that suits a structure's latents, with blocks where it takes them.
pub(crate) fn information(structure: &Structure) -> Information {
    let Structure::Groups(groups) = structure else { return Information::Scalar(0.7) };
    let size = groups.size();
    let block = |g: usize| {
        let x = DMatrix::from_column_slice(3, size, &normals(3 * size, 10 + g as u32));
        x.tr_mul(&x)
    };
    Information::Blocks(Arc::new((0..groups.dim() / size).map(block).collect()))
}

impl Case {
    /// One of each kind: centred, whitened, shifted, informed with and without a shift.
    pub(crate) fn coordinates(&self) -> Vec<Coordinates> {
        let structure = self.model.structure();
        let shift = Some(Arc::new(normals(structure.dim(), 20)));
        let informed = |information, shift| Coordinates::Informed { information, shift };
        vec![
            Coordinates::Centred,
            Coordinates::whitened(),
            informed(Information::NONE, shift.clone()),
            informed(Information::Scalar(0.4), None),
            informed(information(structure), shift),
        ]
    }

    /// Identity, prior precision, and prior precision with information.
    pub(crate) fn masses(&self) -> Vec<MassKind> {
        let informed = match information(self.model.structure()) {
            Information::Scalar(_) => Information::Scalar(1.1),
            blocks => blocks,
        };
        let precision = MassKind::Precision;
        vec![MassKind::Identity, precision(Information::NONE), precision(informed)]
    }

    /// A point without symmetry: z and φ.
    pub(crate) fn point(&self, seed: u32) -> (Vec<f64>, Vec<f64>) {
        let z = normals(self.model.structure().dim(), 100 + seed);
        let mut phi = self.model.start();
        let noise = normals(phi.len(), 200 + seed);
        phi.iter_mut().zip(noise).for_each(|(p, e)| *p += 0.3 * e);
        (z, phi)
    }

    /// Working values of the structure's hyperparameters at φ.
    pub(crate) fn working(&self, phi: &[f64]) -> Vec<f64> {
        let (mut w, mut dw) = (phi.to_vec(), phi.to_vec());
        self.model.hyperparameters().working(phi, &mut w, &mut dw);
        w.truncate(self.model.structure().parameters());
        w
    }

    /// Σ cⱼ Zⱼ in the structure's basis at φ.
    pub(crate) fn mean(&self, phi: &[f64]) -> DVector<f64> {
        let structure = self.model.structure();
        let mut mean = DVector::zeros(structure.dim());
        for term in self.model.mean() {
            let w = self.model.hyperparameters()[term.hyperparameter]
                .working(phi[term.hyperparameter])
                .0;
            let column = match &term.column {
                Column::Constant => structure.constant(),
                Column::Values(values) => values.clone(),
            };
            mean += DVector::from_vec(column) * (term.scale * w);
        }
        mean
    }
}

/// The matrix of a linear map, from unit vectors and into dirty buffers.
pub(crate) fn matrix(n: usize, mut map: impl FnMut(&[f64], &mut [f64])) -> DMatrix<f64> {
    let mut matrix = DMatrix::from_element(n, n, f64::NAN);
    for j in 0..n {
        let unit = DVector::from_fn(n, |i, _| f64::from(u8::from(i == j)));
        map(unit.as_slice(), matrix.column_mut(j).as_mut_slice());
    }
    matrix
}

/// T of V = (Σ(w)⁻¹ + K)⁻¹, column by column.
pub(crate) fn root(structure: &Structure, information: &Information, w: &[f64]) -> DMatrix<f64> {
    let mut factor = structure.factor(information).unwrap();
    assert!(factor.set(w));
    matrix(structure.dim(), |v, out| factor.apply(v, out))
}

/// The K that the factor of (Σ(w)⁻¹ + K)⁻¹ holds, column by column.
pub(crate) fn information_matrix(
    structure: &Structure,
    information: &Information,
    w: &[f64],
) -> DMatrix<f64> {
    let mut factor = structure.factor(information).unwrap();
    assert!(factor.set(w));
    matrix(structure.dim(), |v, out| factor.information(v, out))
}

/// log|det A|.
pub(crate) fn log_det(a: &DMatrix<f64>) -> f64 {
    a.clone().lu().u().diagonal().map(|d| d.abs().ln()).sum()
}

/// Largest over smallest singular value.
pub(crate) fn condition(a: &DMatrix<f64>) -> f64 {
    let values = a.singular_values();
    values.max() / values.min()
}

/// Says which entry is furthest beyond the bound, if any is.
pub(crate) fn close(what: &str, got: &[f64], want: &[f64], bound: f64) -> Result<(), String> {
    assert_eq!(got.len(), want.len(), "{what}");
    let mut worst = (bound, None);
    for (i, (&got, &want)) in got.iter().zip(want).enumerate() {
        let error = (got - want).abs();
        let fine = error <= worst.0;
        if !fine {
            worst = (error, Some((i, got, want)));
        }
    }
    match worst.1 {
        None => Ok(()),
        Some((i, got, want)) => {
            Err(format!("{what} [{i}]: got {got:e}, want {want:e}, bound {bound:e}"))
        }
    }
}

/// Step of the five-point differences: their error is h⁴ f⁽⁵⁾/30 and their noise 1.5 ε f/h.
pub(crate) const STEP: f64 = 1e-3;
/// How much larger than the function its fifth derivative may be.
const FIFTH_DERIVATIVE: f64 = 300.0;

/// Five-point derivative in coordinate k.
pub(crate) fn difference(x: &[f64], k: usize, step: f64, mut f: impl FnMut(&[f64]) -> f64) -> f64 {
    let mut at = |steps: f64| {
        let mut moved = x.to_vec();
        moved[k] += steps * step;
        f(&moved)
    };
    (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * step)
}

/// Bound on the error of [`difference`] for a function whose terms add up to `size`, computed by algebra of a condition.
pub(crate) fn difference_bound(size: f64, condition: f64) -> f64 {
    size * (FIFTH_DERIVATIVE * STEP.powi(4) / 30.0 + 16.0 * condition * f64::EPSILON / STEP)
}
