//! Runs one problem in one way and takes its figures.

use cpu_time::ProcessTime;
use sshmc::model::Model;
use sshmc::report::Summary;
use sshmc::sample::{self, Info, Progress, Settings, Stage};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What one run costs and yields.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    /// Smallest bulk effective size of any hyperparameter or site, for each 1000 latent gradients.
    pub(crate) per_1000_gradients: f64,
    /// The same for each CPU second after warm-up.
    pub(crate) per_second: f64,
    /// The same for each CPU second, warm-up and all that precedes it included.
    pub(crate) per_second_of_all: f64,
    /// What had that smallest size: a hyperparameter, or the field.
    pub(crate) slowest: String,
    /// Largest R-hat of any hyperparameter or site.
    pub(crate) rhat: f64,
    /// Mean acceptance probability.
    pub(crate) acceptance: f64,
    /// Mean steps of a trajectory.
    pub(crate) steps: f64,
    /// Divergent transitions.
    pub(crate) divergences: u64,
    /// Draws that the gradients of a chain's warm-up would have paid for.
    pub(crate) warmup_draws: f64,
    /// CPU time after warm-up over gradients, everything included.
    pub(crate) microseconds: f64,
}

/// Runs a model on one thread.
pub(crate) fn measure(model: Model, settings: &Settings) -> sshmc::Result<Figures> {
    let settings = Settings { threads: Some(1), ..settings.clone() };
    let watch = Stopwatch::new(&settings);
    let fit = sample::run(&Arc::new(model), &settings, &watch)?;
    Ok(Figures::new(&Summary::new(&fit), watch.seconds(), watch.seconds_of_all()))
}

impl Figures {
    fn new(summary: &Summary, seconds: f64, all: f64) -> Self {
        let (slowest, ess) = slowest(summary);
        let sampler = &summary.sampler;
        let gradients = sampler.gradients.max(1) as f64;
        Self {
            per_1000_gradients: 1000.0 * ess / gradients,
            per_second: ess / seconds,
            per_second_of_all: ess / all,
            slowest,
            rhat: worst_rhat(summary),
            acceptance: sampler.accept,
            steps: sampler.steps,
            divergences: sampler.divergences,
            warmup_draws: sampler.warmup_gradients as f64 * f64::from(summary.draws) / gradients,
            microseconds: 1e6 * seconds / gradients,
        }
    }
}

/// The quantity with the smallest effective size. One that has none did not move, so its size is zero.
fn slowest(summary: &Summary) -> (String, f64) {
    let size = |ess: f64| if ess.is_nan() { 0.0 } else { ess };
    let parameters = summary.parameters.iter().map(|(name, p)| (name.as_str(), size(p.ess_bulk)));
    let field = ("field", summary.field.ess_bulk.min.map_or(0.0, size));
    let least = parameters.fold(field, |best, next| if next.1 < best.1 { next } else { best });
    (least.0.to_owned(), least.1)
}

/// The largest R-hat; infinite if a quantity has none.
fn worst_rhat(summary: &Summary) -> f64 {
    let parameters = summary.parameters.values().map(|p| p.rhat);
    let all = parameters.chain([summary.field.rhat_max.unwrap_or(f64::INFINITY)]);
    all.map(|r| if r.is_nan() { f64::INFINITY } else { r }).fold(0.0, f64::max)
}

/// Adds up the CPU time of all chains after their warm-up, and takes that of everything; chains run one after the other.
struct Stopwatch {
    begun: Clock,
    warmup: u32,
    draws: u32,
    state: Mutex<Watched>,
}

struct Watched {
    /// Transitions of the current chain so far.
    transitions: u32,
    since: Clock,
    total: Duration,
    /// From the beginning to the last draw so far.
    all: Duration,
}

impl Stopwatch {
    fn new(settings: &Settings) -> Self {
        let (total, all) = (Duration::ZERO, Duration::ZERO);
        let begun = Clock::start();
        let state = Watched { transitions: 0, since: Clock::start(), total, all };
        Self { begun, warmup: settings.warmup, draws: settings.draws, state: Mutex::new(state) }
    }

    fn seconds(&self) -> f64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).total.as_secs_f64()
    }

    fn seconds_of_all(&self) -> f64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).all.as_secs_f64()
    }
}

impl Progress for Stopwatch {
    fn transition(&self, _: u32, stage: Stage, _: &Info, _: &[f64]) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.transitions += 1;
        if stage == Stage::Warmup && state.transitions == self.warmup {
            state.since = Clock::start();
        }
        if stage == Stage::Sampling && state.transitions == self.warmup + self.draws {
            let time = state.since.elapsed();
            state.total += time;
            state.all = self.begun.elapsed();
            // Without warm-up the next chain's time begins here.
            state.since = Clock::start();
            state.transitions = 0;
        }
    }
}

/// CPU time of the process, or wall time where the system does not tell.
struct Clock {
    process: Option<ProcessTime>,
    wall: Instant,
}

impl Clock {
    fn start() -> Self {
        Self { process: ProcessTime::try_now().ok(), wall: Instant::now() }
    }

    fn elapsed(&self) -> Duration {
        let process = self.process.and_then(|start| start.try_elapsed().ok());
        process.unwrap_or_else(|| self.wall.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sshmc::model::funnel;

    #[test]
    fn figures_agree_with_each_other_and_repeat() {
        let settings = Settings { chains: 2, warmup: 100, draws: 200, ..Settings::default() };
        let take = || measure(funnel(20, &[]).unwrap(), &settings).unwrap();
        let (one, two) = (take(), take());
        assert_eq!(one.per_1000_gradients, two.per_1000_gradients);
        assert!(one.per_1000_gradients > 0.0 && one.microseconds > 0.0);
        // ESS/s over ESS/gradient is gradients a second.
        let ratio = one.per_second / one.per_1000_gradients * one.microseconds / 1000.0;
        assert!((ratio - 1.0).abs() < 1e-12, "{ratio}");
        assert!(one.per_second_of_all < one.per_second, "warm-up takes time");
        assert!(["v", "field"].contains(&one.slowest.as_str()));
        assert!(one.acceptance > 0.3 && one.acceptance <= 1.0 && one.steps >= 1.0);
        assert!(one.warmup_draws > 20.0 && one.warmup_draws < 1000.0, "{}", one.warmup_draws);
    }

    #[test]
    fn time_passes_only_after_warm_up() {
        let watch = Stopwatch { warmup: 2, draws: 1, ..Stopwatch::new(&Settings::default()) };
        let pass = |stage| watch.transition(0, stage, &Info::default(), &[]);
        let work = || (0..2_000_000u64).fold(0, |a, b| std::hint::black_box(a ^ b));
        work();
        pass(Stage::Warmup);
        pass(Stage::Warmup);
        assert_eq!((watch.seconds(), watch.seconds_of_all()), (0.0, 0.0));
        work();
        pass(Stage::Sampling);
        let first = watch.seconds();
        assert!(first > 0.0 && watch.seconds_of_all() > first);
        pass(Stage::Warmup);
        assert_eq!(watch.seconds(), first);
    }
}
