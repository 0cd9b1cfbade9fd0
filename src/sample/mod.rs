//! Runs chains: where they start, how they warm up, and the one loop over transitions.

mod audit;
mod information;
mod pilot;
mod rivals;
mod run;
mod settings;
mod start;
mod step_size;
mod transition;
mod warmup;

pub use crate::baseline::DIVERGENT;
pub use audit::EnergyAudit;
pub use run::{Fit, Progress, Stage, run};
pub use settings::{CoordinateChoice, MassChoice, Method, Settings};
pub use transition::{Info, Kernel, Tuning};
