//! Shows how far a run is: on a terminal a bar with its acceptance and R-hat so far, and everywhere what each look at it has shown.

use super::screen::Screen;
use indicatif::{ProgressBar, ProgressStyle};
use sshmc::diagnose::split_rhat_plain;
use sshmc::model::Model;
use sshmc::sample::{Check, Info, Progress, Settings, Stage};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Weight of the newest transition in the running mean of the acceptance: it looks back about a hundred transitions.
const NEWEST: f64 = 0.01;
/// Time between two looks at R-hat, which takes a pass over all draws so far.
const PAUSE: Duration = Duration::from_millis(500);
/// Fewest draws of a chain before R-hat says anything.
const FEWEST: usize = 20;

const TEMPLATE: &str = "{percent:>3} % [{bar:24}] {eta:>4} left, {wide_msg}";

/// What is shown of one fit.
pub(crate) struct Watch<'a> {
    /// On a terminal.
    bar: Option<Bar>,
    screen: Mutex<&'a mut Screen>,
}

impl<'a> Watch<'a> {
    /// With a bar if standard error is a terminal and the user did not ask for silence.
    pub(crate) fn open(
        model: &Model,
        settings: &Settings,
        screen: &'a mut Screen,
        quiet: bool,
    ) -> Self {
        Self { bar: Bar::open(model, settings, quiet), screen: Mutex::new(screen) }
    }
}

impl Progress for Watch<'_> {
    fn resumed(&self, chain: u32, transitions: u32) {
        if let Some(bar) = &self.bar {
            bar.resumed(chain, transitions);
        }
    }

    fn transition(&self, chain: u32, stage: Stage, info: &Info, values: &[f64]) {
        if let Some(bar) = &self.bar {
            bar.transition(chain, stage, info, values);
        }
    }

    fn checked(&self, check: &Check, next: Option<u32>) {
        let line = format!("  {}\n", describe(check, next));
        let tell = || {
            if let Ok(mut screen) = self.screen.lock() {
                // Whoever cannot be told of the progress is told of the failure at the end.
                let _ = screen.tell(&line);
            }
        };
        match &self.bar {
            Some(bar) => {
                bar.bar.suspend(tell);
                bar.checked(check, next);
            }
            None => tell(),
        }
    }
}

/// What a look at the chains has shown, and what comes next.
fn describe(check: &Check, next: Option<u32>) -> String {
    let next = match next {
        Some(draws) => format!("on to {draws}"),
        None if check.is_trusted() => "enough".to_owned(),
        None => "not enough, but no more are to be made".to_owned(),
    };
    format!("{} draws of each chain: {}; {next}", check.draws, shown(check))
}

/// The figures of a look beside those that are wanted.
fn shown(check: &Check) -> String {
    let (ess, slowest) = &check.ess;
    let rhat = check.rhat.as_ref().map_or(String::new(), |(rhat, worst)| {
        format!(", largest R-hat {rhat:.4} ({worst}; at most {} wanted)", check.wanted.rhat)
    });
    format!("smallest ESS {ess:.0} ({slowest}; {} wanted){rhat}", check.wanted.ess)
}

/// A progress bar on a terminal.
#[derive(Debug)]
struct Bar {
    bar: ProgressBar,
    state: Mutex<State>,
    /// Number of the first chain, chains, and warm-up transitions.
    first: u32,
    chains: u32,
    warmup: u32,
}

#[derive(Debug)]
struct State {
    names: Vec<String>,
    acceptance: f64,
    stage: Stage,
    /// What the last look has shown, and how far the chains go next.
    last: Option<String>,
    /// Draws by chain and hyperparameter.
    draws: Vec<Vec<Vec<f64>>>,
    shown: Instant,
}

impl Bar {
    /// A bar if standard error is a terminal and the user did not ask for silence.
    fn open(model: &Model, settings: &Settings, quiet: bool) -> Option<Self> {
        if quiet || !std::io::stderr().is_terminal() {
            return None;
        }
        let transitions = u64::from(settings.warmup) + u64::from(settings.draws);
        let bar = ProgressBar::new(u64::from(settings.chains) * transitions);
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message("warming up");
        let names = model.hyperparameters().names().iter().map(ToString::to_string).collect();
        let state = Mutex::new(State::new(names, settings.chains as usize));
        let Settings { first_chain: first, chains, warmup, .. } = *settings;
        Some(Self { bar, state, first, chains, warmup })
    }
}

impl Bar {
    fn resumed(&self, _: u32, transitions: u32) {
        self.bar.inc(u64::from(transitions));
        let all = u64::from(self.chains) * u64::from(transitions);
        self.bar.set_length(self.bar.length().unwrap_or(0).max(all));
    }

    fn transition(&self, chain: u32, stage: Stage, info: &Info, values: &[f64]) {
        // A chain that failed elsewhere is reported there; the bar just goes on.
        if let Ok(mut state) = self.state.lock() {
            state.note((chain - self.first) as usize, stage, info.acceptance, values);
            if state.shown.elapsed() > PAUSE {
                state.shown = Instant::now();
                self.bar.set_message(state.message());
            }
        }
        self.bar.inc(1);
    }

