//! What a structure's stages offer to the seam.

use super::super::Gpu;
use super::super::recording::Recording;
use super::super::requests::Plan;
use crate::model::{Column, Model};

/// What a structure has to offer: a potential and its gradients for all chains.
pub(in super::super) trait Block: Send {
    /// Moves a chain to working values w and a mean. False outside the model.
    fn aim(&mut self, gpu: &Gpu, chain: usize, w: &[f64], mean: &Mean) -> bool;

    /// Sets a chain's information κ and the first entry of its shift q.
    fn inform(&mut self, chain: usize, kappa: f32, first: f64);

    /// Sends what [`Self::aim`] and [`Self::inform`] set.
    fn upload(&self, gpu: &Gpu);

    /// What it takes to move latents, evaluate them and leave the gradient in the state.
    fn evaluation(&self) -> Plan<'_>;

    /// What the sums of an evaluation mean for a chain at working values w.
    fn read(&self, chain: usize, w: &[f64], sums: &[[f32; 2]]) -> Evaluation;

    /// What it takes to move latents and read their kinetic energy; none if their mass is one.
    fn kinetic(&self) -> Option<Plan<'_>> {
        None
    }

    /// What the sums of that mean for a chain.
    fn read_kinetic(&self, _chain: usize, _sums: &[[f32; 2]]) -> Option<Evaluation> {
        None
    }

    /// Records the stages that add the current point to the running means, at the hyperparameters last aimed at.
    fn learn<'a>(&'a self, recording: &mut Recording<'a>);
}

/// A chain's potential, less the prior of its hyperparameters, or its kinetic energy, and its derivatives.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Evaluation {
    pub(in super::super) potential: f64,
    pub(in super::super) by_w: [f64; 2],
    pub(in super::super) by_coefficient: f64,
    pub(in super::super) by_effects: [f64; MOST_COVARIATES],
}

/// Covariates a mean can have on a GPU: what a workgroup of the sites has room for.
pub const MOST_COVARIATES: usize = 6;

/// A chain's mean.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Mean {
    /// The constant part of the predictor, and what of it hyperparameters give.
    pub(in super::super) constant: f64,
    pub(in super::super) coefficient: f64,
    /// Coefficients of the covariates.
    pub(in super::super) effects: [f64; MOST_COVARIATES],
}

impl Mean {
    /// The mean of a model at all its working values.
    pub(in super::super) fn new(model: &Model, w: &[f64]) -> Self {
        let mut mean = Self::default();
        let mut covariates = 0;
        for term in model.mean() {
            let c = term.scale * w[term.hyperparameter];
            match term.column {
                Column::Constant => mean.coefficient += c,
                Column::Values(_) => {
                    mean.effects[covariates] = c;
                    covariates += 1;
                }
            }
        }
        mean.constant = model.offset() + mean.coefficient;
        mean
    }

    /// Takes one more mean into a running average, at this weight.
    pub(super) fn follow(&mut self, now: &Mean, weight: f64) {
        self.constant += weight * (now.constant - self.constant);
        for (effect, now) in self.effects.iter_mut().zip(now.effects) {
            *effect += weight * (now - *effect);
        }
    }

    /// Adds it to the predictor at the sites.
    pub(super) fn add_to(&self, model: &Model, eta: &mut [f64]) {
        eta.iter_mut().for_each(|eta| *eta += self.constant);
        let columns = model.mean().iter().filter_map(|term| match &term.column {
            Column::Constant => None,
            Column::Values(values) => Some(values),
        });
        for (values, &effect) in columns.zip(&self.effects) {
            crate::numeric::axpy(effect, values, eta);
        }
    }
}
