//! Calibrates whole fits by simulation, and goes on where it was stopped.

use super::sizes::{ModelName, Sizes};
use super::table::Table;
use super::watch::Watch;
use super::{chance, once_in, pause};
use crate::cli::failure::Failure;
use crate::cli::interrupt;
use crate::cli::options::{Coordinates, Method, at_most};
use crate::cli::screen::Screen;
use clap::Args;
use serde_json::json;
use sshmc::check::{Calibration, Ledger, Replicate, World, quantities, replicate, try_fit};
use sshmc::data::add_file;
use sshmc::device::Device;
use sshmc::report::{counted, draw_png};
use sshmc::sample::{Keeper, Settings};
use sshmc::{Error, Result};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

const AFTER_HELP: &str = "\
Each replicate draws hyperparameters and field from the prior and data from them, fits the data as `sshmc fit` does, and ranks the truth
among draws that are so far apart that they are nearly independent. If the sampler is right the ranks are uniform. Ranked are all
hyperparameters, the log-likelihood, and the field's mean, maximum, spread and value at one site. A fit whose draws are worth
less than twice as many independent ones as a truth is ranked among is made again with more, at most 8 times as many; where more
than one fit in twenty is still worth fewer than a truth is ranked among the check fails, because its chances are not exact.

Where the default prior of a model cannot be drawn from another is stated; what is checked is printed first.

Writes into DIR: report.md; calibration.svg and .png, the difference of each rank distribution from the uniform one within bands that it
leaves with the stated chances; ranks.csv, a line for each replicate as soon as it is done; check.json, the settings. The same
command goes on with a check that was stopped or killed, and with more --replicates adds to one that has ended.

Exit codes: 0 nothing wrong was found; 3 stopped; 4 something is wrong; others as for all commands.

Examples:
  sshmc check calibrate lgcp
  sshmc check calibrate sv --coordinates centred --out centred-sv
  sshmc check calibrate lgcp --grid 8 --device gpu --replicates 50";

/// Options of a calibration.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Calibrate {
    /// Model to check
    #[arg(value_enum, value_name = "MODEL")]
    model: ModelName,
    /// Worlds to draw and fit
    #[arg(long, value_name = "N", default_value_t = 200)]
    replicates: u32,
    #[command(flatten)]
    sizes: Sizes,
    /// Chains of each fit
    #[arg(long, value_name = "N", default_value_t = 2, help_heading = "Sampling")]
    chains: u32,
    /// Warm-up transitions of each chain
    #[arg(long, value_name = "N", default_value_t = 500, help_heading = "Sampling")]
    warmup: u32,
    /// Draws of each chain, at first
    #[arg(long, value_name = "N", default_value_t = 250, help_heading = "Sampling")]
    draws: u32,
    /// Draws that a truth is ranked among
    #[arg(long, value_name = "N", default_value_t = 63, help_heading = "Sampling")]
    among: u32,
    /// Seed
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Sampling")]
    seed: u64,
    /// Threads to use, each for a fit of its own [default: one for each core]
    #[arg(long, value_name = "N", help_heading = "Sampling")]
    threads: Option<usize>,
    /// Where to run: cpu, gpu, or part of an adapter's name; auto is the cpu, because the problems are small
    #[arg(long, value_name = "DEVICE", default_value = "auto", help_heading = "Sampling")]
    device: String,
    /// How to sample
    #[arg(long, value_enum, default_value_t = Method::Sshmc, help_heading = "Sampling")]
    method: Method,
    /// Coordinates of the latents
    #[arg(long, value_enum, default_value_t = Coordinates::Auto, help_heading = "Sampling")]
    coordinates: Coordinates,
    /// Replace the prior of a hyperparameter, as in `fit`; may be repeated
    #[arg(long = "prior", value_name = "NAME=DIST(...)", help_heading = "Model")]
    priors: Vec<String>,
    /// Chance that a right sampler fails the whole check
    #[arg(long, value_name = "P", value_parser = chance, default_value = "0.001")]
    false_alarm: f64,
    /// Directory for the results [default: sshmc-check/MODEL]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Seconds between two lines about progress where standard error is not a terminal
    #[arg(long, value_name = "SECONDS", value_parser = pause, default_value = "60", help_heading = "Output")]
    progress: f64,
    /// Print nothing but errors
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
}

