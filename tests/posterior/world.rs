//! Simulates whole little worlds, hyperparameters, field and data, for tests of the joint distribution.

use crate::common::{Case, ar1_priors, normals};
use nalgebra::DMatrix;
use rand_distr::{Distribution, Poisson, StandardNormal};
use sshmc::likelihood::{
    BernoulliLogit, Curvature, Likelihood, Nothing, PoissonLog, StochasticVolatility,
};
use sshmc::model::{Column, MeanTerm, Model};
use sshmc::prior::{Hyperparameter, Hyperparameters};
use sshmc::random::{Purpose, Stream, StreamRng};
use sshmc::structure::{Ar1, Groups, Information, Kernel, Spectral, Structure};
use std::sync::{Arc, RwLock};

/// Data that change under a model that stays.
#[derive(Debug)]
pub(crate) struct Changing(Arc<RwLock<Arc<dyn Likelihood>>>);

/// One group of them.
#[derive(Debug)]
struct ChangingPart {
    whole: Arc<RwLock<Arc<dyn Likelihood>>>,
    group: usize,
}

impl ChangingPart {
    fn now(&self) -> Arc<dyn Likelihood> {
        self.whole.read().unwrap().part(self.group).unwrap()
    }
}

impl Likelihood for ChangingPart {
    fn sites(&self) -> usize {
        self.now().sites()
    }
    fn evaluate(&self, eta: &[f64], gradient: &mut [f64]) -> f64 {
        self.now().evaluate(eta, gradient)
    }
    fn curvature(&self, eta: &[f64]) -> Curvature {
        self.now().curvature(eta)
    }
    fn curvature_gradient(&self, eta: &[f64], weights: &[DMatrix<f64>], out: &mut [f64]) -> bool {
        self.now().curvature_gradient(eta, weights, out)
    }
}

impl Likelihood for Changing {
    fn sites(&self) -> usize {
        self.0.read().unwrap().sites()
    }
    fn evaluate(&self, eta: &[f64], gradient: &mut [f64]) -> f64 {
        self.0.read().unwrap().evaluate(eta, gradient)
    }
    fn curvature(&self, eta: &[f64]) -> Curvature {
        self.0.read().unwrap().curvature(eta)
    }
    fn curvature_gradient(&self, eta: &[f64], weights: &[DMatrix<f64>], out: &mut [f64]) -> bool {
        self.0.read().unwrap().curvature_gradient(eta, weights, out)
    }
    fn part(&self, group: usize) -> Option<Arc<dyn Likelihood>> {
        self.0.read().unwrap().part(group)?;
        Some(Arc::new(ChangingPart { whole: self.0.clone(), group }))
    }
}

/// Draws data at a predictor: the likelihood, and the data as numbers.
type Simulate = fn(&[f64], &mut StreamRng) -> (Arc<dyn Likelihood>, Vec<f64>);

/// A model whose data can be drawn anew.
pub(crate) struct World {
    pub(crate) case: Case,
    data: Arc<Changing>,
    simulate: Simulate,
}

/// A joint draw: φ, latents in the structure's basis, predictor at the sites, data.
pub(crate) struct Draw {
    pub(crate) phi: Vec<f64>,
    pub(crate) u: Vec<f64>,
    pub(crate) eta: Vec<f64>,
    pub(crate) y: Vec<f64>,
}

impl World {
    fn new(
        name: &'static str,
        structure: Structure,
        priors: Hyperparameters,
        mean: Option<f64>,
        simulate: Simulate,
    ) -> Self {
        let sites = structure.sites();
        let mut rng = Stream::new(0, 0, 0, Purpose::Data).rng();
        let first = simulate(&vec![0.0; sites], &mut rng).0;
        let data = Arc::new(Changing(Arc::new(RwLock::new(first))));
        let last = priors.len() - 1;
        let mut model = Model::new(name, structure, data.clone(), priors).unwrap();
        if let Some(scale) = mean {
            let term = MeanTerm { hyperparameter: last, scale, column: Column::Constant };
            model = model.with_mean(term).unwrap();
        }
        World { case: Case { name, model: Arc::new(model) }, data, simulate }
    }

    /// Draws new data at a predictor and puts them under the model.
    pub(crate) fn observe(&self, eta: &[f64], rng: &mut StreamRng) -> Vec<f64> {
        // Only a sampler that is wrong on purpose goes beyond e²⁰, and its data must still be numbers.
        let eta: Vec<f64> = eta
            .iter()
            .map(|eta| if eta.is_nan() { 20.0 } else { eta.clamp(-20.0, 20.0) })
            .collect();
        let (likelihood, y) = (self.simulate)(&eta, rng);
        *self.data.0.write().unwrap() = likelihood;
        y
    }

    /// Draws everything from the prior of `priors`, which may be spoilt.
    pub(crate) fn draw(&self, priors: &Hyperparameters, rng: &mut StreamRng) -> Draw {
        let structure = self.case.model.structure();
        let phi = priors.sample(rng).unwrap();
        let mut factor = structure.factor(&Information::NONE).unwrap();
        assert!(factor.set(&self.case.working(&phi)));
        let z: Vec<f64> = (0..structure.dim()).map(|_| StandardNormal.sample(rng)).collect();
        let mut u = vec![0.0; z.len()];
        factor.apply(&z, &mut u);
        let mean = self.case.mean(&phi);
        let with_mean: Vec<f64> = u.iter().zip(mean.iter()).map(|(u, m)| u + m).collect();
        let mut eta = vec![0.0; structure.sites()];
        structure.basis().write_field(&with_mean, &mut eta);
        let y = self.observe(&eta, rng);
        Draw { phi, u, eta, y }
    }
}

