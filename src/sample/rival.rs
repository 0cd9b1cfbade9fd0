//! Moves chains by the other methods, in the same loop, warm-up windows and records as the sampler proper.
//!
//! During warm-up step sizes follow the acceptance of their block by dual averaging; at the end of each window but the first, which only
//! looks for the typical set, scales are learnt from its draws as in Stan, and informed coordinates from its latents.

use super::information::Share;
use super::learner::FieldLearner;
use super::plan::{JITTER, PATH, Plan};
use super::settings::{CoordinateChoice, MassChoice, Method, Settings};
use super::start::start;
use super::state::{AdapterState, ChainState, Tuned, Window};
use super::step_size::DualAveraging;
use super::transition::{Adapter, Transition, Watch};
use super::window::{Moments, windows};
use crate::baseline::{
    Address, Hmc, HmcGibbs, Nuts, Rival, RmhmcGibbs, Scales, SoftAbs, Space, State, Trajectory,
};
use crate::device::{LatentState, Record};
use crate::draws::{FieldDraws, Info};
use crate::error::{Error, Result};
use crate::model::Model;
use std::sync::Arc;

/// The longest step a dual averaging may ask for: far beyond stability in any units that are learnt.
const LONGEST_STEP: f64 = 100.0;
/// Steps of the hyperparameters' turn where nothing else is asked for.
const HYPER_STEPS: u32 = 5;

/// The settings as a method takes them; an error where it cannot run.
pub(super) fn settings_of(settings: &Settings) -> Result<Settings> {
    if settings.method == Method::Sshmc {
        return Ok(settings.clone());
    }
    if settings.device.is_gpu() {
        return Err(Error::input(
            format!("--method {}", settings.method.name()),
            "the CPU",
            format!("the device {}", settings.device.name()),
            "only sshmc runs on a GPU; choose --device cpu",
        ));
    }
    Ok(Settings { coordinates: coordinates(settings)?, ..settings.clone() })
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

/// A chain on its own: where it is and how it moves.
pub(super) struct RivalChain {
    seed: u64,
    id: u32,
    space: Space,
    state: State,
    rival: Box<dyn Rival>,
    steps: [f64; 2],
    /// The scales it learnt last.
    scales: Option<Scales>,
}

impl RivalChain {
    /// The chain at its starting point.
    pub(super) fn new(plan: &Plan<'_>, id: u32) -> Result<Self> {
        let seed = plan.settings.seed;
        let start = start(plan.model, &plan.coordinates, None, seed, id)?;
        let mut space = Space::new(plan.model, &plan.coordinates)?;
        let state = space.state(start.z, start.phi);
        let rival = rival(plan, &mut space, &state)?;
        Ok(Self { seed, id, space, state, rival, steps: [0.1; 2], scales: None })
    }

    fn set_steps(&mut self, steps: [f64; 2]) {
        self.steps = steps;
        self.rival.set_steps(steps);
    }

    fn learn(&mut self, scales: Scales) {
        if self.rival.learn(&scales) {
            self.scales = Some(scales);
        }
    }
}

/// The method that a plan names.
fn rival(plan: &Plan<'_>, space: &mut Space, state: &State) -> Result<Box<dyn Rival>> {
    let settings = plan.settings;
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
            Box::new(SoftAbs::new(plan.model, trajectory)?)
        }
        Method::HmcGibbs | Method::Sshmc => {
            Box::new(HmcGibbs::new(space, state, plan.mass.clone(), trajectory)?)
        }
    })
}

/// What a joint method's mass may be.
const DIAGONAL: &str = "a diagonal mass, learnt (auto) or the identity";

impl Record for RivalChain {
    fn field(&mut self, _chain: usize, out: &mut [f64]) {
        out.copy_from_slice(&self.state.field);
    }

    fn record(&mut self, draws: &mut [FieldDraws]) {
        draws.iter_mut().for_each(|draws| draws.record(&self.state.field));
    }
}

impl Transition for RivalChain {
    /// Energies are in f64 as they are: there is nothing to watch.
    fn step(
        &mut self,
        transition: u32,
        _watch: Option<&mut dyn Watch>,
        info: &mut [Info],
    ) -> Result<()> {
        let address = Address { seed: self.seed, chain: self.id, transition };
        info.fill(self.rival.transition(&mut self.space, &mut self.state, address));
        Ok(())
    }

    fn hyperparameters(&self, _chain: usize, phi: &mut [f64]) {
        phi.copy_from_slice(&self.state.phi);
    }

    fn step_size(&self, _chain: usize) -> f64 {
        self.steps[0]
    }

    fn gradients(&self, _chain: usize) -> u64 {
        self.space.gradients()
    }

