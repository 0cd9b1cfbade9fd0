//! Takes a batch of chains, of one model or of several, in lockstep from their starts, or from where they were, to their last draws.

use super::audit::{Audit, Auditor};
use super::clock::{Clock, RunClock};
use super::member::{Member, lanes};
use super::plan::Plan;
use super::progress::Stage;
use super::settings::Settings;
use super::state::{BatchState, Keeper};
use super::transition::{Adapter, Transition, Watch};
use crate::draws::{ChainDraws, FieldDraws, Info};
use crate::error::{Error, Result};
use std::time::Instant;

/// A batch on its way. Its lanes are the chains of its members, one member after the other.
pub(super) struct Batch<'a, T, A> {
    members: &'a [Member<'a>],
    settings: &'a Settings,
    /// The chains, and what tunes them.
    moving: T,
    adapter: A,
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

impl<'a, T: Transition, A: Adapter<T>> Batch<'a, T, A> {
    /// Chains of members, at their starts.
    pub(super) fn new(members: &'a [Member<'a>], moving: T, adapter: A, run: RunClock) -> Self {
        // Members of a batch are alike, so that one speaks for all.
        let plan = members[0].plan;
        let settings = plan.settings;
        let audited = settings.device.is_gpu().then_some(settings.draws);
        let ends = members.iter().scan(0, |end, member| {
            *end += member.ids.len();
            Some((member.plan, *end - member.ids.len()..*end))
        });
        let auditor =
            |(plan, own): (&Plan<'_>, _)| Auditor::new(plan.model, &plan.mass, own, audited);
        let auditors = ends.map(auditor).collect();
        let (count, m) = (lanes(members).count(), plan.model.hyperparameters().len());
        Self {
            members,
            settings,
            moving,
            adapter,
            auditors,
            chains: Vec::new(),
            fields: Vec::new(),
            made: 0,
            clock: Clock::after(0.0, !settings.device.is_gpu()),
            run,
            kept: Instant::now(),
            info: vec![Info::default(); count],
            values: vec![0.0; count * m],
            phi: vec![0.0; m],
        }
    }

    /// Takes the chains from their states, or from their starts if there are none, to so many transitions, and lays them to rest.
    pub(super) fn run(mut self, states: Vec<BatchState>, last: u32) -> Result<Vec<BatchState>> {
        match states.is_empty() {
            true => self.adapter.begin(&mut self.moving),
            false => self.go_on(states)?,
        }
        self.advance(last)?;
        self.complete()?;
        self.states()
    }

    /// Takes up what was learnt and recorded before.
    fn go_on(&mut self, states: Vec<BatchState>) -> Result<()> {
        let on_thread = !self.settings.device.is_gpu();
        let (mut records, mut chains, mut adapters) = (Vec::new(), Vec::new(), Vec::new());
        for ((member, auditor), state) in self.members.iter().zip(&mut self.auditors).zip(states) {
            self.made = state.transitions;
            self.clock = Clock::after(state.seconds, on_thread);
            auditor.go_on(state.audit);
            adapters.extend(state.adapters);
            records.extend(state.records.into_iter().map(|record| (member, record)));
            chains.extend(state.chains);
        }
        self.adapter.restore(adapters)?;
        if !records.is_empty() {
            self.choose()?;
        }
        for (member, mut record) in records {
            self.fields.push(record.take_field(&member.plan.field));
            self.chains.push(record);
        }
        let mut each = chains.iter().enumerate();
        each.try_for_each(|(b, chain)| self.moving.restore(b, chain))?;
        self.moving.status()
    }

    /// Says what is kept of draws.
    fn choose(&mut self) -> Result<()> {
        let plans: Vec<_> = lanes(self.members).map(|(member, _)| &member.plan.field).collect();
        self.moving.recorder().choose(&plans)
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
        self.moving.step(self.made, None, &mut self.info)?;
        self.moving.status()?;
        self.adapter.update(self.made, &mut self.moving, &self.info)?;
        if self.made + 1 == self.settings.warmup {
            self.adapter.finish(&mut self.moving);
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
                step_size: self.moving.step_size(b),
                warmup_gradients: self.moving.gradients(b),
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
        let mut audit = Audit::of(&mut self.auditors, draw);
        let watch = audit.as_mut().map(|audit| audit as &mut dyn Watch);
        self.moving.step(self.made, watch, &mut self.info)?;
        self.moving.recorder().record(&mut self.fields);
        self.moving.status()?;
        self.tell(Stage::Sampling);
        let each = self.values.chunks_exact(self.values.len() / self.info.len());
        for ((draws, info), values) in self.chains.iter_mut().zip(&self.info).zip(each) {
            draws.record(info, values);
        }
        Ok(())
    }

    /// Tells of a transition of every chain.
    fn tell(&mut self, stage: Stage) {
        let m = self.values.len() / self.info.len();
        let all = lanes(self.members).zip(&self.info).zip(self.values.chunks_exact_mut(m));
        for (b, (((member, id), info), values)) in all.enumerate() {
            self.moving.hyperparameters(b, &mut self.phi);
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
        if !self.fields.is_empty() {
            self.moving.recorder().deliver(&mut self.fields);
        }
        let warming = self.made < self.settings.warmup;
        let adapters = if warming { self.adapter.state() } else { Vec::new() };
        let count = self.info.len();
        let chains = (0..count).map(|b| self.moving.snapshot(b)).collect::<Result<Vec<_>>>()?;
        self.moving.status()?;
        let mut records = std::mem::take(&mut self.chains);
        for (record, field) in records.iter_mut().zip(self.fields.drain(..)) {
            record.field = field;
        }
        let (mut adapters, mut chains) = (adapters.into_iter(), chains.into_iter());
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
                adapters: adapters.by_ref().take(own).collect(),
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
        self.moving.recorder().finish(&mut self.fields);
        self.moving.status()?;
        let seconds = self.share();
        for (b, draws) in self.chains.iter_mut().enumerate() {
            draws.seconds = seconds;
            draws.gradients = self.moving.gradients(b) - draws.warmup_gradients;
        }
        Ok(())
    }
}
