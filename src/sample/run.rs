//! Runs all chains of a fit and gathers what they recorded: on the CPU each on its own thread, on a GPU all in lockstep.

use super::audit::EnergyAudit;
use super::batch::{Batch, Record};
use super::information::{Share, information};
use super::pilot::settle_torus;
use super::settings::{CoordinateChoice, MassChoice, Method, Settings};
use super::start::start;
use super::state::{ChainState, Keeper};
use super::transition::{Info, Kernel, Tuning};
use super::warmup::Goals;
use crate::coordinates::Coordinates;
use crate::draws::{ChainDraws, FieldPlan};
use crate::error::{Error, Result};
use crate::hamiltonian::{LatentMass, MassKind};
use crate::integrate::{HyperMetric, Integrator, System};
use crate::model::Model;
use crate::structure::{Information, Sides, Structure};
use rayon::prelude::*;
use std::sync::Arc;

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

    /// A chain goes on after so many transitions that were made before.
    fn resumed(&self, _chain: u32, _transitions: u32) {}
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
    /// Where it ran.
    pub device: String,
    /// What each chain recorded.
    pub chains: Vec<ChainDraws>,
    /// How far energies were from double precision; none where they were in it.
    pub audit: Option<EnergyAudit>,
}

/// Fits a model: warms up and draws from its posterior, all chains in parallel.
pub fn run(model: &Arc<Model>, settings: &Settings, progress: &dyn Progress) -> Result<Fit> {
    run_kept(model, settings, progress, &())
}

/// The same with someone who keeps the chains' states, so that a run that is stopped can go on later and end with the same bits.
/// Only [`Method::Sshmc`] is kept.
pub fn run_kept(
    model: &Arc<Model>,
    settings: &Settings,
    progress: &dyn Progress,
    keeper: &dyn Keeper,
) -> Result<Fit> {
    settings.check()?;
    if settings.method != Method::Sshmc {
        return super::rivals::run(model, settings, progress);
    }
    let (model, pilot) = if settings.small_torus && settings.learns() && may_shrink(model, settings)
    {
        settle_torus(model, keeper)?
    } else {
        (model.clone(), 0)
    };
    let plan = Plan::new(&model, settings)?;
    let pool = pool(settings)?;
    let ids: Vec<u32> = (0..settings.chains).map(|c| settings.first_chain + c).collect();
    // A GPU computes all chains together; on the CPU each has a thread, and nothing to do with the others.
    let size = if settings.device.is_gpu() { ids.len() } else { 1 };
    let batches = pool.install(|| {
        let batches: Vec<&[u32]> = ids.chunks(size).collect();
        let run = |ids: &[u32]| plan.batch(ids, progress, keeper);
        batches.into_par_iter().map(run).collect::<Result<Vec<_>>>()
    })?;
    let (chains, audits): (Vec<_>, Vec<_>) = batches.into_iter().unzip();
    let mut chains: Vec<ChainDraws> = chains.into_iter().flatten().collect();
    if let Some(first) = chains.first_mut() {
        first.warmup_gradients += pilot;
    }
    Ok(Fit {
        model: model.clone(),
        settings: settings.clone(),
        coordinates: plan.name,
        device: settings.device.name(),
        chains,
        audit: audits.into_iter().flatten().reduce(EnergyAudit::worse),
    })
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
    pub(super) model: &'a Arc<Model>,
    pub(super) settings: &'a Settings,
    coordinates: Coordinates,
    pub(super) mass: MassKind,
    integrator: Integrator,
    tuning: Tuning,
    /// Share of the information that coordinates learn; none if they are fixed.
    learn: Option<Share>,
    pub(super) field: FieldPlan,
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
        let field = field_plan(model, settings);
        let name = if learn.is_some() { "informed" } else { coordinates.name() };
        Ok(Self { model, settings, coordinates, mass, integrator, tuning, learn, field, name })
    }

    /// Runs chains in lockstep from where they are to their last draws.
    pub(super) fn batch(
        &self,
        ids: &[u32],
        progress: &dyn Progress,
        keeper: &dyn Keeper,
    ) -> Result<Record> {
        Batch::new(self, ids, progress, keeper)?.run()
    }

    /// What warm-up is to reach.
    pub(super) fn goals(&self) -> Goals {
        Goals {
            warmup: self.settings.warmup,
            start: self.tuning,
            acceptance: self.settings.acceptance,
            blocks: matches!(self.integrator, Integrator::Abla { .. }),
            share: self.learn,
            tilt: self.settings.tilt,
        }
    }

    /// Chains at their starting points.
    pub(super) fn kernel(&self, ids: &[u32]) -> Result<Kernel> {
        let seed = self.settings.seed;
        let (mut chains, mut metrics, mut phi) = (Vec::new(), Vec::new(), Vec::new());
        for &id in ids {
            let start = start(self.model, &self.coordinates, seed, id)?;
            metrics.push(HyperMetric::diagonal(&start.phi, &vec![0.2; start.phi.len()]));
            phi.extend(start.phi);
            chains.push((id, start.z));
        }
        let device = &self.settings.device;
        let latents = device.latents(self.model, &self.coordinates, &self.mass, seed, chains)?;
        let mut system = System::new(latents, metrics, phi);
        system.evaluate();
        system.latents.status()?;
        Ok(Kernel::new(system, self.integrator, self.tuning, seed, ids.to_vec()))
    }

    /// Chains where they were; what else they were tuned to is restored by the caller.
    pub(super) fn kernel_at(&self, ids: &[u32], states: &[ChainState]) -> Result<Kernel> {
        let here = ids.iter().zip(states);
        let chains = here.map(|(&id, state)| (id, state.latents.z.clone())).collect();
        let (seed, device) = (self.settings.seed, &self.settings.device);
        let latents = device.latents(self.model, &self.coordinates, &self.mass, seed, chains)?;
        let metrics = states.iter().map(|state| state.metric.clone()).collect();
        let phi = states.iter().flat_map(|state| state.phi.clone()).collect();
        let system = System::new(latents, metrics, phi);
        Ok(Kernel::new(system, self.integrator, self.tuning, seed, ids.to_vec()))
    }

    /// Writes all chains' hyperparameters on their reported scale.
    pub(super) fn write_values(&self, kernel: &Kernel, values: &mut [f64]) {
        let m = self.model.hyperparameters().len();
        for (phi, values) in kernel.system.phi.chunks_exact(m).zip(values.chunks_exact_mut(m)) {
            self.model.hyperparameters().write_values(phi, values);
        }
    }
}

