//! Evaluates fields on a torus: three dispatches for potential and gradients of all chains.
//!
//! | stage | does |
//! |---|---|
//! | `synthesise` | kick and flow, eigenvalues from the table, scaling, inverse transforms of columns |
//! | `sites` | inverse transforms of rows, likelihood and its gradient, forward transforms of rows |
//! | `analyse` | forward transforms of columns, gradient in z, sums for potential and hyperparameters |

use super::latents::{Block, Evaluation, Reader};
use super::params::{SpectralPrior, split};
use super::recording::Recording;
use super::requests::Plan;
use super::stage::{Bound, Constant, Spec, wgsl};
use super::state::{State, total};
use super::{Gpu, WIDE, WORKGROUP};
use crate::error::{DeviceError, Result};
use crate::likelihood::SiteTwin;
use crate::structure::{NODES, Place, Spectral, Torus};
use std::borrow::Cow;
use std::f64::consts::TAU;

/// Sums of a workgroup of `analyse` and of `sites`.
const LATENT_SUMS: usize = 7;
const SITE_SUMS: usize = 2;
const KINETIC_SUMS: usize = 2;
/// Panels of the table kept on the device if they fit: the posterior of a range rarely spans more.
const SLOTS: usize = 32;
/// Invocations a workgroup has at least.
const LEAST: usize = 64;

/// Sizes of everything, and how work is cut into workgroups.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    torus: Torus,
    chains: usize,
    /// Rows of the window, one more if odd.
    rows: usize,
    columns_cut: Cut,
    rows_cut: Cut,
}

/// How lines of a transform share workgroups.
#[derive(Clone, Copy, Debug)]
struct Cut {
    points: usize,
    /// Lines of a workgroup.
    lines: usize,
    groups: usize,
}

impl Cut {
    fn new(points: usize, count: usize) -> Self {
        let lines = (8 * LEAST / points).max(1);
        Self { points, lines, groups: count.div_ceil(lines) }
    }

    fn workgroup(&self) -> usize {
        self.lines * self.points / 8
    }

    fn shared_bytes(&self) -> u64 {
        8 * (self.lines * self.points) as u64
    }
}

impl Layout {
    fn new(torus: Torus, chains: usize) -> Self {
        let rows = torus.rows.next_multiple_of(2);
        Self {
            torus,
            chains,
            rows,
            columns_cut: Cut::new(torus.p1, torus.half2()),
            rows_cut: Cut::new(torus.p2, rows / 2),
        }
    }

    fn quarter(&self) -> usize {
        self.torus.half1() * self.torus.half2()
    }

    fn latent_bytes(&self) -> u64 {
        8 * (self.columns_cut.groups * LATENT_SUMS * self.chains) as u64
    }

    fn site_bytes(&self) -> u64 {
        8 * (self.rows_cut.groups * SITE_SUMS * self.chains) as u64
    }

    /// Workgroups that add up a chain's kinetic energy where the mass is not one.
    fn kinetic_groups(&self) -> usize {
        self.torus.dim().div_ceil(16 * WORKGROUP).clamp(1, 64)
    }

    fn work(&self) -> usize {
        self.torus.half2() * self.rows
    }

    /// Refuses sides the transforms cannot do, or not on this adapter.
    fn check(&self, gpu: &Gpu) -> Result<()> {
        let Torus { p1, p2, .. } = self.torus;
        let unsupported = |why: String, remedy: &str| {
            let what = format!("a {p1} x {p2} torus");
            Err(DeviceError::Unsupported { what, why, remedy: remedy.into() }.into())
        };
        if [p1, p2].iter().any(|p| !p.is_power_of_two() || *p < 8) {
            return unsupported(
                "its sides are not powers of two from 8 up".into(),
                "build the field with Sides::PowersOfTwo (LgcpOptions::sides), or use the CPU",
            );
        }
        let adapter = gpu.adapter();
        for cut in [self.columns_cut, self.rows_cut] {
            if cut.workgroup() > adapter.workgroup as usize
                || cut.shared_bytes() > u64::from(adapter.shared_memory)
            {
                let why = format!(
                    "a side of {} needs {} invocations and {} bytes of workgroup memory, and {} has {} and {}",
                    cut.points,
                    cut.workgroup(),
                    cut.shared_bytes(),
                    adapter.name,
                    adapter.workgroup,
                    adapter.shared_memory
                );
                return unsupported(why, "use the CPU or another GPU");
            }
        }
        Ok(())
    }
}

