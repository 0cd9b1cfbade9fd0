//! Puts a structure's stages behind the [`Latents`](crate::device::Latents) seam: kicks and flows wait until the next evaluation and ride on its first stage.

mod block;
mod seam;
mod snapshot;
mod support;

pub use block::MOST_COVARIATES;
pub(super) use block::{Block, Evaluation, Mean, Reader};

use super::Gpu;
use super::ar1::Ar1Block;
use super::field::Field;
use super::params::Motion;
use super::recording::Recording;
use super::requests::Requests;
use super::spectral::SpectralBlock;
use super::state::{Plane, State};
use crate::coordinates::Coordinates;
use crate::error::Result;
use crate::hamiltonian::{MassKind, Target};
use crate::model::Model;
use crate::structure::{Information, Structure};
use std::sync::Arc;
use support::{structure_unsupported, supported};

/// Latents of a batch of chains on a GPU.
pub(crate) struct GpuLatents {
    model: Arc<Model>,
    mass: MassKind,
    state: State,
    field: Field,
    block: Box<dyn Block>,
    requests: Requests,
    chains: Vec<Chain>,
    /// Moves that wait for the next evaluation.
    motion: Vec<Motion>,
    flowing: bool,
    draws: u64,
    /// Points in the running means, and the means of their means.
    observed: u64,
    observed_means: Vec<Mean>,
    w: Vec<f64>,
    dw: Vec<f64>,
}

/// What the host knows of a chain.
struct Chain {
    coordinates: Coordinates,
    gradients: u64,
    /// The mean it was last aimed at.
    mean: Mean,
    /// Whether the proposed field on the device is that of the point the chain stands at, and not yet reported.
    fresh: bool,
    phi: Vec<f64>,
    saved_phi: Vec<f64>,
}

impl GpuLatents {
    /// Latents of `chains` (their ids and starting z), all in the same coordinates and mass.
    pub(crate) fn new(
        gpu: &Arc<Gpu>,
        model: &Arc<Model>,
        coordinates: &Coordinates,
        mass: &MassKind,
        seed: u64,
        chains: Vec<(u32, Vec<f64>)>,
    ) -> Result<Self> {
        let twin = supported(model, coordinates, mass)?;
        let structure = model.structure();
        let state = State::new(gpu, structure.dim(), chains.len())?;
        let field = Field::new(gpu, &state.motion, structure.sites(), chains.len())?;
        let centred = *coordinates == Coordinates::Centred;
        let block: Box<dyn Block> = match structure {
            Structure::Spectral(spectral) => Box::new(SpectralBlock::new(
                &state,
                &field.proposed,
                spectral,
                model,
                &twin,
                centred,
            )?),
            Structure::Ar1(_) => {
                let reports_mean = model.reports_mean();
                Box::new(Ar1Block::new(&state, &field.proposed, &twin, reports_mean)?)
            }
            _ => return Err(structure_unsupported(structure).into()),
        };
        let motion = chains.iter().map(|(id, _)| still(seed, *id)).collect();
        let m = model.hyperparameters().len();
        let mut latents = Self {
            model: model.clone(),
            mass: mass.clone(),
            requests: Requests::new(gpu, model),
            state,
            field,
            block,
            motion,
            flowing: false,
            draws: 0,
            observed: 0,
            observed_means: vec![Mean::default(); chains.len()],
            w: vec![0.0; m],
            dw: vec![0.0; m],
            chains: Vec::with_capacity(chains.len()),
        };
        for (b, (_, z)) in chains.iter().enumerate() {
            latents.chains.push(Chain {
                coordinates: coordinates.clone(),
                gradients: 0,
                mean: Mean::default(),
                fresh: false,
                phi: vec![0.0; m],
                saved_phi: vec![0.0; m],
            });
            latents.state.write(Plane::Z, b, z);
            latents.adopt(b, coordinates);
        }
        Ok(latents)
    }

