//! Holds the cost of each model's gradient against the work it cannot avoid.
//!
//! Field and hyperparameter gradients together are compared with two plain real 2-D FFTs (LGCP), a plain loop with one
//! exponential and one division a step (stochastic volatility), and two matrix-vector products (logistic regression).

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

mod fft;
mod ratio;

use criterion::Criterion;
use fft::Fft2;
use nalgebra::{DMatrix, DVector};
use sshmc::Result;
use sshmc::coordinates::Coordinates;
use sshmc::data::{Counts, Returns};
use sshmc::hamiltonian::Target;
use sshmc::likelihood::{BernoulliLogit, Curvature, Likelihood};
use sshmc::model::{LgcpOptions, Model, lgcp, stochvol};
use sshmc::prior::{Hyperparameter, Hyperparameters};
use sshmc::random::{Purpose, Stream};
use sshmc::structure::{Groups, Information, Structure};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

fn main() -> Result<()> {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600))
        .configure_from_args();
    let (tori, steps, budget): (&[usize], &[usize], f64) = match ratio::measuring() {
        true => (&[64, 128, 256, 512, 1024], &[2000, 1_000_000], 1.0),
        false => (&[64], &[2000], 0.0),
    };
    for &torus in tori {
        cox_process(&mut criterion, torus, budget)?;
    }
    for &steps in steps {
        volatility(&mut criterion, steps, budget)?;
    }
    regression(&mut criterion, budget)?;
    criterion.final_summary();
    Ok(())
}

fn normals(index: u32, count: usize) -> Vec<f64> {
    let mut out = vec![0.0; count];
    Stream::new(1, 0, index, Purpose::Other).fill_normals(&mut out);
    out
}

/// A target with a point to evaluate it at.
struct Work {
    target: Target,
    z: Vec<f64>,
    phi: Vec<f64>,
    by_z: Vec<f64>,
    by_phi: Vec<f64>,
}

impl Work {
    fn new(model: &Arc<Model>, coordinates: &Coordinates) -> Result<Self> {
        let target = Target::new(model.clone(), coordinates)?;
        let (z, phi) = (normals(1, model.structure().dim()), model.start());
        let (by_z, by_phi) = (vec![0.0; z.len()], vec![0.0; phi.len()]);
        Ok(Self { target, z, phi, by_z, by_phi })
    }

    /// Moves φ a little each time, so that nothing that depends on it can be kept from the last call.
    fn run(&mut self) {
        self.phi[0] += 1e-9;
        let value = self.target.evaluate(&self.z, &self.phi, &mut self.by_z, &mut self.by_phi);
        black_box(value);
    }
}

/// The coordinates that take K = κI, with a shift.
fn informed(model: &Model, kappa: f64) -> Coordinates {
    let shift = normals(2, model.structure().dim()).iter().map(|x| 0.1 * x).collect();
    Coordinates::Informed { information: Information::Scalar(kappa), shift: Some(Arc::new(shift)) }
}

fn cox_process(criterion: &mut Criterion, torus: usize, budget: f64) -> Result<()> {
    let side = torus / 2;
    // About one point in eight cells, and a range short enough for the exact embedding, whose table is quick to make.
    let y = (0..side * side).map(|cell| f64::from(u8::from(cell * 7919 % 8 == 0))).collect();
    let priors = vec!["range=uniform(0.02,0.1)".to_owned()];
    let model =
        lgcp(&Counts::from_vec(side, side, y)?, &LgcpOptions { priors, ..LgcpOptions::default() })?;
    let model = Arc::new(model.with_start(&[0.0, 0.05f64.ln(), 0.0]));
    let mut fft = Fft2::new(torus);
    let mut group = criterion.benchmark_group(format!("lgcp torus {torus}"));
    group.bench_function("two real 2-D FFTs", |b| b.iter(|| fft.there_and_back()));
    for coordinates in [Coordinates::whitened(), informed(&model, 0.1)] {
        let mut work = Work::new(&model, &coordinates)?;
        let name = coordinates.name();
        let times = ratio::best(budget, || work.run(), || fft.there_and_back());
        ratio::report(&format!("LGCP gradient / two real 2-D FFTs, torus {torus}, {name}"), times);
        group.bench_function(format!("gradient {name}"), |b| b.iter(|| work.run()));
    }
    group.finish();
    Ok(())
}

