//! Draws data from each model at known truths, so that a fit can be held against them.
//!
//! Every draw is fixed by its seed: normals, counts and labels come from counter-based streams of their own, so that a
//! larger data set starts with the same values as a smaller one where that makes sense. Each result can be handed to
//! the model it came from, or written to a directory whose files the command line reads.
//!
//! ```
//! use sshmc::simulate::{VolatilityTruth, stochvol};
//!
//! let truth = VolatilityTruth { steps: 500, phi: 0.95, sigma: 0.2, beta: 0.7 };
//! let series = stochvol(&truth, 1)?;
//! assert_eq!(series.returns.y().len(), series.x.len());
//! # Ok::<(), sshmc::Error>(())
//! ```

mod funnel;
mod lgcp;
mod logistic;
mod stochvol;

pub use funnel::{FunnelDraw, FunnelTruth, funnel};
pub use lgcp::{PatternTruth, PointPattern, lgcp};
pub use logistic::{LabelledTable, RegressionTruth, logistic};
pub use stochvol::{ReturnSeries, VolatilityTruth, stochvol};

use crate::error::{Error, Result};
use crate::random::{Purpose, Stream};

/// Accepts a positive finite number up to `most`.
fn positive(place: &str, value: f64, most: f64) -> Result<()> {
    if value > 0.0 && value <= most {
        return Ok(());
    }
    let expected = format!("a number above 0 and at most {most}");
    Err(Error::input(place, expected, value.to_string(), format!("correct --{place}")))
}

/// Accepts a whole number from `least` to `most`.
fn within(place: &str, value: usize, least: usize, most: usize) -> Result<()> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let expected = format!("a whole number from {least} to {most}");
    Err(Error::input(place, expected, value.to_string(), format!("correct --{place}")))
}

/// The stream of the `index`-th object of a kind; kinds number the quantities that one simulation draws.
fn stream(seed: u64, kind: u32, index: usize) -> Stream {
    // Sizes are checked to be far below 2³².
    Stream::new(seed, index as u32, kind, Purpose::Data)
}

/// Standard normal numbers of one kind.
fn normals(seed: u64, kind: u32, count: usize) -> Vec<f64> {
    let mut out = vec![0.0; count];
    stream(seed, kind, 0).fill_normals(&mut out);
    out
}
