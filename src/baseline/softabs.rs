//! Moves everything together under the SoftAbs metric, with exact derivatives: Riemannian manifold HMC for small models.
//!
//! For latents x ~ N(0, e^{±γ}I), τ = e^{∓γ}, s = ±1 and a likelihood L,
//!
//! > U = −L(x) + ½τ|x|² + ½ n s γ − log p(γ),
//!
//! so the Hessian is C + τI among the latents (C the likelihood's curvature), −sτx between them and γ, and ½τ|x|² − (log p)'' for γ.
//! Its derivatives are as simple, and all a metric needs is their products tr(W ∂ₖA) with a given W.

use super::rmhmc::ride;
use super::{Address, Rival, Space, State, Trajectory};
use crate::draws::Info;
use crate::error::{Error, Result};
use crate::integrate::{Generalized, MetricKind, Surface};
use crate::likelihood::Curvature;
use crate::model::Model;
use crate::numeric::squared_norm;
use crate::prior::{Distribution, Hyperparameter, Scale};
use crate::random::Purpose;
use crate::structure::Structure;
use nalgebra::DMatrix;

/// The most latents: each step decomposes several matrices of that size.
const MOST_LATENTS: usize = 300;
/// α, as in Betancourt (2013): eigenvalues below 1e-6 in size count as that.
const ALPHA: f64 = 1e6;
/// Steps of a trajectory where nothing else is asked for.
const STEPS: u32 = 10;

/// RMHMC with the SoftAbs metric.
pub struct SoftAbs {
    trajectory: Trajectory,
    step: f64,
}

impl SoftAbs {
    /// For a space in centred coordinates; an error if the model's derivatives are not offered.
    pub fn new(model: &Model, trajectory: Trajectory) -> Result<Self> {
        check(model)?;
        Ok(Self { trajectory, step: 0.1 })
    }
}

/// Whether a model's third derivatives are known here.
fn check(model: &Model) -> Result<()> {
    let place = "--method rmhmc-softabs";
    let n = model.structure().dim();
    let other = "take `nuts` or `sshmc` instead";
    let Structure::Groups(groups) = model.structure() else {
        let got = format!("the model {}", model.name());
        return Err(Error::input(place, "the funnel or logistic regression", got, other));
    };
    if n > MOST_LATENTS {
        let expected = format!(
            "at most {MOST_LATENTS} latents, because each step takes several eigendecompositions"
        );
        return Err(Error::input(place, expected, n.to_string(), other));
    }
    let size = groups.size();
    let weights = vec![DMatrix::zeros(size, size); n / size];
    let known =
        model.likelihood().curvature_gradient(&vec![0.0; n], &[], &weights, &mut vec![0.0; n]);
    let all: Vec<&Hyperparameter> = model.hyperparameters().iter().collect();
    if !known || !model.mean().is_empty() || all.len() != 1 {
        return Err(Error::input(
            place,
            "a likelihood that offers the gradient of its curvature, without a mean",
            format!("the model {}", model.name()),
            other,
        ));
    }
    if prior_bend(all[0], 0.0).is_none() {
        let got = all[0].prior().distribution().to_string();
        let expected = format!(
            "a normal prior of {0}, or an exponential one of its exponential",
            all[0].name()
        );
        return Err(Error::input(place, expected, got, "change --prior, or take another method"));
    }
    Ok(())
}

/// Second and third derivative of −log p in φ.
fn prior_bend(one: &Hyperparameter, phi: f64) -> Option<(f64, f64)> {
    match (*one.prior().distribution(), one.prior().scale()) {
        (Distribution::Normal { sd, .. }, Scale::Linear(factor)) => {
            Some(((factor / sd).powi(2), 0.0))
        }
        (Distribution::Exponential { rate }, Scale::Exp(factor)) => {
            let second = rate * factor * factor * (factor * phi).exp();
            Some((second, factor * second))
        }
        _ => None,
    }
}

impl Rival for SoftAbs {
    fn transition(&mut self, space: &mut Space, state: &mut State, address: Address) -> Info {
        let uniform = address.stream(Purpose::Jitter).uniform(0);
        let step = super::shortened(self.step, self.trajectory.jitter, uniform);
        let count = self.trajectory.steps.unwrap_or(STEPS);
        let n = state.z.len();
        let mut normals = address.normals(Purpose::Momentum, n);
        normals.extend(address.normals(Purpose::Hyper, 1));
        let start = [&state.z[..], &state.phi[..]].concat();
        let mut proposal = state.clone();
        let mut point = Generalized::new(
            JointSurface::new(space, &mut proposal),
            MetricKind::SoftAbs { alpha: ALPHA },
        );
        let uniform = address.stream(Purpose::Accept).uniform(0);
        let info = ride(&mut point, &start, &normals, (count, step), uniform);
        drop(point);
        if info.accepted {
            state.take(&proposal);
        }
        info
    }

