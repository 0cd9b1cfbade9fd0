//! Holds the state of a batch of trajectories and the moves integrators are made of.

use super::HyperMetric;
use crate::device::{Flow, Latents};

/// Step sizes of each chain, for latents and for hyperparameters (in standardised units). Zero leaves a chain where it is.
#[derive(Clone, Debug)]
pub struct Steps {
    /// ε of the latents.
    pub latents: Vec<f64>,
    /// ε of the hyperparameters.
    pub hyperparameters: Vec<f64>,
}

/// Positions, momenta, potentials and gradients of a batch of chains. Momenta p of the hyperparameters are standardised,
/// p ~ N(0, I).
pub struct System {
    /// The latent block.
    pub latents: Box<dyn Latents>,
    /// Each chain's metric.
    pub metrics: Vec<HyperMetric>,
    /// φ of each chain.
    pub phi: Vec<f64>,
    /// p of each chain.
    pub p: Vec<f64>,
    /// U of each chain at the last evaluation.
    pub potential: Vec<f64>,
    /// ∂U/∂φ of each chain at the last evaluation.
    pub by_phi: Vec<f64>,
    /// Sum over the trajectory of the energy errors made by the latent block (ABLA only).
    pub latent_error: Vec<f64>,
    marked: Vec<f64>,
    energy: Vec<f64>,
    kinetic: Vec<f64>,
    kinetic_by_phi: Vec<f64>,
    scaled: Vec<f64>,
    psi: Vec<f64>,
}

impl System {
    /// A system at φ; call [`Self::evaluate`] before the first step.
    pub fn new(latents: Box<dyn Latents>, metrics: Vec<HyperMetric>, phi: Vec<f64>) -> Self {
        let chains = latents.chains();
        let m = phi.len() / chains.max(1);
        Self {
            latents,
            metrics,
            p: vec![0.0; phi.len()],
            potential: vec![f64::INFINITY; chains],
            by_phi: vec![0.0; phi.len()],
            latent_error: vec![0.0; chains],
            marked: vec![0.0; chains],
            energy: vec![0.0; chains],
            kinetic: vec![0.0; chains],
            kinetic_by_phi: vec![0.0; phi.len()],
            scaled: vec![0.0; chains],
            psi: vec![0.0; m],
            phi,
        }
    }

    /// Evaluates U and its gradients at the current point.
    pub fn evaluate(&mut self) {
        self.latents.evaluate(&self.phi, &mut self.potential, &mut self.by_phi);
    }

    /// H of each chain, from the last evaluation and the current momenta.
    pub fn energies(&mut self) -> &[f64] {
        self.latents.kinetic(&self.phi, &mut self.kinetic, None);
        let m = self.psi.len();
        for b in 0..self.potential.len() {
            let own = self.p[b * m..(b + 1) * m].iter().map(|p| p * p).sum::<f64>();
            self.energy[b] = self.potential[b] + self.kinetic[b] + 0.5 * own;
        }
        &self.energy
    }

    /// H of one chain as of the last [`Self::energies`].
    pub fn energy(&self, chain: usize) -> f64 {
        self.energy[chain]
    }

    /// Remembers H, for [`Self::attribute_to_latents`].
    pub(super) fn mark_energies(&mut self) {
        self.energies();
        self.marked.copy_from_slice(&self.energy);
    }

    /// Books the change of H since the mark to the latent block.
    pub(super) fn attribute_to_latents(&mut self) {
        self.energies();
        for b in 0..self.energy.len() {
            self.latent_error[b] += self.energy[b] - self.marked[b];
        }
    }

    pub(super) fn kick_latents(&mut self, steps: &Steps, share: f64, flow: Flow) {
        scale(&steps.latents, share, &mut self.scaled);
        self.latents.kick(&self.scaled, flow);
    }

    pub(super) fn flow_latents(&mut self, steps: &Steps, share: f64, flow: Flow) {
        scale(&steps.latents, share, &mut self.scaled);
        self.latents.flow(&self.scaled, flow);
    }

    /// Kicks p by ∂U/∂φ and, if `auxiliary`, by the gradient of the latents' kinetic energy.
    pub(super) fn kick_hyperparameters(
        &mut self,
        steps: &Steps,
        share: f64,
        flow: Flow,
        auxiliary: bool,
    ) {
        if auxiliary {
            let by_phi = Some(&mut self.kinetic_by_phi[..]);
            self.latents.kinetic(&self.phi, &mut self.kinetic, by_phi);
        }
        let m = self.psi.len();
        for (b, metric) in self.metrics.iter().enumerate() {
            let own = b * m..(b + 1) * m;
            let step = share * steps.hyperparameters[b];
            let p = &mut self.p[own.clone()];
            metric.kick(step, &self.by_phi[own.clone()], p);
            if auxiliary {
                metric.kick(step, &self.kinetic_by_phi[own.clone()], p);
            }
            if flow == Flow::Rotation {
                metric.standardise(&self.phi[own], &mut self.psi);
                p.iter_mut().zip(&self.psi).for_each(|(p, psi)| *p += step * psi);
            }
        }
    }

    /// Moves φ along its flow: a drift, or a turn of (ψ, p).
    pub(super) fn flow_hyperparameters(&mut self, steps: &Steps, share: f64, flow: Flow) {
        let m = self.psi.len();
        for (b, metric) in self.metrics.iter().enumerate() {
            let own = b * m..(b + 1) * m;
            let step = share * steps.hyperparameters[b];
            let (phi, p) = (&mut self.phi[own.clone()], &mut self.p[own]);
            match flow {
                Flow::Drift => metric.drift(step, p, phi),
                Flow::Rotation if step != 0.0 => {
                    metric.standardise(phi, &mut self.psi);
                    let (sin, cos) = step.sin_cos();
                    for (psi, p) in self.psi.iter_mut().zip(p) {
                        (*psi, *p) = (cos * *psi + sin * *p, cos * *p - sin * *psi);
                    }
                    metric.restore(&self.psi, phi);
                }
                Flow::Rotation => {}
            }
        }
    }

    /// Turns every momentum around.
    pub fn reverse(&mut self) {
        self.latents.reverse();
        self.p.iter_mut().for_each(|p| *p = -*p);
    }
}

fn scale(x: &[f64], factor: f64, out: &mut [f64]) {
    out.iter_mut().zip(x).for_each(|(o, x)| *o = factor * x);
}
