//! Says when chains have drawn enough: at sizes that double, as soon as everything can be trusted.
//!
//! What is done next is a function of the draws alone, unless time is limited, so a run that was stopped and goes on ends where it would
//! have ended anyway.

use crate::diagnose::{Diagnoser, Reliability};
use crate::draws::ChainDraws;
use rayon::prelude::*;
use std::time::Duration;

/// Draws until every hyperparameter and the field can be trusted. The first look is after [`Settings::draws`](super::Settings::draws)
/// draws of each chain, the next after twice as many, and so on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Until {
    /// Bulk and tail effective sizes that all must have.
    pub ess: f64,
    /// R-hat that none may exceed; that of a single chain is not looked at, because there is none.
    pub rhat: f64,
    /// Draws of each chain after which it ends in any case.
    pub most: u32,
    /// Elapsed time of the run, with all its pieces if it was stopped and resumed, at which it ends with what it has: as many draws are
    /// made as there seems to be time for.
    pub time: Option<Duration>,
}

impl Default for Until {
    fn default() -> Self {
        Self { ess: 400.0, rhat: 1.01, most: 16_000, time: None }
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It has the draws that were asked for.
    Asked,
    /// Everything can be trusted.
    Trusted,
    /// It has as many draws as it may have at most.
    MostDraws,
    /// Its time was up.
    OutOfTime,
    /// Whoever watched it asked it to stop.
    Stopped,
}

impl Ended {
    /// The name it has in `summary.json`.
    pub fn name(self) -> &'static str {
        match self {
            Ended::Asked => "asked",
            Ended::Trusted => "trusted",
            Ended::MostDraws => "most-draws",
            Ended::OutOfTime => "out-of-time",
            Ended::Stopped => "stopped",
        }
    }
}

/// A look at all chains of a model.
#[derive(Clone, Debug)]
pub struct Check {
    /// Draws of each chain.
    pub draws: u32,
    /// The smallest effective size, bulk or tail, and what has it.
    pub ess: (f64, String),
    /// The largest R-hat, and what has it; none for a single chain.
    pub rhat: Option<(f64, String)>,
    /// What they should be.
    pub wanted: Until,
}

impl Check {
    /// Looks at chains; `names` are those of the hyperparameters.
    pub(super) fn new(chains: &[&ChainDraws], names: &[&str], wanted: Until) -> Self {
        let draws = chains.iter().map(|chain| chain.energy.len()).min().unwrap_or(0) as u32;
        let mut diagnoser = Diagnoser::new();
        let parameter = |(k, name): (usize, &&str)| {
            let series: Vec<&[f64]> = chains.iter().map(|c| &c.parameters[k][..]).collect();
            (diagnoser.reliability(&series), name.to_string())
        };
        let parameters: Vec<_> = names.iter().enumerate().map(parameter).collect();
        let field = field_reliability(chains).into_iter().map(|one| (one, "the field".to_owned()));
        let all: Vec<_> = parameters.into_iter().chain(field).collect();
        let least = |one: &(Reliability, String)| (one.0.ess(), one.1.clone());
        let ess = all.iter().map(least).min_by(|a, b| a.0.total_cmp(&b.0));
        let rhat = all.iter().map(|(one, name)| (one.known_rhat(), name.clone()));
        let rhat = rhat.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|_| chains.len() > 1);
        Self { draws, ess: ess.unwrap_or((0.0, String::new())), rhat, wanted }
    }

    /// Whether all is as it should be.
    pub fn is_trusted(&self) -> bool {
        let agree = self.rhat.as_ref().is_none_or(|(rhat, _)| *rhat <= self.wanted.rhat);
        self.ess.0 >= self.wanted.ess && agree
    }
}

/// What is known of every kept site of a field.
pub(crate) fn field_reliability(chains: &[&ChainDraws]) -> Vec<Reliability> {
    let kept = chains.first().map_or(0, |chain| chain.field.kept().len());
    (0..kept)
        .into_par_iter()
        .map_init(Diagnoser::new, |diagnoser, k| {
            let series: Vec<Vec<f64>> =
                chains.iter().map(|c| c.field.series(k).collect()).collect();
            let draws: Vec<&[f64]> = series.iter().map(Vec::as_slice).collect();
            diagnoser.reliability(&draws)
        })
        .collect()
}

/// Fewest draws of a run whose time is up.
const FEWEST: u32 = 20;

