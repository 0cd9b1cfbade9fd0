//! Evaluates autoregressions: recursions as scans of chunks, five dispatches for all chains whatever the length.
//!
//! With e = z + T's and u = Te the gradient is y = e + T'(g − Ku), because Σ⁻¹u = T⁻ᵀe − Ku. Each recursion is scanned within chunks by
//! one stage; the next adds what reaches a chunk from those before it.
//!
//! | stage | does |
//! |---|---|
//! | `shift` | kick and flow; scans s backwards |
//! | `path` | e; scans e forwards |
//! | `series` | u, likelihood, prior; scans g − Ku backwards |
//! | `gradient` | y; scans y forwards |
//! | `follow` | what s, through Ty, says about the hyperparameters |

use super::latents::{Block, Evaluation, Reader};
use super::params::{Ar1Prior, split};
use super::recording::Recording;
use super::requests::Plan;
use super::stage::{Bound, Spec, wgsl};
use super::state::{State, total};
use super::{Gpu, WIDE};
use crate::error::Result;
use crate::likelihood::SiteTwin;
use crate::structure::Process;
use std::borrow::Cow;

/// Invocations of a workgroup, each with eight latents.
const WORKGROUP: usize = 128;
const CHUNK: usize = 8 * WORKGROUP;
/// Sums of a workgroup over all stages, of which one stage has at most five.
const SUMS: usize = 12;
const MOST_SUMS: usize = 5;
/// Planes of the path, and scans.
const PLANES: usize = 5;
const SCANS: usize = 4;

/// An autoregression's stages and buffers.
pub(super) struct Ar1Block {
    dim: usize,
    chains: usize,
    chunks: usize,
    priors: Vec<Ar1Prior>,
    /// The factor's process and the prior's own.
    processes: Vec<(Process, Process)>,
    /// What is subtracted from q, before it is rounded.
    pulls: Vec<f64>,
    prior: wgpu::Buffer,
    sums: wgpu::Buffer,
    stages: [Bound; 5],
    learn: Bound,
}

impl Ar1Block {
    pub(super) fn new(
        state: &State,
        field: &wgpu::Buffer,
        twin: &SiteTwin,
        reports_mean: bool,
    ) -> Result<Self> {
        let (gpu, dim, chains) = (&state.gpu, state.dim, state.chains);
        let chunks = dim.div_ceil(CHUNK);
        let prior = gpu.buffer("hyperparameters", (size_of::<Ar1Prior>() * chains) as u64)?;
        let sites = gpu.buffer_of("data", &twin.data)?;
        let path = gpu.buffer("paths", PLANES as u64 * state.plane())?;
        let ends = gpu.buffer("ends of chunks", 4 * (SCANS * chains * chunks) as u64)?;
        let sums = gpu.buffer("sums", 8 * (SUMS * chains * chunks) as u64)?;
        let size = Size { dim, stride: state.stride, chains, chunks };
        let specs = specs(&size, twin.wgsl.clone(), reports_mean);
        let words = 4 * (dim * chains) as u64;
        let bind = |k: usize, buffers: &[&wgpu::Buffer], groups: usize, planes: u64| {
            Bound::new(gpu, &specs[k], buffers, [groups, chains], planes * words)
        };
        let latents = &state.state;
        Ok(Self {
            dim,
            chains,
            chunks,
            priors: vec![Ar1Prior::default(); chains],
            processes: vec![(Process::at(0.0, 0.0, 0.0), Process::at(0.0, 0.0, 0.0)); chains],
            pulls: vec![0.0; chains],
            stages: [
                bind(0, &[&state.motion, &prior, latents, &path, &ends], chunks, 7)?,
                bind(1, &[&prior, latents, &path, &ends], chunks, 5)?,
                bind(2, &[&prior, &sites, &path, &ends, field, &sums], chunks, 8)?,
                bind(3, &[&prior, latents, &path, &ends, &sums], chunks, 6)?,
                bind(4, &[&prior, &path, &ends, &sums], chunks, 2)?,
            ],
            learn: bind(5, &[&state.motion, &prior, &path, &state.means], dim.div_ceil(WIDE), 6)?,
            prior,
            sums,
        })
    }
}

