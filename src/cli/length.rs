//! Declares how long a fit goes on: until it can be trusted, for so many draws, or for so long.

use clap::Args;
use sshmc::sample::Until;
use std::time::Duration;

/// Draws of each chain before the first look.
const FIRST: u32 = 500;
/// Draws of each chain where nobody says when to end: of chains that are run apart.
const DRAWS: u32 = 1000;

/// The options that say when to end.
pub(crate) const LENGTHS: [&str; 3] = ["--max-draws", "--max-time", "--check-from"];

/// How long a fit goes on.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub(crate) struct Length {
    /// Draws of each chain to keep, exactly [default: as many as it takes until every hyperparameter and the field have bulk and tail
    /// effective sizes of 400 and R-hat of at most 1.01; 1000 with --chain-offset]
    #[arg(
        long,
        value_name = "N",
        help_heading = "Sampling",
        conflicts_with_all = ["max_draws", "max_time", "check_from"]
    )]
    pub(crate) draws: Option<u32>,
    /// Draws of each chain after which it ends even if it cannot be trusted yet; `sshmc extend` goes on from there [default: 16000]
    #[arg(long, value_name = "N", help_heading = "Sampling")]
    pub(crate) max_draws: Option<u32>,
    /// Elapsed time after which it ends with the draws it has, such as 90s, 10m or 2h
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, help_heading = "Sampling")]
    pub(crate) max_time: Option<Duration>,
    /// Draws of each chain before the first look at whether they can be trusted; the next is after twice as many [default: 500]
    #[arg(long, value_name = "N", help_heading = "Sampling")]
    pub(crate) check_from: Option<u32>,
}

impl Length {
    /// Draws, or those before the first look, and when to end. Chains that are run `apart` cannot be judged without the others, so that
    /// they make a fixed number of draws unless they are told when to look.
    pub(crate) fn settings(&self, apart: bool) -> (u32, Option<Until>) {
        let asked = self.max_draws.is_some() || self.max_time.is_some();
        let judged = self.check_from.is_some() || asked || !apart;
        match (self.draws, judged) {
            (Some(draws), _) => (draws, None),
            (None, false) => (DRAWS, None),
            (None, true) => {
                let until = Until::default();
                let most = self.max_draws.unwrap_or(until.most);
                let until = Until { most, time: self.max_time, ..until };
                (self.check_from.unwrap_or(FIRST), Some(until))
            }
        }
    }

    /// The first look at a run that has so many draws already.
    pub(crate) fn first_from(draws: u32) -> u32 {
        Until { most: u32::MAX, ..Until::default() }.size(FIRST, draws)
    }
}

/// Reads numbers with units, such as `90s` or `1h30m`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let refuse = || "expected a number with a unit, such as 90s, 10m or 2h".to_owned();
    let (mut rest, mut seconds) = (text.trim(), 0.0);
    if rest.is_empty() {
        return Err(refuse());
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(refuse)?;
        let number: f64 = rest[..end].parse().map_err(|_| refuse())?;
        let unit = rest[end..].chars().next().ok_or_else(refuse)?;
        let length = match unit {
            's' => 1.0,
            'm' => 60.0,
            'h' => 3600.0,
            'd' => 86400.0,
            _ => return Err(refuse()),
        };
        seconds += number * length;
        rest = &rest[end + 1..];
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| refuse())
}

/// A duration for people.
pub(crate) fn show_duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s < 120.0 => format!("{} s", (10.0 * s).round() / 10.0),
        s if s < 7200.0 => format!("{} min", (s / 6.0).round() / 10.0),
        s => format!("{} h", (s / 360.0).round() / 10.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        for (text, seconds) in
            [("90s", 90.0), ("10m", 600.0), ("1h30m", 5400.0), ("0.5h", 1800.0), ("1d", 86400.0)]
        {
            assert_eq!(parse_duration(text), Ok(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in [
            "",
            "10",
            "m",
            "ten m",
            "5x",
            "-3s",
            "1..2s",
            "1e400h",
            "9h9",
            "3µs",
            "99999999999999999999999d",
        ] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        let shown = [90, 600, 7200].map(|s| show_duration(Duration::from_secs(s)));
        assert_eq!(shown, ["90 s", "10 min", "2 h"]);
    }

    #[test]
    fn a_fit_is_trusted_unless_it_is_told_otherwise() {
        let default = Length::default();
        let (first, until) = default.settings(false);
        assert_eq!((first, until), (500, Some(Until::default())));
        assert_eq!(default.settings(true), (1000, None), "chains that are run apart");
        let exact = Length { draws: Some(70), ..Length::default() };
        assert_eq!((exact.settings(false), exact.settings(true)), ((70, None), (70, None)));
        let told = Length { check_from: Some(40), max_draws: Some(90), ..Length::default() };
        let (first, until) = told.settings(true);
        assert_eq!((first, until.map(|until| until.most)), (40, Some(90)));
        assert_eq!(
            [0, 500, 501, 3000, 16000].map(Length::first_from),
            [500, 500, 1000, 4000, 16000]
        );
    }
}
