//! Takes a batch of chains, of one model or of several, in lockstep from their starts, or from where they were, to their last draws.

use super::audit::Auditor;
use super::clock::{Clock, RunClock};
use super::member::{Member, begin, go_on_at, lanes};
use super::run::{Stage, record};
use super::settings::Settings;
use super::state::{BatchState, ChainState, Keeper};
use super::transition::{Info, Kernel};
use super::warmup::Adapter;
use crate::draws::{ChainDraws, FieldDraws};
use crate::error::{Error, Result};
use std::time::Instant;

/// A batch on its way. Its lanes are the chains of its members, one member after the other.
pub(super) struct Batch<'a> {
    members: &'a [Member<'a>],
    settings: &'a Settings,
    kernel: Kernel,
    adapters: Vec<Adapter>,
    auditors: Vec<Auditor>,
    /// What is recorded; empty during warm-up.
    chains: Vec<ChainDraws>,
    fields: Vec<FieldDraws>,
    /// Transitions made.
    made: u32,
    clock: Clock,
    run: RunClock,
    kept: Instant,
    info: Vec<Info>,
    values: Vec<f64>,
    /// The model's φ of one chain.
    phi: Vec<f64>,
}

impl<'a> Batch<'a> {
    /// Chains where they were, or at their starts if there are no states.
    pub(super) fn at(
        members: &'a [Member<'a>],
        states: Vec<BatchState>,
        run: RunClock,
    ) -> Result<Self> {
        let Some(first) = members.first() else {
            return Err(Error::Numeric("a batch without chains".into()));
        };
        let kernel = if states.is_empty() { begin(members)? } else { go_on_at(members, &states)? };
        let adapter = |(b, (member, _)): (usize, (&Member<'_>, u32))| {
            Adapter::new(b, &member.plan.goals(), member.plan.model)
        };
        let ends = members.iter().scan(0, |end, member| {
            *end += member.ids.len();
            Some((member, *end))
        });
        let auditors =
            ends.map(|(member, end)| Auditor::new(member.plan, end - member.ids.len()..end));
        let count = lanes(members).count();
        let mut batch = Self {
            members,
            settings: first.plan.settings,
            info: vec![Info::default(); count],
            values: vec![0.0; kernel.system.phi.len()],
            phi: vec![0.0; kernel.system.phi.len() / count.max(1)],
            kernel,
            adapters: lanes(members).enumerate().map(adapter).collect(),
            auditors: auditors.collect(),
            chains: Vec::new(),
            fields: Vec::new(),
            made: 0,
            clock: Clock::after(0.0, !first.plan.settings.device.is_gpu()),
            run,
            kept: Instant::now(),
        };
        if states.is_empty() {
            batch.adapters.iter().for_each(|adapter| adapter.begin(&mut batch.kernel));
        } else {
            batch.go_on(states)?;
        }
        Ok(batch)
    }

    /// Takes up what was learnt and recorded before.
    fn go_on(&mut self, states: Vec<BatchState>) -> Result<()> {
        let on_thread = !self.settings.device.is_gpu();
        let mut adapters = self.adapters.iter_mut();
        let mut records = Vec::new();
        let mut chains = Vec::new();
        for ((member, auditor), state) in self.members.iter().zip(&mut self.auditors).zip(states) {
            self.made = state.transitions;
            self.clock = Clock::after(state.seconds, on_thread);
            auditor.go_on(state.audit);
            for (adapter, state) in adapters.by_ref().take(member.ids.len()).zip(state.adapters) {
                adapter.restore(state);
            }
            records.extend(state.records.into_iter().map(|record| (member, record)));
            chains.extend(state.chains);
        }
        if !records.is_empty() {
            self.choose()?;
        }
        for (member, mut record) in records {
            self.fields.push(record.take_field(&member.plan.field));
            self.chains.push(record);
        }
        for (b, chain) in chains.iter().enumerate() {
            self.kernel.restore(b, chain)?;
        }
        self.kernel.system.latents.status()
    }

    /// Says what is kept of draws.
    fn choose(&mut self) -> Result<()> {
        let plans: Vec<_> = lanes(self.members).map(|(member, _)| &member.plan.field).collect();
        self.kernel.system.latents.choose(&plans)
    }

    /// Makes transitions until there are so many, and lays the chains to rest.
    pub(super) fn run_to(mut self, last: u32) -> Result<Vec<BatchState>> {
        self.advance(last)?;
        self.complete()?;
        self.states()
    }

    /// Makes transitions until there are so many.
    fn advance(&mut self, last: u32) -> Result<()> {
        let warmup = self.settings.warmup;
        self.make_room(last.saturating_sub(warmup) as usize);
        while self.made < last {
            if self.made < warmup {
                self.warm_up()?;
            } else {
                if self.chains.is_empty() {
                    self.begin_drawing((last - warmup) as usize)?;
                }
                self.draw()?;
            }
            self.made += 1;
            let turning = self.made == warmup || self.made == last;
            self.keep_if_due(turning, self.made < last)?;
        }
        Ok(())
    }

    /// Makes room for so many draws in all, so that recording asks for no memory.
    fn make_room(&mut self, draws: usize) {
        self.chains.iter_mut().for_each(|record| record.make_room(draws));
        self.fields.iter_mut().for_each(|field| field.make_room(draws));
    }

    /// Seconds that each chain was computed in the present stage.
    fn share(&self) -> f64 {
        self.clock.share(self.info.len())
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
            true => (0..self.info.len()).map(|b| kernel.snapshot(b)).collect::<Result<_>>()?,
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
            keep_finite(self.members, kernel, &before)?;
        }
        self.tell(Stage::Warmup);
        Ok(())
    }

    /// Makes records with room for every draw.
    fn begin_drawing(&mut self, draws: usize) -> Result<()> {
        let warmup_seconds = self.share();
        for (b, (Member { plan, .. }, id)) in lanes(self.members).enumerate() {
            let hyperparameters = plan.model.hyperparameters().len();
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
        self.clock = Clock::after(0.0, !self.settings.device.is_gpu());
        self.choose()
    }

    fn draw(&mut self) -> Result<()> {
        let draw = self.made - self.settings.warmup;
        let kernel = &mut self.kernel;
        Auditor::transition(&mut self.auditors, draw, kernel, self.made, &mut self.info)?;
        self.kernel.system.latents.record(&mut self.fields);
        self.kernel.system.latents.status()?;
        self.tell(Stage::Sampling);
        let each = self.values.chunks_exact(self.values.len() / self.info.len());
        for ((draws, info), values) in self.chains.iter_mut().zip(&self.info).zip(each) {
            record(draws, info, values);
        }
        Ok(())
    }

    /// Tells of a transition of every chain.
    fn tell(&mut self, stage: Stage) {
        let m = self.values.len() / self.info.len();
        let each = self.kernel.system.phi.chunks_exact(m).zip(self.values.chunks_exact_mut(m));
        let all = lanes(self.members).zip(&self.info).zip(each).enumerate();
        for (b, (((member, id), info), (sampled, values))) in all {
            self.kernel.system.latents.hyperparameters(b, sampled, &mut self.phi);
            member.plan.model.hyperparameters().write_values(&self.phi, values);
            member.progress.transition(id, stage, info, values);
        }
    }

    /// Hands the state to the keeper where it is time to, or where a stage ends; stops if it is asked to, unless nothing is left.
    fn keep_if_due(&mut self, turning: bool, more: bool) -> Result<()> {
        let any = |asked: fn(&dyn Keeper) -> bool| self.members.iter().any(|m| asked(m.keeper));
        let (stopping, keeps) = (more && any(|k| k.is_stopping()), any(|k| k.keeps()));
        let elapsed = self.kept.elapsed();
        let is_due = self.members.iter().any(|member| member.keeper.is_due(elapsed));
        if !(stopping || is_due || turning && keeps) {
            return Ok(());
        }
        if keeps {
            let states = self.states()?;
            let mut kept = self.members.iter().zip(&states);
            kept.try_for_each(|(member, state)| member.keeper.keep(state))?;
            self.take_back(states);
        }
        self.kept = Instant::now();
        if stopping { Err(Error::Stopped) } else { Ok(()) }
    }

    /// The present state of each member, with the records moved into it.
    fn states(&mut self) -> Result<Vec<BatchState>> {
        let latents = &mut self.kernel.system.latents;
        if !self.fields.is_empty() {
            latents.deliver(&mut self.fields);
        }
        let warming = self.made < self.settings.warmup;
        let adapters = if warming { &self.adapters[..] } else { &[] };
        let count = self.info.len();
        let chains = (0..count).map(|b| self.kernel.snapshot(b)).collect::<Result<Vec<_>>>()?;
        self.kernel.system.latents.status()?;
        let mut records = std::mem::take(&mut self.chains);
        for (record, field) in records.iter_mut().zip(self.fields.drain(..)) {
            record.field = field;
        }
        let (mut adapters, mut chains) = (adapters.iter(), chains.into_iter());
        let mut records = records.into_iter();
        let (seconds, elapsed) = (self.share(), self.run.seconds());
        let state = |(member, auditor): (&Member<'_>, &Auditor)| {
            let own = member.ids.len();
            BatchState {
                ids: member.ids.to_vec(),
                transitions: self.made,
                seconds,
                elapsed,
                chains: chains.by_ref().take(own).collect(),
                adapters: adapters.by_ref().take(own).map(Adapter::state).collect(),
                records: records.by_ref().take(own).collect(),
                audit: auditor.found(),
            }
        };
        Ok(self.members.iter().zip(&self.auditors).map(state).collect())
    }

    /// Takes the records out of states again.
    fn take_back(&mut self, states: Vec<BatchState>) {
        for (member, state) in self.members.iter().zip(states) {
            for mut record in state.records {
                self.fields.push(record.take_field(&member.plan.field));
                self.chains.push(record);
            }
        }
    }

    /// Completes the records of the draws so far.
    fn complete(&mut self) -> Result<()> {
        if self.chains.is_empty() {
            return Ok(());
        }
        self.kernel.system.latents.finish(&mut self.fields);
        self.kernel.system.latents.status()?;
        let seconds = self.share();
        for (b, draws) in self.chains.iter_mut().enumerate() {
            draws.seconds = seconds;
            draws.gradients = self.kernel.system.latents.gradients(b) - draws.warmup_gradients;
        }
        Ok(())
    }
}

/// A change of coordinates keeps the latents, so the density there is still finite, but for rounding where data are extreme: a
/// chain to which that happens keeps the coordinates it had.
fn keep_finite(members: &[Member<'_>], kernel: &mut Kernel, before: &[ChainState]) -> Result<()> {
    for (b, (_, id)) in lanes(members).enumerate() {
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
