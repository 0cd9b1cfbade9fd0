//! Turns a finished run into what a person or a program reads. Pictures, maps and pages need the feature `report`.

#[cfg(feature = "report")]
mod compare;
mod faults;
#[cfg(feature = "report")]
mod figure;
mod files;
#[cfg(feature = "report")]
mod forecast;
#[cfg(feature = "report")]
mod intensity;
#[cfg(feature = "report")]
mod map;
mod numbers;
#[cfg(feature = "report")]
mod page;
#[cfg(feature = "report")]
mod raster;
#[cfg(feature = "report")]
mod record;
#[cfg(feature = "report")]
mod run;
mod summary;
mod text;
#[cfg(feature = "report")]
mod tiles;
#[cfg(feature = "report")]
mod volatility;

#[cfg(feature = "report")]
pub use compare::{Pair, Scores, compare_posteriors, compare_scores};
pub use faults::Remedy;
#[cfg(feature = "report")]
pub use figure::{Curve, Panel, common_limits, draw_figure, draw_figure_in_rows, histograms};
pub use files::{FieldMoments, csv_field, write_draws};
#[cfg(feature = "report")]
pub use forecast::{CellPrediction, Forecast, forecast, predict_cells};
#[cfg(feature = "report")]
pub use intensity::{Level, exceedance_map, intensity_maps};
#[cfg(feature = "report")]
pub use map::{Map, MapFrame, MapKind};
pub use numbers::counted;
#[cfg(feature = "report")]
pub use page::page;
#[cfg(feature = "report")]
pub use raster::draw_png;
#[cfg(feature = "report")]
pub use record::{LgcpRecord, PriorRecord, RunRecord};
#[cfg(feature = "report")]
pub use run::{Draws, Fields, LgcpRun, Run, check_results};
pub use summary::{FieldSummary, SamplerSummary, Spread, Summary};
pub use text::Truth;
#[cfg(feature = "report")]
pub use volatility::draw_volatility;

#[cfg(feature = "report")]
use crate::error::Error;

/// DejaVu Sans, cut down to Latin, Greek and a few signs, so that pictures have their labels on machines without fonts; its
/// licence is beside it.
#[cfg(feature = "report")]
const FONT: &[u8] = include_bytes!("../../assets/fonts/DejaVuSans-subset.ttf");

/// Turns a failure of the drawing library, which only ever writes to memory here, into this crate's error.
#[cfg(feature = "report")]
fn drawing<E: std::error::Error>(error: E) -> Error {
    Error::Numeric(format!("cannot draw the figure: {error}"))
}
