//! Tests every kernel on tiny worlds: Geweke's test, and exact ranks.

use super::sizes::ModelName;
use super::watch::Watch;
use super::{chance, once_in, pause, pool, try_draw};
use crate::cli::failure::Failure;
use crate::cli::interrupt;
use crate::cli::options::at_most;
use crate::cli::screen::Screen;
use clap::Args;
use rayon::prelude::*;
use sshmc::check::{
    FEWEST_MOVES, Geweke, Moments, RankTest, WorldKind, exact_ranks, geweke, geweke_bound,
    statistic_names, ways, worst_score,
};
use sshmc::{Error, Result};
use std::fmt::Write;
use std::sync::atomic::Ordering;
use std::time::Instant;

const AFTER_HELP: &str = "\
Geweke's test alternates transitions with fresh data: all moments along that chain must be those of independent draws. Its figure is
the largest difference of a moment in standard errors. The test of ranks draws a world from the prior, walks from it by the kernel
forwards and backwards in time, and ranks where it began among where it went: uniform for a right kernel, exactly. Its figure is
the chance that a right kernel has ranks as far from uniform, over all quantities together. A kernel that moves in less than a
fifth of its transitions fails too, because nothing could be seen. Worlds are tiny: what is wrong in a kernel is wrong there too.

Exit codes: 0 nothing wrong was found; 4 something was; others as for all commands.

Examples:
  sshmc check joint lgcp
  sshmc check joint sv --kernel sshmc --replicates 10000";

/// Options of the test of kernels.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Joint {
    /// Model to check
    #[arg(value_enum, value_name = "MODEL")]
    model: ModelName,
    /// Only kernels with this in their name; may be repeated [default: all]
    #[arg(long = "kernel", value_name = "PART")]
    kernels: Vec<String>,
    /// Worlds of the test of ranks
    #[arg(long, value_name = "N", default_value_t = 2000)]
    replicates: u32,
    /// Transitions of each of the 32 chains of Geweke's test
    #[arg(long, value_name = "N", default_value_t = 500)]
    transitions: u32,
    /// Chance that a right sampler fails the whole check
    #[arg(long, value_name = "P", value_parser = chance, default_value = "0.000001")]
    false_alarm: f64,
    /// Replace the prior of a hyperparameter, as in `fit`; may be repeated
    #[arg(long = "prior", value_name = "NAME=DIST(...)")]
    priors: Vec<String>,
    /// Seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Threads to use [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Seconds between two lines about progress where standard error is not a terminal
    #[arg(long, value_name = "SECONDS", value_parser = pause, default_value = "60")]
    progress: f64,
    /// Print nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

/// What was found about one kernel.
struct Row {
    kernel: String,
    score: f64,
    statistic: String,
    statistics: usize,
    chance: f64,
    quantity: String,
    moved: f64,
}

impl Joint {
    pub(crate) fn run(&self) -> std::result::Result<(), Failure> {
        let begun = Instant::now();
        let (kind, names) = self.prepare().map_err(Failure::preparing)?;
        // The same for all kernels.
        let moments = self.moments(kind).map_err(Failure::preparing)?;
        let mut screen = Screen::open(self.quiet);
        screen.tell(&format!(
            "Checking {} kernels of {} on worlds of {}, seed {}.\n",
            names.len(),
            kind.name(),
            kind.describe(),
            self.seed
        ))?;
        let stop = interrupt::watch();
        let watch = Watch::open("kernels", names.len() as u64, self.progress, self.quiet);
        let rows = pool(self.threads)?.install(|| {
            let test = |name: &String| {
                if stop.load(Ordering::Relaxed) {
                    return Err(Error::Stopped);
                }
                let row = self.test(kind, name, &moments);
                watch.done(name.clone());
                row
            };
            names.par_iter().map(test).collect::<Result<Vec<Row>>>()
        });
        drop(watch);
        let rows = rows.map_err(|error| match error {
            Error::Stopped => Failure::Stopped("the check keeps nothing; start it again".into()),
            error => Failure::running(error),
        })?;
        self.judge(&rows, begun.elapsed().as_secs_f64(), &mut screen)
    }

    /// Checks the options; the world and the kernels.
    fn prepare(&self) -> Result<(WorldKind, Vec<String>)> {
        at_most("--replicates", self.replicates.into(), 1_000_000)?;
        at_most("--transitions", self.transitions.into(), 10_000_000)?;
        for (option, value) in
            [("--replicates", self.replicates), ("--transitions", self.transitions)]
        {
            if value < 100 {
                let remedy = "ask for more, or leave it out";
                return Err(Error::input(option, "at least 100", value.to_string(), remedy));
            }
        }
        let Some(kind) = self.model.tiny() else {
            return Err(Error::Numeric(format!("{} has no tiny world", self.model.name())));
        };
        let world = kind.world(&self.all_priors(kind))?;
        try_draw(&world, self.seed)?;
        let all: Vec<String> = ways(&world).into_iter().map(|way| way.name).collect();
        let wanted = |name: &&String| {
            self.kernels.is_empty() || self.kernels.iter().any(|part| name.contains(part.as_str()))
        };
        let chosen: Vec<String> = all.iter().filter(wanted).cloned().collect();
        if chosen.is_empty() {
            let expected = format!("part of one of: {}", all.join("; "));
            let got = self.kernels.join(", ");
            return Err(Error::input("--kernel", expected, got, "leave it out for all"));
        }
        Ok((kind, chosen))
    }

    fn all_priors(&self, kind: WorldKind) -> Vec<String> {
        [kind.tiny_priors(), self.priors.clone()].concat()
    }

