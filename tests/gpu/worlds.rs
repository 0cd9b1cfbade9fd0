//! Small problems for GPUs, and the device they run on.

use crate::common::{ar1_priors, normals};
pub(crate) use sshmc::check::Problem as World;
use sshmc::data::{Counts, Covariate, Raster, Returns, Table};
use sshmc::device::{Device, Flow, Latents};
use sshmc::likelihood::CountLikelihood;
use sshmc::model::{LgcpOptions, Model, gaussian, gaussian_noise_learnt, lgcp, stochvol};
use sshmc::prior::{Distribution, Hyperparameter, Hyperparameters, Scale};
use sshmc::structure::{Anisotropy, Ar1, Kernel, Sides, Structure};
use std::io::Cursor;
use std::sync::{Arc, LazyLock};

/// The adapter under test: the best, or the one whose name contains `SSHMC_TEST_ADAPTER`.
pub(crate) fn device() -> Device {
    static DEVICE: LazyLock<Device> = LazyLock::new(|| {
        let opened = match std::env::var("SSHMC_TEST_ADAPTER") {
            Ok(part) => Device::gpu_named(&part),
            Err(_) => Device::gpu(),
        };
        opened.unwrap_or_else(|error| panic!("these tests need an adapter: {error}"))
    });
    DEVICE.clone()
}

/// Counts on a grid, about a tenth of the cells unobserved.
pub(crate) fn cox(rows: usize, columns: usize, mu: Option<f64>) -> Arc<Model> {
    cox_with(rows, columns, LgcpOptions { mu, ..LgcpOptions::default() })
}

/// The same with other options.
pub(crate) fn cox_with(rows: usize, columns: usize, options: LgcpOptions) -> Arc<Model> {
    let noise = normals(rows * columns, 77);
    let count = |e: &f64| if *e > 1.3 { f64::NAN } else { (2.0 * e.exp()).round() };
    let mut counts: Vec<f64> = noise.iter().map(count).collect();
    counts[0] = 1.0;
    let counts = Counts::from_vec(rows, columns, counts).unwrap();
    let options = LgcpOptions { sides: Sides::PowersOfTwo, ..options };
    Arc::new(lgcp(&counts, &options).unwrap())
}

/// Counts on a grid and two covariates, one of which follows the rows.
pub(crate) fn with_covariates(rows: usize, columns: usize) -> Arc<Model> {
    covariates_and(CountLikelihood::Poisson, rows, columns)
}

/// The same with counts of another law.
pub(crate) fn covariates_and(
    likelihood: CountLikelihood,
    rows: usize,
    columns: usize,
) -> Arc<Model> {
    let noise = normals(rows * columns, 78);
    let counts = noise.iter().map(|e| (1.5 * e.exp()).round()).collect();
    let counts = Counts::from_vec(rows, columns, counts).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let grid = counts.grid();
    let covariate = |name: &str, value: fn(f64, f64) -> f64| {
        let line = |cell| {
            let (i, j) = grid.position(cell);
            let (x, y) = grid.centre(i, j);
            format!("{x},{y},{}\n", value(x, y))
        };
        let path = directory.path().join(format!("{name}.csv"));
        let lines: String = (0..grid.cells()).map(line).collect();
        std::fs::write(&path, format!("x,y,value\n{lines}")).unwrap();
        let raster = Raster::read(&path, ((0.0, 0.0), grid.extent())).unwrap();
        Covariate::new(name, &raster, &counts).unwrap().0
    };
    let covariates = vec![
        covariate("slope", |x, y| y + 0.1 * (9.0 * x).sin()),
        covariate("wave", |x, y| (7.0 * x + 2.0 * y).cos()),
    ];
    let sides = Sides::PowersOfTwo;
    let options = LgcpOptions { covariates, likelihood, sides, ..LgcpOptions::default() };
    Arc::new(lgcp(&counts, &options).unwrap())
}

/// Counts on a grid of which every observed cell has an exposure of its own.
pub(crate) fn exposed(rows: usize, columns: usize) -> Arc<Model> {
    let noise = normals(rows * columns, 79);
    let count = |e: &f64| if *e > 1.5 { f64::NAN } else { e.exp().round() };
    let counts = Counts::from_vec(rows, columns, noise.iter().map(count).collect()).unwrap();
    let exposure = |cell: usize| 0.25 + (0.7 * cell as f64).sin().abs() + (cell % 5) as f64;
    let line = |cell| format!("{},{},{}\n", cell / columns, cell % columns, exposure(cell));
    let lines: String = (0..rows * columns).map(line).collect();
    let table = Table::from_reader("exposure", Cursor::new(format!("i,j,exposure\n{lines}")));
    let counts = counts.with_exposure_table(table.unwrap()).unwrap();
    let options = LgcpOptions { sides: Sides::PowersOfTwo, ..LgcpOptions::default() };
    Arc::new(lgcp(&counts, &options).unwrap())
}

