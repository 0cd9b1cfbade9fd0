//! Spoils kernels on purpose: each is the right one but for a single mistake.

use sshmc::Result;
use sshmc::check::{Draw, KernelPlan, Walker, Way, World};
use sshmc::coordinates::{BlockSizes, Coordinates};
use sshmc::device::{Flow, Keep, Latents, Learn, Move, Record};
use sshmc::draws::FieldDraws;
use sshmc::hamiltonian::MassKind;
use sshmc::integrate::{Integrator, Steps, System};
use sshmc::likelihood::{Curvature, Likelihood};
use sshmc::model::Model;
use sshmc::random::{Purpose, Stream};
use sshmc::sample::Tuning;
use sshmc::structure::{Factor, Information};
use std::sync::{Arc, OnceLock};

/// What is done wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mutant {
    /// Nothing: what catches this is wrong itself.
    None,
    /// The likelihood takes the predictor with the wrong sign, in its value and its gradient. A wrong sign in the gradient alone
    /// would not change what is sampled: the trajectory would still be reversible and keep volume, and Metropolis looks at the
    /// energy. It is [`Mutant::UphillKick`].
    Sign,
    /// Latents are kicked uphill: the right distribution, but next to no proposal is taken.
    UphillKick,
    /// The prior of a hyperparameter lacks the Jacobian of its scale.
    Jacobian,
    /// The latents' prior has no ½log|Σ|.
    PriorLogDet,
    /// The kinetic energy has no ½log|M(φ)|.
    MassLogDet,
    /// In block-informed coordinates a twentieth of the latents' ½log|Σ| is missing: with more of it gone nothing moves.
    BlockLogDet,
    /// ABLA without its second half: Φ₂(ε) ∘ Φ₁(ε).
    NoPalindrome,
    /// Every proposal is taken.
    NoMetropolis,
    /// A lost trajectory is tried again with smaller steps, and nobody asks whether the way back would have been lost too.
    NoWayBack,
}

/// Trajectories long enough for their mistakes to show.
const TUNING: Tuning = Tuning {
    step: 0.5,
    ratio: 0.6,
    path: 1.5,
    jitter: 0.0,
    careful: 0.0,
    retry: false,
    most_steps: 100,
    steps: None,
};

impl Mutant {
    pub(crate) const WRONG: [Mutant; 7] = [
        Mutant::Sign,
        Mutant::Jacobian,
        Mutant::PriorLogDet,
        Mutant::MassLogDet,
        Mutant::BlockLogDet,
        Mutant::NoPalindrome,
        Mutant::NoMetropolis,
    ];

    /// One of each plan.
    pub(crate) const CONTROLS: [Mutant; 5] = [
        Mutant::Sign,
        Mutant::MassLogDet,
        Mutant::BlockLogDet,
        Mutant::NoPalindrome,
        Mutant::NoMetropolis,
    ];

    fn plan(self, world: &World) -> KernelPlan {
        let prior = MassKind::Precision(Information::NONE);
        let abla = Integrator::Abla { flow: Flow::Drift, k1: 1, k2: 1 };
        let leapfrog = Integrator::Joint(Flow::Drift);
        let (whitened, identity) = (Coordinates::whitened(), MassKind::Identity);
        let short = Tuning { step: 0.2, ..TUNING };
        let (coordinates, mass, integrator, tuning) = match self {
            Mutant::PriorLogDet | Mutant::MassLogDet => {
                (Coordinates::Centred, prior, abla, Tuning { step: 0.3, ..TUNING })
            }
            Mutant::NoPalindrome => {
                (Coordinates::Centred, prior, abla, Tuning { step: 1.6, path: 3.2, ..TUNING })
            }
            // Steps that widen a unit oscillator by 1/(1 − ε²/4) and do not yet run away, which would hide in large errors.
            Mutant::NoMetropolis => {
                (whitened, identity, leapfrog, Tuning { step: 0.8, ratio: 1.0, ..TUNING })
            }
            // In the neck of a funnel every trajectory of such steps is lost, in its mouth none.
            Mutant::NoWayBack => {
                let tuning = Tuning { step: 1.0, path: 3.0, ratio: 1.0, retry: true, ..TUNING };
                (Coordinates::Centred, identity, leapfrog, tuning)
            }
            Mutant::BlockLogDet => {
                let sizes = BlockSizes { block: 5, band: 8, directions: 2 };
                let likely = [[0.0, -1.0], [0.5, -1.6], [-0.4, -0.6], [0.3, -1.2]];
                let block =
                    Coordinates::block_informed(world.model(), &likely, Some(sizes)).unwrap();
                (block, identity, Integrator::Joint(Flow::Rotation), short)
            }
            _ => (whitened, identity, leapfrog, short),
        };
        KernelPlan { coordinates, mass, integrator, tuning, dense: false, tilt: false }
    }

