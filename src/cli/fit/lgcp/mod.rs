//! Fits a log-Gaussian Cox process to points in a window or to counts on a grid.

mod advice;
mod input;

use input::{Input, LgcpData};

use super::{Finished, Job};
use crate::cli::failure::Failure;
use crate::cli::options::{Chosen, Common, KernelName, Origin, TorusSize, anisotropy};
use crate::cli::screen::Screen;
use clap::{Args, ValueEnum};
use sshmc::Error;
use sshmc::archive::{Axis, Variable};
use sshmc::data::OutputDir;
use sshmc::likelihood::CountLikelihood;
use sshmc::model::{LgcpOptions, Model, lgcp};
use sshmc::report::{FieldMoments, Level, LgcpRecord, Run, intensity_maps};
use sshmc::structure::{Anisotropy, Sides};
use std::io::Write;
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Writes into DIR: report.html, to be read first; maps/ (GeoTIFF and PNG of the intensity's mean, sd, quantiles and exceedance
probabilities, per unit of map area and exposure); summary.json; hyperparameters.csv (every draw of sigma, range, size, mu and
the covariates' coefficients); field.csv (i, j, posterior mean and sd of the log intensity); draws.zarr (all draws, for
ArviZ); and what was fitted: counts.csv, window.geojson, points.csv, run.json. state/ is what `sshmc extend` goes on from.

Examples:
  sshmc fit lgcp --points events.csv --window region.geojson --out events-fit
  sshmc fit lgcp --points trees.csv --x-column east --y-column north --cell 25 --covariate elevation=dem.tif
  sshmc fit lgcp --counts forest/counts.csv --out forest-fit
  sshmc fit lgcp --counts counts.csv --mu 3.9 --prior 'sigma=half-normal(2)' --prior 'range=lognormal(-3,1)'
  sshmc fit lgcp --counts counts.csv --exposure effort.csv
  sshmc fit lgcp --counts counts.csv --likelihood negative-binomial --prior 'size=lognormal(1,1)'";

/// Laws of counts as typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum LikelihoodName {
    /// The variance of a count is its mean
    Poisson,
    /// It is the mean plus its square over `size`, which is learnt: for events that come in bunches within a cell
    NegativeBinomial,
}

impl From<LikelihoodName> for CountLikelihood {
    fn from(name: LikelihoodName) -> Self {
        match name {
            LikelihoodName::Poisson => CountLikelihood::Poisson,
            LikelihoodName::NegativeBinomial => CountLikelihood::NegativeBinomial,
        }
    }
}

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
    /// How counts scatter around the intensity
    #[arg(long, value_enum, default_value_t = LikelihoodName::Poisson, help_heading = "Model")]
    likelihood: LikelihoodName,
    /// Correlation that reaches RATIO times (1 to 10) further along ANGLE (degrees from the x axis towards the y axis) than
    /// across it; the range is then the longer one
    #[arg(
        long,
        value_name = "ANGLE,RATIO",
        value_parser = anisotropy,
        allow_hyphen_values = true,
        help_heading = "Model"
    )]
    anisotropy: Option<Anisotropy>,
    /// Torus around the window: as small as a pilot run shows the range to allow, or twice the window
    #[arg(long, value_enum, default_value_t = TorusSize::Auto, help_heading = "Model")]
    torus: TorusSize,
    /// Hold out this share of the points, chosen by the seed, so that `sshmc compare` can score fits by predicting them
    #[arg(long, value_name = "SHARE", help_heading = "Data")]
    hold_out: Option<f64>,
    /// Level of the intensity whose exceedance is mapped: a number per unit of map area and exposure, as in the GeoTIFF maps
    /// (per square metre where coordinates are metres), or 2x for twice the mean; may be repeated
    #[arg(
        long,
        value_name = "LEVEL",
        default_value = "2x",
        allow_negative_numbers = true,
        help_heading = "Output"
    )]
    exceed: Vec<String>,
    #[command(flatten)]
    common: Common,
}

