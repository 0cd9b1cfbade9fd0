//! Measures point patterns: how much closer together points are than chance would have them, on what scale, and how fine a grid
//! shows it.

mod pair_correlation;
mod predictive;
mod resolution;
mod scale;

pub use pair_correlation::PairCorrelation;
pub use predictive::Predictive;
pub use resolution::Detail;
pub use scale::{Clustering, clustering};
