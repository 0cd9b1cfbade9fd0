//! Takes a batch of chains in lockstep from their starts, or from where they were, to their last draws.

use super::audit::{Auditor, EnergyAudit};
use super::run::{Plan, Progress, Stage, record};
use super::state::{BatchState, ChainState, Keeper};
use super::transition::{Info, Kernel};
use super::warmup::Adapter;
use crate::draws::{ChainDraws, FieldDraws};
use crate::error::{Error, Result};
use std::time::Instant;

/// What a batch recorded, and the audit of its energies if there was one.
pub(super) type Record = (Vec<ChainDraws>, Option<EnergyAudit>);

/// A batch on its way.
pub(super) struct Batch<'a> {
    plan: &'a Plan<'a>,
    ids: &'a [u32],
    progress: &'a dyn Progress,
    keeper: &'a dyn Keeper,
    kernel: Kernel,
    adapters: Vec<Adapter>,
    auditor: Auditor,
    /// What is recorded; empty during warm-up.
    chains: Vec<ChainDraws>,
    fields: Vec<FieldDraws>,
    /// Transitions made.
    made: u32,
    clock: Clock,
    kept: Instant,
    info: Vec<Info>,
    values: Vec<f64>,
}

/// Counts seconds of the present stage, over interruptions too.
struct Clock {
    before: f64,
    begun: Instant,
}

impl Clock {
    fn after(before: f64) -> Self {
        Self { before, begun: Instant::now() }
    }

    fn seconds(&self) -> f64 {
        self.before + self.begun.elapsed().as_secs_f64()
    }
}

impl<'a> Batch<'a> {
    /// Chains at their starts, or where the keeper has them.
    pub(super) fn new(
        plan: &'a Plan<'a>,
        ids: &'a [u32],
        progress: &'a dyn Progress,
        keeper: &'a dyn Keeper,
    ) -> Result<Self> {
        let state = keeper.recall(ids)?;
        let settings = plan.settings;
        if let Some(state) = &state {
            check_kept(plan, state)?;
        }
        let kernel = match &state {
            None => plan.kernel(ids)?,
            Some(state) => plan.kernel_at(ids, &state.chains)?,
        };
        let goals = plan.goals();
        let adapters = (0..ids.len()).map(|b| Adapter::new(b, &goals, plan.model)).collect();
        let auditor = Auditor::new(plan.model, &plan.mass, &settings.device, settings.draws);
        let mut batch = Self {
            info: vec![Info::default(); ids.len()],
            values: vec![0.0; kernel.system.phi.len()],
            plan,
            ids,
            progress,
            keeper,
            kernel,
            adapters,
            auditor,
            chains: Vec::new(),
            fields: Vec::new(),
            made: 0,
            clock: Clock::after(0.0),
            kept: Instant::now(),
        };
        if let Some(state) = state {
            batch.go_on(state)?;
        }
        Ok(batch)
    }

    /// Takes up what was learnt and recorded before.
    fn go_on(&mut self, state: BatchState) -> Result<()> {
        self.made = state.transitions;
        self.clock = Clock::after(state.seconds);
        self.auditor.go_on(state.audit);
        for (adapter, state) in self.adapters.iter_mut().zip(state.adapters) {
            adapter.restore(state);
        }
        if !state.records.is_empty() {
            self.kernel.system.latents.choose(self.plan.field.kept())?;
            let draws = self.plan.settings.draws as usize;
            for mut record in state.records {
                record.make_room(draws);
                self.fields.push(record.take_field(&self.plan.field));
                self.chains.push(record);
            }
        }
        for (b, chain) in state.chains.iter().enumerate() {
            self.kernel.restore(b, chain)?;
        }
        self.kernel.system.latents.status()?;
        self.ids.iter().for_each(|&id| self.progress.resumed(id, self.made));
        Ok(())
    }

    /// Makes all transitions that are left.
    pub(super) fn run(mut self) -> Result<Record> {
        let warmup = self.plan.settings.warmup;
        let last = warmup + self.plan.settings.draws;
        while self.made < last {
            if self.made < warmup {
                self.warm_up()?;
            } else {
                if self.chains.is_empty() {
                    self.begin_drawing()?;
                }
                self.draw()?;
            }
            self.made += 1;
            let turning = self.made == warmup || self.made == last;
            self.keep_if_due(turning, self.made < last)?;
        }
        self.finish()
    }

    /// Seconds of computing, shared by the chains of a batch.
    fn share(&self) -> f64 {
        self.clock.seconds() / self.ids.len() as f64
    }

    fn warm_up(&mut self) -> Result<()> {
        let (t, kernel) = (self.made, &mut self.kernel);
        kernel.transition(t, &mut self.info);
        kernel.system.latents.status()?;
        let looking = self.adapters.iter().any(Adapter::learns_field);
        if looking && kernel.system.latents.observe() {
            self.adapters.iter_mut().for_each(Adapter::rely_on_device);
        }
        let ends = self.adapters[0].ends_window(t);
        let before = match ends && looking {
            true => (0..self.ids.len()).map(|b| kernel.snapshot(b)).collect::<Result<_>>()?,
            false => Vec::new(),
        };
        let mut changed = false;
        for (adapter, info) in self.adapters.iter_mut().zip(&self.info) {
            changed |= adapter.update(t, kernel, info)?;
        }
        if ends {
            kernel.system.latents.forget();
        }
        if changed {
            kernel.system.evaluate();
            keep_finite(self.ids, kernel, &before)?;
        }
        self.tell(Stage::Warmup);
        Ok(())
    }

