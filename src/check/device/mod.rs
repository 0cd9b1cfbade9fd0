//! Compares what a GPU computes with the same in double precision on the processor.
//!
//! Tolerances are derived from the precision of a float (2⁻²⁴ of a number) and the arithmetic done, not chosen. Each comparison can be
//! spoilt, by `error`, so that tests can see it fail.

mod energies;
mod problem;
mod products;
mod trajectory;

pub use energies::{EnergyPoint, audit};
pub use problem::Problem;
pub use products::{normals_error, product_error};
pub use trajectory::{Worst, trajectory_error};

use crate::data::{Counts, Returns};
use crate::device::{Device, Flow};
use crate::error::Result;
use crate::model::{LgcpOptions, Model, lgcp, stochvol};
use crate::random::{Purpose, Stream};
use crate::sample::EnergyAudit;
use crate::structure::{Covariance, Sides, Stationary};
use nalgebra::DMatrix;
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
        problem("7 returns", returns(7)?, 0.0, 1),
        problem("1025 returns", returns(1025)?, 0.5, 3),
        problem("5000 returns", returns(5000)?, 0.4, 2),
    ])
}

/// Points on a wavy line.
fn points(n: usize) -> Vec<(f64, f64)> {
    (0..n).map(|i| i as f64).map(|i| (0.7 * i, (1.9 * i).sin())).collect()
}

/// Side of the grid and length of the series whose energies are compared.
const ENERGY_SIDE: usize = 128;
const ENERGY_STEPS: usize = 100_000;
/// Potentials must be good to this: a difference of it in log probability goes unseen.
const ENERGY_TOLERANCE: f64 = 1e-3;

/// Findings so far, and who is told what comes next.
struct Comparisons<'a> {
    device: &'a Device,
    tell: &'a mut dyn FnMut(&str),
    found: Vec<Finding>,
}

impl Comparisons<'_> {
    /// Tells of a comparison, makes it, and notes its worst error with a remark.
    fn make(
        &mut self,
        name: &str,
        tolerance: f64,
        compare: impl FnOnce(&Device) -> Result<(f64, String)>,
    ) -> Result<()> {
        (self.tell)(name);
        let (worst, note) = compare(self.device)?;
        self.found.push(Finding { name: name.to_owned(), worst, tolerance, note });
        Ok(())
    }

    fn numbers(&mut self) -> Result<()> {
        self.make("sums of two floats", 0.0, |device| {
            let exact = device.as_gpu().is_none_or(|gpu| gpu.sums_exactly());
            let note = "1 if the driver rearranges compensated arithmetic".to_owned();
            Ok((f64::from(u8::from(!exact)), note))
        })?;
        // A radius below 7 and an angle below 2 pi, each good to a few units of single precision.
        let tolerance = 7.0 * 8.0 * 2f64.powi(-24);
        self.make("standard normals", tolerance, |device| {
            Ok((normals_error(device, &counts(30, 21)?, 0)?, "momenta of two chains".into()))
        })
    }

    fn trajectories(&mut self) -> Result<()> {
        for problem in problems()? {
            for flow in [Flow::Rotation, Flow::Drift] {
                let name = format!("gradients and {flow:?} steps, {}", problem.name).to_lowercase();
                self.make(&name, 1.0, |device| {
                    let worst = trajectory_error(device, &problem, flow, 0.0)?;
                    Ok((worst.ratio, format!("of the rounding bound; worst {}", worst.text)))
                })?;
            }
        }
        Ok(())
    }

    fn products(&mut self) -> Result<()> {
        let n = 300;
        let mut sigma = DMatrix::zeros(n, n);
        Stationary::exponential(&points(n))?.fill(&[0.2, 0.5], &mut sigma);
        self.make("dense products", 1.0, |device| {
            let note = "of the rounding bound; 300 x 300 in slabs of 101 rows".to_owned();
            Ok((product_error(device, &sigma, 2, Some(101), 0.0)?, note))
        })
    }

    fn energies(&mut self) -> Result<()> {
        let far = |model, kappa| Problem {
            name: format!("{ENERGY_STEPS} returns, kappa {kappa}"),
            model,
            kappa,
            chains: 1,
            step: 0.0,
        };
        let points = [
            EnergyPoint::of_field(ENERGY_SIDE, 0.0)?,
            EnergyPoint::of_field(ENERGY_SIDE, 0.125)?,
            EnergyPoint::of(far(returns(ENERGY_STEPS)?, 0.5)),
        ];
        for point in points {
            self.make(&format!("energy, {}", point.name), ENERGY_TOLERANCE, |device| {
                Ok((point.error(device)?, "in units of log probability".into()))
            })?;
        }
        for (name, model) in [("32 x 32", counts(32, 32)?), ("1000 returns", returns(1000)?)] {
            self.make(&format!("energy audit of a fit, {name}"), EnergyAudit::SUSPECT, |device| {
                let audit = audit(device, &model)?;
                Ok((audit.worst, format!("in H along {} trajectories", audit.transitions)))
            })?;
        }
        Ok(())
    }
}

/// Compares everything that a GPU computes, and tells of each comparison before it begins.
pub fn conformance(device: &Device, tell: &mut dyn FnMut(&str)) -> Result<Vec<Finding>> {
    let mut all = Comparisons { device, tell, found: Vec::new() };
    all.numbers()?;
    all.trajectories()?;
    all.products()?;
    all.energies()?;
    Ok(all.found)
}
