//! Fixes the problems that every idea is measured on.
//!
//! Four have stored data, those the references in `tests/data` belong to; the others are drawn, each from two data seeds that
//! give about as many points as the problem asks for.

use sshmc::Result;
use sshmc::data::{Counts, GroupedColumns, GroupedTable, Returns, Table};
use sshmc::model::{self, LgcpOptions, Model};
use sshmc::simulate::{self, PatternTruth, RegressionTruth, VolatilityTruth};
use sshmc::structure::{Anisotropy, Kernel};

const LGCP32: &str = include_str!("../../../tests/data/lgcp32/data.csv");
const SV: &str = include_str!("../../../tests/data/sv/data.csv");
const HBLR: &str = include_str!("../../../tests/data/hblr/data.csv");

/// The mean log intensity `lgcp32` was drawn with: log 126 − 1.91/2.
const LGCP32_MU: f64 = 3.881281906951478;
/// The standard deviation it was drawn with, √1.91, and so are the larger maps.
const SPARSE_SIGMA: f64 = 1.3820274961085253;
/// Points a cell of the sparse maps, the same as in `lgcp32`.
const SPARSE: f64 = 0.12;
/// The priors of every Cox process here; the range has the median 0.05.
const LGCP_PRIORS: [&str; 2] = ["sigma=half-normal(2)", "range=lognormal(-2.995732273553991,1)"];

/// One problem.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem {
    /// What to call it.
    pub(crate) name: &'static str,
    /// What it is.
    pub(crate) about: &'static str,
    /// Whether a quick run takes it.
    pub(crate) small: bool,
    /// Seeds its data are drawn with; none if they are stored.
    data_seeds: &'static [u64],
    build: fn(u64) -> Result<Model>,
}

/// All problems, the references first.
pub(crate) const PROBLEMS: [Problem; 14] = [
    stored("lgcp32", "Cox process, 32 x 32 cells, 158 points", |_| stored_lgcp(Some(LGCP32_MU))),
    stored("sv", "stochastic volatility, 2000 returns", |_| {
        model::stochvol(&Returns::from_table(table("sv", SV)?)?, &[])
    }),
    stored("hblr", "logistic regression, 10 groups, 20 features, 1000 rows", |_| {
        let columns = GroupedColumns { label: "y".into(), ..GroupedColumns::default() };
        model::logistic(&GroupedTable::from_table(table("hblr", HBLR)?, &columns)?, &[])
    }),
    stored("funnel", "Neal's funnel, 100 latents", |_| model::funnel(100, &[])),
    stored("lgcp32-mu", "lgcp32 with its mean learnt", |_| stored_lgcp(None)),
    drawn("rich32", "Cox process, 32 x 32 cells, about 1000 points, long range", true, |seed| {
        cox(&RICH, false, seed)
    }),
    drawn("rich32-mu", "rich32 with its mean learnt", false, |seed| cox(&RICH, true, seed)),
    drawn("lgcp64", "Cox process like lgcp32, 64 x 64 cells", false, |seed| {
        cox(&sparse(64), false, seed)
    }),
    drawn("lgcp128", "the same, 128 x 128 cells", false, |seed| cox(&sparse(128), false, seed)),
    drawn("lgcp256", "the same, 256 x 256 cells", false, |seed| cox(&sparse(256), false, seed)),
    drawn("smooth128", "Cox process, 128 x 128 cells, about 8000 points, range 0.1", false, |s| {
        cox(&square(128, 1.0, 0.1, 8000.0), false, s)
    }),
    drawn("sv200", "stochastic volatility, 200 returns", true, |seed| volatility(200, seed)),
    drawn("sv20000", "stochastic volatility, 20000 returns", false, |seed| {
        volatility(20_000, seed)
    }),
    drawn("logistic200", "logistic regression, 200 groups of 10 rows, 5 features", true, |seed| {
        let truth = RegressionTruth { groups: 200, features: 5, rows: 10, v: 0.3 };
        model::logistic(&simulate::logistic(&truth, seed)?.table, &[])
    }),
];

const RICH: PatternTruth = square(32, 1.0, 0.15, 1000.0);

