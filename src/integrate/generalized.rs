//! Steps under a metric that depends on the position, by the generalized leapfrog (Leimkuhler and Reich 2004).
//!
//! > p½ = p − ½ε ∂H/∂q(q, p½),   q' = q + ½ε (G(q)⁻¹ + G(q')⁻¹)p½,   p' = p½ − ½ε ∂H/∂q(q', p½)
//!
//! The first two are implicit and solved by fixed-point iteration until nothing changes by more than [`TOLERANCE`] of its size.
//! Where that does not happen, or a trajectory run backwards does not come home, the step is no map a Markov chain may
//! use: such a trajectory is a failure, which the caller rejects and counts.

use super::curved::{Metric, MetricKind};
use nalgebra::{DMatrix, DVector};

/// Relative change at which an implicit equation counts as solved.
pub const TOLERANCE: f64 = 1e-12;
/// Iterations after which it counts as unsolvable.
const MOST_ITERATIONS: u32 = 100;
/// Largest distance, relative to the state's size, between a trajectory's start and where it returns to.
pub const RETURN_TOLERANCE: f64 = 1e-8;

/// A potential with the matrix its metric is made of.
pub trait Surface: Send {
    /// Number of coordinates.
    fn dim(&self) -> usize;

    /// Returns U(q) and writes its gradient; infinity outside the model.
    fn potential(&mut self, q: &[f64], gradient: &mut [f64]) -> f64;

    /// A(q); none outside the model.
    fn matrix(&mut self, q: &[f64]) -> Option<DMatrix<f64>>;

    /// Writes tr(W ∂ₖA) for every k, at the last point [`Self::matrix`] was asked for.
    fn contract(&mut self, weight: &DMatrix<f64>, out: &mut [f64]);
}

impl<S: Surface + ?Sized> Surface for Box<S> {
    fn dim(&self) -> usize {
        (**self).dim()
    }

    fn potential(&mut self, q: &[f64], gradient: &mut [f64]) -> f64 {
        (**self).potential(q, gradient)
    }

    fn matrix(&mut self, q: &[f64]) -> Option<DMatrix<f64>> {
        (**self).matrix(q)
    }

    fn contract(&mut self, weight: &DMatrix<f64>, out: &mut [f64]) {
        (**self).contract(weight, out);
    }
}

/// How a trajectory ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flight {
    /// Where it should.
    Landed,
    /// An implicit equation could not be solved, or the model ended.
    Lost,
    /// It does not return to its start when run backwards.
    Irreversible,
}

/// A point of phase space over a surface.
pub struct Generalized<S> {
    /// What it moves over.
    pub surface: S,
    kind: MetricKind,
    q: DVector<f64>,
    p: DVector<f64>,
    potential: f64,
    gradient: DVector<f64>,
    metric: Option<Metric>,
    bend: DVector<f64>,
}

impl<S: Surface> Generalized<S> {
    /// A point to be placed by [`Self::place`].
    pub fn new(surface: S, kind: MetricKind) -> Self {
        let zeros = || DVector::zeros(surface.dim());
        Self {
            q: zeros(),
            p: zeros(),
            potential: f64::INFINITY,
            gradient: zeros(),
            metric: None,
            bend: zeros(),
            kind,
            surface,
        }
    }

    /// Moves to q; false outside the model.
    pub fn place(&mut self, q: &[f64]) -> bool {
        self.q.copy_from_slice(q);
        self.arrive()
    }

    /// The position.
    pub fn position(&self) -> &[f64] {
        self.q.as_slice()
    }

    /// The momentum.
    pub fn momentum(&self) -> &[f64] {
        self.p.as_slice()
    }

    /// Sets the momentum.
    pub fn set_momentum(&mut self, p: &[f64]) {
        self.p.copy_from_slice(p);
    }

    /// Draws p ~ N(0, G(q)) from standard normals.
    pub fn draw(&mut self, normals: &[f64]) {
        if let Some(metric) = &self.metric {
            self.p = metric.draw(&DVector::from_column_slice(normals));
        }
    }