/// Returns of a series; a single step is measured with noise, since returns must vary.
pub(crate) fn series(steps: usize) -> Arc<Model> {
    if steps == 1 {
        let one = Structure::Ar1(Ar1::new(1).unwrap());
        return Arc::new(gaussian(one, ar1_priors(), vec![0.4], vec![2.0]).unwrap());
    }
    let y = normals(steps, 31).iter().map(|e| 0.7 * e + 0.1).collect();
    Arc::new(stochvol(&Returns::from_vec(y).unwrap(), &[]).unwrap())
}

/// A series measured with noise of unknown scale.
pub(crate) fn noisy(steps: usize) -> Arc<Model> {
    let mut all: Vec<Hyperparameter> = ar1_priors().iter().cloned().collect();
    let prior = Distribution::LogNormal { m: -0.3, s: 0.6 };
    all.push(Hyperparameter::new("noise", Scale::Exp(1.0), prior).unwrap());
    let structure = Structure::Ar1(Ar1::new(steps).unwrap());
    let precision = (0..steps).map(|t| f64::from(t as u32 % 4) * 0.5).collect();
    let y = normals(steps, 33);
    Arc::new(gaussian_noise_learnt(structure, Hyperparameters::new(all), y, precision).unwrap())
}

/// Sizes around those of workgroups and lines, square and not, one chain and many; every length of transform's last pass.
pub(crate) fn worlds() -> Vec<World> {
    let smooth = LgcpOptions { kernel: Kernel::Gaussian, ..LgcpOptions::default() };
    let beyond = CountLikelihood::NegativeBinomial;
    let scattered = LgcpOptions { likelihood: beyond, ..LgcpOptions::default() };
    let anisotropy = Anisotropy::new(90.0, 2.0).unwrap();
    let along = LgcpOptions { kernel: Kernel::Matern1, anisotropy, ..LgcpOptions::default() };
    let world = |name: &str, model, kappa, chains| World {
        name: name.to_owned(),
        model,
        kappa,
        chains,
        step: 0.1,
    };
    vec![
        world("2 x 2", cox(2, 2, None), 0.5, 1),
        world("3 x 5, fixed mean", cox(3, 5, Some(1.0)), 0.0, 3),
        world("5 x 63", cox(5, 63, None), 0.3, 2),
        world("64 x 2", cox(64, 2, None), 0.2, 3),
        world("30 x 21", cox(30, 21, None), 0.0, 3),
        world("33 x 32", cox(33, 32, None), 0.1, 2),
        world("20 x 30, covariates", with_covariates(20, 30), 0.3, 2),
        world("9 x 9, covariates", with_covariates(9, 9), 0.0, 3),
        world("16 x 9, Gaussian", cox_with(16, 9, smooth), 0.3, 2),
        world("16 x 9, Matern 1, anisotropic", cox_with(16, 9, along), 0.3, 2),
        world("12 x 17, exposure", exposed(12, 17), 0.2, 2),
        world("11 x 14, negative binomial", cox_with(11, 14, scattered), 0.2, 2),
        world("9 x 12, negative binomial, covariates", covariates_and(beyond, 9, 12), 0.0, 3),
        world("1030 steps, noise learnt", noisy(1030), 0.4, 2),
        world("1 step", series(1), 0.5, 2),
        world("7 returns", series(7), 0.0, 1),
        world("8 returns", series(8), 0.5, 3),
        world("1023 returns", series(1023), 0.5, 2),
        world("1024 returns", series(1024), 0.0, 2),
        world("1025 returns", series(1025), 0.5, 3),
        world("5000 returns", series(5000), 0.4, 2),
    ]
}

/// The longest lines of a transform that the portable limits allow, along either side, and a series of more chunks than a workgroup
/// has invocations: too large for a trajectory.
pub(crate) fn large_worlds() -> Vec<World> {
    let world = |name: &str, model, kappa| World {
        name: name.to_owned(),
        model,
        kappa,
        chains: 1,
        step: 0.0,
    };
    vec![
        world("1024 x 2", cox(1024, 2, None), 0.2),
        world("2 x 1024", cox(2, 1024, None), 0.0),
        world("200000 returns", series(200_000), 0.4),
    ]
}

/// Takes a step so long that the proposal differs from the saved point, and decides.
pub(crate) fn transition(latents: &mut dyn Latents, phi: &[f64], index: u32, accepted: &[bool]) {
    let (mut u, mut du) = (vec![0.0; accepted.len()], vec![0.0; phi.len()]);
    latents.refresh(index, phi);
    latents.save();
    latents.kick(&vec![0.05; accepted.len()], Flow::Rotation);
    latents.flow(&vec![0.3; accepted.len()], Flow::Rotation);
    latents.evaluate(phi, &mut u, &mut du);
    latents.settle(accepted);
}