pub(super) fn record(draws: &mut ChainDraws, info: &Info, values: &[f64]) {
    draws.parameters.iter_mut().zip(values).for_each(|(d, &v)| d.push(v));
    draws.energy.push(info.energy);
    draws.acceptance.push(info.acceptance);
    draws.steps.push(info.steps);
    draws.divergent.push(info.divergent);
}

/// Mean trajectory length: a little over a quarter turn of the standardised posterior, so that successive draws lie on opposite
/// sides of the mean more often than not, yet squares are forgotten too.
const PATH: f64 = 2.0;
/// The same for fields on a grid, whose data-rich cells turn faster than the rest.
const GRID_PATH: f64 = 1.6;
/// On a grid the hyperparameters are tied to many latents and profit from moving faster than those.
const GRID_SPEED: f64 = 1.5;

/// Memory for field draws unless the user says how much.
const FIELD_MEMORY: usize = 256 << 20;
/// Sites whose draws leave a GPU unless the user asks for more: enough to diagnose the field by.
const GPU_SITES: usize = 1024;

/// What a run records of the field.
pub fn field_plan(model: &Model, settings: &Settings) -> FieldPlan {
    field_plan_of(model.structure().sites(), settings)
}

/// The same of a field with so many sites.
pub(super) fn field_plan_of(sites: usize, settings: &Settings) -> FieldPlan {
    let (chains, draws) = settings.planned.unwrap_or((settings.chains, settings.draws));
    let (chains, draws) = (chains as usize, draws as usize);
    let plan = FieldPlan::new(sites, chains, draws, field_memory(settings, chains * draws));
    match &settings.exceed {
        Some(levels) => plan.with_exponential(levels),
        None => plan,
    }
}

fn field_memory(settings: &Settings, draws: usize) -> usize {
    let few = 4 * GPU_SITES * draws;
    let own = if settings.device.is_gpu() { FIELD_MEMORY.min(few) } else { FIELD_MEMORY };
    settings.field_memory.unwrap_or(own)
}

/// A smaller torus of any sides would not do for a GPU.
fn may_shrink(model: &Model, settings: &Settings) -> bool {
    match model.structure() {
        Structure::Spectral(field) => {
            !settings.device.is_gpu() || field.sides() == Sides::PowersOfTwo
        }
        _ => true,
    }
}

fn is_grid(model: &Model) -> bool {
    matches!(model.structure(), Structure::Spectral(_))
}

/// The coordinates to start in, and the share of information to learn if they are to be learnt.
pub(super) fn choose_coordinates(
    model: &Model,
    settings: &Settings,
) -> (Coordinates, Option<Share>) {
    let share = settings.information_share.map_or(Share::Chosen, Share::Fixed);
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
        (MassChoice::PriorPlusInformation, _) => MassKind::Precision(information(
            model,
            &model.start_predictor(),
            &model.start(),
            Share::Fixed(1.0),
        )),
    }
}
