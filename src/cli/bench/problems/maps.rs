//! Makes the Cox processes of the benchmark.
//!
//! Those made by [`fitted`] are exactly what `sshmc fit lgcp` makes of the same data without options: default priors, mean
//! learnt. The others have the priors of the stored references.

use super::table;
use crate::cli::airports;
use sshmc::data::{Counts, Covariate, Pattern, Points, Resolution, Window};
use sshmc::likelihood::CountLikelihood;
use sshmc::model::{self, LgcpOptions, Model};
use sshmc::random::{Purpose, Stream};
use sshmc::simulate::{self, PatternTruth};
use sshmc::spatial::{Detail, Predictive};
use sshmc::structure::{Anisotropy, Kernel};
use sshmc::{Error, Result};

/// The standard deviation `lgcp32` was drawn with, √1.91, and so are the larger maps.
pub(super) const SPARSE_SIGMA: f64 = 1.3820274961085253;
/// Points a cell of the sparse maps, the same as in `lgcp32`.
const SPARSE: f64 = 0.12;
/// The priors of the Cox processes that are not fitted as `fit lgcp` does; the range has the median 0.05.
const PRIORS: [&str; 2] = ["sigma=half-normal(2)", "range=lognormal(-2.995732273553991,1)"];
/// Seeds of what is the same in all data sets of a problem: the mask and the covariates.
const MASK: u64 = 101;
const COVARIATES: [u64; 2] = [102, 103];
/// What the two covariates do to the log intensity, per standard deviation.
const EFFECTS: [f64; 2] = [0.8, -0.5];
/// Stream of the truths of worlds.
const WORLD: u32 = 0x776f_726c;

pub(super) const fn square(side: usize, sigma: f64, range: f64, total: f64) -> PatternTruth {
    PatternTruth {
        rows: side,
        columns: side,
        sigma,
        range,
        total,
        kernel: Kernel::Exponential,
        anisotropy: Anisotropy::NONE,
    }
}

/// A map with as many points a cell as `lgcp32`.
pub(super) const fn sparse(side: usize) -> PatternTruth {
    square(side, SPARSE_SIGMA, 0.03, SPARSE * (side * side) as f64)
}

/// A drawn Cox process with the references' priors; its mean is fixed at the truth unless it is to be learnt.
pub(super) fn cox(truth: &PatternTruth, learn_mu: bool, seed: u64) -> Result<Model> {
    let pattern = simulate::lgcp(truth, seed)?;
    reference(&pattern.counts, (!learn_mu).then_some(pattern.mu))
}

/// Counts with the references' priors.
pub(super) fn reference(counts: &Counts, mu: Option<f64>) -> Result<Model> {
    let priors = PRIORS.map(String::from).to_vec();
    model::lgcp(counts, &LgcpOptions { mu, priors, ..LgcpOptions::default() })
}

/// Counts as `fit lgcp` takes them.
fn fitted(counts: &Counts) -> Result<Model> {
    model::lgcp(counts, &LgcpOptions::default())
}

/// A drawn Cox process as `fit lgcp` takes it.
pub(super) fn drawn(truth: &PatternTruth, seed: u64) -> Result<Model> {
    fitted(&simulate::lgcp(truth, seed)?.counts)
}

/// The airports on so many cells along the longer side, or on as many as `fit lgcp` chooses.
pub(super) fn airports(cells: Option<usize>) -> Result<Model> {
    let points = Points::from_table(table("airports", airports::POINTS)?, "x", "y")?;
    let window = Window::from_geojson("airports", airports::WINDOW)?;
    let cells = cells.unwrap_or_else(|| Detail::of(&window, points.places()).cells());
    fitted(&Pattern::new(&points, window, Resolution::Cells(cells))?.counts)
}

/// A map of which one half, with an irregular edge, was not observed.
pub(super) fn masked(seed: u64) -> Result<Model> {
    fitted(&masked_counts(seed)?)
}

fn masked_counts(seed: u64) -> Result<Counts> {
    let truth = square(64, 1.2, 0.1, 2000.0);
    let pattern = simulate::lgcp(&truth, seed)?;
    let mask = field(truth.rows, Kernel::Matern52, 0.15, MASK)?;
    let mut sorted = mask.clone();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted[sorted.len() / 2];
    let seen = pattern.counts.counts().iter().zip(&mask);
    let counts = seen.map(|(&y, &m)| if m < middle { y } else { f64::NAN }).collect();
    Counts::from_vec(truth.rows, truth.columns, counts)
}

