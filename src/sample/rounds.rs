//! Takes the chains of a run from look to look: all draw to the next size, all are looked at together, and they go on if need be.
//!
//! Between two rounds chains are at rest: their states are in memory, and from them they go on with the same bits. So it does not matter
//! which of them are computed together, and whether a state has been on a disk in between.

use super::batch::Batch;
use super::clock::RunClock;
use super::member::{Member, begin, go_on_at, lanes};
use super::plan::Plan;
use super::recall::recall;
use super::rival::{RivalAdapter, RivalChain};
use super::settings::{Method, Settings};
use super::state::{BatchState, EnergyAudit};
use super::until::{Check, Ended, Until};
use super::warmup::SshmcAdapter;
use crate::draws::ChainDraws;
use crate::error::{Error, Result};
use crate::model::Model;
use rayon::prelude::*;
use std::sync::Arc;

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

/// Chains of one model that are computed together, and where they are.
struct Lot<'a> {
    /// Which batch they belong to.
    batch: usize,
    member: Member<'a>,
    /// None before they begin.
    state: Option<BatchState>,
}

impl Lot<'_> {
    /// Transitions made.
    fn made(&self) -> u32 {
        self.state.as_ref().map_or(0, |state| state.transitions)
    }
}

/// What the chains of a model do next.
enum Step {
    /// Go on to so many transitions.
    Go(u32),
    /// Nothing.
    Done(Ended),
}

/// Runs all batches and gathers what the chains of each model recorded.
pub(super) fn run_batches(
    plans: &[Plan<'_>],
    batches: &[Vec<Member<'_>>],
    settings: &Settings,
    clock: RunClock,
) -> Result<Vec<Fit>> {
    let threads = pool(settings)?;
    let mut lots = threads.install(|| recall_all(batches, settings))?;
    let before = lots.iter().filter_map(|lot| lot.state.as_ref()).map(|state| state.elapsed);
    let rounds = Rounds { plans, settings, clock: clock.after(before.fold(0.0, f64::max)) };
    // What was kept on the way has no figures of the whole yet, which those have that came to rest.
    let kept = into_groups(&mut lots, |lot| Some(lot.made()).filter(|&made| made > 0));
    rounds.advance(&mut lots, kept, &threads)?;
    loop {
        let steps = threads.install(|| rounds.steps(&lots));
        let groups = into_groups(&mut lots, |lot| match steps[lot.member.part] {
            Step::Go(aim) if lot.made() < aim => Some(aim),
            _ => None,
        });
        if groups.is_empty() {
            return rounds.gather(lots, &steps);
        }
        rounds.advance(&mut lots, groups, &threads)?;
    }
}

/// All chains where their keepers have them.
fn recall_all<'a>(batches: &[Vec<Member<'a>>], settings: &Settings) -> Result<Vec<Lot<'a>>> {
    let states = |members: &Vec<Member<'a>>| -> Result<Vec<BatchState>> {
        // Series that are fitted until they can be trusted end at different times, and go on by themselves.
        let each = members.chunks(if settings.until.is_some() { 1 } else { members.len().max(1) });
        Ok(each.map(recall).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    };
    let states: Vec<_> = batches.par_iter().map(states).collect::<Result<_>>()?;
    let mut lots = Vec::new();
    for (batch, (members, states)) in batches.iter().zip(states).enumerate() {
        let mut states: Vec<Option<BatchState>> = states.into_iter().map(Some).collect();
        for member in members {
            let own = |state: &&mut Option<BatchState>| {
                state.as_ref().is_some_and(|state| state.ids == member.ids)
            };
            let state = states.iter_mut().find(own).and_then(Option::take);
            if let Some(state) = &state {
                let told = |id: &u32| member.progress.resumed(*id, state.transitions);
                member.ids.iter().for_each(told);
            }
            lots.push(Lot { batch, member: *member, state });
        }
    }
    Ok(lots)
}

/// Lots that are computed together, and to how many transitions.
type Group<'a> = (Vec<Lot<'a>>, u32);

/// Takes out the lots that have an aim, those of a batch together that have come as far and go as far.
fn into_groups<'a>(
    lots: &mut Vec<Lot<'a>>,
    aim: impl Fn(&Lot<'a>) -> Option<u32>,
) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut at_rest = Vec::new();
    for lot in lots.drain(..) {
        let Some(aim) = aim(&lot) else {
            at_rest.push(lot);
            continue;
        };
        let alike = |group: &&mut Group<'a>| {
            let first = &group.0[0];
            group.1 == aim && first.batch == lot.batch && first.made() == lot.made()
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.0.push(lot),
            None => groups.push((vec![lot], aim)),
        }
    }
    *lots = at_rest;
    groups
}

/// What all rounds share.
struct Rounds<'a> {
    plans: &'a [Plan<'a>],
    settings: &'a Settings,
    clock: RunClock,
}