fn volatility(criterion: &mut Criterion, steps: usize, budget: f64) -> Result<()> {
    let returns = Returns::from_vec(normals(3, steps))?;
    let model = Arc::new(stochvol(&returns, &[])?);
    let (x, mut out) = (normals(4, steps), vec![0.0; steps]);
    let squares: Vec<f64> = returns.y().iter().map(|y| y * y).collect();
    let mut plain = || {
        for ((out, x), square) in out.iter_mut().zip(&x).zip(&squares) {
            *out = square * (-x).exp() / (1.0 + x * x);
        }
        black_box(&mut out);
    };
    let mut group = criterion.benchmark_group(format!("sv T={steps}"));
    group.bench_function("plain loop", |b| b.iter(&mut plain));
    for coordinates in [Coordinates::whitened(), informed(&model, 0.5)] {
        let mut work = Work::new(&model, &coordinates)?;
        let name = coordinates.name();
        let times = ratio::best(budget, || work.run(), &mut plain);
        ratio::report(&format!("SV gradient / plain loop, T = {steps}, {name}"), times);
        group.bench_function(format!("gradient {name}"), |b| b.iter(|| work.run()));
    }
    group.finish();
    Ok(())
}

/// Ten groups of a hundred rows with twenty features, as in the paper.
const GROUPS: usize = 10;
const ROWS: usize = 100;
const FEATURES: usize = 20;

fn regression(criterion: &mut Criterion, budget: f64) -> Result<()> {
    let design = normals(5, GROUPS * ROWS * FEATURES);
    let labels: Vec<f64> = normals(6, GROUPS * ROWS).iter().map(|x| x.signum()).collect();
    let rows = (0..GROUPS).map(|g| g * ROWS..(g + 1) * ROWS).collect();
    let likelihood = BernoulliLogit::new(&labels, &design, rows, FEATURES)?;
    let curvature = likelihood.curvature(&vec![0.0; GROUPS * FEATURES], &[]);
    let structure = Structure::Groups(Groups::new(GROUPS, FEATURES)?);
    let unknowns = Hyperparameters::new(vec![Hyperparameter::logistic_gamma()]);
    let model = Arc::new(
        Model::new("logistic", structure, Arc::new(likelihood), unknowns)?.with_start(&[0.0]),
    );
    let mut products = Products::new(&design);
    let mut all = vec![Coordinates::whitened()];
    if let Curvature::Blocks(blocks) = curvature {
        let information = Information::Blocks(Arc::new(blocks));
        all.push(Coordinates::Informed { information, shift: None });
    }
    let mut group = criterion.benchmark_group("logistic");
    group.bench_function("two matrix-vector products", |b| b.iter(|| products.run()));
    for coordinates in all {
        let mut work = Work::new(&model, &coordinates)?;
        let name = coordinates.name();
        let times = ratio::best(budget, || work.run(), || products.run());
        ratio::report(&format!("logistic gradient / two matrix-vector products, {name}"), times);
        group.bench_function(format!("gradient {name}"), |b| b.iter(|| work.run()));
    }
    group.finish();
    Ok(())
}

/// Xw and X'g of every group, X' being stored column by column.
struct Products {
    transposed: Vec<DMatrix<f64>>,
    w: DVector<f64>,
    margins: DVector<f64>,
    gradient: DVector<f64>,
}

impl Products {
    fn new(design: &[f64]) -> Self {
        let block = |rows: &[f64]| DMatrix::from_column_slice(FEATURES, ROWS, rows);
        Self {
            transposed: design.chunks_exact(ROWS * FEATURES).map(block).collect(),
            w: DVector::from_vec(normals(7, FEATURES)),
            margins: DVector::zeros(ROWS),
            gradient: DVector::zeros(FEATURES),
        }
    }

    fn run(&mut self) {
        for x in &self.transposed {
            self.margins.gemv_tr(1.0, x, &self.w, 0.0);
            self.gradient.gemv(1.0, x, &self.margins, 0.0);
            black_box(&mut self.gradient);
        }
    }
}
