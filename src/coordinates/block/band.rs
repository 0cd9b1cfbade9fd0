//! Narrows the directions of a band of modes along which data say most: w = z + Q((d − 1) ∘ Q'z), d = (1 + λ)^(−½).

use super::shape::LINEAR;
use crate::numeric::vectorised;
use serde::{Deserialize, Serialize};

/// Directions that are read at the same time.
const TOGETHER: usize = 4;

/// The band: its modes, the directions Q and how λ depends on û.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Band {
    /// The modes, as places in a vector of latents.
    pub(crate) modes: Vec<u32>,
    /// Number of directions.
    pub(crate) count: usize,
    /// Q, direction after direction.
    directions: Vec<f32>,
    /// |q_i|² − 1, which rounding leaves.
    excess: Vec<f64>,
    /// log λ as a linear function of û, term after term; λ is this times fade².
    log_strength: Vec<f64>,
}

/// What the band needs to remember between the way to the latents and the way back.
#[derive(Clone, Debug, Default)]
pub(crate) struct BandState {
    /// (1 + λ)^(−½).
    narrowing: Vec<f64>,
    /// Q'z.
    along: Vec<f64>,
    scaled: Vec<f64>,
    /// The band's own entries of a vector.
    own: Vec<f64>,
}

impl Band {
    /// From orthonormal directions, one after the other, and the coefficients of log λ, term after term.
    pub(crate) fn new(modes: Vec<u32>, directions: &[f64], log_strength: Vec<f64>) -> Self {
        let count = log_strength.len() / LINEAR;
        let directions: Vec<f32> = directions.iter().map(|&x| x as f32).collect();
        let squares = |q: &[f32]| q.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>();
        let excess = directions.chunks_exact(modes.len()).map(|q| squares(q) - 1.0).collect();
        Self { modes, count, directions, excess, log_strength }
    }

    /// Room for what is remembered.
    pub(crate) fn state(&self) -> BandState {
        let zeros = || vec![0.0; self.count];
        BandState {
            narrowing: zeros(),
            along: zeros(),
            scaled: zeros(),
            own: vec![0.0; self.modes.len()],
        }
    }

    /// λ_i at these terms.
    fn strength(&self, (terms, fade): (&[f64], f64), i: usize) -> f64 {
        let log = (0..LINEAR).map(|j| terms[j] * self.log_strength[j * self.count + i]);
        fade * fade * log.sum::<f64>().exp()
    }

    /// The directions, four at a time.
    fn groups(&self) -> impl Iterator<Item = &[f32]> {
        self.directions.chunks(TOGETHER * self.modes.len())
    }

    /// out = Q'x.
    fn onto(&self, x: &[f64], out: &mut [f64]) {
        vectorised(
            #[inline(always)]
            || {
                for (group, out) in self.groups().zip(out.chunks_mut(TOGETHER)) {
                    match split(group, x.len()) {
                        Some(four) => out.copy_from_slice(&dots(four, x)),
                        None => {
                            for (q, out) in group.chunks_exact(x.len()).zip(out) {
                                *out = dots([q], x)[0];
                            }
                        }
                    }
                }
            },
        );
    }

    /// x += Q a.
    fn along(&self, a: &[f64], x: &mut [f64]) {
        vectorised(
            #[inline(always)]
            || {
                for (group, a) in self.groups().zip(a.chunks(TOGETHER)) {
                    match (split(group, x.len()), a) {
                        (Some([q0, q1, q2, q3]), &[a0, a1, a2, a3]) => {
                            for i in 0..x.len() {
                                let first = a0 * f64::from(q0[i]) + a1 * f64::from(q1[i]);
                                let second = a2 * f64::from(q2[i]) + a3 * f64::from(q3[i]);
                                x[i] += first + second;
                            }
                        }
                        _ => {
                            for (q, &a) in group.chunks_exact(x.len()).zip(a) {
                                x.iter_mut().zip(q).for_each(|(x, &q)| *x += a * f64::from(q));
                            }
                        }
                    }
                }
            },
        );
    }

