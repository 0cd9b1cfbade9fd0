//! Evaluates fields on a torus: three dispatches for potential and gradients of all chains.
//!
//! | stage | does |
//! |---|---|
//! | `synthesise` | kick and flow, eigenvalues from the table, scaling, inverse transforms of columns |
//! | `sites` | inverse transforms of rows, likelihood and its gradient, forward transforms of rows |
//! | `analyse` | forward transforms of columns, gradient in z, sums for potential and hyperparameters |

mod layout;
mod slots;
mod stages;

#[cfg(test)]
pub(super) use stages::test_specs;

use super::Gpu;
use super::latents::{Aim, Block, Evaluation};
use super::params::{ChainParams, SpectralPrior};
use super::recording::Recording;
use super::requests::Plan;
use super::state::{State, total};
use crate::error::Result;
use crate::likelihood::SiteTwin;
use crate::model::Model;
use crate::numeric::two_floats;
use crate::structure::{Place, Spectral};
use layout::{KINETIC_SUMS, LATENT_SUMS, Layout, SITE_SUMS};
use slots::Slots;
use stages::{Buffers, Covariates, Stages};

/// Panels of the table kept on the device if they fit: the posterior of a range rarely spans more.
const SLOTS: usize = 32;

/// How many chains of a field with so many covariates, whose likelihood has so many numbers of its own, there is room for in buffers of
/// `largest` bytes.
pub(super) fn room(spectral: &Spectral, numbers: [usize; 2], largest: u64) -> usize {
    let layout = Layout::new(spectral.torus(), 1, numbers);
    let panels = (largest / layout.panel_bytes()) as usize;
    // Chains may be at as many places of the table, unless all of it is there.
    let tables = if spectral.table().panels() <= panels { usize::MAX } else { panels };
    (largest / layout.most_bytes()).min(tables as u64) as usize
}

/// A field's stages and buffers.
pub(super) struct SpectralBlock {
    layout: Layout,
    spectral: Spectral,
    params: ChainParams<SpectralPrior>,
    /// q of the first latent.
    first: Vec<f64>,
    buffers: Buffers,
    slots: Slots,
    stages: Stages,
    /// √n: the first latent of a field that is one everywhere.
    constant: f64,
}

impl SpectralBlock {
    pub(super) fn new(
        state: &State,
        field: &wgpu::Buffer,
        spectral: &Spectral,
        model: &Model,
        twin: &SiteTwin,
        centred: bool,
    ) -> Result<Self> {
        let (gpu, chains, torus) = (&state.gpu, state.chains, spectral.torus());
        let covariates = Covariates::new(model);
        let own = model.likelihood().parameters();
        let layout = Layout::new(torus, chains, [covariates.count, own]);
        layout.check(gpu)?;
        let panel = layout.panel_bytes();
        let room = (gpu.largest() / panel) as usize;
        let slots = spectral.table().panels().min(SLOTS.min(room).max(chains));
        let buffers = Buffers {
            prior: gpu.buffer("hyperparameters", layout.prior_bytes())?,
            table: gpu.buffer("table of eigenvalues", panel * slots as u64)?,
            latent_sums: gpu.buffer("sums over latents", layout.latent_bytes())?,
            site_sums: gpu.buffer("sums over sites", layout.site_bytes())?,
        };
        let kind = [centred, model.reports_mean()];
        Ok(Self {
            stages: Stages::new(state, field, &layout, &buffers, (twin, &covariates), kind)?,
            params: ChainParams::new(vec![SpectralPrior::default(); chains], layout.numbers()),
            layout,
            spectral: spectral.clone(),
            first: vec![0.0; chains],
            buffers,
            slots: Slots::new(slots),
            constant: (torus.dim() as f64).sqrt(),
        })
    }
}

/// The variance as the device has it.
fn variance(w: &[f64]) -> f32 {
    (2.0 * w[0]).exp() as f32
}

impl SpectralBlock {
    /// What rounding took from log σ and log ℓ: every latent feels it alike, so that the potential is mended by it to first order.
    fn lost(&self, w: &[f64]) -> [f64; 2] {
        let table = self.spectral.table();
        let of_range = match table.locate(w[1] - self.spectral.cell().ln()) {
            Some(Place::Panel { t, .. }) => (t - f64::from(t as f32)) * table.half_width(),
            _ => 0.0,
        };
        [w[0] - 0.5 * f64::from(variance(w)).ln(), of_range]
    }
}

