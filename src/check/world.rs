//! Simulates whole worlds: hyperparameters, field and data.

use crate::error::{Error, Result};
use crate::hamiltonian::add_mean;
use crate::likelihood::{Curvature, Likelihood};
use crate::model::Model;
use crate::prior::Hyperparameters;
use crate::random::{Purpose, Stream, StreamRng};
use crate::structure::{Basis, Factor, Information};
use nalgebra::DMatrix;
use rand_distr::{Distribution, StandardNormal};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Where data of a kind come from.
pub trait Source: Send + Sync {
    /// Draws data at a predictor and at working values of the likelihood's own hyperparameters, exactly; an error where the data would
    /// not be numbers.
    fn simulate(&self, eta: &[f64], own: &[f64], rng: &mut StreamRng) -> Result<Vec<f64>>;

    /// How far from zero a predictor may be for its data to be numbers.
    fn furthest(&self) -> f64 {
        600.0
    }

    /// The likelihood of such data.
    fn likelihood(&self, y: &[f64]) -> Result<Arc<dyn Likelihood>>;

    /// The model of such data, as a fit has it; data that a reader refuses because they say too little have one too, since
    /// worlds that are left out would make the ranks of the others uneven.
    fn model(&self, y: &[f64]) -> Result<Model>;
}

/// Tries to draw hyperparameters at which the model's covariance exists.
const TRIES: u32 = 1000;

/// A model whose data can be drawn anew.
pub struct World {
    model: Arc<Model>,
    data: Arc<RwLock<Arc<dyn Likelihood>>>,
    source: Box<dyn Source>,
    has_data: bool,
    scratch: Mutex<Scratch>,
}

/// What draws of the field are made with; it takes longer to make than a draw.
struct Scratch {
    factor: Box<dyn Factor>,
    basis: Basis,
}

/// A joint draw.
#[derive(Clone, Debug)]
pub struct Draw {
    /// Hyperparameters in the sampler's coordinates.
    pub phi: Vec<f64>,
    /// Latents without their mean, in the structure's basis.
    pub u: Vec<f64>,
    /// Latents without their mean, at the sites.
    pub field: Vec<f64>,
    /// Predictor at the sites.
    pub eta: Vec<f64>,
    /// Data.
    pub y: Vec<f64>,
}

impl World {
    /// The world of a model, whatever its data, and of a source of others.
    pub fn new(template: Model, source: Box<dyn Source>) -> Result<Self> {
        let first = template.shared_likelihood();
        let data = Arc::new(RwLock::new(first));
        let changing = Arc::new(Changing { whole: data.clone(), group: None });
        let model = Arc::new(template.with_likelihood(changing)?);
        let structure = model.structure();
        let factor = structure.factor(&Information::NONE)?;
        let scratch = Mutex::new(Scratch { factor, basis: structure.basis() });
        let mut rng = Stream::new(0, 0, 0, Purpose::Data).rng();
        let own = model.own(&model.hyperparameters().start());
        let flat = vec![0.0; structure.sites()];
        let has_data = !source.simulate(&flat, &own, &mut rng)?.is_empty();
        Ok(Self { model, data, source, has_data, scratch })
    }

    /// The model, whose data are those put last.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// Whether there are data at all.
    pub fn has_data(&self) -> bool {
        self.has_data
    }

    /// Whether data are drawn at a predictor as it is by [`Self::simulate_tamed`].
    pub fn is_tame(&self, eta: &[f64]) -> bool {
        !self.has_data || eta.iter().all(|eta| eta.abs() <= self.source.furthest())
    }

    /// Draws data at a predictor that a wrong sampler may have taken anywhere: from the nearest at which they are numbers.
    pub fn simulate_tamed(
        &self,
        eta: &[f64],
        phi: &[f64],
        rng: &mut StreamRng,
    ) -> Result<Vec<f64>> {
        let furthest = self.source.furthest();
        let tame = |eta: &f64| match eta.is_nan() {
            true => furthest,
            false => eta.clamp(-furthest, furthest),
        };
        let own: Vec<f64> = self.model.own(phi).iter().map(tame).collect();
        self.source.simulate(&eta.iter().map(tame).collect::<Vec<_>>(), &own, rng)
    }

