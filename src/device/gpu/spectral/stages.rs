//! Puts the stages of a field together from their pieces, and binds them to its buffers.

use super::super::stage::{Bound, Constant, Spec, wgsl};
use super::super::state::State;
use super::super::{WIDE, WORKGROUP};
use super::layout::{Cut, KINETIC_SUMS, Layout, Traffic};
use crate::error::Result;
use crate::likelihood::SiteTwin;
use crate::model::{Column, Model};
use crate::structure::{NODES, Torus};
use std::borrow::Cow;
use std::f64::consts::TAU;

/// What the host writes into and reads from.
pub(super) struct Buffers {
    pub(super) prior: wgpu::Buffer,
    pub(super) table: wgpu::Buffer,
    pub(super) latent_sums: wgpu::Buffer,
    pub(super) site_sums: wgpu::Buffer,
}

/// The covariates of a mean, one after the other: at the sites and in the spectral basis.
pub(super) struct Covariates {
    pub(super) count: usize,
    sites: Vec<f32>,
    basis: Vec<f32>,
}

impl Covariates {
    pub(super) fn new(model: &Model) -> Self {
        let mut all = Self { count: 0, sites: Vec::new(), basis: Vec::new() };
        for (term, column) in model.mean().iter().zip(model.columns()) {
            if let Column::Values(values) = &term.column {
                all.count += 1;
                all.sites.extend(values.iter().map(|&v| v as f32));
                all.basis.extend(column.iter().map(|&v| v as f32));
            }
        }
        all
    }
}

/// Stages with their buffers.
pub(super) struct Stages {
    pub(super) synthesise: Bound,
    pub(super) sites: Bound,
    pub(super) analyse: Bound,
    pub(super) spectrum: Bound,
    pub(super) learn: Bound,
    /// For the mass of a centred field, the prior precision: the stage and its sums.
    pub(super) kinetic: Option<(Bound, wgpu::Buffer)>,
}

