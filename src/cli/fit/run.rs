//! Runs prepared fits: samples with a progress bar, writes and prints the results.

use super::job::{Job, as_typed};
use crate::cli::failure::Failure;
use crate::cli::interrupt;
use crate::cli::progress::Watch;
use crate::cli::screen::Screen;
use sshmc::archive::{Archive, Contents, archive_of};
use sshmc::checkpoint::{CheckpointOptions, Checkpoints, has_states};
use sshmc::data::OutputDir;
use sshmc::report::{self, Run, RunRecord, Summary, write_draws};
use sshmc::sample::{self, Fit, Part, Progress};
use std::io::{self, Write};
use std::time::Instant;

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

impl Job {
    /// Runs it; `write` adds the files that only this model has.
    pub(crate) fn run(
        self,
        screen: &mut Screen,
        quiet: bool,
        write: impl FnOnce(&Finished<'_>) -> sshmc::Result<()>,
    ) -> Result<Summary, Failure> {
        self.introduce(screen).map_err(Failure::printing)?;
        let begun = Instant::now();
        let outcome = self.sample(&Watch::open(&self.model, &self.settings, screen, quiet));
        self.conclude(outcome, begun, screen, write)
    }

    /// The same in silence, with a progress that is someone else's.
    pub(crate) fn run_silently(
        self,
        progress: &dyn Progress,
        write: impl FnOnce(&Finished<'_>) -> sshmc::Result<()>,
    ) -> Result<Summary, Failure> {
        let begun = Instant::now();
        let outcome = self.sample(progress);
        self.conclude(outcome, begun, &mut Screen::open(true), write)
    }

    /// Runs several that can be computed together, in silence; `write` adds the files of each.
    pub(crate) fn run_together(
        jobs: Vec<Self>,
        progress: &dyn Progress,
        write: impl Fn(usize, &Finished<'_>) -> sshmc::Result<()>,
    ) -> Result<Vec<Summary>, Failure> {
        let begun = Instant::now();
        let fits = match sample_together(&jobs, progress) {
            Ok(fits) => fits,
            Err(error) => {
                let failure = jobs.first().map(|job| job.failure(error));
                jobs.into_iter().for_each(|job| {
                    job.keep_if(failure.as_ref());
                });
                return Err(failure.unwrap_or_else(|| Failure::Broken("nothing to fit".into())));
            }
        };
        let finish = |(k, (job, fit)): (usize, (Self, Fit))| {
            job.finish(&fit, begun, &mut Screen::open(true), |run| write(k, run))
        };
        jobs.into_iter().zip(fits).enumerate().map(finish).collect()
    }

    /// The archive of the fit, for so many draws of each chain.
    fn archive(&self, draws: u32) -> sshmc::Result<Archive> {
        let (model, settings) = (&self.model, &self.settings);
        let names = model.hyperparameters().names();
        let contents = Contents {
            model: model.name().to_owned(),
            names: names.iter().map(ToString::to_string).collect(),
            chains: (0..settings.chains).map(|chain| settings.first_chain + chain).collect(),
            draws: draws as usize,
            axes: self.axes.clone(),
            data: self.data.clone(),
        };
        let root = archive_of(self.output.staging());
        Archive::create(&root, &contents, &sample::field_plan(model, settings))
    }

    /// Keeps draws and states while it runs.
    fn checkpoints(&self) -> sshmc::Result<Checkpoints<'static>> {
        let stop = interrupt::watch();
        let options = CheckpointOptions { interval: self.interval, stop, warn: &warn };
        let (directory, device) = (self.output.staging(), self.settings.device.name());
        // There is room for all that may come; what is not needed is cut off in the end.
        let archive = self.archive(self.settings.most_draws())?;
        let kept = Checkpoints::open(directory, archive, &device, options)?;
        self.sources.iter().try_for_each(|source| kept.import(source))?;
        Ok(kept)
    }

    /// Samples, with draws written to the archive as they come.
    fn sample(&self, progress: &dyn Progress) -> sshmc::Result<Fit> {
        let kept = self.checkpoints()?;
        let fit = sample::run_kept(&self.model, &self.settings, progress, &kept)?;
        self.complete(&kept, &fit)?;
        Ok(fit)
    }

    /// Ends the archive where the draws do, and removes what is of no use any more.
    fn complete(&self, kept: &Checkpoints<'_>, fit: &Fit) -> sshmc::Result<()> {
        let draws = fit.settings.draws;
        if draws < self.settings.most_draws() {
            kept.end(&self.archive(draws)?, &fit.chains)?;
        }
        kept.tidy();
        Ok(())
    }

    /// What an error of its run means to the user.
    fn failure(&self, error: sshmc::Error) -> Failure {
        match &error {
            // A GPU that fails before anything was kept would fail there again.
            sshmc::Error::Device(_) if !has_states(self.output.staging()) => {
                Failure::running(error)
            }
            _ => Failure::keeping(error, &self.whole),
        }
    }

    /// Leaves the directory as it is if the run can go on from there.
    fn keep_if(mut self, failure: Option<&Failure>) {
        if matches!(failure, Some(Failure::Stopped(_))) {
            self.output.keep();
        }
    }

    /// Ends a run, well or not.
    fn conclude(
        self,
        outcome: sshmc::Result<Fit>,
        begun: Instant,
        screen: &mut Screen,
        write: impl FnOnce(&Finished<'_>) -> sshmc::Result<()>,
    ) -> Result<Summary, Failure> {
        match outcome {
            Ok(fit) => self.finish(&fit, begun, screen, write),
            Err(error) => {
                let failure = self.failure(error);
                self.keep_if(Some(&failure));
                Err(failure)
            }
        }
    }

    /// Writes the results and prints the summary.
    fn finish(
        mut self,
        fit: &Fit,
        begun: Instant,
        screen: &mut Screen,
        write: impl FnOnce(&Finished<'_>) -> sshmc::Result<()>,
    ) -> Result<Summary, Failure> {
        interrupt::finishing();
        self.output.keep();
        let summary = Summary::new(fit);
        let seconds = begun.elapsed().as_secs_f64();
        let mut record = RunRecord::new(fit, self.command.clone(), self.subject.clone(), seconds);
        record.lgcp = self.lgcp.take();
        record.directory = as_typed([self.whole.display().to_string()]);
        let output = &self.output;
        let finished = Finished { fit, summary: &summary, output };
        output
            .write_json("summary.json", &summary)
            .and_then(|()| output.write_with("hyperparameters.csv", |file| write_draws(fit, file)))
            .and_then(|()| output.write_json("run.json", &record))
            .and_then(|()| write(&finished))
            .and_then(|()| report::page(&Run::open(output.staging())?))
            .and_then(|page| output.write_text("report.html", &page))
            .map_err(|error| self.failure(error))?;
        self.output.commit().map_err(Failure::finishing)?;
        writeln!(screen).map_err(Failure::printing)?;
        for note in &fit.model.notes()[self.model.notes().len()..] {
            writeln!(screen, "note: {note}").map_err(Failure::printing)?;
        }
        summary.write_text(&self.truth, screen).map_err(Failure::printing)?;
        if let Some(advice) = summary.advice(&record.directory) {
            writeln!(screen, "advice:  {advice}").map_err(Failure::printing)?;
        }
        let seconds = begun.elapsed().as_secs_f64();
        screen.tell(&format!(
            "\nDone in {seconds:.1} s. Results are in {}\nOpen {} in a browser.\n",
            self.shown.display(),
            self.shown.join("report.html").display()
        ))?;
        Ok(summary)
    }
}

/// Samples several jobs together.
fn sample_together(jobs: &[Job], progress: &dyn Progress) -> sshmc::Result<Vec<Fit>> {
    let Some(first) = jobs.first() else { return Ok(Vec::new()) };
    let kept = jobs.iter().map(Job::checkpoints).collect::<sshmc::Result<Vec<_>>>()?;
    let parts: Vec<Part<'_>> = jobs
        .iter()
        .zip(&kept)
        .map(|(job, keeper)| Part { model: &job.model, progress, keeper })
        .collect();
    let fits = sample::run_together(&parts, &first.settings)?;
    let mut each = jobs.iter().zip(&kept).zip(&fits);
    each.try_for_each(|((job, kept), fit)| job.complete(kept, fit))?;
    Ok(fits)
}
