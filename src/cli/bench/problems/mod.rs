//! Fixes the problems that every idea is measured on.
//!
//! Four have stored data, those the references in `tests/data` belong to, and the airports have their real ones; the others are
//! drawn, most of them from two data seeds that give about as many points as the problem asks for.

mod maps;

use maps::{SPARSE_SIGMA, cox, sparse, square};
use sshmc::Result;
use sshmc::data::{Counts, GroupedColumns, GroupedTable, Returns, Table};
use sshmc::model::{self, Model};
use sshmc::simulate::{self, PatternTruth, RegressionTruth, VolatilityTruth};

const LGCP32: &str = include_str!("../../../../tests/data/lgcp32/data.csv");
const SV: &str = include_str!("../../../../tests/data/sv/data.csv");
const HBLR: &str = include_str!("../../../../tests/data/hblr/data.csv");

/// The mean log intensity `lgcp32` was drawn with: log 126 − 1.91/2.
const LGCP32_MU: f64 = 3.881281906951478;

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

/// All problems, the references first. "Fitted by default" is with the priors of `sshmc fit lgcp` and the mean learnt; without
/// those words a Cox process has the references' priors, and its mean is fixed unless it is said to be learnt.
pub(crate) const PROBLEMS: [Problem; 26] = [
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
    drawn("lgcp512", "the same, 512 x 512 cells", false, |seed| cox(&sparse(512), false, seed)),
    drawn("smooth128", "Cox process, 128 x 128 cells, about 8000 points, range 0.1", false, |s| {
        cox(&square(128, 1.0, 0.1, 8000.0), false, s)
    }),
    drawn("smooth256", "the same, 256 x 256 cells, about 20000 points", false, |seed| {
        cox(&square(256, 1.0, 0.1, 20_000.0), false, seed)
    }),
    stored(
        "airports",
        "3013 airports in their window, all as `fit lgcp` has it by default",
        |_| maps::airports(None),
    )
    .large(),
    stored("airports40", "the same with `--grid 40`", |_| maps::airports(Some(40))).large(),
    stored("airports128", "the same with `--grid 128`", |_| maps::airports(Some(128))).large(),
    drawn("sparse16", "16 x 16 cells, some 130 points, fitted by default", true, |seed| {
        maps::drawn(&square(16, 1.2, 0.1, 130.0), seed)
    }),
    drawn(
        "worlds24",
        "24 x 24 cells, about 1000 points, eight data sets with truths from the default priors, fitted by default",
        false,
        maps::world,
    )
    .with_data(&[1, 2, 3, 4, 5, 6, 7, 8]),
    drawn("hot46", "46 x 46 cells, sigma 2.9, range 0.12, one data set, fitted by default", false, |seed| {
        maps::drawn(&square(46, 2.9, 0.12, 1000.0), seed)
    })
    .with_data(&[3]),
    drawn("hot91", "91 x 91 cells, sigma 1.8, range 0.09, one data set, fitted by default", false, |seed| {
        maps::drawn(&square(91, 1.8, 0.09, 3600.0), seed)
    })
    .with_data(&[3]),
    drawn(
        "masked64",
        "64 x 64 cells of which half are not observed, fitted by default",
        false,
        maps::masked,
    ),
    drawn("covariates64", "64 x 64 cells, two covariates, fitted by default", false, maps::covariates),
    drawn(
        "middle128",
        "128 x 128 cells, about 2000 points, range 0.06, fitted by default",
        false,
        |seed| maps::drawn(&square(128, SPARSE_SIGMA, 0.06, 2000.0), seed),
    ),
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
    /// The same, left out by a quick run.
    const fn large(mut self) -> Self {
        self.small = false;
        self
    }

    /// The same with other data seeds.
    const fn with_data(mut self, seeds: &'static [u64]) -> Self {
        self.data_seeds = seeds;
        self
    }

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
    maps::reference(&Counts::from_table(table("lgcp32", LGCP32)?)?, mu)
}

/// A series with the truth of `sv`.
fn volatility(steps: usize, seed: u64) -> Result<Model> {
    let truth = VolatilityTruth { steps, phi: 0.98, sigma: 0.15, beta: 0.65 };
    model::stochvol(&simulate::stochvol(&truth, seed)?.returns, &[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use sshmc::sample::{CoordinateChoice, Settings, run};
    use std::sync::Arc;

    fn problem(name: &str) -> &'static Problem {
        PROBLEMS.iter().find(|p| p.name == name).unwrap()
    }

    #[test]
    fn names_are_unique_and_models_have_their_sizes() {
        for (k, problem) in PROBLEMS.iter().enumerate() {
            assert!(PROBLEMS[..k].iter().all(|other| other.name != problem.name));
            // A Cox process on a square says how many cells lie along its side.
            let side: String = problem.name.chars().filter(char::is_ascii_digit).collect();
            let cox = problem.about.contains(" cells");
            let sites = match problem.name {
                "sv" => 2000,
                "hblr" => 200,
                "funnel" => 100,
                "lgcp32-mu" | "rich32-mu" => 1024,
                "logistic200" => 1000,
                "airports40" => 25 * 40,
                _ if cox => side.parse::<usize>().unwrap().pow(2),
                _ => side.parse().unwrap_or(0),
            };
            if sites > 0 && sites <= 16_384 && problem.name != "airports128" {
                let found = problem.model(0).unwrap();
                assert_eq!(found.structure().sites(), sites, "{}", problem.name);
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

    /// What `fit lgcp` prints of its priors on a map of side 1, and on that of the airports.
    #[test]
    fn what_is_fitted_by_default_has_the_default_priors() {
        let priors = |name: &str| -> Vec<String> {
            let model = problem(name).model(0).unwrap();
            model.hyperparameters().iter().map(|h| h.describe_prior()).collect()
        };
        for name in ["sparse16", "worlds24", "hot46", "hot91", "masked64"] {
            let found = priors(name);
            assert_eq!(found[..2], ["P(sigma > 3) = 0.05", "P(range < 0.02) = 0.05"], "{name}");
            assert_eq!(found.len(), 3, "{name}");
        }
        assert_eq!(priors("covariates64").len(), 5);
        // A fiftieth of 4 611 843 m, and the log of 3013 points in 7.8 million square kilometres.
        let airports = priors("airports40");
        assert_eq!(airports[1], "P(range < 92236.9) = 0.05");
        assert!(airports[2].starts_with("median -21.7"), "{airports:?}");
    }

    /// The first draws of a short run tell two data sets apart.
    fn print(problem: &Problem, index: u32) -> Vec<Vec<f64>> {
        let settings = Settings {
            chains: 1,
            warmup: 5,
            draws: 5,
            threads: Some(1),
            // Without a pilot run, which would take the longest.
            coordinates: CoordinateChoice::Whitened,
            ..Settings::default()
        };
        let fit = run(&Arc::new(problem.model(index).unwrap()), &settings, &()).unwrap();
        fit.chains[0].parameters.clone()
    }

    #[test]
    fn problems_are_deterministic_and_drawn_ones_have_their_data_sets() {
        for problem in PROBLEMS.iter().filter(|p| p.small || p.name == "worlds24") {
            let sets = problem.data_seeds.len().max(1) as u32;
            assert_eq!(print(problem, 0), print(problem, 0), "{}", problem.name);
            assert_eq!(print(problem, 0), print(problem, sets), "{}", problem.name);
            let differ = print(problem, 0) != print(problem, 1);
            assert_eq!(differ, sets > 1, "{}", problem.name);
        }
    }
}
