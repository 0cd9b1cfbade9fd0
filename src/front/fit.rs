//! Asks a fit what was learnt: draws by name, the field, figures, one draw after the other.

use crate::draws::{ChainDraws, Exponential, pooled};
use crate::error::{Error, Result};
use crate::report::{Summary, write_draws};
use crate::sample::Fit;
use std::io::{self, Write};

/// One draw of everything.
#[derive(Clone, Copy, Debug)]
pub struct Draw<'a> {
    fit: &'a Fit,
    chain: &'a ChainDraws,
    number: usize,
}

impl<'a> Draw<'a> {
    /// The number of its chain.
    pub fn chain(&self) -> u32 {
        self.chain.chain
    }

    /// Its number among the draws of its chain, from 0.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The value of a hyperparameter.
    pub fn value(&self, name: &str) -> Result<f64> {
        let (k, factor) = self.fit.place_of(name)?;
        Ok(factor * self.chain.parameters[k][self.number])
    }

    /// The whole field, if that of this draw was kept: of each, unless memory is short, and then of every so many.
    pub fn field(&self) -> Option<&'a [f32]> {
        let (field, stride) = (&self.chain.field, self.chain.field.field_stride());
        let kept = self.number.is_multiple_of(stride);
        kept.then(|| field.fields().nth(self.number / stride)).flatten()
    }
}

/// What a program asks of a fit.
impl Fit {
    /// Names of the hyperparameters, and of those that are reported on a second scale.
    pub fn names(&self) -> Vec<&str> {
        let second = self.model.derived().iter().map(|derived| derived.name.as_str());
        self.model.hyperparameters().names().into_iter().chain(second).collect()
    }

    /// All draws of a hyperparameter, chain after chain.
    pub fn draws(&self, name: &str) -> Result<Vec<f64>> {
        let (k, factor) = self.place_of(name)?;
        let each = self.chains.iter().flat_map(|chain| &chain.parameters[k]);
        Ok(each.map(|value| factor * value).collect())
    }

    /// The posterior mean of the field at every site, over all draws. For a map it is that of the log intensity, row-major.
    pub fn field_mean(&self) -> Vec<f64> {
        self.field_moments().0
    }

    /// The posterior standard deviation of the field at every site.
    pub fn field_sd(&self) -> Vec<f64> {
        self.field_moments().1
    }

    fn field_moments(&self) -> (Vec<f64>, Vec<f64>) {
        pooled(&self.chains.iter().map(|chain| &chain.field).collect::<Vec<_>>())
    }

    /// The posterior mean of the intensity at every site; none where the exponential of the field means nothing.
    pub fn intensity_mean(&self) -> Option<Vec<f64>> {
        self.exponential().map(|intensity| intensity.mean().to_vec())
    }

    /// The probability, at every site, that the intensity is above a level that [`Lgcp::exceed`](crate::Lgcp::exceed) named.
    pub fn exceedance(&self, level: f64) -> Option<Vec<f64>> {
        let intensity = self.exponential()?;
        intensity.exceedances().find(|(own, _)| *own == level).map(|(_, probability)| probability)
    }

    fn exponential(&self) -> Option<Exponential> {
        Exponential::pooled(self.chains.iter().filter_map(|chain| chain.field.exponential()))
    }

    /// Posterior, diagnostics, cost and a verdict; it prints as a table.
    pub fn summary(&self) -> Summary {
        Summary::new(self)
    }

    /// Goes through all draws, chain after chain.
    pub fn iter(&self) -> impl Iterator<Item = Draw<'_>> {
        self.chains.iter().flat_map(move |chain| {
            (0..chain.energy.len()).map(move |number| Draw { fit: self, chain, number })
        })
    }

    /// Writes the draws of the hyperparameters as CSV, with what the sampler did to get each.
    pub fn write_csv(&self, out: &mut impl Write) -> io::Result<()> {
        write_draws(self, out)
    }

    /// Which hyperparameter is called so, and what its draws are multiplied by.
    fn place_of(&self, name: &str) -> Result<(usize, f64)> {
        let names = self.model.hyperparameters().names();
        let second = self.model.derived().iter().find(|derived| derived.name == name);
        let second = second.map(|derived| (derived.hyperparameter, derived.factor));
        names.iter().position(|own| *own == name).map(|k| (k, 1.0)).or(second).ok_or_else(|| {
            let known = self.names().join(", ");
            Error::input("draws", format!("one of {known}"), name, "use one of these names")
        })
    }
}
