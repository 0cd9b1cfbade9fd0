//! Opens the directory of a finished run: what was asked, what came out, and the data.

use super::record::{LAYOUT, RunRecord};
use super::{Level, MapFrame, Summary};
use crate::archive::{Archive, StoredFields, archive_of};
use crate::checkpoint::STATE;
use crate::data::{Counts, Grid, OutputDir, Points, Returns, Table, Window};
use crate::error::{Error, Result};
use crate::likelihood::CountLikelihood;
use serde::de::DeserializeOwned;
use std::fs;
use std::path::{Path, PathBuf};

/// Columns of `hyperparameters.csv` that are not hyperparameters.
const OTHERS: [&str; 6] = ["chain", "draw", "energy", "acceptance", "steps", "divergent"];

/// Draws by hyperparameter and chain.
pub type Draws = Vec<Vec<Vec<f64>>>;

/// A finished run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its directory.
    pub directory: PathBuf,
    /// What was run.
    pub record: RunRecord,
    /// What came out.
    pub summary: Summary,
    /// Names of the hyperparameters, in the order of the draws.
    pub names: Vec<String>,
    /// Draws by hyperparameter and chain.
    pub draws: Draws,
}

/// Whole fields that were kept.
#[derive(Clone, Debug)]
pub struct Fields {
    chains: usize,
    per_chain: usize,
    sites: usize,
    values: Vec<f32>,
}

impl Fields {
    /// All fields, chain after chain.
    pub fn all(&self) -> Vec<&[f32]> {
        self.values.chunks_exact(self.sites.max(1)).collect()
    }

    /// At most so many, spread evenly, each with its chain and the number of the field in it.
    pub fn spread(&self, most: usize) -> Vec<(usize, usize, &[f32])> {
        let total = self.chains * self.per_chain;
        let count = most.min(total);
        let place = |k: usize| k * total / count.max(1);
        (0..count)
            .map(place)
            .map(|k| {
                (
                    k / self.per_chain,
                    k % self.per_chain,
                    &self.values[k * self.sites..][..self.sites],
                )
            })
            .collect()
    }

    /// Number of sites.
    pub fn sites(&self) -> usize {
        self.sites
    }
}

/// The data and grid of a Cox process that was fitted.
#[derive(Clone, Debug)]
pub struct LgcpRun {
    /// The grid.
    pub grid: Grid,
    /// Counts and exposure that were fitted.
    pub counts: Counts,
    /// The window.
    pub window: Window,
    /// The points, if they are known.
    pub places: Option<Vec<(f64, f64)>>,
    /// Which cells have a value on maps.
    pub shown: Vec<bool>,
    /// Levels of the exceedance maps.
    pub levels: Vec<Level>,
    /// Mean intensity of the data.
    pub mean_intensity: f64,
    /// How counts scatter around their rate.
    pub likelihood: CountLikelihood,
}

impl LgcpRun {
    /// Where points are drawn: at their places, or at the centres of cells with any.
    pub fn marks(&self) -> Vec<(f64, f64)> {
        self.places.clone().unwrap_or_else(|| {
            let occupied = (0..self.grid.cells()).filter(|&c| self.counts.counts()[c] > 0.0);
            occupied
                .map(|c| {
                    let (i, j) = self.grid.position(c);
                    self.grid.centre(i, j)
                })
                .collect()
        })
    }

    /// What all its maps share.
    pub fn frame<'a>(&'a self, marks: &'a [(f64, f64)]) -> MapFrame<'a> {
        MapFrame { grid: &self.grid, window: &self.window, places: marks }
    }

    /// Which cells of a window have a value on maps.
    pub fn shown(window: &Window, grid: &Grid, unmapped: &[usize]) -> Vec<bool> {
        let mut shown: Vec<bool> =
            window.inside_shares(grid).iter().map(|&share| share > 0.0).collect();
        for &cell in unmapped {
            if let Some(shown) = shown.get_mut(cell) {
                *shown = false;
            }
        }
        shown
    }
}

