//! Records a field draw by draw in bounded memory.
//!
//! Mean and variance of every site come from every draw (Welford's update), and so do those of its exponential and how often
//! that exceeds given levels, if they are asked for. Draws themselves are kept in single precision: every draw at every site
//! if that fits in the budget; otherwise every draw at sites spread evenly over the field, for diagnosis, and whole fields of
//! draws spread evenly over the run, for pictures and predictions.

use super::exponential::Exponential;
use serde::{Deserialize, Serialize};

/// Which sites' draws are kept.
#[derive(Clone, Debug)]
pub struct FieldPlan {
    sites: usize,
    kept: Vec<usize>,
    /// Every how many draws a whole field is kept beside those sites; none if all sites are kept anyway.
    every: Option<usize>,
    /// Levels of the exponential, if it is followed.
    levels: Option<Vec<f64>>,
}

impl FieldPlan {
    /// Plans for `chains` × `draws` draws of `sites` values within `bytes` of memory.
    pub fn new(sites: usize, chains: usize, draws: usize, bytes: usize) -> Self {
        let per_site = 4 * chains.max(1) * draws.max(1);
        let room = (bytes / per_site).clamp(1, sites.max(1));
        // Spread over the index range; a stride prime to the row length would show no stripes, rounding does as well.
        let kept: Vec<usize> = (0..room).map(|k| k * sites / room).collect();
        let fields = (bytes / (4 * chains.max(1) * sites.max(1))).max(1);
        let every = (kept.len() < sites).then(|| draws.max(1).div_ceil(fields));
        Self { sites, kept, every, levels: None }
    }

    /// Follows the exponential of the field and how often it exceeds the levels.
    pub fn with_exponential(mut self, levels: &[f64]) -> Self {
        self.levels = Some(levels.to_vec());
        self
    }

    /// Sites whose draws are kept.
    pub fn kept(&self) -> &[usize] {
        &self.kept
    }

    /// Every how many draws a whole field is kept beside those sites; none if every draw of every site is kept.
    pub fn every(&self) -> Option<usize> {
        self.every
    }

    /// Number of sites.
    pub fn sites(&self) -> usize {
        self.sites
    }

    /// Levels of the exponential, if it is followed.
    pub fn levels(&self) -> Option<&[f64]> {
        self.levels.as_deref()
    }
}

/// One chain's field.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FieldDraws {
    count: u64,
    mean: Vec<f64>,
    squares: Vec<f64>,
    kept: Vec<usize>,
    draws: Vec<f32>,
    every: Option<usize>,
    /// Draws that went by.
    followed: u64,
    whole: Vec<f32>,
    exponential: Option<Exponential>,
}

impl FieldDraws {
    /// Room for `draws` draws, allocated now so that recording never does.
    pub fn new(plan: &FieldPlan, draws: usize) -> Self {
        Self {
            count: 0,
            mean: vec![0.0; plan.sites],
            squares: vec![0.0; plan.sites],
            kept: plan.kept.clone(),
            draws: Vec::with_capacity(draws * plan.kept.len()),
            every: plan.every,
            followed: 0,
            whole: Vec::with_capacity(plan.every.map_or(0, |n| plan.sites * draws.div_ceil(n))),
            exponential: plan.levels.as_ref().map(|l| Exponential::new(plan.sites, l)),
        }
    }

    /// Makes room for `draws` draws in all.
    pub(crate) fn make_room(&mut self, draws: usize) {
        let kept = draws * self.kept.len();
        self.draws.reserve_exact(kept.saturating_sub(self.draws.len()));
        let whole = self.every.map_or(0, |every| self.mean.len() * draws.div_ceil(every));
        self.whole.reserve_exact(whole.saturating_sub(self.whole.len()));
    }