/// A field's stages and buffers.
pub(super) struct SpectralBlock {
    layout: Layout,
    spectral: Spectral,
    priors: Vec<SpectralPrior>,
    /// q of the first latent.
    first: Vec<f64>,
    /// What rounding took from log σ and log ℓ: every latent feels it alike, so that the potential is mended by it to first order.
    lost: Vec<[f64; 2]>,
    prior: wgpu::Buffer,
    table: wgpu::Buffer,
    slots: Slots,
    latent_sums: wgpu::Buffer,
    site_sums: wgpu::Buffer,
    synthesise: Bound,
    sites: Bound,
    analyse: Bound,
    spectrum: Bound,
    learn: Bound,
    /// For the mass of a centred field, the prior precision: the stage and its sums.
    kinetic: Option<(Bound, wgpu::Buffer)>,
    /// √n: the first latent of a field that is one everywhere.
    constant: f64,
}

/// Which panels of the table are on the device.
struct Slots {
    panels: Vec<Option<usize>>,
    used: Vec<u64>,
    clock: u64,
}

impl Slots {
    /// The slot of a panel, and whether it must be filled.
    fn find(&mut self, panel: usize) -> (usize, bool) {
        self.clock += 1;
        let known = self.panels.iter().position(|p| *p == Some(panel));
        let slot = known.unwrap_or_else(|| {
            (0..self.used.len()).min_by_key(|&slot| self.used[slot]).unwrap_or(0)
        });
        self.used[slot] = self.clock;
        self.panels[slot] = Some(panel);
        (slot, known.is_none())
    }
}

impl SpectralBlock {
    pub(super) fn new(
        state: &State,
        field: &wgpu::Buffer,
        spectral: &Spectral,
        twin: &SiteTwin,
        centred: bool,
        reports_mean: bool,
    ) -> Result<Self> {
        let gpu = &state.gpu;
        let torus = spectral.torus();
        let layout = Layout::new(torus, state.chains);
        layout.check(gpu)?;
        if !spectral.table().layout().is_quarter() {
            return Err(DeviceError::Unsupported {
                what: "a field with a slanting direction".into(),
                why: "its spectrum lacks the symmetry the stages rely on".into(),
                remedy: "turn the map so that the angle is 0 or 90 degrees, or use the CPU".into(),
            }
            .into());
        }
        let chains = state.chains;
        let panel = 4 * (NODES * layout.quarter()) as u64;
        let room = (gpu.adapter().binding / panel) as usize;
        let slots = spectral.table().panels().min(SLOTS.min(room).max(chains));
        let prior = gpu.buffer("hyperparameters", (size_of::<SpectralPrior>() * chains) as u64)?;
        let table = gpu.buffer("table of eigenvalues", panel * slots as u64)?;
        let sites = gpu.buffer_of("data", &twin.data)?;
        let work = gpu.buffer("half-transformed fields", 8 * (layout.work() * chains) as u64)?;
        let spectrum = gpu.buffer("eigenvalues", 8 * (layout.quarter() * chains) as u64)?;
        let (columns_cut, rows_cut) = (layout.columns_cut, layout.rows_cut);
        let latent_sums = gpu.buffer("sums over latents", layout.latent_bytes())?;
        let site_sums = gpu.buffer("sums over sites", layout.site_bytes())?;
        let along_columns = gpu.buffer_of("twiddles", &twiddles(torus.p1))?;
        let along_rows = gpu.buffer_of("twiddles", &twiddles(torus.p2))?;
        let specs = specs(&layout, twin.wgsl.clone(), centred, reports_mean);
        let [synthesise, meet, analyse, evaluate, learn, kinetic] = specs;
        let traffic = Traffic::new(&layout);
        let synthesise = Bound::new(
            gpu,
            &synthesise,
            &[&state.motion, &prior, &table, &along_columns, &state.state, &spectrum, &work],
            [columns_cut.groups, chains],
            traffic.synthesise,
        )?;
        let meet = Bound::new(
            gpu,
            &meet,
            &[&prior, &along_rows, &sites, &work, field, &site_sums],
            [rows_cut.groups, chains],
            traffic.sites,
        )?;
        let analyse = Bound::new(
            gpu,
            &analyse,
            &[&prior, &along_columns, &spectrum, &work, &state.state, &latent_sums],
            [columns_cut.groups, chains],
            traffic.analyse,
        )?;
        let tabulate = Bound::new(
            gpu,
            &evaluate,
            &[&prior, &table, &spectrum],
            [layout.quarter().div_ceil(WIDE), chains],
            traffic.spectrum,
        )?;
        let learn = Bound::new(
            gpu,
            &learn,
            &[&state.motion, &prior, &spectrum, &state.state, &state.means],
            [(torus.dim() / 2).div_ceil(WIDE), chains],
            traffic.learn,
        )?;
        let kinetic = if centred {
            let groups = layout.kinetic_groups();
            let sums =
                gpu.buffer("kinetic energies", 8 * (groups * KINETIC_SUMS * chains) as u64)?;
            let buffers = [&state.motion, &prior, &spectrum, &state.state, &sums];
            let bound = Bound::new(gpu, &kinetic, &buffers, [groups, chains], traffic.learn)?;
            Some((bound, sums))
        } else {
            None
        };
        Ok(Self {
            layout,
            spectral: spectral.clone(),
            priors: vec![SpectralPrior::default(); chains],
            first: vec![0.0; chains],
            lost: vec![[0.0; 2]; chains],
            prior,
            table,
            slots: Slots { panels: vec![None; slots], used: vec![0; slots], clock: 0 },
            latent_sums,
            site_sums,
            synthesise,
            sites: meet,
            analyse,
            spectrum: tabulate,
            learn,
            kinetic,
            constant: (torus.dim() as f64).sqrt(),
        })
    }
}