    fn geweke(&self) -> Geweke {
        Geweke { length: self.transitions, seed: self.seed, ..Geweke::default() }
    }

    /// Moments of independent draws.
    fn moments(&self, kind: WorldKind) -> Result<Moments> {
        let world = kind.world(&self.all_priors(kind))?;
        self.geweke().independent(&world, world.model().hyperparameters())
    }

    /// Both tests of one kernel, in a world of its own.
    fn test(&self, kind: WorldKind, name: &str, moments: &Moments) -> Result<Row> {
        let world = kind.world(&self.all_priors(kind))?;
        let missing = || Error::Numeric(format!("there is no kernel {name}"));
        let way = ways(&world).into_iter().find(|way| way.name == name).ok_or_else(missing)?;
        let priors = world.model().hyperparameters();
        let paths = self.geweke().successive(&world, &way)?;
        let scores = geweke(&statistic_names(&world), &paths, moments);
        let test = RankTest { replicates: self.replicates, seed: self.seed, ..RankTest::default() };
        let ranks = exact_ranks(&world, &way, priors, &test)?;
        let (quantity, chance) = ranks.worst().unwrap_or(("", 1.0));
        let worst = worst_score(&scores);
        Ok(Row {
            kernel: name.to_owned(),
            score: worst.map_or(0.0, |score| score.size()),
            statistic: worst.map_or(String::new(), |score| score.name.clone()),
            statistics: scores.len(),
            chance,
            quantity: quantity.to_owned(),
            moved: paths.moved.min(ranks.moved),
        })
    }

    /// Prints what was found, and fails if something is wrong.
    fn judge(
        &self,
        rows: &[Row],
        seconds: f64,
        screen: &mut Screen,
    ) -> std::result::Result<(), Failure> {
        // The false-alarm rate is shared by both tests of all kernels.
        let each = self.false_alarm / (2 * rows.len()) as f64;
        let statistics = rows.iter().map(|row| row.statistics).max().unwrap_or(1);
        let score = geweke_bound(statistics, each, Geweke::default().chains);
        let bounds = Bounds { score, chance: each };
        let width = rows.iter().map(|row| row.kernel.len()).max().unwrap_or(0);
        let mut text = format!(
            "\n{:width$}  largest |z|  of                               ranks p   of                moves\n",
            ""
        );
        rows.iter().for_each(|row| text += &row.line(width, &bounds));
        let rate = once_in(self.false_alarm);
        let _ = writeln!(
            text,
            "\nBounds: |z| {:.2}, p {each:.1e}, moves in {:.0} %; together a right sampler fails {rate}. {seconds:.0} s.",
            bounds.score,
            100.0 * FEWEST_MOVES
        );
        let wrong: Vec<String> = rows.iter().filter_map(|row| row.complaint(&bounds)).collect();
        if wrong.is_empty() {
            text += "verdict: nothing wrong was found\n";
            return screen.tell(&text);
        }
        text += "verdict: WRONG\n";
        screen.tell(&text)?;
        Err(Failure::Failed(format!(
            "{} of {} does not keep the joint distribution: {}; a right sampler is told so {rate}",
            if wrong.len() == 1 { "a kernel" } else { "kernels" },
            self.model.name(),
            wrong.join("; ")
        )))
    }
}

/// What a right kernel stays within.
struct Bounds {
    score: f64,
    chance: f64,
}

impl Row {
    /// What is wrong with the kernel, if anything is.
    fn complaint(&self, bounds: &Bounds) -> Option<String> {
        let problems: Vec<&str> = [
            (self.score > bounds.score, "Geweke's test"),
            (self.chance < bounds.chance, "the test of ranks"),
            (self.moved < FEWEST_MOVES, "it hardly moves"),
        ]
        .into_iter()
        .filter_map(|(bad, what)| bad.then_some(what))
        .collect();
        (!problems.is_empty()).then(|| format!("{} ({})", self.kernel, problems.join(", ")))
    }

    fn line(&self, width: usize, bounds: &Bounds) -> String {
        let Row { kernel, score, statistic, chance, quantity, moved, .. } = self;
        let mark = if self.complaint(bounds).is_some() { "  WRONG" } else { "" };
        format!(
            "{kernel:width$}  {score:11.2}  {statistic:31}  {:>8}  {quantity:16}  {:4.0} %{mark}\n",
            probability(*chance),
            100.0 * moved
        )
    }
}

/// A probability: plain, or by its power of ten if it is small.
fn probability(p: f64) -> String {
    if p >= 0.01 { format!("{p:.2}") } else { format!("{p:.2e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_be_wrong_is_named() {
        let bounds = Bounds { score: 6.0, chance: 1e-8 };
        let row = |score, chance, moved| Row {
            kernel: "k".into(),
            score,
            statistic: String::new(),
            statistics: 9,
            chance,
            quantity: String::new(),
            moved,
        };
        assert!(row(5.0, 1e-3, 0.9).complaint(&bounds).is_none());
        let wrong = [row(7.0, 0.5, 0.9), row(1.0, 1e-9, 0.9), row(f64::INFINITY, 0.0, 0.1)];
        let wrong = wrong.map(|row| row.complaint(&bounds).unwrap());
        assert_eq!(wrong[0], "k (Geweke's test)");
        assert_eq!(wrong[1], "k (the test of ranks)");
        assert_eq!(wrong[2], "k (Geweke's test, the test of ranks, it hardly moves)");
        assert!(row(7.0, 0.5, 0.9).line(3, &bounds).contains("WRONG"));
        assert_eq!([1.0, 0.25, 3e-7].map(probability), ["1.00", "0.25", "3.00e-7"]);
    }
}
