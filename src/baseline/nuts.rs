//! Lets a trajectory grow until it turns back: multinomial No-U-Turn sampling.
//!
//! Hoffman and Gelman (2014) with the changes of Betancourt (2017) that Stan made: states are drawn with weights e^{−H} instead of
//! from a slice, later halves are favoured, and a trajectory from momentum p₋ to p₊ with Σp = ρ has turned when p₋·ρ or p₊·ρ
//! is not positive, which is also asked of each half with the neighbouring momentum of the other. Momenta are
//! standardised, so the metric does not show.

use super::hmc::{Diagonal, Momentum};
use super::{Address, Rival, Scales, Space, State};
use crate::draws::{DIVERGENT, Info};
use crate::numeric::dot;
use crate::random::{Purpose, StreamRng};
use rand::RngExt;
use std::rc::Rc;

/// The No-U-Turn sampler.
pub struct Nuts {
    mass: Diagonal,
    step: f64,
    deepest: u32,
}

/// Momenta of everything, or their sum.
type Shared = Rc<Momentum>;

/// A stretch of trajectory, in the direction it was made.
struct Tree {
    first: Shared,
    last: Shared,
    sum: Shared,
    log_weight: f64,
    proposal: Box<State>,
}

/// One moving end of the trajectory.
struct End {
    state: Box<State>,
    p: Momentum,
}

/// What is the same for a whole transition.
struct Growth<'a> {
    space: &'a mut Space,
    mass: &'a Diagonal,
    step: f64,
    energy: f64,
    rng: StreamRng,
    steps: u32,
    acceptance: f64,
    divergent: bool,
}

impl Nuts {
    /// With identity mass, or a diagonal one that learns; trajectories have at most `most_steps` steps, rounded up to a power
    /// of two.
    pub fn new(state: &State, most_steps: u32, learns: bool) -> Self {
        let mass = Diagonal::identity(state.z.len(), state.phi.len(), learns);
        Self { mass, step: 0.1, deepest: most_steps.next_power_of_two().ilog2().max(1) }
    }
}

impl Rival for Nuts {
    fn transition(&mut self, space: &mut Space, state: &mut State, address: Address) -> Info {
        let p = self.mass.draw(address);
        let energy = state.potential + p.kinetic();
        let mut growth = Growth {
            space,
            mass: &self.mass,
            step: self.step,
            energy,
            rng: address.stream(Purpose::Accept).rng(),
            steps: 0,
            acceptance: 0.0,
            divergent: false,
        };
        let moved = growth.run(state, p, self.deepest);
        let acceptance = growth.acceptance / f64::from(growth.steps.max(1));
        Info {
            accepted: moved,
            acceptance,
            block_acceptance: [acceptance; 2],
            energy,
            steps: growth.steps,
            divergent: growth.divergent,
        }
    }

    fn set_steps(&mut self, steps: [f64; 2]) {
        self.step = steps[0];
    }

    fn learn(&mut self, scales: &Scales) -> bool {
        self.mass.learn(scales)
    }
}

impl Growth<'_> {
    /// Doubles the trajectory until it turns, diverges or is long enough; true if the state moved.
    fn run(&mut self, state: &mut State, p: Momentum, deepest: u32) -> bool {
        let mut ends = [false, true].map(|_| End { state: Box::new(state.clone()), p: p.clone() });
        let start: Shared = Rc::new(p);
        // Stretches are kept in order of time: `first` is the earliest momentum.
        let mut whole = Tree {
            first: start.clone(),
            last: start.clone(),
            sum: start,
            log_weight: 0.0,
            proposal: Box::new(state.clone()),
        };
        let mut moved = false;
        for depth in 0..deepest {
            let forward = self.rng.random::<bool>();
            let direction = if forward { 1.0 } else { -1.0 };
            let Some(new) = self.grow(&mut ends[usize::from(forward)], depth, direction) else {
                break;
            };
            let chosen = self.rng.random::<f64>() < (new.log_weight - whole.log_weight).exp();
            moved |= chosen;
            let (early, late) = if forward { (whole, new) } else { (new.reversed(), whole) };
            let (joined, goes_on) = join(early, late, chosen == forward);
            whole = joined;
            if !goes_on {
                break;
            }
        }
        if moved {
            state.take(&whole.proposal);
        }
        moved
    }

    /// 2^depth steps from an end; none if they turn back or diverge. Momenta are in the order they were met.
    fn grow(&mut self, end: &mut End, depth: u32, direction: f64) -> Option<Tree> {
        if depth == 0 {
            return self.leaf(end, direction);
        }
        let early = self.grow(end, depth - 1, direction)?;
        let late = self.grow(end, depth - 1, direction)?;
        let share = late.log_weight - log_sum(early.log_weight, late.log_weight);
        let later = self.rng.random::<f64>() < share.exp();
        // Backwards in time momenta point against the motion; the criterion only sees their products, which do not change.
        let (tree, goes_on) = join(early, late, later);
        goes_on.then_some(tree)
    }

    fn leaf(&mut self, end: &mut End, direction: f64) -> Option<Tree> {
        self.mass.leap(self.space, &mut end.state, &mut end.p, direction * self.step);
        self.steps += 1;
        let error = end.state.potential + end.p.kinetic() - self.energy;
        let error = if error.is_nan() { f64::INFINITY } else { error };
        self.acceptance += (-error).exp().min(1.0);
        if error > DIVERGENT {
            self.divergent = true;
            return None;
        }
        let p: Shared = Rc::new(end.p.clone());
        let proposal = end.state.clone();
        Some(Tree { first: p.clone(), last: p.clone(), sum: p, log_weight: -error, proposal })
    }
}

impl Tree {
    /// The same stretch seen the other way.
    fn reversed(self) -> Self {
        Self { first: self.last, last: self.first, ..self }
    }
}

/// Joins neighbouring stretches, keeping the later one's proposal if `later`; and whether the whole may grow on.
fn join(early: Tree, late: Tree, later: bool) -> (Tree, bool) {
    let sum = add(&early.sum, &late.sum);
    let goes_on = ahead(&early.first, &late.last, &sum)
        && ahead(&early.first, &late.first, &add(&early.sum, &late.first))
        && ahead(&early.last, &late.last, &add(&late.sum, &early.last));
    let tree = Tree {
        first: early.first,
        last: late.last,
        sum: Rc::new(sum),
        log_weight: log_sum(early.log_weight, late.log_weight),
        proposal: if later { late.proposal } else { early.proposal },
    };
    (tree, goes_on)
}

/// Whether both ends still move along the sum.
fn ahead(first: &Momentum, last: &Momentum, sum: &Momentum) -> bool {
    product(first, sum) > 0.0 && product(last, sum) > 0.0
}

fn product(a: &Momentum, b: &Momentum) -> f64 {
    dot(&a.latents, &b.latents) + dot(&a.hyperparameters, &b.hyperparameters)
}

fn add(a: &Momentum, b: &Momentum) -> Momentum {
    let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + b).collect();
    Momentum {
        latents: sum(&a.latents, &b.latents),
        hyperparameters: sum(&a.hyperparameters, &b.hyperparameters),
    }
}

/// log(e^a + e^b).
fn log_sum(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if high == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}
