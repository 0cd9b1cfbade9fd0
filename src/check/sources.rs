//! Builds the worlds of the models that can be fitted, at any size, with priors that can be drawn from.
//!
//! Where a model's default prior is improper, depends on the data or spans worlds that nobody could fit, another is stated:
//!
//! | model | stated prior | because the default |
//! |---|---|---|
//! | lgcp | sigma=lognormal(-0.4,0.4) | has a tail of fields with e¹⁵ points in a cell |
//! | | range=lognormal(-1.5,0.4) | reaches ranges that no window shows |
//! | | mu=normal(log cells,0.4) | is centred on the data |
//! | negative-binomial | the same | |
//! | sv | beta=lognormal(-0.2,0.4) | is improper |
//! | logistic | gamma=normal(0.2,0.7) | has a mean variance of 100 |

use super::world::{Source, World};
use crate::data::{Counts, GroupedTable, Returns, Table};
use crate::error::{Error, Result};
use crate::likelihood::{
    BernoulliLogit, CountLikelihood, Likelihood, Nothing, StochasticVolatility,
};
use crate::model::{LgcpOptions, Model, effort, funnel, lgcp, logistic, stochvol};
use crate::random::{Purpose, Stream, StreamRng};
use crate::structure::Sides;
use rand_distr::{Distribution, StandardNormal};
use std::fmt::Write;
use std::io::Cursor;
use std::sync::Arc;

/// A model and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorldKind {
    /// A Cox process on a square grid with uneven exposure and one cell that was not observed.
    Lgcp {
        /// Cells along a side.
        side: usize,
        /// Sides of the torus; a GPU needs powers of two.
        sides: Sides,
        /// How counts scatter around their rate.
        likelihood: CountLikelihood,
    },
    /// Stochastic volatility.
    Sv {
        /// Returns.
        length: usize,
    },
    /// Hierarchical logistic regression; every other group has a row more.
    Logistic {
        /// Groups.
        groups: usize,
        /// Features.
        features: usize,
        /// Rows of a group.
        rows: usize,
    },
    /// Neal's funnel.
    Funnel {
        /// Latents.
        dim: usize,
    },
}

impl WorldKind {
    /// Every model, so small that thousands of worlds are simulated in a minute.
    pub fn tiny() -> [Self; 5] {
        let lgcp = |likelihood| WorldKind::Lgcp { side: 4, sides: Sides::default(), likelihood };
        [
            lgcp(CountLikelihood::Poisson),
            WorldKind::Sv { length: 8 },
            WorldKind::Logistic { groups: 2, features: 2, rows: 5 },
            WorldKind::Funnel { dim: 4 },
            lgcp(CountLikelihood::NegativeBinomial),
        ]
    }

    /// The model's name.
    pub fn name(self) -> &'static str {
        match self {
            WorldKind::Lgcp { likelihood: CountLikelihood::Poisson, .. } => "lgcp",
            WorldKind::Lgcp { likelihood: CountLikelihood::NegativeBinomial, .. } => {
                "negative-binomial"
            }
            WorldKind::Sv { .. } => "sv",
            WorldKind::Logistic { .. } => "logistic",
            WorldKind::Funnel { .. } => "funnel",
        }
    }

    /// The size in words.
    pub fn describe(self) -> String {
        match self {
            WorldKind::Lgcp { side, .. } => format!("{side} x {side} cells"),
            WorldKind::Sv { length } => format!("{length} returns"),
            WorldKind::Logistic { groups, features, rows } => {
                format!("{groups} groups of about {rows} rows, {features} features")
            }
            WorldKind::Funnel { dim } => format!("{dim} latents"),
        }
    }

    /// Priors that replace the defaults that cannot be simulated from.
    pub fn stated_priors(self) -> Vec<String> {
        let strings = |all: &[&str]| all.iter().map(ToString::to_string).collect();
        match self {
            WorldKind::Lgcp { side, .. } => vec![
                "sigma=lognormal(-0.4,0.4)".to_owned(),
                "range=lognormal(-1.5,0.4)".to_owned(),
                format!("mu=normal({},0.4)", ((side * side) as f64).ln()),
            ],
            WorldKind::Sv { .. } => strings(&["beta=lognormal(-0.2,0.4)"]),
            WorldKind::Logistic { .. } => strings(&["gamma=normal(0.2,0.7)"]),
            WorldKind::Funnel { .. } => Vec::new(),
        }
    }

    /// Priors narrow enough that a short chain goes through all of a tiny world many times.
    pub fn tiny_priors(self) -> Vec<String> {
        let more: &[&str] = match self {
            WorldKind::Sv { .. } => &["phi=beta(4,2)", "sigma=lognormal(-0.5,0.5)"],
            WorldKind::Funnel { .. } => &["v=normal(0.3,1)"],
            WorldKind::Lgcp { likelihood: CountLikelihood::NegativeBinomial, .. } => {
                &["size=lognormal(0.7,0.5)"]
            }
            WorldKind::Lgcp { .. } | WorldKind::Logistic { .. } => &[],
        };
        more.iter().map(ToString::to_string).collect()
    }

    /// The world, with `priors` after those that are stated, so that they replace them.
    pub fn world(self, priors: &[String]) -> Result<World> {
        let priors = [self.stated_priors(), priors.to_vec()].concat();
        let source: Box<dyn Source> = match self {
            WorldKind::Lgcp { side, sides, likelihood } => {
                let options = LgcpOptions { priors, sides, likelihood, ..LgcpOptions::default() };
                Box::new(Pattern::new(side, options)?)
            }
            WorldKind::Sv { length } => Box::new(Series { length, priors }),
            WorldKind::Logistic { groups, features, rows } => {
                Box::new(Labels::new(groups, features, rows, priors)?)
            }
            WorldKind::Funnel { dim } => Box::new(Void { dim, priors }),
        };
        let template = source.model(&self.dummy(source.as_ref())?)?;
        World::new(template, source)
    }

    /// Data that a model can be built on; they are replaced before they are used.
    fn dummy(self, source: &dyn Source) -> Result<Vec<f64>> {
        let sites = match self {
            WorldKind::Lgcp { side, .. } => return Ok(vec![1.0; side * side]),
            WorldKind::Sv { length } => length,
            WorldKind::Logistic { groups, features, .. } => groups * features,
            WorldKind::Funnel { dim } => dim,
        };
        let mut rng = Stream::new(1, 0, 0, Purpose::Data).rng();
        source.simulate(&vec![0.0; sites], &[], &mut rng)
    }
}

