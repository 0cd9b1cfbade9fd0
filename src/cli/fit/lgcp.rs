//! Fits a log-Gaussian Cox process to counts on a grid.

use super::Job;
use crate::cli::failure::Failure;
use crate::cli::options::{Common, KernelName, TorusSize};
use crate::cli::screen::Screen;
use clap::Args;
use sshmc::data::{Counts, OutputDir};
use sshmc::model::{LgcpOptions, lgcp};
use sshmc::report::{FieldMoments, draw_map};
use sshmc::structure::Sides;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Writes into DIR: summary.json; hyperparameters.csv (every draw of sigma, range and mu); field.csv (i, j, posterior mean
and sd of the log intensity, per unit of map area and exposure); field_mean.svg, the map.

Examples:
  sshmc fit lgcp --counts forest/counts.csv --out forest-fit
  sshmc fit lgcp --counts counts.csv --mu 3.9 --prior 'sigma=half-normal(2)' --prior 'range=lognormal(-3,1)'
  sshmc fit lgcp --counts counts.csv --exposure effort.csv";

/// Options of an LGCP.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Lgcp {
    /// CSV with columns i, j, y: row, column (from 0) and count of each cell; empty or NA where not observed
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    counts: PathBuf,
    /// Effort relative to 1: a number, or a CSV with columns i, j, exposure
    #[arg(
        long,
        value_name = "VALUE_OR_FILE",
        allow_negative_numbers = true,
        help_heading = "Data"
    )]
    exposure: Option<String>,
    /// Fix the mean log intensity instead of learning it
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true, help_heading = "Model")]
    mu: Option<f64>,
    /// Correlation function of the log intensity
    #[arg(long, value_enum, default_value_t = KernelName::Exponential, help_heading = "Model")]
    kernel: KernelName,
    /// Torus around the window: as small as a pilot run shows the range to allow, or twice the window
    #[arg(long, value_enum, default_value_t = TorusSize::Auto, help_heading = "Model")]
    torus: TorusSize,
    #[command(flatten)]
    common: Common,
}

impl Lgcp {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let counts = self.read().map_err(Failure::preparing)?;
        // The torus has at least four cells for each of the grid's.
        let chosen = self.common.device(4 * counts.grid().cells()).map_err(Failure::preparing)?;
        let options = LgcpOptions {
            mu: self.mu,
            kernel: self.kernel.into(),
            priors: self.common.priors.clone(),
            sides: if chosen.device.is_gpu() { Sides::PowersOfTwo } else { Sides::Smooth },
        };
        let model = lgcp(&counts, &options).map_err(Failure::preparing)?;
        let mut inputs = vec![self.counts.as_path()];
        inputs.extend(self.exposure.as_deref().map(Path::new));
        let mut job = Job::prepare(model, self.subject(&counts), &self.common, chosen, &inputs)?;
        job.settings.small_torus = self.torus == TorusSize::Auto;
        let quiet = self.common.quiet;
        job.run(&mut Screen::open(quiet), quiet, |_, field, output| {
            write_field(&counts, field, output)
        })
    }

    fn read(&self) -> sshmc::Result<Counts> {
        let counts = Counts::read(&self.counts)?;
        match &self.exposure {
            None => Ok(counts),
            Some(text) => match text.trim().parse() {
                Ok(value) => counts.with_exposure_value(value),
                Err(_) => counts.with_exposure_file(Path::new(text)),
            },
        }
    }

    fn subject(&self, counts: &Counts) -> String {
        let grid = counts.grid();
        let hidden = grid.cells() - counts.observed_cells();
        let hidden = if hidden > 0 { format!(" ({hidden} not observed)") } else { String::new() };
        let mu = self.mu.map_or(String::new(), |mu| format!(", mu fixed at {mu}"));
        format!(
            "a log-Gaussian Cox process to {} points in {} x {} cells{hidden}{mu}",
            counts.total(),
            grid.rows(),
            grid.columns()
        )
    }
}

/// Writes the field as a table and as a map.
pub(crate) fn write_field(
    counts: &Counts,
    field: &FieldMoments,
    output: &OutputDir,
) -> sshmc::Result<()> {
    let key = |site| {
        let (i, j) = counts.grid().position(site);
        format!("{i},{j}")
    };
    output.write_with("field.csv", |file| field.write_csv("i,j", key, file))?;
    output.write_text("field_mean.svg", &draw_map(counts, field)?)
}
