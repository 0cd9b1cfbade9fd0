//! Fits stochastic volatility to one or many series of returns.

use super::{Finished, Job, open};
use crate::cli::failure::Failure;
use crate::cli::options::{Common, Coordinates};
use crate::cli::screen::Screen;
use clap::Args;
use rayon::prelude::*;
use sshmc::data::{Returns, Series, SeriesColumns};
use sshmc::model::stochvol;
use sshmc::report::{FieldMoments, Run, Summary, csv_field, draw_volatility, write_fields};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Writes into DIR: report.html, to be read first; summary.json; hyperparameters.csv (every draw of phi, sigma and beta); field.csv
(t from 1, posterior mean and sd of the log volatility x, where the variance of a return is beta^2 e^x); volatility.svg;
fields.npy (draws of x); returns.csv and run.json. Of several series each has such a directory in DIR, and series.csv lists
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
            let (job, quiet) = (self.job(only, None)?, self.common.quiet);
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

    /// A fit of one series, in a directory of its own if there are several.
    fn job(&self, series: &Series, directory: Option<PathBuf>) -> Result<Job, Failure> {
        let model = stochvol(&series.returns, &self.common.priors).map_err(Failure::preparing)?;
        let steps = series.returns.steps();
        let subject = match &directory {
            None => format!("stochastic volatility to {steps} returns"),
            Some(_) => format!("stochastic volatility to {steps} returns of {}", series.name),
        };
        let centred = matches!(self.common.coordinates, Coordinates::Centred);
        let lacking = centred.then_some("a centred series");
        let chosen = self.common.device(steps, lacking).map_err(Failure::preparing)?;
        Job::prepare_in(model, subject, &self.common, chosen, &[&self.returns], directory)
    }

    /// Fits all series side by side, one thread each. Their directories are parts of one that appears when all are done.
    fn run_many(&self, all: &[Series]) -> Result<(), Failure> {
        let directory = self.common.directory("sv");
        let kept = self.common.method.is_kept();
        let mut output = open(&directory, &self.common, &[&self.returns], kept, false)
            .map_err(Failure::preparing)?;
        let mut screen = Screen::open(self.common.quiet);
        screen.tell(&format!("Fitting stochastic volatility to {} series.\n", all.len()))?;
        let threads = self.common.threads.unwrap_or(0);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|e| Failure::Broken(format!("cannot start threads: {e}")))?;
        let place = |series: &Series| output.staging().join(&series.name);
        let fits = pool.install(|| {
            let fit = |series| self.run_one(series, &place(series));
            all.into_par_iter().map(fit).collect::<Result<Vec<Summary>, Failure>>()
        });
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

    /// Fits one of several series, unless that was done before the run was stopped.
    fn run_one(&self, series: &Series, directory: &Path) -> Result<Summary, Failure> {
        if let Ok(run) = Run::open(directory) {
            return Ok(run.summary);
        }
        let mut job = self.job(series, Some(directory.to_path_buf()))?;
        job.settings.threads = Some(1);
        let silence = &mut Screen::open(true);
        job.run(silence, true, |run| write_files(&series.returns, run))
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
    write_fields(run.fit, &[returns.steps()], output)?;
    let beta = run.summary.parameters.get("beta").map_or(1.0, |beta| beta.q50);
    output.write_text("volatility.svg", &draw_volatility(returns.y(), &field, beta)?)
}
