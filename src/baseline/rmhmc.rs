//! Moves latents and hyperparameters in turns under their Fisher metrics: Riemannian manifold HMC within Gibbs.
//!
//! The latents' metric is the likelihood's expected information plus Σ(φ)⁻¹. It does not depend on them for counts and returns, whose turn
//! is a plain leapfrog, but does for logistic regression, whose groups each take a turn of generalized leapfrogs. So do the
//! hyperparameters, except where their metric is constant.

use super::fisher::{GroupSurface, HyperSurface, constant_information, expected_information};
use super::gibbs::{HyperTurn, LatentTurn};
use super::{Address, Rival, Space, State, Trajectory};
use crate::draws::Info;
use crate::error::{Error, Result};
use crate::hamiltonian::MassKind;
use crate::integrate::{Flight, Generalized, HyperMetric, MetricKind};
use crate::likelihood::Likelihood;
use crate::random::Purpose;
use crate::structure::{Information, Structure};
use nalgebra::DMatrix;
use std::sync::Arc;

/// Riemannian manifold HMC within Gibbs.
pub struct RmhmcGibbs {
    latents: Latents,
    hyperparameters: Hyperparameters,
    trajectory: Trajectory,
    steps: [f64; 2],
}

/// How the latents take their turn.
enum Latents {
    /// By leapfrogs under κ(φ)I + Σ(φ)⁻¹.
    Plain { turn: Box<LatentTurn>, kappa: f64 },
    /// Group by group, by generalized leapfrogs.
    Groups(Vec<Arc<dyn Likelihood>>),
}

/// How the hyperparameters take theirs.
enum Hyperparameters {
    /// By leapfrogs under a constant metric.
    Plain(Box<HyperTurn>),
    /// By generalized leapfrogs; what is constant in the metric's diagonal.
    Curved(Vec<f64>),
}

impl RmhmcGibbs {
    /// For a space in centred coordinates; an error if the model's information is not offered.
    pub fn new(space: &mut Space, state: &State, trajectory: Trajectory) -> Result<Self> {
        let model = space.model().clone();
        let w = space.target().working(&state.phi).0.to_vec();
        let constant = constant_information(&model);
        let fisher = model.structure().fisher(&w).ok_or_else(|| {
            Error::input(
                "--method rmhmc-gibbs",
                "a covariance that offers its Fisher information",
                "one that does not",
                "implement Covariance::fisher, or take another method",
            )
        })?;
        let hyperparameters = match model.structure() {
            Structure::Groups(_) => {
                let mut metric = fisher.matrix.resize(state.phi.len(), state.phi.len(), 0.0);
                constant.iter().enumerate().for_each(|(k, c)| metric[(k, k)] += c);
                let metric = constant_metric(&state.phi, metric)?;
                Hyperparameters::Plain(Box::new(HyperTurn::new(state, metric, trajectory)))
            }
            _ => Hyperparameters::Curved(constant),
        };
        let latents = match model.structure() {
            Structure::Groups(groups) if model.likelihood().part(0).is_some() => {
                let count = groups.dim() / groups.size();
                Latents::Groups((0..count).filter_map(|g| model.likelihood().part(g)).collect())
            }
            _ => {
                let kappa = expected_information(&model, &state.phi);
                let turn = LatentTurn::new(space, state, &informed(kappa), trajectory)?;
                Latents::Plain { turn: Box::new(turn), kappa }
            }
        };
        Ok(Self { latents, hyperparameters, trajectory, steps: [0.1; 2] })
    }

    fn move_latents(&mut self, space: &mut Space, state: &mut State, address: Address) -> Info {
        let step = self.steps[0];
        match &mut self.latents {
            Latents::Plain { turn, kappa } => {
                let now = expected_information(space.model(), &state.phi);
                if now != *kappa && turn.weigh(space, &informed(now)).is_ok() {
                    *kappa = now;
                }
                turn.step = step;
                turn.take(space, state, address)
            }
            Latents::Groups(parts) => {
                let count = self.trajectory.steps.unwrap_or(GROUP_STEPS);
                let uniform = address.stream(Purpose::Jitter).uniform(0);
                let step = super::shortened(step, self.trajectory.jitter, uniform);
                move_groups(parts, space, state, address, (count, step))
            }
        }
    }

