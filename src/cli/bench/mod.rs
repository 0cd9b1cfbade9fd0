//! Measures every way of sampling on every problem, one core and one run at a time, and prints a table.

mod measure;
mod problems;
mod table;
mod variants;

use super::failure::Failure;
use super::options::at_most;
use super::screen::Screen;
use clap::Args;
use measure::{Figures, measure};
use problems::{PROBLEMS, Problem};
use sshmc::sample::Settings;
use sshmc::{Error, Result};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use table::{LEGEND, Table, number};
use variants::{VARIANTS, Variant};

/// Bounds far beyond use, so that a slip of the finger is refused instead of filling the memory.
const MOST_SEEDS: u64 = 1000;
const MOST_CHAINS: u64 = 1000;
const MOST_TRANSITIONS: u64 = 1_000_000;

/// Options of the benchmark.
#[derive(Args, Debug)]
#[command(after_help = after_help())]
pub(crate) struct Bench {
    /// Only small problems and the main variants, once each, with 2 chains of 200 warm-up transitions and 300 draws: a minute
    /// or two
    #[arg(long)]
    quick: bool,
    /// Problem to run; may be repeated [default: all, or the small ones if quick]
    #[arg(long = "problem", value_name = "NAME")]
    problems: Vec<String>,
    /// Way of sampling to run; may be repeated [default: all, or the main ones if quick]
    #[arg(long = "variant", value_name = "NAME")]
    variants: Vec<String>,
    /// Runs of each pair: run k has sampler seed k, and drawn problems have data sets that take turns, two unless the list says
    /// otherwise [default: 2, or 1 if quick]
    #[arg(long, value_name = "N")]
    seeds: Option<u32>,
    /// Chains of a run, one after the other on one thread [default: 4, or 2 if quick]
    #[arg(long, value_name = "N")]
    chains: Option<u32>,
    /// Warm-up transitions of each chain [default: 500, or 200 if quick]
    #[arg(long, value_name = "N")]
    warmup: Option<u32>,
    /// Draws of each chain [default: 1000, or 300 if quick]
    #[arg(long, value_name = "N")]
    draws: Option<u32>,
    /// File for the table, besides standard output
    #[arg(long, value_name = "FILE.md")]
    out: Option<PathBuf>,
}

/// Lists problems and variants.
fn after_help() -> String {
    let line = |(name, about): (&str, &str)| format!("  {name:24}{about}\n");
    let problems: String = PROBLEMS.iter().map(|p| line((p.name, p.about))).collect();
    let variants: String = VARIANTS.iter().map(|v| line((v.name, v.about))).collect();
    format!(
        "Problems; \"fitted by default\" is with the priors and the unknown mean of `sshmc fit lgcp`:\n{problems}\nVariants, each the defaults but for what it says:\n{variants}\n\
         The table goes to standard output row by row and the progress to standard error. All problems with all variants take\n\
         many hours; name those you want.\n\n\
         Examples:\n  sshmc bench --quick\n  \
         sshmc bench --problem lgcp32 --problem sv --variant auto --variant whitened --seeds 4 --out tuning.md"
    )
}

/// What is to be run, checked.
struct Plan {
    problems: Vec<Problem>,
    variants: Vec<Variant>,
    seeds: u32,
    base: Settings,
}

impl Bench {
    /// Runs every pair and prints it as soon as it is done.
    pub(crate) fn run(&self) -> std::result::Result<(), Failure> {
        let plan = self.plan().map_err(Failure::preparing)?;
        // Opened before the hours of running, and changed only after them.
        let file = self.open().map_err(Failure::preparing)?;
        let mut screen = Screen::open(false);
        let mut text = String::new();
        let mut tell = |part: &str| {
            text.push_str(part);
            screen.tell(part)
        };
        let names = plan.problems.iter().map(|p| p.name);
        let table = Table::new(names, plan.variants.iter().map(|v| v.name));
        tell(&plan.introduction())?;
        tell(&table.head())?;
        let mut missing = Vec::new();
        for (problem, variant) in plan.pairs() {
            match plan.measure(problem, variant) {
                Ok(all) => tell(&table.row(problem.name, variant.name, &all))?,
                Err(error) => missing.push(format!("{}, {}: {error}", problem.name, variant.name)),
            }
        }
        tell(&closing(&missing))?;
        match (file, &self.out) {
            (Some(file), Some(path)) => {
                replace(file, &text).map_err(Error::io("write", path)).map_err(Failure::finishing)
            }
            _ => Ok(()),
        }
    }

