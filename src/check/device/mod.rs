//! Compares what a GPU computes with the same in double precision on the processor.
//!
//! Tolerances are derived from the precision of a float (2⁻²⁴ of a number) and the arithmetic done, not chosen. Each comparison can be
//! spoilt, so that tests can see it fail. What compares latents takes any device: the processor's own is held to double precision.

mod energies;
mod problem;
mod products;
mod residue;
mod trajectory;
mod worst;

pub use energies::{EnergyPoint, audit};
pub use problem::Problem;
pub use products::{NORMAL_TOLERANCE, normals_error, product_error};
pub use residue::residue;
pub use trajectory::{COMPARED, Spoilt, trajectory_errors};
pub use worst::{Worst, largest, largest_difference};

use crate::data::{Counts, Returns, Table};
use crate::device::{Device, Flow};
use crate::error::Result;
use crate::model::{LgcpOptions, Model, lgcp, stochvol};
use crate::random::{Purpose, Stream};
use crate::sample::EnergyAudit;
use crate::structure::{Covariance, Sides, Stationary};
use nalgebra::DMatrix;
use std::io::Cursor;
use std::sync::Arc;

/// What one comparison found.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What was compared.
    pub name: String,
    /// The worst error.
    pub worst: f64,
    /// What it may be at most.
    pub tolerance: f64,
    /// Where the worst error was, or what it is measured in.
    pub note: String,
}

impl Finding {
    /// Whether the device may be used.
    pub fn passes(&self) -> bool {
        self.worst <= self.tolerance
    }
}

/// Standard normal numbers that depend on nothing but an index.
fn normals(n: usize, index: u32) -> Vec<f64> {
    let mut out = vec![0.0; n];
    Stream::new(20_140_811, 0, index, Purpose::Other).fill_normals(&mut out);
    out
}

/// Counts on a grid, about a tenth of the cells unobserved.
fn counts(rows: usize, columns: usize) -> Result<Arc<Model>> {
    let noise = normals(rows * columns, 77);
    let count = |e: &f64| if *e > 1.3 { f64::NAN } else { (2.0 * e.exp()).round() };
    let mut counts: Vec<f64> = noise.iter().map(count).collect();
    counts[0] = 1.0;
    let options = LgcpOptions { sides: Sides::PowersOfTwo, ..LgcpOptions::default() };
    Ok(Arc::new(lgcp(&Counts::from_vec(rows, columns, counts)?, &options)?))
}

/// Counts on a grid of which every cell has an exposure of its own.
fn exposed(rows: usize, columns: usize) -> Result<Arc<Model>> {
    let noise = normals(rows * columns, 79);
    let counts = noise.iter().map(|e| e.exp().round()).collect();
    let exposure = |cell: usize| 0.25 + (0.7 * cell as f64).sin().abs() + (cell % 5) as f64;
    let line = |cell| format!("{},{},{}\n", cell / columns, cell % columns, exposure(cell));
    let lines: String = (0..rows * columns).map(line).collect();
    let table = Table::from_reader("exposure", Cursor::new(format!("i,j,exposure\n{lines}")))?;
    let counts = Counts::from_vec(rows, columns, counts)?.with_exposure_table(table)?;
    let options = LgcpOptions { sides: Sides::PowersOfTwo, ..LgcpOptions::default() };
    Ok(Arc::new(lgcp(&counts, &options)?))
}

/// Returns.
fn returns(steps: usize) -> Result<Arc<Model>> {
    let y = normals(steps, 31).iter().map(|e| 0.7 * e + 0.1).collect();
    Ok(Arc::new(stochvol(&Returns::from_vec(y)?, &[])?))
}

/// Sizes around those of workgroups and lines of transforms, square and not, one chain and several.
fn problems() -> Result<Vec<Problem>> {
    let problem = |name: &str, model, kappa, chains| Problem {
        name: name.to_owned(),
        model,
        kappa,
        chains,
        step: 0.1,
    };
    Ok(vec![
        problem("grid of 5 x 63", counts(5, 63)?, 0.3, 2),
        problem("grid of 30 x 21", counts(30, 21)?, 0.0, 3),
        problem("grid of 33 x 32", counts(33, 32)?, 0.1, 2),
        problem("grid of 12 x 17 with exposure", exposed(12, 17)?, 0.2, 2),
        problem("7 returns", returns(7)?, 0.0, 1),
        problem("1025 returns", returns(1025)?, 0.5, 3),
        problem("5000 returns", returns(5000)?, 0.4, 2),
    ])
}

/// Points on a wavy line.
fn points(n: usize) -> Vec<(f64, f64)> {
    (0..n).map(|i| i as f64).map(|i| (0.7 * i, (1.9 * i).sin())).collect()
}

/// Steps of a trajectory.
const STEPS: usize = 5;
/// Side of the grid and length of the series whose energies are compared.
const ENERGY_SIDE: usize = 128;
const ENERGY_STEPS: usize = 100_000;
/// Potentials must be good to this: a difference of it in log probability goes unseen.
const ENERGY_TOLERANCE: f64 = 1e-3;

