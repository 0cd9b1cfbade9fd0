//! Narrows the directions of a band of modes along which data say most, and lets them follow the block:
//! w = z + Q((d − 1) ∘ Q'z − t), d = (1 + λ)^(−½), t = √λ d² ∘ Gδ.
//!
//! What data say of a single cell with many points involves modes of the block and of the band together. δ is how far the block and the coefficients of
//! the mean are from their own means; given that, data expect the directions at −t. The block is standardised as if the directions were not
//! known (see [`learn`](crate::coordinates::learn)), so that no two coordinates are left tied to each other.

use super::rows::Rows;
use super::shape::LINEAR;
use serde::{Deserialize, Serialize};

/// The band: its modes, the directions Q, how λ depends on û, and G.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Band {
    /// The modes, as places in a vector of latents.
    pub(crate) modes: Vec<u32>,
    /// Number of directions.
    pub(crate) count: usize,
    /// Q', direction after direction.
    directions: Rows,
    /// |q_i|² − 1, which rounding leaves.
    excess: Vec<f64>,
    /// log λ as a linear function of û, term after term; λ is this times fade².
    log_strength: Vec<f64>,
    /// G: for each direction the modes of the block, then the coefficients of the mean.
    following: Rows,
}

/// What the band needs to remember between the way to the latents and the way back.
#[derive(Clone, Debug, Default)]
pub(crate) struct BandState {
    /// (1 + λ)^(−½).
    narrowing: Vec<f64>,
    /// √λ d², and t.
    share: Vec<f64>,
    follow: Vec<f64>,
    /// Q'z.
    along: Vec<f64>,
    scaled: Vec<f64>,
    /// The band's own entries of a vector.
    own: Vec<f64>,
}

impl Band {
    /// From orthonormal directions, one after the other, the coefficients of log λ, term after term, and G, a row for each direction.
    pub(crate) fn new(
        modes: Vec<u32>,
        directions: &[f64],
        log_strength: Vec<f64>,
        following: &[f64],
    ) -> Self {
        let count = log_strength.len() / LINEAR;
        let directions = Rows::new(modes.len(), directions);
        let excess = directions.squared_norms().map(|square| square - 1.0).collect();
        let following = Rows::new(following.len() / count.max(1), following);
        Self { modes, count, directions, excess, log_strength, following }
    }

    /// Room for what is remembered.
    pub(crate) fn state(&self) -> BandState {
        let zeros = || vec![0.0; self.count];
        BandState {
            narrowing: zeros(),
            share: zeros(),
            follow: zeros(),
            along: zeros(),
            scaled: zeros(),
            own: vec![0.0; self.modes.len()],
        }
    }

    /// Moves λ to these terms and t to δ; returns −log of the determinant of w as a function of z.
    fn set(&self, (terms, fade): (&[f64], f64), deviations: &[f64], state: &mut BandState) -> f64 {
        let mut volume = 0.0;
        self.following.dots(deviations, &mut state.follow);
        for i in 0..self.count {
            let log = (0..LINEAR).map(|j| terms[j] * self.log_strength[j * self.count + i]);
            let strength = fade * fade * log.sum::<f64>().exp();
            let d = 1.0 / (1.0 + strength).sqrt();
            state.narrowing[i] = d;
            state.share[i] = strength.sqrt() * d * d;
            state.follow[i] *= state.share[i];
            volume += 0.5 * strength.ln_1p() - (1.0 - 1.0 / d) * self.excess[i];
        }
        volume
    }

    /// Turns z into w at the band's places, and returns −log of the map's determinant.
    pub(crate) fn forward(
        &self,
        at: (&[f64], f64),
        deviations: &[f64],
        w: &mut [f64],
        state: &mut BandState,
    ) -> f64 {
        let volume = self.set(at, deviations, state);
        for (own, &mode) in state.own.iter_mut().zip(&self.modes) {
            *own = w[mode as usize];
        }
        self.directions.dots(&state.own, &mut state.along);
        for i in 0..self.count {
            state.scaled[i] = (state.narrowing[i] - 1.0) * state.along[i] - state.follow[i];
        }
        self.directions.add_to(&state.scaled, &mut state.own);
        for (&own, &mode) in state.own.iter().zip(&self.modes) {
            w[mode as usize] = own;
        }
        volume
    }

    /// Turns a gradient in w into one in z at the band's places, writes the one in δ, adds the derivatives in the terms and returns the one in log
    /// fade.
    pub(crate) fn backward(
        &self,
        by_terms: &mut [f64],
        gradient: &mut [f64],
        by_deviations: &mut [f64],
        state: &mut BandState,
    ) -> f64 {
        let mut by_log_fade = 0.0;
        for (own, &mode) in state.own.iter_mut().zip(&self.modes) {
            *own = gradient[mode as usize];
        }
        self.directions.dots(&state.own, &mut state.scaled);
        for i in 0..self.count {
            let (d, pull) = (state.narrowing[i], state.scaled[i]);
            // log d falls by half of log(1 + λ), which grows with log λ by λ/(1 + λ) = 1 − d²; log √λ d² grows by d² − ½.
            let by = 0.5 - 0.5 * d * pull * state.along[i] + 0.5 * self.excess[i] / d;
            let by = by * (1.0 - d * d) - pull * state.follow[i] * (d * d - 0.5);
            for j in 0..LINEAR {
                by_terms[j] += by * self.log_strength[j * self.count + i];
            }
            by_log_fade += 2.0 * by;
            state.scaled[i] *= d - 1.0;
            state.share[i] *= -pull;
        }
        self.directions.add_to(&state.scaled, &mut state.own);
        for (&own, &mode) in state.own.iter().zip(&self.modes) {
            gradient[mode as usize] = own;
        }
        by_deviations.fill(0.0);
        self.following.add_to(&state.share, by_deviations);
        by_log_fade
    }

    /// Turns w back into z at the band's places.
    pub(crate) fn invert(
        &self,
        at: (&[f64], f64),
        deviations: &[f64],
        z: &mut [f64],
        state: &mut BandState,
    ) {
        self.set(at, deviations, state);
        let mut wanted: Vec<f64> = self.modes.iter().map(|&mode| z[mode as usize]).collect();
        self.directions.add_to(&state.follow, &mut wanted);
        // Directions are orthonormal but for rounding: a second round takes what the first leaves.
        let mut rest = wanted.clone();
        let mut found = vec![0.0; wanted.len()];
        for _ in 0..3 {
            self.directions.dots(&rest, &mut state.along);
            for i in 0..self.count {
                state.scaled[i] = (1.0 / state.narrowing[i] - 1.0) * state.along[i];
            }
            found.iter_mut().zip(&rest).for_each(|(f, r)| *f += r);
            self.directions.add_to(&state.scaled, &mut found);
            self.directions.dots(&found, &mut state.along);
            for i in 0..self.count {
                state.scaled[i] = (state.narrowing[i] - 1.0) * state.along[i];
            }
            rest.iter_mut().zip(&wanted).zip(&found).for_each(|((r, w), f)| *r = f - w);
            self.directions.add_to(&state.scaled, &mut rest);
            rest.iter_mut().for_each(|r| *r = -*r);
        }
        for (&found, &mode) in found.iter().zip(&self.modes) {
            z[mode as usize] = found;
        }
    }
}