    /// Adds a draw.
    pub fn record(&mut self, field: &[f64]) {
        self.count += 1;
        let weight = 1.0 / self.count as f64;
        for ((mean, squares), &x) in self.mean.iter_mut().zip(&mut self.squares).zip(field) {
            let before = x - *mean;
            *mean += weight * before;
            *squares += before * (x - *mean);
        }
        self.draws.extend(self.kept.iter().map(|&site| field[site] as f32));
        if let Some(exponential) = &mut self.exponential {
            exponential.record(field);
        }
        if self.is_due() {
            self.whole.extend(field.iter().map(|&x| x as f32));
        }
        self.followed += 1;
    }

    /// Leaves out the kept draws beyond so many; moments still have them.
    pub(crate) fn cut(&mut self, draws: usize) {
        self.draws.truncate(draws * self.kept.len());
        let fields = self.every.map_or(0, |every| draws.div_ceil(every));
        self.whole.truncate(fields * self.mean.len());
    }

    /// Whether the whole field of the next draw is kept.
    pub(crate) fn is_due(&self) -> bool {
        self.every.is_some_and(|every| self.followed.is_multiple_of(every as u64))
    }

    /// Takes the whole field of the next draw where it is due, and lets that draw go by.
    pub(crate) fn follow(&mut self, field: &[f32]) {
        if self.is_due() {
            self.whole.extend_from_slice(field);
        }
        self.followed += 1;
    }

    /// The exponential of the field, if it was followed.
    pub fn exponential(&self) -> Option<&Exponential> {
        self.exponential.as_ref()
    }

    /// The same, to be set to what was accumulated elsewhere.
    pub(crate) fn exponential_mut(&mut self) -> Option<&mut Exponential> {
        self.exponential.as_mut()
    }

    /// Whole fields of the draws 0, stride, 2 × stride, … (see [`FieldDraws::field_stride`]).
    pub fn fields(&self) -> std::slice::ChunksExact<'_, f32> {
        let values = if self.every.is_some() { &self.whole } else { &self.draws };
        values.chunks_exact(self.mean.len().max(1))
    }

    /// Of which draws whole fields were kept: every so many.
    pub fn field_stride(&self) -> usize {
        self.every.unwrap_or(1)
    }

    /// The values of all whole fields.
    pub(crate) fn whole_values(&self) -> &[f32] {
        if self.every.is_some() { &self.whole } else { &self.draws }
    }

    pub(crate) fn whole_values_mut(&mut self) -> &mut Vec<f32> {
        if self.every.is_some() { &mut self.whole } else { &mut self.draws }
    }

    /// The values at the kept sites, which are all values where whole fields are not kept beside them.
    pub(crate) fn site_values(&self) -> &[f32] {
        &self.draws
    }

    /// The same, to be changed, where they are not those of the whole fields.
    pub(crate) fn site_values_mut(&mut self) -> Option<&mut Vec<f32>> {
        self.every.is_some().then_some(&mut self.draws)
    }

    /// The same moments with only those draws that come after so many at sites and so many whole fields.
    pub(crate) fn since(&self, sites: usize, fields: usize) -> Self {
        let (draws, whole) = match self.every {
            None => (fields * self.mean.len(), 0),
            Some(_) => (sites * self.kept.len(), fields * self.mean.len()),
        };
        Self {
            count: self.count,
            mean: self.mean.clone(),
            squares: self.squares.clone(),
            kept: self.kept.clone(),
            draws: self.draws[draws..].to_vec(),
            every: self.every,
            followed: self.followed,
            whole: self.whole[whole..].to_vec(),
            exponential: self.exponential.clone(),
        }
    }

    /// Keeps a draw of the kept sites only; its whole field comes by [`Self::follow`], moments by [`Self::set_moments`].
    pub(crate) fn keep(&mut self, values: &[f32]) {
        self.draws.extend_from_slice(values);
    }

    /// Takes moments that were accumulated elsewhere: mean and sum of squared deviations over `count` draws.
    pub(crate) fn set_moments(&mut self, count: u64, mean: Vec<f64>, squares: Vec<f64>) {
        (self.count, self.mean, self.squares) = (count, mean, squares);
    }

    /// Number of draws recorded.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean at every site.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Variance at every site.
    pub fn variance(&self) -> Vec<f64> {
        let n = (self.count.max(2) - 1) as f64;
        self.squares.iter().map(|s| s / n).collect()
    }

    /// Sites whose draws were kept.
    pub fn kept(&self) -> &[usize] {
        &self.kept
    }

    /// The draws of the k-th kept site.
    pub fn series(&self, k: usize) -> impl Iterator<Item = f64> + '_ {
        self.draws.iter().skip(k).step_by(self.kept.len().max(1)).map(|&x| f64::from(x))
    }
}

