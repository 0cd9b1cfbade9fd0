//! Draws counts and points as a fitted log intensity would have them.

use crate::data::{Counts, Window};
use crate::likelihood::CountLikelihood;
use crate::random::{Purpose, Stream};
use rand::RngExt;
use rand_distr::{Binomial, Distribution};

/// Streams of the counts and of the places.
const COUNT: u32 = 0x7072_6563;
const PLACE: u32 = 0x7072_6570;
const SOME: u32 = 0x7072_6571;
/// Tries to place a point inside the window's part of a cell; a part smaller than that has next to no points.
const TRIES: usize = 10_000;

/// What is needed to draw new data like those that were observed: the same effort in the same window.
#[derive(Clone, Copy, Debug)]
pub struct Predictive<'a> {
    /// Grid and exposure.
    pub counts: &'a Counts,
    /// How counts scatter around their rate.
    pub likelihood: CountLikelihood,
    /// The window.
    pub window: &'a Window,
    /// Seed of the draws.
    pub seed: u64,
}

impl Predictive<'_> {
    /// New counts under a log intensity and reported values of the likelihood's own hyperparameters; 0 where nothing was observed. The
    /// draw's number chooses the random numbers.
    pub fn counts(&self, draw: usize, field: &[f32], own: &[f64]) -> Vec<f64> {
        let mut rng = Stream::new(self.seed, draw as u32, COUNT, Purpose::Other).rng();
        let area = self.counts.grid().cell_area();
        let exposure = self.counts.exposure().iter();
        exposure
            .zip(field)
            .map(|(&exposure, &x)| {
                let rate = exposure * area * f64::from(x).exp();
                // A rate too large to count is a broken fit.
                self.likelihood.draw(rate, own, &mut rng).unwrap_or(0.0)
            })
            .collect()
    }

    /// Places for counts, or for a random part of them where there are more than `most`: enough to see how points lie to each other.
    pub fn some_places(&self, draw: usize, counts: &[f64], most: f64) -> Vec<(f64, f64)> {
        let total: f64 = counts.iter().sum();
        if total <= most {
            return self.places(draw, counts);
        }
        let mut rng = Stream::new(self.seed, draw as u32, SOME, Purpose::Other).rng();
        let mut part = |count: f64| match Binomial::new(count as u64, most / total) {
            Ok(law) => law.sample(&mut rng) as f64,
            Err(_) => 0.0,
        };
        let fewer: Vec<f64> = counts.iter().map(|&count| part(count)).collect();
        self.places(draw, &fewer)
    }

    /// Places for counts: uniform in their cells, inside the window.
    pub fn places(&self, draw: usize, counts: &[f64]) -> Vec<(f64, f64)> {
        let mut rng = Stream::new(self.seed, draw as u32, PLACE, Purpose::Other).rng();
        let grid = self.counts.grid();
        let mut places = Vec::new();
        for (cell, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
            let (i, j) = grid.position(cell);
            let (x, y) = grid.centre(i, j);
            let whole = self.counts.share(cell) == 1.0 && self.window.contains((x, y));
            for _ in 0..count as u64 {
                let mut uniform = || {
                    let (u, v): (f64, f64) = (rng.random(), rng.random());
                    (x + (u - 0.5) * grid.cell(), y + (v - 0.5) * grid.cell())
                };
                let inside = |place: &(f64, f64)| whole || self.window.contains(*place);
                places.extend((0..TRIES).map(|_| uniform()).find(inside));
            }
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Pattern, Points, Resolution};
    use geo::polygon;

    #[test]
    fn draws_have_their_rates_and_stay_inside() {
        let triangle = polygon![(x: 0.0, y: 0.0), (x: 4.0, y: 0.0), (x: 0.0, y: 4.0)];
        let window = Window::new("w", vec![triangle], None).unwrap();
        let points = Points::new("p", vec![(0.5, 0.5)], None).unwrap();
        let pattern = Pattern::new(&points, window, Resolution::Cells(8)).unwrap();
        let (counts, window) = (&pattern.counts, &pattern.window);
        let likelihood = CountLikelihood::Poisson;
        let predictive = Predictive { counts, likelihood, window, seed: 3 };
        let field = vec![50f32.ln(); counts.grid().cells()];
        let mut total = 0.0;
        for draw in 0..20 {
            let drawn = predictive.counts(draw, &field, &[]);
            assert!(drawn.iter().zip(counts.exposure()).all(|(&y, &e)| e > 0.0 || y == 0.0));
            let places = predictive.places(draw, &drawn);
            assert!(places.iter().all(|&place| window.contains(place)));
            assert_eq!(places.len() as f64, drawn.iter().sum::<f64>());
            total += places.len() as f64;
        }
        let observed = counts.exposure().iter().map(|&e| if e > 0.0 { 1e15 } else { 0.0 });
        let crowd: Vec<f64> = observed.collect();
        let some = predictive.some_places(0, &crowd, 2000.0);
        // About Poisson(2000), within 6 sd.
        assert!((some.len() as f64 - 2000.0).abs() < 6.0 * 2000f64.sqrt(), "{}", some.len());
        let few = predictive.counts(0, &field, &[]);
        assert_eq!(predictive.some_places(0, &few, 1e5), predictive.places(0, &few));
        // 20 draws of an area of 8 at rate 50: Poisson(8000), within 5 sd with probability 1 − 6e-7.
        assert!((total - 8000.0).abs() < 5.0 * 8000f64.sqrt(), "{total}");
    }
}
