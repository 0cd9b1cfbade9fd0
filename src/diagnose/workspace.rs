//! Computes every diagnostic of one series after another in buffers that are allocated once.

use super::autocovariance::Autocovariance;
use super::beta::beta_quantile;
use super::ess::{effective_size, initial_monotone};
use super::moments::{mean, variance, variance_between};
use super::quantile::{median_in_place, quantile_of_sorted};
use super::rank::Ranker;
use super::reliability::Reliability;
use super::rhat::scale_reduction;
use super::summary::ParameterSummary;

/// Fewest draws per chain that can be split into halves with a variance each.
const FEWEST_DRAWS: usize = 4;

/// One standard deviation either side in a normal, to the digits ArviZ and posterior use, because
/// the order statistics picked depend on them.
const ONE_SIGMA: [f64; 2] = [0.1586553, 0.8413447];

/// A reusable workspace: transforms, tables and buffers for series of one shape.
///
/// Series of the shape of the one before cost no allocation; another shape is fitted on the way.
/// Draws may be `f64` or `f32`, one slice per chain, all equally long. What cannot be computed is
/// NaN; see the [module](super) for when.
#[derive(Debug, Default)]
pub struct Diagnoser {
    /// All draws, chain after chain.
    draws: Vec<f64>,
    chains: usize,
    /// The draws ascending, filled by `sort` where quantiles are wanted.
    sorted: Vec<f64>,
    /// Half-chains of a function of the draws, end to end.
    halves: Vec<f64>,
    scratch: Vec<f64>,
    ranker: Ranker,
    autocovariance: Autocovariance,
}

/// Diagnostics of draws given by one slice per chain.
impl Diagnoser {
    /// An empty workspace, fitted to a shape at its first use.
    pub fn new() -> Self {
        Self::default()
    }

    /// The larger of rank-normalised split R̂ of the draws and of the draws folded at the median.
    ///
    /// NaN for a single chain, as in ArviZ.
    pub fn rhat<T: Copy + Into<f64>>(&mut self, draws: &[&[T]]) -> f64 {
        self.of_varying(draws, Self::rhat_of_taken)
    }

    /// Effective size for the centre: of the rank-normalised half-chains.
    pub fn ess_bulk<T: Copy + Into<f64>>(&mut self, draws: &[&[T]]) -> f64 {
        self.of_varying(draws, Self::ess_bulk_of_taken)
    }

    /// Effective size for the tails: the smaller of those for the 5 % and 95 % quantiles.
    pub fn ess_tail<T: Copy + Into<f64>>(&mut self, draws: &[&[T]]) -> f64 {
        self.of_varying(draws, |this| {
            this.sort();
            this.ess_tail_of_sorted()
        })
    }

    /// Effective size for the mean: of the half-chains as they are.
    pub fn ess_mean<T: Copy + Into<f64>>(&mut self, draws: &[&[T]]) -> f64 {
        self.of_varying(draws, Self::ess_mean_of_taken)
    }

    /// Monte Carlo standard error of the mean.
    pub fn mcse_mean<T: Copy + Into<f64>>(&mut self, draws: &[&[T]]) -> f64 {
        self.of_varying(draws, Self::mcse_mean_of_taken)
    }

    /// Monte Carlo standard error of the standard deviation, without assuming normality.
    pub fn mcse_sd<T: Copy + Into<f64>>(&mut self, draws: &[&[T]]) -> f64 {
        self.of_varying(draws, Self::mcse_sd_of_taken)
    }

    /// Monte Carlo standard error of the quantile at `p`.
    pub fn mcse_quantile<T: Copy + Into<f64>>(&mut self, draws: &[&[T]], p: f64) -> f64 {
        self.of_varying(draws, |this| {
            this.sort();
            this.mcse_quantile_of_sorted(p)
        })
    }

    /// The quantile at `p` of all draws together, interpolated as numpy does by default.
    pub fn quantile<T: Copy + Into<f64>>(&mut self, draws: &[&[T]], p: f64) -> f64 {
        if !self.take(draws) {
            return f64::NAN;
        }
        self.sort();
        quantile_of_sorted(&self.sorted, p)
    }

    /// Effective size of one chain by Geyer's initial monotone sequence, neither split nor bounded.
    pub fn geyer_ess<T: Copy + Into<f64>>(&mut self, chain: &[T]) -> f64 {
        self.of_varying(&[chain], |this| {
            initial_monotone(this.autocovariance.mean_over_chains(&this.draws, chain.len()))
        })
    }

    /// Effective sizes and R̂ of one series.
    pub fn reliability<T: Copy + Into<f64>>(&mut self, draws: &[&[T]]) -> Reliability {
        let unknown = f64::NAN;
        if !self.take(draws) || is_constant(&self.draws) {
            return Reliability { ess_bulk: unknown, ess_tail: unknown, rhat: unknown };
        }
        self.sort();
        Reliability {
            ess_bulk: self.ess_bulk_of_taken(),
            ess_tail: self.ess_tail_of_sorted(),
            rhat: self.rhat_of_taken(),
        }
    }