impl Stages {
    pub(super) fn new(
        state: &State,
        field: &wgpu::Buffer,
        layout: &Layout,
        buffers: &Buffers,
        (twin, covariates): (&SiteTwin, &Covariates),
        [centred, reports_mean]: [bool; 2],
    ) -> Result<Self> {
        let (gpu, chains, torus) = (&state.gpu, layout.chains, layout.torus);
        let Buffers { prior, table, latent_sums, site_sums } = buffers;
        let data = gpu.buffer_of("data", &twin.data)?;
        let work = gpu.buffer("half-transformed fields", layout.work_bytes())?;
        let spectrum = gpu.buffer("eigenvalues", layout.spectrum_bytes())?;
        let columns_of = gpu.buffer_of("covariates in the spectral basis", &covariates.basis)?;
        let at_sites = gpu.buffer_of("covariates", &covariates.sites)?;
        let along_columns = gpu.buffer_of("twiddles", &twiddles(torus.p1))?;
        let along_rows = gpu.buffer_of("twiddles", &twiddles(torus.p2))?;
        let (motion, latents) = (&state.motion, &state.state);
        let traffic = Traffic::new(layout);
        let (columns, rows) = (layout.columns_cut.groups, layout.rows_cut.groups);
        let [synthesise, sites, analyse, tabulate, learn, kinetic] =
            specs(layout, twin.wgsl.clone(), centred, reports_mean);
        let bind = |spec: &Spec, buffers: &[&wgpu::Buffer], groups: usize, traffic: u64| {
            Bound::new(gpu, spec, buffers, [groups, chains], traffic)
        };
        let moving = [motion, prior, table, &along_columns, &columns_of, latents, &spectrum, &work];
        let meeting = [prior, &along_rows, &data, &at_sites, &work, field, site_sums];
        let analysing =
            [prior, &along_columns, &spectrum, &work, &columns_of, latents, latent_sums];
        let learning = [motion, prior, &spectrum, &columns_of, latents, &state.means];
        let (quarter, pairs) = (layout.quarter().div_ceil(WIDE), (torus.dim() / 2).div_ceil(WIDE));
        Ok(Self {
            synthesise: bind(&synthesise, &moving, columns, traffic.synthesise)?,
            sites: bind(&sites, &meeting, rows, traffic.sites)?,
            analyse: bind(&analyse, &analysing, columns, traffic.analyse)?,
            spectrum: bind(&tabulate, &[prior, table, &spectrum], quarter, traffic.spectrum)?,
            learn: bind(&learn, &learning, pairs, traffic.learn)?,
            kinetic: if centred {
                let groups = layout.kinetic_groups();
                let sums = gpu.buffer("kinetic energies", layout.kinetic_bytes())?;
                let buffers = [motion, prior, &spectrum, latents, &sums];
                Some((bind(&kinetic, &buffers, groups, traffic.learn)?, sums))
            } else {
                None
            },
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

/// Constants of every stage that works on lines cut like this.
fn constants(layout: &Layout, cut: &Cut, centred: bool) -> Vec<(&'static str, Constant)> {
    let norm = 1.0 / (layout.torus.dim() as f64).sqrt();
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
        ("COVARIATES", Constant::Fixed(layout.covariates as u32)),
        ("OWN", Constant::Fixed(layout.own as u32)),
    ]
}

/// The same with another workgroup, and shared memory of `cells` if the stage has any.
fn resized(
    mut constants: Vec<(&'static str, Constant)>,
    workgroup: usize,
    cells: Option<usize>,
) -> Vec<(&'static str, Constant)> {
    constants.retain(|(name, _)| !["WG", "CELLS"].contains(name));
    constants.push(("WG", workgroup.into()));
    constants.extend(cells.map(|cells| ("CELLS", cells.into())));
    constants
}

const TRANSFORM: [&str; 4] = [
    wgsl!("shared/guard.wgsl"),
    wgsl!("shared/cells.wgsl"),
    wgsl!("shared/fft.wgsl"),
    wgsl!("spectral/prior.wgsl"),
];
const SUM: [&str; 3] =
    [wgsl!("shared/two_float.wgsl"), wgsl!("shared/reduce.wgsl"), wgsl!("shared/elementary.wgsl")];

/// The stages: synthesise, sites, analyse; spectrum, learn and kinetic.
fn specs(layout: &Layout, site: Cow<'static, str>, centred: bool, reports_mean: bool) -> [Spec; 6] {
    let spec = |name, pieces: &[&[&'static str]], constants, read_only: &[bool]| Spec {
        name,
        parts: pieces.concat().into_iter().map(Cow::from).collect(),
        constants,
        read_only: read_only.to_vec(),
    };
    let along_columns = || constants(layout, &layout.columns_cut, centred);
    let synthesise = spec(
        "synthesise",
        &[
            &TRANSFORM,
            &[wgsl!("shared/motion.wgsl"), wgsl!("spectral/advance.wgsl")],
            &[wgsl!("spectral/shift.wgsl"), wgsl!("spectral/table.wgsl")],
            &[wgsl!("spectral/synthesise.wgsl")],
        ],
        along_columns(),
        &[true, true, true, true, true, false, false, false],
    );
    let mut sites = spec(
        "sites",
        &[
            &TRANSFORM,
            &SUM,
            &[wgsl!("shared/precise.wgsl"), wgsl!("shared/own.wgsl")],
            &[wgsl!("spectral/sites.wgsl")],
        ],
        constants(layout, &layout.rows_cut, centred),
        &[true, true, true, true, false, false, false],
    );
    sites.parts.push(site);
    let Torus { rows, columns, .. } = layout.torus;
    sites.constants.extend([
        ("WINDOW", rows.into()),
        ("COLUMNS", columns.into()),
        ("REPORT_MEAN", usize::from(reports_mean).into()),
    ]);
    let analyse = spec(
        "analyse",
        &[
            &TRANSFORM,
            &SUM,
            &[wgsl!("spectral/kept.wgsl"), wgsl!("spectral/shift.wgsl")],
            &[wgsl!("spectral/analyse.wgsl")],
        ],
        along_columns(),
        &[true, true, true, true, true, false, false],
    );
    let spectrum = spec(
        "spectrum",
        &[
            &[wgsl!("spectral/prior.wgsl"), wgsl!("spectral/table.wgsl")],
            &[wgsl!("spectral/spectrum.wgsl")],
        ],
        resized(along_columns(), WIDE, None),
        &[true, true, false],
    );
    let frequencies =
        [wgsl!("shared/motion.wgsl"), wgsl!("spectral/prior.wgsl"), wgsl!("spectral/kept.wgsl")];
    let learn = spec(
        "learn",
        &[&frequencies, &[wgsl!("spectral/shift.wgsl"), wgsl!("spectral/learn.wgsl")]],
        resized(along_columns(), WIDE, None),
        &[true, true, true, true, true, false],
    );
    let kinetic = spec(
        "kinetic",
        &[
            &[wgsl!("shared/guard.wgsl"), wgsl!("shared/cells.wgsl")],
            &SUM[..2],
            &frequencies,
            &[wgsl!("spectral/advance.wgsl"), wgsl!("spectral/kinetic.wgsl")],
        ],
        resized(along_columns(), WORKGROUP, Some(KINETIC_SUMS * WORKGROUP)),
        &[true, true, true, false, false],
    );
    [synthesise, sites, analyse, spectrum, learn, kinetic]
}

/// The stages for a small problem, for tests that need no device.
#[cfg(test)]
pub(in super::super) fn test_specs() -> Vec<Spec> {
    let torus = Torus { rows: 30, columns: 21, p1: 64, p2: 128 };
    let sites = [
        wgsl!("site/poisson.wgsl"),
        wgsl!("site/gaussian.wgsl"),
        wgsl!("site/stochvol.wgsl"),
        wgsl!("site/nothing.wgsl"),
    ];
    let all = sites.map(|site| specs(&Layout::new(torus, 3, [0, 0]), site.into(), false, true));
    let centred = specs(&Layout::new(torus, 3, [0, 0]), sites[0].into(), true, true);
    let covariates = specs(&Layout::new(torus, 3, [6, 0]), sites[0].into(), false, true);
    let own = wgsl!("site/negative_binomial.wgsl");
    let own = specs(&Layout::new(torus, 3, [2, 1]), own.into(), false, true);
    // The longest lines that the portable limits allow.
    let longest = Torus { rows: 1024, columns: 1000, p1: 2048, p2: 2048 };
    let longest = specs(&Layout::new(longest, 3, [6, 0]), sites[0].into(), false, true);
    all.into_iter().chain([centred, covariates, own, longest]).flatten().collect()
}
