//! Runs chains of the other methods: the same start, warm-up windows, record and progress as the sampler proper.
//!
//! During warm-up step sizes follow the acceptance of their block by dual averaging; at the end of each window but the first, which only
//! looks for the typical set, scales are learnt from its draws as in Stan, and informed coordinates from its latents.

use super::clock::{Clock, RunClock};
use super::information::Share;
use super::plan::{JITTER, choose_coordinates, choose_mass, field_plan};
use super::run::{Fit, Progress, Stage, pool, record};
use super::settings::{CoordinateChoice, MassChoice, Method, Settings};
use super::start::start;
use super::step_size::DualAveraging;
use super::transition::Info;
use super::until::Ended;
use super::warmup::{FieldLearner, windows};
use crate::baseline::{
    Address, Hmc, HmcGibbs, Nuts, Outcome, Rival, RmhmcGibbs, Scales, SoftAbs, Space, State,
    Trajectory,
};
use crate::coordinates::Coordinates;
use crate::draws::{ChainDraws, FieldPlan};
use crate::error::{Error, Result};
use crate::hamiltonian::MassKind;
use crate::model::Model;
use nalgebra::DMatrix;
use rayon::prelude::*;
use std::sync::Arc;

/// The longest step a dual averaging may ask for: far beyond stability in any units that are learnt.
const LONGEST_STEP: f64 = 100.0;
/// Mean length of a trajectory in standardised units, as for the sampler proper.
const PATH: f64 = 2.0;
/// Steps of the hyperparameters' turn where nothing else is asked for.
const HYPER_STEPS: u32 = 5;

/// Fits a model by one of the other methods.
pub(super) fn run(model: &Arc<Model>, settings: &Settings, progress: &dyn Progress) -> Result<Fit> {
    if settings.device.is_gpu() {
        return Err(Error::input(
            format!("--method {}", settings.method.name()),
            "the CPU",
            format!("the device {}", settings.device.name()),
            "only sshmc runs on a GPU; choose --device cpu",
        ));
    }
    let settings = &Settings { coordinates: coordinates(settings)?, ..settings.clone() };
    let (plan, elapsed) = (Plan::new(model, settings), RunClock::start());
    let ids: Vec<u32> = (0..settings.chains).map(|c| settings.first_chain + c).collect();
    let chains = pool(settings)?.install(|| {
        ids.into_par_iter().map(|id| plan.chain(id, progress)).collect::<Result<Vec<_>>>()
    })?;
    let coordinates = if plan.learn.is_some() { "informed" } else { plan.coordinates.name() };
    Ok(Fit {
        model: model.clone(),
        settings: settings.clone(),
        ended: Ended::Asked,
        elapsed: elapsed.seconds(),
        coordinates,
        device: settings.device.name(),
        chains,
        audit: None,
        exact_sums: true,
    })
}

/// The coordinates a method takes: what it was asked for, or what suits it.
fn coordinates(settings: &Settings) -> Result<CoordinateChoice> {
    let name = settings.method.name();
    let riemannian = matches!(settings.method, Method::RmhmcGibbs | Method::RmhmcSoftAbs);
    match (settings.coordinates, riemannian) {
        (CoordinateChoice::Auto, true) => Ok(CoordinateChoice::Centred),
        (CoordinateChoice::Auto, false) => Ok(CoordinateChoice::Whitened),
        (CoordinateChoice::Whitened | CoordinateChoice::Informed, true) => Err(Error::input(
            format!("--method {name}"),
            "centred coordinates, in which its metric is known",
            "others",
            "leave --coordinates out",
        )),
        (choice, _) => Ok(choice),
    }
}

/// What all chains share.
struct Plan<'a> {
    model: &'a Arc<Model>,
    settings: &'a Settings,
    coordinates: Coordinates,
    learn: Option<Share>,
    mass: MassKind,
    field: FieldPlan,
}

/// One chain: where it is and how it moves.
struct Chain {
    space: Space,
    state: State,
    rival: Box<dyn Rival>,
}

impl<'a> Plan<'a> {
    fn new(model: &'a Arc<Model>, settings: &'a Settings) -> Self {
        let (coordinates, learn) = choose_coordinates(model, settings);
        let field = field_plan(model, settings);
        let mass = choose_mass(model, settings, &coordinates);
        Self { model, settings, coordinates, learn, mass, field }
    }

