//! Does what a sampler asks for through the seam of [`Latents`](crate::device::Latents).

use super::super::field::{Moments, weigh};
use super::super::recording::Recording;
use super::super::state::Plane;
use super::GpuLatents;
use super::supported;
use crate::coordinates::Coordinates;
use crate::device::{Flow, Keep, LatentState, Learn, Move, Quantity, Reading, Record};
use crate::draws::{FieldDraws, FieldPlan};
use crate::error::Result;

impl Move for GpuLatents {
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
        if potential || self.centred() {
            self.aim(phi);
        } else {
            self.inside.fill(true);
        }
        self.state.upload_motion(&self.motion);
        let plan = match quantity {
            Quantity::Potential => self.block.evaluation(),
            Quantity::Kinetic => self.block.kinetic().unwrap_or_else(|| self.state.kinetic()),
        };
        self.requests.make(plan, quantity, phi, &self.inside);
        self.rest();
        if potential {
            for chain in &mut self.chains {
                chain.gradients += 1;
                chain.fresh = true;
            }
        }
    }

    fn collect(&mut self, visit: &mut dyn FnMut(Reading<'_>)) {
        self.requests.collect(&self.state, &*self.block, visit);
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
        self.chains.iter_mut().for_each(|chain| chain.saved_phi.copy_from_slice(&chain.phi));
        self.report_fresh();
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
}

impl Learn for GpuLatents {
    fn change(&mut self, chain: usize, coordinates: &Coordinates, phi: &mut [f64]) -> Result<()> {
        supported(&self.chains[chain].model, coordinates, &self.mass)?;
        self.chains[chain].phi.copy_from_slice(phi);
        let (mut target, mut z, _) = self.on_host(chain)?;
        self.adopt(chain, coordinates);
        target.change(&self.chains[chain].coordinates, phi, &mut z)?;
        self.state.write(Plane::Z, chain, &z);
        self.chains[chain].fresh = false;
        Ok(())
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
        for (mean, chain) in self.observed_means.iter_mut().zip(&self.chains) {
            mean.follow(&chain.mean, weight);
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
        let sums = self.field.sums(chain, eta.len());
        eta.copy_from_slice(&Moments::of_field(&sums, self.observed).mean);
        let model = &self.chains[chain].model;
        if !model.reports_mean() {
            self.observed_means[chain].add_to(model, eta);
        }
    }

    fn forget(&mut self) {
        self.observed = 0;
    }
}

impl Record for GpuLatents {
    fn field(&mut self, chain: usize, out: &mut [f64]) {
        self.field.read(chain, out);
    }

    fn choose(&mut self, plans: &[&FieldPlan]) -> Result<()> {
        self.draws = 0;
        self.field.choose(&self.state.motion, plans)
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
            self.field.drain(draws);
        }
        self.field.follow(draws);
    }

    fn finish(&mut self, draws: &mut [FieldDraws]) {
        self.field.drain(draws);
        for (b, draws) in draws.iter_mut().enumerate() {
            let sums = self.field.sums(b, self.chains[b].model.structure().sites());
            let Moments { mean, squares } = Moments::of_field(&sums, self.draws);
            draws.set_moments(self.draws, mean, squares);
            let followed = !sums.exponential.is_empty();
            if let Some(exponential) = draws.exponential_mut().filter(|_| followed) {
                let Moments { mean, squares } = Moments::of_exponential(&sums, self.draws);
                exponential.set(self.draws, mean, squares, &sums.above);
            }
        }
    }

    fn deliver(&mut self, draws: &mut [FieldDraws]) {
        self.field.drain(draws);
    }
}

impl Keep for GpuLatents {
    fn snapshot(&mut self, chain: usize) -> Result<LatentState> {
        self.state_of(chain)
    }

    fn restore(&mut self, chain: usize, state: &LatentState, phi: &[f64]) -> Result<()> {
        self.put(chain, state, phi)
    }

    fn point(&mut self, chain: usize, z: &mut [f64], r: &mut [f64]) -> Option<Coordinates> {
        self.flush();
        self.state.read(Plane::Z, chain, z);
        self.state.read(Plane::R, chain, r);
        Some(self.chains[chain].coordinates.clone())
    }
}
