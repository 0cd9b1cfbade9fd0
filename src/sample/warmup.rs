//! Tunes a chain during warm-up: step sizes, the hyperparameters' metric and the coordinates.
//!
//! Warm-up is cut into a first stretch that only looks for the typical set, with the hyperparameters held for half of it, windows
//! that double in length, and a last stretch that only settles the step size. At the end of each window the metric becomes the
//! covariance of the window's hyperparameter draws and the coordinates' shift q the one that would have centred its latents. Nothing is
//! learnt from other chains, so a chain's draws do not depend on which others run beside it; nothing is learnt after warm-up.

use super::information::{Share, information};
use super::step_size::DualAveraging;
use super::transition::{Info, Kernel, Tuning};
use crate::coordinates::Coordinates;
use crate::error::Result;
use crate::hamiltonian::Target;
use crate::integrate::{HyperMetric, Integrator};
use crate::model::Model;
use crate::numeric::axpy;
use crate::structure::Information;
use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The largest step in the latents' time: a quarter turn and little more, beyond which small errors of the metric grow.
pub(super) const LONGEST_STEP: f64 = 1.5;

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

/// Draws over which a tilt's derivatives are averaged.
const SNAPSHOTS: usize = 4;

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
pub(crate) struct Adapter {
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

/// What an adapter has learnt so far; the rest follows from its goals.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct AdapterState {
    narrow: bool,
    latents: DualAveraging,
    hyperparameters: DualAveraging,
    draws: Vec<Vec<f64>>,
    field: Option<FieldLearner>,
}

/// Accumulates the mean latents and the mean likelihood gradient over a window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct FieldLearner {
    x: Vec<f64>,
    g: Vec<f64>,
    eta: Vec<f64>,
    mean_x: Vec<f64>,
    mean_g: Vec<f64>,
    mean_eta: Vec<f64>,
    count: f64,
    /// Draws (φ and latents) spread over the window.
    snapshots: Vec<(Vec<f64>, Vec<f64>)>,
    next: f64,
    /// Whether any point was seen at all.
    seen: bool,
    /// Whether the device keeps the means.
    on_device: bool,
}

impl FieldLearner {
    pub(super) fn new(n: usize, sites: usize) -> Self {
        Self {
            x: vec![0.0; n],
            g: vec![0.0; n],
            eta: vec![0.0; sites],
            mean_x: vec![0.0; n],
            mean_g: vec![0.0; n],
            mean_eta: vec![0.0; sites],
            count: 0.0,
            snapshots: Vec::new(),
            next: 4.0,
            seen: false,
            on_device: false,
        }
    }

    /// Adds the current point; a rejected proposal leaves the last one, which counts again.
    fn update(&mut self, kernel: &mut Kernel, chain: usize, phi: &[f64], moved: bool) {
        if self.on_device {
            self.count += 1.0;
            return;
        }
        if moved {
            kernel.system.latents.latents_and_score(chain, &mut self.x, &mut self.g);
            kernel.system.latents.predictor(chain, &mut self.eta);
            self.seen = true;
        }
        self.add(phi);
    }

    /// Adds the point a target was last evaluated at.
    pub(super) fn observe(&mut self, target: &mut Target, z: &[f64], by_z: &[f64], phi: &[f64]) {
        target.latents_and_score(z, by_z, &mut self.x, &mut self.g);
        self.eta.copy_from_slice(target.predictor());
        self.seen = true;
        self.add(phi);
    }

    /// Counts the point that was seen last.
    fn add(&mut self, phi: &[f64]) {
        if !self.seen {
            return;
        }
        self.count += 1.0;
        // Spread over the window: a new snapshot each time its length has grown by half.
        if self.count >= self.next {
            self.next = 1.5 * self.count + 4.0;
            if self.snapshots.len() >= SNAPSHOTS {
                self.snapshots.remove(0);
            }
            self.snapshots.push((phi.to_vec(), self.x.clone()));
        }
        for (mean, now) in [
            (&mut self.mean_x, &self.x),
            (&mut self.mean_g, &self.g),
            (&mut self.mean_eta, &self.eta),
        ] {
            let weight = 1.0 / self.count;
            mean.iter_mut().zip(now).for_each(|(m, x)| *m += weight * (x - *m));
        }
    }

    /// Fetches the means from where they are kept.
    fn fetch(&mut self, kernel: &mut Kernel, chain: usize) {
        if self.on_device {
            let latents = &mut kernel.system.latents;
            latents.learnt(chain, &mut self.mean_x, &mut self.mean_g, &mut self.mean_eta);
        }
    }

    /// The coordinates that would have centred the latents seen, with a share of the likelihood's information; none if none
    /// were seen.
    pub(super) fn coordinates(
        &self,
        model: &Model,
        phi: &[f64],
        share: Share,
    ) -> Option<Coordinates> {
        (self.count > 0.0).then(|| {
            let information = information(model, &self.mean_eta, phi, share);
            let shift = Some(Arc::new(self.shift(&information)));
            Coordinates::Informed { information, shift }
        })
    }