/// Refuses a directory without `file`, and says what there is instead of the results of a fit.
pub fn check_results(directory: &Path, file: &str) -> Result<()> {
    let refuse = |expected: &str, got: &str, remedy: &str| {
        Err(Error::input(directory.display().to_string(), expected, got, remedy))
    };
    let expected = "a directory that a fit wrote";
    let remedy = "name the directory given to `sshmc fit … --out DIR`";
    if directory.is_dir() {
        let series = series_in(directory);
        return match &series[..] {
            _ if directory.join(file).exists() => Ok(()),
            [] => refuse(expected, &format!("one without {file}"), remedy),
            [first, .., last] => {
                let remedy = match series.len() {
                    2 => format!("name {first} or {last}"),
                    _ => format!("name one of {first} to {last}"),
                };
                let got = format!("one that holds {} series", series.len());
                refuse("the directory of one fit", &got, &remedy)
            }
            [only] => {
                refuse("the directory of one fit", "one that holds it", &format!("name {only}"))
            }
        };
    }
    if directory.exists() {
        return refuse(expected, "a file", remedy);
    }
    let partial = OutputDir::partial(directory).ok();
    if partial.is_some_and(|partial| partial.join(STATE).join("task.json").is_file()) {
        let remedy = format!("`sshmc resume {}` ends it", directory.display());
        return refuse("a fit that has ended", "an unfinished one", &remedy);
    }
    refuse(expected, "nothing there", remedy)
}

/// The directories of the series of which a fit of several consists, in order of their names.
fn series_in(directory: &Path) -> Vec<String> {
    if !directory.join("series.csv").is_file() {
        return Vec::new();
    }
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let fits = entries.map(|entry| entry.path()).filter(|path| path.join("run.json").is_file());
    let mut names: Vec<String> = fits.map(|path| path.display().to_string()).collect();
    names.sort();
    names
}

impl Run {
    /// Opens a directory that a fit wrote.
    pub fn open(directory: &Path) -> Result<Self> {
        check_results(directory, "run.json")?;
        let record: RunRecord = read_json(&directory.join("run.json"))?;
        if record.layout != LAYOUT {
            let got = format!("layout {} of {}", record.layout, record.program);
            let remedy = "use the version that wrote it, or fit again";
            let expected = format!("results of layout {LAYOUT}");
            return Err(Error::input(directory.display().to_string(), expected, got, remedy));
        }
        let summary: Summary = read_json(&directory.join("summary.json"))?;
        let path = directory.join("hyperparameters.csv");
        let (names, draws) = read_draws(&path)?;
        check_draws(&path, &summary, &names, &draws)?;
        Ok(Self { directory: directory.to_path_buf(), record, summary, names, draws })
    }

    /// The data of a Cox process; another model is refused.
    pub fn lgcp(&self) -> Result<LgcpRun> {
        let Some(record) = &self.record.lgcp else {
            return Err(self.wrong_model("a log-Gaussian Cox process"));
        };
        let grid = record.grid()?;
        let path = self.directory.join("counts.csv");
        let mut counts = Counts::read(&path)?;
        if Table::open(&path)?.columns().iter().any(|name| name == "exposure") {
            counts = counts.with_exposure_file(&path)?;
        }
        let counts = counts.on_grid(grid)?;
        let window = Window::read(&self.directory.join("window.geojson"))?;
        let path = self.directory.join("points.csv");
        let places = match path.exists() {
            true => Some(Points::read(&path, "x", "y")?.places().to_vec()),
            false => None,
        };
        let shown = LgcpRun::shown(&window, &grid, &record.unmapped);
        let (levels, mean_intensity) = (record.parsed_levels(), record.mean_intensity);
        let likelihood = record.likelihood;
        Ok(LgcpRun { grid, counts, window, places, shown, levels, mean_intensity, likelihood })
    }

    /// The returns of a stochastic volatility fit; another model is refused.
    pub fn returns(&self) -> Result<Returns> {
        if self.summary.model != "sv" {
            return Err(self.wrong_model("stochastic volatility"));
        }
        Returns::read(&self.directory.join("returns.csv"))
    }