    fn set_steps(&mut self, steps: [f64; 2]) {
        self.step = steps[0];
    }
}

/// Latents and their log variance with the Hessian of the potential.
pub struct JointSurface<'a> {
    space: &'a mut Space,
    state: &'a mut State,
    sign: f64,
    size: usize,
    /// Where the matrix was last asked for.
    at: Vec<f64>,
}

impl<'a> JointSurface<'a> {
    /// Around a state, which will be moved, of a model that [`SoftAbs::new`] takes.
    pub fn new(space: &'a mut Space, state: &'a mut State) -> Self {
        let (sign, size) = match space.model().structure() {
            Structure::Groups(groups) => (groups.sign(), groups.size()),
            _ => (1.0, 1),
        };
        Self { space, state, sign, size, at: Vec::new() }
    }

    /// e^{∓γ}, the latents and γ of a joint position.
    fn split<'q>(&self, q: &'q [f64]) -> (f64, &'q [f64], f64) {
        let (x, gamma) = q.split_at(q.len() - 1);
        ((-self.sign * gamma[0]).exp(), x, gamma[0])
    }

    fn prior_bend(&self, gamma: f64) -> (f64, f64) {
        prior_bend(&self.space.model().hyperparameters()[0], gamma).unwrap_or((0.0, 0.0))
    }

    fn predictor(&self, x: &[f64]) -> Vec<f64> {
        x.iter().map(|x| x + self.space.model().offset()).collect()
    }
}

impl Surface for JointSurface<'_> {
    fn dim(&self) -> usize {
        self.state.z.len() + 1
    }

    fn potential(&mut self, q: &[f64], gradient: &mut [f64]) -> f64 {
        let n = self.state.z.len();
        self.state.z.copy_from_slice(&q[..n]);
        self.state.phi.copy_from_slice(&q[n..]);
        self.space.evaluate(self.state);
        gradient[..n].copy_from_slice(&self.state.by_z);
        gradient[n..].copy_from_slice(&self.state.by_phi);
        self.state.potential
    }

    fn matrix(&mut self, q: &[f64]) -> Option<DMatrix<f64>> {
        self.at = q.to_vec();
        let (tau, x, gamma) = self.split(q);
        let n = x.len();
        let mut a = DMatrix::zeros(n + 1, n + 1);
        match self.space.model().likelihood().curvature(&self.predictor(x), &[]) {
            Curvature::Sites(sites) => (0..n).for_each(|i| a[(i, i)] = sites[i]),
            Curvature::Blocks(blocks) => {
                for (g, block) in blocks.iter().enumerate() {
                    let own = (g * self.size, g * self.size);
                    a.view_mut(own, (self.size, self.size)).copy_from(block);
                }
            }
        }
        for (i, x) in x.iter().enumerate() {
            a[(i, i)] += tau;
            a[(i, n)] = -self.sign * tau * x;
            a[(n, i)] = a[(i, n)];
        }
        a[(n, n)] = 0.5 * tau * squared_norm(x) + self.prior_bend(gamma).0;
        a.iter().all(|a| a.is_finite()).then_some(a)
    }

    fn contract(&mut self, weight: &DMatrix<f64>, out: &mut [f64]) {
        let (tau, x, gamma) = self.split(&self.at);
        let (n, s) = (x.len(), self.sign);
        let blocks: Vec<DMatrix<f64>> = (0..n / self.size)
            .map(|g| weight.view((g * self.size, g * self.size), (self.size, self.size)).into())
            .collect();
        let likelihood = self.space.model().likelihood();
        out.fill(0.0);
        likelihood.curvature_gradient(&self.predictor(x), &[], &blocks, &mut out[..n]);
        let mut through = 0.0;
        for (i, x) in x.iter().enumerate() {
            out[i] += tau * (weight[(n, n)] * x - 2.0 * s * weight[(i, n)]);
            through += tau * (2.0 * weight[(i, n)] * x - s * weight[(i, i)]);
        }
        let own = self.prior_bend(gamma).1 - 0.5 * s * tau * squared_norm(x);
        out[n] = through + weight[(n, n)] * own;
    }
}