    /// The kernel with this mistake, and the right kernel of the same plan if `control`.
    pub(crate) fn way(self, control: bool) -> Way {
        // Made once: a kernel may not depend on the data that a walk has come to.
        let plan = OnceLock::new();
        let fault = if control { Mutant::None } else { self };
        Way::new(format!("{fault:?} in the place of {self:?}"), move |world, draw, seed| {
            let plan = plan.get_or_init(|| self.plan(world));
            // What is right about a second try is in the sampler's own kernel.
            match (self, control) {
                (Mutant::NoWayBack, true) => plan.walker(world, draw, seed),
                _ => fault.walker(plan, world, draw, seed),
            }
        })
    }

    fn walker(
        self,
        plan: &KernelPlan,
        world: &World,
        draw: &Draw,
        seed: u64,
    ) -> Result<Box<dyn Walker>> {
        let mut model = world.model().clone();
        if self == Mutant::Sign {
            let flipped = Flipped(model.clone());
            model = Arc::new(model.as_ref().clone().with_likelihood(Arc::new(flipped))?);
        }
        let spoilt = Spoilt::new(self, &model)?;
        let system = plan.system(&model, draw, seed, |own| Box::new(spoilt.around(own)))?;
        let mut hiker =
            Hiker { phi: system.phi.clone(), system, plan: plan.clone(), fault: self, seed };
        hiker.read_phi();
        Ok(Box::new(hiker))
    }
}

/// A likelihood that takes the predictor with the wrong sign.
#[derive(Debug)]
struct Flipped(Arc<Model>);

impl Likelihood for Flipped {
    fn sites(&self) -> usize {
        self.0.likelihood().sites()
    }

    fn parameters(&self) -> usize {
        self.0.likelihood().parameters()
    }

    fn evaluate(&self, eta: &[f64], own: &[f64], gradient: &mut [f64], by_own: &mut [f64]) -> f64 {
        let turned: Vec<f64> = eta.iter().map(|e| -e).collect();
        let value = self.0.likelihood().evaluate(&turned, own, gradient, by_own);
        gradient.iter_mut().for_each(|g| *g = -*g);
        value
    }

    fn curvature(&self, eta: &[f64], own: &[f64]) -> Curvature {
        self.0.likelihood().curvature(eta, own)
    }
}

/// Makes its transitions by itself: momenta, a trajectory, and Metropolis unless that is forgotten.
struct Hiker {
    system: System,
    plan: KernelPlan,
    fault: Mutant,
    seed: u64,
    /// The model's φ.
    phi: Vec<f64>,
}

impl Hiker {
    fn read_phi(&mut self) {
        self.system.latents.hyperparameters(0, &self.system.phi, &mut self.phi);
    }

    /// As many steps as the trajectory has, of a share of its step size.
    fn travel(&mut self, count: u32, share: f64) -> f64 {
        for _ in 0..count {
            self.step(share);
        }
        self.system.energies()[0]
    }

