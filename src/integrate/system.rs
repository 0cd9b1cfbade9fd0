//! Holds the state of a batch of trajectories and the moves integrators are made of.

use super::HyperMetric;
use crate::device::{Flow, Latents, Quantity};
use crate::numeric::inline;

/// Step sizes of each chain, for latents and for hyperparameters (in standardised units). Zero leaves a chain where it is.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    /// ε of the latents.
    pub latents: Vec<f64>,
    /// ε of the hyperparameters.
    pub hyperparameters: Vec<f64>,
}

impl Steps {
    /// No step at all of so many chains.
    pub fn zero(chains: usize) -> Self {
        Self { latents: vec![0.0; chains], hyperparameters: vec![0.0; chains] }
    }

    /// Adds half of other steps.
    fn add_half(&mut self, other: &Self) {
        inline::axpy(0.5, &other.latents, &mut self.latents);
        inline::axpy(0.5, &other.hyperparameters, &mut self.hyperparameters);
    }

    /// Sets all to zero.
    fn clear(&mut self) {
        self.latents.fill(0.0);
        self.hyperparameters.fill(0.0);
    }
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
    /// Kicks that a joint step has left to the one after it.
    owed: Steps,
    marked: Vec<f64>,
    energy: Vec<f64>,
    kinetic: Vec<f64>,
    kinetic_by_phi: Vec<f64>,
    scaled: Vec<f64>,
    halved: Vec<f64>,
    psi: Vec<f64>,
    /// What is to be done with answers the device has been asked for and not yet given.
    deferred: Vec<Deferred>,
}