impl Block for SpectralBlock {
    fn aim(&mut self, gpu: &Gpu, chain: usize, to: Aim<'_>) -> bool {
        let Aim { w, own, mean } = to;
        let effects = mean.effects.iter().map(|&c| [c as f32, 0.0]);
        self.params.set(chain, effects.chain(own.iter().map(|&own| two_floats(own))));
        let prior = &mut self.params.heads[chain];
        let coefficient = mean.coefficient;
        prior.mean = two_floats(mean.constant);
        // Subtracted here, in f64: the two are large and nearly equal.
        let pull = f64::from(prior.kappa) * coefficient * self.constant;
        prior.first = (self.first[chain] - pull) as f32;
        prior.variance = variance(w);
        prior.mean_first = (coefficient * self.constant) as f32;
        prior.steepness = (1.0 / self.spectral.table().half_width()) as f32;
        let table = self.spectral.table();
        let Some(place) = table.locate(w[1] - self.spectral.cell().ln()) else { return false };
        prior.white = u32::from(place == Place::White);
        if let Place::Panel { index, t } = place {
            let (slot, empty) = self.slots.find(index);
            prior.slot = slot as u32;
            prior.position = t as f32;
            if empty {
                let values: Vec<f32> = table.panel(index).iter().map(|&c| c as f32).collect();
                gpu.upload(&self.buffers.table, 4 * (slot * values.len()) as u64, &values);
            }
        }
        prior.variance.is_finite() && prior.variance > 0.0
    }

    fn inform(&mut self, chain: usize, kappa: f32, first: f64) {
        self.params.heads[chain].kappa = kappa;
        self.first[chain] = first;
    }

    fn upload(&mut self, gpu: &Gpu) {
        gpu.upload(&self.buffers.prior, 0, self.params.bytes());
    }

    fn evaluation(&self) -> Plan<'_> {
        let (stages, buffers) = (&self.stages, &self.buffers);
        Plan {
            stages: [
                Some(&stages.synthesise),
                Some(&stages.sites),
                Some(&stages.analyse),
                None,
                None,
            ],
            sums: [
                Some((&buffers.latent_sums, self.layout.latent_bytes())),
                Some((&buffers.site_sums, self.layout.site_bytes())),
            ],
        }
    }

    fn read(&self, chain: usize, w: &[f64], sums: &[[f32; 2]], found: &mut Evaluation) {
        let Layout { columns_cut, rows_cut, covariates, own, .. } = self.layout;
        let (latent_sums, site_sums) = (LATENT_SUMS + covariates, SITE_SUMS + covariates + own);
        let (of_latents, of_sites) = sums.split_at(self.layout.latent_bytes() as usize / 8);
        let add = |values: &[[f32; 2]], groups: usize, each: usize, k: usize| {
            let own = &values[chain * groups * each..(chain + 1) * groups * each];
            total(own.iter().skip(k).step_by(each))
        };
        let latent = |k| add(of_latents, columns_cut.groups, latent_sums, k);
        let site = |k| add(of_sites, rows_cut.groups, site_sums, k);
        let kappa = f64::from(self.params.heads[chain].kappa);
        let by_w = [latent(1) + latent(4), 0.5 * (latent(2) + latent(5))];
        let [by_sigma, by_range] = self.lost(w);
        let by_effect = |k| site(SITE_SUMS + k) - kappa * latent(LATENT_SUMS + k);
        found.by_effects.extend((0..covariates).map(by_effect));
        found.by_own.extend((0..own).map(|k| site(SITE_SUMS + covariates + k)));
        let rest = by_w[0] * by_sigma + by_w[1] * by_range;
        found.by_w.extend(by_w);
        found.potential = site(0) + 0.5 * (latent(0) + latent(3)) + rest;
        found.by_coefficient = site(1) - kappa * self.constant * latent(6);
    }

    fn kinetic(&self) -> Option<Plan<'_>> {
        let kinetic = self.stages.kinetic.as_ref()?;
        Some(Plan {
            stages: [Some(&self.stages.spectrum), Some(&kinetic.0), None, None, None],
            sums: [Some((&kinetic.1, self.layout.kinetic_bytes())), None],
        })
    }

    fn read_kinetic(&self, chain: usize, sums: &[[f32; 2]], found: &mut Evaluation) -> bool {
        if self.stages.kinetic.is_none() {
            return false;
        }
        let each = self.layout.kinetic_groups() * KINETIC_SUMS;
        let own = &sums[chain * each..(chain + 1) * each];
        let sum = |k| total(own.iter().skip(k).step_by(KINETIC_SUMS));
        let (energy, by_range) = (sum(0), sum(1));
        found.by_w.extend([energy, 0.5 * by_range]);
        found.potential = 0.5 * energy;
        true
    }

    fn learn<'a>(&'a self, recording: &mut Recording<'a>) {
        recording.dispatch(&self.stages.spectrum).dispatch(&self.stages.learn);
    }
}