    fn draw_momenta(&mut self, transition: u32) {
        let system = &mut self.system;
        system.latents.refresh(transition, &system.phi);
        Stream::new(self.seed, 0, transition, Purpose::Hyper).fill_normals(&mut system.p);
    }

    fn step(&mut self, share: f64) {
        let Tuning { step, ratio, .. } = self.plan.tuning;
        let step = share * step;
        let mut go = |latents: f64, hyperparameters: f64| {
            let steps = Steps { latents: vec![latents], hyperparameters: vec![hyperparameters] };
            self.plan.integrator.step(&mut self.system, &steps);
        };
        if self.fault == Mutant::NoPalindrome {
            // A block whose step is zero stands still.
            go(step, 0.0);
            go(0.0, step * ratio);
        } else {
            go(step, step * ratio);
        }
    }
}

impl Walker for Hiker {
    fn advance(&mut self, transition: u32, _: bool) -> Result<bool> {
        self.draw_momenta(transition);
        let system = &mut self.system;
        system.latents.save();
        let before = system.energies()[0];
        let saved = (system.phi.clone(), system.by_phi.clone(), system.potential.clone());
        let stream = Stream::new(self.seed, 0, transition, Purpose::Accept);
        let count = (self.plan.tuning.path / self.plan.tuning.step).round() as u32;
        let mut error = self.travel(count, 1.0) - before;
        if self.fault == Mutant::NoWayBack && (error.is_nan() || error > 5.0) {
            let system = &mut self.system;
            (system.phi, system.by_phi, system.potential) = saved.clone();
            system.latents.settle(&[false]);
            self.draw_momenta(transition);
            error = self.travel(2 * count, 0.25) - before;
        }
        let accepted = stream.uniform(0) < (-error).exp() || self.fault == Mutant::NoMetropolis;
        let system = &mut self.system;
        if !accepted {
            (system.phi, system.by_phi, system.potential) = saved;
        }
        system.latents.settle(&[accepted]);
        self.read_phi();
        Ok(accepted)
    }

    fn phi(&self) -> &[f64] {
        &self.phi
    }

    fn predictor(&mut self, out: &mut [f64]) {
        self.system.latents.predictor(0, out);
    }

    fn look_again(&mut self) {
        self.system.evaluate();
    }
}

/// Latents with wrong energies; their gradients belong to them.
struct Spoilt {
    fault: Mutant,
    model: Arc<Model>,
    factor: Box<dyn Factor>,
    inner: Option<Box<dyn Latents>>,
}

impl Spoilt {
    fn new(fault: Mutant, model: &Arc<Model>) -> Result<Self> {
        let factor = model.structure().factor(&Information::NONE)?;
        Ok(Self { fault, model: model.clone(), factor, inner: None })
    }

    fn around(mut self, inner: Box<dyn Latents>) -> Self {
        self.inner = Some(inner);
        self
    }

    fn inner(&mut self) -> &mut dyn Latents {
        self.inner.as_mut().unwrap().as_mut()
    }

    /// ½log|Σ(φ)| and its gradient.
    fn half_log_det(&mut self, phi: &[f64]) -> (f64, Vec<f64>) {
        let (mut w, mut dw) = (phi.to_vec(), phi.to_vec());
        self.model.hyperparameters().working(phi, &mut w, &mut dw);
        let own = self.model.structure().parameters();
        let mut gradient = vec![0.0; phi.len()];
        if !self.factor.set(&w[..own]) {
            return (0.0, gradient);
        }
        self.factor.log_det_gradient(&mut gradient[..own]);
        gradient.iter_mut().zip(&dw).for_each(|(g, dw)| *g *= 0.5 * dw);
        (0.5 * self.factor.log_det(), gradient)
    }

    /// What is missing of ½log|Σ| at the sampler's φ.
    fn sampled_log_det(&mut self, sampled: &[f64]) -> f64 {
        let mut phi = sampled.to_vec();
        self.inner().hyperparameters(0, sampled, &mut phi);
        0.05 * self.half_log_det(&phi).0
    }

