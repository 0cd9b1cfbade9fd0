//! Counts seconds over interruptions: those a chain is computed, and those that pass while a run goes on.

use cpu_time::ThreadTime;
use std::time::{Duration, Instant};

/// Seconds of the present stage. Chains that have a thread of their own are charged its CPU time, so that a busy machine does not look
/// like a slow sampler; those that a GPU computes the time that passes.
pub(super) struct Clock {
    before: f64,
    begun: Begun,
}

enum Begun {
    Thread(Duration),
    Elapsed(Instant),
}

impl Clock {
    /// Goes on after so many seconds. One of a thread must be read on that thread.
    pub(super) fn after(before: f64, on_thread: bool) -> Self {
        let thread = || ThreadTime::try_now().ok().map(|now| Begun::Thread(now.as_duration()));
        let begun = on_thread.then(thread).flatten();
        // A system that does not tell the time of a thread has at least a clock.
        Self { before, begun: begun.unwrap_or_else(|| Begun::Elapsed(Instant::now())) }
    }

    /// Seconds so far, of which those since it was begun are shared by `chains`.
    pub(super) fn share(&self, chains: usize) -> f64 {
        let since = match self.begun {
            Begun::Thread(begun) => {
                let now = ThreadTime::try_now().map_or(begun, |now| now.as_duration());
                now.saturating_sub(begun)
            }
            Begun::Elapsed(begun) => begun.elapsed(),
        };
        self.before + since.as_secs_f64() / chains.max(1) as f64
    }
}

/// Elapsed seconds of a whole run.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunClock {
    before: f64,
    begun: Instant,
}

impl RunClock {
    /// Begins.
    pub(super) fn start() -> Self {
        Self { before: 0.0, begun: Instant::now() }
    }

    /// The same after what earlier pieces of the run took.
    pub(super) fn after(self, before: f64) -> Self {
        Self { before, ..self }
    }

    /// Seconds so far.
    pub(super) fn seconds(&self) -> f64 {
        self.before + self.begun.elapsed().as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Work that cannot be left out.
    fn work() -> f64 {
        (1..400_000).map(|k| f64::from(k).sqrt().sin()).sum()
    }

    #[test]
    fn sleep_is_no_computing_and_work_is() {
        let (thread, wall) = (Clock::after(2.0, true), Clock::after(2.0, false));
        std::thread::sleep(Duration::from_millis(60));
        assert!(thread.share(1) < 2.03 && thread.share(1) >= 2.0, "{}", thread.share(1));
        assert!(wall.share(1) >= 2.06 && wall.share(2) < wall.share(1));
        let before = thread.share(1);
        let worked = (0..).map(|_| work()).take_while(|_| thread.share(1) < before + 0.01);
        assert!(worked.map(f64::abs).sum::<f64>() >= 0.0);
        assert!(thread.share(1) > before);
        assert!(RunClock::start().after(5.0).seconds() >= 5.0);
    }
}
