//! Evaluates autoregressions: recursions as scans of chunks, five dispatches for all chains of all series whatever their lengths.
//!
//! Everything the potential depends on is computed in two floats: a recursion gathers rounding errors that agree with one another.
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

use super::latents::{Aim, Block, Evaluation};
use super::params::{Ar1Prior, ChainParams};
use super::recording::Recording;
use super::requests::Plan;
use super::stage::{Bound, Constant, Spec, wgsl};
use super::state::{State, total};
use super::{Gpu, WIDE};
use crate::error::Result;
use crate::likelihood::SiteTwin;
use crate::numeric::two_floats;
use crate::structure::Process;
use std::borrow::Cow;

/// Invocations of a workgroup, each with eight latents.
const WORKGROUP: usize = 128;
const CHUNK: usize = 8 * WORKGROUP;
/// Sums of a workgroup over all stages, of which one stage has at most five; one more for each number the likelihood has of its own, after
/// those of `series`.
const SUMS: usize = 12;
const SERIES_SUMS: usize = 5;
const MOST_SUMS: usize = 5;
/// Planes of the path, and scans.
const PLANES: usize = 5;
const SCANS: usize = 4;

/// An autoregression's stages and buffers.
pub(super) struct Ar1Block {
    /// Length of each chain's series.
    lengths: Vec<usize>,
    chains: usize,
    chunks: usize,
    /// Numbers the likelihood has of its own.
    own: usize,
    params: ChainParams<Ar1Prior>,
    prior: wgpu::Buffer,
    sums: wgpu::Buffer,
    stages: [Bound; 5],
    learn: Bound,
}

/// The largest buffer of a chain of so many latents, whose likelihood has so many numbers of its own.
pub(super) fn chain_bytes(dim: usize, own: usize) -> u64 {
    let (plane, chunks) = (4 * dim.next_multiple_of(4) as u64, dim.div_ceil(CHUNK) as u64);
    let sums = 8 * (SUMS + own) as u64 * chunks;
    (PLANES as u64 * plane).max(sums).max(ChainParams::<Ar1Prior>::chain_bytes(own))
}

/// A series that chains of the batch belong to.
pub(super) struct Series {
    pub(super) length: usize,
    pub(super) twin: SiteTwin,
}

impl Ar1Block {
    pub(super) fn new(
        state: &State,
        field: &wgpu::Buffer,
        (series, own): (&[Series], usize),
        whose: Vec<usize>,
        reports_mean: bool,
    ) -> Result<Self> {
        let (gpu, dim, chains) = (&state.gpu, state.dim, state.chains);
        let chunks = dim.div_ceil(CHUNK);
        let chain = ChainParams::<Ar1Prior>::chain_bytes(own);
        let prior = gpu.buffer("hyperparameters", chain * chains as u64)?;
        let data: Vec<[f32; 2]> = series.iter().flat_map(|one| one.twin.data.clone()).collect();
        let sites = gpu.buffer_of("data", &data)?;
        let path = gpu.buffer("paths", PLANES as u64 * state.plane())?;
        let ends = gpu.buffer("ends of chunks", 8 * (SCANS * chains * chunks) as u64)?;
        let sums = gpu.buffer("sums", 8 * ((SUMS + own) * chains * chunks) as u64)?;
        let size = Size { dim, stride: state.stride, chains, chunks, own };
        let site = series.first().map_or(Cow::Borrowed(""), |one| one.twin.wgsl.clone());
        let specs = specs(&size, site, reports_mean);
        let words = 4 * (dim * chains) as u64;
        let bind = |k: usize, buffers: &[&wgpu::Buffer], groups: usize, planes: u64| {
            Bound::new(gpu, &specs[k], buffers, [groups, chains], planes * words)
        };
        let latents = &state.state;
        let begins: Vec<usize> = series
            .iter()
            .scan(0, |next, one| Some(std::mem::replace(next, *next + one.twin.data.len())))
            .collect();
        let prior_of = |&k: &usize| Ar1Prior {
            length: series[k].length as u32,
            datum: begins[k] as u32,
            ..Ar1Prior::default()
        };
        Ok(Self {
            lengths: whose.iter().map(|&k| series[k].length).collect(),
            chains,
            chunks,
            own,
            params: ChainParams::new(whose.iter().map(prior_of).collect(), own),
            stages: [
                bind(0, &[&prior, &path, &ends, &state.motion, latents], chunks, 8)?,
                bind(1, &[&prior, &path, &ends, latents], chunks, 8)?,
                bind(2, &[&prior, &path, &ends, &sites, field, &sums], chunks, 10)?,
                bind(3, &[&prior, &path, &ends, latents, &sums], chunks, 6)?,
                bind(4, &[&prior, &path, &ends, &sums], chunks, 2)?,
            ],
            learn: bind(5, &[&prior, &path, &state.motion, &state.means], dim.div_ceil(WIDE), 6)?,
            prior,
            sums,
        })
    }
}

impl Ar1Block {
    fn sum_bytes(&self) -> u64 {
        8 * ((SUMS + self.own) * self.chains * self.chunks) as u64
    }
}

