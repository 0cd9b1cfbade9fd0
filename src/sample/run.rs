//! Runs all chains of a fit, each on its own thread, and gathers what they recorded.

use super::pilot::settle_torus;
use super::settings::{CoordinateChoice, MassChoice, Method, Settings};
use super::start::start;
use super::transition::{Info, Kernel, Tuning};
use super::warmup::{Adapter, Goals, information};
use crate::coordinates::Coordinates;
use crate::device::CpuLatents;
use crate::draws::{ChainDraws, FieldPlan};
use crate::error::{Error, Result};
use crate::hamiltonian::{LatentMass, MassKind};
use crate::integrate::{HyperMetric, Integrator, System};
use crate::model::Model;
use crate::structure::{Information, Structure};
use rayon::prelude::*;
use std::sync::Arc;
use std::time::Instant;

/// Where a chain is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Tuning.
    Warmup,
    /// Drawing.
    Sampling,
}

/// Told of every transition, from any thread: a progress bar, or nothing.
pub trait Progress: Sync {
    /// A chain made a transition; `values` are its hyperparameters on their reported scale.
    fn transition(&self, chain: u32, stage: Stage, info: &Info, values: &[f64]);
}

impl Progress for () {
    fn transition(&self, _: u32, _: Stage, _: &Info, _: &[f64]) {}
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The model that was fitted.
    pub model: Arc<Model>,
    /// The settings it was fitted with.
    pub settings: Settings,
    /// Coordinates the chains ended in.
    pub coordinates: &'static str,
    /// What each chain recorded.
    pub chains: Vec<ChainDraws>,
}

/// Fits a model: warms up and draws from its posterior, all chains in parallel.
pub fn run(model: &Arc<Model>, settings: &Settings, progress: &dyn Progress) -> Result<Fit> {
    settings.check()?;
    if settings.method != Method::Sshmc {
        return super::rivals::run(model, settings, progress);
    }
    let (model, pilot) = if settings.small_torus && settings.learns() {
        settle_torus(model)?
    } else {
        (model.clone(), 0)
    };
    let plan = Plan::new(&model, settings)?;
    let pool = pool(settings)?;
    let ids: Vec<u32> = (0..settings.chains).map(|c| settings.first_chain + c).collect();
    let mut chains = pool.install(|| {
        ids.into_par_iter().map(|id| plan.chain(id, progress)).collect::<Result<Vec<_>>>()
    })?;
    if let Some(first) = chains.first_mut() {
        first.warmup_gradients += pilot;
    }
    Ok(Fit { model: model.clone(), settings: settings.clone(), coordinates: plan.name, chains })
}

/// As many threads as the settings ask for.
pub(super) fn pool(settings: &Settings) -> Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(settings.threads.unwrap_or(0))
        .build()
        .map_err(|e| Error::Numeric(format!("cannot start threads: {e}")))
}

/// What all chains of a run share.
pub(super) struct Plan<'a> {
    model: &'a Arc<Model>,
    settings: &'a Settings,
    coordinates: Coordinates,
    mass: MassKind,
    integrator: Integrator,
    tuning: Tuning,
    /// Share of the information that coordinates learn; none if they are fixed.
    learn: Option<f64>,
    field: FieldPlan,
    name: &'static str,
}

impl<'a> Plan<'a> {
    pub(super) fn new(model: &'a Arc<Model>, settings: &'a Settings) -> Result<Self> {
        let (coordinates, learn) = choose_coordinates(model, settings);
        let mass = choose_mass(model, settings, &coordinates);
        let constant = LatentMass::new(model.structure(), &mass, &coordinates)?.is_identity();
        let centred = coordinates == Coordinates::Centred;
        let integrator = settings.integrator_for(centred, constant);
        if let Integrator::Joint(_) = integrator
            && !constant
        {
            return Err(Error::input(
                "integrator",
                "ABLA, because the latents' mass depends on the hyperparameters",
                "the joint leapfrog",
                "choose the identity mass or ABLA",
            ));
        }
        let grid = is_grid(model);
        let tuning = Tuning {
            step: 0.1,
            ratio: settings.hyper_speed.unwrap_or(if grid { GRID_SPEED } else { 1.0 }),
            path: settings.path.unwrap_or(if grid { GRID_PATH } else { PATH }),
            jitter: settings.jitter,
            careful: 0.0,
            most_steps: settings.most_steps,
            steps: settings.steps,
        };
        let field = FieldPlan::new(
            model.structure().sites(),
            settings.chains as usize,
            settings.draws as usize,
            settings.field_memory,
        );
        let name = if learn.is_some() { "informed" } else { coordinates.name() };
        Ok(Self { model, settings, coordinates, mass, integrator, tuning, learn, field, name })
    }