    /// Turns the momentum around.
    pub fn reverse(&mut self) {
        self.p.neg_mut();
    }

    /// U at the position.
    pub fn potential(&self) -> f64 {
        self.potential
    }

    /// ∂U/∂q at the position.
    pub fn gradient(&self) -> &[f64] {
        self.gradient.as_slice()
    }

    /// H; infinity outside the model.
    pub fn energy(&self) -> f64 {
        match &self.metric {
            None => f64::INFINITY,
            Some(metric) => {
                let kinetic = self.p.dot(&metric.velocity(&self.p)) + metric.log_det();
                self.potential + 0.5 * kinetic
            }
        }
    }

    /// Makes one step; false if it is lost, and the point is then anywhere.
    pub fn step(&mut self, step: f64) -> bool {
        self.kick_implicitly(step) && self.drift(step) && self.kick(step)
    }

    /// Makes steps and then looks back whether they return to the start.
    pub fn fly(&mut self, steps: u32, step: f64) -> Flight {
        let start = (self.q.clone(), self.p.clone());
        if !(0..steps).all(|_| self.step(step)) {
            return Flight::Lost;
        }
        let end = (self.q.clone(), self.p.clone());
        self.reverse();
        let back = (0..steps).all(|_| self.step(step));
        self.reverse();
        let home = back
            && near(&self.q, &start.0, RETURN_TOLERANCE)
            && near(&self.p, &start.1, RETURN_TOLERANCE);
        (self.q, self.p) = end;
        if !self.arrive() {
            return Flight::Lost;
        }
        if home { Flight::Landed } else { Flight::Irreversible }
    }

    /// Evaluates potential and metric at q.
    fn arrive(&mut self) -> bool {
        self.potential = self.surface.potential(self.q.as_slice(), self.gradient.as_mut_slice());
        self.metric =
            self.surface.matrix(self.q.as_slice()).and_then(|a| Metric::new(self.kind, a));
        self.potential.is_finite() && self.metric.is_some()
    }

    /// Writes ½tr(W(p) ∂A) to `bend`.
    fn bend(&mut self, p: &DVector<f64>) -> bool {
        let Some(metric) = &self.metric else { return false };
        self.surface.contract(&metric.weight(p), self.bend.as_mut_slice());
        self.bend *= 0.5;
        true
    }

    fn kick_implicitly(&mut self, step: f64) -> bool {
        let fixed = &self.p - 0.5 * step * &self.gradient;
        let mut p = self.p.clone();
        for _ in 0..MOST_ITERATIONS {
            if !self.bend(&p) {
                return false;
            }
            let next = &fixed - 0.5 * step * &self.bend;
            let solved = near(&next, &p, TOLERANCE);
            p = next;
            if solved {
                self.p = p;
                return true;
            }
        }
        false
    }

    fn drift(&mut self, step: f64) -> bool {
        let Some(metric) = &self.metric else { return false };
        let before = metric.velocity(&self.p);
        let fixed = &self.q + 0.5 * step * &before;
        let mut q = &fixed + 0.5 * step * &before;
        for _ in 0..MOST_ITERATIONS {
            let matrix = self.surface.matrix(q.as_slice());
            let Some(metric) = matrix.and_then(|a| Metric::new(self.kind, a)) else { return false };
            let next = &fixed + 0.5 * step * metric.velocity(&self.p);
            let solved = near(&next, &q, TOLERANCE);
            q = next;
            if solved {
                self.q = q;
                return self.arrive();
            }
        }
        false
    }

    fn kick(&mut self, step: f64) -> bool {
        let p = self.p.clone();
        if !self.bend(&p) {
            return false;
        }
        self.p -= 0.5 * step * (&self.gradient + &self.bend);
        self.p.iter().all(|p| p.is_finite())
    }
}

/// Whether two vectors agree to a share of their size, or of one where they are small.
fn near(a: &DVector<f64>, b: &DVector<f64>, tolerance: f64) -> bool {
    let size = b.amax().max(1.0);
    // Written so that NaN is never near.
    a.iter().zip(b.iter()).all(|(a, b)| (a - b).abs() <= tolerance * size)
}
