//! Gives the metrics of Girolami and Calderhead (2011) to hyperparameters and to groups of latents.
//!
//! Hyperparameters, latents held: G(φ) = F(w) + D, where F is the information about the structure's hyperparameters
//! in the latents ([`Structure::fisher`](crate::structure::Structure::fisher)), a mean's coefficient has the constant information Σ c Z² of the
//! likelihood at its start, and D holds the precisions of the priors. Latents, hyperparameters held: the likelihood's expected information plus
//! Σ⁻¹, which depends on the latents only where the likelihood's curvature comes in blocks.

use super::{Space, State};
use crate::integrate::Surface;
use crate::likelihood::{Curvature, Likelihood};
use crate::model::{Column, Model};
use crate::numeric::squared_norm;
use nalgebra::DMatrix;

/// Nodes and weights of Gauss–Hermite quadrature for a standard normal, the positive half and zero.
const HERMITE: [(f64, f64); 4] = [
    (0.0, 0.457_142_857_142_857_1),
    (1.154_405_394_739_968, 0.240_123_178_605_012_7),
    (2.366_759_410_734_541, 0.030_757_123_967_586_5),
    (3.750_439_717_725_742, 0.000_548_268_855_972_217_9),
];

/// What a site's value says about its latent, expected over the prior at φ and averaged over the sites: a e^{μ + σ²/2} for counts, ½
/// for returns. Zero where the curvature comes in blocks.
pub fn expected_information(model: &Model, phi: &[f64]) -> f64 {
    let (mut w, mut dw) = (phi.to_vec(), phi.to_vec());
    model.hyperparameters().working(phi, &mut w, &mut dw);
    let sd = model.structure().mean_variance(&w).sqrt();
    let sites = model.structure().sites();
    let mut mean = vec![model.offset(); sites];
    for term in model.mean() {
        let c = term.scale * w[term.hyperparameter];
        match &term.column {
            Column::Constant => mean.iter_mut().for_each(|m| *m += c),
            Column::Values(values) => crate::numeric::axpy(c, values, &mut mean),
        }
    }
    let nodes = HERMITE.iter().flat_map(|&(x, weight)| {
        let signs: &[f64] = if x == 0.0 { &[1.0] } else { &[1.0, -1.0] };
        signs.iter().map(move |sign| (sign * x, weight))
    });
    nodes
        .map(|(x, weight)| {
            let eta: Vec<f64> = mean.iter().map(|m| m + sd * x).collect();
            match model.likelihood().curvature(&eta, &w[model.likelihood_parameters()]) {
                Curvature::Sites(sites) => weight * sites.iter().sum::<f64>() / eta.len() as f64,
                Curvature::Blocks(_) => 0.0,
            }
        })
        .sum()
}

/// The precision of each hyperparameter's prior, from its central 68 %; zero if the prior is improper.
pub fn prior_precisions(model: &Model) -> Vec<f64> {
    let spread = |p: f64, one: &crate::prior::Hyperparameter| one.prior().quantile(p);
    let precision = |one: &crate::prior::Hyperparameter| {
        // One standard deviation either side of a normal's mean.
        let (low, high) =
            (spread(0.158_655_253_931_457, one)?, spread(0.841_344_746_068_543, one)?);
        let sd = 0.5 * (high - low);
        (sd > 0.0 && sd.is_finite()).then(|| 1.0 / (sd * sd))
    };
    model.hyperparameters().iter().map(|one| precision(one).unwrap_or(0.0)).collect()
}

/// Information about the coefficients of the mean at the start, by hyperparameter.
fn mean_information(model: &Model) -> Vec<f64> {
    let mut all = vec![0.0; model.hyperparameters().len()];
    let (eta, own) = (model.start_predictor(), model.own(&model.start()));
    if let Curvature::Sites(curvature) = model.likelihood().curvature(&eta, &own) {
        for term in model.mean() {
            let sum: f64 = match &term.column {
                Column::Constant => curvature.iter().sum(),
                Column::Values(values) => {
                    curvature.iter().zip(values).map(|(c, z)| c * z * z).sum()
                }
            };
            all[term.hyperparameter] += term.scale * term.scale * sum;
        }
    }
    all
}