    /// All figures of a summary table for one series.
    pub fn summarise<T: Copy + Into<f64>>(&mut self, draws: &[&[T]]) -> ParameterSummary {
        let mut summary = ParameterSummary::unknown();
        if !self.take(draws) {
            return summary;
        }
        self.sort();
        summary.q05 = quantile_of_sorted(&self.sorted, 0.05);
        summary.q50 = quantile_of_sorted(&self.sorted, 0.50);
        summary.q95 = quantile_of_sorted(&self.sorted, 0.95);
        if is_constant(&self.draws) {
            (summary.mean, summary.sd) = (summary.q50, 0.0);
            return summary;
        }
        summary.mean = mean(&self.draws);
        summary.sd = variance(&self.draws).sqrt();
        summary.mcse_mean = self.mcse_mean_of_taken();
        summary.mcse_sd = self.mcse_sd_of_taken();
        summary.mcse_q05 = self.mcse_quantile_of_sorted(0.05);
        summary.mcse_q50 = self.mcse_quantile_of_sorted(0.50);
        summary.mcse_q95 = self.mcse_quantile_of_sorted(0.95);
        summary.ess_bulk = self.ess_bulk_of_taken();
        summary.ess_tail = self.ess_tail_of_sorted();
        summary.rhat = self.rhat_of_taken();
        summary
    }
}

/// The same of draws already taken, checked and known to vary.
impl Diagnoser {
    fn rhat_of_taken(&mut self) -> f64 {
        if self.chains < 2 {
            return f64::NAN;
        }
        let half = self.half();
        self.split(|draw| draw);
        self.scratch.clone_from(&self.halves);
        let median = median_in_place(&mut self.scratch);
        self.ranker.normalise(&mut self.halves);
        let bulk = scale_reduction(&self.halves, half);
        self.split(|draw| (draw - median).abs());
        self.ranker.normalise(&mut self.halves);
        let folded = scale_reduction(&self.halves, half);
        // Two values symmetric about the median fold into one; the bulk then speaks alone.
        bulk.max(folded)
    }

    fn ess_bulk_of_taken(&mut self) -> f64 {
        self.split(|draw| draw);
        if is_constant(&self.halves) {
            return f64::NAN;
        }
        self.ranker.normalise(&mut self.halves);
        self.ess_of_halves()
    }

    fn ess_mean_of_taken(&mut self) -> f64 {
        self.split(|draw| draw);
        if is_constant(&self.halves) { f64::NAN } else { self.ess_of_halves() }
    }

    fn ess_tail_of_sorted(&mut self) -> f64 {
        let low = self.ess_quantile_of_sorted(0.05);
        let high = self.ess_quantile_of_sorted(0.95);
        low.min(high)
    }

    fn ess_quantile_of_sorted(&mut self, p: f64) -> f64 {
        let quantile = quantile_of_sorted(&self.sorted, p);
        self.split(|draw| f64::from(u8::from(draw <= quantile)));
        self.ess_of_halves()
    }

    fn mcse_mean_of_taken(&mut self) -> f64 {
        let size = self.ess_mean_of_taken();
        variance(&self.draws).sqrt() / size.sqrt()
    }

    /// Variance of a variance (Kenney and Keeping 1951, p. 141), carried to its root.
    fn mcse_sd_of_taken(&mut self) -> f64 {
        let centre = mean(&self.draws);
        self.split(|draw| (draw - centre) * (draw - centre));
        let size = self.ess_of_halves();
        let count = self.draws.len() as f64;
        let squares = || self.draws.iter().map(|draw| (draw - centre) * (draw - centre));
        let second = squares().sum::<f64>() / count;
        let fourth = squares().map(|square| square * square).sum::<f64>() / count;
        let variance_of_variance = (fourth - second * second) / size;
        // Rounding can leave a hair below zero where all draws are equally far from the mean.
        let square = variance_of_variance / second / 4.0;
        if square < 0.0 { 0.0 } else { square.sqrt() }
    }

    /// Half the distance between the order statistics one sigma either side (Vehtari et al. 2021).
    fn mcse_quantile_of_sorted(&mut self, p: f64) -> f64 {
        if !(0.0..=1.0).contains(&p) {
            return f64::NAN;
        }
        let size = self.ess_quantile_of_sorted(p);
        let [low, high] =
            ONE_SIGMA.map(|level| beta_quantile(level, size * p + 1.0, size * (1.0 - p) + 1.0));
        if !(low.is_finite() && high.is_finite()) {
            return f64::NAN;
        }
        let count = self.sorted.len();
        let place = |share: f64| share * count as f64 - 1.0;
        let below = place(low).max(0.0).floor() as usize;
        let above = place(high).max(0.0).ceil() as usize;
        (self.sorted[above.min(count - 1)] - self.sorted[below.min(count - 1)]) / 2.0
    }

