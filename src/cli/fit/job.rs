//! Does what all fits have in common: says what is fitted, samples with a progress bar, writes and prints the results.

use super::task::{STATE, Task};
use crate::cli::failure::Failure;
use crate::cli::interrupt;
use crate::cli::options::{Chosen, Common, Origin};
use crate::cli::progress::Bar;
use crate::cli::screen::Screen;
use sshmc::checkpoint::Checkpoints;
use sshmc::data::OutputDir;
use sshmc::model::Model;
use sshmc::report::{self, LgcpRecord, Run, RunRecord, Summary, Truth, write_draws};
use sshmc::sample::{self, Fit, Method, Progress, Settings};
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
        let whole = common.directory(model.name());
        let part = directory.is_some();
        let shown = directory.unwrap_or_else(|| whole.clone());
        let whole = (settings.method == Method::Sshmc).then_some(whole);
        let output = open(&shown, common, inputs, whole.is_some(), part);
        let output = output.map_err(Failure::preparing)?;
        let words = std::iter::once("sshmc".to_owned()).chain(common.origin.words());
        let command = as_typed(words);
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
        let outcome = match &self.whole {
            None => sample::run(&model, &self.settings, progress),
            Some(_) => {
                let (stop, states) = (interrupt::watch(), output.staging().join(STATE));
                let kept = Checkpoints::open(&states, self.interval, stop, &warn);
                kept.and_then(|kept| sample::run_kept(&model, &self.settings, progress, &kept))
            }
        };
        if let Some(bar) = bar {
            bar.close();
        }
        let fail = |error: sshmc::Error| match &self.whole {
            Some(directory) => Failure::keeping(error, directory),
            None => Failure::running(error),
        };
        let fit = match outcome {
            Ok(fit) => fit,
            Err(error) => {
                if matches!(error, sshmc::Error::Stopped | sshmc::Error::Io { .. }) {
                    output.keep();
                }
                return Err(fail(error));
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
        let Settings { chains, warmup, draws, seed, .. } = self.settings;
        writeln!(
            screen,
            "  {chains} chains of {warmup} warm-up transitions and {draws} draws, seed {seed}\n"
        )?;
        screen.flush()
    }
}