    fn chain(&self, id: u32, progress: &dyn Progress) -> Result<ChainDraws> {
        let settings = self.settings;
        let mut chain = self.place(id)?;
        let mut values = vec![0.0; self.model.hyperparameters().len()];
        let mut tell = |stage, info: &Info, chain: &Chain| {
            self.model.hyperparameters().write_values(&chain.state.phi, &mut values);
            progress.transition(id, stage, info, &values);
        };
        let mut tuner = Tuner::new(self);
        tuner.set(&mut chain, false);
        let clock = Clock::after(0.0, true);
        for transition in 0..settings.warmup {
            let outcome = chain.advance(Address { seed: settings.seed, chain: id, transition });
            tuner.update(transition, &mut chain, &outcome)?;
            tell(Stage::Warmup, &info(&outcome), &chain);
        }
        let mut draws = ChainDraws {
            step_size: tuner.set(&mut chain, true),
            warmup_gradients: chain.space.gradients(),
            warmup_seconds: clock.share(1),
            ..ChainDraws::new(
                id,
                self.model.hyperparameters().len(),
                &self.field,
                settings.draws as usize,
            )
        };
        let clock = Clock::after(0.0, true);
        let mut drawn = vec![0.0; self.model.hyperparameters().len()];
        for transition in settings.warmup..settings.warmup + settings.draws {
            let outcome = chain.advance(Address { seed: settings.seed, chain: id, transition });
            self.model.hyperparameters().write_values(&chain.state.phi, &mut drawn);
            record(&mut draws, &info(&outcome), &drawn);
            draws.field.record(&chain.state.field);
            tell(Stage::Sampling, &info(&outcome), &chain);
        }
        draws.seconds = clock.share(1);
        draws.gradients = chain.space.gradients() - draws.warmup_gradients;
        Ok(draws)
    }

    /// The chain at its starting point.
    fn place(&self, id: u32) -> Result<Chain> {
        let start = start(self.model, &self.coordinates, None, self.settings.seed, id)?;
        let mut space = Space::new(self.model, &self.coordinates)?;
        let state = space.state(start.z, start.phi);
        let rival = self.rival(&mut space, &state)?;
        Ok(Chain { space, state, rival })
    }

    fn rival(&self, space: &mut Space, state: &State) -> Result<Box<dyn Rival>> {
        let settings = self.settings;
        let trajectory = Trajectory {
            steps: settings.steps,
            hyper_steps: settings.hyper_steps.unwrap_or(HYPER_STEPS),
            path: settings.path.unwrap_or(PATH),
            jitter: settings.jitter.unwrap_or(JITTER),
            most_steps: settings.most_steps,
        };
        let only = |allowed: &[MassChoice], expected: &str| match allowed.contains(&settings.mass) {
            true => Ok(()),
            false => Err(Error::input(
                format!("--method {}", settings.method.name()),
                expected,
                "another --mass",
                "leave --mass out",
            )),
        };
        let learns = settings.mass == MassChoice::Auto;
        Ok(match settings.method {
            Method::Hmc => {
                only(&[MassChoice::Auto, MassChoice::Identity], DIAGONAL)?;
                Box::new(Hmc::new(state, trajectory, learns))
            }
            Method::Nuts => {
                only(&[MassChoice::Auto, MassChoice::Identity], DIAGONAL)?;
                Box::new(Nuts::new(state, settings.most_steps, learns))
            }
            Method::RmhmcGibbs => {
                only(&[MassChoice::Auto], "no mass but its metric")?;
                Box::new(RmhmcGibbs::new(space, state, trajectory)?)
            }
            Method::RmhmcSoftAbs => {
                only(&[MassChoice::Auto], "no mass but its metric")?;
                Box::new(SoftAbs::new(self.model, trajectory)?)
            }
            Method::HmcGibbs | Method::Sshmc => {
                Box::new(HmcGibbs::new(space, state, self.mass.clone(), trajectory)?)
            }
        })
    }
}

/// What a joint method's mass may be.
const DIAGONAL: &str = "a diagonal mass, learnt (auto) or the identity";

impl Chain {
    fn advance(&mut self, address: Address) -> Outcome {
        self.rival.transition(&mut self.space, &mut self.state, address)
    }
}

fn info(outcome: &Outcome) -> Info {
    Info {
        accepted: outcome.accepted,
        acceptance: 0.5 * (outcome.acceptance[0] + outcome.acceptance[1]),
        block_acceptance: outcome.acceptance,
        energy: outcome.energy,
        steps: outcome.steps,
        divergent: outcome.divergent,
    }
}

/// Tunes one chain during warm-up.
struct Tuner {
    model: Arc<Model>,
    windows: Vec<u32>,
    steps: [DualAveraging; 2],
    moments: Moments,
    field: Option<(FieldLearner, Share)>,
}