    /// Makes records with room for every draw.
    fn begin_drawing(&mut self) -> Result<()> {
        let warmup_seconds = self.share();
        let (plan, draws) = (self.plan, self.plan.settings.draws as usize);
        let hyperparameters = plan.model.hyperparameters().len();
        for (b, &id) in self.ids.iter().enumerate() {
            self.chains.push(ChainDraws {
                step_size: self.kernel.tuning[b].step,
                warmup_gradients: self.kernel.system.latents.gradients(b),
                field: FieldDraws::new(&plan.field, 0),
                warmup_seconds,
                ..ChainDraws::new(id, hyperparameters, &plan.field, draws)
            });
            // One by one, because a clone has no room to grow into.
            self.fields.push(FieldDraws::new(&plan.field, draws));
        }
        self.clock = Clock::after(0.0);
        self.kernel.system.latents.choose(plan.field.kept())
    }

    fn draw(&mut self) -> Result<()> {
        let draw = self.made - self.plan.settings.warmup;
        self.auditor.transition(draw, &mut self.kernel, self.made, &mut self.info)?;
        self.kernel.system.latents.record(&mut self.fields);
        self.kernel.system.latents.status()?;
        self.tell(Stage::Sampling);
        let each = self.values.chunks_exact(self.values.len() / self.ids.len());
        for ((draws, info), values) in self.chains.iter_mut().zip(&self.info).zip(each) {
            record(draws, info, values);
        }
        Ok(())
    }

    /// Tells of a transition of every chain.
    fn tell(&mut self, stage: Stage) {
        self.plan.write_values(&self.kernel, &mut self.values);
        let each = self.values.chunks_exact(self.values.len() / self.ids.len());
        for ((&id, info), values) in self.ids.iter().zip(&self.info).zip(each) {
            self.progress.transition(id, stage, info, values);
        }
    }

    /// Hands the state to the keeper where it is time to, or where a stage ends; stops if it is asked to, unless nothing is left.
    fn keep_if_due(&mut self, turning: bool, more: bool) -> Result<()> {
        let stopping = more && self.keeper.is_stopping();
        let due = turning && self.keeper.keeps();
        if !due && !stopping && !self.keeper.is_due(self.kept.elapsed()) {
            return Ok(());
        }
        if self.keeper.keeps() {
            let state = self.state()?;
            self.keeper.keep(&state)?;
            self.take_back(state);
        }
        self.kept = Instant::now();
        if stopping { Err(Error::Stopped) } else { Ok(()) }
    }

    /// The present state, with the records moved into it.
    fn state(&mut self) -> Result<BatchState> {
        let latents = &mut self.kernel.system.latents;
        if !self.fields.is_empty() {
            latents.deliver(&mut self.fields);
        }
        let warming = self.made < self.plan.settings.warmup;
        let adapters = if warming { &self.adapters[..] } else { &[] };
        let chains = (0..self.ids.len()).map(|b| self.kernel.snapshot(b)).collect::<Result<_>>()?;
        self.kernel.system.latents.status()?;
        let mut records = std::mem::take(&mut self.chains);
        for (record, field) in records.iter_mut().zip(self.fields.drain(..)) {
            record.field = field;
        }
        Ok(BatchState {
            ids: self.ids.to_vec(),
            transitions: self.made,
            seconds: self.clock.seconds(),
            chains,
            adapters: adapters.iter().map(Adapter::state).collect(),
            records,
            audit: self.auditor.found(),
        })
    }

    /// Takes the records out of a state again.
    fn take_back(&mut self, state: BatchState) {
        for mut record in state.records {
            self.fields.push(record.take_field(&self.plan.field));
            self.chains.push(record);
        }
    }

    fn finish(mut self) -> Result<Record> {
        if self.chains.is_empty() {
            self.begin_drawing()?;
        }
        self.kernel.system.latents.finish(&mut self.fields);
        self.kernel.system.latents.status()?;
        let seconds = self.share();
        for (b, (draws, field)) in self.chains.iter_mut().zip(self.fields).enumerate() {
            draws.field = field;
            draws.seconds = seconds;
            draws.gradients = self.kernel.system.latents.gradients(b) - draws.warmup_gradients;
        }
        Ok((self.chains, self.auditor.found()))
    }
}

/// A change of coordinates keeps the latents, so the density there is still finite, but for rounding where data are extreme: a
/// chain to which that happens keeps the coordinates it had.
fn keep_finite(ids: &[u32], kernel: &mut Kernel, before: &[ChainState]) -> Result<()> {
    for (b, &id) in ids.iter().enumerate() {
        if kernel.system.potential[b].is_finite() {
            continue;
        }
        if let Some(state) = before.get(b) {
            kernel.restore(b, state)?;
        }
        if !kernel.system.potential[b].is_finite() {
            return Err(Error::Numeric(format!(
                "chain {id} lost its place when its coordinates were learnt; try --coordinates whitened or another --seed"
            )));
        }
    }
    Ok(())
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