/// The refusal of a draw of the prior whose data are beyond numbers.
fn too_wide(got: String) -> Error {
    Error::input(
        "--prior",
        "priors whose data are numbers",
        got,
        "state narrower ones: this world cannot be left out, because the ranks of the others would then be uneven",
    )
}

/// Counts in cells.
struct Pattern {
    side: usize,
    options: LgcpOptions,
    /// Exposure of every cell; not a number where nobody looked.
    exposure: Vec<f64>,
    effort: Vec<f64>,
}

impl Pattern {
    fn new(side: usize, options: LgcpOptions) -> Result<Self> {
        // Uneven and without symmetry, between 0.6 and 1.4.
        let uneven = |cell: usize| 0.6 + 0.8 * ((cell * 7919 + 13) % 97) as f64 / 96.0;
        let unseen = 5;
        let exposure = (0..side * side).map(|c| if c == unseen { f64::NAN } else { uneven(c) });
        let mut all = Self { side, options, exposure: exposure.collect(), effort: Vec::new() };
        all.effort = effort(&all.counts(&vec![1.0; side * side])?);
        Ok(all)
    }

    /// Counts with their exposure, through the same readers as a user's.
    fn counts(&self, y: &[f64]) -> Result<Counts> {
        let mut csv = String::from("i,j,exposure\n");
        for (cell, exposure) in self.exposure.iter().enumerate() {
            let exposure = if exposure.is_nan() { 0.0 } else { *exposure };
            let _ = writeln!(csv, "{},{},{exposure}", cell / self.side, cell % self.side);
        }
        let seen = y.iter().zip(&self.exposure);
        let y = seen.map(|(&y, e)| if e.is_nan() { f64::NAN } else { y }).collect();
        let table = Table::from_reader("exposure of the check", Cursor::new(csv))?;
        Counts::from_vec(self.side, self.side, y)?.with_exposure_table(table)
    }
}

impl Source for Pattern {
    fn simulate(&self, eta: &[f64], own: &[f64], rng: &mut StreamRng) -> Result<Vec<f64>> {
        let likelihood = self.options.likelihood;
        let scales = likelihood.hyperparameters().into_iter().map(|one| one.report());
        let own: Vec<f64> = scales.zip(own).map(|(scale, &own)| scale.value(own)).collect();
        let mut count = |(&effort, eta): (&f64, &f64)| {
            let rate = effort * eta.exp();
            // Nobody looked there, or the rate is too small to be a positive number.
            if effort == 0.0 || rate == 0.0 {
                return Ok(0.0);
            }
            let drawn = likelihood.draw(rate, &own, rng).filter(|_| rate < MOST_POINTS);
            drawn.ok_or_else(|| too_wide(format!("{rate:.1e} points expected in a cell")))
        };
        self.effort.iter().zip(eta).map(&mut count).collect()
    }

    fn furthest(&self) -> f64 {
        // e³⁰ points in a unit of area are fewer than too many in a cell.
        30.0
    }

    fn likelihood(&self, y: &[f64]) -> Result<Arc<dyn Likelihood>> {
        self.options.likelihood.of(y.to_vec(), self.effort.clone())
    }

    fn model(&self, y: &[f64]) -> Result<Model> {
        let seen = |cell: usize| self.effort[cell] > 0.0;
        if (0..y.len()).any(|cell| seen(cell) && y[cell] > 0.0) {
            return lgcp(&self.counts(y)?, &self.options);
        }
        // A reader refuses a map without points: the model starts as with one of them, and its data are those without.
        let one = (0..y.len()).position(seen);
        let y: Vec<f64> = (0..y.len()).map(|cell| f64::from(u8::from(Some(cell) == one))).collect();
        lgcp(&self.counts(&y)?, &self.options)?
            .with_likelihood(self.likelihood(&vec![0.0; y.len()])?)
    }
}

