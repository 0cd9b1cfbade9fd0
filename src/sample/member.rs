//! Puts chains of one model or of several into a batch, and starts them.

use super::plan::Plan;
use super::progress::{Part, Progress};
use super::sshmc::Sshmc;
use super::start::start;
use super::state::{BatchState, ChainState, Keeper, Tuned};
use crate::device::Lane;
use crate::error::Result;
use crate::integrate::{HyperMetric, System};

/// Chains of one model in a batch.
#[derive(Clone, Copy)]
pub(super) struct Member<'a> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) ids: &'a [u32],
    /// Which part of the run the model is.
    pub(super) part: usize,
    pub(super) progress: &'a dyn Progress,
    pub(super) keeper: &'a dyn Keeper,
}

impl<'a> Member<'a> {
    pub(super) fn new(
        plan: &'a Plan<'a>,
        ids: &'a [u32],
        part: usize,
        Part { progress, keeper, .. }: &Part<'a>,
    ) -> Self {
        Self { plan, ids, part, progress: *progress, keeper: *keeper }
    }
}

/// Every lane's member and number.
pub(super) fn lanes<'a>(members: &'a [Member<'a>]) -> impl Iterator<Item = (&'a Member<'a>, u32)> {
    members.iter().flat_map(|member| member.ids.iter().map(move |&id| (member, id)))
}

/// Chains at their starting points.
pub(super) fn begin(members: &[Member<'_>]) -> Result<Sshmc> {
    let (mut starts, mut metrics, mut phi) = (Vec::new(), Vec::new(), Vec::new());
    for (Member { plan, .. }, id) in lanes(members) {
        let known = plan.found.map(|found| &found.metric);
        let start = start(plan.model, &plan.coordinates, known, plan.settings.seed, id)?;
        let guess = || HyperMetric::diagonal(&start.phi, &vec![0.2; start.phi.len()]);
        metrics.push(known.cloned().unwrap_or_else(guess));
        phi.extend(start.phi);
        starts.push(start.z);
    }
    let mut kernel = kernel(members, starts, metrics, phi)?;
    kernel.system.evaluate();
    kernel.system.latents.status()?;
    Ok(kernel)
}

/// Chains where they were; what else they were tuned to is restored by the caller.
pub(super) fn go_on_at(members: &[Member<'_>], states: &[BatchState]) -> Result<Sshmc> {
    let chains = || states.iter().flat_map(|state| &state.chains);
    let starts = chains().map(|chain| chain.latents.z.clone()).collect();
    let metric = |chain: &ChainState| match &chain.tuned {
        Tuned::Sshmc { metric, .. } => Ok(metric.clone()),
        Tuned::Rival { .. } => Err(chain.of_another()),
    };
    let metrics = chains().map(metric).collect::<Result<_>>()?;
    kernel(members, starts, metrics, chains().flat_map(|chain| chain.phi.clone()).collect())
}

fn kernel(
    members: &[Member<'_>],
    starts: Vec<Vec<f64>>,
    metrics: Vec<HyperMetric>,
    phi: Vec<f64>,
) -> Result<Sshmc> {
    let lane = |((member, id), z): ((&Member<'_>, u32), Vec<f64>)| Lane {
        model: member.plan.model.clone(),
        id,
        coordinates: member.plan.coordinates.clone(),
        z,
    };
    // Members of a batch are alike, so that one speaks for all.
    let plan = members[0].plan;
    let seed = plan.settings.seed;
    let own = lanes(members).zip(starts).map(lane).collect();
    let latents = plan.settings.device.lanes(&plan.mass, seed, own)?;
    let system = System::new(latents, metrics, phi);
    let ids = lanes(members).map(|(_, id)| id).collect();
    Ok(Sshmc::new(system, plan.integrator, plan.tuning, seed, ids))
}