    fn checked(&self, check: &Check, next: Option<u32>) {
        let draws = u64::from(next.unwrap_or(check.draws));
        self.bar.set_length(u64::from(self.chains) * (u64::from(self.warmup) + draws));
        if let Ok(mut state) = self.state.lock() {
            let (ess, _) = &check.ess;
            state.last = Some(format!(
                "to {draws}, ESS {ess:.0} of {} at {}",
                check.wanted.ess, check.draws
            ));
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Counts the transitions of many fits on a terminal.
#[derive(Debug)]
pub(crate) struct Tally {
    bar: ProgressBar,
    /// Chains of each fit.
    chains: u32,
}

impl Tally {
    /// A bar over so many transitions of fits with so many chains, hidden if standard error is no terminal or the user asked for
    /// silence.
    pub(crate) fn open(transitions: u64, chains: u32, quiet: bool) -> Self {
        let hidden = quiet || !std::io::stderr().is_terminal();
        let bar = if hidden { ProgressBar::hidden() } else { ProgressBar::new(transitions) };
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { bar, chains }
    }

    /// Counts transitions that were made before.
    pub(crate) fn skip(&self, transitions: u64) {
        self.bar.inc(transitions);
    }

    /// Says what is being done.
    pub(crate) fn say(&self, text: String) {
        self.bar.set_message(text);
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Tally {
    fn resumed(&self, _: u32, transitions: u32) {
        self.bar.inc(u64::from(transitions));
    }

    fn transition(&self, _: u32, _: Stage, _: &Info, _: &[f64]) {
        self.bar.inc(1);
    }

    fn checked(&self, check: &Check, next: Option<u32>) {
        let more = next.map_or(0, |next| next.saturating_sub(check.draws));
        self.bar.inc_length(u64::from(self.chains) * u64::from(more));
    }
}

impl State {
    fn new(names: Vec<String>, chains: usize) -> Self {
        let draws = vec![vec![Vec::new(); names.len()]; chains];
        let (acceptance, stage, shown) = (f64::NAN, Stage::Warmup, Instant::now());
        Self { names, acceptance, stage, last: None, draws, shown }
    }

    fn note(&mut self, chain: usize, stage: Stage, acceptance: f64, values: &[f64]) {
        self.stage = stage;
        self.acceptance = if self.acceptance.is_nan() {
            acceptance
        } else {
            self.acceptance + NEWEST * (acceptance - self.acceptance)
        };
        if let (Stage::Sampling, Some(own)) = (stage, self.draws.get_mut(chain)) {
            own.iter_mut().zip(values).for_each(|(draws, &value)| draws.push(value));
        }
    }

    fn message(&self) -> String {
        let stage = match self.stage {
            Stage::Warmup => "warming up".to_owned(),
            Stage::Sampling => match &self.last {
                Some(last) => format!("drawing {last}"),
                None => "drawing".to_owned(),
            },
        };
        let worst = self
            .worst()
            .map_or(String::new(), |(name, rhat)| format!(", R-hat so far {rhat:.3} ({name})"));
        format!("{stage}, accepting {:.0} %{worst}", 100.0 * self.acceptance)
    }

    /// The hyperparameter whose chains disagree most, over the chains that have drawn at least half as much as the
    /// longest: those that have only begun would cut all others short.
    fn worst(&self) -> Option<(&str, f64)> {
        let length = |chain: &Vec<Vec<f64>>| chain.first().map_or(0, Vec::len);
        let longest = self.draws.iter().map(length).max()?;
        let least = FEWEST.max(longest / 2);
        let chains: Vec<_> = self.draws.iter().filter(|chain| length(chain) >= least).collect();
        let common = chains.iter().map(|chain| length(chain)).min()?;
        self.names
            .iter()
            .enumerate()
            .map(|(k, name)| {
                let draws: Vec<&[f64]> = chains.iter().map(|chain| &chain[k][..common]).collect();
                (name.as_str(), split_rhat_plain(&draws))
            })
            .filter(|(_, rhat)| !rhat.is_nan())
            .max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_hyperparameter_is_named_and_newcomers_are_left_out() {
        let mut state = State::new(vec!["a".into(), "b".into()], 3);
        assert!(state.worst().is_none());
        for t in 0..100 {
            let wave = f64::from(t % 7);
            state.note(0, Stage::Sampling, 0.8, &[wave, wave]);
            state.note(1, Stage::Sampling, 0.8, &[wave, wave + 50.0]);
        }
        state.note(2, Stage::Warmup, 0.8, &[1e9, 1e9]);
        (0..30).for_each(|_| state.note(2, Stage::Sampling, 0.8, &[1e9, 1e9]));
        let (name, rhat) = state.worst().unwrap();
        assert!(name == "b" && rhat > 5.0 && rhat < 100.0, "{name} {rhat}");
        assert!(state.message().starts_with("drawing, accepting 80 %, R-hat so far"));
    }
}
