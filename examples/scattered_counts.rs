//! Fits counts that scatter more than Poisson's around a rate with a covariate, and learns by how much, on the CPU and on a GPU.
//!
//! y_i ~ NegativeBinomial(mean m_i, size k): the variance is m + m²/k, and k is learnt with the other hyperparameters.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use rand_distr::{Distribution, Gamma, Poisson};
use sshmc::prelude::*;
use sshmc::random::{Purpose, Stream};
use std::error::Error;

/// Rows and columns of the map.
const SIDE: usize = 24;
/// Truths: the size, and what a standard deviation of the covariate adds to the log rate.
pub(crate) const SIZE: f64 = 1.5;
pub(crate) const SLOPE: f64 = 0.6;

/// A covariate that rises and falls from west to east, with mean zero and standard deviation one.
fn moisture() -> Vec<f64> {
    let wave = |cell: usize| (std::f64::consts::TAU * (cell % SIDE) as f64 / SIDE as f64).sin();
    (0..SIDE * SIDE).map(|cell| wave(cell) * 2f64.sqrt()).collect()
}

/// Counts of mean 4 e^{SLOPE moisture}, times a gamma variable of mean one.
fn counts(seed: u64) -> Result<Vec<u32>, Box<dyn Error>> {
    let mut rng = Stream::new(seed, 0, 0, Purpose::Data).rng();
    let gamma = Gamma::new(SIZE, 1.0 / SIZE)?;
    let mut count = |moisture: f64| -> Result<u32, Box<dyn Error>> {
        let rate = 4.0 * (SLOPE * moisture).exp() * gamma.sample(&mut rng);
        Ok(Poisson::new(rate.max(1e-300))?.sample(&mut rng) as u32)
    };
    moisture().into_iter().map(&mut count).collect()
}

pub(crate) fn fit(sampler: &Sampler) -> Result<Fit, Box<dyn Error>> {
    let counts = Counts::new(SIDE, SIDE, &counts(1)?)?;
    let model = Lgcp::new(counts).likelihood(CountLikelihood::NegativeBinomial);
    Ok(model.covariate("moisture", &moisture()).fit(sampler)?)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    println!("Truths: size {SIZE}, moisture {SLOPE}\n");
    for device in [Device::cpu(), Device::gpu()?] {
        let fit = fit(&Sampler::default().device(device).draws(300))?;
        println!("On {}:\n{}\n", fit.device, fit.summary());
    }
    Ok(())
}