    /// Turns z into w at the band's places, and returns −log of the map's determinant.
    pub(crate) fn forward(&self, at: (&[f64], f64), w: &mut [f64], state: &mut BandState) -> f64 {
        let mut volume = 0.0;
        for (own, &mode) in state.own.iter_mut().zip(&self.modes) {
            *own = w[mode as usize];
        }
        self.onto(&state.own, &mut state.along);
        for i in 0..self.count {
            let strength = self.strength(at, i);
            let d = 1.0 / (1.0 + strength).sqrt();
            state.narrowing[i] = d;
            state.scaled[i] = (d - 1.0) * state.along[i];
            volume += 0.5 * strength.ln_1p() - (1.0 - 1.0 / d) * self.excess[i];
        }
        self.along(&state.scaled, &mut state.own);
        for (&own, &mode) in state.own.iter().zip(&self.modes) {
            w[mode as usize] = own;
        }
        volume
    }

    /// Turns a gradient in w into one in z at the band's places, adds the derivatives in the terms and returns the one in log fade.
    pub(crate) fn backward(
        &self,
        by_terms: &mut [f64],
        gradient: &mut [f64],
        state: &mut BandState,
    ) -> f64 {
        let mut by_log_fade = 0.0;
        for (own, &mode) in state.own.iter_mut().zip(&self.modes) {
            *own = gradient[mode as usize];
        }
        self.onto(&state.own, &mut state.scaled);
        for i in 0..self.count {
            let d = state.narrowing[i];
            // log d falls by half of log(1 + λ), which grows with log λ by λ/(1 + λ) = 1 − d².
            let by = 0.5 - 0.5 * d * state.scaled[i] * state.along[i] + 0.5 * self.excess[i] / d;
            let by = by * (1.0 - d * d);
            for j in 0..LINEAR {
                by_terms[j] += by * self.log_strength[j * self.count + i];
            }
            by_log_fade += 2.0 * by;
            state.scaled[i] *= d - 1.0;
        }
        self.along(&state.scaled, &mut state.own);
        for (&own, &mode) in state.own.iter().zip(&self.modes) {
            gradient[mode as usize] = own;
        }
        by_log_fade
    }

    /// Turns w back into z at the band's places.
    pub(crate) fn invert(&self, at: (&[f64], f64), z: &mut [f64], state: &mut BandState) {
        let wanted: Vec<f64> = self.modes.iter().map(|&mode| z[mode as usize]).collect();
        let inverse: Vec<f64> =
            (0..self.count).map(|i| (1.0 + self.strength(at, i)).sqrt()).collect();
        // Directions are orthonormal but for rounding: a second round takes what the first leaves.
        let mut rest = wanted.clone();
        let mut found = vec![0.0; wanted.len()];
        for _ in 0..3 {
            self.onto(&rest, &mut state.along);
            for i in 0..self.count {
                state.scaled[i] = (inverse[i] - 1.0) * state.along[i];
            }
            found.iter_mut().zip(&rest).for_each(|(f, r)| *f += r);
            self.along(&state.scaled, &mut found);
            self.onto(&found, &mut state.along);
            for i in 0..self.count {
                state.scaled[i] = (1.0 / inverse[i] - 1.0) * state.along[i];
            }
            rest.iter_mut().zip(&wanted).zip(&found).for_each(|((r, w), f)| *r = f - w);
            self.along(&state.scaled, &mut rest);
            rest.iter_mut().for_each(|r| *r = -*r);
        }
        for (&found, &mode) in found.iter().zip(&self.modes) {
            z[mode as usize] = found;
        }
    }
}

/// Four directions of equal length, if there are four.
#[inline(always)]
fn split(group: &[f32], length: usize) -> Option<[&[f32]; TOGETHER]> {
    let mut each = group.chunks_exact(length);
    let four = std::array::from_fn(|_| each.next().unwrap_or_default());
    (group.len() == TOGETHER * length).then_some(four)
}

/// Inner products of several directions with one vector.
#[inline(always)]
fn dots<const K: usize>(q: [&[f32]; K], x: &[f64]) -> [f64; K] {
    const LANES: usize = 4;
    let n = x.len();
    let q = q.map(|q| &q[..n]);
    let mut sums = [[0.0; LANES]; K];
    let whole = n - n % LANES;
    let mut first = 0;
    while first < whole {
        let x = &x[first..first + LANES];
        for (q, sums) in q.iter().zip(&mut sums) {
            let q = &q[first..first + LANES];
            for lane in 0..LANES {
                sums[lane] += f64::from(q[lane]) * x[lane];
            }
        }
        first += LANES;
    }
    for i in whole..n {
        for (q, sums) in q.iter().zip(&mut sums) {
            sums[i - whole] += f64::from(q[i]) * x[i];
        }
    }
    sums.map(|s| (s[0] + s[2]) + (s[1] + s[3]))
}