impl Rounds<'_> {
    /// Computes groups and puts their lots back in order: a GPU has room for one batch, and threads have a chain each.
    fn advance<'b>(
        &self,
        lots: &mut Vec<Lot<'b>>,
        groups: Vec<Group<'b>>,
        threads: &rayon::ThreadPool,
    ) -> Result<()> {
        let run = |group| self.run(group);
        let ran: Vec<Vec<Lot<'b>>> = match self.settings.device.is_gpu() {
            true => groups.into_iter().map(run).collect::<Result<_>>()?,
            false => threads.install(|| groups.into_par_iter().map(run).collect::<Result<_>>())?,
        };
        lots.extend(ran.into_iter().flatten());
        lots.sort_by_key(|lot| (lot.batch, lot.member.part));
        Ok(())
    }

    /// Computes a group.
    fn run<'b>(&self, (mut lots, aim): Group<'b>) -> Result<Vec<Lot<'b>>> {
        let members: Vec<Member<'_>> = lots.iter().map(|lot| lot.member).collect();
        let states: Vec<BatchState> = lots.iter_mut().filter_map(|lot| lot.state.take()).collect();
        let states = self.run_members(&members, states, aim)?;
        lots.iter_mut().zip(states).for_each(|(lot, state)| lot.state = Some(state));
        Ok(lots)
    }

    /// Takes chains from their states, or from their starts if there are none, to so many transitions.
    fn run_members(
        &self,
        members: &[Member<'_>],
        states: Vec<BatchState>,
        aim: u32,
    ) -> Result<Vec<BatchState>> {
        if self.settings.method == Method::Sshmc {
            let kernel =
                if states.is_empty() { begin(members)? } else { go_on_at(members, &states)? };
            let goals = lanes(members).map(|(member, _)| (member.plan.goals(), member.plan.model));
            let adapter = SshmcAdapter::new(goals);
            return Batch::new(members, kernel, adapter, self.clock).run(states, aim);
        }
        // On the CPU each chain is a batch of its own, and the other methods run there alone.
        let (plan, id) = (members[0].plan, members[0].ids[0]);
        let (chain, adapter) = (RivalChain::new(plan, id)?, RivalAdapter::new(plan));
        Batch::new(members, chain, adapter, self.clock).run(states, aim)
    }

    /// What each model does next.
    fn steps(&self, lots: &[Lot<'_>]) -> Vec<Step> {
        let step = |part: usize| {
            let own: Vec<&Lot<'_>> = lots.iter().filter(|lot| lot.member.part == part).collect();
            match self.settings.until {
                Some(until) => self.step(&own, until),
                None => self.to_the_end(&own),
            }
        };
        (0..self.plans.len()).map(step).collect()
    }

    /// What a model does next whose number of draws is known.
    fn to_the_end(&self, own: &[&Lot<'_>]) -> Step {
        let last = self.settings.warmup + self.settings.draws;
        match own.iter().all(|lot| lot.made() >= last) {
            true => Step::Done(Ended::Asked),
            false => Step::Go(last),
        }
    }

    /// What a model does next that is to be trusted.
    fn step(&self, own: &[&Lot<'_>], until: Until) -> Step {
        let (warmup, first) = (self.settings.warmup, self.settings.draws);
        let least = own.iter().map(|lot| lot.made()).min().unwrap_or(0);
        let most = own.iter().map(|lot| lot.made()).max().unwrap_or(0);
        if until.time.is_some() && least < warmup {
            // Then it is known how long a transition takes.
            return Step::Go(warmup.max(most));
        }
        let (together, draws) = (least == most, most.saturating_sub(warmup));
        // Chains that are not together yet have not been looked at there.
        let size = until.size(first, draws + u32::from(together));
        let affordable = until.affordable(draws, most, self.clock.seconds());
        let aim = size.min(affordable).max(draws);
        let out_of_time = together && draws > 0 && aim == draws && draws < until.most;
        if !(together && until.looks_at(first, draws) || out_of_time) {
            return Step::Go(warmup + aim);
        }
        let check = self.look(own, until);
        let ended = match check.is_trusted() {
            true => Some(Ended::Trusted),
            false if draws >= until.most => Some(Ended::MostDraws),
            false => out_of_time.then_some(Ended::OutOfTime),
        };
        let next = ended.is_none().then_some(aim);
        if let Some(lot) = own.first() {
            lot.member.progress.checked(&check, next);
        }
        ended.map_or(Step::Go(warmup + aim), Step::Done)
    }

    /// Looks at all chains of a model.
    fn look(&self, own: &[&Lot<'_>], until: Until) -> Check {
        let states = own.iter().filter_map(|lot| lot.state.as_ref());
        let chains: Vec<&ChainDraws> = states.flat_map(|state| &state.records).collect();
        let part = own.first().map_or(0, |lot| lot.member.part);
        Check::new(&chains, &self.plans[part].model.hyperparameters().names(), until)
    }

    /// What came out.
    fn gather(&self, lots: Vec<Lot<'_>>, steps: &[Step]) -> Result<Vec<Fit>> {
        let mut fits: Vec<Fit> = self.plans.iter().map(|plan| empty(plan, self.settings)).collect();
        for (fit, step) in fits.iter_mut().zip(steps) {
            fit.elapsed = self.clock.seconds();
            if let Step::Done(ended) = step {
                fit.ended = *ended;
            }
        }
        for lot in lots {
            let fit = &mut fits[lot.member.part];
            let Some(state) = lot.state else {
                return Err(Error::Numeric("a chain was not run".into()));
            };
            fit.settings.draws = state.transitions.saturating_sub(self.settings.warmup);
            fit.chains.extend(state.records);
            fit.audit = EnergyAudit::worst_of(fit.audit, state.audit);
        }
        Ok(fits)
    }
}

fn empty(plan: &Plan<'_>, settings: &Settings) -> Fit {
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

#[cfg(test)]
mod tests {
    use super::super::progress::Progress;
    use super::super::run::{run, run_kept};
    use super::super::state::Keeper;
    use super::*;
    use crate::draws::Info;
    use crate::model::funnel;
    use crate::sample::Stage;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    /// Remembers what each look has shown, and how far the chains were to go.
    #[derive(Default)]
    struct Looks(Mutex<Vec<(u32, bool, Option<u32>)>>, Mutex<Vec<Check>>);

    impl Progress for Looks {
        fn transition(&self, _: u32, _: Stage, _: &Info, _: &[f64]) {}

        fn checked(&self, check: &Check, next: Option<u32>) {
            self.0.lock().unwrap().push((check.draws, check.is_trusted(), next));
            self.1.lock().unwrap().push(check.clone());
        }
    }

    /// Stops a run when its chains have asked so often, and has their newest states.
    #[derive(Default)]
    struct Stopper {
        patience: AtomicU32,
        kept: Mutex<Vec<BatchState>>,
    }

    impl Keeper for Stopper {
        fn recall(&self, ids: &[u32], latest: u32) -> Result<Option<BatchState>> {
            let kept = self.kept.lock().unwrap();
            let wanted = |state: &&BatchState| state.ids == ids && state.transitions <= latest;
            Ok(kept.iter().rev().find(wanted).cloned())
        }

        fn keep(&self, state: &BatchState) -> Result<()> {
            self.kept.lock().unwrap().push(state.clone());
            Ok(())
        }

        fn keeps(&self) -> bool {
            true
        }

        fn is_stopping(&self) -> bool {
            let less = |patience: u32| Some(patience.saturating_sub(1));
            self.patience.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less) == Ok(0)
        }
    }

    fn model() -> Arc<Model> {
        Arc::new(funnel(4, &[]).unwrap())
    }

    /// Two chains that are looked at after 25 draws, 50, 100 and so on.
    fn settings(until: Until) -> Settings {
        let (warmup, draws) = (250, 25);
        Settings { chains: 2, warmup, draws, seed: 3, until: Some(until), ..Settings::default() }
    }

    /// Every draw, to the last bit.
    fn bits(fit: &Fit) -> String {
        let chain = |c: &ChainDraws| {
            let field =
                (c.field.mean().to_vec(), c.field.variance(), c.field.whole_values().to_vec());
            format!("{} {:?} {:?} {:?} {field:?}", c.chain, c.parameters, c.energy, c.gradients)
        };
        fit.chains.iter().map(chain).collect()
    }

    const MODEST: Until = Until { ess: 120.0, rhat: 1.05, most: 3200, time: None };

    #[test]
    fn chains_go_on_until_they_are_trusted_and_have_the_bits_of_a_run_of_that_length() {
        let (model, looks) = (model(), Looks::default());
        let fit = run(&model, &settings(MODEST), &looks).unwrap();
        let found = looks.1.into_inner().unwrap();
        let looks = looks.0.into_inner().unwrap();
        let (last, before) = looks.split_last().unwrap();
        let ended = ((fit.settings.draws, true, None), Ended::Trusted);
        assert_eq!((*last, fit.ended), ended, "{found:?}");
        // Each look but the last has found too little, and the next is at twice the size.
        let sizes: Vec<u32> = (0..before.len()).map(|k| 25 << k).collect();
        let want: Vec<_> = sizes.iter().map(|&n| (n, false, Some(2 * n))).collect();
        assert!(!before.is_empty() && before == want, "{looks:?}");
        let exact = Settings { draws: last.0, until: None, ..settings(MODEST) };
        assert_eq!(bits(&fit), bits(&run(&model, &exact, &()).unwrap()));
        assert!(fit.chains.iter().all(|chain| chain.energy.len() == last.0 as usize));
    }

    #[test]
    fn a_run_that_is_stopped_anywhere_ends_where_it_would_have_ended() {
        let model = model();
        let settings = settings(MODEST);
        let whole = run(&model, &settings, &()).unwrap();
        // Stopped during warm-up, within a round, at its end, and again and again; on one thread chains are not together then.
        for (threads, pieces) in [
            (1, vec![30]),
            (1, vec![400, 1, 40]),
            (2, vec![400, 2, 60]),
            (1, vec![20; 20]),
            (2, vec![570]),
        ] {
            let stopper = Stopper::default();
            let settings = Settings { threads: Some(threads), ..settings.clone() };
            for &piece in &pieces {
                stopper.patience.store(piece, Ordering::Relaxed);
                let stopped = run_kept(&model, &settings, &(), &stopper);
                assert!(matches!(stopped, Err(Error::Stopped)), "{pieces:?}: it was not stopped");
            }
            stopper.patience.store(u32::MAX, Ordering::Relaxed);
            let fit = run_kept(&model, &settings, &(), &stopper).unwrap();
            assert_eq!(fit.settings.draws, whole.settings.draws, "{pieces:?}");
            assert!(bits(&fit) == bits(&whole), "{pieces:?}");
        }
    }

    /// Methods, those that learn coordinates too; each is stopped during warm-up, at its end and while it draws.
    #[test]
    fn every_method_that_is_stopped_ends_where_it_would_have_ended() {
        use super::super::settings::CoordinateChoice::{Auto, Informed};
        let model = model();
        for (method, coordinates) in [
            (Method::Hmc, Auto),
            (Method::Hmc, Informed),
            (Method::HmcGibbs, Informed),
            (Method::RmhmcGibbs, Auto),
            (Method::RmhmcSoftAbs, Auto),
            (Method::Nuts, Informed),
        ] {
            let until = Until { ess: 20.0, rhat: 5.0, most: 100, time: None };
            let settings = Settings {
                method,
                coordinates,
                warmup: 60,
                steps: Some(3),
                threads: Some(1),
                ..settings(until)
            };
            let whole = run(&model, &settings, &()).unwrap();
            let stopper = Stopper::default();
            for piece in [10, 25, 30, 1, 40, 23] {
                stopper.patience.store(piece, Ordering::Relaxed);
                let stopped = run_kept(&model, &settings, &(), &stopper);
                assert!(matches!(stopped, Err(Error::Stopped)), "{method:?} was not stopped");
            }
            stopper.patience.store(u32::MAX, Ordering::Relaxed);
            let fit = run_kept(&model, &settings, &(), &stopper).unwrap();
            assert_eq!((fit.settings.draws, fit.ended), (whole.settings.draws, whole.ended));
            assert!(bits(&fit) == bits(&whole), "{method:?}, {coordinates:?}");
        }
    }

    #[test]
    fn a_run_ends_at_its_limits() {
        let model = model();
        let strict = Until { ess: 1e9, most: 110, ..MODEST };
        let fit = run(&model, &settings(strict), &()).unwrap();
        assert_eq!((fit.settings.draws, fit.ended), (110, Ended::MostDraws));
        let short = Until { time: Some(Duration::ZERO), ..strict };
        let fit = run(&model, &settings(short), &()).unwrap();
        assert_eq!((fit.settings.draws, fit.ended), (20, Ended::OutOfTime));
        assert!(fit.elapsed > 0.0);
        // With time enough the limit of draws is met as before.
        let long = Until { time: Some(Duration::from_secs(1 << 30)), ..strict };
        let fit = run(&model, &settings(long), &()).unwrap();
        assert_eq!((fit.settings.draws, fit.ended), (110, Ended::MostDraws));
    }

    #[test]
    fn seconds_of_computing_survive_a_stop() {
        let (model, stopper) = (model(), Stopper::default());
        let settings = Settings { draws: 400, until: None, ..settings(MODEST) };
        stopper.patience.store(1200, Ordering::Relaxed);
        assert!(run_kept(&model, &settings, &(), &stopper).is_err());
        let kept = stopper.kept.lock().unwrap().last().cloned().unwrap();
        assert!(kept.seconds > 0.0 && kept.elapsed >= kept.seconds / 2.0);
        stopper.patience.store(u32::MAX, Ordering::Relaxed);
        let fit = run_kept(&model, &settings, &(), &stopper).unwrap();
        let own = fit.chains.iter().find(|chain| kept.ids == [chain.chain]).unwrap();
        assert!(own.seconds >= kept.seconds, "{} {}", own.seconds, kept.seconds);
        assert!(fit.elapsed >= kept.elapsed && own.warmup_seconds > 0.0);
    }
}