/// A map whose log intensity follows two smooth covariates.
pub(super) fn covariates(seed: u64) -> Result<Model> {
    let side = 64;
    let grid = empty(side)?;
    let mut x = field(side, Kernel::Exponential, 0.1, seed)?;
    let mut covariates = Vec::new();
    for ((name, effect), seed) in ["height", "distance"].into_iter().zip(EFFECTS).zip(COVARIATES) {
        let covariate =
            Covariate::from_values(name, field(side, Kernel::Matern52, 0.15, seed)?, &grid)?;
        x.iter_mut().zip(covariate.values()).for_each(|(x, z)| *x += effect * z);
        covariates.push(covariate);
    }
    let counts = counts(&grid, &x, 1500.0, seed)?;
    model::lgcp(&counts, &LgcpOptions { covariates, ..LgcpOptions::default() })
}

/// A map whose sigma and range are drawn from the default priors, with about 1000 points. A range longer than the map, which
/// no simulation draws, is drawn again.
pub(super) fn world(seed: u64) -> Result<Model> {
    let side = 24;
    let grid = empty(side)?;
    let (sigma, range) = world_truth(&grid, seed)?;
    let x = field(side, Kernel::Exponential, range, seed)?;
    let x: Vec<f64> = x.iter().map(|x| sigma * x).collect();
    fitted(&counts(&grid, &x, 1000.0, seed)?)
}

/// Sigma and range as the default priors have them.
fn world_truth(grid: &Counts, seed: u64) -> Result<(f64, f64)> {
    let model = fitted(grid)?;
    let uniform = Stream::new(seed, 0, WORLD, Purpose::Other);
    let draw = |name: &str, index: u32| {
        let prior = model.hyperparameters().iter().find(|h| h.name() == name);
        let value = prior.and_then(|h| h.prior_quantile(uniform.uniform(index)));
        value.ok_or_else(|| Error::Numeric(format!("the default prior of {name} has no quantiles")))
    };
    let sigma = draw("sigma", 0)?;
    let mut range = draw("range", 1)?;
    // One in seventeen is too long.
    for index in 2..100 {
        if range <= 1.0 {
            break;
        }
        range = draw("range", index)?;
    }
    Ok((sigma, range))
}

/// A square grid with a point in every cell, as a place to draw counts in.
fn empty(side: usize) -> Result<Counts> {
    Counts::from_vec(side, side, vec![1.0; side * side])
}

/// A field of variance one on a square grid.
fn field(side: usize, kernel: Kernel, range: f64, seed: u64) -> Result<Vec<f64>> {
    let truth = PatternTruth { kernel, ..square(side, 1.0, range, 1000.0) };
    let pattern = simulate::lgcp(&truth, seed)?;
    Ok(pattern.x.iter().map(|x| x - pattern.mu).collect())
}

/// Counts under a log intensity that is shifted so that `total` points are expected.
fn counts(grid: &Counts, x: &[f64], total: f64, seed: u64) -> Result<Counts> {
    let area = grid.grid().cell_area();
    let shift = (total / x.iter().map(|x| area * x.exp()).sum::<f64>()).ln();
    let x: Vec<f32> = x.iter().map(|x| (x + shift) as f32).collect();
    let window = Window::of_grid(grid.grid())?;
    let likelihood = CountLikelihood::Poisson;
    let predictive = Predictive { counts: grid, likelihood, window: &window, seed };
    let drawn = predictive.counts(0, &x, &[]);
    Counts::from_vec(grid.grid().rows(), grid.grid().columns(), drawn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worlds_have_truths_of_the_default_priors_and_about_1000_points() {
        let grid = empty(24).unwrap();
        let truths: Vec<_> = (1..=200).map(|seed| world_truth(&grid, seed).unwrap()).collect();
        // P(sigma > 1.5) = 0.05^(1.5/3) = 0.224; P(range < 0.1) = 0.05^(0.02/0.1) = 0.549, and 0.583 of those up to 1. Five
        // standard deviations of 200 draws are 29 and 35.
        let strong = truths.iter().filter(|t| t.0 > 1.5).count() as f64;
        let short = truths.iter().filter(|t| t.1 < 0.1).count() as f64;
        assert!((strong - 44.8).abs() < 29.0 && (short - 116.6).abs() < 35.0, "{strong} {short}");
        assert!(truths.iter().all(|t| t.0 > 0.0 && t.1 > 0.0 && t.1 <= 1.0));
        let x = vec![0.0; 24 * 24];
        // Poisson(1000), within five standard deviations.
        let total = counts(&grid, &x, 1000.0, 1).unwrap().total();
        assert!((total - 1000.0).abs() < 5.0 * 1000f64.sqrt(), "{total}");
    }

    #[test]
    fn half_of_the_masked_map_is_not_observed_in_patches() {
        let counts = masked_counts(1).unwrap();
        assert_eq!(counts.observed_cells(), 64 * 64 / 2);
        assert!((500.0..2000.0).contains(&counts.total()), "{}", counts.total());
        let seen = counts.observed();
        let edges = (0..64 * 63).filter(|&c| seen[c] != seen[c + 64]).count();
        // Neither one straight edge of 64 cells nor noise, in which every other cell has one.
        assert!((65..800).contains(&edges), "{edges}");
    }
}