    /// q = K x̄ − ḡ, with g = −∇ log p.
    fn shift(&self, information: &Information) -> Vec<f64> {
        let mut q = information.times(&self.mean_x);
        axpy(-1.0, &self.mean_g, &mut q);
        q
    }

    pub(super) fn restart(&mut self) {
        self.next = 4.0;
        self.snapshots.clear();
        self.count = 0.0;
    }
}

impl Adapter {
    /// A tuner for `chain` of a batch.
    pub(crate) fn new(chain: usize, goals: &Goals, model: &Arc<Model>) -> Self {
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
    pub(super) fn state(&self) -> AdapterState {
        AdapterState {
            narrow: self.narrow,
            latents: self.latents.clone(),
            hyperparameters: self.hyperparameters.clone(),
            draws: self.draws.clone(),
            field: self.field.clone(),
        }
    }

    /// Goes on from what was learnt before.
    pub(super) fn restore(&mut self, state: AdapterState) {
        self.narrow = state.narrow;
        self.latents = state.latents;
        self.hyperparameters = state.hyperparameters;
        self.draws = state.draws;
        self.field = state.field;
    }

    /// Tells that the device keeps the means that coordinates are learnt from.
    pub(crate) fn rely_on_device(&mut self) {
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
    pub(crate) fn begin(&self, kernel: &mut Kernel) {
        if self.held() > 0 {
            kernel.tuning[self.chain].ratio = 0.0;
        }
    }

    /// Whether it looks at latents at all.
    pub(crate) fn learns_field(&self) -> bool {
        self.field.is_some()
    }

    /// Whether a window ends with the warm-up transition `index`.
    pub(crate) fn ends_window(&self, index: u32) -> bool {
        self.windows.contains(&(index + 1))
    }

    /// Learns from the warm-up transition `index` just made. True if the chain must be evaluated again.
    pub(crate) fn update(&mut self, index: u32, kernel: &mut Kernel, info: &Info) -> Result<bool> {
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
            field.update(kernel, self.chain, &phi, info.accepted);
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
        self.set_steps(index, kernel);
        Ok(changed)
    }

    fn set_steps(&self, index: u32, kernel: &mut Kernel) {
        let end = index + 1 >= self.last;
        let pick = |d: &DualAveraging| if end { d.average() } else { d.step() };
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
    fn learn_metric(&mut self, kernel: &mut Kernel) {
        if let Some(metric) = metric_of(&self.draws) {
            kernel.system.metrics[self.chain] = metric;
        }
        self.draws.clear();
    }

    /// The coordinates become those the window's latents suggest. True if they changed.
    fn learn_coordinates(&mut self, kernel: &mut Kernel, phi: &mut [f64]) -> Result<bool> {
        let (Some(field), Some(share)) = (&mut self.field, self.share) else { return Ok(false) };
        field.fetch(kernel, self.chain);
        let centre = kernel.system.metrics[self.chain].centre();
        let Some(coordinates) = field.coordinates(&self.model, centre, share) else {
            return Ok(false);
        };
        kernel.system.latents.change(self.chain, &coordinates, phi)?;
        Ok(true)
    }

    /// The latents learn to follow the hyperparameters.
    fn learn_tilt(&mut self, kernel: &mut Kernel, phi: &[f64]) -> bool {
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

/// The metric of draws: their covariance, drawn a little towards a small diagonal one.
pub(super) fn metric_of(draws: &[Vec<f64>]) -> Option<HyperMetric> {
    let count = draws.len() as f64;
    let m = draws.first()?.len();
    let mut mean = DVector::zeros(m);
    for draw in draws {
        mean += DVector::from_column_slice(draw) / count;
    }
    let mut covariance = DMatrix::zeros(m, m);
    for draw in draws {
        let d = DVector::from_column_slice(draw) - &mean;
        covariance += &d * d.transpose() / (count - 1.0).max(1.0);
    }
    let weight = count / (count + 5.0);
    let covariance = covariance * weight + DMatrix::identity(m, m) * (1e-3 * (1.0 - weight));
    HyperMetric::dense(mean.as_slice(), covariance)
}

/// The transitions after which windows end.
pub(super) fn windows(warmup: u32) -> Vec<u32> {
    if warmup < 40 {
        return Vec::new();
    }
    let (first, last) = (warmup * 15 / 100, warmup * 85 / 100);
    let mut ends = vec![first];
    let mut length = (warmup / 20).max(10);
    let mut end = first + length;
    while end + 2 * length <= last {
        ends.push(end);
        length *= 2;
        end += length;
    }
    ends.push(last);
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_grow_and_end_before_warm_up_does() {
        assert!(windows(20).is_empty());
        for warmup in [40, 100, 500, 1000, 10_000] {
            let ends = windows(warmup);
            assert!(ends.windows(2).all(|w| w[1] > w[0] + 5), "{ends:?}");
            assert!(*ends.last().unwrap() < warmup);
            assert!(ends[0] >= warmup / 10);
        }
    }
}