impl Problem {
    /// The model of the `run`-th run, from 0, which takes the data seeds in turn.
    pub(crate) fn model(&self, run: u32) -> Result<Model> {
        let count = self.data_seeds.len().max(1);
        (self.build)(self.data_seeds.get(run as usize % count).copied().unwrap_or(0))
    }
}

const fn stored(
    name: &'static str,
    about: &'static str,
    build: fn(u64) -> Result<Model>,
) -> Problem {
    Problem { name, about, small: true, data_seeds: &[], build }
}

const fn drawn(
    name: &'static str,
    about: &'static str,
    small: bool,
    build: fn(u64) -> Result<Model>,
) -> Problem {
    Problem { name, about, small, data_seeds: &[1, 2], build }
}

/// A stored table.
fn table(name: &'static str, text: &'static str) -> Result<Table> {
    Table::from_reader(name, text.as_bytes())
}

fn stored_lgcp(mu: Option<f64>) -> Result<Model> {
    cox_model(&Counts::from_table(table("lgcp32", LGCP32)?)?, mu)
}

const fn square(side: usize, sigma: f64, range: f64, total: f64) -> PatternTruth {
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
const fn sparse(side: usize) -> PatternTruth {
    square(side, SPARSE_SIGMA, 0.03, SPARSE * (side * side) as f64)
}

/// A drawn Cox process; its mean is fixed at the truth unless it is to be learnt.
fn cox(truth: &PatternTruth, learn_mu: bool, seed: u64) -> Result<Model> {
    let pattern = simulate::lgcp(truth, seed)?;
    cox_model(&pattern.counts, (!learn_mu).then_some(pattern.mu))
}

fn cox_model(counts: &Counts, mu: Option<f64>) -> Result<Model> {
    let priors = LGCP_PRIORS.map(String::from).to_vec();
    model::lgcp(counts, &LgcpOptions { mu, priors, ..LgcpOptions::default() })
}

/// A series with the truth of `sv`.
fn volatility(steps: usize, seed: u64) -> Result<Model> {
    let truth = VolatilityTruth { steps, phi: 0.98, sigma: 0.15, beta: 0.65 };
    model::stochvol(&simulate::stochvol(&truth, seed)?.returns, &[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use sshmc::sample::{Settings, run};
    use std::sync::Arc;

    #[test]
    fn names_are_unique_and_models_have_their_sizes() {
        let sizes =
            [1024, 2000, 200, 100, 1024, 1024, 1024, 4096, 16384, 65536, 16384, 200, 20_000, 1000];
        for (k, (problem, sites)) in PROBLEMS.iter().zip(sizes).enumerate() {
            assert!(PROBLEMS[..k].iter().all(|other| other.name != problem.name));
            if sites < 20_000 {
                assert_eq!(
                    problem.model(0).unwrap().structure().sites(),
                    sites,
                    "{}",
                    problem.name
                );
            }
        }
    }

    #[test]
    fn learnt_means_are_hyperparameters() {
        for problem in &PROBLEMS {
            if problem.name.starts_with("lgcp32") || problem.name.starts_with("rich") {
                let names = problem.model(0).unwrap().hyperparameters().names().len();
                assert_eq!(names, if problem.name.ends_with("-mu") { 3 } else { 2 });
            }
        }
    }

    /// The first draws of a short run tell two data sets apart.
    fn print(problem: &Problem, index: u32) -> Vec<Vec<f64>> {
        let settings =
            Settings { chains: 1, warmup: 5, draws: 5, threads: Some(1), ..Settings::default() };
        let fit = run(&Arc::new(problem.model(index).unwrap()), &settings, &()).unwrap();
        fit.chains[0].parameters.clone()
    }

    #[test]
    fn problems_are_deterministic_and_drawn_ones_have_two_data_sets() {
        for problem in PROBLEMS.iter().filter(|p| p.small) {
            assert_eq!(print(problem, 0), print(problem, 0), "{}", problem.name);
            assert_eq!(print(problem, 0), print(problem, 2), "{}", problem.name);
            let differ = print(problem, 0) != print(problem, 1);
            assert_eq!(differ, !problem.data_seeds.is_empty(), "{}", problem.name);
        }
    }
}
