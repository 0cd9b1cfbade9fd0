//! Writes down what was run, so that reports, maps and predictions can be made from its directory alone.

use super::Level;
use crate::data::Grid;
use crate::error::Result;
use crate::likelihood::CountLikelihood;
use crate::prior::Hyperparameter;
use crate::sample::Fit;
use serde::{Deserialize, Serialize};

/// The layout of the directory; one that is not known is refused.
pub(super) const LAYOUT: u32 = 2;

/// Places at which a prior density is written down.
const CURVE: usize = 160;

/// What `run.json` holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    /// Layout of the directory.
    pub layout: u32,
    /// Name and version of the program.
    pub program: String,
    /// The command line, to repeat the run.
    pub command: String,
    /// The directory that `sshmc extend` takes, as it was typed; empty if the run cannot be extended.
    #[serde(default)]
    pub directory: String,
    /// What was fitted to what.
    pub subject: String,
    /// Wall-clock seconds from start to end, or since it was last resumed.
    pub seconds: f64,
    /// Threads that were used.
    pub threads: usize,
    /// Prior of each hyperparameter, in the order of the draws.
    pub priors: Vec<PriorRecord>,
    /// Of every how many draws a whole field is in `draws.zarr`.
    pub field_stride: usize,
    /// What only a Cox process has.
    #[serde(default)]
    pub lgcp: Option<LgcpRecord>,
}

/// A prior in words and as a curve over the range of its posterior.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PriorRecord {
    /// The hyperparameter.
    pub name: String,
    /// What the prior says.
    pub words: String,
    /// Value and density; empty if the prior is improper.
    pub curve: Vec<(f64, f64)>,
}

/// The grid of a Cox process and what its maps need.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LgcpRecord {
    /// Rows of cells.
    pub rows: usize,
    /// Columns of cells.
    pub columns: usize,
    /// Side of a cell.
    pub cell: f64,
    /// Corner of the grid.
    pub origin: (f64, f64),
    /// Cells inside the window of which no map is made, because a covariate is missing there.
    pub unmapped: Vec<usize>,
    /// Mean intensity of the data, which relative levels refer to.
    pub mean_intensity: f64,
    /// Levels of the exceedance maps, as they were asked for.
    pub levels: Vec<String>,
    /// Share of the points that was held out for scoring, if any.
    #[serde(default)]
    pub held_out: Option<f64>,
    /// How counts scatter around their rate.
    #[serde(default, skip_serializing_if = "is_default")]
    pub likelihood: CountLikelihood,
}

/// Whether a likelihood is the one of records that do not name any.
fn is_default(likelihood: &CountLikelihood) -> bool {
    *likelihood == CountLikelihood::default()
}

impl LgcpRecord {
    /// The grid.
    pub fn grid(&self) -> Result<Grid> {
        Grid::new(self.rows, self.columns, self.cell, self.origin)
    }

    /// The levels, read again.
    pub fn parsed_levels(&self) -> Vec<Level> {
        self.levels.iter().filter_map(|text| Level::parse(text, self.mean_intensity)).collect()
    }
}

impl RunRecord {
    /// The record of a fit.
    pub fn new(fit: &Fit, command: String, subject: String, seconds: f64) -> Self {
        let threads = fit
            .settings
            .threads
            .or_else(|| std::thread::available_parallelism().ok().map(usize::from));
        let priors = fit.model.hyperparameters().iter().enumerate().map(|(k, one)| PriorRecord {
            name: one.name().to_owned(),
            words: format!("{}: {}", one.prior().scale_name(), one.describe_prior()),
            curve: curve(one, fit.chains.iter().flat_map(|chain| &chain.parameters[k])),
        });
        Self {
            layout: LAYOUT,
            program: format!("sshmc {}", env!("CARGO_PKG_VERSION")),
            command,
            directory: String::new(),
            subject,
            seconds,
            threads: threads.unwrap_or(1),
            priors: priors.collect(),
            field_stride: fit.chains.first().map_or(1, |chain| chain.field.field_stride()),
            lgcp: None,
        }
    }
}

/// The prior density on the reported scale over the range of the draws and half as much on either side.
fn curve<'a>(one: &Hyperparameter, draws: impl Iterator<Item = &'a f64>) -> Vec<(f64, f64)> {
    let (low, high) = draws
        .filter(|v| v.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &v| (a.min(v), b.max(v)));
    if low >= high || one.prior_quantile(0.5).is_none() {
        return Vec::new();
    }
    let scale = one.report();
    let (least, most) = scale.interval();
    let margin = 0.5 * (high - low);
    let (from, to) = ((low - margin).max(least), (high + margin).min(most));
    let density = |value: f64| {
        let w = scale.inverse(value);
        let phi = one.coordinate(w);
        // dφ/dvalue = dφ/dw · dw/dvalue
        let slope = one.working(phi).1 * scale.derivative(w);
        (one.log_prior(phi).0 - slope.abs().ln()).exp()
    };
    let value = |k: usize| from + (k as f64 + 0.5) / CURVE as f64 * (to - from);
    let places = (0..CURVE).map(|k| (value(k), density(value(k))));
    places.filter(|place| place.1.is_finite()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prior::{Distribution, Scale};

    #[test]
    fn curves_are_densities_of_the_reported_value() {
        let prior = Distribution::Exponential { rate: 2.0 };
        let one = Hyperparameter::new("s", Scale::Exp(1.0), prior).unwrap();
        let curve = curve(&one, [0.5, 1.5].iter());
        assert!(curve.len() > 100);
        for (x, d) in curve {
            assert!((d - 2.0 * (-2.0 * x).exp()).abs() < 1e-9, "{d} at {x}");
        }
    }
}
