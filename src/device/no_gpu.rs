//! Stands in for GPUs in a build without the feature `gpu`: there is none, and whoever asks for one is told why.

use super::{CpuLatents, Lane};
use crate::coordinates::Coordinates;
use crate::draws::FieldPlan;
use crate::error::{DeviceError, Result};
use crate::hamiltonian::MassKind;
use crate::likelihood::SiteTwin;
use crate::model::Model;
use std::convert::Infallible;
use std::sync::Arc;

/// An open GPU, of which a build without the feature `gpu` has none.
#[derive(Debug)]
pub struct Gpu(Infallible);

/// What a user may want to know of an adapter.
#[derive(Clone, Debug)]
pub struct AdapterSummary {
    /// Its name.
    pub name: String,
}

/// Which adapter to open.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "no adapter is told apart here")]
pub(crate) enum Wanted<'a> {
    Best,
    Named(&'a str),
    Hardware,
}

/// A dense matrix on a GPU.
#[derive(Debug)]
pub struct DenseMatrix(Infallible);

/// Latents of a batch of chains on a GPU.
pub(crate) struct GpuLatents;

impl Gpu {
    /// The adapter.
    pub fn adapter(&self) -> &AdapterSummary {
        match self.0 {}
    }

    /// Whether sums keep what rounding takes from them.
    pub fn sums_exactly(&self) -> bool {
        match self.0 {}
    }
}

impl DenseMatrix {
    pub(crate) fn new(gpu: &Arc<Gpu>, _: usize, _: usize, _: Option<usize>) -> Result<Self> {
        match gpu.0 {}
    }
}

impl GpuLatents {
    /// Never called: there is no GPU to call it with.
    #[allow(clippy::new_ret_no_self, reason = "the latents of no GPU are never built")]
    pub(crate) fn new(gpu: &Arc<Gpu>, _: &MassKind, _: u64, _: Vec<Lane>) -> Result<CpuLatents> {
        match gpu.0 {}
    }
}

pub(crate) fn open(_: Wanted<'_>) -> Result<Arc<Gpu>> {
    Err(not_built("a GPU").into())
}

pub(crate) fn alike(_: &Model, _: &Model) -> bool {
    false
}

pub(crate) fn room(gpu: &Gpu, _: &Model, _: &FieldPlan) -> usize {
    match gpu.0 {}
}

pub(crate) fn supported(model: &Model, _: &Coordinates, _: &MassKind) -> Result<SiteTwin> {
    Err(not_built(&format!("the model {}", model.name())).into())
}

fn not_built(what: &str) -> DeviceError {
    DeviceError::Unsupported {
        what: what.to_owned(),
        why: "this build of sshmc has no GPU support".into(),
        remedy: "build it with the feature gpu, or use the CPU".into(),
    }
}
