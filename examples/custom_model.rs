//! Builds a model of one's own: weekly counts that scatter more than Poisson around a rate that drifts.
//!
//! y_t ~ NegativeBinomial(mean e^{η_t}, size k), η_t = μ + u_t, u an AR(1) process with coefficient φ and innovation standard
//! deviation σ. With p = 1/(1 + k e^{−η}),
//!
//! > −log p(y|η) = (y + k) log(k + e^η) − y η,  gradient (y + k) p − y,  expected curvature k p.
//!
//! A model needs a likelihood (the three functions below), a structure, and hyperparameters with their priors.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use rand_distr::{Distribution as _, Gamma, Poisson};
use sshmc::likelihood::{Curvature, Likelihood};
use sshmc::model::{Column, MeanTerm, Model};
use sshmc::prior::{Distribution, Hyperparameter, Hyperparameters, Scale};
use sshmc::random::{Purpose, Stream};
use sshmc::report::{Summary, Truth};
use sshmc::sample::{Settings, run};
use sshmc::structure::{Ar1, Structure};
use std::error::Error;
use std::io;
use std::sync::Arc;

/// Counts with log link, whose variance is m + m²/k around the mean m.
#[derive(Debug)]
pub(crate) struct NegativeBinomial {
    pub(crate) counts: Vec<f64>,
    pub(crate) size: f64,
}

impl NegativeBinomial {
    /// p = e^η/(k + e^η), without overflow.
    fn share(&self, eta: f64) -> f64 {
        1.0 / (1.0 + (self.size.ln() - eta).exp())
    }

    /// log(k + e^η), without overflow.
    fn log_sum(&self, eta: f64) -> f64 {
        let (low, high) = (eta.min(self.size.ln()), eta.max(self.size.ln()));
        high + (low - high).exp().ln_1p()
    }
}

impl Likelihood for NegativeBinomial {
    fn sites(&self) -> usize {
        self.counts.len()
    }

    fn evaluate(&self, eta: &[f64], _: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        let mut total = 0.0;
        for ((&y, &eta), gradient) in self.counts.iter().zip(eta).zip(gradient) {
            total += (y + self.size) * self.log_sum(eta) - y * eta;
            *gradient = (y + self.size) * self.share(eta) - y;
        }
        total
    }

    fn curvature(&self, eta: &[f64], _: &[f64]) -> Curvature {
        Curvature::Sites(eta.iter().map(|&eta| self.size * self.share(eta)).collect())
    }
}

/// Puts the model together: the structure's hyperparameters come first, in its order, then those of the mean.
pub(crate) fn model(counts: Vec<f64>, size: f64) -> sshmc::Result<Model> {
    let hyperparameters = Hyperparameters::new(vec![
        Hyperparameter::new("phi", Scale::Tanh, Distribution::Uniform { lower: -1.0, upper: 1.0 })?,
        Hyperparameter::new("sigma", Scale::Exp(1.0), Distribution::HalfNormal { scale: 1.0 })?,
        Hyperparameter::new("mu", Scale::Linear(1.0), Distribution::Normal { mean: 0.0, sd: 5.0 })?,
    ]);
    let structure = Structure::Ar1(Ar1::new(counts.len())?);
    let likelihood = Arc::new(NegativeBinomial { counts, size });
    Model::new("weekly-counts", structure, likelihood, hyperparameters)?.with_mean(MeanTerm {
        hyperparameter: 2,
        scale: 1.0,
        column: Column::Constant,
    })
}

/// Values the data are drawn at: (phi, sigma, mu), and the size k.
pub(crate) const TRUTH: [(&str, f64); 3] = [("phi", 0.9), ("sigma", 0.3), ("mu", 2.0)];
pub(crate) const SIZE: f64 = 5.0;

/// Draws a series at the true values: a Poisson count whose rate is multiplied by a gamma variable of mean one.
pub(crate) fn simulate(weeks: usize, seed: u64) -> Result<Vec<f64>, Box<dyn Error>> {
    let [(_, phi), (_, sigma), (_, mu)] = TRUTH;
    let mut noise = vec![0.0; weeks];
    Stream::new(seed, 0, 0, Purpose::Data).fill_normals(&mut noise);
    let mut rng = Stream::new(seed, 0, 1, Purpose::Data).rng();
    let gamma = Gamma::new(SIZE, 1.0 / SIZE)?;
    let mut u = sigma / (1.0 - phi * phi).sqrt() * noise[0];
    let mut counts = Vec::with_capacity(weeks);
    for week in 0..weeks {
        if week > 0 {
            u = phi * u + sigma * noise[week];
        }
        let rate = (mu + u).exp() * gamma.sample(&mut rng);
        counts.push(Poisson::new(rate.max(1e-300))?.sample(&mut rng));
    }
    Ok(counts)
}

/// Draws from the posterior and sums it up.
pub(crate) fn fit(counts: Vec<f64>, settings: &Settings) -> sshmc::Result<Summary> {
    let model = Arc::new(model(counts, SIZE)?);
    Ok(Summary::new(&run(&model, settings, &())?))
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let summary = fit(simulate(300, 1)?, &Settings::default())?;
    let truth: Truth = TRUTH.map(|(name, value)| (name.to_owned(), value)).into();
    println!("{} weeks\n", summary.field.n);
    summary.write_text(&truth, &mut io::stdout())?;
    Ok(())
}