    fn plan(&self) -> Result<Plan> {
        let problems =
            choose("--problem", &PROBLEMS, |p| p.name, &self.problems, |p| p.small || !self.quick)?;
        let variants =
            choose("--variant", &VARIANTS, |v| v.name, &self.variants, |v| v.quick || !self.quick)?;
        let [chains, warmup, draws, seeds] =
            if self.quick { [2, 200, 300, 1] } else { [4, 500, 1000, 2] };
        let base = Settings {
            chains: self.chains.unwrap_or(chains),
            warmup: self.warmup.unwrap_or(warmup),
            draws: self.draws.unwrap_or(draws),
            ..Settings::default()
        };
        base.check()?;
        let seeds = self.seeds.unwrap_or(seeds);
        if seeds == 0 {
            let remedy = "ask for at least one, for instance --seeds 2";
            return Err(Error::input("--seeds", "a whole number >= 1", "0", remedy));
        }
        at_most("--seeds", u64::from(seeds), MOST_SEEDS)?;
        at_most("--chains", u64::from(base.chains), MOST_CHAINS)?;
        at_most("--warmup", u64::from(base.warmup), MOST_TRANSITIONS)?;
        at_most("--draws", u64::from(base.draws), MOST_TRANSITIONS)?;
        Ok(Plan { problems, variants, seeds, base })
    }

    fn open(&self) -> Result<Option<File>> {
        let open = |path: &PathBuf| {
            let file = File::options().create(true).append(true).open(path);
            file.map_err(Error::io("write", path))
        };
        self.out.as_ref().map(open).transpose()
    }
}

impl Plan {
    fn pairs(&self) -> impl Iterator<Item = (&Problem, &Variant)> {
        self.problems.iter().flat_map(|p| self.variants.iter().map(move |v| (p, v)))
    }

    fn introduction(&self) -> String {
        let Settings { chains, warmup, draws, .. } = self.base;
        let (seeds, version) = (self.seeds, env!("CARGO_PKG_VERSION"));
        format!(
            "sshmc {version}: {chains} chains of {warmup} warm-up transitions and {draws} draws on one thread, seeds 1 to \
             {seeds}.\n\n"
        )
    }

    /// The figures of each seed, or why there are none.
    fn measure(&self, problem: &Problem, variant: &Variant) -> Result<Vec<Figures>> {
        let figures = (0..self.seeds).map(|run| {
            let base = Settings { seed: u64::from(run) + 1, ..self.base.clone() };
            let outcome = measure(problem.model(run)?, &variant.settings(&base));
            let told = match &outcome {
                Ok(figures) => format!("{} per 1000 gradients", number(figures.per_1000_gradients)),
                Err(_) => "not run".to_owned(),
            };
            // If standard error is gone there is nobody left to tell.
            let (problem, variant, seed) = (problem.name, variant.name, run + 1);
            let _ = writeln!(std::io::stderr(), "{problem}, {variant}, seed {seed}: {told}");
            outcome
        });
        figures.collect()
    }
}

/// Items by name in the order of their list, or those that are usual if no name is given.
fn choose<T: Copy>(
    option: &str,
    all: &[T],
    name: fn(&T) -> &'static str,
    wanted: &[String],
    usual: impl Fn(&T) -> bool,
) -> Result<Vec<T>> {
    if let Some(unknown) = wanted.iter().find(|w| all.iter().all(|item| name(item) != w.as_str())) {
        let names: Vec<&str> = all.iter().map(name).collect();
        let expected = format!("one of {}", names.join(", "));
        return Err(Error::input(option, expected, unknown, "`sshmc bench --help` explains them"));
    }
    let taken = |item: &&T| match wanted {
        [] => usual(item),
        _ => wanted.iter().any(|w| w == name(item)),
    };
    Ok(all.iter().filter(taken).copied().collect())
}

/// What stands under the table.
fn closing(missing: &[String]) -> String {
    let mut text = format!("\n{LEGEND}\n");
    if !missing.is_empty() {
        text.push_str("\nNot run:\n\n");
        missing.iter().for_each(|line| text.push_str(&format!("- {line}\n")));
    }
    text
}

/// Puts a text in place of all a file holds.
fn replace(mut file: File, text: &str) -> std::io::Result<()> {
    file.set_len(0)?;
    file.write_all(text.as_bytes())?;
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_chosen_in_order_and_unknown_ones_listed() {
        let pick = |wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
            let all = choose("--problem", &PROBLEMS, |p| p.name, &wanted, |p| p.small);
            all.map(|all| all.iter().map(|p| p.name).collect::<Vec<_>>())
        };
        assert_eq!(pick(&["funnel", "sv", "funnel"]).unwrap(), ["sv", "funnel"]);
        assert_eq!(pick(&["lgcp256"]).unwrap(), ["lgcp256"]);
        assert!(!pick(&[]).unwrap().contains(&"lgcp256"));
        let complaint = pick(&["sv", "lgcp"]).unwrap_err().to_string();
        assert!(PROBLEMS.iter().all(|p| complaint.contains(p.name)), "{complaint}");
    }
}
