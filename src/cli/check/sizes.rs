//! Names the models that can be checked, and their sizes.

use clap::{Args, ValueEnum};
use sshmc::check::WorldKind;
use sshmc::likelihood::CountLikelihood;
use sshmc::structure::Sides;
use sshmc::{Error, Result};

/// Models as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModelName {
    /// Log-Gaussian Cox process on a grid
    Lgcp,
    /// The same whose counts scatter more than Poisson's: negative binomial, its size learnt
    NegativeBinomial,
    /// Stochastic volatility
    Sv,
    /// Hierarchical logistic regression
    Logistic,
    /// Neal's funnel
    Funnel,
}

impl ModelName {
    /// The name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ModelName::Lgcp => "lgcp",
            ModelName::NegativeBinomial => "negative-binomial",
            ModelName::Sv => "sv",
            ModelName::Logistic => "logistic",
            ModelName::Funnel => "funnel",
        }
    }

    /// Its tiny world.
    pub(crate) fn tiny(self) -> Option<WorldKind> {
        WorldKind::tiny().into_iter().find(|kind| kind.name() == self.name())
    }
}

/// Sizes of simulated data, each for one model.
#[derive(Args, Debug)]
pub(crate) struct Sizes {
    /// lgcp, negative-binomial: cells along each side of the grid, with about as many points as cells [default: 24]
    #[arg(long, value_name = "N", help_heading = "Size")]
    grid: Option<usize>,
    /// sv: number of returns [default: 100]
    #[arg(long, value_name = "T", help_heading = "Size")]
    length: Option<usize>,
    /// logistic: number of groups [default: 6]
    #[arg(long, value_name = "N", help_heading = "Size")]
    groups: Option<usize>,
    /// logistic: number of features [default: 3]
    #[arg(long, value_name = "N", help_heading = "Size")]
    features: Option<usize>,
    /// logistic: rows of each group [default: 20]
    #[arg(long, value_name = "N", help_heading = "Size")]
    rows: Option<usize>,
    /// funnel: number of latents [default: 10]
    #[arg(long, value_name = "N", help_heading = "Size")]
    dim: Option<usize>,
}

/// Largest size in any direction: beyond it a check of hundreds of fits would never end.
const MOST: usize = 100_000;
const MOST_SIDE: usize = 512;

impl Sizes {
    /// The world of a model; sizes of other models are refused.
    pub(crate) fn kind(&self, model: ModelName, gpu: bool) -> Result<WorldKind> {
        let all = [
            (
                "--grid",
                &[ModelName::Lgcp, ModelName::NegativeBinomial][..],
                self.grid,
                2,
                MOST_SIDE,
            ),
            ("--length", &[ModelName::Sv], self.length, 2, MOST),
            ("--groups", &[ModelName::Logistic], self.groups, 1, MOST),
            ("--features", &[ModelName::Logistic], self.features, 1, 1000),
            ("--rows", &[ModelName::Logistic], self.rows, 1, MOST),
            ("--dim", &[ModelName::Funnel], self.dim, 1, MOST),
        ];
        for (option, owners, value, least, most) in all {
            let Some(value) = value else { continue };
            if !owners.contains(&model) {
                return Err(Error::input(
                    option,
                    format!("a size of {}", model.name()),
                    format!("one of {}", owners[0].name()),
                    "leave it out",
                ));
            }
            if !(least..=most).contains(&value) {
                let expected = format!("a whole number from {least} to {most}");
                return Err(Error::input(option, expected, value.to_string(), "choose another"));
            }
        }
        // Grids below 3 x 3 have no sixth cell to leave unobserved, which does no harm.
        let sides = if gpu { Sides::PowersOfTwo } else { Sides::default() };
        let grid =
            |likelihood| WorldKind::Lgcp { side: self.grid.unwrap_or(24), sides, likelihood };
        Ok(match model {
            ModelName::Lgcp => grid(CountLikelihood::Poisson),
            ModelName::NegativeBinomial => grid(CountLikelihood::NegativeBinomial),
            ModelName::Sv => WorldKind::Sv { length: self.length.unwrap_or(100) },
            ModelName::Logistic => WorldKind::Logistic {
                groups: self.groups.unwrap_or(6),
                features: self.features.unwrap_or(3),
                rows: self.rows.unwrap_or(20),
            },
            ModelName::Funnel => WorldKind::Funnel { dim: self.dim.unwrap_or(10) },
        })
    }
}
