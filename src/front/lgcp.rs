//! Describes a log-Gaussian Cox process in a few words, and fits it.

use super::sampler::Sampler;
use crate::data::{Counts, Covariate};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::likelihood::CountLikelihood;
use crate::model::{LgcpOptions, Model, lgcp};
use crate::prior::Prior;
use crate::sample::{Fit, Settings};
use crate::structure::{Anisotropy, Kernel, Sides};

/// A log-Gaussian Cox process: points, counted in the cells of a grid, whose log intensity is a Gaussian field.
///
/// ```
/// use sshmc::prelude::*;
///
/// // Three points in each cell of the western half of a map, and none in the others.
/// let y: Vec<u32> = (0..64).map(|cell| if cell % 8 < 4 { 3 } else { 0 }).collect();
/// let fit = Lgcp::new(Counts::new(8, 8, &y)?)
///     .kernel(Kernel::Matern32)
///     .prior("range", Prior::pc(0.05, 0.05))
///     .fit(&Sampler::default().chains(2).warmup(150).draws(100))?;
/// let map = fit.field_mean();
/// assert!(map[0] > map[7]);
/// # Ok::<(), sshmc::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Lgcp {
    counts: Counts,
    options: LgcpOptions,
    covariates: Vec<(String, Vec<f64>)>,
    levels: Vec<f64>,
}

impl Lgcp {
    /// The process that gave rise to these counts.
    pub fn new(counts: Counts) -> Self {
        let options = LgcpOptions::default();
        Self { counts, options, covariates: Vec::new(), levels: Vec::new() }
    }

    /// The covariance family of the log intensity; the exponential unless another is named.
    pub fn kernel(mut self, kernel: Kernel) -> Self {
        self.options.kernel = kernel;
        self
    }

    /// Correlation that reaches further in one direction than across it.
    pub fn anisotropy(mut self, anisotropy: Anisotropy) -> Self {
        self.options.anisotropy = anisotropy;
        self
    }

    /// How counts scatter around their rate; as Poisson's unless told otherwise.
    pub fn likelihood(mut self, likelihood: CountLikelihood) -> Self {
        self.options.likelihood = likelihood;
        self
    }

    /// The prior of `sigma`, `range`, `mu`, the likelihood's `size` or a covariate, by its name, instead of the default.
    pub fn prior(mut self, name: &str, prior: impl Into<Prior>) -> Self {
        self.options.priors.push(format!("{name}={}", prior.into()));
        self
    }

    /// A covariate, one value per cell, row-major. It is standardised; its coefficient is reported per standard deviation as `name` and
    /// per original unit as `name_per_unit`. Cells where it is NaN count as not observed.
    pub fn covariate(mut self, name: &str, values: &[f64]) -> Self {
        self.covariates.push((name.to_owned(), values.to_vec()));
        self
    }

    /// The mean log intensity, where it is known and not to be learnt.
    pub fn mu(mut self, mu: f64) -> Self {
        self.options.mu = Some(mu);
        self
    }

    /// Also learns how likely the intensity is to be above a level, per unit of map area and exposure, in every cell.
    pub fn exceed(mut self, level: f64) -> Self {
        self.levels.push(level);
        self
    }

    /// The model, for a device: a GPU needs a torus whose sides are powers of two.
    pub fn model(&self, device: &Device) -> Result<Model> {
        let (counts, note) = self.where_covariates_are_known()?;
        let sides = if device.is_gpu() { Sides::PowersOfTwo } else { Sides::default() };
        let covariate = |(name, values): &(String, Vec<f64>)| {
            Covariate::from_values(name, values.clone(), &counts)
        };
        let covariates = self.covariates.iter().map(covariate).collect::<Result<_>>()?;
        let model = lgcp(&counts, &LgcpOptions { sides, covariates, ..self.options.clone() })?;
        Ok(note.into_iter().fold(model, Model::with_note))
    }

    /// Draws from the posterior.
    pub fn fit(&self, sampler: &Sampler) -> Result<Fit> {
        if let Some(level) = self.levels.iter().find(|level| !(**level > 0.0 && level.is_finite()))
        {
            let remedy = "intensities are per unit of map area and exposure";
            let got = level.to_string();
            return Err(Error::input("level to exceed", "a positive intensity", got, remedy));
        }
        let exceed = Some(self.levels.clone());
        let settings = Settings { exceed, ..sampler.settings().clone() };
        let model = self.model(&settings.device)?;
        sampler.with(settings).fit(model)
    }

    /// The counts without cells in which a covariate is not known, and a note about those.
    fn where_covariates_are_known(&self) -> Result<(Counts, Option<String>)> {
        let mut counts = self.counts.clone();
        let unknown = |cell: &usize| {
            let value = |(_, values): &(String, Vec<f64>)| values.get(*cell).copied();
            self.counts.observed()[*cell]
                && self.covariates.iter().filter_map(value).any(|value| !value.is_finite())
        };
        let cells: Vec<usize> = (0..counts.grid().cells()).filter(unknown).collect();
        if cells.is_empty() {
            return Ok((counts, None));
        }
        let lost = counts.hide(&cells)?;
        let note = format!(
            "{} cells with {lost} points count as not observed, because a covariate is not known there",
            cells.len()
        );
        Ok((counts, Some(note)))
    }
}
