//! Shows how far a run is, with its acceptance and R-hat so far, if someone is watching.

use indicatif::{ProgressBar, ProgressStyle};
use sshmc::diagnose::split_rhat_plain;
use sshmc::model::Model;
use sshmc::sample::{Info, Progress, Settings, Stage};
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

/// A progress bar on a terminal.
#[derive(Debug)]
pub(crate) struct Bar {
    bar: ProgressBar,
    state: Mutex<State>,
    /// Number of the first chain.
    first: u32,
}

#[derive(Debug)]
struct State {
    names: Vec<String>,
    acceptance: f64,
    stage: Stage,
    /// Draws by chain and hyperparameter.
    draws: Vec<Vec<Vec<f64>>>,
    shown: Instant,
}

impl Bar {
    /// A bar if standard error is a terminal and the user did not ask for silence.
    pub(crate) fn open(model: &Model, settings: &Settings, quiet: bool) -> Option<Self> {
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
        Some(Self { bar, state, first: settings.first_chain })
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn resumed(&self, _: u32, transitions: u32) {
        self.bar.inc(u64::from(transitions));
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
}

/// Counts the transitions of many fits on a terminal.
#[derive(Debug)]
pub(crate) struct Tally {
    bar: ProgressBar,
}

impl Tally {
    /// A bar over so many transitions, hidden if standard error is no terminal or the user asked for silence.
    pub(crate) fn open(transitions: u64, quiet: bool) -> Self {
        let hidden = quiet || !std::io::stderr().is_terminal();
        let bar = if hidden { ProgressBar::hidden() } else { ProgressBar::new(transitions) };
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { bar }
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
}

impl State {
    fn new(names: Vec<String>, chains: usize) -> Self {
        let draws = vec![vec![Vec::new(); names.len()]; chains];
        Self { names, acceptance: f64::NAN, stage: Stage::Warmup, draws, shown: Instant::now() }
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
            Stage::Warmup => "warming up",
            Stage::Sampling => "drawing",
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
