//! Makes one Markov transition on every chain of a batch: fresh momenta, a trajectory, and Metropolis on the joint H.

use super::state::{ChainState, Tuned, Tuning};
use super::transition::{Transition, Watch};
use crate::baseline::shortened;
use crate::device::Record;
use crate::draws::{DIVERGENT, Info};
use crate::error::Result;
use crate::integrate::{Integrator, Steps, System};
use crate::random::{Purpose, Stream};
use std::ops::Range;

/// Careful trajectories take steps this much smaller, and go as much less far: where the posterior is stiffer than where the
/// step size was learnt, a chain would otherwise sit still for long.
const CAREFUL_STEP: f64 = 0.35;

/// A batch of chains with their tuning.
pub struct Sshmc {
    /// Positions and momenta.
    pub system: System,
    /// How trajectories are made.
    pub integrator: Integrator,
    /// Tuning of each chain.
    pub tuning: Vec<Tuning>,
    pub(super) seed: u64,
    pub(super) ids: Vec<u32>,
    steps: Steps,
    pub(super) counts: Vec<u32>,
    pub(super) sizes: Vec<f64>,
    pub(super) saved: Saved,
    /// Whether the device has room for a second point to come back to, and φ there.
    pub(super) two_points: bool,
    pub(super) second_phi: Vec<f64>,
    accepted: Vec<bool>,
}

pub(super) struct Saved {
    phi: Vec<f64>,
    potential: Vec<f64>,
    by_phi: Vec<f64>,
    energy: Vec<f64>,
}

impl Saved {
    /// Takes the hyperparameters of a chain, which are at `own`, back.
    pub(super) fn give_back(&self, system: &mut System, own: Range<usize>, chain: usize) {
        system.phi[own.clone()].copy_from_slice(&self.phi[own.clone()]);
        system.by_phi[own.clone()].copy_from_slice(&self.by_phi[own]);
        system.potential[chain] = self.potential[chain];
    }
}

impl Sshmc {
    /// Chains `ids` of the run with this seed.
    pub fn new(
        mut system: System,
        integrator: Integrator,
        tuning: Tuning,
        seed: u64,
        ids: Vec<u32>,
    ) -> Self {
        let (b, m) = (ids.len(), system.phi.len());
        Self {
            two_points: tuning.retry && system.latents.make_room_aside(),
            second_phi: system.phi.clone(),
            system,
            integrator,
            tuning: vec![tuning; b],
            seed,
            ids,
            steps: Steps::zero(b),
            counts: vec![0; b],
            sizes: vec![0.0; b],
            saved: Saved {
                phi: vec![0.0; m],
                potential: vec![0.0; b],
                by_phi: vec![0.0; m],
                energy: vec![0.0; b],
            },
            accepted: vec![false; b],
        }
    }

    /// Makes transition number `transition`.
    pub fn transition(&mut self, transition: u32, info: &mut [Info]) {
        self.refresh(transition);
        self.travel(transition);
        self.decide(transition, info);
        if let [info] = info {
            self.retry_if_lost(transition, info);
        }
    }

    /// Follows every chain's trajectory.
    pub(super) fn travel(&mut self, transition: u32) {
        self.plan(transition);
        self.follow();
    }

    /// Makes the steps that are planned.
    pub(super) fn follow(&mut self) {
        let longest = self.counts.iter().copied().max().unwrap_or(0);
        let Self { system, integrator, tuning, steps, counts, sizes, .. } = self;
        integrator.travel(system, steps, longest, |step, system, steps| {
            for (b, tuning) in tuning.iter().enumerate() {
                // Zero for chains whose trajectory is over or lost.
                let moving = step < counts[b] && system.potential[b].is_finite();
                steps.latents[b] = if moving { sizes[b] } else { 0.0 };
                steps.hyperparameters[b] = steps.latents[b] * tuning.ratio;
            }
        });
    }

    /// Draws momenta and saves the point to come back to.
    pub(super) fn refresh(&mut self, transition: u32) {
        self.draw_momenta(transition);
        let system = &mut self.system;
        system.latents.save();
        system.latent_error.fill(0.0);
        self.saved.phi.copy_from_slice(&system.phi);
        self.saved.potential.copy_from_slice(&system.potential);
        self.saved.by_phi.copy_from_slice(&system.by_phi);
        self.saved.energy.copy_from_slice(system.energies());
    }

    /// Draws momenta, the same whenever it is asked for those of a transition.
    pub(super) fn draw_momenta(&mut self, transition: u32) {
        let system = &mut self.system;
        system.latents.refresh(transition, &system.phi);
        let m = system.phi.len() / self.ids.len();
        for (&id, p) in self.ids.iter().zip(system.p.chunks_exact_mut(m)) {
            Stream::new(self.seed, id, transition, Purpose::Hyper).fill_normals(p);
        }
    }

