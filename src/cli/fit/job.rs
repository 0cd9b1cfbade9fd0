//! Does what all fits have in common: says what is fitted, samples with a progress bar, writes and prints the results.

use super::bounds;
use super::task::Task;
use crate::cli::failure::Failure;
use crate::cli::interrupt;
use crate::cli::options::{Chosen, Common, Origin};
use crate::cli::progress::Bar;
use crate::cli::screen::Screen;
use sshmc::archive::{Archive, Axis, Contents, Mark, Variable, archive_of};
use sshmc::checkpoint::{CheckpointOptions, Checkpoints, has_states};
use sshmc::data::OutputDir;
use sshmc::model::Model;
use sshmc::report::{self, LgcpRecord, Run, RunRecord, Summary, Truth, write_draws};
use sshmc::sample::{self, Fit, Footprint, Method, Progress, Settings};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A fit that is ready to run: everything about it has been checked and its directory can be written.
pub(crate) struct Job {
    /// What is fitted to what, as the rest of a sentence that starts with "Fitting".
    pub(crate) subject: String,
    /// The model.
    pub(crate) model: Model,
    /// The settings.
    pub(crate) settings: Settings,
    /// Where the results go.
    pub(crate) output: OutputDir,
    /// The same as the user typed it.
    pub(crate) shown: PathBuf,
    /// The directory that `sshmc resume` takes, if the run can be resumed.
    whole: Option<PathBuf>,
    /// Time between two checkpoints.
    interval: Duration,
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
    sources: Vec<PathBuf>,
    /// What it takes at most.
    footprint: Footprint,
}

/// What the files of a model are made from.
pub(crate) struct Finished<'a> {
    /// The draws.
    pub(crate) fit: &'a Fit,
    /// Their summary.
    pub(crate) summary: &'a Summary,
    /// Where files go.
    pub(crate) output: &'a OutputDir,
}

/// An axis whose places are numbered from 0.
pub(crate) fn numbered(name: &str, length: usize) -> Axis {
    Axis { name: name.to_owned(), values: (0..length).map(|k| k as f64).collect() }
}

/// What the archive of a fit is for.
fn contents(model: &Model, settings: &Settings, axes: Vec<Axis>, data: Vec<Variable>) -> Contents {
    let names = model.hyperparameters().names();
    Contents {
        model: model.name().to_owned(),
        names: names.iter().map(ToString::to_string).collect(),
        chains: (0..settings.chains).map(|chain| settings.first_chain + chain).collect(),
        draws: settings.draws as usize,
        axes,
        data,
    }
}

/// Where draws and states of a run go.
struct Place<'a> {
    directory: &'a Path,
    contents: Contents,
    /// Time between two checkpoints, if the run is kept.
    kept: Option<Duration>,
    sources: &'a [PathBuf],
}

impl Place<'_> {
    /// Samples, with draws written to the archive as they come, or at the end if the run is not kept.
    fn sample(
        &self,
        model: &Arc<Model>,
        settings: &Settings,
        progress: &dyn Progress,
    ) -> sshmc::Result<Fit> {
        let root = archive_of(self.directory);
        let archive = Archive::create(&root, &self.contents, &sample::field_plan(model, settings))?;
        let Some(interval) = self.kept else {
            let fit = sample::run(model, settings, progress)?;
            for chain in &fit.chains {
                archive.append(chain, Mark::default())?;
            }
            return Ok(fit);
        };
        let options = CheckpointOptions { interval, stop: interrupt::watch(), warn: &warn };
        let device = settings.device.name();
        let kept = Checkpoints::open(self.directory, archive, &device, options)?;
        self.sources.iter().try_for_each(|source| kept.import(source))?;
        let fit = sample::run_kept(model, settings, progress, &kept)?;
        kept.tidy();
        Ok(fit)
    }
}