/// More points than that in a cell would be rounded.
const MOST_POINTS: f64 = 1e15;

/// Returns.
struct Series {
    length: usize,
    priors: Vec<String>,
}

impl Source for Series {
    fn simulate(&self, eta: &[f64], _: &[f64], rng: &mut StreamRng) -> Result<Vec<f64>> {
        let mut normal = || -> f64 { StandardNormal.sample(rng) };
        let y = eta.iter().take(self.length).map(|eta| (0.5 * eta).exp() * normal());
        let y: Vec<f64> = y.collect();
        // Squares are what the likelihood sees of them.
        match y.iter().find(|y| !(*y * *y).is_normal()) {
            Some(&beyond) => Err(too_wide(format!("a return of {beyond:e}"))),
            None => Ok(y),
        }
    }

    fn likelihood(&self, y: &[f64]) -> Result<Arc<dyn Likelihood>> {
        Ok(Arc::new(StochasticVolatility::new(y)?))
    }

    fn model(&self, y: &[f64]) -> Result<Model> {
        stochvol(&Returns::from_vec(y.to_vec())?, &self.priors)
    }
}

/// Labels of rows in groups.
struct Labels {
    table: GroupedTable,
    priors: Vec<String>,
}

impl Labels {
    fn new(groups: usize, features: usize, rows: usize, priors: Vec<String>) -> Result<Self> {
        if groups == 0 || features == 0 || rows == 0 {
            return Err(Error::input(
                "size of the regression",
                "at least one group, feature and row",
                format!("{groups}, {features} and {rows}"),
                "ask for more, for instance --groups 6 --features 3 --rows 20",
            ));
        }
        let size = |group: usize| rows + group % 2;
        let names: Vec<String> =
            (0..groups).flat_map(|g| vec![format!("{g:09}"); size(g)]).collect();
        let mut x = vec![0.0; names.len() * features];
        Stream::new(70, 0, 0, Purpose::Other).fill_normals(&mut x);
        let label = (0..names.len()).map(|row| if row % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let columns = (0..features).map(|k| format!("x{k}")).collect();
        Ok(Self { table: GroupedTable::from_rows(&names, columns, x, label)?, priors })
    }
}

impl Source for Labels {
    fn simulate(&self, eta: &[f64], _: &[f64], rng: &mut StreamRng) -> Result<Vec<f64>> {
        if let Some(beyond) = eta.iter().find(|eta| !eta.is_finite()) {
            return Err(too_wide(format!("a coefficient of {beyond}")));
        }
        let (table, size) = (&self.table, self.table.features().len());
        let mut y = Vec::with_capacity(table.rows());
        for (weights, rows) in eta.chunks_exact(size).zip(table.offsets().windows(2)) {
            for x in table.x()[rows[0] * size..rows[1] * size].chunks_exact(size) {
                let logit: f64 = weights.iter().zip(x).map(|(w, x)| w * x).sum();
                let uniform: f64 = rand::RngExt::random(rng);
                y.push(if uniform < 1.0 / (1.0 + (-logit).exp()) { 1.0 } else { -1.0 });
            }
        }
        Ok(y)
    }

    fn likelihood(&self, y: &[f64]) -> Result<Arc<dyn Likelihood>> {
        let rows = self.table.offsets().windows(2).map(|w| w[0]..w[1]).collect();
        let size = self.table.features().len();
        Ok(Arc::new(BernoulliLogit::new(y, self.table.x(), rows, size)?))
    }

    fn model(&self, y: &[f64]) -> Result<Model> {
        let names: Vec<String> = (0..self.table.groups().len())
            .flat_map(|g| {
                let rows = self.table.offsets()[g + 1] - self.table.offsets()[g];
                vec![self.table.groups()[g].clone(); rows]
            })
            .collect();
        let (features, x) = (self.table.features().to_vec(), self.table.x().to_vec());
        if y.iter().any(|label| *label != y[0]) {
            let table = GroupedTable::from_rows(&names, features, x, y.to_vec())?;
            return logistic(&table, &self.priors);
        }
        // A reader refuses labels of one class: the model is that of others, and its data are these.
        let table = GroupedTable::from_rows(&names, features, x, self.table.label().to_vec())?;
        logistic(&table, &self.priors)?.with_likelihood(self.likelihood(y)?)
    }
}

/// No data.
struct Void {
    dim: usize,
    priors: Vec<String>,
}

impl Source for Void {
    fn simulate(&self, _: &[f64], _: &[f64], _: &mut StreamRng) -> Result<Vec<f64>> {
        Ok(Vec::new())
    }

    fn likelihood(&self, _: &[f64]) -> Result<Arc<dyn Likelihood>> {
        Ok(Arc::new(Nothing { sites: self.dim }))
    }

    fn model(&self, _: &[f64]) -> Result<Model> {
        funnel(self.dim, &self.priors)
    }
}