    /// H of a chain at the start of the trajectory.
    pub(super) fn energy_before(&self, chain: usize) -> f64 {
        self.saved.energy[chain]
    }

    /// Chooses each chain's number of steps, and their size: what the length asks for, but never above the tuned one.
    fn plan(&mut self, transition: u32) {
        for (b, (tuning, &id)) in self.tuning.iter().zip(&self.ids).enumerate() {
            let stream = Stream::new(self.seed, id, transition, Purpose::Jitter);
            let u = stream.uniform(0);
            let length = tuning.path * (1.0 + tuning.jitter * (2.0 * u - 1.0));
            if let Some(steps) = tuning.steps {
                self.counts[b] = steps;
                self.sizes[b] = shortened(tuning.step, tuning.jitter, u);
                continue;
            }
            let count = (length / tuning.step).round();
            self.counts[b] = (count.max(1.0) as u32).min(tuning.most_steps);
            self.sizes[b] = tuning.step.min(length / f64::from(self.counts[b]));
            if stream.uniform(1) < tuning.careful {
                self.sizes[b] *= CAREFUL_STEP;
            }
        }
    }

    /// Metropolis on H.
    pub(super) fn decide(&mut self, transition: u32, info: &mut [Info]) {
        let system = &mut self.system;
        system.energies();
        let m = system.phi.len() / self.ids.len();
        for (b, info) in info.iter_mut().enumerate() {
            let error = system.energy(b) - self.saved.energy[b];
            let error = if error.is_nan() { f64::INFINITY } else { error };
            let u = Stream::new(self.seed, self.ids[b], transition, Purpose::Accept).uniform(0);
            let latent = system.latent_error[b];
            *info = Info {
                accepted: u < (-error).exp(),
                acceptance: (-error).exp().min(1.0),
                block_acceptance: [(-latent).exp().min(1.0), (latent - error).exp().min(1.0)],
                energy: self.saved.energy[b],
                steps: self.counts[b],
                divergent: error > DIVERGENT,
            };
            self.accepted[b] = info.accepted;
            if !info.accepted {
                self.saved.give_back(system, b * m..(b + 1) * m, b);
            }
        }
        system.latents.settle(&self.accepted);
    }
}

impl Transition for Sshmc {
    fn step(
        &mut self,
        transition: u32,
        watch: Option<&mut dyn Watch>,
        info: &mut [Info],
    ) -> Result<()> {
        let Some(watch) = watch else {
            self.transition(transition, info);
            return Ok(());
        };
        self.refresh(transition);
        watch.look(&mut self.system)?;
        self.travel(transition);
        watch.look(&mut self.system)?;
        self.decide(transition, info);
        Ok(())
    }

    fn status(&self) -> Result<()> {
        self.system.latents.status()
    }

    fn hyperparameters(&self, chain: usize, phi: &mut [f64]) {
        let (system, m) = (&self.system, phi.len());
        system.latents.hyperparameters(chain, &system.phi[chain * m..(chain + 1) * m], phi);
    }

    fn step_size(&self, chain: usize) -> f64 {
        self.tuning[chain].step
    }

    fn gradients(&self, chain: usize) -> u64 {
        self.system.latents.gradients(chain)
    }

    fn recorder(&mut self) -> &mut dyn Record {
        &mut *self.system.latents
    }

    fn snapshot(&mut self, chain: usize) -> Result<ChainState> {
        let system = &mut self.system;
        let m = system.phi.len() / self.ids.len();
        let own = chain * m..(chain + 1) * m;
        Ok(ChainState {
            latents: system.latents.snapshot(chain)?,
            phi: system.phi[own.clone()].to_vec(),
            by_phi: system.by_phi[own].to_vec(),
            potential: system.potential[chain],
            tuned: Tuned::Sshmc {
                metric: system.metrics[chain].clone(),
                tuning: self.tuning[chain],
            },
        })
    }

    fn restore(&mut self, chain: usize, state: &ChainState) -> Result<()> {
        let Tuned::Sshmc { metric, tuning } = &state.tuned else { return Err(state.of_another()) };
        let system = &mut self.system;
        let m = system.phi.len() / self.ids.len();
        let own = chain * m..(chain + 1) * m;
        system.phi[own.clone()].copy_from_slice(&state.phi);
        system.by_phi[own].copy_from_slice(&state.by_phi);
        system.potential[chain] = state.potential;
        system.metrics[chain] = metric.clone();
        self.tuning[chain] = *tuning;
        system.latents.restore(chain, &state.latents, &state.phi)
    }
}
