//! Prepares a field on a grid before the chains of a run start: its torus, and the coordinates it is sampled in.
//!
//! A few chains of its own, with seeds and settings of their own, look where the hyperparameters are, first in coordinates that assume little, then
//! in ones that were learnt from their draws; all learn from the draws of all. What is found depends on the model alone, not on the run, so
//! that a chain's draws do not depend on which others run beside it.
//!
//! - **Coordinates** are those of [`Block`](crate::coordinates::Block), learnt once more from the last window of draws.
//! - **Torus.** One twice the window's size serves every range that the model allows, but most of it lies outside the window: latents
//!   without data, which cost time. A field with a short range needs only a margin of a few ranges: the
//!   smallest torus is taken whose correlations in the window differ from the plane's by at most 0.001 at any range that is likely.

use super::found::{Found, PilotResult, Prepared};
use super::plan::{BLOCK_JITTER, BLOCK_PATH};
use super::settings::Settings;
use super::sshmc::Sshmc;
use super::state::{Keeper, Tuning};
use super::step_size::{DualAveraging, LONGEST_STEP};
use super::torus::{likely, re_embed, shrink};
use super::window::metric_of;
use crate::coordinates::{Coordinates, Fitted, learn};
use crate::device::{Device, Flow};
use crate::draws::Info;
use crate::error::{Error, Result};
use crate::hamiltonian::MassKind;
use crate::integrate::{HyperMetric, Integrator, System};
use crate::model::Model;
use crate::random::{Purpose, Stream};
use crate::structure::{Spectral, Structure};
use cpu_time::ProcessTime;
use rayon::prelude::*;
use std::sync::Arc;

/// Grids with fewer cells are fast in the usual torus.
const SMALLEST: usize = 64 * 64;
/// Number of the first of the pilot's chains: never one of a run's.
const PILOT: u32 = u32::MAX - 16;
/// Chains of the pilot.
const CHAINS: u32 = 4;
/// Transitions of each between two lessons. Of each window the first half does not count.
const WINDOWS: [u32; 3] = [40, 50, 90];
/// Most steps of a trajectory in each window.
const MOST_STEPS: [u32; 3] = [24, 48, 64];
/// Standard deviations of log σ and log ℓ that are assumed before anything is known.
const ASSUMED: [f64; 2] = [0.4, 0.6];
/// Tries to find a starting point.
const TRIES: u32 = 60;

/// Which of its findings a run wants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// A smaller torus, if one is enough.
    pub(super) torus: bool,
    /// Coordinates.
    pub(super) coordinates: bool,
}

/// Prepares a model.
pub(super) fn prepare(model: &Arc<Model>, keeper: &dyn Keeper, wanted: Wanted) -> Result<Prepared> {
    let Structure::Spectral(spectral) = model.structure() else {
        return Ok(Prepared::plain(model));
    };
    let torus = wanted.torus && spectral.torus().sites() >= SMALLEST && spectral.can_shrink();
    if !torus && !wanted.coordinates {
        return Ok(Prepared::plain(model));
    }
    let result = match keeper.recall_pilot()? {
        Some(result) => result,
        None => {
            let begun = ProcessTime::try_now().ok();
            let mut result = pilot(model, spectral, keeper, Wanted { torus, ..wanted })?;
            let taken = begun.and_then(|begun| begun.try_elapsed().ok());
            result.seconds = taken.map_or(0.0, |taken| taken.as_secs_f64());
            keeper.keep_pilot(&result)?;
            result
        }
    };
    let prepared = match result.margin {
        Some(margin) => Arc::new(re_embed(model, spectral.with_margin(margin), result.longest)),
        None => model.clone(),
    };
    let found = result.found.filter(|_| wanted.coordinates);
    Ok(Prepared { model: prepared, found, cost: result.cost, seconds: result.seconds })
}

/// Runs the pilot.
fn pilot(
    model: &Arc<Model>,
    spectral: &Spectral,
    keeper: &dyn Keeper,
    wanted: Wanted,
) -> Result<PilotResult> {
    // Half a side of margin is enough to see whether the range is short.
    let rough = match wanted.torus {
        true => Arc::new(model.embedded_in(spectral.with_margin(0.5))),
        false => model.clone(),
    };
    let (margin, longest) = (None, f64::INFINITY);
    let nothing = PilotResult { margin, longest, cost: 0, seconds: 0.0, found: None };
    let Some(mut scouts) = Scouts::new(rough)? else { return Ok(nothing) };
    let (mut margin, mut longest) = (None, f64::INFINITY);
    for (window, (&transitions, &most_steps)) in WINDOWS.iter().zip(&MOST_STEPS).enumerate() {
        scouts.run(transitions, most_steps, keeper)?;
        if wanted.torus && window == 1 {
            longest = scouts.longest();
            margin = shrink(spectral, longest);
            let settled = match margin {
                Some(margin) => model.embedded_in(spectral.with_margin(margin)),
                None => Model::clone(model),
            };
            scouts.move_to(Arc::new(settled))?;
        } else {
            scouts.learn()?;
        }
    }
    let (cost, found) = scouts.found();
    Ok(PilotResult { margin, longest, cost, seconds: 0.0, found: Some(found) })
}

