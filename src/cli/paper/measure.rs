//! Runs one method and keeps its figures, so that a later call need not run it again.

use super::runs::{Kind, Run};
use crate::cli::progress::Watch;
use crate::cli::screen::Screen;
use serde::{Deserialize, Serialize};
use sshmc::diagnose::Diagnoser;
use sshmc::draws::ChainDraws;
use sshmc::report::{FieldMoments, Spread, Summary};
use sshmc::sample::{self, Fit};
use sshmc::{Error, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The most draws of a hyperparameter that are kept for histograms.
const KEPT: usize = 4000;

/// What is kept of a run. Sizes and times are of one chain, the mean over the chains.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Figures {
    /// What decided about it.
    key: String,
    /// Seconds after warm-up.
    pub(crate) seconds: f64,
    /// Integrator steps after warm-up.
    pub(crate) steps: f64,
    /// Geyer's effective size of the latents.
    pub(crate) latents: Spread,
    /// Geyer's effective size of each hyperparameter.
    pub(crate) parameters: BTreeMap<String, f64>,
    /// Squared errors of E v and E v² (the funnel, whose truth is known), the mean over the chains.
    pub(crate) errors: Option<[f64; 2]>,
    /// Everything else.
    pub(crate) summary: Summary,
    /// Draws of the hyperparameters, thinned.
    pub(crate) draws: BTreeMap<String, Vec<f64>>,
    /// Posterior mean of the field.
    pub(crate) field: Vec<f64>,
}

impl Figures {
    fn new(fit: &Fit, key: &str) -> Self {
        let chains = &fit.chains;
        let count = chains.len() as f64;
        let mean = |f: &dyn Fn(&ChainDraws) -> f64| chains.iter().map(f).sum::<f64>() / count;
        let names = fit.model.hyperparameters().names();
        let parameters = names.iter().enumerate().map(|(k, name)| {
            let size = mean(&|chain| geyer(&chain.parameters[k]));
            (name.to_string(), size)
        });
        let thinned = names.iter().enumerate().map(|(k, name)| {
            let all: Vec<f64> =
                chains.iter().flat_map(|c| c.parameters[k].iter().copied()).collect();
            (
                name.to_string(),
                all.iter().copied().step_by(all.len().div_ceil(KEPT).max(1)).collect(),
            )
        });
        let kept = chains.first().map_or(0, |c| c.field.kept().len());
        let site = |k: usize| mean(&|chain| geyer(&chain.field.series(k).collect::<Vec<_>>()));
        Self {
            key: key.to_owned(),
            seconds: mean(&|chain| chain.seconds),
            steps: mean(&|chain| chain.steps.iter().map(|&s| f64::from(s)).sum()),
            latents: Spread::of(&(0..kept).map(site).collect::<Vec<_>>()),
            parameters: parameters.collect(),
            errors: (fit.model.name() == "funnel").then(|| errors(chains)),
            summary: Summary::new(fit),
            draws: thinned.collect(),
            field: FieldMoments::new(fit).mean,
        }
    }

    /// Smallest of Geyer's sizes.
    pub(crate) fn least(&self) -> f64 {
        self.parameters.values().copied().chain(self.latents.min).fold(f64::INFINITY, f64::min)
    }

    /// The same a second.
    pub(crate) fn rate(&self) -> f64 {
        self.least() / self.seconds
    }

    /// Largest R-hat of any hyperparameter or site; infinite if one has none.
    pub(crate) fn rhat(&self) -> f64 {
        let parameters = self.summary.parameters.values().map(|p| p.rhat);
        let all = parameters.chain([self.summary.field.rhat_max.unwrap_or(f64::INFINITY)]);
        all.map(|r| if r.is_nan() { f64::INFINITY } else { r }).fold(0.0, f64::max)
    }
}

