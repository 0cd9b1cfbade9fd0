//! Tunes chains of the sampler proper during warm-up: step sizes, the hyperparameters' metric and the coordinates.
//!
//! Warm-up is cut into a first stretch that only looks for the typical set, with the hyperparameters held for half of it, windows
//! that double in length, and a last stretch that only settles the step size. At the end of each window the metric becomes the
//! covariance of the window's hyperparameter draws and the coordinates' shift q the one that would have centred its latents. Nothing is
//! learnt from other chains, so a chain's draws do not depend on which others run beside it; nothing is learnt after warm-up.

use super::information::Share;
use super::learner::FieldLearner;
use super::sshmc::Sshmc;
use super::state::{AdapterState, ChainState, Tuning, Window};
use super::step_size::{DualAveraging, LONGEST_STEP};
use super::transition::{Adapter, Transition};
use super::window::{metric_of, windows};
use crate::draws::Info;
use crate::error::{Error, Result};
use crate::integrate::Integrator;
use crate::model::Model;
use std::sync::Arc;

/// Standard deviation, on the unconstrained scale, up to which a hyperparameter's posterior counts as narrow: within twice
/// that either way a field's stiffness changes by less than a factor of about five.
const NARROW: f64 = 0.4;
/// Most steps of a trajectory before the first window ends, and before the last begins.
const EARLY_STEPS: u32 = 32;
const LEARNING_STEPS: u32 = 64;
/// Share of careful trajectories where it is narrow.
const CAREFUL: f64 = 0.04;
/// And where it is wide, and stiffness varies along it.
const CAREFUL_WIDE: f64 = 0.15;
/// Acceptance aimed at there at least: a step that is just stable at the centre is unstable where the field is stiffer.
const ACCEPTANCE_WIDE: f64 = 0.92;

/// What warm-up is to reach, and from where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goals {
    /// Number of transitions.
    pub(crate) warmup: u32,
    /// Where tuning starts.
    pub(crate) start: Tuning,
    /// The acceptance probability step sizes aim at.
    pub(crate) acceptance: f64,
    /// Whether latents and hyperparameters have step sizes of their own.
    pub(crate) blocks: bool,
    /// The share of the likelihood's information that coordinates learn; none if they are fixed.
    pub(crate) share: Option<Share>,
    /// Whether the hyperparameters' metric is learnt; not where it is known already.
    pub(crate) metric: bool,
    /// Whether latents learn to follow the hyperparameters.
    pub(crate) tilt: bool,
}

/// Learns one chain's tuning.
struct Tuner {
    chain: usize,
    model: Arc<Model>,
    share: Option<Share>,
    tilt: bool,
    speed: f64,
    target: f64,
    most_steps: u32,
    /// Whether trajectories have a fixed number of steps, as a method that is compared has.
    fixed: bool,
    /// Whether the hyperparameters' posterior is narrow enough for what was learnt at its centre to hold throughout.
    narrow: bool,
    windows: Vec<u32>,
    last: u32,
    latents: DualAveraging,
    hyperparameters: DualAveraging,
    draws: Vec<Vec<f64>>,
    field: Option<FieldLearner>,
}

impl Tuner {
    /// A tuner for `chain` of a batch.
    fn new(chain: usize, goals: &Goals, model: &Arc<Model>) -> Self {
        let structure = model.structure();
        let target = if goals.blocks { goals.acceptance.sqrt() } else { goals.acceptance };
        let averaging = DualAveraging::new(goals.start.step, target, LONGEST_STEP);
        Self {
            chain,
            model: model.clone(),
            share: goals.share,
            tilt: goals.tilt,
            speed: goals.start.ratio,
            target,
            most_steps: goals.start.most_steps,
            fixed: goals.start.steps.is_some(),
            narrow: true,
            windows: if goals.metric { windows(goals.warmup) } else { Vec::new() },
            last: goals.warmup,
            latents: averaging.clone(),
            hyperparameters: averaging,
            draws: Vec::new(),
            field: (goals.share.is_some() || goals.tilt)
                .then(|| FieldLearner::new(structure.dim(), structure.sites())),
        }
    }

    /// What it has learnt so far.
    fn state(&self) -> AdapterState {
        AdapterState {
            steps: [self.latents.clone(), self.hyperparameters.clone()],
            field: self.field.clone(),
            window: Window::Draws { draws: self.draws.clone(), narrow: self.narrow },
        }
    }

