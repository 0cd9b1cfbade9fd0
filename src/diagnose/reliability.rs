//! Gathers the figures that say whether a series has been drawn long enough.

/// Effective sizes and R̂ of one series; NaN where one cannot be computed.
#[derive(Clone, Copy, Debug)]
pub struct Reliability {
    /// Effective sample size for the centre.
    pub ess_bulk: f64,
    /// Effective sample size for the tails.
    pub ess_tail: f64,
    /// Rank-normalised split R̂.
    pub rhat: f64,
}

impl Reliability {
    /// The smaller effective size; a series that has none did not move, so its size is zero.
    pub fn ess(&self) -> f64 {
        let known = |size: f64| if size.is_nan() { 0.0 } else { size };
        known(self.ess_bulk).min(known(self.ess_tail))
    }

    /// R̂; infinite where it cannot be computed.
    pub fn known_rhat(&self) -> f64 {
        if self.rhat.is_nan() { f64::INFINITY } else { self.rhat }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Diagnoser, summarise};

    #[test]
    fn figures_are_those_of_the_summary_and_unknown_ones_are_bad() {
        let series =
            |c: usize| -> Vec<f64> { (0..90).map(|i| ((i * i * c) % 101) as f64).collect() };
        let (a, b) = (series(3), series(7));
        let chains: [&[f64]; 2] = [&a, &b];
        let (got, want) = (Diagnoser::new().reliability(&chains), summarise(&chains));
        let figures = [got.ess_bulk, got.ess_tail, got.rhat];
        assert_eq!(figures, [want.ess_bulk, want.ess_tail, want.rhat]);
        assert_eq!(got.ess(), want.ess_bulk.min(want.ess_tail));
        let stuck = Diagnoser::new().reliability::<f64>(&[&[1.0; 9], &[1.0; 9]]);
        assert_eq!((stuck.ess(), stuck.known_rhat()), (0.0, f64::INFINITY));
    }
}
