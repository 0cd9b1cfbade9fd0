//! Fits stochastic volatility to one or many series of returns.

use super::{Finished, Job, check_bounds, open};
use crate::cli::failure::Failure;
use crate::cli::options::{Chosen, Common};
use crate::cli::progress::Tally;
use crate::cli::screen::Screen;
use clap::Args;
use rayon::prelude::*;
use sshmc::archive::{Axis, Variable};
use sshmc::data::{Returns, Series, SeriesColumns};
use sshmc::model::stochvol;
use sshmc::report::{FieldMoments, Run, Summary, csv_field, draw_volatility};
use sshmc::sample::{Footprint, bundles};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Writes into DIR: report.html, to be read first; summary.json; hyperparameters.csv (every draw of phi, sigma and beta); field.csv
(t from 1, posterior mean and sd of the log volatility x, where the variance of a return is beta^2 e^x); volatility.svg;
draws.zarr (all draws, for ArviZ); returns.csv and run.json; state/, from which `sshmc extend` goes on. Of several series each has such a directory in DIR, and series.csv lists
their hyperparameters.

Examples:
  sshmc fit sv --returns market/returns.csv
  sshmc fit sv --returns prices.csv --price-column close
  sshmc fit sv --returns prices.csv --price-column ACME --price-column WIDGET --out market
  sshmc fit sv --returns returns.csv --prior 'phi=beta(20,1.5)' --draws 4000";

/// Options of stochastic volatility.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Sv {
    /// CSV with returns or prices at equal steps, in order of time
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    returns: PathBuf,
    /// Column with returns [default: y]; may be repeated, each a series of its own
    #[arg(long = "column", value_name = "NAME", help_heading = "Data")]
    columns: Vec<String>,
    /// Column with prices instead, of which demeaned log returns are taken; may be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "columns", help_heading = "Data")]
    price_column: Vec<String>,
    /// Column that names the series of each row, if the file lists several one below the other
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    by: Option<String>,
    #[command(flatten)]
    common: Common,
}

impl Sv {
    /// Reads other files than those that were named.
    pub(super) fn replace_files(
        &mut self,
        replace: impl Fn(&mut PathBuf) -> sshmc::Result<()>,
    ) -> sshmc::Result<&mut Common> {
        replace(&mut self.returns)?;
        Ok(&mut self.common)
    }

    pub(crate) fn run(&self) -> Result<(), Failure> {
        let columns = self.series_columns();
        columns.check().map_err(Failure::preparing)?;
        let all = Series::read(&self.returns, &columns).map_err(Failure::preparing)?;
        if let [only] = &all[..] {
            let chosen = self.device(&all)?;
            let (job, quiet) = (self.job(only, None, chosen)?, self.common.quiet);
            let mut screen = Screen::open(quiet);
            return job.run(&mut screen, quiet, |run| write_files(&only.returns, run)).map(|_| ());
        }
        self.run_many(&all)
    }

    fn series_columns(&self) -> SeriesColumns {
        let (values, prices) = match (&self.columns[..], &self.price_column[..]) {
            ([], []) => return SeriesColumns { by: self.by.clone(), ..SeriesColumns::returns() },
            (columns, []) => (columns, false),
            (_, columns) => (columns, true),
        };
        SeriesColumns { values: values.to_vec(), prices, by: self.by.clone() }
    }

    /// Where all series are fitted.
    fn device(&self, all: &[Series]) -> Result<Chosen, Failure> {
        let latents = all.iter().map(|series| series.returns.steps()).sum();
        let chosen = self.common.device(latents).map_err(Failure::preparing)?;
        let Some(first) = all.first() else { return Ok(chosen) };
        // What holds for one holds for all: they differ in their returns only.
        let model = stochvol(&first.returns, &self.common.priors).map_err(Failure::preparing)?;
        self.common.reconsider(chosen, &model).map_err(Failure::preparing)
    }

    /// A fit of one series, in a directory of its own if there are several.
    fn job(
        &self,
        series: &Series,
        directory: Option<PathBuf>,
        chosen: Chosen,
    ) -> Result<Job, Failure> {
        let model = stochvol(&series.returns, &self.common.priors).map_err(Failure::preparing)?;
        let steps = series.returns.steps();
        let subject = match &directory {
            None => format!("stochastic volatility to {steps} returns"),
            Some(_) => format!("stochastic volatility to {steps} returns of {}", series.name),
        };
        let mut job =
            Job::prepare_in(model, subject, &self.common, chosen, &[&self.returns], directory)?;
        let values = series.returns.y().to_vec();
        job.axes =
            vec![Axis { name: "time".into(), values: (1..=steps).map(|t| t as f64).collect() }];
        job.data = vec![Variable { observed: true, name: "returns".into(), values }];
        Ok(job)
    }

    /// Fits all series. Their directories are parts of one that appears when all are done.
    fn run_many(&self, all: &[Series]) -> Result<(), Failure> {
        let directory = self.common.directory("sv");
        let chosen = self.device(all)?;
        let mut output =
            open(&directory, &self.common, &[&self.returns], false).map_err(Failure::preparing)?;
        let mut screen = Screen::open(self.common.quiet);
        screen.tell(&format!("Fitting stochastic volatility to {} series.\n", all.len()))?;
        if let Some(notice) = &chosen.notice {
            screen.tell(&format!("  device: {notice}\n"))?;
        }
        let fits = if chosen.device.is_gpu() {
            self.fit_together(all, output.staging(), &chosen, &mut screen)
        } else {
            self.fit_side_by_side(all, output.staging(), &chosen)
        };
        let fits = match fits {
            Err(Failure::Stopped(text)) => {
                output.keep();
                return Err(Failure::Stopped(text));
            }
            fits => fits?,
        };
        let table = table(all, &fits);
        output.write_text("series.csv", &table).map_err(Failure::running)?;
        output.commit().map_err(Failure::finishing)?;
        screen.tell(&format!("\n{table}\n"))?;
        for (series, fit) in all.iter().zip(&fits).filter(|(_, fit)| !fit.warnings.is_empty()) {
            screen.tell(&format!("{}: {}\n", series.name, fit.warnings.join("; ")))?;
        }
        screen
            .tell(&format!("Results are in {}, a directory for each series\n", directory.display()))
    }

