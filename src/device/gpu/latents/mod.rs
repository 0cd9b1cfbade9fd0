//! Puts a structure's stages behind the [`Latents`] seam: kicks and flows wait until the next evaluation and ride on its first stage.

mod block;
mod support;

pub(super) use block::{Block, Evaluation, Reader};

use super::Gpu;
use super::ar1::Ar1Block;
use super::field::{Field, weigh};
use super::params::Motion;
use super::recording::Recording;
use super::requests::Requests;
use super::spectral::SpectralBlock;
use super::state::{Plane, State};
use crate::coordinates::Coordinates;
use crate::device::{Flow, Latents, Quantity, Reading};
use crate::draws::FieldDraws;
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
    /// Points in the running means, and the constant part of their predictors.
    observed: u64,
    constants: Vec<f64>,
    w: Vec<f64>,
    dw: Vec<f64>,
}

/// What the host knows of a chain.
struct Chain {
    coordinates: Coordinates,
    gradients: u64,
    /// The constant part of the predictor.
    constant: f64,
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
                &twin,
                centred,
                model.reports_mean(),
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
            constants: vec![0.0; chains.len()],
            w: vec![0.0; m],
            dw: vec![0.0; m],
            chains: Vec::with_capacity(chains.len()),
        };
        for (b, (_, z)) in chains.iter().enumerate() {
            latents.chains.push(Chain {
                coordinates: coordinates.clone(),
                gradients: 0,
                constant: 0.0,
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
            let coefficient: f64 =
                self.model.mean().iter().map(|term| term.scale * self.w[term.hyperparameter]).sum();
            let constant = self.model.offset() + coefficient;
            self.chains[b].constant = constant;
            let gpu = &self.state.gpu;
            inside.push(self.block.aim(gpu, b, &self.w[..p], constant, coefficient));
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

impl Latents for GpuLatents {
    fn chains(&self) -> usize {
        self.chains.len()
    }

    fn status(&self) -> Result<()> {
        self.state.gpu.status()
    }

    fn refresh(&mut self, transition: u32, phi: &[f64]) {
        self.rest();
        self.motion.iter_mut().for_each(|m| m.transition = transition);
        self.state.upload_motion(&self.motion);
        let mut recording = Recording::default();
        self.state.refreshing(&mut recording);
        recording.submit(&self.state.gpu);
        if self.centred() {
            self.aim(phi);
            self.motion.iter_mut().for_each(|m| m.draw = 1);
            self.flush();
        }
    }

    fn evaluate(&mut self, phi: &[f64], potential: &mut [f64], by_phi: &mut [f64]) {
        potential.fill(f64::INFINITY);
        self.request(phi, Quantity::Potential);
        self.collect(&mut |reading| {
            potential.copy_from_slice(reading.energy);
            by_phi.copy_from_slice(reading.by_phi);
        });
    }

    fn kinetic(&mut self, phi: &[f64], energy: &mut [f64], mut by_phi: Option<&mut [f64]>) {
        energy.fill(f64::NAN);
        self.request(phi, Quantity::Kinetic);
        self.collect(&mut |reading| {
            energy.copy_from_slice(reading.energy);
            if let Some(by_phi) = by_phi.as_deref_mut() {
                by_phi.copy_from_slice(reading.by_phi);
            }
        });
    }

    fn defers(&self) -> bool {
        true
    }

    fn request(&mut self, phi: &[f64], quantity: Quantity) {
        let potential = quantity == Quantity::Potential;
        let inside =
            if potential || self.centred() { self.aim(phi) } else { vec![true; self.chains.len()] };
        self.state.upload_motion(&self.motion);
        let plan = match quantity {
            Quantity::Potential => self.block.evaluation(),
            Quantity::Kinetic => self.block.kinetic().unwrap_or_else(|| self.state.kinetic()),
        };
        self.requests.make(plan, phi, inside);
        self.rest();
        if potential {
            for chain in &mut self.chains {
                chain.gradients += 1;
                chain.fresh = true;
            }
        }
    }

    fn collect(&mut self, visit: &mut dyn FnMut(Reading<'_>)) {
        self.requests.collect(visit);
    }

    fn kick(&mut self, step: &[f64], flow: Flow) {
        if self.flowing {
            self.flush();
        }
        for (m, &step) in self.motion.iter_mut().zip(step) {
            m.kick += step as f32;
            m.reference = if flow == Flow::Rotation { 1.0 } else { 0.0 };
            m.moving = 1;
        }
    }

    fn flow(&mut self, step: &[f64], flow: Flow) {
        if self.flowing {
            self.flush();
        }
        for (m, &step) in self.motion.iter_mut().zip(step) {
            (m.half, m.sine) = match flow {
                Flow::Rotation => ((0.5 * step).tan() as f32, step.sin() as f32),
                Flow::Drift => ((0.5 * step) as f32, 0.0),
            };
            m.moving = 1;
        }
        self.chains.iter_mut().for_each(|chain| chain.fresh = false);
        self.flowing = true;
    }

    fn reverse(&mut self) {
        self.flush();
        self.motion.iter_mut().for_each(|m| (m.sign, m.moving) = (-1.0, 1));
        self.flush();
    }

    fn save(&mut self) {
        self.flush();
        self.state.save();
        for (m, chain) in self.motion.iter_mut().zip(&mut self.chains) {
            chain.saved_phi.copy_from_slice(&chain.phi);
            (m.accepted, m.weight) = (u32::from(chain.fresh), 0.0);
            chain.fresh = false;
        }
        self.state.upload_motion(&self.motion);
        let mut recording = Recording::default();
        self.field.reporting(&mut recording);
        recording.submit(&self.state.gpu);
    }

    fn settle(&mut self, accepted: &[bool]) {
        self.rest();
        for ((m, chain), &accepted) in self.motion.iter_mut().zip(&mut self.chains).zip(accepted) {
            (m.accepted, m.weight) = (u32::from(accepted && chain.fresh), 0.0);
            chain.fresh = false;
            if !accepted {
                chain.phi.copy_from_slice(&chain.saved_phi);
            }
        }
        self.state.upload_motion(&self.motion);
        let mut recording = Recording::default();
        self.state.settling(&mut recording);
        self.field.reporting(&mut recording);
        recording.submit(&self.state.gpu);
    }

    fn gradients(&self, chain: usize) -> u64 {
        self.chains[chain].gradients
    }

    fn change(&mut self, chain: usize, coordinates: &Coordinates, phi: &[f64]) -> Result<()> {
        supported(&self.model, coordinates, &self.mass)?;
        self.chains[chain].phi.copy_from_slice(phi);
        let (mut target, mut z, _) = self.on_host(chain)?;
        self.adopt(chain, coordinates);
        target.change(&self.chains[chain].coordinates, phi, &mut z)?;
        self.state.write(Plane::Z, chain, &z);
        self.chains[chain].fresh = false;
        Ok(())
    }

    fn field(&mut self, chain: usize, out: &mut [f64]) {
        self.field.read(chain, out);
    }

    fn latents_and_score(&mut self, chain: usize, x: &mut [f64], g: &mut [f64]) {
        match self.on_host(chain) {
            Ok((mut target, z, by_z)) => target.latents_and_score(&z, &by_z, x, g),
            Err(_) => x.fill(f64::NAN),
        }
    }

    fn predictor(&mut self, chain: usize, out: &mut [f64]) {
        match self.on_host(chain) {
            Ok((target, ..)) => out.copy_from_slice(target.predictor()),
            Err(_) => out.fill(f64::NAN),
        }
    }

    fn observe(&mut self) -> bool {
        if self.centred() {
            // Centred coordinates are not learnt.
            return true;
        }
        self.observed += 1;
        let phi: Vec<f64> = self.chains.iter().flat_map(|chain| chain.phi.clone()).collect();
        self.aim(&phi);
        let weight = 1.0 / self.observed as f64;
        for (mean, chain) in self.constants.iter_mut().zip(&self.chains) {
            *mean += weight * (chain.constant - *mean);
        }
        self.motion.iter_mut().for_each(|m| m.accepted = 0);
        weigh(&mut self.motion, self.observed);
        self.state.upload_motion(&self.motion);
        let mut recording = Recording::default();
        self.block.learn(&mut recording);
        self.field.reporting(&mut recording);
        recording.submit(&self.state.gpu);
        true
    }

    fn learnt(&mut self, chain: usize, x: &mut [f64], g: &mut [f64], eta: &mut [f64]) {
        self.state.means(chain, x, g);
        let mut squares = vec![0.0; eta.len()];
        self.field.moments(chain, eta, &mut squares);
        if !self.model.reports_mean() {
            eta.iter_mut().for_each(|eta| *eta += self.constants[chain]);
        }
    }

    fn forget(&mut self) {
        self.observed = 0;
    }

    fn choose(&mut self, sites: &[usize]) -> Result<()> {
        self.draws = 0;
        self.field.choose(&self.state.motion, sites)
    }

    fn record(&mut self, draws: &mut [FieldDraws]) {
        self.draws += 1;
        let row = self.field.row();
        self.motion.iter_mut().for_each(|m| (m.accepted, m.row) = (0, row));
        weigh(&mut self.motion, self.draws);
        self.state.upload_motion(&self.motion);
        let mut recording = Recording::default();
        self.field.reporting(&mut recording);
        self.field.keeping(&mut recording);
        recording.submit(&self.state.gpu);
        if self.field.count() {
            self.field.drain(|chain, values| draws[chain].keep(values));
        }
        let mut field = Vec::new();
        for (chain, draws) in draws.iter_mut().enumerate() {
            if draws.needs_field() {
                field.resize(draws.mean().len(), 0.0);
                self.field.read(chain, &mut field);
                draws.follow(Some(&field));
            } else {
                draws.follow(None);
            }
        }
    }

    fn finish(&mut self, draws: &mut [FieldDraws]) {
        self.field.drain(|chain, values| draws[chain].keep(values));
        let sites = self.model.structure().sites();
        let (mut mean, mut squares) = (vec![0.0; sites], vec![0.0; sites]);
        for (b, draws) in draws.iter_mut().enumerate() {
            self.field.moments(b, &mut mean, &mut squares);
            draws.set_moments(self.draws, &mean, &squares);
        }
    }

    fn point(&mut self, chain: usize, z: &mut [f64], r: &mut [f64]) -> Option<Coordinates> {
        self.flush();
        self.state.read(Plane::Z, chain, z);
        self.state.read(Plane::R, chain, r);
        Some(self.chains[chain].coordinates.clone())
    }
}