/// Tells of a checkpoint that is damaged.
fn warn(text: &str) {
    // If standard error is gone there is nobody left to tell.
    let _ = writeln!(io::stderr(), "warning: {text}");
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
    kept: bool,
    part: bool,
) -> sshmc::Result<OutputDir> {
    if let Origin::Resumed { .. } = common.origin
        && OutputDir::partial(directory)?.exists()
    {
        return OutputDir::reopen(directory);
    }
    if !part {
        keep_inputs(directory, inputs)?;
    }
    if !kept {
        return OutputDir::create(directory);
    }
    if !part {
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
        let whole = (settings.method == Method::Sshmc).then_some(whole);
        let output = bounds::check(&footprint, &shown)
            .and_then(|()| open(&shown, common, inputs, whole.is_some(), part));
        let output = output.map_err(Failure::preparing)?;
        let words = std::iter::once("sshmc".to_owned()).chain(common.origin.words());
        let command = as_typed(words);
        let sites = model.structure().sites();
        Ok(Self {
            subject,
            model,
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

    /// Runs it; `write` adds the files that only this model has.
    pub(crate) fn run(
        self,
        screen: &mut Screen,
        quiet: bool,
        write: impl FnOnce(&Finished<'_>) -> sshmc::Result<()>,
    ) -> Result<Summary, Failure> {
        self.introduce(screen).map_err(Failure::printing)?;
        let begun = Instant::now();
        let bar = Bar::open(&self.model, &self.settings, quiet);
        let progress: &dyn Progress = match &bar {
            Some(bar) => bar,
            None => &(),
        };
        let model = Arc::new(self.model);
        let mut output = self.output;
        let place = Place {
            directory: output.staging(),
            contents: contents(&model, &self.settings, self.axes, self.data),
            kept: self.whole.as_ref().map(|_| self.interval),
            sources: &self.sources,
        };
        let outcome = place.sample(&model, &self.settings, progress);
        if let Some(bar) = bar {
            bar.close();
        }
        // A GPU that fails before anything was kept would fail there again.
        let begun_on = has_states(output.staging());
        let fail = |error: sshmc::Error| match (&self.whole, &error) {
            (None, _) => Failure::running(error),
            (Some(_), sshmc::Error::Device(_)) if !begun_on => Failure::running(error),
            (Some(directory), _) => Failure::keeping(error, directory),
        };
        let fit = match outcome {
            Ok(fit) => fit,
            Err(error) => {
                let failure = fail(error);
                if matches!(failure, Failure::Stopped(_)) {
                    output.keep();
                }
                return Err(failure);
            }
        };
        if self.whole.is_some() {
            interrupt::finishing();
            output.keep();
        }
        let summary = Summary::new(&fit);
        let seconds = begun.elapsed().as_secs_f64();
        let mut record = RunRecord::new(&fit, self.command, self.subject, seconds);
        record.lgcp = self.lgcp;
        let finished = Finished { fit: &fit, summary: &summary, output: &output };
        output
            .write_json("summary.json", &summary)
            .and_then(|()| output.write_with("hyperparameters.csv", |file| write_draws(&fit, file)))
            .and_then(|()| output.write_json("run.json", &record))
            .and_then(|()| write(&finished))
            .and_then(|()| report::page(&Run::open(output.staging())?))
            .and_then(|page| output.write_text("report.html", &page))
            .map_err(fail)?;
        output.commit().map_err(Failure::finishing)?;
        for note in &fit.model.notes()[model.notes().len()..] {
            writeln!(screen, "note: {note}").map_err(Failure::printing)?;
        }
        summary.write_text(&self.truth, screen).map_err(Failure::printing)?;
        let seconds = begun.elapsed().as_secs_f64();
        screen.tell(&format!(
            "\nDone in {seconds:.1} s. Results are in {}\nOpen {} in a browser.\n",
            self.shown.display(),
            self.shown.join("report.html").display()
        ))?;
        Ok(summary)
    }

    /// Says what is about to be fitted.
    fn introduce(&self, screen: &mut Screen) -> io::Result<()> {
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
        }
        let Footprint { memory, disk } = self.footprint;
        let (memory, disk) = (bounds::size(memory), bounds::size(disk));
        writeln!(screen, "  at most about {memory} of memory and {disk} of disk")?;
        let Settings { chains, warmup, draws, seed, .. } = self.settings;
        writeln!(
            screen,
            "  {chains} chains of {warmup} warm-up transitions and {draws} draws, seed {seed}\n"
        )?;
        screen.flush()
    }
}