/// Bytes each stage moves for all chains, every one counted once: numbers of four bytes a latent.
struct Traffic {
    synthesise: u64,
    sites: u64,
    analyse: u64,
    spectrum: u64,
    learn: u64,
}

impl Traffic {
    fn new(layout: &Layout) -> Self {
        let n = layout.torus.dim() as u64;
        let (quarter, work) = (layout.quarter() as u64, 2 * layout.work() as u64);
        let sites = layout.torus.sites() as u64;
        let words = |per_chain: u64| 4 * per_chain * layout.chains as u64;
        Self {
            // z, y, r and q read, z and r written; coefficients read, eigenvalues and work written.
            synthesise: words(6 * n + (NODES as u64 + 2) * quarter + work),
            // work read and written, data read, the field written.
            sites: words(2 * work + 3 * sites),
            // eigenvalues, work, z and q read, y written.
            analyse: words(3 * n + 2 * quarter + work),
            spectrum: words((NODES as u64 + 2) * quarter),
            learn: words(7 * n + 2 * quarter),
        }
    }
}

impl Block for SpectralBlock {
    fn aim(&mut self, gpu: &Gpu, chain: usize, w: &[f64], constant: f64, coefficient: f64) -> bool {
        let prior = &mut self.priors[chain];
        let (high, low) = split(constant);
        prior.mean_high = high;
        prior.mean_low = low;
        // Subtracted here, in f64: the two are large and nearly equal.
        let pull = f64::from(prior.kappa) * coefficient * self.constant;
        prior.first = (self.first[chain] - pull) as f32;
        prior.variance = (2.0 * w[0]).exp() as f32;
        prior.mean_first = (coefficient * self.constant) as f32;
        prior.steepness = (1.0 / self.spectral.table().half_width()) as f32;
        let table = self.spectral.table();
        let Some(place) = table.locate(w[1] - self.spectral.cell().ln()) else { return false };
        self.lost[chain] = [w[0] - 0.5 * f64::from(prior.variance).ln(), 0.0];
        prior.white = u32::from(place == Place::White);
        if let Place::Panel { index, t } = place {
            let (slot, empty) = self.slots.find(index);
            prior.slot = slot as u32;
            prior.position = t as f32;
            self.lost[chain][1] = (t - f64::from(prior.position)) * table.half_width();
            if empty {
                let values: Vec<f32> = table.panel(index).iter().map(|&c| c as f32).collect();
                gpu.upload(&self.table, 4 * (slot * values.len()) as u64, &values);
            }
        }
        prior.variance.is_finite() && prior.variance > 0.0
    }

    fn inform(&mut self, chain: usize, kappa: f32, first: f64) {
        self.priors[chain].kappa = kappa;
        self.first[chain] = first;
    }

