//! Runs chains: where they start, how they warm up, and the one loop over transitions.

mod audit;
mod batch;
mod bundle;
mod clock;
mod footprint;
mod information;
mod member;
mod pilot;
mod place;
mod plan;
mod recall;
mod retry;
mod rivals;
mod rounds;
mod run;
mod settings;
mod start;
mod state;
mod step_size;
mod torus;
mod transition;
mod until;
mod warmup;

pub use crate::baseline::DIVERGENT;
pub use audit::EnergyAudit;
pub use bundle::bundles;
pub use footprint::Footprint;
pub use pilot::PilotResult;
pub use place::refused_by_gpus;
pub use plan::field_plan;
pub use run::{Fit, Part, Progress, Stage, run, run_kept, run_together};
pub use settings::{CoordinateChoice, MassChoice, Method, Settings};
pub use state::{BatchState, ChainState, Keeper};
pub use transition::{Info, Kernel, Tuning};
pub(crate) use until::field_reliability;
pub use until::{Check, Ended, Until};