    /// Takes it out of U.
    fn lose_log_det(&mut self, sampled: &[f64], potential: &mut [f64], by_phi: &mut [f64]) {
        potential[0] -= self.sampled_log_det(sampled);
        for (k, by_phi) in by_phi.iter_mut().enumerate() {
            let mut at = |by: f64| {
                let mut moved = sampled.to_vec();
                moved[k] += by;
                self.sampled_log_det(&moved)
            };
            *by_phi -= (at(1e-4) - at(-1e-4)) / 2e-4;
        }
    }

    /// Adds the energy that is wrong.
    fn add(&mut self, sign: f64, phi: &[f64], energy: &mut [f64], by_phi: Option<&mut [f64]>) {
        let (value, gradient) = self.half_log_det(phi);
        energy[0] += sign * value;
        if let Some(by_phi) = by_phi {
            by_phi.iter_mut().zip(gradient).for_each(|(b, g)| *b += sign * g);
        }
    }
}

impl Move for Spoilt {
    fn chains(&self) -> usize {
        1
    }

    fn refresh(&mut self, transition: u32, phi: &[f64]) {
        self.inner().refresh(transition, phi);
    }

    fn evaluate(&mut self, phi: &[f64], potential: &mut [f64], by_phi: &mut [f64]) {
        self.inner().evaluate(phi, potential, by_phi);
        match self.fault {
            // The prior of an exponential scale without +w.
            Mutant::Jacobian => {
                potential[0] += phi[0];
                by_phi[0] += 1.0;
            }
            Mutant::PriorLogDet => self.add(-1.0, phi, potential, Some(by_phi)),
            Mutant::BlockLogDet => self.lose_log_det(phi, potential, by_phi),
            _ => {}
        }
    }

    fn kinetic(&mut self, phi: &[f64], energy: &mut [f64], mut by_phi: Option<&mut [f64]>) {
        self.inner().kinetic(phi, energy, by_phi.as_deref_mut());
        if self.fault == Mutant::MassLogDet {
            // M = Σ⁻¹: its ½log|M| is −½log|Σ|.
            self.add(1.0, phi, energy, by_phi);
        }
    }

    fn kick(&mut self, step: &[f64], flow: Flow) {
        let sign = if self.fault == Mutant::UphillKick { -1.0 } else { 1.0 };
        self.inner().kick(&[sign * step[0]], flow);
    }

    fn flow(&mut self, step: &[f64], flow: Flow) {
        self.inner().flow(step, flow);
    }

    fn reverse(&mut self) {
        self.inner().reverse();
    }

    fn save(&mut self) {
        self.inner().save();
    }

    fn settle(&mut self, accepted: &[bool]) {
        self.inner().settle(accepted);
    }

    fn gradients(&self, chain: usize) -> u64 {
        self.inner.as_ref().unwrap().gradients(chain)
    }
}

impl Learn for Spoilt {
    fn change(&mut self, chain: usize, coordinates: &Coordinates, phi: &mut [f64]) -> Result<()> {
        self.inner().change(chain, coordinates, phi)
    }

    fn hyperparameters(&self, chain: usize, sampled: &[f64], phi: &mut [f64]) {
        self.inner.as_ref().unwrap().hyperparameters(chain, sampled, phi);
    }

    fn latents_and_score(&mut self, chain: usize, x: &mut [f64], g: &mut [f64]) {
        self.inner().latents_and_score(chain, x, g);
    }

    fn predictor(&mut self, chain: usize, out: &mut [f64]) {
        self.inner().predictor(chain, out);
    }
}

impl Record for Spoilt {
    fn field(&mut self, chain: usize, out: &mut [f64]) {
        self.inner().field(chain, out);
    }

    fn record(&mut self, draws: &mut [FieldDraws]) {
        self.inner().record(draws);
    }
}

impl Keep for Spoilt {}
