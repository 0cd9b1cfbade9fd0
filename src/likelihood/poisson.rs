//! Counts events whose log rate is the predictor.
//!
//! > y_i ~ Poisson(a_i e^{η_i}):  −log p = Σ a_i e^{η_i} − y_i η_i  (up to a constant)
//!
//! The exposure a_i is the cell's area or the time watched; zero means the cell was not observed.

use super::{Curvature, Likelihood, SiteTwin, check, check_length, exponentials};
use crate::error::Result;
use crate::numeric::{exp, inline, vectorised};

/// Poisson counts with log link and known exposures.
#[derive(Clone, Debug, PartialEq)]
pub struct PoissonLog {
    counts: Vec<f64>,
    exposure: Vec<f64>,
}

impl PoissonLog {
    /// Whole counts and the exposure of each; where the exposure is zero the count must be zero too.
    pub fn new(counts: Vec<f64>, exposure: Vec<f64>) -> Result<Self> {
        check_length("exposures", exposure.len(), counts.len(), "count")?;
        check(
            "exposure",
            &exposure,
            "a finite number of at least zero",
            "use 0 for a cell that was not observed",
            |a| a.is_finite() && a >= 0.0,
        )?;
        check(
            "count",
            &counts,
            "a whole number of at least zero",
            "give counts, not rates",
            |y| y.is_finite() && y >= 0.0 && y.fract() == 0.0,
        )?;
        let unobserved: Vec<f64> =
            counts.iter().zip(&exposure).map(|(y, a)| if *a == 0.0 { *y } else { 0.0 }).collect();
        check(
            "count",
            &unobserved,
            "0 where the exposure is 0",
            "give the cell an exposure or drop its events",
            |y| y == 0.0,
        )?;
        Ok(PoissonLog { counts, exposure })
    }

    /// The number of events in each cell.
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// The exposure of each cell.
    pub fn exposure(&self) -> &[f64] {
        &self.exposure
    }
}

/// Sites in a block: their numbers fit into the nearest cache.
const BLOCK: usize = 512;

/// −log p and its gradient in the predictor.
#[inline(always)]
fn misfit(eta: &[f64], counts: &[f64], exposure: &[f64], gradient: &mut [f64]) -> f64 {
    let n = eta.len();
    let (counts, exposure, gradient) = (&counts[..n], &exposure[..n], &mut gradient[..n]);
    for i in 0..n {
        gradient[i] = exp(eta[i]);
    }
    // Selected, not multiplied by zero: an unobserved cell may have wandered to where e^η overflows.
    let total = inline::sum_of([gradient, eta, counts, exposure], |[e, eta, y, a]| {
        if a > 0.0 { a * e - y * eta } else { 0.0 }
    });
    for i in 0..n {
        gradient[i] = if exposure[i] > 0.0 { exposure[i] * gradient[i] - counts[i] } else { 0.0 };
    }
    total
}

impl Likelihood for PoissonLog {
    fn sites(&self) -> usize {
        self.counts.len()
    }

    fn evaluate(&self, eta: &[f64], _: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        // Block by block, so that what one loop leaves is still at hand for the next.
        let blocks = gradient.chunks_mut(BLOCK).zip(eta.chunks(BLOCK));
        let data = self.counts.chunks(BLOCK).zip(self.exposure.chunks(BLOCK));
        blocks
            .zip(data)
            .map(|((gradient, eta), (counts, exposure))| {
                vectorised(
                    #[inline(always)]
                    || misfit(eta, counts, exposure, gradient),
                )
            })
            .sum()
    }

    fn twin(&self) -> Option<SiteTwin> {
        let data =
            self.counts.iter().zip(&self.exposure).map(|(&y, &a)| [y as f32, a as f32]).collect();
        Some(SiteTwin { wgsl: include_str!("../../shaders/site/poisson.wgsl").into(), data })
    }

    fn curvature(&self, eta: &[f64], _: &[f64]) -> Curvature {
        let mut rates = vec![0.0; eta.len()];
        exponentials(1.0, eta, &mut rates);
        for (rate, a) in rates.iter_mut().zip(&self.exposure) {
            *rate = if *a > 0.0 { a * *rate } else { 0.0 };
        }
        Curvature::Sites(rates)
    }

    /// The overall log rate, with half an event added so that it is finite without any.
    fn start(&self) -> Option<Vec<f64>> {
        let (events, exposure) =
            (self.counts.iter().sum::<f64>(), self.exposure.iter().sum::<f64>());
        let rate = ((events + 0.5) / exposure).ln();
        rate.is_finite().then(|| vec![rate; self.sites()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unobserved_cell_is_silent_wherever_it_wanders() {
        let likelihood = PoissonLog::new(vec![2.0, 0.0, 0.0], vec![0.5, 0.0, 0.0]).unwrap();
        let mut gradient = [f64::NAN; 3];
        let total =
            likelihood.evaluate(&[0.3, 1e4, f64::NEG_INFINITY], &[], &mut gradient, &mut []);
        // Two units in the last place of e^η.
        let rate = 0.5 * 0.3f64.exp();
        assert!((total - (rate - 0.6)).abs() < 4.0 * f64::EPSILON, "{total}");
        assert!((gradient[0] - (rate - 2.0)).abs() < 4.0 * f64::EPSILON, "{gradient:?}");
        assert_eq!(gradient[1..], [0.0, 0.0]);
        let Curvature::Sites(sites) = likelihood.curvature(&[0.3, 1e4, f64::NEG_INFINITY], &[])
        else {
            panic!()
        };
        assert_eq!(sites[1..], [0.0, 0.0]);
    }

    #[test]
    fn starts_at_the_overall_rate() {
        let likelihood = PoissonLog::new(vec![3.0, 4.0], vec![0.5, 1.0]).unwrap();
        assert_eq!(likelihood.start().unwrap(), vec![5f64.ln(); 2]);
        assert_eq!(PoissonLog::new(vec![0.0], vec![0.0]).unwrap().start(), None);
    }

    #[test]
    fn bad_data_are_errors() {
        let refuse = |y: f64, a: f64| {
            assert!(PoissonLog::new(vec![0.0, y], vec![1.0, a]).is_err(), "{y} {a}")
        };
        refuse(-1.0, 1.0);
        refuse(1.5, 1.0);
        refuse(f64::NAN, 1.0);
        refuse(1.0, -1.0);
        refuse(1.0, f64::INFINITY);
        refuse(1.0, 0.0);
        assert!(PoissonLog::new(vec![1.0], vec![]).is_err());
    }
}
