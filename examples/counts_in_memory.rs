//! Fits counts that a program has in memory, with a covariate, first on the CPU and then on a GPU.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use sshmc::prelude::*;

/// Rows and columns of the map.
const SIDE: usize = 16;

/// Some counts of your own, row by row: more of them where it is high, and in one corner.
fn counts(elevation: &[f64]) -> Vec<u32> {
    let corner = |cell: usize| if cell / SIDE < 5 && cell % SIDE < 5 { 4.0 } else { 1.0 };
    let rate = |cell: usize| corner(cell) * elevation[cell].exp();
    // Rates rounded up and down in turns.
    (0..SIDE * SIDE).map(|cell| (rate(cell) + 0.7 * (cell % 2) as f64) as u32).collect()
}

pub(crate) fn fit(sampler: &Sampler) -> sshmc::Result<Fit> {
    let elevation: Vec<f64> = (0..SIDE * SIDE).map(|k| (k as f64 / 40.0).sin()).collect();
    Lgcp::new(Counts::new(SIDE, SIDE, &counts(&elevation))?)
        .kernel(Kernel::Matern32)
        .prior("range", Prior::pc(0.05, 0.05))
        .covariate("elevation", &elevation)
        .fit(sampler)
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    for device in [Device::cpu(), Device::gpu()?] {
        let fit = fit(&Sampler::default().device(device).draws(400))?;
        println!("On {}:\n{}\n", fit.device, fit.summary());
        println!("log intensity in the corner: {:.2}", fit.field_mean()[0]);
    }
    Ok(())
}
