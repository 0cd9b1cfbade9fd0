//! Learns how the latents follow the hyperparameters, so that the two can be sampled as if they were independent.
//!
//! At a fixed φ the posterior of z has its mode at ẑ(φ), and ẑ moves with φ: a trajectory that moves φ must drag z along, and is
//! slow. With z = ζ + Σ_k (φ_k − φ̄_k) B_k and B = ∂ẑ/∂φ the mode of ζ stays where it is to first order. This is a shear, of Jacobian one, so any
//! B is valid. By the implicit function theorem B_k = −(∂²U/∂z²)⁻¹ ∂²U/∂z∂φ_k; both derivatives are averaged over a few draws, and conjugate
//! gradients solve with products of the Hessian from differences of gradients: no model needs a second derivative.

use crate::numeric::{axpy, dot, squared_norm};
use serde::{Deserialize, Serialize};

/// z = ζ + Σ (φ_k − centre_k) directions_k.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tilt {
    centre: Vec<f64>,
    directions: Vec<Vec<f64>>,
}

/// Conjugate gradients stop at this relative residual: B need not be exact to be useful.
const TOLERANCE: f64 = 0.1;
/// And after this many products at the latest.
const MOST_PRODUCTS: usize = 20;

/// Latents worked on at a time: few enough to stay in the fastest cache from one direction to the next.
const PIECE: usize = 1024;

/// The `place`-th piece of a direction.
fn piece(direction: &[f64], place: usize) -> &[f64] {
    let first = place * PIECE;
    &direction[first..direction.len().min(first + PIECE)]
}

/// A draw around which derivatives are taken.
pub(crate) struct Point {
    pub(crate) z: Vec<f64>,
    pub(crate) phi: Vec<f64>,
}

/// Writes ∂U/∂z at (z, φ) and says whether U is finite there.
pub(crate) type Gradient<'a> = dyn FnMut(&[f64], &[f64], &mut [f64]) -> bool + 'a;

impl Tilt {
    /// z for ζ at φ.
    pub(crate) fn apply(&self, phi: &[f64], zeta: &[f64], z: &mut [f64]) {
        for (place, (z, zeta)) in z.chunks_mut(PIECE).zip(zeta.chunks(PIECE)).enumerate() {
            z.copy_from_slice(zeta);
            self.shift_piece(place, 1.0, phi, z);
        }
    }

    /// z ← z + sign × Σ (φ_k − centre_k) B_k.
    pub(crate) fn shift(&self, sign: f64, phi: &[f64], z: &mut [f64]) {
        for (place, z) in z.chunks_mut(PIECE).enumerate() {
            self.shift_piece(place, sign, phi, z);
        }
    }

    fn shift_piece(&self, place: usize, sign: f64, phi: &[f64], z: &mut [f64]) {
        for ((direction, &phi), &centre) in self.directions.iter().zip(phi).zip(&self.centre) {
            axpy(sign * (phi - centre), piece(direction, place), z);
        }
    }

    /// Adds what ∂U/∂φ gains because z moves with φ.
    pub(crate) fn pull_back(&self, by_z: &[f64], by_phi: &mut [f64]) {
        for (place, by_z) in by_z.chunks(PIECE).enumerate() {
            for (by_phi, direction) in by_phi.iter_mut().zip(&self.directions) {
                *by_phi += dot(piece(direction, place), by_z);
            }
        }
    }
}

/// The tilt around `centre` from derivatives at `points`. None if the Hessian is not positive there.
pub(crate) fn learn(
    points: &[Point],
    centre: &[f64],
    scale: &[f64],
    gradient: &mut Gradient<'_>,
) -> Option<Tilt> {
    let n = points.first()?.z.len();
    let mut directions = Vec::with_capacity(centre.len());
    for k in 0..centre.len() {
        let h = 0.05 * scale[k];
        let mut force = vec![0.0; n];
        let mut end = vec![0.0; n];
        for point in points {
            for sign in [1.0, -1.0] {
                let mut moved = point.phi.clone();
                moved[k] += sign * h;
                if !gradient(&point.z, &moved, &mut end) {
                    return None;
                }
                axpy(-sign / (2.0 * h * points.len() as f64), &end, &mut force);
            }
        }
        directions.push(solve(points, &force, gradient)?);
    }
    Some(Tilt { centre: centre.to_vec(), directions })
}

/// out = H v, H the Hessian in z averaged over the points.
fn product(points: &[Point], v: &[f64], gradient: &mut Gradient<'_>, out: &mut [f64]) -> bool {
    // A hundredth of a standard deviation in all.
    let h = 0.01 / squared_norm(v).sqrt();
    let mut end = vec![0.0; v.len()];
    out.fill(0.0);
    let mut finite = true;
    for point in points {
        for sign in [1.0, -1.0] {
            let mut moved = point.z.clone();
            axpy(sign * h, v, &mut moved);
            finite &= gradient(&moved, &point.phi, &mut end);
            axpy(sign / (2.0 * h * points.len() as f64), &end, out);
        }
    }
    finite
}

/// Solves H x = b by conjugate gradients.
fn solve(points: &[Point], b: &[f64], gradient: &mut Gradient<'_>) -> Option<Vec<f64>> {
    let mut x = vec![0.0; b.len()];
    let mut residual = b.to_vec();
    let mut search = residual.clone();
    let mut curved = vec![0.0; b.len()];
    let start = squared_norm(b);
    let mut size = start;
    for _ in 0..MOST_PRODUCTS {
        if size <= TOLERANCE * TOLERANCE * start || size == 0.0 {
            break;
        }
        let finite = product(points, &search, gradient, &mut curved);
        let curvature = dot(&search, &curved);
        if !finite || curvature.is_nan() || curvature <= 0.0 {
            return None;
        }
        let step = size / curvature;
        axpy(step, &search, &mut x);
        axpy(-step, &curved, &mut residual);
        let next = squared_norm(&residual);
        let turn = next / size;
        search.iter_mut().zip(&residual).for_each(|(s, r)| *s = r + turn * *s);
        size = next;
    }
    Some(x)
}
