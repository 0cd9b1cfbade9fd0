//! Names where a run's latents are computed.

use super::gpu::{DenseMatrix, Gpu, GpuLatents, Wanted, alike, open, room};
use super::{CpuLatents, Latents};
use crate::coordinates::Coordinates;
use crate::draws::FieldPlan;
use crate::error::{DeviceError, Error, Result};
use crate::hamiltonian::MassKind;
use crate::model::Model;
use std::sync::Arc;

/// Where latents are computed: the CPU in double precision, or a GPU in single precision. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Device {
    gpu: Option<Arc<Gpu>>,
    /// Whether the CPU does as well where a run cannot be built on the GPU.
    or_cpu: bool,
}

/// A chain of a batch.
#[derive(Clone, Debug)]
pub struct Lane {
    /// Whose chain it is.
    pub model: Arc<Model>,
    /// Its number among the chains of its model.
    pub id: u32,
    /// The coordinates it is in.
    pub coordinates: Coordinates,
    /// Where its latents start.
    pub z: Vec<f64>,
}

impl Lane {
    /// Whether everything is as long as the model says, and the hyperparameters are as many as those of another lane.
    fn check(&self, other: &Self) -> Result<()> {
        let (dim, hyperparameters) = (self.model.structure().dim(), &self.model.hyperparameters());
        let refuse = |what: &str, expected: usize, got: usize| {
            Err(Error::input(
                format!("{what} of chain {}", self.id),
                format!("{expected} numbers"),
                format!("{got}"),
                "give one for each latent of the model's structure, and batch models of one kind only",
            ))
        };
        if self.z.len() != dim {
            return refuse("starting latents z", dim, self.z.len());
        }
        if let Coordinates::Informed { shift: Some(q), .. } = &self.coordinates
            && q.len() != dim
        {
            return refuse("the shift of the coordinates", dim, q.len());
        }
        let expected = other.model.hyperparameters().len();
        if hyperparameters.len() != expected {
            return refuse("hyperparameters", expected, hyperparameters.len());
        }
        Ok(())
    }
}

/// Latents of all chains from which a hardware GPU can be expected to gain: below, starting and waiting for its stages takes
/// longer than a processor's core needs for the arithmetic.
const WORTHWHILE: usize = 1 << 17;

impl Device {
    /// The processor, in f64.
    pub fn cpu() -> Self {
        Self::default()
    }

    fn of(gpu: Arc<Gpu>) -> Self {
        Self { gpu: Some(gpu), or_cpu: false }
    }

    /// The same, but a run that cannot be built there, because there is no room or there are no stages for it, is made on the CPU, and a note
    /// of its model says why.
    pub fn or_cpu(self) -> Self {
        Self { or_cpu: true, ..self }
    }

    /// Whether the CPU does as well.
    pub(crate) fn is_tentative(&self) -> bool {
        self.is_gpu() && self.or_cpu
    }

    /// The best GPU there is: hardware before software.
    pub fn gpu() -> Result<Self> {
        Ok(Self::of(open(Wanted::Best)?))
    }

    /// The best GPU with `part` in its name, whatever the case of its letters.
    pub fn gpu_named(part: &str) -> Result<Self> {
        Ok(Self::of(open(Wanted::Named(part))?))
    }

    /// A GPU that the caller has opened. Errors that the caller's own commands cause stay the caller's.
    #[cfg(feature = "gpu")]
    pub fn from_wgpu(device: wgpu::Device, queue: wgpu::Queue) -> Result<Self> {
        Ok(Self::of(Gpu::new(device, queue, false)?))
    }

    /// A hardware GPU if there is one and `latents`, over all chains, are enough to gain from it; otherwise the CPU, also where a run
    /// turns out not to fit (see [`Self::or_cpu`]). Never a software adapter. The sentence says what was chosen and why.
    pub fn auto(latents: usize) -> (Self, String) {
        if latents < WORTHWHILE {
            let why = format!("cpu: {latents} latents in all are too few to gain from a GPU");
            return (Self::cpu(), why);
        }
        match open(Wanted::Hardware) {
            Ok(gpu) => {
                let why = format!("{}: {latents} latents in all", gpu.adapter().name);
                (Self::of(gpu).or_cpu(), why)
            }
            Err(Error::Device(DeviceError::NoAdapter)) => {
                (Self::cpu(), "cpu: there is no hardware GPU".into())
            }
            Err(error) => (Self::cpu(), format!("cpu: {error}")),
        }
    }

    /// The GPU, unless this is the CPU.
    pub fn as_gpu(&self) -> Option<&Gpu> {
        self.gpu.as_deref()
    }

    /// Whether all chains are computed together.
    pub fn is_gpu(&self) -> bool {
        self.gpu.is_some()
    }

    /// What to call it in reports: `cpu`, or the adapter's name.
    pub fn name(&self) -> String {
        self.gpu.as_ref().map_or("cpu".into(), |gpu| gpu.adapter().name.clone())
    }

    /// Room on this GPU for a dense symmetric matrix of `dim` rows that multiplies `chains` vectors at a time, in slabs of `rows` or
    /// as few as the adapter allows. An error on the CPU, which has its own algebra.
    pub fn dense(&self, dim: usize, chains: usize, rows: Option<usize>) -> Result<DenseMatrix> {
        match &self.gpu {
            Some(gpu) => DenseMatrix::new(gpu, dim, chains, rows),
            None => Err(DeviceError::NoAdapter.into()),
        }
    }

    /// Whether chains of two models can be computed together: on a GPU those of series can, whatever their lengths.
    pub(crate) fn joins(&self, a: &Model, b: &Model) -> bool {
        self.is_gpu() && alike(a, b)
    }

    /// How many chains of a model that are recorded like this can be computed together; as many as there are on the CPU, and 0 where
    /// there is no room for a single one.
    pub fn room(&self, model: &Model, plan: &FieldPlan) -> usize {
        self.gpu.as_ref().map_or(usize::MAX, |gpu| room(gpu, model, plan))
    }

    /// Latents of `chains` (their ids and starting z) of one model on this device, all in the same coordinates and mass.
    pub fn latents(
        &self,
        model: &Arc<Model>,
        coordinates: &Coordinates,
        mass: &MassKind,
        seed: u64,
        chains: Vec<(u32, Vec<f64>)>,
    ) -> Result<Box<dyn Latents>> {
        let lane = |(id, z)| Lane { model: model.clone(), id, coordinates: coordinates.clone(), z };
        self.lanes(mass, seed, chains.into_iter().map(lane).collect())
    }

    /// Latents of chains of several models with as many hyperparameters each. A GPU takes more than one model only if they are
    /// series, of any lengths, with the same likelihood; it computes them by the same commands.
    pub fn lanes(&self, mass: &MassKind, seed: u64, lanes: Vec<Lane>) -> Result<Box<dyn Latents>> {
        lanes.iter().try_for_each(|lane| lane.check(&lanes[0]))?;
        Ok(match &self.gpu {
            None => Box::new(CpuLatents::of_lanes(mass, seed, lanes)?),
            Some(gpu) => Box::new(GpuLatents::new(gpu, mass, seed, lanes)?),
        })
    }
}