    /// Goes on from what was learnt before.
    fn restore(&mut self, state: AdapterState) -> Result<()> {
        let Window::Draws { draws, narrow } = state.window else {
            return Err(Error::Numeric("what was learnt is of another method".into()));
        };
        (self.draws, self.narrow, self.field) = (draws, narrow, state.field);
        [self.latents, self.hyperparameters] = state.steps;
        Ok(())
    }

    /// Tells that the device keeps the means that coordinates are learnt from.
    fn rely_on_device(&mut self) {
        if let Some(field) = &mut self.field {
            field.on_device = true;
        }
    }

    /// Transitions at the beginning that hold the hyperparameters where they are: latents that are far from where they belong would
    /// drag them along, on a large map so far that they do not find back.
    fn held(&self) -> u32 {
        match self.windows[..] {
            [first, ..] if !self.fixed => first / 2,
            _ => 0,
        }
    }

    /// Prepares the first transition.
    fn begin(&self, kernel: &mut Sshmc) {
        if self.held() > 0 {
            kernel.tuning[self.chain].ratio = 0.0;
        }
    }

    /// Whether it looks at latents at all.
    fn learns_field(&self) -> bool {
        self.field.is_some()
    }

    /// Whether a window ends with the warm-up transition `index`.
    fn ends_window(&self, index: u32) -> bool {
        self.windows.contains(&(index + 1))
    }

    /// Learns from the warm-up transition `index` just made. True if the chain must be evaluated again.
    fn update(&mut self, index: u32, kernel: &mut Sshmc, info: &Info) -> Result<bool> {
        let m = kernel.system.metrics[self.chain].len();
        let mut phi = kernel.system.phi[self.chain * m..(self.chain + 1) * m].to_vec();
        if let Integrator::Abla { .. } = kernel.integrator {
            // Each block answers for its own energy error, but the two can also add up: neither may look better than an equal
            // share of the whole.
            let share = info.acceptance.sqrt();
            self.latents.update(info.block_acceptance[0].min(share));
            if index >= self.held() {
                self.hyperparameters.update(info.block_acceptance[1].min(share));
            }
        } else {
            self.latents.update(info.acceptance);
        }
        if let Some(field) = &mut self.field {
            field.update(&mut *kernel.system.latents, self.chain, &phi, info.accepted);
        }
        if index >= self.held() {
            self.draws.push(phi.clone());
        }
        let mut changed = false;
        if self.ends_window(index) {
            self.learn_metric(kernel);
            self.narrow = kernel.system.metrics[self.chain].scales().iter().all(|&s| s < NARROW);
            changed = self.learn_coordinates(kernel, &mut phi)?;
            changed |= self.learn_tilt(kernel, &phi);
            if let Some(field) = &mut self.field {
                field.restart();
            }
            self.latents.aim(if self.narrow || self.fixed {
                self.target
            } else {
                self.target.max(ACCEPTANCE_WIDE)
            });
            self.latents.restart(self.latents.average());
            self.hyperparameters.restart(self.hyperparameters.average());
        }
        self.set_steps(index, kernel, DualAveraging::step);
        Ok(changed)
    }

    /// Sets what the transition after `index` takes; `pick` says which step size.
    fn set_steps(&self, index: u32, kernel: &mut Sshmc, pick: fn(&DualAveraging) -> f64) {
        let abla = matches!(kernel.integrator, Integrator::Abla { .. });
        let tuning = &mut kernel.tuning[self.chain];
        tuning.step = pick(&self.latents);
        tuning.ratio = match (abla, self.narrow) {
            _ if index + 1 < self.held() => 0.0,
            (true, _) => pick(&self.hyperparameters) / tuning.step,
            (false, true) => self.speed,
            (false, false) => self.speed.min(1.0),
        };
        // On the way to the typical set, and in coordinates learnt on that way, step sizes can be tiny; long trajectories would be wasted.
        let most = match self.windows[..] {
            [first, ..] if index + 1 < first => EARLY_STEPS,
            [.., before, _] if index + 1 < before => LEARNING_STEPS,
            _ => self.most_steps,
        };
        tuning.most_steps = most.min(self.most_steps);
        tuning.careful = match (tuning.retry, self.narrow) {
            (true, _) => 0.0,
            (false, true) => CAREFUL,
            (false, false) => CAREFUL_WIDE,
        };
    }

