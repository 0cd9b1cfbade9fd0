//! Measures point patterns: how much closer together points are than chance would have them, and on what scale.

mod contrast;
mod counts;
mod pair_correlation;
mod predictive;
mod scale;

pub use counts::count_clustering;
pub use pair_correlation::PairCorrelation;
pub use predictive::Predictive;
use scale::FEWEST_POINTS;
pub use scale::{Clustering, clustering, suggest_cells};
