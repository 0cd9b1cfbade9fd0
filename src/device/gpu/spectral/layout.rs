//! Says how large everything is and how the work is cut into workgroups.

use super::super::params::{ChainParams, SpectralPrior};
use super::super::{Gpu, WORKGROUP};
use crate::error::{DeviceError, Result};
use crate::structure::{NODES, Torus};

/// Sums of a workgroup of `analyse` and of `sites`, each with one more for every covariate, the latter also for what a likelihood has of its own.
pub(super) const LATENT_SUMS: usize = 7;
pub(super) const SITE_SUMS: usize = 2;
pub(super) const KINETIC_SUMS: usize = 2;
/// Invocations a workgroup has at least.
const LEAST: usize = 64;
/// Points of a line from which on a workgroup fills what every adapter has, 256 invocations and 16 KiB: a line alone would load numbers
/// that are far apart in memory.
const LONG: usize = 512;
const MOST: usize = 256;

/// Sizes of everything, and how work is cut into workgroups.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) torus: Torus,
    pub(super) chains: usize,
    pub(super) covariates: usize,
    /// Numbers the likelihood has of its own.
    pub(super) own: usize,
    /// Rows of the window, one more if odd.
    pub(super) rows: usize,
    pub(super) columns_cut: Cut,
    pub(super) rows_cut: Cut,
}

/// How lines of a transform share workgroups.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    pub(super) points: usize,
    /// Lines of a workgroup.
    pub(super) lines: usize,
    pub(super) groups: usize,
}

impl Cut {
    fn new(points: usize, count: usize) -> Self {
        let lines = if points < LONG {
            (8 * LEAST / points).max(1)
        } else {
            (8 * MOST / points).clamp(1, count.next_power_of_two())
        };
        Self { points, lines, groups: count.div_ceil(lines) }
    }

    pub(super) fn workgroup(&self) -> usize {
        self.lines * self.points / 8
    }

    fn shared_bytes(&self) -> u64 {
        8 * (self.lines * self.points) as u64
    }
}

impl Layout {
    pub(super) fn new(torus: Torus, chains: usize, [covariates, own]: [usize; 2]) -> Self {
        let rows = torus.rows.next_multiple_of(2);
        Self {
            torus,
            chains,
            covariates,
            own,
            rows,
            columns_cut: Cut::new(torus.p1, torus.half2()),
            rows_cut: Cut::new(torus.p2, rows / 2),
        }
    }

    /// Numbers a chain brings besides those that all chains do.
    pub(super) fn numbers(&self) -> usize {
        self.covariates + self.own
    }

    pub(super) fn prior_bytes(&self) -> u64 {
        ChainParams::<SpectralPrior>::chain_bytes(self.numbers()) * self.chains as u64
    }

    pub(super) fn quarter(&self) -> usize {
        self.torus.half1() * self.torus.half2()
    }

    pub(super) fn latent_bytes(&self) -> u64 {
        8 * (self.columns_cut.groups * (LATENT_SUMS + self.covariates) * self.chains) as u64
    }

    pub(super) fn site_bytes(&self) -> u64 {
        8 * (self.rows_cut.groups * (SITE_SUMS + self.numbers()) * self.chains) as u64
    }

    /// Workgroups that add up a chain's kinetic energy where the mass is not one.
    pub(super) fn kinetic_groups(&self) -> usize {
        self.torus.dim().div_ceil(16 * WORKGROUP).clamp(1, 64)
    }

    pub(super) fn kinetic_bytes(&self) -> u64 {
        8 * (self.kinetic_groups() * KINETIC_SUMS * self.chains) as u64
    }

    /// A panel of the table of eigenvalues.
    pub(super) fn panel_bytes(&self) -> u64 {
        4 * (NODES * self.quarter()) as u64
    }

    pub(super) fn work_bytes(&self) -> u64 {
        8 * (self.work() * self.chains) as u64
    }

    pub(super) fn spectrum_bytes(&self) -> u64 {
        8 * (self.quarter() * self.chains) as u64
    }

    /// The largest buffer that grows with the chains, but for the table.
    pub(super) fn most_bytes(&self) -> u64 {
        let sums = self.latent_bytes().max(self.site_bytes()).max(self.kinetic_bytes());
        self.work_bytes().max(self.spectrum_bytes()).max(sums).max(self.prior_bytes())
    }

    fn work(&self) -> usize {
        self.torus.half2() * self.rows
    }

    /// Refuses sides the transforms cannot do, or not on this adapter.
    pub(super) fn check(&self, gpu: &Gpu) -> Result<()> {
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

/// Bytes each stage moves for all chains, every one counted once: numbers of four bytes a latent.
pub(super) struct Traffic {
    pub(super) synthesise: u64,
    pub(super) sites: u64,
    pub(super) analyse: u64,
    pub(super) spectrum: u64,
    pub(super) learn: u64,
}

impl Traffic {
    pub(super) fn new(layout: &Layout) -> Self {
        let n = layout.torus.dim() as u64;
        let (quarter, work) = (layout.quarter() as u64, 2 * layout.work() as u64);
        let sites = layout.torus.sites() as u64;
        let covariates = layout.covariates as u64;
        let words = |per_chain: u64| 4 * per_chain * layout.chains as u64;
        Self {
            // z, y, r, q and covariates read, z and r written; coefficients read, eigenvalues and work written.
            synthesise: words((6 + covariates) * n + (NODES as u64 + 2) * quarter + work),
            // work read and written, data and covariates read, the field written.
            sites: words(2 * work + (3 + covariates) * sites),
            // eigenvalues, work, z, q and covariates read, y written.
            analyse: words((3 + covariates) * n + 2 * quarter + work),
            spectrum: words((NODES as u64 + 2) * quarter),
            learn: words((7 + covariates) * n + 2 * quarter),
        }
    }
}
