//! Shows how far a check is: a bar on a terminal, a line now and then elsewhere.

use super::bar;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Counts what is done of a check.
pub(super) struct Watch {
    bar: indicatif::ProgressBar,
    lines: Option<Mutex<Lines>>,
}

/// What lines are made of.
struct Lines {
    what: &'static str,
    length: u64,
    done: u64,
    /// Done before this process began.
    before: u64,
    begun: Instant,
    shown: Instant,
    pause: Duration,
}

impl Watch {
    /// Counts to a length; without a terminal it writes a line after a pause of so many seconds at the earliest.
    pub(super) fn open(what: &'static str, length: u64, pause: f64, quiet: bool) -> Self {
        let now = Instant::now();
        let pause = Duration::try_from_secs_f64(pause).unwrap_or(Duration::MAX);
        let lines = Lines { what, length, done: 0, before: 0, begun: now, shown: now, pause };
        let lines = (!quiet && !std::io::stderr().is_terminal()).then(|| Mutex::new(lines));
        Self { bar: bar(length, quiet), lines }
    }

    /// Counts what was done before.
    pub(super) fn skip(&self, count: u64) {
        self.bar.inc(count);
        if let Some(lines) = &self.lines {
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            (lines.done, lines.before) = (lines.done + count, lines.before + count);
        }
    }

    /// Counts one more.
    pub(super) fn done(&self, message: String) {
        self.bar.set_message(message);
        self.bar.inc(1);
        let Some(lines) = &self.lines else { return };
        let line = lines.lock().unwrap_or_else(PoisonError::into_inner).done();
        if let Some(line) = line {
            // Nobody may be listening, which is no reason to stop.
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Lines {
    /// Counts one more; the line to write, if it is time for one.
    fn done(&mut self) -> Option<String> {
        self.done += 1;
        if self.shown.elapsed() < self.pause {
            return None;
        }
        self.shown = Instant::now();
        Some(self.line(self.begun.elapsed().as_secs_f64()))
    }

    fn line(&self, seconds: f64) -> String {
        let each = seconds / (self.done - self.before).max(1) as f64;
        let left = each * self.length.saturating_sub(self.done) as f64;
        let left =
            if left < 100.0 { format!("{left:.0} s") } else { format!("{:.0} min", left / 60.0) };
        format!("{} of {} {} done, about {left} left", self.done, self.length, self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_what_is_left() {
        let now = Instant::now();
        let lines = |pause| Lines {
            what: "worlds",
            length: 30,
            done: 10,
            before: 6,
            begun: now,
            shown: now,
            pause,
        };
        assert_eq!(lines(Duration::ZERO).line(8.0), "10 of 30 worlds done, about 40 s left");
        assert_eq!(lines(Duration::ZERO).line(240.0), "10 of 30 worlds done, about 20 min left");
        assert!(lines(Duration::ZERO).done().is_some_and(|line| line.starts_with("11 of 30")));
        assert!(lines(Duration::MAX).done().is_none());
    }
}
