//! Assembles models: a structure, a likelihood, a mean and hyperparameters with their priors.
//!
//! A model is an open set; each shipped one is a file here that only puts the pieces together, and a user's own is the
//! same few lines in their program (`examples/custom_model.rs`). The observed sites see η = offset + Σⱼ cⱼ Zⱼ + u, where u is
//! the Gaussian field of the structure and each coefficient cⱼ is a hyperparameter times a constant.

mod funnel;
mod gaussian;
mod lgcp;
mod logistic;
mod stochvol;

pub use funnel::funnel;
pub use gaussian::{gaussian, gaussian_noise_learnt};
pub(crate) use lgcp::effort;
pub use lgcp::{LgcpOptions, lgcp, lgcp_on_window};
pub use logistic::logistic;
pub use stochvol::stochvol;

use crate::error::{Error, Result};
use crate::likelihood::Likelihood;
use crate::prior::Hyperparameters;
use crate::structure::{Spectral, Structure};
use std::ops::Range;
use std::sync::Arc;

/// One column of the mean.
#[derive(Clone, Debug)]
pub enum Column {
    /// One for every latent.
    Constant,
    /// A value per site.
    Values(Vec<f64>),
}

/// A term of the mean: `scale` × (working value of a hyperparameter) × column.
#[derive(Clone, Debug)]
pub struct MeanTerm {
    /// Index of the hyperparameter.
    pub hyperparameter: usize,
    /// What its working value is multiplied by.
    pub scale: f64,
    /// What the product multiplies.
    pub column: Column,
}

/// A hyperparameter on a second scale that is reported beside the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    /// Name under which it is reported.
    pub name: String,
    /// Index of the hyperparameter.
    pub hyperparameter: usize,
    /// What its reported value is multiplied by; positive.
    pub factor: f64,
}

/// A latent Gaussian model, ready to be sampled.
#[derive(Clone, Debug)]
pub struct Model {
    name: String,
    structure: Structure,
    likelihood: Arc<dyn Likelihood>,
    hyperparameters: Hyperparameters,
    mean: Vec<MeanTerm>,
    offset: f64,
    report_mean: bool,
    notes: Vec<String>,
    start: Option<Vec<f64>>,
    derived: Vec<Derived>,
}

impl Model {
    /// Puts a model together. The first hyperparameters are the structure's, in its order, then come those of the likelihood.
    pub fn new(
        name: impl Into<String>,
        structure: Structure,
        likelihood: Arc<dyn Likelihood>,
        hyperparameters: Hyperparameters,
    ) -> Result<Self> {
        let (sites, want) = (likelihood.sites(), structure.sites());
        if sites != want {
            return Err(Error::input(
                "likelihood",
                format!("one value for each of the structure's {want} sites"),
                format!("{sites}"),
                "make structure and likelihood the same size",
            ));
        }
        let (of_structure, of_likelihood) = (structure.parameters(), likelihood.parameters());
        if hyperparameters.len() < of_structure + of_likelihood {
            return Err(Error::input(
                "hyperparameters",
                format!(
                    "at least the structure's {of_structure} and the likelihood's {of_likelihood}"
                ),
                format!("{}", hyperparameters.len()),
                "list the structure's hyperparameters first, then the likelihood's",
            ));
        }
        Ok(Self {
            name: name.into(),
            structure,
            likelihood,
            hyperparameters,
            mean: Vec::new(),
            offset: 0.0,
            report_mean: false,
            notes: Vec::new(),
            start: None,
            derived: Vec::new(),
        })
    }

    /// The same model of other data at as many sites.
    pub fn with_likelihood(mut self, likelihood: Arc<dyn Likelihood>) -> Result<Self> {
        let same = Self::new(
            self.name.clone(),
            self.structure.clone(),
            likelihood,
            self.hyperparameters.clone(),
        )?;
        self.likelihood = same.likelihood;
        Ok(self)
    }

    /// Adds a term to the mean.
    pub fn with_mean(mut self, term: MeanTerm) -> Result<Self> {
        let length = match &term.column {
            Column::Constant => self.structure.sites(),
            Column::Values(v) => v.len(),
        };
        if length != self.structure.sites() || term.hyperparameter >= self.hyperparameters.len() {
            return Err(Error::input(
                "mean term",
                format!(
                    "a hyperparameter below {} and {} values",
                    self.hyperparameters.len(),
                    self.structure.sites()
                ),
                format!("hyperparameter {} and {length} values", term.hyperparameter),
                "correct the index or the column",
            ));
        }
        self.mean.push(term);
        Ok(self)
    }

    /// Adds a fixed constant to the mean.
    pub fn with_offset(mut self, offset: f64) -> Self {
        self.offset = offset;
        self
    }

    /// Reports latents with the mean added (the log intensity of a Cox process) instead of the bare field.
    pub fn reporting_mean(mut self) -> Self {
        self.report_mean = true;
        self
    }