/// Keeps nothing, but stops when the user asks for it.
struct Stop<'a>(&'a AtomicBool);

impl Keeper for Stop<'_> {
    fn is_stopping(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What is to be done, checked.
struct Prepared {
    world: World,
    plan: Calibration,
    names: Vec<String>,
    directory: PathBuf,
    ledger: Ledger,
    introduction: String,
}

impl Calibrate {
    pub(crate) fn run(&self) -> std::result::Result<(), Failure> {
        let prepared = self.prepare().map_err(Failure::preparing)?;
        let mut screen = Screen::open(self.quiet);
        screen.tell(&prepared.introduction)?;
        let Prepared { world, plan, names, directory, ledger, introduction } = prepared;
        let missing = ledger.missing(self.replicates);
        if missing.len() < self.replicates as usize {
            let done = self.replicates as usize - missing.len();
            screen.tell(&format!("  going on after {done} replicates\n"))?;
        }
        let done = self.fit_all(&world, &plan, &missing, ledger, &directory)?;
        let table = Table::new(&names, &done, self.among, self.false_alarm);
        let text = table.text(&introduction, &done);
        let written = write(&directory, &table, &text);
        written.map_err(Failure::finishing)?;
        screen.tell(&format!("{}\nResults are in {}\n", table.body(&done), directory.display()))?;
        match (table.wrong().as_slice(), table.is_exact(&done)) {
            ([], true) => Ok(()),
            ([], false) => Err(Failure::Failed(format!(
                "the check of {} is not exact: too many fits are worth fewer independent draws than truths are ranked among; ask for more \
                 --draws, or fewer --among, in another --out",
                self.model.name()
            ))),
            (wrong, _) => Err(Failure::Failed(format!(
                "ranks of {} are not uniform: the sampler, its warm-up or the number of draws is not enough for {}; a right one is told \
                 so {}",
                wrong.join(", "),
                self.model.name(),
                once_in(self.false_alarm)
            ))),
        }
    }

    fn device(&self) -> Result<Device> {
        match self.device.to_lowercase().as_str() {
            "cpu" | "auto" => Ok(Device::cpu()),
            "gpu" => Device::gpu(),
            part => Device::gpu_named(part),
        }
    }

    fn settings(&self, device: Device) -> Result<Settings> {
        let settings = Settings {
            chains: self.chains,
            warmup: self.warmup,
            draws: self.draws,
            seed: self.seed,
            // Fits run side by side instead.
            threads: Some(1),
            device,
            method: self.method.into(),
            coordinates: self.coordinates.into(),
            ..Settings::default()
        };
        settings.check()?;
        at_most("--replicates", self.replicates.into(), 10_000)?;
        at_most("--chains", self.chains.into(), 100)?;
        at_most("--warmup", self.warmup.into(), 1_000_000)?;
        at_most("--draws", self.draws.into(), 1_000_000)?;
        at_most("--among", self.among.into(), u64::from(self.chains) * u64::from(self.draws))?;
        at_most("--threads", self.threads.unwrap_or(1) as u64, 1024)?;
        for (option, value, least) in [
            ("--replicates", self.replicates, 2),
            ("--among", self.among, 7),
            ("--draws", self.draws, 8),
        ] {
            if value < least {
                let expected = format!("at least {least}");
                return Err(Error::input(option, expected, value.to_string(), "ask for more"));
            }
        }
        Ok(settings)
    }

    fn prepare(&self) -> Result<Prepared> {
        let device = self.device()?;
        let kind = self.sizes.kind(self.model, device.is_gpu())?;
        let plan = Calibration { fit: self.settings(device)?, among: self.among };
        let world = kind.world(&self.priors)?;
        let names = quantities(&world);
        let priors: Vec<String> =
            world.model().hyperparameters().iter().map(|one| one.prior().to_string()).collect();
        let settings = json!({
            "program": concat!("sshmc ", env!("CARGO_PKG_VERSION")),
            "build": build(),
            "model": kind.name(),
            "size": kind.describe(),
            "priors": priors,
            "device": plan.fit.device.name(),
            "method": plan.fit.method.name(),
            "coordinates": format!("{:?}", self.coordinates).to_lowercase(),
            "chains": self.chains,
            "warmup": self.warmup,
            "draws": self.draws,
            "among": self.among,
            "seed": self.seed,
        });
        let directory = self.out.clone();
        let directory = directory.unwrap_or_else(|| Path::new("sshmc-check").join(kind.name()));
        // What is refused must not leave a directory behind.
        try_fit(&world, &plan)?;
        let ledger = Ledger::open(&directory, &settings, &names, self.among)?;
        let introduction = format!(
            "Calibrating {} with {} on {} worlds of {}, on {}, {} coordinates, seed {}.\n  priors: {}\n  {} of {} warm-up \
             transitions and {} draws; ranks among {}\n",
            kind.name(),
            plan.fit.method.name(),
            self.replicates,
            kind.describe(),
            plan.fit.device.name(),
            format!("{:?}", self.coordinates).to_lowercase(),
            self.seed,
            priors.join(", "),
            counted(self.chains, "chain"),
            self.warmup,
            self.draws,
            self.among
        );
        Ok(Prepared { world, plan, names, directory, ledger, introduction })
    }

    /// Makes what is missing and returns the first replicates, in order.
    fn fit_all(
        &self,
        world: &World,
        plan: &Calibration,
        missing: &[u32],
        ledger: Ledger,
        directory: &Path,
    ) -> std::result::Result<Vec<Replicate>, Failure> {
        let stop = interrupt::watch();
        let watch = Watch::open("worlds", self.replicates.into(), self.progress, self.quiet);
        watch.skip(u64::from(self.replicates) - missing.len() as u64);
        let ledger = Mutex::new(ledger);
        let one = |&number: &u32| -> Result<()> {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            let made = replicate(world, plan, number, &Stop(stop))?;
            let message = format!("last took {:.1} s", made.seconds);
            ledger.lock().unwrap_or_else(PoisonError::into_inner).append(made)?;
            watch.done(message);
            Ok(())
        };
        // A GPU has one queue: its fits would wait for each other anyway.
        let threads = match plan.fit.device.is_gpu() {
            true => 1,
            false => self
                .threads
                .unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)),
        };
        let outcome = side_by_side(threads, missing, one);
        drop(watch);
        let again = format!("the same command goes on in {}", directory.display());
        outcome.map_err(|error| match error {
            Error::Stopped => Failure::Stopped(format!("what is done is kept; {again}")),
            Error::Io { .. } => Failure::Stopped(format!("{error}; mend this, and {again}")),
            error => Failure::running(error),
        })?;
        let ledger = ledger.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut done: Vec<Replicate> =
            ledger.done().iter().filter(|r| r.number < self.replicates).cloned().collect();
        done.sort_by_key(|replicate| replicate.number);
        Ok(done)
    }
}