impl Block for Ar1Block {
    fn aim(
        &mut self,
        _gpu: &Gpu,
        chain: usize,
        w: &[f64],
        constant: f64,
        coefficient: f64,
    ) -> bool {
        let prior = &mut self.priors[chain];
        let kappa = f64::from(prior.kappa);
        let (process, own) = (Process::at(kappa, w[0], w[1]), Process::at(0.0, w[0], w[1]));
        let rho = process.rho();
        (prior.mean_high, prior.mean_low) = split(constant);
        prior.coefficient = coefficient as f32;
        self.pulls[chain] = kappa * coefficient;
        prior.pull = self.pulls[chain] as f32;
        prior.rho = rho as f32;
        prior.scale = process.scale as f32;
        prior.first = process.first as f32;
        prior.inverse_scale = (1.0 / process.scale) as f32;
        prior.excess = ((rho - own.rho()) / own.scale) as f32;
        prior.scale_ratio = (process.scale / own.scale) as f32;
        prior.first_ratio = (process.first / own.first) as f32;
        prior.end = if self.dim == 1 { process.lone } else { process.end } as f32;
        // Of the rounded ρ, so that all steps are with the same one and the potential can be mended for it.
        let rho = f64::from(prior.rho);
        for (k, power) in prior.powers.iter_mut().enumerate() {
            *power = rho.powi(8 << k) as f32;
        }
        // Below the least number that single precision holds nothing reaches the next chunk.
        prior.log_chunk = (CHUNK as f64 * rho.abs().ln()).max(-1e4) as f32;
        let usable = process.usable() && own.usable();
        self.processes[chain] = (process, own);
        usable
    }

    fn inform(&mut self, chain: usize, kappa: f32, _first: f64) {
        self.priors[chain].kappa = kappa;
    }

    fn upload(&self, gpu: &Gpu) {
        gpu.upload(&self.prior, 0, &self.priors);
    }

    fn evaluation(&self) -> Plan<'_> {
        Plan {
            stages: self.stages.iter().collect(),
            sums: vec![(&self.sums, 8 * (SUMS * self.chains * self.chunks) as u64)],
            reader: self.reader(),
            prior: true,
        }
    }

    fn learn<'a>(&'a self, recording: &mut Recording<'a>) {
        for stage in &self.stages[..3] {
            recording.dispatch(stage);
        }
        recording.dispatch(&self.learn);
    }
}

impl Ar1Block {
    /// Reads sums, at the hyperparameters of now.
    fn reader(&self) -> Reader {
        let (each, steps) = (self.chunks * SUMS, (self.dim - 1) as f64);
        let (processes, rounded) = (self.processes.clone(), self.priors.clone());
        let pulls = self.pulls.clone();
        let kappas: Vec<f64> = self.priors.iter().map(|p| f64::from(p.kappa)).collect();
        Box::new(move |chain, sums| {
            let own = &sums[chain * each..(chain + 1) * each];
            let s: [f64; SUMS] = std::array::from_fn(|k| total(own.iter().skip(k).step_by(SUMS)));
            let (process, prior) = &processes[chain];
            let half_log_det = |p: &Process| steps * p.log_scale + p.log_first;
            Evaluation {
                potential: s[0] + 0.5 * (s[2] + s[3]) + half_log_det(prior) - half_log_det(process)
                    + mend(&s, process, prior, &rounded[chain], pulls[chain]),
                by_w: by_w(&s, process, prior, steps),
                by_coefficient: s[1] - kappas[chain] * s[11],
            }
        })
    }
}

/// What the potential gains, to first order, because the device has the process rounded to single precision. Each latent's share is tiny
/// but all have the same sign: without this the energy of a million latents would be off by a few hundredths.
fn mend(s: &[f64; SUMS], process: &Process, prior: &Process, rounded: &Ar1Prior, pull: f64) -> f64 {
    let excess = (process.rho() - prior.rho()) / prior.scale;
    let (scale, first) = (process.scale / prior.scale, process.first / prior.first);
    // Σ standard·e over t > 0, from Σ standard² and Σ standard·u.
    let straight = (s[2] - excess * s[4]) / scale;
    let off = |exact: f64, rounded: f32| exact - f64::from(rounded);
    // Through u alone: what stands in `excess` and the ratios is rounded by itself.
    (s[5] / process.scale + s[10] - s[4] / prior.scale) * off(process.rho(), rounded.rho)
        + (s[6] + s[8] - scale * straight) * off(process.scale, rounded.scale) / process.scale
        + (s[7] + s[9] - s[3]) * off(process.first, rounded.first) / process.first
        + s[4] * off(excess, rounded.excess)
        + straight * off(scale, rounded.scale_ratio)
        + s[3] * off(first, rounded.first_ratio) / first
        - s[11] * off(pull, rounded.pull)
}