    /// Sends a chain's coordinates to the device, rounded as it will use them, and remembers them.
    fn adopt(&mut self, chain: usize, coordinates: &Coordinates) {
        let n = self.state.dim;
        let Coordinates::Informed { information, shift } = coordinates else { return };
        let kappa = match information {
            Information::Scalar(kappa) => *kappa as f32,
            Information::Blocks(_) => 0.0,
        };
        let grid = matches!(self.model.structure(), Structure::Spectral(_));
        let rounded = shift.as_ref().map(|exact| {
            let mut q: Vec<f64> = exact.iter().map(|&q| f64::from(q as f32)).collect();
            if grid && !q.is_empty() {
                // A field's first entry stays in f64: the host subtracts the mean's pull from it.
                q[0] = exact[0];
            }
            Arc::new(q)
        });
        match &rounded {
            Some(q) => self.state.write(Plane::Q, chain, q),
            None => self.state.write(Plane::Q, chain, &vec![0.0; n]),
        }
        let first = rounded.as_ref().map_or(0.0, |q| q[0]);
        self.block.inform(chain, kappa, first);
        self.chains[chain].coordinates = Coordinates::Informed {
            information: Information::Scalar(f64::from(kappa)),
            shift: rounded,
        };
    }

    /// Moves every chain's hyperparameters; says which are inside the model.
    fn aim(&mut self, phi: &[f64]) -> Vec<bool> {
        let m = self.w.len();
        let p = self.model.structure().parameters();
        let mut inside = Vec::with_capacity(self.chains.len());
        for b in 0..self.chains.len() {
            let own = &phi[b * m..(b + 1) * m];
            self.chains[b].phi.copy_from_slice(own);
            self.model.hyperparameters().working(own, &mut self.w, &mut self.dw);
            let mean = Mean::new(&self.model, &self.w);
            self.chains[b].mean = mean;
            inside.push(self.block.aim(&self.state.gpu, b, &self.w[..p], &mean));
        }
        self.block.upload(&self.state.gpu);
        inside
    }

    /// Forgets moves that have been made.
    fn rest(&mut self) {
        self.flowing = false;
        for m in &mut self.motion {
            (m.kick, m.reference, m.half, m.sine, m.sign) = (0.0, 0.0, 0.0, 0.0, 1.0);
            (m.moving, m.draw) = (0, 0);
        }
    }

    /// Makes the moves that wait, without an evaluation.
    fn flush(&mut self) {
        if self.motion.iter().any(|m| m.moving != 0 || m.draw != 0) {
            self.state.upload_motion(&self.motion);
            let mut recording = Recording::default();
            for stage in self.block.kinetic().unwrap_or_else(|| self.state.kinetic()).stages {
                recording.dispatch(stage);
            }
            recording.submit(&self.state.gpu);
            self.rest();
        }
    }

    /// Takes the proposed field over for chains that stand where it was evaluated.
    fn report_fresh(&mut self) {
        for (m, chain) in self.motion.iter_mut().zip(&mut self.chains) {
            (m.accepted, m.weight) = (u32::from(chain.fresh), 0.0);
            chain.fresh = false;
        }
        self.state.upload_motion(&self.motion);
        let mut recording = Recording::default();
        self.field.reporting(&mut recording);
        recording.submit(&self.state.gpu);
    }

    fn centred(&self) -> bool {
        self.chains.iter().any(|chain| chain.coordinates == Coordinates::Centred)
    }

    /// The point of a chain, evaluated in f64 on the host.
    fn on_host(&self, chain: usize) -> Result<(Target, Vec<f64>, Vec<f64>)> {
        let own = &self.chains[chain];
        let mut target = Target::new(self.model.clone(), &own.coordinates)?;
        let (mut z, mut by_phi) = (vec![0.0; self.state.dim], vec![0.0; own.phi.len()]);
        self.state.read(Plane::Z, chain, &mut z);
        let mut by_z = z.clone();
        target.evaluate(&z, &own.phi, &mut by_z, &mut by_phi);
        Ok((target, z, by_z))
    }
}

/// A chain that stands still.
fn still(seed: u64, id: u32) -> Motion {
    Motion {
        sign: 1.0,
        chain: id,
        seed_low: seed as u32,
        seed_high: (seed >> 32) as u32,
        ..Motion::default()
    }
}