/// Geyer's size, up to what Stan allows an antithetic chain of n draws, n log₁₀ n: beyond it, and where the estimate has no
/// value for such a chain, it is noise. Zero if the chain did not move.
fn geyer(chain: &[f64]) -> f64 {
    let size = Diagnoser::new().geyer_ess(chain);
    let moved = chain.windows(2).any(|pair| pair[0] != pair[1]);
    let n = chain.len() as f64;
    // The smaller of the two is the bound where the size is not a number.
    if moved { size.min(n * n.log10()) } else { 0.0 }
}

/// Squared errors of the means of v and v², whose truths are 0 and 9.
fn errors(chains: &[ChainDraws]) -> [f64; 2] {
    let count = chains.len() as f64;
    let mean = |power: i32, truth: f64| {
        let error = |chain: &ChainDraws| {
            let v = &chain.parameters[0];
            v.iter().map(|v| v.powi(power)).sum::<f64>() / v.len() as f64 - truth
        };
        chains.iter().map(|chain| error(chain).powi(2)).sum::<f64>() / count
    };
    [mean(1, 0.0), mean(2, 9.0)]
}

/// Where runs are kept.
pub(crate) struct Store {
    directory: PathBuf,
}

impl Store {
    /// In the results directory, which must be new, empty, or of an earlier call.
    pub(crate) fn open(out: &Path) -> Result<Self> {
        let directory = out.join("runs");
        let foreign = || -> std::io::Result<bool> {
            Ok(out.is_dir() && !directory.is_dir() && fs::read_dir(out)?.next().is_some())
        };
        if out.is_file() || foreign().map_err(Error::io("read", out))? {
            return Err(Error::input(
                format!("--out {}", out.display()),
                "a new or empty directory, or one of an earlier `sshmc paper`",
                "something else",
                "name another directory",
            ));
        }
        fs::create_dir_all(&directory).map_err(Error::io("create", &directory))?;
        Ok(Self { directory })
    }

    fn path(&self, run: &Run) -> PathBuf {
        self.directory.join(format!("{}.json", run.id))
    }

    /// The figures of an earlier run that was the same.
    pub(crate) fn find(&self, run: &Run) -> Option<Figures> {
        let text = fs::read_to_string(self.path(run)).ok()?;
        // A file cut short or of another version is no run.
        let figures: Figures = serde_json::from_str(&text).ok()?;
        (figures.key == run.key).then_some(figures)
    }

    /// Runs and keeps it.
    pub(crate) fn make(&self, run: &Run, quiet: bool) -> Result<Figures> {
        let mut silence = Screen::open(true);
        let watch = Watch::open(&run.model, &run.settings, &mut silence, quiet);
        let outcome = sample::run(&run.model, &run.settings, &watch);
        drop(watch);
        let figures = Figures::new(&outcome?, &run.key);
        write(&self.path(run), serde_json::to_string(&figures).unwrap_or_default().as_bytes())?;
        Ok(figures)
    }
}

/// Writes a file as a whole or not at all.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let partial = path.with_extension("partial");
    fs::write(&partial, bytes).map_err(Error::io("write", &partial))?;
    fs::rename(&partial, path).map_err(Error::io("write", path))
}

/// A run with its figures.
pub(crate) struct Row {
    /// What was run.
    pub(crate) method: &'static str,
    /// In which coordinates.
    pub(crate) coordinates: &'static str,
    /// What for.
    pub(crate) kind: Kind,
    /// What came out.
    pub(crate) figures: Figures,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_numbers_for_stuck_and_for_antithetic_chains() {
        assert_eq!(geyer(&[1.0; 50]), 0.0);
        let zigzag: Vec<f64> = (0..50).map(|i| f64::from(i % 2)).collect();
        assert_eq!(geyer(&zigzag), 50.0 * 50f64.log10());
    }

    #[test]
    fn foreign_directories_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("thesis.tex"), "x").unwrap();
        assert!(Store::open(directory.path()).is_err());
        assert!(Store::open(&directory.path().join("thesis.tex")).is_err());
        let new = directory.path().join("new");
        assert!(Store::open(&new).is_ok() && Store::open(&new).is_ok());
    }
}