    fn recorder(&mut self) -> &mut dyn Record {
        self
    }

    fn snapshot(&mut self, _chain: usize) -> Result<ChainState> {
        let (coordinates, gradients, extra) = self.space.kept();
        let State { z, phi, by_z, by_phi, potential, field } = self.state.clone();
        let (tilt, predictor, kept) = (None, Vec::new(), None);
        Ok(ChainState {
            latents: LatentState { coordinates, tilt, z, by_z, field, predictor, gradients, kept },
            phi,
            by_phi,
            potential,
            tuned: Tuned::Rival { steps: self.steps, scales: self.scales.clone(), extra },
        })
    }

    fn restore(&mut self, _chain: usize, kept: &ChainState) -> Result<()> {
        let Tuned::Rival { steps, scales, extra } = &kept.tuned else {
            return Err(kept.of_another());
        };
        let ChainState { latents, phi, by_phi, potential, .. } = kept;
        if latents.field.len() != self.state.field.len() {
            return Err(Error::Numeric("the state that was kept is not one of this model".into()));
        }
        self.state = State {
            z: latents.z.clone(),
            phi: phi.clone(),
            by_z: latents.by_z.clone(),
            by_phi: by_phi.clone(),
            potential: *potential,
            field: latents.field.clone(),
        };
        self.set_steps(*steps);
        scales.clone().into_iter().for_each(|scales| self.learn(scales));
        self.space.restore(&latents.coordinates, latents.gradients, *extra)
    }
}

/// Tunes one chain during warm-up.
pub(super) struct RivalAdapter {
    model: Arc<Model>,
    windows: Vec<u32>,
    steps: [DualAveraging; 2],
    moments: Moments,
    field: Option<FieldLearner>,
    share: Option<Share>,
}

impl RivalAdapter {
    pub(super) fn new(plan: &Plan<'_>) -> Self {
        let structure = plan.model.structure();
        let averaging = DualAveraging::new(0.1, plan.settings.acceptance, LONGEST_STEP);
        let learner = |_| FieldLearner::new(structure.dim(), structure.sites());
        Self {
            model: plan.model.clone(),
            windows: windows(plan.settings.warmup),
            steps: [averaging.clone(), averaging],
            moments: Moments::new(structure.dim(), plan.model.hyperparameters().len()),
            field: plan.learn.map(learner),
            share: plan.learn,
        }
    }

    fn learn_coordinates(&mut self, chain: &mut RivalChain) -> Result<()> {
        let (Some(learner), Some(share)) = (&mut self.field, self.share) else { return Ok(()) };
        let centre = &self.moments.centre;
        if let Some(coordinates) = learner.coordinates(&self.model, centre, share) {
            chain.space.change(&coordinates, &mut chain.state)?;
        }
        learner.restart();
        Ok(())
    }
}

impl Adapter<RivalChain> for RivalAdapter {
    fn begin(&mut self, chain: &mut RivalChain) {
        chain.set_steps(self.steps.each_ref().map(DualAveraging::step));
    }

    fn update(&mut self, index: u32, chain: &mut RivalChain, info: &[Info]) -> Result<()> {
        for (step, &acceptance) in self.steps.iter_mut().zip(&info[0].block_acceptance) {
            step.update(acceptance);
        }
        self.moments.add(&chain.state.z, &chain.state.phi);
        if let Some(learner) = &mut self.field {
            chain.space.evaluate(&mut chain.state);
            let State { z, by_z, phi, .. } = &chain.state;
            learner.observe(chain.space.target(), z, by_z, phi);
        }
        if let Some(window) = self.windows.iter().position(|&end| end == index + 1) {
            if window > 0 {
                chain.learn(self.moments.scales());
            }
            self.learn_coordinates(chain)?;
            self.moments.restart();
            self.steps.iter_mut().for_each(|step| step.restart(step.average()));
        }
        self.begin(chain);
        Ok(())
    }

    fn finish(&mut self, chain: &mut RivalChain) {
        chain.set_steps(self.steps.each_ref().map(DualAveraging::average));
    }

    fn state(&self) -> Vec<AdapterState> {
        vec![AdapterState {
            steps: self.steps.clone(),
            field: self.field.clone(),
            window: Window::Moments(self.moments.clone()),
        }]
    }

    fn restore(&mut self, states: Vec<AdapterState>) -> Result<()> {
        for state in states {
            let Window::Moments(moments) = state.window else {
                return Err(Error::Numeric("what was learnt is of another method".into()));
            };
            (self.steps, self.field, self.moments) = (state.steps, state.field, moments);
        }
        Ok(())
    }
}
