//! Checks that what is drawn has the right distribution, on the user's own machine.
//!
//! | check | asks |
//! |---|---|
//! | [`geweke()`] | do transitions alternated with fresh data keep the joint distribution of everything (Geweke 2004)? |
//! | [`exact_ranks`] | is a draw of the prior equally likely to have any rank among states that a kernel leads to from it, in either direction of time (Besag and Clifford 1989; Gandy and Scott 2020)? |
//! | [`replicate`] | has the truth a uniform rank among the draws of a whole fit, warm-up included (Talts et al. 2018)? |
//! | [`conformance`] | does a GPU compute what the processor does in double precision? |
//!
//! All simulate a [`World`]: a model from which hyperparameters, field and data can be drawn. The first two walk through it by a
//! [`Way`], of which [`ways`] lists those this crate has; a wrong one of a test's own is a [`Walker`] too. Ranks are judged by
//! [`Uniformity`], whose probabilities are exact.

mod binomial;
mod calibrate;
mod device;
mod geweke;
mod ledger;
mod ranks;
mod score;
mod sources;
mod uniform;
mod walk;
mod ways;
mod world;

pub use calibrate::{Calibration, Replicate, quantities, replicate, try_fit};
pub use device::{
    COMPARED, Comparison, EnergyPoint, Finding, NORMAL_TOLERANCE, Problem, Spoilt, Worst, audit,
    conformance, largest, largest_difference, normals_error, product_error, residue,
    trajectory_errors,
};
pub use geweke::{Geweke, Moments, Paths, geweke, geweke_bound, statistic_names};
pub use ledger::Ledger;
pub use ranks::{RankCounts, RankTest, exact_ranks};
pub use score::{Score, judge, mean_score, median_score, score_bound, student_bound, worst_score};
pub use sources::WorldKind;
pub use uniform::{Band, Uniformity};
pub use walk::{KernelPlan, KernelWalker, RivalWalker, Walker, Way};
pub use ways::{FEWEST_MOVES, kernel_plans, ways};
pub use world::{Draw, Source, World};

/// The seed of a replicate, far from those of its neighbours and of neighbouring checks.
fn apart(seed: u64, replicate: u32) -> u64 {
    seed.wrapping_add((1 + u64::from(replicate)).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}