/// The pilot's chains.
struct Scouts {
    model: Arc<Model>,
    chains: Vec<Scout>,
    coordinates: Coordinates,
    metric: HyperMetric,
    middle: Fitted,
    step: f64,
    /// Transitions made so far.
    made: u32,
    cost: u64,
    /// The model's φ at the draws of the last window.
    draws: Vec<Vec<f64>>,
}

/// One of them.
struct Scout {
    kernel: Sshmc,
    averaging: DualAveraging,
    draws: Vec<Vec<f64>>,
}

/// Acceptance aimed at.
const ACCEPTANCE: f64 = 0.8;

impl Scouts {
    /// Chains that know nothing yet; none if the model has no such coordinates.
    fn new(model: Arc<Model>) -> Result<Option<Self>> {
        let (mut w, mut dw) = (model.start(), model.start());
        let start = model.start();
        model.hyperparameters().working(&start, &mut w, &mut dw);
        let assumed: Vec<[f64; 2]> = [(0.0, 0.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)]
            .map(|(a, b)| {
                let root = 2.5f64.sqrt();
                [w[0] + root * ASSUMED[0] * a, w[1] + root * ASSUMED[1] * b]
            })
            .to_vec();
        let Some(learnt) = learn(&model, &assumed, None, None) else { return Ok(None) };
        let coordinates = Coordinates::Block(Arc::new(learnt.block));
        let draws: Vec<Vec<f64>> = assumed
            .iter()
            .map(|w| {
                let mut phi = start.clone();
                (0..2).for_each(|k| phi[k] = model.hyperparameters()[k].coordinate(w[k]));
                phi
            })
            .collect();
        let mut scouts = Self {
            metric: HyperMetric::diagonal(&start, &vec![1.0; start.len()]),
            middle: learnt.middle,
            chains: Vec::new(),
            step: 0.1,
            made: 0,
            cost: 0,
            coordinates,
            draws,
            model,
        };
        scouts.begin()?;
        Ok(Some(scouts))
    }

    /// The sampler's φ in the present coordinates of the draws, of which the metric is the covariance.
    fn learn_metric(&mut self) {
        let Some(block) = self.coordinates.block() else { return };
        let all = self.model.hyperparameters();
        let sampled: Vec<Vec<f64>> = self
            .draws
            .iter()
            .map(|phi| {
                let mut sampled = phi.clone();
                block.sampled(all, phi, &mut sampled);
                sampled
            })
            .collect();
        // Coefficients of the mean were standardised by what is known already.
        if let Some(metric) = metric_of(&sampled) {
            self.metric = metric;
        }
    }

    /// Starts chains afresh in the present coordinates.
    fn begin(&mut self) -> Result<()> {
        self.learn_metric();
        let each = (0..CHAINS).map(|k| {
            let kernel =
                kernel(&self.model, &self.coordinates, &self.metric, self.made, PILOT + k)?;
            Ok(Scout {
                kernel,
                averaging: DualAveraging::new(self.step, ACCEPTANCE, LONGEST_STEP),
                draws: Vec::new(),
            })
        });
        self.chains = each.collect::<Result<_>>()?;
        Ok(())
    }

    /// Makes transitions on all chains.
    fn run(&mut self, transitions: u32, most_steps: u32, keeper: &dyn Keeper) -> Result<()> {
        let (made, model) = (self.made, self.model.clone());
        self.chains.par_iter_mut().try_for_each(|scout| {
            scout.draws.clear();
            for t in 0..transitions {
                if keeper.is_stopping() {
                    return Err(Error::Stopped);
                }
                scout.transition(made + t, most_steps, t >= transitions / 2, &model);
            }
            Ok(())
        })?;
        self.made += transitions;
        self.draws = self.chains.iter().flat_map(|scout| scout.draws.iter().cloned()).collect();
        let count = self.chains.len() as f64;
        let steps = self.chains.iter().map(|scout| scout.averaging.average().ln());
        self.step = (steps.sum::<f64>() / count).exp();
        Ok(())
    }