    /// A bar over all transitions of so many series.
    fn tally(&self, series: usize) -> Tally {
        Tally::open(series as u64 * self.transitions(), self.common.chains, self.common.quiet)
    }

    /// Transitions of a series.
    fn transitions(&self) -> u64 {
        u64::from(self.common.chains)
            * (u64::from(self.common.warmup) + u64::from(self.common.draws().0))
    }

    /// Fits each series on a thread of its own.
    fn fit_side_by_side(
        &self,
        all: &[Series],
        directory: &Path,
        chosen: &Chosen,
    ) -> Result<Vec<Summary>, Failure> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.common.threads.unwrap_or(0));
        let pool = pool.build();
        let pool = pool.map_err(|e| Failure::Broken(format!("cannot start threads: {e}")))?;
        let tally = self.tally(all.len());
        tally.say(format!("{} series", all.len()));
        let fit = |series: &Series| {
            let own = directory.join(&series.name);
            if let Some(summary) = self.fitted(&own, &tally) {
                return Ok(summary);
            }
            let mut job = self.job(series, Some(own), chosen.clone())?;
            job.settings.threads = Some(1);
            job.run_silently(&tally, |run| write_files(&series.returns, run))
        };
        pool.install(|| all.into_par_iter().map(fit).collect())
    }

    /// Fits as many series at a time as the GPU has room for, by the same commands.
    fn fit_together(
        &self,
        all: &[Series],
        directory: &Path,
        chosen: &Chosen,
        screen: &mut Screen,
    ) -> Result<Vec<Summary>, Failure> {
        let tally = self.tally(all.len());
        let place = |k: usize| directory.join(&all[k].name);
        let mut summaries: Vec<Option<Summary>> =
            (0..all.len()).map(|k| self.fitted(&place(k), &tally)).collect();
        let left: Vec<usize> = (0..all.len()).filter(|&k| summaries[k].is_none()).collect();
        let settings = self.common.settings(chosen.device.clone()).map_err(Failure::preparing)?;
        let model = |&k: &usize| stochvol(&all[k].returns, &self.common.priors);
        let models = left.iter().map(model).collect::<sshmc::Result<Vec<_>>>();
        let models = models.map_err(Failure::preparing)?;
        let bundles = bundles(&models.iter().collect::<Vec<_>>(), &settings);
        let most = bundles.iter().map(Vec::len).max().unwrap_or(0);
        let footprint = |bundle: &Vec<usize>| {
            Footprint::together(bundle.iter().map(|&k| Footprint::new(&models[k], &settings)))
        };
        let footprint = Footprint::in_turn(bundles.iter().map(footprint));
        check_bounds(&footprint, directory).map_err(Failure::preparing)?;
        screen.tell(&format!(
            "  GPU {}, single precision: {} series to fit, up to {most} at a time\n",
            chosen.device.name(),
            left.len()
        ))?;
        for bundle in bundles {
            let own: Vec<usize> = bundle.into_iter().map(|k| left[k]).collect();
            tally.say(format!("{} series at a time", own.len()));
            let job = |&k: &usize| self.job(&all[k], Some(place(k)), chosen.clone());
            let jobs = own.iter().map(job).collect::<Result<Vec<_>, Failure>>()?;
            let write = |k: usize, run: &Finished<'_>| write_files(&all[own[k]].returns, run);
            let fits = Job::run_together(jobs, &tally, write)?;
            own.iter().zip(fits).for_each(|(&k, fit)| summaries[k] = Some(fit));
        }
        Ok(summaries.into_iter().flatten().collect())
    }

    /// The summary of a series that was fitted before the run was stopped.
    fn fitted(&self, directory: &Path, tally: &Tally) -> Option<Summary> {
        let run = Run::open(directory).ok()?;
        tally.skip(self.transitions());
        Some(run.summary)
    }
}

/// One row per series: mean and 90 % interval of every hyperparameter, and whether to trust them.
fn table(all: &[Series], fits: &[Summary]) -> String {
    let mut table = String::from("series");
    for name in fits.first().into_iter().flat_map(|fit| fit.parameters.keys()) {
        let _ = write!(table, ",{name}_mean,{name}_q05,{name}_q95");
    }
    table += ",warnings\n";
    for (series, fit) in all.iter().zip(fits) {
        table += &csv_field(&series.name);
        for p in fit.parameters.values() {
            let _ = write!(table, ",{:.5},{:.5},{:.5}", p.mean, p.q05, p.q95);
        }
        let _ = writeln!(table, ",{}", fit.warnings.len());
    }
    table
}

fn write_files(returns: &Returns, run: &Finished<'_>) -> sshmc::Result<()> {
    let step = |site: usize| (site + 1).to_string();
    let (field, output) = (FieldMoments::new(run.fit), run.output);
    output.write_with("field.csv", |file| field.write_csv("t", step, file))?;
    output.write_with("returns.csv", |file| returns.write(file))?;
    let beta = run.summary.parameters.get("beta").map_or(1.0, |beta| beta.q50);
    output.write_text("volatility.svg", &draw_volatility(returns.y(), &field, beta)?)
}