/// G'(∂T)e + s'(∂T)y − ½∂log|V|, and the prior's explicit part −a'(∂T₀)T₀⁻¹u + ½∂log|Σ|.
fn by_w(s: &[f64; SUMS], process: &Process, prior: &Process, steps: f64) -> [f64; 2] {
    std::array::from_fn(|k| {
        let by = |p: &Process, rho: f64, scale: f64, first: f64| {
            p.rho_gradient[k] * rho
                + p.log_scale_gradient[k] * scale
                + p.log_first_gradient[k] * first
        };
        let rho = s[5] / process.scale + s[10];
        by(process, rho, s[6] + s[8] - steps, s[7] + s[9] - 1.0)
            + by(prior, -s[4] / prior.scale, steps - s[2], 1.0 - s[3])
    })
}

/// What the stages are compiled for.
#[derive(Clone, Copy, Debug)]
struct Size {
    dim: usize,
    stride: usize,
    chains: usize,
    chunks: usize,
}

/// The stages in order, then `learn`.
fn specs(size: &Size, site: Cow<'static, str>, reports_mean: bool) -> [Spec; 6] {
    let spec = |name, parts: &[&'static str], read_only: &[bool], workgroup: usize| Spec {
        name,
        parts: parts.iter().map(|&part| part.into()).collect(),
        constants: vec![
            ("WG", workgroup.into()),
            ("CELLS", (MOST_SUMS * workgroup).into()),
            ("CHUNK", CHUNK.into()),
            ("DIM", size.dim.into()),
            ("STRIDE", size.stride.into()),
            ("CHAINS", size.chains.into()),
            ("CHUNKS", size.chunks.into()),
        ],
        read_only: read_only.to_vec(),
    };
    let scan = [
        wgsl!("shared/guard.wgsl"),
        wgsl!("shared/cells.wgsl"),
        wgsl!("shared/elementary.wgsl"),
        wgsl!("ar1/prior.wgsl"),
        wgsl!("ar1/scan.wgsl"),
    ];
    let sums =
        [wgsl!("shared/two_float.wgsl"), wgsl!("shared/reduce.wgsl"), wgsl!("ar1/sums.wgsl")];
    let scanning = |more: &[&'static str]| [&scan[..], more].concat();
    let summing = |stage: &'static str| [&scan[..], &sums[..], &[stage]].concat();
    let shift = scanning(&[wgsl!("shared/motion.wgsl"), wgsl!("ar1/shift.wgsl")]);
    let path = scanning(&[wgsl!("ar1/path.wgsl")]);
    let mut series = spec(
        "series",
        &summing(wgsl!("ar1/series.wgsl")),
        &[true, true, false, false, false, false],
        WORKGROUP,
    );
    series.parts.push(site);
    series.constants.push(("REPORT_MEAN", usize::from(reports_mean).into()));
    let gradient = summing(wgsl!("ar1/gradient.wgsl"));
    let follow = summing(wgsl!("ar1/follow.wgsl"));
    let learn = [wgsl!("shared/motion.wgsl"), wgsl!("ar1/prior.wgsl"), wgsl!("ar1/learn.wgsl")];
    [
        spec("shift", &shift, &[true, true, false, false, false], WORKGROUP),
        spec("path", &path, &[true, true, false, false], WORKGROUP),
        series,
        spec("gradient", &gradient, &[true, false, false, false, false], WORKGROUP),
        spec("follow", &follow, &[true, true, false, false], WORKGROUP),
        spec("learn", &learn, &[true, true, true, false], WIDE),
    ]
}

/// The stages for a small problem, for tests that need no device.
#[cfg(test)]
pub(super) fn test_specs() -> Vec<Spec> {
    let size = Size { dim: 1500, stride: 1500, chains: 3, chunks: 2 };
    let sites = [wgsl!("site/stochvol.wgsl"), wgsl!("site/gaussian.wgsl")];
    sites.map(|site| specs(&size, site.into(), false)).into_iter().flatten().collect()
}
