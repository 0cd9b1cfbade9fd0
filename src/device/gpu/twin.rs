//! Holds a likelihood's WGSL to what it computes on the CPU, before anything is sampled with it.
//!
//! Both are evaluated at a few points around where a sampler would start. The gradient in the predictor is compared site by site. The CPU
//! tells the value, and its derivatives in what the likelihood has of its own, only as sums over all sites, the former up to a constant: so
//! that the change of the first sum from point to point is compared, and the other sums themselves.

use super::Gpu;
use super::params::Motion;
use super::recording::Recording;
use super::stage::{Bound, Constant, Spec, wgsl};
use crate::error::{Error, Result};
use crate::likelihood::{Likelihood, SiteTwin};
use crate::model::Model;
use crate::numeric::two_floats;
use std::borrow::Cow;

const WORKGROUP: usize = 64;
/// Workgroups at most; each takes several sites where there are more.
const GROUPS: usize = 1024;
/// How far predictors are from where a sampler would start, at most: once nowhere, and thrice somewhere between these bounds.
const REACH: [f64; 4] = [0.0, 0.5, 1.5, 3.0];
/// The largest difference, relative to what a gradient reaches at its site or at most others. Rounding of a dozen operations in single precision
/// on terms a hundred times larger than their sum is below it; a wrong sign, factor or term is not.
const TOLERANCE: f64 = 1e-4;
/// What to do about it.
const REMEDY: &str = "let site() compute what Likelihood::evaluate does, or use the CPU";

/// Predictors of all sites, and working values of what the likelihood has of its own.
struct Point {
    eta: Vec<f64>,
    own: Vec<f64>,
}

/// What one side finds at a point, without what does not depend on the predictor.
struct Found {
    value: f64,
    gradient: Vec<f64>,
    by_own: Vec<f64>,
}

/// What the sites add to the sums of a twin.
struct Shares {
    values: Vec<f64>,
    by_own: Vec<Vec<f64>>,
}

/// Refuses WGSL that does not compile, is not a number where the CPU has one, or differs from the CPU.
pub(super) fn check(gpu: &Gpu, model: &Model, twin: &SiteTwin) -> Result<()> {
    let likelihood = model.likelihood();
    gpu.stage(&spec(twin.wgsl.clone(), twin.data.len(), likelihood.parameters()))?;
    if twin.data.len() != likelihood.sites() {
        let expected = format!("two numbers for each of {} sites", likelihood.sites());
        return Err(Error::input("WGSL twin", expected, twin.data.len().to_string(), REMEDY));
    }
    let points = points(model);
    let there = on_gpu(gpu, twin, &points)?;
    let here: Vec<Found> = points.iter().map(|point| on_cpu(likelihood, point)).collect();
    check_gradients(&points, &here, &there)?;
    check_sums(&here, &there)
}

/// Where a sampler would start, and ever farther from there, each site by its own share. Both sides hold the predictors exactly.
fn points(model: &Model) -> Vec<Point> {
    let likelihood = model.likelihood();
    let start = likelihood.start().unwrap_or_else(|| vec![0.0; likelihood.sites()]);
    let point = |(k, reach): (usize, f64)| {
        // Multiples of the golden ratio are spread evenly, and not alike in neighbours.
        let share = |i: usize| 2.0 * ((i + 7 * k + 1) as f64 * 0.618_033_988_75).fract() - 1.0;
        let one = |(i, eta): (usize, &f64)| f64::from((eta + reach * share(i)) as f32);
        let hyperparameters = 0..model.hyperparameters().len();
        let phi: Vec<f64> = hyperparameters.map(|i| 0.5 * reach * share(i)).collect();
        Point { eta: start.iter().enumerate().map(one).collect(), own: model.own(&phi) }
    };
    REACH.into_iter().enumerate().map(point).collect()
}

fn on_cpu(likelihood: &dyn Likelihood, Point { eta, own }: &Point) -> Found {
    let mut gradient = vec![0.0; eta.len()];
    let [mut by_own, mut aside] = [(); 2].map(|()| vec![0.0; own.len()]);
    let value = likelihood.evaluate(eta, own, &mut gradient, &mut by_own);
    let value = value - likelihood.aside(own, &mut aside);
    by_own.iter_mut().zip(aside).for_each(|(by, aside)| *by -= aside);
    Found { value, gradient, by_own }
}

/// Evaluates the twin at each of the points.
fn on_gpu(gpu: &Gpu, twin: &SiteTwin, points: &[Point]) -> Result<Vec<(Found, Shares)>> {
    let sites = twin.data.len();
    let own = points.first().map_or(0, |point| point.own.len());
    let each = 3 + 2 * own;
    let bytes = (4 * each * sites) as u64;
    let motion = gpu.buffer_of("parameters of a twin", &[Motion::default()])?;
    let data = gpu.buffer_of("data of a twin", &twin.data)?;
    let eta = gpu.buffer("predictors of a twin", 4 * sites as u64)?;
    let own_values = gpu.buffer("hyperparameters of a twin", 8 * own.max(1) as u64)?;
    let out = gpu.buffer("results of a twin", bytes)?;
    let staging = gpu.staging("results of a twin", bytes)?;
    let groups = [sites.div_ceil(WORKGROUP).min(GROUPS), 1];
    let spec = spec(twin.wgsl.clone(), sites, own);
    let buffers = [&motion, &data, &eta, &own_values, &out];
    let bound = Bound::new(gpu, &spec, &buffers, groups, 0)?;
    let mut all = Vec::new();
    for point in points {
        let rounded: Vec<f32> = point.eta.iter().map(|&eta| eta as f32).collect();
        gpu.upload(&eta, 0, &rounded);
        let pairs: Vec<[f32; 2]> = point.own.iter().map(|&own| two_floats(own)).collect();
        gpu.upload(&own_values, 0, &pairs);
        let mut numbers: Vec<f32> = Vec::new();
        let mut recording = Recording::default();
        recording.dispatch(&bound).copy(&out, &staging, [0, 0], bytes);
        recording.download(gpu, &[(&staging, bytes)], |bytes| {
            numbers.extend_from_slice(bytemuck::cast_slice(bytes));
        });
        gpu.status()?;
        all.push(read(&numbers, own));
    }
    Ok(all)
}

