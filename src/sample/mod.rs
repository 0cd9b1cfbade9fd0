//! Runs chains: where they start, how they warm up, and the one loop over transitions.

mod audit;
mod batch;
mod footprint;
mod information;
mod pilot;
mod rivals;
mod run;
mod settings;
mod start;
mod state;
mod step_size;
mod transition;
mod warmup;

pub use crate::baseline::DIVERGENT;
pub use audit::EnergyAudit;
pub use footprint::Footprint;
pub use pilot::PilotResult;
pub use run::{Fit, Progress, Stage, field_plan, run, run_kept};
pub use settings::{CoordinateChoice, MassChoice, Method, Settings};
pub use state::{BatchState, ChainState, Keeper};
pub use transition::{Info, Kernel, Tuning};
