//! Holds the unknowns of a model: each with its name, the scales a user may speak of it in, and its prior.

use std::ops::Index;

use rand::Rng;

use super::belief::Belief;
use super::distribution::Distribution;
use super::parse::parse;
use super::scale::Scale;
use crate::error::{Error, Result};

/// Quartiles of a positive quantity further apart than this, in factors of e, make its median no place to start:
/// inverse gamma(0.001, 0.001) has it at e⁶⁸⁶.
const VAGUE: f64 = 10.0;

/// One unknown number of a model besides the latent field.
#[derive(Clone, Debug, PartialEq)]
pub struct Hyperparameter {
    name: String,
    report: Scale,
    aliases: Vec<(String, Scale)>,
    prior: Belief,
    fallback_start: f64,
}

impl Hyperparameter {
    /// A hyperparameter reported as `name` on the scale `report`, with a prior on that scale.
    pub fn new(name: &str, report: Scale, distribution: Distribution) -> Result<Self> {
        Ok(Self::from_prior(name, report, Belief::new(name, report, distribution)?))
    }

    /// The same from a prior that may be on another scale.
    pub(super) fn from_prior(name: &str, report: Scale, prior: Belief) -> Self {
        Hyperparameter {
            name: name.to_string(),
            report,
            aliases: vec![],
            prior,
            fallback_start: 0.0,
        }
    }

    /// Adds a second name, on its own scale, under which a prior may be given.
    pub fn with_alias(mut self, name: &str, scale: Scale) -> Self {
        self.aliases.push((name.to_string(), scale));
        self
    }

    /// Sets the working value to start from when the prior is improper or too vague to say.
    pub fn with_fallback_start(mut self, w: f64) -> Self {
        self.fallback_start = w;
        self
    }

    /// Replaces the prior by a distribution on the scale called `scale_name`, the reported name or an alias.
    pub fn with_prior(mut self, scale_name: &str, distribution: Distribution) -> Result<Self> {
        self.set_prior(scale_name, distribution)?;
        Ok(self)
    }

    /// Replaces the prior in place, as [`with_prior`](Self::with_prior).
    pub fn set_prior(&mut self, scale_name: &str, distribution: Distribution) -> Result<()> {
        let scale = self.scale_called(scale_name).ok_or_else(|| {
            let place = format!("prior {scale_name}={distribution}");
            Error::input(place, self.known_as(), scale_name, "use one of these names")
        })?;
        self.prior = Belief::new(scale_name, scale, distribution)?;
        Ok(())
    }

    /// The name it is reported under.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The scale it is reported on.
    pub fn report(&self) -> Scale {
        self.report
    }

    /// The other names a prior may be given under.
    pub fn aliases(&self) -> &[(String, Scale)] {
        &self.aliases
    }

    /// The prior.
    pub fn prior(&self) -> &Belief {
        &self.prior
    }

    /// The scale with this name, if it is the reported one or an alias.
    pub fn scale_called(&self, name: &str) -> Option<Scale> {
        if name == self.name {
            return Some(self.report);
        }
        self.aliases.iter().find(|alias| alias.0 == name).map(|alias| alias.1)
    }

    /// Its names, as an error message lists them.
    fn known_as(&self) -> String {
        let aliases: Vec<&str> = self.aliases.iter().map(|alias| alias.0.as_str()).collect();
        match aliases.as_slice() {
            [] => self.name.clone(),
            _ => format!("{} (or {})", self.name, aliases.join(", ")),
        }
    }

    /// The working value w at the coordinate φ_k, and dw/dφ_k.
    pub fn working(&self, phi: f64) -> (f64, f64) {
        self.prior.working(phi)
    }

    /// The coordinate φ_k of a working value; one outside a uniform prior's bounds is put just inside.
    pub fn coordinate(&self, w: f64) -> f64 {
        self.prior.coordinate(w)
    }

    /// The reported value at φ_k.
    pub fn value(&self, phi: f64) -> f64 {
        self.report.value(self.working(phi).0)
    }

    /// The log density of φ_k, every Jacobian included, and its derivative in φ_k.
    pub fn log_prior(&self, phi: f64) -> (f64, f64) {
        self.prior.log_density(phi)
    }

