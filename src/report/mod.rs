//! Turns a finished run into what a person or a program reads.

mod summary;

pub use summary::{FieldSummary, SamplerSummary, Spread, Summary};
