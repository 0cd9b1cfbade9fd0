//! Finds where the members of a batch were when their run was stopped.

use super::member::Member;
use super::plan::Plan;
use super::state::{BatchState, ChainState};
use crate::draws::ChainDraws;
use crate::error::{Error, Result};

/// Where the members were when all of them had come as far; empty if they have to begin.
///
/// A run may have been killed while the states of one moment were being written, some before and some not: then the newer go back
/// to the one before.
pub(super) fn recall(members: &[Member<'_>]) -> Result<Vec<BatchState>> {
    let mut latest = u32::MAX;
    loop {
        let states = members.iter().map(|member| member.keeper.recall(member.ids, latest));
        let states = states.collect::<Result<Vec<_>>>()?;
        let made = |state: &Option<BatchState>| state.as_ref().map_or(0, |s| s.transitions);
        let (least, most) = (states.iter().map(made).min(), states.iter().map(made).max());
        if least == most {
            let states: Vec<BatchState> = states.into_iter().flatten().collect();
            let mut each = members.iter().zip(&states);
            each.try_for_each(|(member, state)| check_kept(member.plan, state))?;
            return Ok(states);
        }
        latest = least.unwrap_or(0);
    }
}

/// Refuses a state that is not one of this model and these settings, as when files of two runs were mixed.
fn check_kept(plan: &Plan<'_>, state: &BatchState) -> Result<()> {
    let structure = plan.model.structure();
    let (m, dim) = (plan.model.hyperparameters().len(), structure.dim());
    let drawn = state.transitions.saturating_sub(plan.settings.warmup) as usize;
    let placed = |chain: &ChainState| {
        let latents = &chain.latents;
        chain.phi.len() == m
            && chain.by_phi.len() == m
            && latents.z.len() == dim
            && latents.by_z.len() == dim
    };
    let recorded = |record: &ChainDraws| {
        let parameters = &record.parameters;
        let lengths = [record.acceptance.len(), record.steps.len(), record.divergent.len()];
        parameters.len() == m
            && parameters.iter().all(|values| values.len() == drawn)
            && record.energy.len() == drawn
            && lengths == [drawn; 3]
            && record.field.mean().len() == structure.sites()
            && record.field.kept() == plan.field.kept()
    };
    let count = state.ids.len();
    let fits = state.chains.len() == count
        && state.chains.iter().all(placed)
        && (state.adapters.len() == count || state.transitions >= plan.settings.warmup)
        && (state.records.len() == count || drawn == 0)
        && state.records.iter().all(recorded);
    if fits {
        return Ok(());
    }
    Err(Error::input(
        format!("the state that was kept of chain {}", state.ids.first().copied().unwrap_or(0)),
        "one of this model and these settings",
        "another",
        "files of different runs were mixed; remove what does not belong to this one, or fit again",
    ))
}