impl Lgcp {
    /// Sets the words after `sshmc` that are written down, where others were typed.
    pub(crate) fn set_words(&mut self, words: Vec<String>) {
        self.common.origin = Origin::Given(words);
    }

    /// Reads other files than those that were named.
    pub(super) fn replace_files(
        &mut self,
        replace: impl Fn(&mut PathBuf) -> sshmc::Result<()>,
    ) -> sshmc::Result<&mut Common> {
        self.input.replace_files(replace)?;
        Ok(&mut self.common)
    }

    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut data = self.input.read().map_err(Failure::preparing)?;
        if let Some(share) = self.hold_out {
            data.hold_out(share, self.common.seed).map_err(Failure::preparing)?;
        }
        // The torus has at least four cells for each of the grid's.
        let cells = data.counts.grid().cells();
        let mut chosen = self.device(4 * cells).map_err(Failure::preparing)?;
        let of_likelihood = CountLikelihood::from(self.likelihood).hyperparameters().len();
        let size = [4 * cells, cells, 3 + of_likelihood + data.covariates.len()];
        self.common.check_size(size, &chosen).map_err(Failure::preparing)?;
        let mut model = self.model(&data, &chosen).map_err(Failure::preparing)?;
        let gpu = chosen.device.is_gpu();
        chosen = self.common.reconsider(chosen, &model).map_err(Failure::preparing)?;
        if gpu != chosen.device.is_gpu() {
            model = self.model(&data, &chosen).map_err(Failure::preparing)?;
        }
        let files = self.input.files();
        let inputs: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
        let mut job = Job::prepare(model, self.subject(&data), &self.common, chosen, &inputs)?;
        let (record, levels) = self.record(&data).map_err(Failure::preparing)?;
        job.settings.exceed = Some(levels.iter().map(|level| level.value).collect());
        job.settings.small_torus = self.torus == TorusSize::Auto;
        job.lgcp = Some(record);
        (job.axes, job.data) = (axes(&data), variables(&data));
        let quiet = self.common.quiet;
        let (mut screen, mut remarks) = (Screen::open(quiet), String::new());
        job.run(&mut screen, quiet, |run| {
            remarks = write_files(&data, &levels, run)?;
            Ok(())
        })?;
        screen.tell(&remarks)
    }

    /// The model for a device.
    fn model(&self, data: &LgcpData, chosen: &Chosen) -> sshmc::Result<Model> {
        let options = LgcpOptions {
            mu: self.mu,
            kernel: self.kernel.into(),
            anisotropy: self.anisotropy.unwrap_or(Anisotropy::NONE),
            likelihood: self.likelihood.into(),
            covariates: data.covariates.clone(),
            priors: self.common.priors.clone(),
            sides: if chosen.device.is_gpu() { Sides::PowersOfTwo } else { Sides::Smooth },
        };
        let model = lgcp(&data.counts, &options)?;
        Ok(data.notes.iter().fold(model, Model::with_note))
    }

    /// The device for so many latents; slanting fields are for the CPU, whatever there is.
    fn device(&self, latents: usize) -> sshmc::Result<Chosen> {
        let slanting = self.anisotropy.filter(|anisotropy| !anisotropy.is_aligned());
        let Some(anisotropy) = slanting else { return self.common.device(latents) };
        match self.common.device.to_lowercase().as_str() {
            "cpu" => self.common.device(latents),
            "auto" => Ok(Chosen::default()),
            device => Err(Error::input(
                "--anisotropy",
                "an angle of 0 or 90 degrees, which is all a GPU can do",
                format!("{} degrees and --device {device}", anisotropy.angle()),
                "use --device cpu, or turn the map",
            )),
        }
    }

    /// What is written down about grid and levels, and the levels.
    fn record(&self, data: &LgcpData) -> sshmc::Result<(LgcpRecord, Vec<Level>)> {
        let (counts, grid) = (&data.counts, data.counts.grid());
        let mean = counts.mean_intensity();
        let levels = parse_levels(&self.exceed, mean)?;
        let record = LgcpRecord {
            rows: grid.rows(),
            columns: grid.columns(),
            cell: grid.cell(),
            origin: grid.origin(),
            unmapped: data.unmapped.clone(),
            mean_intensity: mean,
            levels: self.exceed.clone(),
            held_out: self.hold_out,
            likelihood: self.likelihood.into(),
        };
        Ok((record, levels))
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

/// Centres of rows and columns.
fn axes(data: &LgcpData) -> Vec<Axis> {
    let grid = data.counts.grid();
    let y = (0..grid.rows()).map(|i| grid.centre(i, 0).1).collect();
    let x = (0..grid.columns()).map(|j| grid.centre(0, j).0).collect();
    vec![Axis { name: "y".into(), values: y }, Axis { name: "x".into(), values: x }]
}

/// What was fitted, cell by cell.
fn variables(data: &LgcpData) -> Vec<Variable> {
    let counts = &data.counts;
    let given =
        |name: &str, values: Vec<f64>| Variable { observed: false, name: name.to_owned(), values };
    let seen = counts.counts().iter().zip(counts.observed());
    let seen = seen.map(|(&count, &seen)| if seen { count } else { f64::NAN }).collect();
    let shares = data.window.inside_shares(counts.grid());
    let mut all = vec![
        Variable { observed: true, name: "counts".into(), values: seen },
        given("exposure", counts.exposure().to_vec()),
        given("window_share", shares),
    ];
    all.extend(data.covariates.iter().map(|one| given(one.name(), one.values().to_vec())));
    all
}

/// Reads levels as they are typed.
pub(crate) fn parse_levels(texts: &[String], mean: f64) -> sshmc::Result<Vec<Level>> {
    let parse = |text: &String| {
        Level::parse(text, mean).ok_or_else(|| {
            let remedy = "write for instance --exceed 0.5, or --exceed 2x for twice the mean";
            Error::input("--exceed", "a positive intensity", text, remedy)
        })
    };
    texts.iter().map(parse).collect()
}

/// Writes the data, the field and the maps; returns what is to be said about the levels.
fn write_files(data: &LgcpData, levels: &[Level], run: &Finished<'_>) -> sshmc::Result<String> {
    let (counts, output) = (&data.counts, run.output);
    let grid = counts.grid();
    write_data(data, output)?;
    let key = |site| {
        let (i, j) = grid.position(site);
        format!("{i},{j}")
    };
    let field = FieldMoments::new(run.fit);
    output.write_with("field.csv", |file| field.write_csv("i,j", key, file))?;
    let written = Run::open(output.staging())?.lgcp()?;
    let marks = written.marks();
    let frame = written.frame(&marks);
    let chains: Vec<_> = run.fit.chains.iter().map(|chain| &chain.field).collect();
    let maps = intensity_maps(&chains, levels, &written.shown);
    for map in &maps {
        for (name, bytes) in map.files(&frame)? {
            output.write_bytes(&name, &bytes)?;
        }
    }
    let remarks = maps
        .iter()
        .filter_map(|map| map.remark(written.mean_intensity, written.window.crs()))
        .map(|remark| format!("note: {remark}\n"));
    Ok(remarks.collect())
}

/// Writes what was fitted: the counts, the window, and the points inside it if they are known.
fn write_data(data: &LgcpData, output: &OutputDir) -> sshmc::Result<()> {
    output.write_with("counts.csv", |file| data.counts.write(file))?;
    output.write_json("window.geojson", &data.window.to_geojson())?;
    if let Some(held_out) = &data.held_out {
        output.write_with("held_out.csv", |file| held_out.write(file))?;
    }
    let Some(places) = &data.places else { return Ok(()) };
    output.write_with("points.csv", |file| {
        writeln!(file, "x,y")?;
        places.iter().try_for_each(|(x, y)| writeln!(file, "{x:?},{y:?}"))
    })
}
