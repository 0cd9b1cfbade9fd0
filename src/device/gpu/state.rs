//! Keeps the latents of all chains on the device and moves them in ways that do not depend on the prior's structure.
//!
//! Planes, each chain after chain: z, ∂U/∂z, r and the shift q in `state`; z and ∂U/∂z of the saved point in `saved`.

use super::Gpu;
use super::params::Motion;
use super::recording::Recording;
use super::requests::Plan;
use super::stage::{Bound, Spec, wgsl};
use super::{WIDE, WORKGROUP};
use crate::error::Result;
use std::sync::Arc;

/// Which plane of the state.
#[derive(Clone, Copy, Debug)]
pub(super) enum Plane {
    Z = 0,
    Gradient = 1,
    R = 2,
    Q = 3,
}

/// Latents on the device, and the stages every structure shares.
pub(super) struct State {
    pub(super) gpu: Arc<Gpu>,
    pub(super) chains: usize,
    /// Latents of the chain that has most.
    pub(super) dim: usize,
    /// Numbers between one chain's latents and the next's.
    pub(super) stride: usize,
    pub(super) motion: wgpu::Buffer,
    pub(super) state: wgpu::Buffer,
    saved: wgpu::Buffer,
    /// Running means of the latents and of the sites' gradient, in the structure's basis: two planes.
    pub(super) means: wgpu::Buffer,
    pub(super) squares: wgpu::Buffer,
    /// Workgroups that add up squares, for each chain.
    pub(super) groups: usize,
    refresh: Bound,
    advance: Bound,
    settle: Bound,
}

/// Largest number of workgroups a chain's squares are added up by: few, because each of them costs barriers.
const MOST_GROUPS: usize = 64;
/// Latents an invocation adds up at least.
const SHARE: usize = 8;

/// The largest buffer of a chain's latents: all their planes.
pub(super) fn chain_bytes(dim: usize) -> u64 {
    16 * dim.next_multiple_of(4) as u64
}

impl State {
    pub(super) fn new(gpu: &Arc<Gpu>, dim: usize, chains: usize) -> Result<Self> {
        let stride = dim.next_multiple_of(4);
        let plane = 4 * (stride * chains) as u64;
        let groups = dim.div_ceil(WORKGROUP * SHARE).clamp(1, MOST_GROUPS);
        let motion = gpu.buffer("motion of the chains", (size_of::<Motion>() * chains) as u64)?;
        let state = gpu.buffer("latents of all chains", chains as u64 * chain_bytes(dim))?;
        let saved = gpu.buffer("saved latents of all chains", 2 * plane)?;
        let means = gpu.buffer("means of the latents", 2 * plane)?;
        let squares = gpu.buffer("kinetic energies", 8 * (groups * chains) as u64)?;
        let bytes = 4 * (dim * chains) as u64;
        let spec = |name, parts: &[&'static str], read_only: &[bool]| {
            spec(name, parts, read_only, [dim, stride, chains])
        };
        let refresh = Bound::new(
            gpu,
            &spec("refresh", REFRESH, &[true, false]),
            &[&motion, &state],
            [dim.div_ceil(4 * WIDE), chains],
            bytes,
        )?;
        let advance = Bound::new(
            gpu,
            &spec("advance", ADVANCE, &[true, false, false]),
            &[&motion, &state, &squares],
            [groups, chains],
            5 * bytes,
        )?;
        let settle = Bound::new(
            gpu,
            &spec("settle", SETTLE, &[true, true, false]),
            &[&motion, &saved, &state],
            [dim.div_ceil(WIDE), chains],
            4 * bytes,
        )?;
        Ok(Self {
            gpu: gpu.clone(),
            chains,
            dim,
            stride,
            motion,
            state,
            saved,
            means,
            squares,
            groups,
            refresh,
            advance,
            settle,
        })
    }

    /// Bytes of one plane.
    pub(super) fn plane(&self) -> u64 {
        4 * (self.stride * self.chains) as u64
    }

    pub(super) fn upload_motion(&self, motion: &[Motion]) {
        self.gpu.upload(&self.motion, 0, motion);
    }

    /// The command that draws standard normal momenta.
    pub(super) fn refreshing<'a>(&'a self, recording: &mut Recording<'a>) {
        recording.dispatch(&self.refresh);
    }

    /// What it takes to move latents of unit mass and to read ½r'r of each chain.
    pub(super) fn kinetic(&self) -> Plan<'_> {
        let bytes = 8 * (self.groups * self.chains) as u64;
        Plan {
            stages: [Some(&self.advance), None, None, None, None],
            sums: [Some((&self.squares, bytes)), None],
        }
    }

    /// What the sums of that mean for a chain.
    pub(super) fn read_kinetic(&self, chain: usize, sums: &[[f32; 2]]) -> f64 {
        let own = &sums[chain * self.groups..(chain + 1) * self.groups];
        0.5 * total(own.iter())
    }

    /// Remembers z and its gradient.
    pub(super) fn save(&self) {
        let bytes = 2 * self.plane();
        Recording::default().copy(&self.state, &self.saved, [0, 0], bytes).submit(&self.gpu);
    }

    /// The command that takes rejected chains back.
    pub(super) fn settling<'a>(&'a self, recording: &mut Recording<'a>) {
        recording.dispatch(&self.settle);
    }

    /// Reads a chain's mean latents and mean gradient.
    pub(super) fn means(&self, chain: usize, x: &mut [f64], g: &mut [f64]) {
        let own = 4 * (chain * self.stride) as u64;
        fetch(&self.gpu, &self.means, own, x);
        fetch(&self.gpu, &self.means, self.plane() + own, g);
    }

    /// Writes a chain's mean latents and mean gradient.
    pub(super) fn write_means(&self, chain: usize, x: &[f64], g: &[f64]) {
        let own = 4 * (chain * self.stride) as u64;
        send(&self.gpu, &self.means, own, x);
        send(&self.gpu, &self.means, self.plane() + own, g);
    }

    /// Writes a chain's values of a plane.
    pub(super) fn write(&self, plane: Plane, chain: usize, values: &[f64]) {
        let offset = plane as u64 * self.plane() + 4 * (chain * self.stride) as u64;
        send(&self.gpu, &self.state, offset, values);
    }

    /// Reads a chain's values of a plane; NaN if the device failed. For rare use: it allocates, and waits.
    pub(super) fn read(&self, plane: Plane, chain: usize, out: &mut [f64]) {
        let offset = plane as u64 * self.plane() + 4 * (chain * self.stride) as u64;
        fetch(&self.gpu, &self.state, offset, out);
    }
}