/// Does something for each number on so many threads, and stops at the first error. Threads of our own, because a thread of a pool that
/// waits for another pool, as every fit has one, takes up more work meanwhile.
fn side_by_side(
    threads: usize,
    numbers: &[u32],
    one: impl Fn(&u32) -> Result<()> + Sync,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let failed: Mutex<Option<Error>> = Mutex::new(None);
    let lock = || failed.lock().unwrap_or_else(PoisonError::into_inner);
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, numbers.len().max(1)) {
            scope.spawn(|| {
                while let Some(number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = one(number) {
                        lock().get_or_insert(error);
                    }
                    if lock().is_some() {
                        break;
                    }
                }
            });
        }
    });
    lock().take().map_or(Ok(()), Err)
}

/// What tells this build from others of the same version: a checksum of the program's file; nothing where it cannot be read.
fn build() -> Option<String> {
    let mut file = File::open(std::env::current_exe().ok()?).ok()?;
    let (mut sum, mut piece) = (crc32fast::Hasher::new(), vec![0; 1 << 18]);
    loop {
        match file.read(&mut piece).ok()? {
            0 => return Some(format!("{:08x}", sum.finalize())),
            count => sum.update(&piece[..count]),
        }
    }
}

/// Writes the figure and the report.
fn write(directory: &Path, table: &Table, text: &str) -> Result<()> {
    let svg = table.figure()?;
    add_file(directory, "calibration.svg", svg.as_bytes())?;
    add_file(directory, "calibration.png", &draw_png(&svg)?)?;
    add_file(directory, "report.md", text.as_bytes())
}