    fn upload(&self, gpu: &Gpu) {
        gpu.upload(&self.prior, 0, &self.priors);
    }

    fn evaluation(&self) -> Plan<'_> {
        Plan {
            stages: vec![&self.synthesise, &self.sites, &self.analyse],
            sums: vec![
                (&self.latent_sums, self.layout.latent_bytes()),
                (&self.site_sums, self.layout.site_bytes()),
            ],
            reader: self.reader(),
            prior: true,
        }
    }

    fn kinetic(&self) -> Option<Plan<'_>> {
        let kinetic = self.kinetic.as_ref()?;
        let groups = self.layout.kinetic_groups();
        let each = groups * KINETIC_SUMS;
        Some(Plan {
            stages: vec![&self.spectrum, &kinetic.0],
            sums: vec![(&kinetic.1, 8 * (each * self.layout.chains) as u64)],
            reader: Box::new(move |chain, sums| {
                let own = &sums[chain * each..(chain + 1) * each];
                let sum = |k| total(own.iter().skip(k).step_by(KINETIC_SUMS));
                let (energy, by_range) = (sum(0), sum(1));
                Evaluation {
                    potential: 0.5 * energy,
                    by_w: [energy, 0.5 * by_range],
                    by_coefficient: 0.0,
                }
            }),
            prior: false,
        })
    }

    fn learn<'a>(&'a self, recording: &mut Recording<'a>) {
        recording.dispatch(&self.spectrum).dispatch(&self.learn);
    }
}

impl SpectralBlock {
    /// Reads the sums of `analyse`, then those of `sites`.
    fn reader(&self) -> Reader {
        let Layout { columns_cut, rows_cut, .. } = self.layout;
        let split = self.layout.latent_bytes() as usize / 8;
        let kappas: Vec<f64> = self.priors.iter().map(|p| f64::from(p.kappa)).collect();
        let (constant, lost) = (self.constant, self.lost.clone());
        Box::new(move |chain, sums| {
            let add = |values: &[[f32; 2]], groups: usize, each: usize, k: usize| {
                let own = &values[chain * groups * each..(chain + 1) * groups * each];
                total(own.iter().skip(k).step_by(each))
            };
            let latent = |k| add(&sums[..split], columns_cut.groups, LATENT_SUMS, k);
            let site = |k| add(&sums[split..], rows_cut.groups, SITE_SUMS, k);
            let by_w = [latent(1) + latent(4), 0.5 * (latent(2) + latent(5))];
            let [by_sigma, by_range] = lost[chain];
            Evaluation {
                potential: site(0)
                    + 0.5 * (latent(0) + latent(3))
                    + by_w[0] * by_sigma
                    + by_w[1] * by_range,
                by_w,
                by_coefficient: site(1) - kappas[chain] * constant * latent(6),
            }
        })
    }
}

/// e^{−2πik/N}, rounded once from f64.
fn twiddles(points: usize) -> Vec<[f32; 2]> {
    (0..points)
        .map(|k| {
            let (sin, cos) = (TAU * k as f64 / points as f64).sin_cos();
            [cos as f32, -sin as f32]
        })
        .collect()
}