/// Mean and standard deviation of every site over all chains.
pub fn pooled(chains: &[&FieldDraws]) -> (Vec<f64>, Vec<f64>) {
    let sites = chains.first().map_or(0, |c| c.mean.len());
    let total: f64 = chains.iter().map(|c| c.count as f64).sum();
    let mut mean = vec![0.0; sites];
    for chain in chains {
        let weight = chain.count as f64 / total.max(1.0);
        mean.iter_mut().zip(&chain.mean).for_each(|(m, x)| *m += weight * x);
    }
    let mut sd = vec![0.0; sites];
    for chain in chains {
        for site in 0..sites {
            let d = chain.mean[site] - mean[site];
            sd[site] += chain.squares[site] + chain.count as f64 * d * d;
        }
    }
    sd.iter_mut().for_each(|s| *s = (*s / (total - 1.0).max(1.0)).sqrt());
    (mean, sd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_draws_and_pool_over_chains() {
        let plan = FieldPlan::new(3, 2, 3, 1 << 20);
        let all = [
            [[1.0, 2.0, 3.0], [4.0, 0.0, -1.0], [0.5, 7.0, 2.0]],
            [[9.0, 2.0, 1.0], [4.0, 5.0, -1.0], [0.5, 7.0, 8.0]],
        ];
        let chains: Vec<_> = all
            .iter()
            .map(|draws| {
                let mut field = FieldDraws::new(&plan, 3);
                draws.iter().for_each(|d| field.record(d));
                field
            })
            .collect();
        let (mean, sd) = pooled(&chains.iter().collect::<Vec<_>>());
        for site in 0..3 {
            let values: Vec<f64> = all.iter().flatten().map(|d| d[site]).collect();
            let want = values.iter().sum::<f64>() / 6.0;
            let spread = values.iter().map(|v| (v - want).powi(2)).sum::<f64>() / 5.0;
            assert!((mean[site] - want).abs() < 1e-14);
            assert!((sd[site] - spread.sqrt()).abs() < 1e-14);
            assert_eq!(chains[1].series(site).collect::<Vec<_>>(), all[1].map(|d| d[site]));
        }
    }

    #[test]
    fn the_plan_keeps_to_its_budget_and_spreads_out() {
        let plan = FieldPlan::new(1000, 4, 1000, 4 * 4 * 1000 * 10);
        assert_eq!(plan.kept().len(), 10);
        assert_eq!(plan.kept()[9], 900);
        assert_eq!(FieldPlan::new(5, 4, 1000, 0).kept().len(), 1);
    }

    #[test]
    fn whole_fields_are_kept_whatever_the_budget() {
        let draw = |t: usize| [t as f64, -(t as f64), 0.5];
        for (bytes, stride) in [(1 << 20, 1), (4 * 3 * 4, 3), (0, 10)] {
            let plan = FieldPlan::new(3, 1, 10, bytes);
            let mut field = FieldDraws::new(&plan, 10);
            (0..10).for_each(|t| field.record(&draw(t)));
            assert_eq!(field.field_stride(), stride, "{bytes}");
            let whole: Vec<Vec<f32>> = field.fields().map(<[f32]>::to_vec).collect();
            let want: Vec<Vec<f32>> =
                (0..10).step_by(stride).map(|t| draw(t).map(|x| x as f32).to_vec()).collect();
            assert_eq!(whole, want, "{bytes}");
        }
    }
}
