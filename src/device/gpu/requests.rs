//! Lists what was asked of the device and has not been looked at: any number of requests, one wait.

use super::latents::{Block, Evaluation};
use super::recording::Recording;
use super::state::State;
use super::{Gpu, stage::Bound};
use crate::device::{Quantity, Reading};
use crate::error::Result;
use crate::hamiltonian::{Derivatives, chain_rule};
use crate::model::{Column, MeanTerm, Model};
use std::sync::Arc;

/// A quantity that has been computed, or will be, and waits to be read.
#[derive(Default)]
struct Request {
    /// Which of the staging buffers holds its sums, and how many bytes of it.
    staging: usize,
    bytes: u64,
    phi: Vec<f64>,
    inside: Vec<bool>,
    kinetic: bool,
}

/// Requests in the order they were made, and memory for their answers, which is used again.
pub(super) struct Requests {
    gpu: Arc<Gpu>,
    /// The model of each chain.
    models: Vec<Arc<Model>>,
    /// Requests, of which only the first few are to be answered; the others keep their memory for later.
    requests: Vec<Request>,
    made: usize,
    staging: Vec<(wgpu::Buffer, u64)>,
    answer: Answer,
}

/// What to run and to read for a request.
#[derive(Default)]
pub(super) struct Plan<'a> {
    pub(super) stages: [Option<&'a Bound>; 5],
    /// Buffers of sums, and how many bytes of each.
    pub(super) sums: [Option<(&'a wgpu::Buffer, u64)>; 2],
}

impl Requests {
    pub(super) fn new(gpu: &Arc<Gpu>, models: Vec<Arc<Model>>) -> Self {
        Self {
            gpu: gpu.clone(),
            models,
            requests: Vec::new(),
            made: 0,
            staging: Vec::new(),
            answer: Answer::default(),
        }
    }

    /// Has a plan run, without waiting.
    pub(super) fn make(
        &mut self,
        plan: Plan<'_>,
        quantity: Quantity,
        phi: &[f64],
        inside: &[bool],
    ) {
        let bytes = plan.sums.iter().flatten().map(|(_, bytes)| bytes).sum();
        let staging = match self.room(bytes) {
            Ok(staging) => staging,
            Err(crate::Error::Device(error)) => return self.gpu.fail(error),
            Err(_) => return,
        };
        let mut recording = Recording::default();
        plan.stages.into_iter().flatten().for_each(|stage| {
            recording.dispatch(stage);
        });
        let mut offset = 0;
        for (buffer, bytes) in plan.sums.into_iter().flatten() {
            recording.copy(buffer, &self.staging[staging].0, [0, offset], bytes);
            offset += bytes;
        }
        recording.submit(&self.gpu);
        if self.requests.len() == self.made {
            self.requests.push(Request::default());
        }
        let request = &mut self.requests[self.made];
        (request.staging, request.bytes) = (staging, bytes);
        request.kinetic = quantity == Quantity::Kinetic;
        request.phi.clear();
        request.phi.extend_from_slice(phi);
        request.inside.clear();
        request.inside.extend_from_slice(inside);
        self.made += 1;
    }

    /// A staging buffer that no other request uses, allocated if there is none.
    fn room(&mut self, bytes: u64) -> Result<usize> {
        let made = &self.requests[..self.made];
        let free = |k: &usize| {
            self.staging[*k].1 >= bytes && made.iter().all(|request| request.staging != *k)
        };
        if let Some(k) = (0..self.staging.len()).find(free) {
            return Ok(k);
        }
        self.staging.push((self.gpu.staging("sums", bytes)?, bytes));
        Ok(self.staging.len() - 1)
    }

    /// Waits once, and hands over every answer in the order of the requests. Nothing is handed over if the device failed.
    pub(super) fn collect(
        &mut self,
        state: &State,
        block: &dyn Block,
        visit: &mut dyn FnMut(Reading<'_>),
    ) {
        let made = &self.requests[..std::mem::take(&mut self.made)];
        if made.is_empty() || self.gpu.status().is_err() {
            return;
        }
        let (staging, models, answer) = (&self.staging, &self.models, &mut self.answer);
        let buffers = made.iter().map(|request| (&staging[request.staging].0, request.bytes));
        let mut requests = made.iter();
        Recording::default().download_each(&self.gpu, buffers, |bytes| {
            if let Some(request) = requests.next() {
                answer.find(models, state, block, request, bytemuck::cast_slice(bytes));
                visit(Reading { energy: &answer.energy, by_phi: &answer.by_phi });
            }
        });
    }
}

/// An answer, and what it is made with.
#[derive(Default)]
struct Answer {
    energy: Vec<f64>,
    by_phi: Vec<f64>,
    w: Vec<f64>,
    dw: Vec<f64>,
    found: Evaluation,
    by_own: Vec<f64>,
    by_coefficients: Vec<f64>,
}

impl Answer {
    /// Turns the sums of a request into energies and gradients.
    fn find(
        &mut self,
        models: &[Arc<Model>],
        state: &State,
        block: &dyn Block,
        request: &Request,
        sums: &[[f32; 2]],
    ) {
        let chains = request.inside.len();
        let m = request.phi.len() / chains.max(1);
        refill(&mut self.energy, chains, f64::INFINITY);
        refill(&mut self.by_phi, request.phi.len(), 0.0);
        refill(&mut self.w, m, 0.0);
        refill(&mut self.dw, m, 0.0);
        for b in (0..chains).filter(|&b| request.inside[b]) {
            let (model, own) = (&models[b], b * m..(b + 1) * m);
            let phi = &request.phi[own.clone()];
            model.hyperparameters().working(phi, &mut self.w, &mut self.dw);
            let found = &mut self.found;
            found.clear();
            let by_phi = &mut self.by_phi[own];
            let density = if request.kinetic {
                if !block.read_kinetic(b, sums, found) {
                    found.potential = state.read_kinetic(b, sums);
                }
                let by_w = found.by_w.iter().zip(&self.dw);
                by_phi.iter_mut().zip(by_w).for_each(|(o, (by, dw))| *o = by * dw);
                0.0
            } else {
                let of_likelihood = model.likelihood_parameters();
                block.read(b, &self.w[..of_likelihood.start], sums, found);
                refill(&mut self.by_own, of_likelihood.len(), 0.0);
                found.potential +=
                    model.likelihood().aside(&self.w[of_likelihood], &mut self.by_own);
                self.by_own.iter_mut().zip(&found.by_own).for_each(|(by, more)| *by += more);
                by_coefficients(model, found, &mut self.by_coefficients);
                let (w, own) = (&found.by_w[..], &self.by_own[..]);
                let by = Derivatives { w, own, coefficients: &self.by_coefficients };
                chain_rule(model, phi, &self.dw, by, by_phi)
            };
            // A number that is none comes from an overflow: the point is outside what single precision reaches.
            let value = found.potential - density;
            self.energy[b] = if value.is_nan() { f64::INFINITY } else { value };
        }
    }
}

fn refill(values: &mut Vec<f64>, count: usize, value: f64) {
    values.clear();
    values.resize(count, value);
}

/// Derivatives by the coefficients of the mean's terms.
fn by_coefficients(model: &Model, found: &Evaluation, out: &mut Vec<f64>) {
    let mut effects = found.by_effects.iter();
    let by_term = |term: &MeanTerm| match term.column {
        Column::Constant => found.by_coefficient,
        Column::Values(_) => effects.next().copied().unwrap_or(0.0),
    };
    out.clear();
    out.extend(model.mean().iter().map(by_term));
}
