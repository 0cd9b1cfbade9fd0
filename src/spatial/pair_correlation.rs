//! Estimates the pair correlation function g(r): the density of pairs at distance r relative to points placed by chance.
//!
//! g(r) = (pairs of the pattern / all its pairs) ÷ (pairs of uniform points in the same window / all of theirs), distance band
//! by distance band (Peebles and Hauser 1974). Comparing with points in the same window corrects for its edges whatever its
//! shape. g = 1 is no clustering; for a log-Gaussian Cox process log g(r) is the covariance of the log intensity.

use crate::data::Window;
use crate::random::{Purpose, Stream};
use rand::RngExt;

/// Uniform points that stand for chance: their noise in a band is a few per cent.
const UNIFORM: usize = 3000;
/// The most points whose pairs are counted; of more, a fixed random subset is taken.
const MOST_POINTS: usize = 4000;
/// Distance bands.
const BANDS: usize = 30;
/// The longest distance as a share of the window's shorter side: farther pairs say little and are few.
const REACH: f64 = 0.25;
/// Stream numbers of the uniform points and of the subset.
const CHANCE: u32 = 0x7061_6972;
const SUBSET: u32 = 0x7061_6973;

/// Distance bands of a window, ready to measure patterns in it.
#[derive(Clone, Debug)]
pub struct PairCorrelation {
    width: f64,
    /// Share of the pairs of uniform points in each band.
    chance: Vec<f64>,
}

impl PairCorrelation {
    /// Places uniform points in a window, the same for the same window.
    pub fn new(window: &Window) -> Self {
        let (low, high) = window.bounds();
        let width = REACH * (high.0 - low.0).min(high.1 - low.1) / BANDS as f64;
        let mut rng = Stream::new(1, 0, CHANCE, Purpose::Other).rng();
        let mut uniform = Vec::with_capacity(UNIFORM);
        // A window is some share of its rectangle; one of a thousandth would be a thread that no map shows.
        for _ in 0..1000 * UNIFORM {
            let (u, v): (f64, f64) = (rng.random(), rng.random());
            let place = (low.0 + u * (high.0 - low.0), low.1 + v * (high.1 - low.1));
            if window.contains(place) {
                uniform.push(place);
            }
            if uniform.len() == UNIFORM {
                break;
            }
        }
        Self { width, chance: shares(&uniform, width) }
    }

    /// The middles of the bands, in map units.
    pub fn distances(&self) -> Vec<f64> {
        (0..BANDS).map(|band| (band as f64 + 0.5) * self.width).collect()
    }

    /// g at those distances; not a number where chance has no pairs or the pattern fewer than two points.
    pub fn of(&self, places: &[(f64, f64)]) -> Vec<f64> {
        let observed = shares(&subset(places), self.width);
        observed.iter().zip(&self.chance).map(|(seen, by_chance)| seen / by_chance).collect()
    }
}

/// All the points, or a random subset of so many.
fn subset(places: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut chosen = places.to_vec();
    if chosen.len() > MOST_POINTS {
        let mut rng = Stream::new(1, 0, SUBSET, Purpose::Other).rng();
        for k in 0..MOST_POINTS {
            let other = rng.random_range(k..chosen.len());
            chosen.swap(k, other);
        }
        chosen.truncate(MOST_POINTS);
    }
    chosen
}

/// The share of all pairs in each band.
fn shares(places: &[(f64, f64)], width: f64) -> Vec<f64> {
    let mut pairs = vec![0u64; BANDS];
    let mut sorted = places.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let reach = BANDS as f64 * width;
    for (k, a) in sorted.iter().enumerate() {
        for b in sorted[k + 1..].iter().take_while(|b| b.0 - a.0 < reach) {
            let band = (a.0 - b.0).hypot(a.1 - b.1) / width;
            if let Some(count) = pairs.get_mut(band as usize) {
                *count += 1;
            }
        }
    }
    let n = places.len() as f64;
    pairs.iter().map(|&count| count as f64 / (0.5 * n * (n - 1.0))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uniform(n: usize, seed: u64) -> Vec<(f64, f64)> {
        let mut rng = Stream::new(seed, 0, 0, Purpose::Other).rng();
        (0..n).map(|_| (rng.random(), rng.random())).collect()
    }

    #[test]
    fn chance_has_none_and_twins_have_much() {
        let window = Window::rectangle((0.0, 0.0), (1.0, 1.0), None).unwrap();
        let pairs = PairCorrelation::new(&window);
        let points = uniform(1500, 3);
        // A band holds at least 150 of the pattern's pairs and 600 of chance's, so 1/√150 + 1/√600 is one sd; five of them.
        for (g, r) in pairs.of(&points).iter().zip(pairs.distances()) {
            assert!((g - 1.0).abs() < 0.6, "g({r}) = {g}");
        }
        let twins: Vec<_> = points.iter().flat_map(|p| [*p, (p.0 + 1e-3, p.1)]).collect();
        assert!(pairs.of(&twins)[0] > 2.0);
        assert!((pairs.of(&twins)[20] - 1.0).abs() < 0.2);
    }

    #[test]
    fn large_patterns_are_thinned_and_small_ones_have_no_answer() {
        assert_eq!(subset(&uniform(5000, 1)).len(), MOST_POINTS);
        let window = Window::rectangle((0.0, 0.0), (1.0, 1.0), None).unwrap();
        assert!(PairCorrelation::new(&window).of(&[(0.5, 0.5)])[3].is_nan());
    }
}
