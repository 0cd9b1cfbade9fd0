//! Runs all chains of a fit and gathers what they recorded: on the CPU each on its own thread, on a GPU all in lockstep.

use super::audit::EnergyAudit;
use super::bundle::batches;
use super::clock::RunClock;
use super::member::Member;
use super::pilot::{Prepared, Wanted, prepare};
use super::place::rehearse;
use super::plan::{Plan, may_shrink, refuse_block, takes_block};
use super::rounds::run_batches;
use super::settings::{Method, Settings};
use super::state::Keeper;
use super::transition::Info;
use super::until::{Check, Ended};
use crate::draws::ChainDraws;
use crate::error::{Error, Result};
use crate::model::Model;
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

    /// All chains of a model were looked at, and go on to so many draws each, or not at all.
    fn checked(&self, _check: &Check, _next: Option<u32>) {}
}

impl Progress for () {
    fn transition(&self, _: u32, _: Stage, _: &Info, _: &[f64]) {}
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The model that was fitted.
    pub model: Arc<Model>,
    /// The settings it was fitted with; `draws` are those that were made.
    pub settings: Settings,
    /// Why it ended.
    pub ended: Ended,
    /// Seconds from its beginning to its end, without those between being stopped and resumed.
    pub elapsed: f64,
    /// Coordinates the chains ended in.
    pub coordinates: &'static str,
    /// Where it ran.
    pub device: String,
    /// What each chain recorded.
    pub chains: Vec<ChainDraws>,
    /// How far energies were from double precision; none where they were in it.
    pub audit: Option<EnergyAudit>,
    /// Whether sums could be kept exact there, as they always can on the CPU (see [`crate::device::gpu::Gpu::sums_exactly`]).
    pub exact_sums: bool,
}

/// One of several models that are fitted together: who is told of its progress, and who keeps its states.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    /// The model.
    pub model: &'a Arc<Model>,
    /// Told of every transition.
    pub progress: &'a dyn Progress,
    /// Keeps its chains' states.
    pub keeper: &'a dyn Keeper,
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
    let fits = run_together(&[Part { model, progress, keeper }], settings)?;
    fits.into_iter().next().ok_or_else(|| Error::Numeric("nothing was fitted".into()))
}

/// Fits several models with the same settings, each as if it were alone: a GPU computes all chains of as many series as it has room
/// for by the same commands, whatever their lengths, and their draws have the same bits as those of separate fits.
pub fn run_together(parts: &[Part<'_>], settings: &Settings) -> Result<Vec<Fit>> {
    settings.check()?;
    parts.iter().try_for_each(|part| refuse_block(part.model, settings))?;
    let clock = RunClock::start();
    if settings.method != Method::Sshmc {
        let run = |part: &Part<'_>| super::rivals::run(part.model, settings, part.progress);
        return parts.iter().map(run).collect();
    }
    // Kept until the end: threads that end would do so beside the chains.
    let threads = pool(settings)?;
    let prepared = threads.install(|| prepared(parts, settings))?;
    if settings.device.is_tentative()
        && let Err(Error::Device(error)) =
            with_batches(parts, &prepared, settings, |_, batches| rehearse(batches))
    {
        let note = format!("it ran on the CPU, because a GPU could not take it: {error}");
        let settings = settings.on_cpu();
        let noted = |one: Prepared| Prepared {
            model: Arc::new(Model::clone(&one.model).with_note(&note)),
            ..one
        };
        let prepared = self::prepared(parts, &settings)?.into_iter().map(noted);
        return run_prepared(parts, &prepared.collect::<Vec<_>>(), &settings, clock);
    }
    run_prepared(parts, &prepared, settings, clock)
}

/// Does something with the chains in their batches.
fn with_batches<T>(
    parts: &[Part<'_>],
    prepared: &[Prepared],
    settings: &Settings,
    then: impl FnOnce(&[Plan<'_>], &[Vec<Member<'_>>]) -> Result<T>,
) -> Result<T> {
    let plans = prepared.iter().map(|one| Plan::new(one, settings));
    let plans = plans.collect::<Result<Vec<_>>>()?;
    let ids: Vec<u32> = (0..settings.chains).map(|c| settings.first_chain + c).collect();
    let models: Vec<&Model> = prepared.iter().map(|one| one.model.as_ref()).collect();
    let batches: Vec<Vec<Member<'_>>> = batches(&models, settings)
        .into_iter()
        .map(|batch| batch.into_iter().map(|(k, own)| (k, &ids[own])))
        .map(|batch| batch.map(|(k, ids)| Member::new(&plans[k], ids, k, &parts[k])).collect())
        .collect();
    then(&plans, &batches)
}

/// Runs models in the tori and coordinates they are sampled in.
fn run_prepared(
    parts: &[Part<'_>],
    prepared: &[Prepared],
    settings: &Settings,
    clock: RunClock,
) -> Result<Vec<Fit>> {
    let mut fits = with_batches(parts, prepared, settings, |plans, batches| {
        run_batches(plans, batches, settings, clock)
    })?;
    for (fit, one) in fits.iter_mut().zip(prepared) {
        if let Some(first) = fit.chains.first_mut() {
            first.warmup_gradients += one.cost;
            first.warmup_seconds += one.seconds;
        }
    }
    Ok(fits)
}

/// Every model in the torus and coordinates it is sampled in.
fn prepared(parts: &[Part<'_>], settings: &Settings) -> Result<Vec<Prepared>> {
    let each = parts.iter().map(|part| {
        let wanted = Wanted {
            torus: settings.small_torus && settings.learns() && may_shrink(part.model, settings),
            coordinates: takes_block(settings),
        };
        prepare(part.model, part.keeper, wanted)
    });
    each.collect()
}

pub(super) fn empty(plan: &Plan<'_>, settings: &Settings) -> Fit {
    Fit {
        model: plan.model.clone(),
        settings: settings.clone(),
        ended: Ended::Asked,
        elapsed: 0.0,
        coordinates: plan.name,
        device: settings.device.name(),
        chains: Vec::new(),
        audit: None,
        exact_sums: settings.device.as_gpu().is_none_or(|gpu| gpu.sums_exactly()),
    }
}

/// As many threads as the settings ask for.
pub(super) fn pool(settings: &Settings) -> Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(settings.threads.unwrap_or(0))
        .build()
        .map_err(|e| Error::Numeric(format!("cannot start threads: {e}")))
}

pub(super) fn record(draws: &mut ChainDraws, info: &Info, values: &[f64]) {
    draws.parameters.iter_mut().zip(values).for_each(|(d, &v)| d.push(v));
    draws.energy.push(info.energy);
    draws.acceptance.push(info.acceptance);
    draws.steps.push(info.steps);
    draws.divergent.push(info.divergent);
}
