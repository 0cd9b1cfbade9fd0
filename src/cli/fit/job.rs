//! Prepares what all fits have in common: settings, a directory, what is said before it begins.

use super::bounds;
use super::task::Task;
use crate::cli::failure::Failure;
use crate::cli::length::show_duration;
use crate::cli::options::{Chosen, Common, Origin};
use crate::cli::screen::Screen;
use sshmc::archive::{Axis, Variable};
use sshmc::data::OutputDir;
use sshmc::model::Model;
use sshmc::report::{LgcpRecord, Truth, counted};
use sshmc::sample::{Footprint, Settings};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A fit that is ready to run: everything about it has been checked and its directory can be written.
pub(crate) struct Job {
    /// What is fitted to what, as the rest of a sentence that starts with "Fitting".
    pub(crate) subject: String,
    /// The model.
    pub(crate) model: Arc<Model>,
    /// The settings.
    pub(crate) settings: Settings,
    /// Where the results go.
    pub(crate) output: OutputDir,
    /// The same as the user typed it.
    pub(crate) shown: PathBuf,
    /// The directory that `sshmc resume` takes.
    pub(super) whole: PathBuf,
    /// Time between two checkpoints.
    pub(super) interval: Duration,
    /// True values, if they are known.
    pub(crate) truth: Truth,
    /// Why it runs where it runs, if that was not asked for.
    pub(crate) notice: Option<String>,
    /// The command, to repeat it.
    pub(crate) command: String,
    /// What a Cox process adds to the record of the run.
    pub(crate) lgcp: Option<LgcpRecord>,
    /// Axes of the field, and what it was fitted to.
    pub(crate) axes: Vec<Axis>,
    pub(crate) data: Vec<Variable>,
    /// Runs whose chains are taken over.
    pub(super) sources: Vec<PathBuf>,
    /// What it takes at most.
    footprint: Footprint,
}

/// An axis whose places are numbered from 0.
pub(crate) fn numbered(name: &str, length: usize) -> Axis {
    Axis { name: name.to_owned(), values: (0..length).map(|k| k as f64).collect() }
}

/// Words as they can be typed into a shell, in quotes where they need them.
pub(crate) fn as_typed(words: impl IntoIterator<Item = String>) -> String {
    let quoted = |word: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=,:+@%".contains(c);
        match !word.is_empty() && word.chars().all(plain) {
            true => word,
            false => format!("'{}'", word.replace('\'', "'\\''")),
        }
    };
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Refuses a directory that holds an input: results replace the whole directory, and the data would be gone with it.
fn keep_inputs(output: &Path, inputs: &[&Path]) -> sshmc::Result<()> {
    let Ok(directory) = output.canonicalize() else { return Ok(()) };
    for input in inputs {
        if input.canonicalize().is_ok_and(|path| path.starts_with(&directory)) {
            return Err(sshmc::Error::input(
                format!("--out {}", output.display()),
                "a directory that does not hold the data",
                format!("the one {} is in", input.display()),
                "results replace the whole directory; name another one",
            ));
        }
    }
    Ok(())
}

/// Opens the directory of a fit: a new one, or that of a run which goes on. A part of a run has no task of its own.
pub(crate) fn open(
    directory: &Path,
    common: &Common,
    inputs: &[&Path],
    part: bool,
) -> sshmc::Result<OutputDir> {
    if let Origin::Resumed { .. } = common.origin
        && OutputDir::partial(directory)?.exists()
    {
        return OutputDir::reopen(directory);
    }
    if !part {
        keep_inputs(directory, inputs)?;
        Task::clear_stillborn(directory)?;
    }
    let output = OutputDir::begin(directory)?;
    if !part {
        Task::write(common.origin.words(), inputs, &output)?;
    }
    Ok(output)
}

impl Job {
    /// Checks the common options and makes the directory.
    pub(crate) fn prepare(
        model: Model,
        subject: String,
        common: &Common,
        chosen: Chosen,
        inputs: &[&Path],
    ) -> Result<Self, Failure> {
        Self::prepare_in(model, subject, common, chosen, inputs, None)
    }

    /// The same with a directory other than the one the options name.
    pub(crate) fn prepare_in(
        model: Model,
        subject: String,
        common: &Common,
        chosen: Chosen,
        inputs: &[&Path],
        directory: Option<PathBuf>,
    ) -> Result<Self, Failure> {
        let Chosen { device, notice } = chosen;
        let settings = common.settings(device).map_err(Failure::preparing)?;
        let interval = common.interval().map_err(Failure::preparing)?;
        let footprint = Footprint::new(&model, &settings);
        let whole = common.directory(model.name());
        let part = directory.is_some();
        let shown = directory.unwrap_or_else(|| whole.clone());
        let output =
            bounds::check(&footprint, &shown).and_then(|()| open(&shown, common, inputs, part));
        let output = output.map_err(Failure::preparing)?;
        let words = std::iter::once("sshmc".to_owned()).chain(common.origin.words());
        let command = as_typed(words);
        let sites = model.structure().sites();
        Ok(Self {
            subject,
            model: Arc::new(model),
            settings,
            output,
            shown,
            whole,
            interval,
            truth: Truth::new(),
            command,
            lgcp: None,
            axes: vec![numbered("i", sites)],
            data: Vec::new(),
            sources: common.origin.sources().to_vec(),
            footprint,
            notice,
        })
    }

    /// Says what is about to be fitted.
    pub(super) fn introduce(&self, screen: &mut Screen) -> io::Result<()> {
        writeln!(screen, "Fitting {}.", self.subject)?;
        for one in self.model.hyperparameters() {
            writeln!(screen, "  prior of {}: {}", one.prior().scale_name(), one.describe_prior())?;
        }
        for note in self.model.notes() {
            writeln!(screen, "  note: {note}")?;
        }
        if let Some(notice) = &self.notice {
            writeln!(screen, "  device: {notice}")?;
        }
        if let Some(gpu) = self.settings.device.as_gpu() {
            let adapter = gpu.adapter();
            let kind = if adapter.software {
                "; it is software that imitates a GPU, slower than --device cpu"
            } else {
                ""
            };
            writeln!(screen, "  GPU {}, single precision{kind}", adapter.name)?;
            if !gpu.sums_exactly() {
                let what = "its driver rearranges sums, so that energies are good to single precision only";
                writeln!(screen, "  warning: {what}; use --device cpu or another driver")?;
            }
        }
        let Footprint { memory, disk } = self.footprint;
        let (memory, disk) = (bounds::size(memory), bounds::size(disk));
        writeln!(screen, "  at most about {memory} of memory and {disk} of disk")?;
        let Settings { chains, warmup, draws, seed, until, .. } = self.settings;
        let chains = counted(chains, "chain");
        match until {
            None => writeln!(
                screen,
                "  {chains} of {warmup} warm-up transitions and {draws} draws, seed {seed}"
            )?,
            Some(until) => {
                let time = until.time.map(|time| format!(" or {}", show_duration(time)));
                writeln!(
                    screen,
                    "  {chains} of {warmup} warm-up transitions and as many draws as it takes: until every ESS is {} and R-hat {}, at most \
                     {}{}; seed {seed}",
                    until.ess,
                    until.rhat,
                    until.most,
                    time.unwrap_or_default()
                )?;
            }
        }
        screen.flush()
    }
}
