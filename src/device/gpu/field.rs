//! Keeps the reported field of the current point on the device, its running moments, and draws at chosen sites.

use super::params::Motion;
use super::recording::Recording;
use super::stage::{Bound, Spec, wgsl};
use super::state::{fetch, send};
use super::{Gpu, WIDE};
use crate::error::Result;
use std::sync::Arc;

/// Bytes of draws kept on the device before they travel.
const HISTORY: usize = 4 << 20;

/// The field of every chain.
pub(super) struct Field {
    gpu: Arc<Gpu>,
    /// Sites of the chain that has most.
    sites: usize,
    chains: usize,
    /// The field of the last evaluated point.
    pub(super) proposed: wgpu::Buffer,
    moments: wgpu::Buffer,
    report: Bound,
    kept: Option<Kept>,
}

/// Draws at chosen sites.
struct Kept {
    /// Sites of each chain, and the most of any.
    counts: Vec<usize>,
    most: usize,
    /// Draws the history has room for, and those in it.
    room: usize,
    rows: usize,
    history: wgpu::Buffer,
    staging: wgpu::Buffer,
    keep: Bound,
}

impl Field {
    pub(super) fn new(
        gpu: &Arc<Gpu>,
        motion: &wgpu::Buffer,
        sites: usize,
        chains: usize,
    ) -> Result<Self> {
        let bytes = 4 * (sites * chains) as u64;
        let proposed = gpu.buffer("fields", bytes)?;
        let moments = gpu.buffer("moments of the fields", 3 * bytes)?;
        let report = Bound::new(
            gpu,
            &report_spec(sites, chains),
            &[motion, &proposed, &moments],
            [sites.div_ceil(WIDE), chains],
            7 * bytes,
        )?;
        Ok(Self { gpu: gpu.clone(), sites, chains, proposed, moments, report, kept: None })
    }

    /// Begins to keep draws at these sites of each chain.
    pub(super) fn choose(&mut self, motion: &wgpu::Buffer, chosen: &[&[usize]]) -> Result<()> {
        let counts: Vec<usize> = chosen.iter().map(|own| own.len()).collect();
        let most = counts.iter().copied().max().unwrap_or(0);
        let row = 4 * most * self.chains;
        let room = (HISTORY / row.max(1)).max(1);
        let gpu = &self.gpu;
        let padded = |own: &&[usize]| -> Vec<u32> {
            own.iter().map(|&site| site as u32).chain(std::iter::repeat(0)).take(most).collect()
        };
        let indices: Vec<u32> = chosen.iter().flat_map(padded).collect();
        let sites = gpu.buffer_of("chosen sites", &indices)?;
        let history = gpu.buffer("draws at chosen sites", (room * row) as u64)?;
        let staging = gpu.staging("draws at chosen sites", (room * row) as u64)?;
        let keep = Bound::new(
            gpu,
            &keep_spec(self.sites, self.chains, most),
            &[motion, &self.moments, &sites, &history],
            [most.div_ceil(WIDE), self.chains],
            3 * row as u64,
        )?;
        self.kept = Some(Kept { counts, most, room, rows: 0, history, staging, keep });
        Ok(())
    }

    /// The command that takes the proposed field over where it was accepted and adds it to the moments where `weight` says so.
    pub(super) fn reporting<'a>(&'a self, recording: &mut Recording<'a>) {
        recording.dispatch(&self.report);
    }

    /// The command that keeps the current field at the chosen sites, in the row that `motion` names.
    pub(super) fn keeping<'a>(&'a self, recording: &mut Recording<'a>) {
        if let Some(kept) = &self.kept {
            recording.dispatch(&kept.keep);
        }
    }

    /// The row the next draw goes to.
    pub(super) fn row(&self) -> u32 {
        self.kept.as_ref().map_or(0, |kept| kept.rows as u32)
    }

    /// Counts a kept draw; true if the history is full and must be read.
    pub(super) fn count(&mut self) -> bool {
        self.kept.as_mut().is_some_and(|kept| {
            kept.rows += 1;
            kept.rows == kept.room
        })
    }

    /// Reads the history, draw after draw and chain after chain, and empties it.
    pub(super) fn drain(&mut self, mut visit: impl FnMut(usize, &[f32])) {
        let chains = self.chains;
        let Some(kept) = self.kept.as_mut().filter(|kept| kept.rows > 0) else { return };
        let bytes = 4 * (kept.rows * chains * kept.most) as u64;
        let mut recording = Recording::default();
        recording.copy(&kept.history, &kept.staging, [0, 0], bytes);
        recording.download(&self.gpu, &[(&kept.staging, bytes)], |bytes| {
            let values: &[f32] = bytemuck::cast_slice(bytes);
            for (i, draw) in values.chunks_exact(kept.most.max(1)).enumerate() {
                let chain = i % chains;
                visit(chain, &draw[..kept.counts[chain]]);
            }
        });
        kept.rows = 0;
    }

    /// Reads a chain's current field.
    pub(super) fn read(&self, chain: usize, out: &mut [f64]) {
        fetch(&self.gpu, &self.moments, 4 * (chain * self.sites) as u64, out);
    }

    /// Writes a chain's current field, mean and sum of squared deviations.
    pub(super) fn write(&self, chain: usize, planes: [&[f64]; 3]) {
        let plane = 4 * (self.sites * self.chains) as u64;
        for (k, values) in planes.into_iter().enumerate() {
            let offset = k as u64 * plane + 4 * (chain * self.sites) as u64;
            send(&self.gpu, &self.moments, offset, values);
        }
    }

    /// Reads a chain's mean and sum of squared deviations.
    pub(super) fn moments(&self, chain: usize, mean: &mut [f64], squares: &mut [f64]) {
        let plane = 4 * (self.sites * self.chains) as u64;
        let own = 4 * (chain * self.sites) as u64;
        fetch(&self.gpu, &self.moments, plane + own, mean);
        fetch(&self.gpu, &self.moments, 2 * plane + own, squares);
    }
}

/// The weight that makes the moments start afresh, or take one more draw.
pub(super) fn weigh(motion: &mut [Motion], count: u64) {
    motion.iter_mut().for_each(|m| m.weight = (1.0 / count as f64) as f32);
}

fn report_spec(sites: usize, chains: usize) -> Spec {
    Spec {
        name: "report",
        parts: vec![wgsl!("shared/motion.wgsl").into(), wgsl!("field/report.wgsl").into()],
        constants: vec![("WG", WIDE.into()), ("SITES", sites.into()), ("CHAINS", chains.into())],
        read_only: vec![true, true, false],
    }
}

fn keep_spec(sites: usize, chains: usize, kept: usize) -> Spec {
    Spec {
        name: "keep",
        parts: vec![wgsl!("shared/motion.wgsl").into(), wgsl!("field/keep.wgsl").into()],
        constants: vec![
            ("WG", WIDE.into()),
            ("SITES", sites.into()),
            ("CHAINS", chains.into()),
            ("KEPT", kept.into()),
        ],
        read_only: vec![true, true, true, false],
    }
}

/// The stages of this file for a small problem, for tests that need no device.
#[cfg(test)]
pub(super) fn specs() -> Vec<Spec> {
    vec![report_spec(100, 2), keep_spec(100, 2, 10)]
}