/// What is constant in the hyperparameters' metric.
pub(super) fn constant_information(model: &Model) -> Vec<f64> {
    prior_precisions(model).iter().zip(mean_information(model)).map(|(d, f)| d + f).collect()
}

/// The hyperparameters with the latents held, under their Fisher metric.
pub struct HyperSurface<'a> {
    space: &'a mut Space,
    state: &'a mut State,
    constant: &'a [f64],
    slopes: Vec<DMatrix<f64>>,
}

impl<'a> HyperSurface<'a> {
    /// Around a state whose hyperparameters will be moved; `constant` is added to the metric's diagonal.
    pub fn new(space: &'a mut Space, state: &'a mut State, constant: &'a [f64]) -> Self {
        Self { space, state, constant, slopes: Vec::new() }
    }
}

impl Surface for HyperSurface<'_> {
    fn dim(&self) -> usize {
        self.state.phi.len()
    }

    fn potential(&mut self, q: &[f64], gradient: &mut [f64]) -> f64 {
        self.state.phi.copy_from_slice(q);
        self.space.evaluate(self.state);
        gradient.copy_from_slice(&self.state.by_phi);
        self.state.potential
    }

    fn matrix(&mut self, q: &[f64]) -> Option<DMatrix<f64>> {
        let (w, dw) = self.space.target().working(q);
        let (w, dw) = (w.to_vec(), dw.to_vec());
        let fisher = self.space.model().structure().fisher(&w)?;
        let m = q.len();
        let enlarge = |small: &DMatrix<f64>| small.clone().resize(m, m, 0.0);
        self.slopes = fisher.slopes.iter().zip(&dw).map(|(s, dw)| enlarge(s) * *dw).collect();
        let mut matrix = enlarge(&fisher.matrix);
        for (k, constant) in self.constant.iter().enumerate() {
            matrix[(k, k)] += constant;
        }
        Some(matrix)
    }

    fn contract(&mut self, weight: &DMatrix<f64>, out: &mut [f64]) {
        out.fill(0.0);
        for (out, slope) in out.iter_mut().zip(&self.slopes) {
            *out = weight.dot(slope);
        }
    }
}

/// The coefficients of one group with everything else held, under X'WX + τI.
pub struct GroupSurface<'a> {
    part: &'a dyn Likelihood,
    /// What the predictor has besides the coefficients.
    base: &'a [f64],
    /// Working values of the likelihood's own hyperparameters.
    own: &'a [f64],
    tau: f64,
    eta: Vec<f64>,
    evaluations: u32,
}

impl<'a> GroupSurface<'a> {
    /// A group's likelihood of coefficients plus `base` at its own hyperparameters, and their prior precision.
    pub fn new(part: &'a dyn Likelihood, base: &'a [f64], own: &'a [f64], tau: f64) -> Self {
        Self { part, base, own, tau, eta: base.to_vec(), evaluations: 0 }
    }

    /// How often likelihood or curvature were evaluated.
    pub fn evaluations(&self) -> u32 {
        self.evaluations
    }

    fn move_to(&mut self, q: &[f64]) {
        self.evaluations += 1;
        for ((eta, base), q) in self.eta.iter_mut().zip(self.base).zip(q) {
            *eta = base + q;
        }
    }
}

impl Surface for GroupSurface<'_> {
    fn dim(&self) -> usize {
        self.base.len()
    }

    fn potential(&mut self, q: &[f64], gradient: &mut [f64]) -> f64 {
        self.move_to(q);
        let by_own = &mut vec![0.0; self.own.len()];
        let misfit = self.part.evaluate(&self.eta, self.own, gradient, by_own);
        crate::numeric::axpy(self.tau, q, gradient);
        misfit + 0.5 * self.tau * squared_norm(q)
    }

    fn matrix(&mut self, q: &[f64]) -> Option<DMatrix<f64>> {
        self.move_to(q);
        match self.part.curvature(&self.eta, self.own) {
            Curvature::Blocks(mut blocks) => {
                let mut block = blocks.pop()?;
                for k in 0..q.len() {
                    block[(k, k)] += self.tau;
                }
                Some(block)
            }
            Curvature::Sites(_) => None,
        }
    }

    fn contract(&mut self, weight: &DMatrix<f64>, out: &mut [f64]) {
        out.fill(0.0);
        self.part.curvature_gradient(&self.eta, self.own, std::slice::from_ref(weight), out);
    }
}
