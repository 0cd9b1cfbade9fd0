//! Lists what was asked of the device and has not been looked at: any number of requests, one wait.

use super::latents::{Evaluation, Reader};
use super::recording::Recording;
use super::{Gpu, stage::Bound};
use crate::device::Reading;
use crate::error::Result;
use crate::hamiltonian::chain_rule;
use crate::model::{Column, MeanTerm, Model};
use std::sync::Arc;

/// A quantity that has been computed, or will be, and waits to be read.
struct Request {
    /// Which of the staging buffers holds its sums, and how many bytes of it.
    staging: usize,
    bytes: u64,
    phi: Vec<f64>,
    inside: Vec<bool>,
    reader: Reader,
    /// Whether the hyperparameters' prior belongs to it: to potentials, not to kinetic energies.
    prior: bool,
}

/// Requests in the order they were made, and memory for their answers, which is used again.
pub(super) struct Requests {
    gpu: Arc<Gpu>,
    /// The model of each chain.
    models: Vec<Arc<Model>>,
    made: Vec<Request>,
    staging: Vec<(wgpu::Buffer, u64)>,
}

/// What to run and to read for a request.
pub(super) struct Plan<'a> {
    pub(super) stages: Vec<&'a Bound>,
    /// Buffers of sums, and how many bytes of each.
    pub(super) sums: Vec<(&'a wgpu::Buffer, u64)>,
    pub(super) reader: Reader,
    pub(super) prior: bool,
}

impl Requests {
    pub(super) fn new(gpu: &Arc<Gpu>, models: Vec<Arc<Model>>) -> Self {
        Self { gpu: gpu.clone(), models, made: Vec::new(), staging: Vec::new() }
    }

    /// Has a plan run, without waiting.
    pub(super) fn make(&mut self, plan: Plan<'_>, phi: &[f64], inside: Vec<bool>) {
        let bytes = plan.sums.iter().map(|(_, bytes)| bytes).sum();
        match self.room(bytes) {
            Ok(staging) => {
                let mut recording = Recording::default();
                plan.stages.iter().for_each(|stage| {
                    recording.dispatch(stage);
                });
                let mut offset = 0;
                for (buffer, bytes) in &plan.sums {
                    recording.copy(buffer, &self.staging[staging].0, [0, offset], *bytes);
                    offset += bytes;
                }
                recording.submit(&self.gpu);
                let (reader, prior) = (plan.reader, plan.prior);
                let phi = phi.to_vec();
                self.made.push(Request { staging, bytes, phi, inside, reader, prior });
            }
            Err(crate::Error::Device(error)) => self.gpu.fail(error),
            Err(_) => {}
        }
    }

    /// A staging buffer that no other request uses, allocated if there is none.
    fn room(&mut self, bytes: u64) -> Result<usize> {
        let free = |k: &usize| {
            self.staging[*k].1 >= bytes && self.made.iter().all(|request| request.staging != *k)
        };
        if let Some(k) = (0..self.staging.len()).find(free) {
            return Ok(k);
        }
        self.staging.push((self.gpu.staging("sums", bytes)?, bytes));
        Ok(self.staging.len() - 1)
    }

    /// Waits once, and hands over every answer in the order of the requests. Nothing is handed over if the device failed.
    pub(super) fn collect(&mut self, visit: &mut dyn FnMut(Reading<'_>)) {
        if self.made.is_empty() || self.gpu.status().is_err() {
            self.made.clear();
            return;
        }
        let buffers: Vec<(&wgpu::Buffer, u64)> =
            self.made.iter().map(|r| (&self.staging[r.staging].0, r.bytes)).collect();
        let mut index = 0;
        let (made, models) = (&self.made, &self.models);
        Recording::default().download(&self.gpu, &buffers, |bytes| {
            answer(models, &made[index], bytemuck::cast_slice(bytes), visit);
            index += 1;
        });
        self.made.clear();
    }
}

/// Turns the sums of a request into energies and gradients.
fn answer(
    models: &[Arc<Model>],
    request: &Request,
    sums: &[[f32; 2]],
    visit: &mut dyn FnMut(Reading<'_>),
) {
    let chains = request.inside.len();
    let m = request.phi.len() / chains;
    let mut energy = vec![f64::INFINITY; chains];
    let mut by_phi = vec![0.0; request.phi.len()];
    let (mut w, mut dw) = (vec![0.0; m], vec![0.0; m]);
    for b in (0..chains).filter(|&b| request.inside[b]) {
        let (model, own) = (&models[b], b * m..(b + 1) * m);
        let Evaluation { potential, by_w, by_coefficient, by_effects } = (request.reader)(b, sums);
        let phi = &request.phi[own.clone()];
        model.hyperparameters().working(phi, &mut w, &mut dw);
        let by_w = &by_w[..model.structure().parameters()];
        let by_phi = &mut by_phi[own];
        let density = if request.prior {
            let mut by_effects = by_effects.iter();
            let by_term = |term: &MeanTerm| match term.column {
                Column::Constant => by_coefficient,
                Column::Values(_) => by_effects.next().copied().unwrap_or(0.0),
            };
            let by_c: Vec<f64> = model.mean().iter().map(by_term).collect();
            chain_rule(model, phi, &dw, by_w, &by_c, by_phi)
        } else {
            by_phi.iter_mut().zip(by_w).zip(&dw).for_each(|((o, by_w), dw)| *o = by_w * dw);
            0.0
        };
        // A number that is none comes from an overflow: the point is outside what single precision reaches.
        let value = potential - density;
        energy[b] = if value.is_nan() { f64::INFINITY } else { value };
    }
    visit(Reading { energy: &energy, by_phi: &by_phi });
}
