//! Joins the chains of fits that were run apart, on the machines of a cluster for instance, into one fit.

use super::extend::{copy, drawn};
use super::failure::Failure;
use super::fit::{Fit, Task};
use super::length::LENGTHS;
use super::resume::{ended, go_on};
use clap::Args;
use sshmc::checkpoint::STATE;
use sshmc::data::OutputDir;
use sshmc::{Error, Result};
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
The parts are fits of the same data with the same options but for --chains, --chain-offset, --out, --threads and what is printed.
Their chains must follow on one another: 0 to 3 and 4 to 7, say. What comes out has the bits of one fit with all chains.

Example:
  sshmc fit sv --returns returns.csv --chain-offset 0 --chains 4 --out part-0       # on one machine
  sshmc fit sv --returns returns.csv --chain-offset 4 --chains 4 --out part-1       # on another
  sshmc merge part-0 part-1 --out all";

/// Options of merging.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Merge {
    /// Directories of the parts
    #[arg(value_name = "DIR", required = true)]
    directories: Vec<PathBuf>,
    /// Directory for the whole
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Print nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

/// One of the fits.
struct Part {
    directory: PathBuf,
    task: Task,
    fingerprint: String,
    first: u32,
    chains: u32,
    draws: u32,
    thin_for: (u32, u32),
}

impl Part {
    fn open(directory: &Path) -> std::result::Result<Self, Failure> {
        let task = ended(directory).map_err(Failure::preparing)?;
        let mut fit = Fit::parse(&task)?;
        let common = fit.common().map_err(Failure::preparing)?;
        let (first, chains) = (common.first_chain(), common.chains);
        let (thin_for, draws) = (common.planned(), drawn(directory, common));
        let draws = draws.map_err(Failure::preparing)?;
        let fingerprint = fit.fingerprint(&task).map_err(Failure::preparing)?;
        let directory = directory.into();
        Ok(Self { directory, task, fingerprint, first, chains, draws, thin_for })
    }
}

impl Merge {
    pub(crate) fn run(&self) -> std::result::Result<(), Failure> {
        let parts = self.directories.iter().map(|directory| Part::open(directory));
        let mut parts = parts.collect::<std::result::Result<Vec<_>, _>>()?;
        parts.sort_by_key(|part| part.first);
        check(&parts).map_err(Failure::preparing)?;
        self.spare(&parts).map_err(Failure::preparing)?;
        let first = &parts[0];
        let total: u32 = parts.iter().map(|part| part.chains).sum();
        let (chains, draws) = first.thin_for;
        // All parts have as many, however they came to it.
        let task = LENGTHS.iter().fold(first.task.clone(), |task, name| task.without_option(name));
        let task = task
            .with_option("--draws", &first.draws.to_string())
            .with_option("--chains", &total.to_string())
            .with_option("--chain-offset", &first.first.to_string())
            // Not the first part's, which repeating the command would replace.
            .with_option("--out", &self.out.display().to_string())
            .with_option("--thin-for", &format!("{chains},{draws}"));
        self.begin(&task, first).map_err(Failure::preparing)?;
        let sources: Vec<PathBuf> = parts.iter().map(|part| part.directory.clone()).collect();
        let merged = go_on(&task, &self.out, &sources, self.quiet);
        if let (Err(Failure::BadInput(_)), Ok(partial)) = (&merged, OutputDir::partial(&self.out)) {
            // The parts do not belong together after all: nothing was computed, and the failure is reported.
            let _ = std::fs::remove_dir_all(partial);
        }
        merged
    }

    /// Refuses to put the whole in the place of one of its parts.
    fn spare(&self, parts: &[Part]) -> Result<()> {
        let Ok(out) = self.out.canonicalize() else { return Ok(()) };
        let is_out = |part: &&Part| part.directory.canonicalize().is_ok_and(|part| part == out);
        match parts.iter().find(is_out) {
            None => Ok(()),
            Some(_) => Err(Error::input(
                format!("--out {}", self.out.display()),
                "a directory that is none of the parts",
                "one of them, which would be replaced",
                "name another",
            )),
        }
    }

    /// Begins the whole run with the inputs of its first part.
    fn begin(&self, task: &Task, first: &Part) -> Result<()> {
        Task::clear_stillborn(&self.out)?;
        let mut output = OutputDir::begin(&self.out)?;
        let (from, to) = (first.directory.join(STATE), output.staging().join(STATE));
        std::fs::create_dir_all(&to).map_err(Error::io("create", &to))?;
        if from.join("inputs").is_dir() {
            copy(&from.join("inputs"), &to.join("inputs"))?;
        }
        if from.join("pilot").is_file() {
            let pilot = from.join("pilot");
            std::fs::copy(&pilot, to.join("pilot")).map_err(Error::io("copy", &pilot))?;
        }
        task.write_into(output.staging())?;
        output.keep();
        Ok(())
    }
}

/// Whether the parts belong together and their chains follow on one another.
fn check(parts: &[Part]) -> Result<()> {
    let refuse = |part: &Part, expected: String, got: String, remedy: &str| {
        Err(Error::input(part.directory.display().to_string(), expected, got, remedy))
    };
    for pair in parts.windows(2) {
        let [before, part] = pair else { continue };
        let other = before.directory.display();
        if before.fingerprint != part.fingerprint {
            let expected = format!("the same data, model and settings as in {other}");
            let remedy = "merge fits that differ in --chain-offset and --chains alone";
            return refuse(part, expected, "others".into(), remedy);
        }
        if before.draws != part.draws {
            let expected = format!("{} draws of each chain, as in {other}", before.draws);
            let remedy =
                "give all parts the same --draws, or `sshmc extend` the shorter ones by --draws";
            return refuse(part, expected, part.draws.to_string(), remedy);
        }
        let next = before.first.saturating_add(before.chains);
        if part.first < next {
            let expected = format!("chains from {next} on, because {other} has those before");
            let remedy = "give each part chains of its own by --chain-offset";
            return refuse(part, expected, format!("chains from {} on", part.first), remedy);
        }
        if part.first > next {
            let got = format!("chains from {} on", part.first);
            let remedy = "name the part with the chains between as well";
            return refuse(part, format!("chains from {next} on"), got, remedy);
        }
    }
    Ok(())
}
