//! Fetches a chain's complete state from the device, and puts it back.

use super::super::state::Plane;
use super::GpuLatents;
use crate::device::{DeviceSums, LatentState};
use crate::error::Result;

impl GpuLatents {
    /// A chain's state between two transitions.
    pub(super) fn state_of(&mut self, chain: usize) -> Result<LatentState> {
        self.flush();
        self.report_fresh();
        let structure = self.chains[chain].model.structure();
        let (n, sites) = (structure.dim(), structure.sites());
        let latents = || vec![0.0; n];
        let (mut z, mut by_z, mut x, mut g) = (latents(), latents(), latents(), latents());
        let mut field = vec![0.0; sites];
        self.state.read(Plane::Z, chain, &mut z);
        self.state.read(Plane::Gradient, chain, &mut by_z);
        self.state.means(chain, &mut x, &mut g);
        self.field.read(chain, &mut field);
        let fields = self.field.sums(chain, sites);
        self.state.gpu.status()?;
        let (own, observed) = (&self.chains[chain], &self.observed_means[chain]);
        let kept = DeviceSums {
            observed: self.observed,
            x,
            g,
            constant: observed.constant,
            effects: observed.effects.clone(),
            draws: self.draws,
            fields,
        };
        Ok(LatentState {
            coordinates: own.coordinates.clone(),
            tilt: None,
            z,
            by_z,
            field,
            predictor: Vec::new(),
            gradients: own.gradients,
            kept: Some(kept),
        })
    }

    /// Puts a chain, whose hyperparameters are φ, into such a state.
    pub(super) fn put(&mut self, chain: usize, state: &LatentState, phi: &[f64]) -> Result<()> {
        self.adopt(chain, &state.coordinates);
        self.state.write(Plane::Z, chain, &state.z);
        self.state.write(Plane::Gradient, chain, &state.by_z);
        self.field.write(chain, &state.field);
        if let Some(kept) = &state.kept {
            self.state.write_means(chain, &kept.x, &kept.g);
            self.field.write_sums(chain, state.field.len(), &kept.fields)?;
            let observed = &mut self.observed_means[chain];
            observed.constant = kept.constant;
            observed.effects.clone_from(&kept.effects);
            (self.observed, self.draws) = (kept.observed, kept.draws);
        }
        let own = &mut self.chains[chain];
        own.gradients = state.gradients;
        own.phi.copy_from_slice(phi);
        own.fresh = false;
        self.state.gpu.status()
    }
}
