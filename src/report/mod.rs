//! Turns a finished run into what a person or a program reads.

mod compare;
mod faults;
mod figure;
mod files;
mod forecast;
mod intensity;
mod map;
mod numbers;
mod page;
mod raster;
mod record;
mod run;
mod summary;
mod text;
mod tiles;
mod volatility;

pub use compare::{Pair, Scores, compare_posteriors, compare_scores};
pub use faults::Remedy;
pub use figure::{Curve, Panel, common_limits, draw_figure, draw_figure_in_rows, histograms};
pub use files::{FieldMoments, csv_field, write_draws};
pub use forecast::{CellPrediction, Forecast, forecast, predict_cells};
pub use intensity::{Level, exceedance_map, intensity_maps};
pub use map::{Map, MapFrame, MapKind};
pub use numbers::counted;
pub use page::page;
pub use raster::draw_png;
pub use record::{LgcpRecord, PriorRecord, RunRecord};
pub use run::{Draws, Fields, LgcpRun, Run, check_results};
pub use summary::{FieldSummary, SamplerSummary, Spread, Summary};
pub use text::Truth;
pub use volatility::draw_volatility;

use crate::error::Error;

/// DejaVu Sans, cut down to Latin, Greek and a few signs, so that pictures have their labels on machines without fonts; its
/// licence is beside it.
const FONT: &[u8] = include_bytes!("../../assets/fonts/DejaVuSans-subset.ttf");

/// Turns a failure of the drawing library, which only ever writes to memory here, into this crate's error.
fn drawing<E: std::error::Error>(error: E) -> Error {
    Error::Numeric(format!("cannot draw the figure: {error}"))
}
