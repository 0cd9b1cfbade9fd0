//! Runs all chains of a fit and gathers what they recorded: on the CPU each on its own thread, on a GPU all in lockstep.

use super::bundle::batches;
use super::clock::RunClock;
use super::found::Prepared;
use super::member::Member;
use super::pilot::{Wanted, prepare};
use super::place::rehearse;
use super::plan::{Plan, may_shrink, refuse_block, takes_block};
use super::progress::{Part, Progress};
use super::rival::settings_of;
use super::rounds::{Fit, pool, run_batches};
use super::settings::Settings;
use super::state::Keeper;
use crate::error::{Error, Result};
use crate::model::Model;
use std::sync::Arc;

/// Fits a model: warms up and draws from its posterior, all chains in parallel.
pub fn run(model: &Arc<Model>, settings: &Settings, progress: &dyn Progress) -> Result<Fit> {
    run_kept(model, settings, progress, &())
}

/// The same with someone who keeps the chains' states, so that a run that is stopped can go on later and end with the same bits.
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
    let settings = &settings_of(settings)?;
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
        let wanted =
            Wanted { torus: may_shrink(part.model, settings), coordinates: takes_block(settings) };
        prepare(part.model, part.keeper, wanted)
    });
    each.collect()
}