    fn move_hyperparameters(
        &mut self,
        space: &mut Space,
        state: &mut State,
        address: Address,
    ) -> Info {
        let uniform = address.stream(Purpose::Jitter).uniform(1);
        let constant = match &mut self.hyperparameters {
            Hyperparameters::Plain(turn) => {
                turn.step = self.steps[1];
                return turn.take(space, state, address);
            }
            Hyperparameters::Curved(constant) => constant,
        };
        let step = super::shortened(self.steps[1], self.trajectory.jitter, uniform);
        let start = state.phi.clone();
        let normals = address.normals(Purpose::Hyper, start.len());
        let mut proposal = state.clone();
        let surface = HyperSurface::new(space, &mut proposal, constant);
        let mut point = Generalized::new(surface, MetricKind::Plain);
        let uniform = address.stream(Purpose::Accept).uniform(1);
        let info = ride(&mut point, &start, &normals, (self.trajectory.hyper_steps, step), uniform);
        drop(point);
        if info.accepted {
            state.take(&proposal);
        }
        info
    }
}

/// Generalized leapfrogs of a group's turn where nothing else is asked for.
const GROUP_STEPS: u32 = 6;

impl Rival for RmhmcGibbs {
    fn transition(&mut self, space: &mut Space, state: &mut State, address: Address) -> Info {
        let latents = self.move_latents(space, state, address);
        let hyperparameters = self.move_hyperparameters(space, state, address);
        Info::of_blocks(latents, hyperparameters)
    }

    fn transition_back(&mut self, space: &mut Space, state: &mut State, address: Address) -> Info {
        let hyperparameters = self.move_hyperparameters(space, state, address);
        let latents = self.move_latents(space, state, address);
        Info::of_blocks(latents, hyperparameters)
    }

    fn set_steps(&mut self, steps: [f64; 2]) {
        self.steps = steps;
    }
}

fn informed(kappa: f64) -> MassKind {
    // Far in the tail of its prior a field's expected information overflows; any finite mass is valid.
    MassKind::Precision(Information::Scalar(if kappa.is_finite() { kappa } else { 0.0 }))
}

/// The metric whose mass is a given matrix.
fn constant_metric(centre: &[f64], mass: DMatrix<f64>) -> Result<HyperMetric> {
    mass.try_inverse().and_then(|covariance| HyperMetric::dense(centre, covariance)).ok_or_else(
        || {
            Error::Numeric(
                "the hyperparameters' Fisher information is singular; give them proper priors"
                    .into(),
            )
        },
    )
}

/// Flies a trajectory from `start` and decides about it; a failed one is rejected and counts as divergent.
pub(super) fn ride<S: crate::integrate::Surface>(
    point: &mut Generalized<S>,
    start: &[f64],
    normals: &[f64],
    (count, step): (u32, f64),
    uniform: f64,
) -> Info {
    if !point.place(start) {
        return Info::of_error(f64::INFINITY, f64::INFINITY, 0);
    }
    point.draw(normals);
    let energy = point.energy();
    let error = match point.fly(count, step) {
        Flight::Landed => point.energy() - energy,
        Flight::Lost | Flight::Irreversible => f64::INFINITY,
    };
    let mut info = Info::of_error(error, energy, count);
    info.accepted = uniform < info.acceptance;
    info
}

/// Every group's turn, each with a Metropolis decision of its own.
fn move_groups(
    parts: &[Arc<dyn Likelihood>],
    space: &mut Space,
    state: &mut State,
    address: Address,
    steps: (u32, f64),
) -> Info {
    let w = space.target().working(&state.phi).0.to_vec();
    let tau = 1.0 / space.model().structure().mean_variance(&w);
    let of_likelihood = space.model().own(&state.phi);
    space.evaluate(state);
    let predictor = space.target().predictor().to_vec();
    let size = state.z.len() / parts.len();
    let normals = address.normals(Purpose::Momentum, state.z.len());
    let decide = address.stream(Purpose::Accept);
    let mut all = Info { energy: state.potential, ..Info::default() };
    for (g, part) in parts.iter().enumerate() {
        let own = g * size..(g + 1) * size;
        let start = state.z[own.clone()].to_vec();
        let base: Vec<f64> =
            predictor[own.clone()].iter().zip(&start).map(|(eta, z)| eta - z).collect();
        let surface = GroupSurface::new(part.as_ref(), &base, &of_likelihood, tau);
        let mut point = Generalized::new(surface, MetricKind::Plain);
        let uniform = decide.uniform(2 + g as u32);
        let info = ride(&mut point, &start, &normals[own.clone()], steps, uniform);
        if info.accepted {
            state.z[own].copy_from_slice(point.position());
        }
        space.count(f64::from(point.surface.evaluations()) / parts.len() as f64);
        all.accepted |= info.accepted;
        all.acceptance += info.acceptance / parts.len() as f64;
        all.divergent |= info.divergent;
        all.steps = all.steps.max(info.steps);
    }
    space.evaluate(state);
    all
}