    /// The whole fields that were kept.
    pub fn fields(&self) -> Result<Fields> {
        let root = archive_of(&self.directory);
        let StoredFields { chains, per_chain, sites, values } = Archive::fields(&root)?;
        if chains * per_chain == 0 {
            let remedy = "fit again with a larger --keep-fields";
            return Err(Error::input(
                root.display().to_string(),
                "draws of fields",
                "none",
                remedy,
            ));
        }
        let (draws, stride) = (self.summary.draws as usize, self.record.field_stride);
        let expected = (self.summary.chains as usize, draws.div_ceil(stride.max(1)));
        let known = self.summary.field.n;
        if (chains, per_chain) != expected || sites != known || stride == 0 {
            let (want, each) = expected;
            return Err(Error::input(
                root.display().to_string(),
                format!("{want} chains of {each} fields of {known} values"),
                format!("{chains} of {per_chain} of {sites}"),
                "files of different fits are mixed or damaged; fit again",
            ));
        }
        Ok(Fields { chains, per_chain, sites, values })
    }

    /// The draws of a hyperparameter by chain.
    pub fn series(&self, name: &str) -> Option<&Vec<Vec<f64>>> {
        self.names.iter().position(|known| known == name).map(|k| &self.draws[k])
    }

    /// What a likelihood has of its own at a field that was kept, by its chain and its number in it; NaN where there are no draws of it.
    pub fn own(&self, likelihood: CountLikelihood, chain: usize, number: usize) -> Vec<f64> {
        let draw = number * self.record.field_stride;
        let value = |name: &str| {
            let series = self.series(name)?.get(chain)?;
            series.get(draw).copied()
        };
        let all = likelihood.hyperparameters();
        all.iter().map(|one| value(one.name()).unwrap_or(f64::NAN)).collect()
    }

    fn wrong_model(&self, expected: &str) -> Error {
        Error::input(
            self.directory.display().to_string(),
            format!("the results of {expected}"),
            format!("those of {}", self.summary.model),
            "name another directory",
        )
    }
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read(path).map_err(Error::io("read", path))?;
    serde_json::from_slice(&text).map_err(|error| {
        let got = format!("something else ({error})");
        Error::input(path.display().to_string(), "what a fit wrote", got, "run the fit again")
    })
}

/// Refuses draws that are not those of the summary.
fn check_draws(path: &Path, summary: &Summary, names: &[String], draws: &Draws) -> Result<()> {
    let (chains, each) = (summary.chains as usize, summary.draws as usize);
    let known = names.iter().all(|name| summary.parameters.contains_key(name));
    let whole =
        |all: &Vec<Vec<f64>>| all.len() == chains && all.iter().all(|chain| chain.len() == each);
    if known && !names.is_empty() && draws.iter().all(whole) {
        return Ok(());
    }
    Err(Error::input(
        path.display().to_string(),
        format!("{chains} chains of {each} draws of every hyperparameter in summary.json"),
        "others",
        "the file is cut short or of another fit; fit again",
    ))
}

/// Names and draws by hyperparameter and chain.
fn read_draws(path: &Path) -> Result<(Vec<String>, Draws)> {
    let mut table = Table::open(path)?;
    let names: Vec<String> =
        table.columns().iter().filter(|name| !OTHERS.contains(&name.as_str())).cloned().collect();
    let columns = names.iter().map(|name| table.column(name)).collect::<Result<Vec<_>>>()?;
    let chain = table.column("chain")?;
    let mut draws: Draws = vec![Vec::new(); names.len()];
    let mut current = None;
    while let Some(row) = table.next_row()? {
        let id = row.index(&chain)?;
        if current != Some(id) {
            current = Some(id);
            draws.iter_mut().for_each(|chains| chains.push(Vec::new()));
        }
        for (chains, column) in draws.iter_mut().zip(&columns) {
            if let Some(last) = chains.last_mut() {
                last.push(row.number_or_missing(column)?.unwrap_or(f64::NAN));
            }
        }
    }
    Ok((names, draws))
}