    /// The same model with its field in another torus.
    pub(crate) fn embedded_in(&self, spectral: Spectral) -> Self {
        debug_assert_eq!(spectral.torus().sites(), self.structure.sites());
        Self { structure: Structure::Spectral(spectral), ..self.clone() }
    }

    /// Adds a sentence a user should read beside the results.
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Reports a hyperparameter times a positive factor under a second name.
    pub fn with_derived(mut self, name: String, hyperparameter: usize, factor: f64) -> Self {
        self.derived.push(Derived { name, hyperparameter, factor });
        self
    }

    /// Gives working values from which chains start, instead of the priors' medians.
    pub fn with_start(mut self, working: &[f64]) -> Self {
        self.start = Some(self.hyperparameters.coordinates(working));
        self
    }

    /// Hyperparameter coordinates around which chains start.
    pub fn start(&self) -> Vec<f64> {
        self.start.clone().unwrap_or_else(|| self.hyperparameters.start())
    }

    /// The coefficients of the mean at φ.
    pub(crate) fn coefficients(&self, phi: &[f64]) -> Vec<f64> {
        let (mut w, mut dw) = (phi.to_vec(), phi.to_vec());
        self.hyperparameters.working(phi, &mut w, &mut dw);
        self.mean.iter().map(|term| term.scale * w[term.hyperparameter]).collect()
    }

    /// Which hyperparameters are the likelihood's own.
    pub fn likelihood_parameters(&self) -> Range<usize> {
        let first = self.structure.parameters();
        first..first + self.likelihood.parameters()
    }

    /// Working values of the likelihood's own hyperparameters at φ.
    pub fn own(&self, phi: &[f64]) -> Vec<f64> {
        self.likelihood_parameters().map(|k| self.hyperparameters[k].working(phi[k]).0).collect()
    }

    /// −log p(y | η) at φ, up to what depends on neither, and its gradient in η.
    pub fn misfit(&self, eta: &[f64], phi: &[f64], by_eta: &mut [f64]) -> f64 {
        let own = self.own(phi);
        self.likelihood.evaluate(eta, &own, by_eta, &mut vec![0.0; own.len()])
    }

    /// The coefficients of the mean at the start.
    fn start_coefficients(&self) -> Vec<f64> {
        self.coefficients(&self.start())
    }

    /// The part of the mean that hyperparameters give, at the start and in the structure's basis; none if there is no such part.
    pub(crate) fn start_mean(&self) -> Option<Vec<f64>> {
        let columns = self.columns();
        let mut mean = vec![0.0; columns.first()?.len()];
        for (column, c) in columns.iter().zip(self.start_coefficients()) {
            crate::numeric::axpy(c, column, &mut mean);
        }
        Some(mean)
    }

    /// The predictor at the start if the field were zero, or what the likelihood suggests.
    pub(crate) fn start_predictor(&self) -> Vec<f64> {
        if let Some(eta) = self.likelihood.start() {
            return eta;
        }
        let mut eta = vec![self.offset; self.structure.sites()];
        for (term, c) in self.mean.iter().zip(self.start_coefficients()) {
            match &term.column {
                Column::Constant => eta.iter_mut().for_each(|e| *e += c),
                Column::Values(values) => crate::numeric::axpy(c, values, &mut eta),
            }
        }
        eta
    }

    /// The model's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The Gaussian prior's structure.
    pub fn structure(&self) -> &Structure {
        &self.structure
    }

    /// The likelihood.
    pub fn likelihood(&self) -> &dyn Likelihood {
        self.likelihood.as_ref()
    }

    /// The likelihood, to be shared.
    pub(crate) fn shared_likelihood(&self) -> Arc<dyn Likelihood> {
        self.likelihood.clone()
    }

    /// The hyperparameters.
    pub fn hyperparameters(&self) -> &Hyperparameters {
        &self.hyperparameters
    }

    /// The terms of the mean.
    pub fn mean(&self) -> &[MeanTerm] {
        &self.mean
    }

    /// The fixed part of the mean.
    pub fn offset(&self) -> f64 {
        self.offset
    }

    /// Whether reported latents include the mean.
    pub fn reports_mean(&self) -> bool {
        self.report_mean
    }

    /// Hyperparameters that are reported on a second scale.
    pub fn derived(&self) -> &[Derived] {
        &self.derived
    }

    /// Sentences a user should read beside the results.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The columns of the mean in the structure's basis.
    pub(crate) fn columns(&self) -> Vec<Vec<f64>> {
        self.mean
            .iter()
            .map(|term| match &term.column {
                Column::Constant => self.structure.constant(),
                Column::Values(values) => {
                    let mut basis = vec![0.0; self.structure.dim()];
                    self.structure.basis().write_basis(values, &mut basis);
                    basis
                }
            })
            .collect()
    }
}