impl Tuner {
    fn new(plan: &Plan<'_>) -> Self {
        let structure = plan.model.structure();
        let averaging = DualAveraging::new(0.1, plan.settings.acceptance, LONGEST_STEP);
        let learner = |share| (FieldLearner::new(structure.dim(), structure.sites()), share);
        Self {
            model: plan.model.clone(),
            windows: windows(plan.settings.warmup),
            steps: [averaging.clone(), averaging],
            moments: Moments::new(structure.dim(), plan.model.hyperparameters().len()),
            field: plan.learn.map(learner),
        }
    }

    /// Hands the step sizes over, those to try or those to keep; returns the latents'.
    fn set(&self, chain: &mut Chain, keep: bool) -> f64 {
        let steps =
            [0, 1].map(|k| if keep { self.steps[k].average() } else { self.steps[k].step() });
        chain.rival.set_steps(steps);
        steps[0]
    }

    fn update(&mut self, transition: u32, chain: &mut Chain, outcome: &Outcome) -> Result<()> {
        for (step, &acceptance) in self.steps.iter_mut().zip(&outcome.acceptance) {
            step.update(acceptance);
        }
        let State { z, phi, .. } = &chain.state;
        self.moments.add(z, phi);
        if let Some((learner, _)) = &mut self.field {
            chain.space.evaluate(&mut chain.state);
            let State { z, by_z, phi, .. } = &chain.state;
            learner.observe(chain.space.target(), z, by_z, phi);
        }
        if let Some(window) = self.windows.iter().position(|&end| end == transition + 1) {
            if window > 0 {
                chain.rival.learn(&self.moments.scales());
            }
            self.learn_coordinates(chain)?;
            self.moments.restart();
            self.steps.iter_mut().for_each(|step| step.restart(step.average()));
        }
        self.set(chain, false);
        Ok(())
    }

    fn learn_coordinates(&mut self, chain: &mut Chain) -> Result<()> {
        let Some((learner, share)) = &mut self.field else { return Ok(()) };
        let centre = self.moments.centre.clone();
        if let Some(coordinates) = learner.coordinates(&self.model, &centre, *share) {
            chain.space.change(&coordinates, &mut chain.state)?;
        }
        learner.restart();
        Ok(())
    }
}

/// Running moments of a window's draws (Welford's update).
struct Moments {
    count: f64,
    mean: Vec<f64>,
    squares: Vec<f64>,
    centre: Vec<f64>,
    products: DMatrix<f64>,
}

impl Moments {
    fn new(n: usize, m: usize) -> Self {
        Self {
            count: 0.0,
            mean: vec![0.0; n],
            squares: vec![0.0; n],
            centre: vec![0.0; m],
            products: DMatrix::zeros(m, m),
        }
    }

    fn restart(&mut self) {
        *self = Self::new(self.mean.len(), self.centre.len());
    }

    fn add(&mut self, z: &[f64], phi: &[f64]) {
        self.count += 1.0;
        let weight = 1.0 / self.count;
        for ((mean, squares), &z) in self.mean.iter_mut().zip(&mut self.squares).zip(z) {
            let before = z - *mean;
            *mean += weight * before;
            *squares += before * (z - *mean);
        }
        let before: Vec<f64> = phi.iter().zip(&self.centre).map(|(p, c)| p - c).collect();
        self.centre.iter_mut().zip(&before).for_each(|(c, b)| *c += weight * b);
        for i in 0..phi.len() {
            for j in 0..phi.len() {
                self.products[(i, j)] += before[i] * (phi[j] - self.centre[j]);
            }
        }
    }

    /// Variances drawn a little towards a small number, as Stan does, so that few draws do no harm.
    fn scales(&self) -> Scales {
        let (own, other) = (self.count / (self.count + 5.0), 5.0 / (self.count + 5.0));
        let n = (self.count - 1.0).max(1.0);
        let m = self.centre.len();
        Scales {
            latents: self.squares.iter().map(|s| own * s / n + 1e-3 * other).collect(),
            centre: self.centre.clone(),
            covariance: &self.products * (own / n) + DMatrix::identity(m, m) * (1e-3 * other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_draws() {
        let mut moments = Moments::new(1, 2);
        let draws = [([1.0], [0.5, 2.0]), ([4.0], [1.5, -1.0]), ([-2.0], [0.0, 3.5])];
        draws.iter().for_each(|(z, phi)| moments.add(z, phi));
        let scales = moments.scales();
        let (own, other) = (3.0 / 8.0, 1e-3 * 5.0 / 8.0);
        assert!((scales.latents[0] - (own * 9.0 + other)).abs() < 1e-14);
        // Means 2/3 and 1.5; products of deviations add up to −3.5.
        assert!((scales.covariance[(0, 1)] - own * -3.5 / 2.0).abs() < 1e-14);
        assert_eq!(scales.covariance[(0, 1)], scales.covariance[(1, 0)]);
    }
}