    /// Runs one chain from its start to its last draw.
    pub(super) fn chain(&self, id: u32, progress: &dyn Progress) -> Result<ChainDraws> {
        let mut kernel = self.kernel(id)?;
        let mut info = [Info::default()];
        let m = self.model.hyperparameters().len();
        let mut values = vec![0.0; m];
        let settings = self.settings;
        let goals = Goals {
            warmup: settings.warmup,
            start: self.tuning,
            acceptance: settings.acceptance,
            blocks: matches!(self.integrator, Integrator::Abla { .. }),
            share: self.learn,
            tilt: settings.tilt,
        };
        let mut adapter = Adapter::new(0, &goals, self.model);
        let begun = Instant::now();
        for t in 0..settings.warmup {
            kernel.transition(t, &mut info);
            if adapter.update(t, &mut kernel, &info[0])? {
                kernel.system.evaluate();
                check_finite(id, &kernel)?;
            }
            self.values(&kernel, &mut values);
            progress.transition(id, Stage::Warmup, &info[0], &values);
        }
        let warmup_seconds = begun.elapsed().as_secs_f64();
        let mut draws = self.empty(id, &kernel, warmup_seconds);
        let mut field = vec![0.0; self.model.structure().sites()];
        let begun = Instant::now();
        for t in settings.warmup..settings.warmup + settings.draws {
            kernel.transition(t, &mut info);
            self.values(&kernel, &mut values);
            kernel.system.latents.field(0, &mut field);
            record(&mut draws, &info[0], &values, &field);
            progress.transition(id, Stage::Sampling, &info[0], &values);
        }
        draws.seconds = begun.elapsed().as_secs_f64();
        draws.gradients = kernel.system.latents.gradients(0) - draws.warmup_gradients;
        Ok(draws)
    }

    /// The chain at its starting point.
    fn kernel(&self, id: u32) -> Result<Kernel> {
        let start = start(self.model, &self.coordinates, self.settings.seed, id)?;
        let seed = self.settings.seed;
        let latents =
            CpuLatents::new(self.model, &self.coordinates, &self.mass, seed, vec![(id, start.z)])?;
        let metric = HyperMetric::diagonal(&start.phi, &vec![0.2; start.phi.len()]);
        let mut system = System::new(Box::new(latents), vec![metric], start.phi);
        system.evaluate();
        Ok(Kernel::new(system, self.integrator, self.tuning, seed, vec![id]))
    }

    fn values(&self, kernel: &Kernel, values: &mut [f64]) {
        self.model.hyperparameters().write_values(&kernel.system.phi, values);
    }

    /// A record with room for every draw.
    fn empty(&self, id: u32, kernel: &Kernel, warmup_seconds: f64) -> ChainDraws {
        let draws = self.settings.draws as usize;
        ChainDraws {
            step_size: kernel.tuning[0].step,
            warmup_gradients: kernel.system.latents.gradients(0),
            warmup_seconds,
            ..ChainDraws::new(id, self.model.hyperparameters().len(), &self.field, draws)
        }
    }
}

/// A change of coordinates keeps the latents, so the density there is still finite; if it is not, the chain is lost.
fn check_finite(id: u32, kernel: &Kernel) -> Result<()> {
    if kernel.system.potential[0].is_finite() {
        return Ok(());
    }
    Err(Error::Numeric(format!(
        "chain {id} lost its place when its coordinates were learnt; try --coordinates whitened or another --seed"
    )))
}

pub(super) fn record(draws: &mut ChainDraws, info: &Info, values: &[f64], field: &[f64]) {
    draws.parameters.iter_mut().zip(values).for_each(|(d, &v)| d.push(v));
    draws.energy.push(info.energy);
    draws.acceptance.push(info.acceptance);
    draws.steps.push(info.steps);
    draws.divergent.push(info.divergent);
    draws.field.record(field);
}

/// Mean trajectory length: a little over a quarter turn of the standardised posterior, so that successive draws lie on opposite
/// sides of the mean more often than not, yet squares are forgotten too.
const PATH: f64 = 2.0;
/// The same for fields on a grid, whose data-rich cells turn faster than the rest.
const GRID_PATH: f64 = 1.6;
/// On a grid the hyperparameters are tied to many latents and profit from moving faster than those.
const GRID_SPEED: f64 = 1.5;

fn is_grid(model: &Model) -> bool {
    matches!(model.structure(), Structure::Spectral(_))
}

/// Share of the likelihood's information that coordinates take. On a grid less than all: where the torus has no data the
/// coordinates had better be the prior's.
fn information_share(model: &Model) -> f64 {
    match model.structure() {
        Structure::Spectral(spectral) => (0.8 * spectral.torus().observed()).min(0.5),
        _ => 1.0,
    }
}

/// The coordinates to start in, and the share of information to learn if they are to be learnt.
pub(super) fn choose_coordinates(model: &Model, settings: &Settings) -> (Coordinates, Option<f64>) {
    let share = settings.information_share.unwrap_or_else(|| information_share(model));
    match settings.coordinates {
        CoordinateChoice::Centred => (Coordinates::Centred, None),
        CoordinateChoice::Whitened => (Coordinates::whitened(), None),
        CoordinateChoice::Informed | CoordinateChoice::Auto => {
            let information = information(model, &model.start_predictor(), &model.start(), share);
            let shift = model.start_mean().map(|mean| Arc::new(information.times(&mean)));
            (Coordinates::Informed { information, shift }, Some(share))
        }
    }
}

pub(super) fn choose_mass(
    model: &Model,
    settings: &Settings,
    coordinates: &Coordinates,
) -> MassKind {
    match (settings.mass, coordinates) {
        (MassChoice::Identity, _) => MassKind::Identity,
        (MassChoice::Auto, Coordinates::Informed { .. }) => MassKind::Identity,
        (MassChoice::Auto, Coordinates::Centred) | (MassChoice::Prior, _) => {
            MassKind::Precision(Information::NONE)
        }
        (MassChoice::PriorPlusInformation, _) => {
            MassKind::Precision(information(model, &model.start_predictor(), &model.start(), 1.0))
        }
    }
}