    /// The metric becomes the covariance of the window's draws.
    fn learn_metric(&mut self, kernel: &mut Sshmc) {
        if let Some(metric) = metric_of(&self.draws) {
            kernel.system.metrics[self.chain] = metric;
        }
        self.draws.clear();
    }

    /// The coordinates become those the window's latents suggest. True if they changed.
    fn learn_coordinates(&mut self, kernel: &mut Sshmc, phi: &mut [f64]) -> Result<bool> {
        let (Some(field), Some(share)) = (&mut self.field, self.share) else { return Ok(false) };
        field.fetch(&mut *kernel.system.latents, self.chain);
        let centre = kernel.system.metrics[self.chain].centre();
        let Some(coordinates) = field.coordinates(&self.model, centre, share) else {
            return Ok(false);
        };
        kernel.system.latents.change(self.chain, &coordinates, phi)?;
        Ok(true)
    }

    /// The latents learn to follow the hyperparameters.
    fn learn_tilt(&mut self, kernel: &mut Sshmc, phi: &[f64]) -> bool {
        let Some(field) = &self.field else { return false };
        if !self.tilt || field.snapshots.is_empty() {
            return false;
        }
        let metric = &kernel.system.metrics[self.chain];
        let draws = if self.narrow { &field.snapshots[..] } else { &[] };
        kernel.system.latents.lean(self.chain, metric.centre(), &metric.scales(), draws, phi);
        true
    }
}

/// Tunes every chain of a batch.
pub(super) struct SshmcAdapter {
    tuners: Vec<Tuner>,
}

impl SshmcAdapter {
    /// For chains whose goals and models come in the order of the batch.
    pub(super) fn new<'a>(chains: impl Iterator<Item = (Goals, &'a Arc<Model>)>) -> Self {
        let tuner =
            |(b, (goals, model)): (usize, (Goals, &Arc<Model>))| Tuner::new(b, &goals, model);
        Self { tuners: chains.enumerate().map(tuner).collect() }
    }
}

impl Adapter<Sshmc> for SshmcAdapter {
    fn begin(&mut self, kernel: &mut Sshmc) {
        self.tuners.iter().for_each(|tuner| tuner.begin(kernel));
    }

    fn update(&mut self, index: u32, kernel: &mut Sshmc, info: &[Info]) -> Result<()> {
        let looking = self.tuners.iter().any(Tuner::learns_field);
        if looking && kernel.system.latents.observe() {
            self.tuners.iter_mut().for_each(Tuner::rely_on_device);
        }
        let ends = self.tuners.first().is_some_and(|tuner| tuner.ends_window(index));
        let before = match ends && looking {
            true => (0..info.len()).map(|b| kernel.snapshot(b)).collect::<Result<_>>()?,
            false => Vec::new(),
        };
        let mut changed = false;
        for (tuner, info) in self.tuners.iter_mut().zip(info) {
            changed |= tuner.update(index, kernel, info)?;
        }
        if ends {
            kernel.system.latents.forget();
        }
        if changed {
            kernel.system.evaluate();
            keep_finite(kernel, &before)?;
        }
        Ok(())
    }

    fn finish(&mut self, kernel: &mut Sshmc) {
        for tuner in &self.tuners {
            tuner.set_steps(tuner.last.saturating_sub(1), kernel, DualAveraging::average);
        }
    }

    fn state(&self) -> Vec<AdapterState> {
        self.tuners.iter().map(Tuner::state).collect()
    }

    fn restore(&mut self, states: Vec<AdapterState>) -> Result<()> {
        let mut each = self.tuners.iter_mut().zip(states);
        each.try_for_each(|(tuner, state)| tuner.restore(state))
    }
}

/// A change of coordinates keeps the latents, so the density there is still finite, but for rounding where data are extreme: a
/// chain to which that happens keeps the coordinates it had.
fn keep_finite(kernel: &mut Sshmc, before: &[ChainState]) -> Result<()> {
    for b in 0..kernel.ids.len() {
        if kernel.system.potential[b].is_finite() {
            continue;
        }
        if let Some(state) = before.get(b) {
            kernel.restore(b, state)?;
        }
        if !kernel.system.potential[b].is_finite() {
            return Err(Error::Numeric(format!(
                "chain {} lost its place when its coordinates were learnt; try --coordinates whitened or another --seed",
                kernel.ids[b]
            )));
        }
    }
    Ok(())
}