impl Until {
    /// Whether chains are looked at after so many draws, the first time after `first`.
    pub(super) fn looks_at(&self, first: u32, draws: u32) -> bool {
        draws > 0 && (draws >= self.most || self.size(first, draws) == draws)
    }

    /// The smallest size of at least so many draws.
    pub fn size(&self, first: u32, draws: u32) -> u32 {
        let mut size = first.max(1);
        while size < draws {
            size = size.saturating_mul(2);
        }
        size.min(self.most)
    }

    /// Draws of each chain that there is time for, if `transitions` of each took so many seconds.
    pub(super) fn affordable(&self, draws: u32, transitions: u32, seconds: f64) -> u32 {
        let Some(time) = self.time else { return u32::MAX };
        let left = (time.as_secs_f64() - seconds).max(0.0);
        let each = seconds / f64::from(transitions.max(1));
        let more = if each > 0.0 { (left / each) as u32 } else { u32::MAX };
        draws.saturating_add(more).max(FEWEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_double_up_to_the_most() {
        let until = Until { most: 5000, ..Until::default() };
        let sizes: Vec<u32> =
            [0, 500, 501, 1000, 1700, 4001, 5000].map(|n| until.size(500, n)).to_vec();
        assert_eq!(sizes, [500, 500, 1000, 1000, 2000, 5000, 5000]);
        let looked = |n| until.looks_at(500, n);
        assert!(looked(500) && looked(4000) && looked(5000) && looked(6000));
        assert!(!looked(0) && !looked(1500) && !looked(4999));
        // Sizes beyond what a number holds are those of the limit.
        let endless = Until { most: u32::MAX, ..until };
        assert_eq!(endless.size(500, u32::MAX), u32::MAX);
    }

    #[test]
    fn draws_fit_into_the_time_that_is_left() {
        let until = Until { time: Some(Duration::from_secs(100)), ..Until::default() };
        // A thousand transitions, half of them draws, took 40 seconds: 60 more take the rest of the time.
        assert_eq!(until.affordable(500, 1000, 40.0), 500 + 1500);
        assert_eq!(until.affordable(500, 1000, 100.0), 500);
        assert_eq!(until.affordable(0, 500, 400.0), FEWEST);
        assert_eq!(Until::default().affordable(500, 1000, 40.0), u32::MAX);
    }

    /// Chains of white noise around their own means.
    fn chains(draws: u32, shift: f64) -> Vec<ChainDraws> {
        use crate::random::{Purpose, Stream};
        let plan = crate::draws::FieldPlan::new(2, 2, draws as usize, 1 << 20);
        let chain = |id: u32| {
            let noise = Stream::new(7, id, 0, Purpose::Other);
            let mut chain = ChainDraws::new(id, 1, &plan, draws as usize);
            for t in 0..draws {
                let x = noise.uniform(3 * t) + shift * f64::from(id);
                chain.parameters[0].push(x);
                chain.energy.push(x);
                chain.field.record(&[noise.uniform(3 * t + 1), noise.uniform(3 * t + 2)]);
            }
            chain
        };
        (0..2).map(chain).collect()
    }

    fn look(chains: &[ChainDraws]) -> Check {
        Check::new(&chains.iter().collect::<Vec<_>>(), &["a"], Until::default())
    }

    #[test]
    fn a_look_names_what_is_worst_and_trusts_only_what_is_good() {
        let good = look(&chains(1000, 0.0));
        assert!(good.is_trusted() && good.draws == 1000, "{good:?}");
        let few = look(&chains(100, 0.0));
        assert!(!few.is_trusted() && few.ess.0 < 400.0, "{few:?}");
        let apart = look(&chains(1000, 0.5));
        let (rhat, name) = apart.rhat.clone().unwrap();
        assert!(!apart.is_trusted() && rhat > 1.1 && name == "a", "{apart:?}");
        // A hyperparameter that does not move has no figures, and is not trusted for that.
        let mut stuck = chains(1000, 0.0);
        stuck.iter_mut().for_each(|chain| chain.parameters[0].fill(0.5));
        let stuck = look(&stuck);
        assert!(!stuck.is_trusted() && stuck.ess == (0.0, "a".into()), "{stuck:?}");
        // A single chain has no R-hat and is judged by its size.
        let alone = look(&chains(1000, 0.0)[..1]);
        assert!(alone.rhat.is_none() && alone.is_trusted(), "{alone:?}");
    }
}
