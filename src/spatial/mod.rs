//! Measures point patterns: how much closer together points are than chance would have them, and on what scale.

mod pair_correlation;
mod predictive;
mod scale;

pub use pair_correlation::PairCorrelation;
pub use predictive::Predictive;
pub use scale::{Clustering, clustering, suggest_cells};