    /// A φ_k drawn from the prior.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<f64> {
        self.prior.sample(rng).ok_or_else(|| {
            Error::input(
                format!("prior {}", self.prior),
                "a proper distribution to draw from",
                "an improper one",
                format!(
                    "name another prior, for instance {}=lognormal(0,1)",
                    self.prior.scale_name()
                ),
            )
        })
    }

    /// The reported value that a draw from the prior stays below with probability p; nothing if improper.
    pub fn prior_quantile(&self, p: f64) -> Option<f64> {
        self.prior.quantile(p).map(|phi| self.value(phi))
    }

    /// A sensible φ_k to start from: the prior median, or the fallback where the prior has none worth the name.
    pub fn start(&self) -> f64 {
        let fallback = self.coordinate(self.fallback_start);
        let Some(median) = self.prior.quantile(0.5) else { return fallback };
        match (self.prior.scale(), self.prior.quantile(0.25), self.prior.quantile(0.75)) {
            (Scale::Exp(_), Some(low), Some(high)) if high - low > VAGUE => fallback,
            _ => median,
        }
    }

    /// What the prior says, in plain words, about the quantity it was named for.
    pub fn describe_prior(&self) -> String {
        let name = self.prior.scale_name();
        let scale = self.scale_called(name).unwrap_or(self.prior.scale());
        let quantile = |p| self.prior.quantile(p).map(|phi| scale.value(self.working(phi).0));
        self.prior.distribution().describe_with(name, quantile)
    }
}

/// The hyperparameters of a model, in the order of the sampler's φ.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Hyperparameters(Vec<Hyperparameter>);

impl Hyperparameters {
    /// Takes them in order.
    pub fn new(all: Vec<Hyperparameter>) -> Self {
        Hyperparameters(all)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Goes through them in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Hyperparameter> {
        self.0.iter()
    }

    /// The reported names.
    pub fn names(&self) -> Vec<&str> {
        self.iter().map(Hyperparameter::name).collect()
    }

    /// The log density of φ; its gradient is added to `grad`.
    pub fn log_prior(&self, phi: &[f64], grad: &mut [f64]) -> f64 {
        debug_assert!(phi.len() == self.len() && grad.len() == self.len());
        let mut total = 0.0;
        for ((one, &phi), grad) in self.iter().zip(phi).zip(grad) {
            let (log_density, slope) = one.log_prior(phi);
            total += log_density;
            *grad += slope;
        }
        total
    }

    /// The working values at φ and their derivatives, each in its own φ_k.
    pub fn working(&self, phi: &[f64], w: &mut [f64], dw: &mut [f64]) {
        debug_assert!(phi.len() == self.len() && w.len() == self.len() && dw.len() == self.len());
        for (((one, &phi), w), dw) in self.iter().zip(phi).zip(w).zip(dw) {
            (*w, *dw) = one.working(phi);
        }
    }

    /// The coordinates of working values.
    pub fn coordinates(&self, w: &[f64]) -> Vec<f64> {
        self.iter().zip(w).map(|(one, &w)| one.coordinate(w)).collect()
    }

    /// The reported values at φ.
    pub fn values(&self, phi: &[f64]) -> Vec<f64> {
        self.iter().zip(phi).map(|(one, &phi)| one.value(phi)).collect()
    }

    /// Writes the reported values at φ.
    pub fn write_values(&self, phi: &[f64], values: &mut [f64]) {
        for ((value, one), &phi) in values.iter_mut().zip(&self.0).zip(phi) {
            *value = one.value(phi);
        }
    }

    /// A φ drawn from the prior.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<Vec<f64>> {
        self.iter().map(|one| one.sample(rng)).collect()
    }

    /// A sensible φ to start from.
    pub fn start(&self) -> Vec<f64> {
        self.iter().map(Hyperparameter::start).collect()
    }

    /// Replaces the prior of one hyperparameter by `NAME=DISTRIBUTION(arguments)`, NAME being what it is reported under or
    /// an alias.
    pub fn set_prior(&mut self, text: &str) -> Result<()> {
        let (name, distribution) = parse(text)?;
        match self.0.iter_mut().find(|one| one.scale_called(&name).is_some()) {
            Some(one) => one.set_prior(&name, distribution),
            None => Err(self.unknown(text, &name)),
        }
    }

    fn unknown(&self, text: &str, name: &str) -> Error {
        let known: Vec<String> = self.iter().map(Hyperparameter::known_as).collect();
        let place = format!("prior {}", text.trim());
        if known.is_empty() {
            return Error::input(place, "no prior", name, "leave it out: nothing is unknown here");
        }
        Error::input(place, format!("one of {}", known.join(", ")), name, "use one of these names")
    }
}

impl Index<usize> for Hyperparameters {
    type Output = Hyperparameter;

    fn index(&self, index: usize) -> &Hyperparameter {
        &self.0[index]
    }
}

impl<'a> IntoIterator for &'a Hyperparameters {
    type Item = &'a Hyperparameter;
    type IntoIter = std::slice::Iter<'a, Hyperparameter>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
#[path = "hyperparameter_tests.rs"]
mod tests;
