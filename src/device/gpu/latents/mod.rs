//! Puts a structure's stages behind the [`Latents`](crate::device::Latents) seam: kicks and flows wait until the next evaluation and ride on its first stage.

mod block;
mod seam;
mod snapshot;
mod support;

pub use block::MOST_COVARIATES;
use block::Mean;
pub(super) use block::{Aim, Block, Evaluation};

use super::Gpu;
use super::ar1::{Ar1Block, Series};
use super::field::Field;
use super::params::Motion;
use super::recording::Recording;
use super::requests::Requests;
use super::spectral::SpectralBlock;
use super::state::{Plane, State};
use super::{ar1, field, spectral, state, twin};
use crate::coordinates::Coordinates;
use crate::device::Lane;
use crate::draws::FieldPlan;
use crate::error::Result;
use crate::hamiltonian::{MassKind, Target};
use crate::likelihood::SiteTwin;
use crate::model::{Column, Model};
use crate::structure::{Information, Structure};
use std::sync::Arc;
use support::{Crew, no_stages};
pub(crate) use support::{alike, supported};

/// Latents of a batch of chains on a GPU.
pub(crate) struct GpuLatents {
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
    /// Which chains were last aimed inside the model.
    inside: Vec<bool>,
}

/// What the host knows of a chain.
struct Chain {
    model: Arc<Model>,
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
    /// Latents of chains in the same mass, of one model or of several series.
    pub(crate) fn new(
        gpu: &Arc<Gpu>,
        mass: &MassKind,
        seed: u64,
        lanes: Vec<Lane>,
    ) -> Result<Self> {
        let crew = Crew::new(&lanes, mass)?;
        let models: Vec<Arc<Model>> = lanes.iter().map(|lane| lane.model.clone()).collect();
        let most = |size: fn(&Structure) -> usize| {
            models.iter().map(|model| size(model.structure())).max().unwrap_or(0)
        };
        let state = State::new(gpu, most(Structure::dim), lanes.len())?;
        let field = Field::new(gpu, &state.motion, most(Structure::sites), lanes.len())?;
        for (model, twin) in &crew.models {
            twin::check(gpu, model, twin)?;
        }
        let block = block(&state, &field, crew)?;
        let motion = lanes.iter().map(|lane| still(seed, lane)).collect();
        let m = models.first().map_or(0, |model| model.hyperparameters().len());
        let mut latents = Self {
            mass: mass.clone(),
            requests: Requests::new(gpu, models),
            state,
            field,
            block,
            motion,
            flowing: false,
            draws: 0,
            observed: 0,
            observed_means: vec![Mean::default(); lanes.len()],
            w: vec![0.0; m],
            dw: vec![0.0; m],
            inside: vec![true; lanes.len()],
            chains: Vec::with_capacity(lanes.len()),
        };
        for (b, Lane { model, coordinates, z, .. }) in lanes.into_iter().enumerate() {
            latents.chains.push(Chain {
                model,
                coordinates: coordinates.clone(),
                gradients: 0,
                mean: Mean::default(),
                fresh: false,
                phi: vec![0.0; m],
                saved_phi: vec![0.0; m],
            });
            latents.state.write(Plane::Z, b, &z);
            latents.adopt(b, &coordinates);
        }
        Ok(latents)
    }

    /// Sends a chain's coordinates to the device, rounded as it will use them, and remembers them.
    fn adopt(&mut self, chain: usize, coordinates: &Coordinates) {
        let structure = self.chains[chain].model.structure();
        let (n, grid) = (structure.dim(), matches!(structure, Structure::Spectral(_)));
        let Coordinates::Informed { information, shift } = coordinates else { return };
        let kappa = match information {
            Information::Scalar(kappa) => *kappa as f32,
            Information::Blocks(_) => 0.0,
        };
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

    /// Moves every chain's hyperparameters, and remembers which are inside the model.
    fn aim(&mut self, phi: &[f64]) {
        let m = self.w.len();
        for b in 0..self.chains.len() {
            let own = &phi[b * m..(b + 1) * m];
            let chain = &mut self.chains[b];
            chain.phi.copy_from_slice(own);
            let model = &chain.model;
            model.hyperparameters().working(own, &mut self.w, &mut self.dw);
            chain.mean.set(model, &self.w);
            let of_likelihood = model.likelihood_parameters();
            let (w, own) = (&self.w[..of_likelihood.start], &self.w[of_likelihood]);
            let to = Aim { w, own, mean: &chain.mean };
            self.inside[b] = self.block.aim(&self.state.gpu, b, to);
        }
        self.block.upload(&self.state.gpu);
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
            let plan = self.block.kinetic().unwrap_or_else(|| self.state.kinetic());
            for stage in plan.stages.into_iter().flatten() {
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
        let mut target = Target::new(own.model.clone(), &own.coordinates)?;
        let dim = own.model.structure().dim();
        let (mut z, mut by_phi) = (vec![0.0; dim], vec![0.0; own.phi.len()]);
        self.state.read(Plane::Z, chain, &mut z);
        let mut by_z = z.clone();
        target.evaluate(&z, &own.phi, &mut by_z, &mut by_phi);
        Ok((target, z, by_z))
    }
}

/// The stages of the prior that all chains share.
fn block(state: &State, field: &Field, crew: Crew) -> Result<Box<dyn Block>> {
    let Crew { models, whose, centred } = crew;
    let (model, field) = (models[0].0.clone(), &field.proposed);
    Ok(match model.structure() {
        Structure::Spectral(spectral) => {
            let twin = &models[0].1;
            Box::new(SpectralBlock::new(state, field, spectral, &model, twin, centred)?)
        }
        Structure::Ar1(_) => {
            let own = model.likelihood().parameters();
            let one = |(model, twin): (Arc<Model>, SiteTwin)| {
                let length = model.structure().dim();
                Series { length, twin }
            };
            let series: Vec<Series> = models.into_iter().map(one).collect();
            Box::new(Ar1Block::new(state, field, (&series, own), whose, model.reports_mean())?)
        }
        Structure::Groups(_) | Structure::Dense(_) => return no_stages(model.structure()),
    })
}

/// How many chains of a model that are recorded like this a batch on a GPU has room for: none of its buffers is larger than the
/// adapter allows, and no dispatch has more workgroups. 0 if there is not even room for one.
pub(crate) fn room(gpu: &Gpu, model: &Model, plan: &FieldPlan) -> usize {
    let (structure, largest) = (model.structure(), gpu.largest());
    let dim = structure.dim();
    let own = match structure {
        Structure::Spectral(field) => {
            let terms = model.mean().iter();
            let covariates = terms.filter(|term| matches!(term.column, Column::Values(_)));
            let numbers = [covariates.count(), model.likelihood().parameters()];
            spectral::room(field, numbers, largest)
        }
        Structure::Ar1(_) => {
            (largest / ar1::chain_bytes(dim, model.likelihood().parameters())) as usize
        }
        Structure::Groups(_) | Structure::Dense(_) => 0,
    };
    let bytes = state::chain_bytes(dim).max(field::chain_bytes(plan));
    let bytes = bytes.max(size_of::<Motion>() as u64);
    own.min((largest / bytes) as usize).min(gpu.adapter().workgroups as usize)
}

/// A chain that stands still.
fn still(seed: u64, lane: &Lane) -> Motion {
    Motion {
        sign: 1.0,
        chain: lane.id,
        length: lane.model.structure().dim() as u32,
        seed_low: seed as u32,
        seed_high: (seed >> 32) as u32,
        ..Motion::default()
    }
}
