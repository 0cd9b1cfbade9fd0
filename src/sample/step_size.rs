//! Finds step sizes by dual averaging (Nesterov; Hoffman & Gelman 2014): log ε moves against the acceptance error.

use serde::{Deserialize, Serialize};

/// The largest step in the latents' time: a quarter turn and little more, beyond which small errors of the metric grow.
pub(super) const LONGEST_STEP: f64 = 1.5;

/// Adapts one step size towards a mean acceptance probability.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DualAveraging {
    target: f64,
    anchor: f64,
    count: f64,
    error: f64,
    log_step: f64,
    log_average: f64,
    limit: f64,
}

/// How strongly early errors are damped, how far ε is drawn to its anchor, and how fast old steps are forgotten.
const DELAY: f64 = 10.0;
const SHRINKAGE: f64 = 0.15;
const FORGETTING: f64 = 0.75;

impl DualAveraging {
    /// Starts at `step`, never going above `limit`.
    pub(crate) fn new(step: f64, target: f64, limit: f64) -> Self {
        let mut new = Self {
            target,
            anchor: 0.0,
            count: 0.0,
            error: 0.0,
            log_step: 0.0,
            log_average: 0.0,
            limit,
        };
        new.restart(step);
        new
    }

    /// Aims at another acceptance probability from now on.
    pub(crate) fn aim(&mut self, target: f64) {
        self.target = target;
    }

    /// Forgets the past and starts again from `step`.
    pub(crate) fn restart(&mut self, step: f64) {
        let step = step.min(self.limit);
        // Drawn to a larger step than the present one: too large costs a few rejections, too small costs gradients.
        self.anchor = (1.5 * step).ln();
        self.count = 0.0;
        self.error = 0.0;
        self.log_step = step.ln();
        self.log_average = step.ln();
    }

    /// Learns from one transition's acceptance probability.
    pub(crate) fn update(&mut self, acceptance: f64) {
        let acceptance = if acceptance.is_finite() { acceptance.clamp(0.0, 1.0) } else { 0.0 };
        self.count += 1.0;
        let weight = 1.0 / (self.count + DELAY);
        self.error += weight * (self.target - acceptance - self.error);
        let free = self.anchor - self.error * self.count.sqrt() / SHRINKAGE;
        self.log_step = free.min(self.limit.ln());
        let weight = self.count.powf(-FORGETTING);
        self.log_average += weight * (self.log_step - self.log_average);
    }

    /// The step to try next.
    pub(crate) fn step(&self) -> f64 {
        self.log_step.exp()
    }

    /// The step to keep.
    pub(crate) fn average(&self) -> f64 {
        self.log_average.exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_step_whose_acceptance_is_the_target() {
        for (target, start) in [(0.8, 0.001), (0.8, 50.0), (0.6, 1.0)] {
            let mut adapt = DualAveraging::new(start, target, 1e3);
            for _ in 0..500 {
                adapt.update((-0.3 * adapt.step()).exp());
            }
            let want = -f64::ln(target) / 0.3;
            assert!((adapt.average() / want).ln().abs() < 0.2, "{} {want}", adapt.average());
        }
    }

    #[test]
    fn respects_its_limit_and_survives_nan() {
        let mut adapt = DualAveraging::new(0.1, 0.8, 2.0);
        for _ in 0..100 {
            adapt.update(1.0);
        }
        assert!(adapt.step() <= 2.0 && adapt.average() <= 2.0);
        for _ in 0..100 {
            adapt.update(f64::NAN);
        }
        assert!(adapt.average() < 0.5);
    }
}