/// What an answer of the device is for.
enum Deferred {
    /// A potential and its gradient.
    Evaluated,
    /// A kinetic energy: add up H.
    Total,
    /// A kinetic energy: remember H.
    Mark,
    /// A kinetic energy: book the change of H since the mark to the latent block.
    Attribute,
    /// A kinetic energy and its gradient: kick p, by these steps, with this gradient and the potential's.
    Kick(Vec<f64>),
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
            owed: Steps::zero(chains),
            marked: vec![0.0; chains],
            energy: vec![0.0; chains],
            kinetic: vec![0.0; chains],
            kinetic_by_phi: vec![0.0; phi.len()],
            scaled: vec![0.0; chains],
            halved: vec![0.0; chains],
            psi: vec![0.0; m],
            deferred: Vec::new(),
            phi,
        }
    }

    /// Evaluates U and its gradients at the current point.
    pub fn evaluate(&mut self) {
        self.settle_deferred();
        self.latents.evaluate(&self.phi, &mut self.potential, &mut self.by_phi);
    }

    /// H of each chain, from the last evaluation and the current momenta.
    pub fn energies(&mut self) -> &[f64] {
        if self.latents.defers() {
            self.defer(Quantity::Kinetic, Deferred::Total);
            self.settle_deferred();
        } else {
            self.latents.kinetic(&self.phi, &mut self.kinetic, None);
            self.add_energies();
        }
        &self.energy
    }

    /// H from potential, kinetic energy and p.
    fn add_energies(&mut self) {
        let m = self.psi.len();
        for b in 0..self.potential.len() {
            let own = self.p[b * m..(b + 1) * m].iter().map(|p| p * p).sum::<f64>();
            self.energy[b] = self.potential[b] + self.kinetic[b] + 0.5 * own;
        }
    }

    /// H of one chain as of the last [`Self::energies`].
    pub fn energy(&self, chain: usize) -> f64 {
        self.energy[chain]
    }

    /// Remembers H, for [`Self::attribute_to_latents`].
    pub(super) fn mark_energies(&mut self) {
        if self.latents.defers() {
            return self.defer(Quantity::Kinetic, Deferred::Mark);
        }
        self.energies();
        self.book(true);
    }

    /// The same as [`Self::evaluate`], but the result may be late: it is there when φ moves next, or H is asked for.
    pub(super) fn evaluate_by_and_by(&mut self) {
        if self.latents.defers() {
            return self.defer(Quantity::Potential, Deferred::Evaluated);
        }
        self.evaluate();
    }

    /// Asks the device for a quantity, and remembers what it is for.
    fn defer(&mut self, quantity: Quantity, then: Deferred) {
        self.latents.request(&self.phi, quantity);
        self.deferred.push(then);
    }

    /// Waits for everything that was asked for, and does with it what was to be done, in order.
    fn settle_deferred(&mut self) {
        if self.deferred.is_empty() {
            return;
        }
        let mut answers = Vec::with_capacity(self.deferred.len());
        self.latents.collect(&mut |reading| {
            answers.push((reading.energy.to_vec(), reading.by_phi.to_vec()));
        });
        let deferred = std::mem::take(&mut self.deferred);
        if answers.len() < deferred.len() {
            // The device has failed: no proposal may be accepted.
            self.potential.fill(f64::INFINITY);
            self.energy.fill(f64::INFINITY);
        }
        for (then, (energy, by_phi)) in deferred.into_iter().zip(answers) {
            match then {
                Deferred::Evaluated => {
                    self.potential.copy_from_slice(&energy);
                    self.by_phi.copy_from_slice(&by_phi);
                }
                Deferred::Total | Deferred::Mark | Deferred::Attribute => {
                    self.kinetic.copy_from_slice(&energy);
                    self.add_energies();
                    match then {
                        Deferred::Mark => self.book(true),
                        Deferred::Attribute => self.book(false),
                        _ => {}
                    }
                }
                Deferred::Kick(steps) => {
                    self.kinetic_by_phi.copy_from_slice(&by_phi);
                    self.kick_by(&steps, Flow::Drift, true);
                }
            }
        }
    }

    /// Remembers H, or books its change since then to the latent block.
    fn book(&mut self, mark: bool) {
        if mark {
            self.marked.copy_from_slice(&self.energy);
            return;
        }
        for b in 0..self.energy.len() {
            self.latent_error[b] += self.energy[b] - self.marked[b];
        }
    }

    /// Books the change of H since the mark to the latent block.
    pub(super) fn attribute_to_latents(&mut self) {
        if self.latents.defers() {
            return self.defer(Quantity::Kinetic, Deferred::Attribute);
        }
        self.energies();
        self.book(false);
    }

    pub(super) fn kick_latents(&mut self, steps: &Steps, share: f64, flow: Flow) {
        scale(&steps.latents, share, &mut self.scaled);
        self.latents.kick(&self.scaled, flow);
    }

    /// Half a kick, then the flow.
    pub(super) fn leap_latents(&mut self, steps: &Steps, share: f64, flow: Flow) {
        scale(&steps.latents, 0.5 * share, &mut self.halved);
        scale(&steps.latents, share, &mut self.scaled);
        self.latents.leap(&self.halved, &self.scaled, flow);
    }

    /// Kicks both blocks by half of their steps and what is owed from the step before, then lets them flow. The half kick at the
    /// new point, which has to be evaluated first, is owed.
    pub(super) fn leap(&mut self, steps: &Steps, flow: Flow) {
        let mut kicks = std::mem::take(&mut self.owed);
        kicks.add_half(steps);
        self.latents.leap(&kicks.latents, &steps.latents, flow);
        self.kick_by(&kicks.hyperparameters, flow, false);
        self.flow_hyperparameters(steps, 1.0, flow);
        kicks.clear();
        kicks.add_half(steps);
        self.owed = kicks;
    }

    /// Makes the kicks that are owed.
    pub(super) fn land(&mut self, flow: Flow) {
        let mut kicks = std::mem::take(&mut self.owed);
        self.latents.kick(&kicks.latents, flow);
        self.kick_by(&kicks.hyperparameters, flow, false);
        kicks.clear();
        self.owed = kicks;
    }

    /// Kicks p by ∂U/∂φ and, if `auxiliary`, by the gradient of the latents' kinetic energy.
    pub(super) fn kick_hyperparameters(
        &mut self,
        steps: &Steps,
        share: f64,
        flow: Flow,
        auxiliary: bool,
    ) {
        let mut scaled = std::mem::take(&mut self.scaled);
        scale(&steps.hyperparameters, share, &mut scaled);
        if auxiliary && self.latents.defers() {
            self.defer(Quantity::Kinetic, Deferred::Kick(scaled.clone()));
            self.scaled = scaled;
            return;
        }
        if auxiliary {
            let by_phi = Some(&mut self.kinetic_by_phi[..]);
            self.latents.kinetic(&self.phi, &mut self.kinetic, by_phi);
        }
        self.kick_by(&scaled, flow, auxiliary);
        self.scaled = scaled;
    }

    /// Kicks p by these steps, with the gradients that are there.
    fn kick_by(&mut self, steps: &[f64], flow: Flow, auxiliary: bool) {
        let m = self.psi.len();
        for (b, metric) in self.metrics.iter().enumerate() {
            let own = b * m..(b + 1) * m;
            let step = steps[b];
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
        self.settle_deferred();
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