/// Moments that see hyperparameters, field, data and how they go together; none has a heavy tail.
pub(crate) fn statistics(phi: &[f64], eta: &[f64], y: &[f64]) -> Vec<f64> {
    let n = eta.len() as f64;
    let level = eta.iter().sum::<f64>() / n;
    let spread = eta.iter().map(|e| (1.0 + e * e).ln()).sum::<f64>() / n;
    let mut all = phi.to_vec();
    all.extend(phi.iter().map(|p| p * p));
    all.extend([level.tanh(), eta[0].tanh(), spread, phi[0] * spread]);
    if !y.is_empty() {
        let data = y.iter().map(|y| (1.0 + y.abs()).ln()).sum::<f64>() / y.len() as f64;
        all.extend([data, phi[0] * data, level.tanh() * data]);
    }
    all
}

fn counts(eta: &[f64], rng: &mut StreamRng) -> (Arc<dyn Likelihood>, Vec<f64>) {
    // One cell is never observed.
    let exposure = |i: usize| if i == 5 { 0.0 } else { 0.6 + 0.05 * i as f64 };
    let draw = |(i, eta): (usize, &f64)| match exposure(i) * eta.exp() {
        rate if rate > 0.0 => Poisson::new(rate).unwrap().sample(rng),
        _ => 0.0,
    };
    let y: Vec<f64> = eta.iter().enumerate().map(draw).collect();
    let exposure = (0..y.len()).map(exposure).collect();
    (Arc::new(PoissonLog::new(y.clone(), exposure).unwrap()), y)
}

fn returns(eta: &[f64], rng: &mut StreamRng) -> (Arc<dyn Likelihood>, Vec<f64>) {
    let normal = |rng: &mut StreamRng| -> f64 { StandardNormal.sample(rng) };
    let y: Vec<f64> = eta.iter().map(|eta| (0.5 * eta).exp() * normal(rng)).collect();
    (Arc::new(StochasticVolatility::new(&y).unwrap()), y)
}

fn labels(eta: &[f64], rng: &mut StreamRng) -> (Arc<dyn Likelihood>, Vec<f64>) {
    let design = normals(20, 70);
    let rows = vec![0..6, 6..10];
    let label = |r: usize| {
        let group = usize::from(r >= 6);
        let t = (0..2).map(|j| eta[2 * group + j] * design[2 * r + j]).sum::<f64>();
        let uniform: f64 = rand::RngExt::random(rng);
        if uniform < 1.0 / (1.0 + (-t).exp()) { 1.0 } else { -1.0 }
    };
    let mut label = label;
    let y: Vec<f64> = (0..10).map(&mut label).collect();
    let likelihood = BernoulliLogit::new(&y, &design, rows, 2).unwrap();
    (Arc::new(likelihood), y.into_iter().map(|y| y + 1.0).collect())
}

fn nothing(eta: &[f64], _: &mut StreamRng) -> (Arc<dyn Likelihood>, Vec<f64>) {
    (Arc::new(Nothing { sites: eta.len() }), vec![])
}

/// Every model, tiny and with proper priors.
pub(crate) fn worlds() -> Vec<World> {
    let set = |mut all: Hyperparameters, priors: &[&str]| {
        priors.iter().for_each(|prior| all.set_prior(prior).unwrap());
        all
    };
    let field = Hyperparameters::new(vec![
        Hyperparameter::field_sigma(),
        Hyperparameter::field_range(0.3).unwrap(),
        Hyperparameter::field_mu(),
    ]);
    let field = set(
        field,
        &["sigma=lognormal(-0.7,0.4)", "range=lognormal(-1.2,0.4)", "mu=normal(-0.3,0.4)"],
    );
    let spectral = Spectral::new(4, 4, 0.25, Kernel::Exponential, (0.0, f64::INFINITY)).unwrap();
    let mut series: Vec<Hyperparameter> = ar1_priors().iter().cloned().collect();
    series.push(Hyperparameter::volatility_beta());
    let series = set(Hyperparameters::new(series), &["beta=lognormal(-0.2,0.4)"]);
    let weights = set(
        Hyperparameters::new(vec![Hyperparameter::logistic_gamma()]),
        &["gamma=normal(0.2,0.7)"],
    );
    let neck = set(Hyperparameters::new(vec![Hyperparameter::funnel_v()]), &["v=normal(0.3,1)"]);
    let groups = Groups::new(2, 2).unwrap();
    let sheath = Groups::new(4, 1).unwrap().with_sign(-1.0).unwrap();
    vec![
        World::new("lgcp", Structure::Spectral(spectral), field, Some(1.0), counts),
        World::new("sv", Structure::Ar1(Ar1::new(8).unwrap()), series, Some(2.0), returns),
        World::new("logistic", Structure::Groups(groups), weights, None, labels),
        World::new("funnel", Structure::Groups(sheath), neck, None, nothing),
    ]
}
