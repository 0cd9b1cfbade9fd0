//! Learns coordinates from a window of warm-up: those that would have centred its latents.

use super::information::{Share, information};
use crate::coordinates::Coordinates;
use crate::device::Latents;
use crate::hamiltonian::Target;
use crate::model::Model;
use crate::numeric::axpy;
use crate::structure::Information;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Draws over which a tilt's derivatives are averaged.
const SNAPSHOTS: usize = 4;

/// Accumulates the mean latents and the mean likelihood gradient over a window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct FieldLearner {
    x: Vec<f64>,
    g: Vec<f64>,
    eta: Vec<f64>,
    mean_x: Vec<f64>,
    mean_g: Vec<f64>,
    mean_eta: Vec<f64>,
    count: f64,
    /// Draws (φ and latents) spread over the window.
    pub(super) snapshots: Vec<(Vec<f64>, Vec<f64>)>,
    next: f64,
    /// Whether any point was seen at all.
    seen: bool,
    /// Whether the device keeps the means.
    pub(super) on_device: bool,
}

impl FieldLearner {
    pub(super) fn new(n: usize, sites: usize) -> Self {
        Self {
            x: vec![0.0; n],
            g: vec![0.0; n],
            eta: vec![0.0; sites],
            mean_x: vec![0.0; n],
            mean_g: vec![0.0; n],
            mean_eta: vec![0.0; sites],
            count: 0.0,
            snapshots: Vec::new(),
            next: 4.0,
            seen: false,
            on_device: false,
        }
    }

    /// Adds the current point; a rejected proposal leaves the last one, which counts again.
    pub(super) fn update(
        &mut self,
        latents: &mut dyn Latents,
        chain: usize,
        phi: &[f64],
        moved: bool,
    ) {
        if self.on_device {
            self.count += 1.0;
            return;
        }
        if moved {
            latents.latents_and_score(chain, &mut self.x, &mut self.g);
            latents.predictor(chain, &mut self.eta);
            self.seen = true;
        }
        self.add(phi);
    }

    /// Adds the point a target was last evaluated at.
    pub(super) fn observe(&mut self, target: &mut Target, z: &[f64], by_z: &[f64], phi: &[f64]) {
        target.latents_and_score(z, by_z, &mut self.x, &mut self.g);
        self.eta.copy_from_slice(target.predictor());
        self.seen = true;
        self.add(phi);
    }

    /// Counts the point that was seen last.
    fn add(&mut self, phi: &[f64]) {
        if !self.seen {
            return;
        }
        self.count += 1.0;
        // Spread over the window: a new snapshot each time its length has grown by half.
        if self.count >= self.next {
            self.next = 1.5 * self.count + 4.0;
            if self.snapshots.len() >= SNAPSHOTS {
                self.snapshots.remove(0);
            }
            self.snapshots.push((phi.to_vec(), self.x.clone()));
        }
        for (mean, now) in [
            (&mut self.mean_x, &self.x),
            (&mut self.mean_g, &self.g),
            (&mut self.mean_eta, &self.eta),
        ] {
            let weight = 1.0 / self.count;
            mean.iter_mut().zip(now).for_each(|(m, x)| *m += weight * (x - *m));
        }
    }

    /// Fetches the means from where they are kept.
    pub(super) fn fetch(&mut self, latents: &mut dyn Latents, chain: usize) {
        if self.on_device {
            latents.learnt(chain, &mut self.mean_x, &mut self.mean_g, &mut self.mean_eta);
        }
    }

    /// The coordinates that would have centred the latents seen, with a share of the likelihood's information; none if none
    /// were seen.
    pub(super) fn coordinates(
        &self,
        model: &Model,
        phi: &[f64],
        share: Share,
    ) -> Option<Coordinates> {
        (self.count > 0.0).then(|| {
            let information = information(model, &self.mean_eta, phi, share);
            let shift = Some(Arc::new(self.shift(&information)));
            Coordinates::Informed { information, shift }
        })
    }

    /// q = K x̄ − ḡ, with g = −∇ log p.
    fn shift(&self, information: &Information) -> Vec<f64> {
        let mut q = information.times(&self.mean_x);
        axpy(-1.0, &self.mean_g, &mut q);
        q
    }

    pub(super) fn restart(&mut self) {
        self.next = 4.0;
        self.snapshots.clear();
        self.count = 0.0;
    }
}
