//! Opens the library to programs: data in memory, a model in a few words, a fit, and what was learnt from it.
//!
//! Everything here only puts together what the other modules offer; a program that needs more goes there.

mod fit;
mod lgcp;
mod models;
mod sampler;
#[cfg(feature = "archive")]
mod save;
mod watch;

pub use fit::Draw;
pub use lgcp::Lgcp;
pub use models::{Funnel, Logistic, Volatility};
pub use sampler::Sampler;
pub use watch::Step;