    /// Working values of the field's hyperparameters at the draws.
    fn working(&self) -> Vec<[f64; 2]> {
        let all = self.model.hyperparameters();
        let each = self.draws.iter();
        each.map(|phi| [all[0].working(phi[0]).0, all[1].working(phi[1]).0]).collect()
    }

    /// Learns coordinates from the draws, and takes the chains there.
    fn learn(&mut self) -> Result<()> {
        let learnt = learn(&self.model, &self.working(), Some(&self.middle), None);
        let Some(learnt) = learnt else { return Ok(()) };
        self.middle = learnt.middle;
        let coordinates = Coordinates::Block(Arc::new(learnt.block));
        self.coordinates = coordinates;
        self.learn_metric();
        for scout in &mut self.chains {
            let system = &mut scout.kernel.system;
            system.latents.change(0, &self.coordinates, &mut system.phi)?;
            system.metrics[0] = self.metric.clone();
            system.evaluate();
            scout.averaging.restart(self.step);
        }
        if self.chains.iter().any(|scout| !scout.kernel.system.potential[0].is_finite()) {
            self.count();
            self.begin()?;
        }
        Ok(())
    }

    /// Takes everything to another torus.
    fn move_to(&mut self, model: Arc<Model>) -> Result<()> {
        self.count();
        self.model = model;
        if let Some(learnt) = learn(&self.model, &self.working(), None, None) {
            self.middle = learnt.middle;
            self.coordinates = Coordinates::Block(Arc::new(learnt.block));
        }
        self.begin()
    }

    /// Adds up the gradients of chains that are let go.
    fn count(&mut self) {
        self.cost += self.chains.iter().map(|s| s.kernel.system.latents.gradients(0)).sum::<u64>();
        self.chains.clear();
    }

    /// The longest range that the draws make likely.
    fn longest(&self) -> f64 {
        likely(&self.working())
    }

    /// What was found, and the gradients it took.
    fn found(mut self) -> (u64, Found) {
        self.count();
        let Self { cost, coordinates, metric, step, .. } = self;
        (cost, Found { coordinates, metric, step })
    }
}

impl Scout {
    fn transition(&mut self, t: u32, most_steps: u32, counts: bool, model: &Model) {
        let tuning = &mut self.kernel.tuning[0];
        tuning.most_steps = most_steps;
        tuning.step = self.averaging.step();
        let mut info = [Info::default()];
        self.kernel.transition(t, &mut info);
        self.averaging.update(info[0].acceptance);
        if counts {
            let system = &self.kernel.system;
            let mut phi = vec![0.0; model.hyperparameters().len()];
            system.latents.hyperparameters(0, &system.phi, &mut phi);
            self.draws.push(phi);
        }
    }
}

/// A chain at a starting point with finite density, near where hyperparameters are thought to be.
fn kernel(
    model: &Arc<Model>,
    coordinates: &Coordinates,
    metric: &HyperMetric,
    attempt: u32,
    id: u32,
) -> Result<Sshmc> {
    let (n, m) = (model.structure().dim(), metric.len());
    let seed = Settings::default().seed;
    let tuning = Tuning {
        step: 0.1,
        ratio: 1.0,
        path: BLOCK_PATH,
        jitter: BLOCK_JITTER,
        careful: 0.0,
        retry: true,
        most_steps: 64,
        steps: None,
    };
    for try_number in 0..TRIES {
        let mut noise = vec![0.0; n + m];
        let number = attempt + 1000 * try_number;
        Stream::new(seed, id, number, Purpose::Start).fill_normals(&mut noise);
        let closer = 1.0 / (1.0 + 0.2 * f64::from(try_number));
        noise.iter_mut().for_each(|x| *x *= closer);
        let mut phi = vec![0.0; m];
        metric.restore(&noise[..m], &mut phi);
        let z = noise[m..].iter().map(|x| 0.7 * x).collect();
        let latents =
            Device::cpu().latents(model, coordinates, &MassKind::Identity, seed, vec![(id, z)])?;
        let mut system = System::new(latents, vec![metric.clone()], phi);
        system.evaluate();
        if system.potential[0].is_finite() {
            let flow = Integrator::Joint(Flow::Rotation);
            return Ok(Sshmc::new(system, flow, tuning, seed, vec![id]));
        }
    }
    Err(Error::Numeric(
        "no starting point with a finite density was found; check the data for extreme values, or give priors that keep the \
         hyperparameters in a sensible range (--prior NAME=DIST)"
            .into(),
    ))
}
