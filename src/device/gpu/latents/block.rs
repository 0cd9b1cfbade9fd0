//! What a structure's stages offer to the seam.

use super::super::Gpu;
use super::super::recording::Recording;
use super::super::requests::Plan;
use crate::model::{Column, Model};

/// What a structure has to offer: a potential and its gradients for all chains.
pub(in super::super) trait Block: Send {
    /// Moves a chain to other hyperparameters. False outside the model.
    fn aim(&mut self, gpu: &Gpu, chain: usize, to: Aim<'_>) -> bool;

    /// Sets a chain's information κ and the first entry of its shift q.
    fn inform(&mut self, chain: usize, kappa: f32, first: f64);

    /// Sends what [`Self::aim`] and [`Self::inform`] set.
    fn upload(&mut self, gpu: &Gpu);

    /// What it takes to move latents, evaluate them and leave the gradient in the state.
    fn evaluation(&self) -> Plan<'_>;

    /// Finds what the sums of an evaluation mean for a chain at working values w of the structure's hyperparameters.
    fn read(&self, chain: usize, w: &[f64], sums: &[[f32; 2]], found: &mut Evaluation);

    /// What it takes to move latents and read their kinetic energy; none if their mass is one.
    fn kinetic(&self) -> Option<Plan<'_>> {
        None
    }

    /// Finds what the sums of that mean for a chain; false if there is no such thing.
    fn read_kinetic(&self, _chain: usize, _sums: &[[f32; 2]], _found: &mut Evaluation) -> bool {
        false
    }

    /// Records the stages that add the current point to the running means, at the hyperparameters last aimed at.
    fn learn<'a>(&'a self, recording: &mut Recording<'a>);
}

/// A chain's potential, less the prior of its hyperparameters and what the likelihood leaves to the host, or its kinetic energy, and
/// its derivatives. Its memory is used again.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Evaluation {
    pub(in super::super) potential: f64,
    /// In the structure's working values.
    pub(in super::super) by_w: Vec<f64>,
    /// In what the likelihood has of its own.
    pub(in super::super) by_own: Vec<f64>,
    /// In the coefficient of the constant.
    pub(in super::super) by_coefficient: f64,
    /// In the coefficients of the covariates.
    pub(in super::super) by_effects: Vec<f64>,
}

impl Evaluation {
    /// Forgets what was found before.
    pub(in super::super) fn clear(&mut self) {
        (self.potential, self.by_coefficient) = (0.0, 0.0);
        for by in [&mut self.by_w, &mut self.by_own, &mut self.by_effects] {
            by.clear();
        }
    }
}

/// Where a chain is moved to.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Aim<'a> {
    /// The structure's working values.
    pub(in super::super) w: &'a [f64],
    /// The likelihood's own.
    pub(in super::super) own: &'a [f64],
    pub(in super::super) mean: &'a Mean,
}

/// Covariates of a mean and hyperparameters of a likelihood that there is room for on a GPU: each is a sum of its own, a workgroup of at
/// least 64 invocations writes one sum with each, and seven are taken.
pub const MOST_COVARIATES: usize = 57;

/// A chain's mean.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Mean {
    /// The constant part of the predictor, and what of it hyperparameters give.
    pub(in super::super) constant: f64,
    pub(in super::super) coefficient: f64,
    /// Coefficients of the covariates.
    pub(in super::super) effects: Vec<f64>,
}

impl Mean {
    /// Becomes the mean of a model at all its working values.
    pub(in super::super) fn set(&mut self, model: &Model, w: &[f64]) {
        self.coefficient = 0.0;
        self.effects.clear();
        for term in model.mean() {
            let c = term.scale * w[term.hyperparameter];
            match term.column {
                Column::Constant => self.coefficient += c,
                Column::Values(_) => self.effects.push(c),
            }
        }
        self.constant = model.offset() + self.coefficient;
    }

    /// Takes one more mean into a running average, at this weight.
    pub(super) fn follow(&mut self, now: &Mean, weight: f64) {
        self.constant += weight * (now.constant - self.constant);
        self.effects.resize(now.effects.len(), 0.0);
        for (effect, now) in self.effects.iter_mut().zip(&now.effects) {
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