    /// Effective size of what `halves` holds. As in ArviZ a constant counts in full: it arises for
    /// indicators when the quantile is the largest value, ties and all.
    fn ess_of_halves(&mut self) -> f64 {
        if is_constant(&self.halves) {
            return self.halves.len() as f64;
        }
        let half = self.half();
        let between = variance_between(&self.halves, half);
        let autocovariance = self.autocovariance.mean_over_chains(&self.halves, half);
        effective_size(autocovariance, between, 2 * self.chains, &mut self.scratch)
    }
}

/// How draws come in and are cut up.
impl Diagnoser {
    /// The figure of draws that are fit and vary, else NaN.
    fn of_varying<T: Copy + Into<f64>>(
        &mut self,
        draws: &[&[T]],
        figure: impl FnOnce(&mut Self) -> f64,
    ) -> f64 {
        let fit = self.take(draws) && !is_constant(&self.draws);
        if fit { figure(self) } else { f64::NAN }
    }

    /// Copies the draws in; false if the shape is unfit or a draw is not finite.
    fn take<T: Copy + Into<f64>>(&mut self, draws: &[&[T]]) -> bool {
        let length = draws.first().map_or(0, |chain| chain.len());
        if length < FEWEST_DRAWS || draws.iter().any(|chain| chain.len() != length) {
            return false;
        }
        self.chains = draws.len();
        self.draws.clear();
        for chain in draws {
            self.draws.extend(chain.iter().map(|draw| (*draw).into()));
        }
        self.draws.iter().all(|draw| draw.is_finite())
    }

    fn sort(&mut self) {
        self.sorted.clone_from(&self.draws);
        self.sorted.sort_unstable_by(f64::total_cmp);
    }

    fn length(&self) -> usize {
        self.draws.len() / self.chains.max(1)
    }

    /// Length of a half-chain; the middle draw of an odd number belongs to neither.
    fn half(&self) -> usize {
        self.length() / 2
    }

    /// Fills the half-chains with a function of the draws.
    fn split(&mut self, function: impl Fn(f64) -> f64) {
        let (length, half) = (self.length(), self.half());
        self.halves.clear();
        for chain in self.draws.chunks_exact(length.max(1)) {
            let (first, second) = (&chain[..half], &chain[length - half..]);
            self.halves.extend(first.iter().chain(second).map(|draw| function(*draw)));
        }
    }
}

fn is_constant(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[0] == pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any values without pattern; `scale` tells series apart.
    fn series(draws: usize, scale: usize) -> Vec<f64> {
        (0..draws).map(|i| ((i * i * scale + 31 * i) % 1009) as f64).collect()
    }

    #[test]
    fn a_used_workspace_gives_the_bits_of_a_new_one() {
        let mut used = Diagnoser::new();
        for (draws, scale) in [(120, 3), (37, 5), (400, 7), (4, 11), (120, 13)] {
            let (a, b) = (series(draws, scale), series(draws, scale + 1));
            let chains: [&[f64]; 2] = [&a, &b];
            let again = format!("{:?}", used.summarise(&chains));
            assert_eq!(again, format!("{:?}", Diagnoser::new().summarise(&chains)));
        }
    }

    #[test]
    fn series_of_one_shape_keep_their_buffers() {
        let mut workspace = Diagnoser::new();
        let mut places = Vec::new();
        for scale in 1..5 {
            let (a, b) = (series(100, scale), series(100, scale + 9));
            workspace.summarise::<f64>(&[&a, &b]);
            let Diagnoser { draws, sorted, halves, scratch, .. } = &workspace;
            places.push([draws, sorted, halves, scratch].map(|buffer| buffer.as_ptr()));
        }
        assert!(places.iter().all(|place| *place == places[0]));
    }

    #[test]
    fn two_values_fold_into_one_and_the_bulk_speaks_alone() {
        let zigzag: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        let chains: [&[f64]; 2] = [&zigzag, &zigzag];
        // Means agree exactly, so R̂ = sqrt((n-1)/n) with half-chains of 50.
        let got = Diagnoser::new().rhat(&chains);
        assert!((got - (49.0_f64 / 50.0).sqrt()).abs() < 1e-15, "{got}");
        // All draws are equally far from the mean: their spread is known without error.
        assert_eq!(Diagnoser::new().mcse_sd(&chains), 0.0);
        // No draw exceeds the 95 % quantile, which is the largest value: that indicator counts in
        // full, and the other alternates and meets the bound above it.
        assert_eq!(Diagnoser::new().ess_tail(&chains), 200.0);
    }
}
