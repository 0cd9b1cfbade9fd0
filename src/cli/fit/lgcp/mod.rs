//! Fits a log-Gaussian Cox process to points in a window or to counts on a grid.

mod input;

use input::{Input, LgcpData};

use super::Job;
use crate::cli::failure::Failure;
use crate::cli::options::{Common, KernelName};
use crate::cli::screen::Screen;
use clap::Args;
use sshmc::data::{Counts, OutputDir};
use sshmc::model::{LgcpOptions, lgcp};
use sshmc::report::{FieldMoments, draw_map};
use std::io::Write;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Writes into DIR: summary.json; hyperparameters.csv (every draw of sigma, range and mu); field.csv (i, j, posterior mean
and sd of the log intensity, per unit of map area and exposure); field_mean.svg, the map.

Examples:
  sshmc fit lgcp --points events.csv --window region.geojson --out events-fit
  sshmc fit lgcp --points trees.csv --x-column east --y-column north --cell 25 --covariate elevation=dem.tif
  sshmc fit lgcp --counts forest/counts.csv --out forest-fit
  sshmc fit lgcp --counts counts.csv --mu 3.9 --prior 'sigma=half-normal(2)' --prior 'range=lognormal(-3,1)'
  sshmc fit lgcp --counts counts.csv --exposure effort.csv";

/// Options of an LGCP.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Lgcp {
    #[command(flatten)]
    input: Input,
    /// Fix the mean log intensity instead of learning it
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true, help_heading = "Model")]
    mu: Option<f64>,
    /// Correlation function of the log intensity
    #[arg(long, value_enum, default_value_t = KernelName::Exponential, help_heading = "Model")]
    kernel: KernelName,
    #[command(flatten)]
    common: Common,
}

impl Lgcp {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let data = self.input.read().map_err(Failure::preparing)?;
        let options = LgcpOptions {
            mu: self.mu,
            kernel: self.kernel.into(),
            covariates: data.covariates.clone(),
            priors: self.common.priors.clone(),
        };
        let mut model = lgcp(&data.counts, &options).map_err(Failure::preparing)?;
        for note in &data.notes {
            model = model.with_note(note);
        }
        let files = self.input.files();
        let inputs: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
        let job = Job::prepare(model, self.subject(&data), &self.common, &inputs)?;
        let quiet = self.common.quiet;
        job.run(&mut Screen::open(quiet), quiet, |_, field, output| {
            write_data(&data, output)?;
            write_field(&data.counts, field, output)
        })
    }

    fn subject(&self, data: &LgcpData) -> String {
        let LgcpData { counts, covariates, .. } = data;
        let grid = counts.grid();
        let hidden = grid.cells() - counts.observed_cells();
        let hidden = if hidden > 0 { format!(" ({hidden} not observed)") } else { String::new() };
        let mu = self.mu.map_or(String::new(), |mu| format!(", mu fixed at {mu}"));
        let with = match covariates.len() {
            0 => String::new(),
            1 => " and 1 covariate".to_owned(),
            n => format!(" and {n} covariates"),
        };
        format!(
            "a log-Gaussian Cox process to {} points in {} x {} cells{hidden}{with}{mu}",
            counts.total(),
            grid.rows(),
            grid.columns()
        )
    }
}

/// Writes what was fitted: the counts, the window, and the points inside it if they are known.
fn write_data(data: &LgcpData, output: &OutputDir) -> sshmc::Result<()> {
    output.write_with("counts.csv", |file| data.counts.write(file))?;
    output.write_json("window.geojson", &data.window.to_geojson())?;
    let Some(places) = &data.places else { return Ok(()) };
    output.write_with("points.csv", |file| {
        writeln!(file, "x,y")?;
        places.iter().try_for_each(|(x, y)| writeln!(file, "{x:?},{y:?}"))
    })
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