/// Writes numbers to a buffer as f32.
pub(super) fn send(gpu: &Gpu, buffer: &wgpu::Buffer, offset: u64, values: &[f64]) {
    let values: Vec<f32> = values.iter().map(|&v| v as f32).collect();
    gpu.upload(buffer, offset, &values);
}

/// Reads f32 numbers from a buffer; NaN if the device failed. For rare use: it allocates, and waits.
pub(super) fn fetch(gpu: &Gpu, buffer: &wgpu::Buffer, offset: u64, out: &mut [f64]) {
    out.fill(f64::NAN);
    fetch_with(gpu, buffer, offset, 4 * out.len() as u64, |bytes| {
        let values: &[f32] = bytemuck::cast_slice(bytes);
        out.iter_mut().zip(values).for_each(|(o, &v)| *o = f64::from(v));
    });
}

/// Reads values as they are; zeros if the device failed. For rare use, too.
pub(super) fn fetch_all<T: bytemuck::Pod>(
    gpu: &Gpu,
    buffer: &wgpu::Buffer,
    offset: u64,
    count: usize,
) -> Vec<T> {
    let mut out = vec![T::zeroed(); count];
    let bytes = size_of_val(&out[..]) as u64;
    fetch_with(gpu, buffer, offset, bytes, |bytes| {
        out.copy_from_slice(bytemuck::cast_slice(bytes));
    });
    out
}

fn fetch_with(gpu: &Gpu, buffer: &wgpu::Buffer, offset: u64, bytes: u64, read: impl FnMut(&[u8])) {
    if bytes == 0 {
        return;
    }
    match gpu.staging("latents to read", bytes) {
        Ok(staging) => {
            let mut recording = Recording::default();
            recording.copy(buffer, &staging, [offset, 0], bytes);
            recording.download(gpu, &[(&staging, bytes)], read);
        }
        Err(crate::Error::Device(error)) => gpu.fail(error),
        Err(_) => {}
    }
}

/// The sum of two-floats in f64.
pub(super) fn total<'a>(sums: impl Iterator<Item = &'a [f32; 2]>) -> f64 {
    sums.map(|s| f64::from(s[0]) + f64::from(s[1])).sum()
}

const REFRESH: &[&str] = &[
    wgsl!("shared/guard.wgsl"),
    wgsl!("shared/elementary.wgsl"),
    wgsl!("shared/philox.wgsl"),
    wgsl!("shared/motion.wgsl"),
    wgsl!("latents/refresh.wgsl"),
];
const ADVANCE: &[&str] = &[
    wgsl!("shared/guard.wgsl"),
    wgsl!("shared/two_float.wgsl"),
    wgsl!("shared/cells.wgsl"),
    wgsl!("shared/reduce.wgsl"),
    wgsl!("shared/motion.wgsl"),
    wgsl!("latents/advance.wgsl"),
];
const SETTLE: &[&str] = &[wgsl!("shared/motion.wgsl"), wgsl!("latents/settle.wgsl")];

fn spec(
    name: &'static str,
    parts: &[&'static str],
    read_only: &[bool],
    [dim, stride, chains]: [usize; 3],
) -> Spec {
    Spec {
        name,
        parts: parts.iter().map(|&part| part.into()).collect(),
        constants: vec![
            ("WG", if name == "advance" { WORKGROUP } else { WIDE }.into()),
            ("CELLS", WORKGROUP.into()),
            ("DIM", dim.into()),
            ("SHARE", SHARE.into()),
            ("MOST_GROUPS", MOST_GROUPS.into()),
            ("STRIDE", stride.into()),
            ("CHAINS", chains.into()),
        ],
        read_only: read_only.to_vec(),
    }
}

/// The stages of this file for a small problem, for tests that need no device.
#[cfg(test)]
pub(super) fn specs() -> Vec<Spec> {
    let of = |name, parts: &[&'static str], read_only: &[bool]| {
        spec(name, parts, read_only, [100, 100, 2])
    };
    vec![
        of("refresh", REFRESH, &[true, false]),
        of("advance", ADVANCE, &[true, false, false]),
        of("settle", SETTLE, &[true, true, false]),
    ]
}