/// Compares a device: the worst error, and a remark.
type Compare = Box<dyn Fn(&Device) -> Result<(f64, String)>>;

/// One comparison of a device with double precision.
pub struct Comparison {
    name: String,
    tolerance: f64,
    compare: Compare,
}

impl std::fmt::Debug for Comparison {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Comparison").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Comparison {
    fn new(
        name: impl Into<String>,
        tolerance: f64,
        compare: impl Fn(&Device) -> Result<(f64, String)> + 'static,
    ) -> Self {
        Self { name: name.into(), tolerance, compare: Box::new(compare) }
    }

    /// What it compares.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Compares.
    pub fn make(&self, device: &Device) -> Result<Finding> {
        let (worst, note) = (self.compare)(device)?;
        Ok(Finding { name: self.name.clone(), worst, tolerance: self.tolerance, note })
    }
}

fn numbers() -> [Comparison; 2] {
    let sums = Comparison::new("sums of two floats", 0.0, |device| {
        let exact = device.as_gpu().is_none_or(|gpu| gpu.sums_exactly());
        let note = "1 if the driver rearranges compensated arithmetic".to_owned();
        Ok((f64::from(u8::from(!exact)), note))
    });
    let normals = Comparison::new("standard normals", NORMAL_TOLERANCE, |device| {
        Ok((normals_error(device, &counts(30, 21)?, 0)?, "momenta of two chains".into()))
    });
    [sums, normals]
}

/// Trajectories of a problem, both flows after each other, and what garbage leaves behind.
fn trajectories(problem: Problem) -> Vec<Comparison> {
    let mut all = Vec::new();
    for flow in [Flow::Rotation, Flow::Drift] {
        let problem = problem.clone();
        let name = format!("gradients and {flow:?} steps, {}", problem.name).to_lowercase();
        all.push(Comparison::new(name, 1.0, move |device| {
            let found = trajectory_errors(device, &problem, flow, STEPS, Spoilt::default())?;
            let each = found.iter().map(|w| format!("{} {:.3}", w.what, w.ratio));
            let each = each.collect::<Vec<_>>().join(", ");
            let worst = found.iter().max_by(|a, b| a.ratio.total_cmp(&b.ratio));
            let text = worst.map_or("nothing", |worst| &worst.text);
            let note = format!("of the rounding bound: {each}; worst {text}");
            Ok((largest(found.iter().map(|worst| worst.ratio)), note))
        }));
    }
    all.push(Comparison::new(format!("dirty memory, {}", problem.name), 0.0, move |device| {
        Ok((residue(device, &problem, false)? as f64, "numbers with other bits after it".into()))
    }));
    all
}

fn products() -> Comparison {
    Comparison::new("dense products", 1.0, |device| {
        let n = 300;
        let mut sigma = DMatrix::zeros(n, n);
        Stationary::exponential(&points(n))?.fill(&[0.2, 0.5], &mut sigma);
        let note = "of the rounding bound; 300 x 300 in slabs of 101 rows".to_owned();
        Ok((product_error(device, &sigma, 2, Some(101), 0.0)?, note))
    })
}

/// Makes a point to compare energies at.
type Make = fn(f64) -> Result<EnergyPoint>;
/// Makes a model to fit.
type Build = fn() -> Result<Arc<Model>>;

fn energies() -> Vec<Comparison> {
    let field: Make = |kappa| EnergyPoint::of_field(ENERGY_SIDE, kappa);
    let series: Make = |kappa| {
        let (name, model) = ("far from typical".to_owned(), returns(ENERGY_STEPS)?);
        Ok(EnergyPoint::of(Problem { name, model, kappa, chains: 1, step: 0.0 }))
    };
    let (grid, steps) =
        (format!("{ENERGY_SIDE} x {ENERGY_SIDE}"), format!("{ENERGY_STEPS} returns"));
    let cases = [(&grid, 0.0, field), (&grid, 0.125, field), (&steps, 0.5, series)];
    let points = cases.map(|(name, kappa, make)| {
        let name = format!("energy, {name}, kappa {kappa}");
        Comparison::new(name, ENERGY_TOLERANCE, move |device| {
            Ok((make(kappa)?.error(device)?, "in units of log probability".into()))
        })
    });
    let fits: [(&str, Build); 2] =
        [("32 x 32", || counts(32, 32)), ("1000 returns", || returns(1000))];
    let audits = fits.map(|(name, model)| {
        let name = format!("energy audit of a fit, {name}");
        Comparison::new(name, EnergyAudit::SUSPECT, move |device| {
            let audit = audit(device, &model()?)?;
            Ok((audit.worst, format!("in H along {} trajectories", audit.transitions)))
        })
    });
    points.into_iter().chain(audits).collect()
}

/// All that a GPU computes, as comparisons to be made one after the other.
pub fn conformance() -> Result<Vec<Comparison>> {
    let mut all = Vec::from(numbers());
    all.extend(problems()?.into_iter().flat_map(trajectories));
    all.push(products());
    all.extend(energies());
    Ok(all)
}