/// What the stage wrote: of each site value, derivatives in what the likelihood has of its own, and gradient.
fn read(numbers: &[f32], own: usize) -> (Found, Shares) {
    let rows = || numbers.chunks_exact(3 + 2 * own);
    let pairs = |k: usize| -> Vec<f64> {
        rows().map(|row| f64::from(row[2 * k]) + f64::from(row[2 * k + 1])).collect()
    };
    let shares = Shares { values: pairs(0), by_own: (1..=own).map(pairs).collect() };
    let found = Found {
        value: shares.values.iter().sum(),
        gradient: rows().map(|row| f64::from(row[2 + 2 * own])).collect(),
        by_own: shares.by_own.iter().map(|by| by.iter().sum()).collect(),
    };
    (found, shares)
}

/// Compares gradients site by site, and sees that values are numbers.
fn check_gradients(points: &[Point], here: &[Found], there: &[(Found, Shares)]) -> Result<()> {
    let sites = points.first().map_or(0, |point| point.eta.len());
    let largest = |site: usize| {
        let all = here.iter().map(|found| found.gradient[site].abs());
        all.filter(|gradient| gradient.is_finite()).fold(0.0, f64::max)
    };
    let typical = (0..sites).map(largest).sum::<f64>() / sites.max(1) as f64;
    for site in 0..sites {
        let bound = TOLERANCE * (largest(site) + typical);
        for ((point, cpu), (gpu, shares)) in points.iter().zip(here).zip(there) {
            let (want, got) = (cpu.gradient[site], gpu.gradient[site]);
            if !(want.is_finite() && cpu.value.is_finite()) {
                continue;
            }
            let (place, eta) = (format!("WGSL twin, site {site}"), point.eta[site]);
            if !shares.values[site].is_finite() {
                let expected = format!("a number at predictor {eta}, as on the CPU");
                return Err(Error::input(place, expected, shares.values[site].to_string(), REMEDY));
            }
            if differs(got, want, bound) {
                let expected = format!("gradient {want} at predictor {eta}, as on the CPU");
                return Err(Error::input(place, expected, got.to_string(), REMEDY));
            }
        }
    }
    Ok(())
}

/// Whether a number is not within a bound of another; NaN is not.
fn differs(got: f64, want: f64, bound: f64) -> bool {
    let difference = (got - want).abs();
    difference.is_nan() || difference > bound
}

/// Compares how the value changes from the first point to each of the others, and derivatives in what the likelihood has of its own.
fn check_sums(here: &[Found], there: &[(Found, Shares)]) -> Result<()> {
    let (Some(first), Some((first_twin, first_shares))) = (here.first(), there.first()) else {
        return Ok(());
    };
    for (cpu, (gpu, shares)) in here.iter().zip(there) {
        for (k, (&want, &got)) in cpu.by_own.iter().zip(&gpu.by_own).enumerate() {
            let size = want.abs() + shares.by_own[k].iter().map(|by| by.abs()).sum::<f64>();
            if want.is_finite() && differs(got, want, TOLERANCE * size) {
                let expected = format!("derivative {want} in own[{k}] in all, as on the CPU");
                return Err(Error::input("WGSL twin", expected, got.to_string(), REMEDY));
            }
        }
        let (want, got) = (cpu.value - first.value, gpu.value - first_twin.value);
        let moved = shares.values.iter().zip(&first_shares.values).map(|(a, b)| (a - b).abs());
        let size = want.abs() + moved.sum::<f64>();
        if want.is_finite() && differs(got, want, TOLERANCE * size) {
            let expected = format!("values that change by {want} in all, as on the CPU");
            return Err(Error::input("WGSL twin", expected, got.to_string(), REMEDY));
        }
    }
    Ok(())
}

/// The stage; the likelihood, with so many hyperparameters of its own, is its last piece.
pub(super) fn spec(site: Cow<'static, str>, sites: usize, own: usize) -> Spec {
    Spec {
        name: "twin",
        parts: vec![
            wgsl!("shared/guard.wgsl").into(),
            wgsl!("shared/two_float.wgsl").into(),
            wgsl!("shared/elementary.wgsl").into(),
            wgsl!("shared/precise.wgsl").into(),
            wgsl!("shared/motion.wgsl").into(),
            wgsl!("shared/own.wgsl").into(),
            wgsl!("site/twin.wgsl").into(),
            site,
        ],
        constants: vec![
            ("WG", WORKGROUP.into()),
            ("COUNT", sites.into()),
            ("OWN", Constant::Fixed(own as u32)),
        ],
        read_only: vec![true, true, true, true, false],
    }
}