/// The stages: synthesise, sites, analyse; spectrum, learn and kinetic.
pub(super) fn specs(
    layout: &Layout,
    site: Cow<'static, str>,
    centred: bool,
    reports_mean: bool,
) -> [Spec; 6] {
    let Torus { rows, columns, .. } = layout.torus;
    let norm = 1.0 / (layout.torus.dim() as f64).sqrt();
    let common = |cut: &Cut| -> Vec<(&'static str, Constant)> {
        vec![
            ("N", cut.points.into()),
            ("LINES", cut.lines.into()),
            ("WG", cut.workgroup().into()),
            ("CELLS", (cut.lines * cut.points).into()),
            ("GROUPS", cut.groups.into()),
            ("HALF1", layout.torus.half1().into()),
            ("HALF2", layout.torus.half2().into()),
            ("ROWS", layout.rows.into()),
            ("CHAINS", layout.chains.into()),
            ("PAIRS", (layout.torus.dim() / 2).into()),
            ("CENTRED", usize::from(centred).into()),
            ("NODES", NODES.into()),
            ("NORM", norm.into()),
        ]
    };
    let shared = |more: &[&'static str]| -> Vec<Cow<'static, str>> {
        [
            wgsl!("shared/guard.wgsl"),
            wgsl!("shared/cells.wgsl"),
            wgsl!("shared/fft.wgsl"),
            wgsl!("spectral/prior.wgsl"),
        ]
        .iter()
        .chain(more)
        .map(|&part| part.into())
        .collect()
    };
    let synthesise = Spec {
        name: "synthesise",
        parts: shared(&[
            wgsl!("shared/motion.wgsl"),
            wgsl!("spectral/table.wgsl"),
            wgsl!("spectral/synthesise.wgsl"),
        ]),
        constants: common(&layout.columns_cut),
        read_only: vec![true, true, true, true, false, false, false],
    };
    let sums = [
        wgsl!("shared/two_float.wgsl"),
        wgsl!("shared/reduce.wgsl"),
        wgsl!("shared/elementary.wgsl"),
    ];
    let mut sites = Spec {
        name: "sites",
        parts: shared(&[&sums[..], &[wgsl!("spectral/sites.wgsl")]].concat()),
        constants: common(&layout.rows_cut),
        read_only: vec![true, true, true, false, false, false],
    };
    sites.parts.push(site);
    sites.constants.extend([
        ("WINDOW", rows.into()),
        ("COLUMNS", columns.into()),
        ("REPORT_MEAN", usize::from(reports_mean).into()),
    ]);
    let analyse = Spec {
        name: "analyse",
        parts: shared(
            &[&sums[..], &[wgsl!("spectral/kept.wgsl"), wgsl!("spectral/analyse.wgsl")]].concat(),
        ),
        constants: common(&layout.columns_cut),
        read_only: vec![true, true, true, true, false, false],
    };
    let wide = |mut constants: Vec<(&'static str, Constant)>| {
        constants.retain(|(name, _)| *name != "WG");
        constants.push(("WG", WIDE.into()));
        constants
    };
    let spectrum = Spec {
        name: "spectrum",
        parts: [
            wgsl!("spectral/prior.wgsl"),
            wgsl!("spectral/table.wgsl"),
            wgsl!("spectral/spectrum.wgsl"),
        ]
        .map(Cow::from)
        .to_vec(),
        constants: wide(common(&layout.columns_cut)),
        read_only: vec![true, true, false],
    };
    let learn = Spec {
        name: "learn",
        parts: [
            wgsl!("shared/motion.wgsl"),
            wgsl!("spectral/prior.wgsl"),
            wgsl!("spectral/kept.wgsl"),
            wgsl!("spectral/learn.wgsl"),
        ]
        .map(Cow::from)
        .to_vec(),
        constants: wide(common(&layout.columns_cut)),
        read_only: vec![true, true, true, true, false],
    };
    let mut kinetic = Spec {
        name: "kinetic",
        parts: [
            wgsl!("shared/guard.wgsl"),
            wgsl!("shared/two_float.wgsl"),
            wgsl!("shared/cells.wgsl"),
            wgsl!("shared/reduce.wgsl"),
            wgsl!("shared/motion.wgsl"),
            wgsl!("spectral/prior.wgsl"),
            wgsl!("spectral/kept.wgsl"),
            wgsl!("spectral/kinetic.wgsl"),
        ]
        .map(Cow::from)
        .to_vec(),
        constants: common(&layout.columns_cut),
        read_only: vec![true, true, true, false, false],
    };
    kinetic.constants.retain(|(name, _)| !["WG", "CELLS"].contains(name));
    kinetic.constants.push(("WG", WORKGROUP.into()));
    kinetic.constants.push(("CELLS", (KINETIC_SUMS * WORKGROUP).into()));
    [synthesise, sites, analyse, spectrum, learn, kinetic]
}

/// The stages for a small problem, for tests that need no device.
#[cfg(test)]
pub(super) fn test_specs() -> Vec<Spec> {
    let torus = Torus { rows: 30, columns: 21, p1: 64, p2: 128 };
    let sites = [
        wgsl!("site/poisson.wgsl"),
        wgsl!("site/gaussian.wgsl"),
        wgsl!("site/stochvol.wgsl"),
        wgsl!("site/nothing.wgsl"),
    ];
    let all = sites.map(|site| specs(&Layout::new(torus, 3), site.into(), false, true));
    let centred = specs(&Layout::new(torus, 3), sites[0].into(), true, true);
    all.into_iter().chain([centred]).flatten().collect()
}