    /// Puts data under the model.
    pub fn put(&self, y: &[f64]) -> Result<()> {
        let likelihood = self.source.likelihood(y)?;
        *self.data.write().unwrap_or_else(PoisonError::into_inner) = likelihood;
        Ok(())
    }

    /// The model of some data as a fit has it.
    pub fn fitted_model(&self, y: &[f64]) -> Result<Model> {
        let model = self.source.model(y)?;
        if model.hyperparameters() == self.model.hyperparameters() {
            return Ok(model);
        }
        Err(Error::Numeric(
            "the priors of this model depend on its data; state them all by --prior".into(),
        ))
    }

    /// Draws everything, hyperparameters from `priors`, which may be other than the model's.
    pub fn draw(&self, priors: &Hyperparameters, rng: &mut StreamRng) -> Result<Draw> {
        let structure = self.model.structure();
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let Scratch { factor, basis } = &mut *scratch;
        for _ in 0..TRIES {
            let phi = priors.sample(rng)?;
            // Where the covariance does not exist, as at ranges that a torus cannot hold, the prior is cut off.
            if !factor.set(&self.working(&phi)) {
                continue;
            }
            let z: Vec<f64> = (0..structure.dim()).map(|_| StandardNormal.sample(rng)).collect();
            let mut u = vec![0.0; z.len()];
            factor.apply(&z, &mut u);
            let mut field = vec![0.0; structure.sites()];
            basis.write_field(&u, &mut field);
            let mut eta = field.clone();
            add_mean(&self.model, &self.model.coefficients(&phi), &field, &mut eta);
            let y = self.source.simulate(&eta, &self.model.own(&phi), rng)?;
            return Ok(Draw { phi, u, field, eta, y });
        }
        Err(Error::Numeric(format!(
            "no covariance exists at {TRIES} draws of the prior; give a prior nearer to the data's scale by --prior"
        )))
    }

    /// Working values of the structure's hyperparameters.
    fn working(&self, phi: &[f64]) -> Vec<f64> {
        let (mut w, mut dw) = (phi.to_vec(), phi.to_vec());
        self.model.hyperparameters().working(phi, &mut w, &mut dw);
        w.truncate(self.model.structure().parameters());
        w
    }

    /// log p(y given η) of the data put last at φ, up to a constant.
    pub fn log_likelihood(&self, eta: &[f64], phi: &[f64]) -> f64 {
        -self.model.misfit(eta, phi, &mut vec![0.0; eta.len()])
    }
}

/// Data that change under a model that stays, or one group of them.
#[derive(Debug)]
struct Changing {
    whole: Arc<RwLock<Arc<dyn Likelihood>>>,
    group: Option<usize>,
}

impl Changing {
    fn now(&self) -> Arc<dyn Likelihood> {
        let whole = self.whole.read().unwrap_or_else(PoisonError::into_inner).clone();
        self.group.and_then(|group| whole.part(group)).unwrap_or(whole)
    }
}

impl Likelihood for Changing {
    fn sites(&self) -> usize {
        self.now().sites()
    }

    fn parameters(&self) -> usize {
        self.now().parameters()
    }

    fn evaluate(&self, eta: &[f64], own: &[f64], by_eta: &mut [f64], by_own: &mut [f64]) -> f64 {
        self.now().evaluate(eta, own, by_eta, by_own)
    }

    fn curvature(&self, eta: &[f64], own: &[f64]) -> Curvature {
        self.now().curvature(eta, own)
    }

    fn curvature_gradient(
        &self,
        eta: &[f64],
        own: &[f64],
        weights: &[DMatrix<f64>],
        out: &mut [f64],
    ) -> bool {
        self.now().curvature_gradient(eta, own, weights, out)
    }

    fn part(&self, group: usize) -> Option<Arc<dyn Likelihood>> {
        self.now().part(group)?;
        Some(Arc::new(Changing { whole: self.whole.clone(), group: Some(group) }))
    }
}