impl Block for Ar1Block {
    fn aim(&mut self, _gpu: &Gpu, chain: usize, to: Aim<'_>) -> bool {
        let Aim { w, own: of_likelihood, mean } = to;
        let coefficient = mean.coefficient;
        self.params.set(chain, of_likelihood.iter().map(|&own| two_floats(own)));
        let prior = &mut self.params.heads[chain];
        let kappa = f64::from(prior.kappa);
        let (process, own) = (Process::at(kappa, w[0], w[1]), Process::at(0.0, w[0], w[1]));
        let rho = process.rho();
        prior.mean = two_floats(mean.constant);
        prior.coefficient = coefficient as f32;
        prior.pull = two_floats(kappa * coefficient);
        prior.rho = two_floats(rho);
        prior.scale = two_floats(process.scale);
        prior.first = two_floats(process.first);
        prior.excess = two_floats((rho - own.rho()) / own.scale);
        prior.scale_ratio = two_floats(process.scale / own.scale);
        prior.first_ratio = two_floats(process.first / own.first);
        prior.end = if self.lengths[chain] == 1 { process.lone } else { process.end } as f32;
        for (k, power) in prior.powers.iter_mut().enumerate() {
            *power = two_floats(rho.powi(8 << k));
        }
        process.usable() && own.usable()
    }

    fn inform(&mut self, chain: usize, kappa: f32, _first: f64) {
        self.params.heads[chain].kappa = kappa;
    }

    fn upload(&mut self, gpu: &Gpu) {
        gpu.upload(&self.prior, 0, self.params.bytes());
    }

    fn evaluation(&self) -> Plan<'_> {
        Plan {
            stages: self.stages.each_ref().map(Some),
            sums: [Some((&self.sums, self.sum_bytes())), None],
        }
    }

    fn read(&self, chain: usize, w: &[f64], sums: &[[f32; 2]], found: &mut Evaluation) {
        let all = SUMS + self.own;
        let each = self.chunks * all;
        let own = &sums[chain * each..(chain + 1) * each];
        let sum = |k: usize| total(own.iter().skip(k).step_by(all));
        let of_stages = |k: usize| if k < SERIES_SUMS { sum(k) } else { sum(k + self.own) };
        let s: [f64; SUMS] = std::array::from_fn(of_stages);
        let kappa = f64::from(self.params.heads[chain].kappa);
        let (process, prior) = (Process::at(kappa, w[0], w[1]), Process::at(0.0, w[0], w[1]));
        let steps = (self.lengths[chain] - 1) as f64;
        let half_log_det = |p: &Process| steps * p.log_scale + p.log_first;
        found.potential =
            s[0] + 0.5 * (s[2] + s[3]) + half_log_det(&prior) - half_log_det(&process);
        found.by_w.extend(by_w(&s, &process, &prior, steps));
        found.by_own.extend((SERIES_SUMS..SERIES_SUMS + self.own).map(sum));
        found.by_coefficient = s[1] - kappa * s[11];
    }

    fn learn<'a>(&'a self, recording: &mut Recording<'a>) {
        for stage in &self.stages[..3] {
            recording.dispatch(stage);
        }
        recording.dispatch(&self.learn);
    }
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
    own: usize,
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
            ("OWN", Constant::Fixed(size.own as u32)),
        ],
        read_only: read_only.to_vec(),
    };
    let chart = [wgsl!("shared/guard.wgsl"), wgsl!("ar1/prior.wgsl")];
    let scan = [
        &chart[..],
        &[wgsl!("shared/cells.wgsl"), wgsl!("shared/two_float.wgsl"), wgsl!("ar1/scan.wgsl")],
    ]
    .concat();
    let sums = [wgsl!("shared/reduce.wgsl"), wgsl!("ar1/sums.wgsl")];
    let scanning = |more: &[&'static str]| [&scan[..], more].concat();
    let summing = |more: &[&'static str]| [&scan[..], &sums[..], more].concat();
    let shift = scanning(&[wgsl!("shared/motion.wgsl"), wgsl!("ar1/shift.wgsl")]);
    let path = scanning(&[wgsl!("ar1/path.wgsl")]);
    let meeting = summing(&[
        wgsl!("shared/elementary.wgsl"),
        wgsl!("shared/precise.wgsl"),
        wgsl!("shared/own.wgsl"),
        wgsl!("ar1/series.wgsl"),
    ]);
    let mut series = spec("series", &meeting, &[true, false, false, true, false, false], WORKGROUP);
    series.parts.push(site);
    series.constants.push(("REPORT_MEAN", usize::from(reports_mean).into()));
    let gradient = summing(&[wgsl!("ar1/gradient.wgsl")]);
    let follow = summing(&[wgsl!("ar1/follow.wgsl")]);
    let learn = [&chart[1..], &[wgsl!("shared/motion.wgsl"), wgsl!("ar1/learn.wgsl")]].concat();
    [
        spec("shift", &shift, &[true, false, false, true, false], WORKGROUP),
        spec("path", &path, &[true, false, false, true], WORKGROUP),
        series,
        spec("gradient", &gradient, &[true, false, false, false, false], WORKGROUP),
        spec("follow", &follow, &[true, false, false, false], WORKGROUP),
        spec("learn", &learn, &[true, false, true, false], WIDE),
    ]
}

/// The stages for a small problem, for tests that need no device.
#[cfg(test)]
pub(super) fn test_specs() -> Vec<Spec> {
    let specs = |site: &'static str, own: usize| {
        let size = Size { dim: 1500, stride: 1500, chains: 3, chunks: 2, own };
        specs(&size, site.into(), false)
    };
    [
        specs(wgsl!("site/stochvol.wgsl"), 0),
        specs(wgsl!("site/gaussian.wgsl"), 0),
        specs(wgsl!("site/learnt_noise.wgsl"), 1),
    ]
    .into_iter()
    .flatten()
    .collect()
}
