//! What a structure's stages offer to the seam.

use super::super::Gpu;
use super::super::recording::Recording;
use super::super::requests::Plan;

/// What a structure has to offer: a potential and its gradients for all chains.
pub(in super::super) trait Block: Send {
    /// Moves a chain to working values w, the constant part of the predictor, and the coefficient of the constant column in it.
    /// False outside the model.
    fn aim(&mut self, gpu: &Gpu, chain: usize, w: &[f64], constant: f64, coefficient: f64) -> bool;

    /// Sets a chain's information κ and the first entry of its shift q.
    fn inform(&mut self, chain: usize, kappa: f32, first: f64);

    /// Sends what [`Self::aim`] and [`Self::inform`] set.
    fn upload(&self, gpu: &Gpu);

    /// What it takes to move latents, evaluate them and leave the gradient in the state.
    fn evaluation(&self) -> Plan<'_>;

    /// What it takes to move latents and read their kinetic energy; none if their mass is one.
    fn kinetic(&self) -> Option<Plan<'_>> {
        None
    }

    /// Records the stages that add the current point to the running means, at the hyperparameters last aimed at.
    fn learn<'a>(&'a self, recording: &mut Recording<'a>);
}

/// Says what a request's sums mean for a chain.
pub(in super::super) type Reader = Box<dyn Fn(usize, &[[f32; 2]]) -> Evaluation + Send>;

/// A chain's potential, less the prior of its hyperparameters, or its kinetic energy, and its derivatives.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Evaluation {
    pub(in super::super) potential: f64,
    pub(in super::super) by_w: [f64; 2],
    pub(in super::super) by_coefficient: f64,
}
