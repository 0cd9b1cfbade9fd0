//! Keeps draws at chosen sites on the device until there are enough of them to travel.

use super::super::recording::Recording;
use super::super::stage::{Bound, Spec, wgsl};
use super::super::{Gpu, WIDE};
use crate::draws::FieldPlan;
use crate::error::Result;

/// Bytes of draws kept on the device before they travel.
const HISTORY: usize = 4 << 20;

/// Draws at chosen sites.
pub(super) struct History {
    /// Sites of each chain, and the most of any.
    counts: Vec<usize>,
    most: usize,
    /// Draws there is room for, and those there are.
    room: usize,
    pub(super) rows: usize,
    history: wgpu::Buffer,
    staging: wgpu::Buffer,
    pub(super) keep: Bound,
}

impl History {
    pub(super) fn new(
        gpu: &Gpu,
        motion: &wgpu::Buffer,
        current: &wgpu::Buffer,
        sites: usize,
        plans: &[&FieldPlan],
    ) -> Result<Self> {
        let counts: Vec<usize> = plans.iter().map(|plan| plan.kept().len()).collect();
        let chains = plans.len();
        let most = counts.iter().copied().max().unwrap_or(0);
        let row = 4 * most * chains;
        let room = (HISTORY.min(gpu.largest() as usize) / row.max(1)).max(1);
        let padded = |plan: &&FieldPlan| -> Vec<u32> {
            let kept = plan.kept().iter().map(|&site| site as u32);
            kept.chain(std::iter::repeat(0)).take(most).collect()
        };
        let indices: Vec<u32> = plans.iter().flat_map(padded).collect();
        let chosen = gpu.buffer_of("chosen sites", &indices)?;
        let history = gpu.buffer("draws at chosen sites", (room * row) as u64)?;
        let staging = gpu.staging("draws at chosen sites", (room * row) as u64)?;
        let keep = Bound::new(
            gpu,
            &spec(sites, chains, most),
            &[motion, current, &chosen, &history],
            [most.div_ceil(WIDE), chains],
            3 * row as u64,
        )?;
        Ok(Self { counts, most, room, rows: 0, history, staging, keep })
    }

    /// Counts a kept draw; true if there is no room for another.
    pub(super) fn count(&mut self) -> bool {
        self.rows += 1;
        self.rows == self.room
    }

    /// Reads the draws, one after the other and chain after chain, and forgets them.
    pub(super) fn drain(&mut self, gpu: &Gpu, mut visit: impl FnMut(usize, &[f32])) {
        let chains = self.counts.len();
        let bytes = 4 * (self.rows * chains * self.most) as u64;
        self.rows = 0;
        if bytes == 0 {
            return;
        }
        let mut recording = Recording::default();
        recording.copy(&self.history, &self.staging, [0, 0], bytes);
        recording.download(gpu, &[(&self.staging, bytes)], |bytes| {
            let values: &[f32] = bytemuck::cast_slice(bytes);
            for (i, draw) in values.chunks_exact(self.most).enumerate() {
                let chain = i % chains;
                visit(chain, &draw[..self.counts[chain]]);
            }
        });
    }
}

pub(super) fn spec(sites: usize, chains: usize, kept: usize) -> Spec {
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
