//! Multiplies a batch of vectors by a dense symmetric matrix, in slabs of rows where it is larger than one binding.

use super::params::Slab;
use super::recording::Recording;
use super::stage::{Bound, Constant, Spec, wgsl};
use super::{Gpu, WORKGROUP};
use crate::error::{Error, Result};
use std::sync::Arc;

/// A dense symmetric matrix on a GPU: Σ, or its inverse, for any covariance.
///
/// Entries and products are in f32, sums in pairs of floats, so that the error of a product is that of rounding its inputs.
pub struct DenseMatrix {
    gpu: Arc<Gpu>,
    dim: usize,
    chains: usize,
    slabs: Vec<(wgpu::Buffer, Bound)>,
    rows: usize,
    x: wgpu::Buffer,
    y: wgpu::Buffer,
    staging: wgpu::Buffer,
}

impl DenseMatrix {
    /// Room for a matrix of `dim` rows that multiplies `chains` vectors at a time.
    pub(crate) fn new(
        gpu: &Arc<Gpu>,
        dim: usize,
        chains: usize,
        rows: Option<usize>,
    ) -> Result<Self> {
        if dim == 0 || chains == 0 || rows == Some(0) {
            return Err(Error::input(
                "dense matrix",
                "at least one row, one vector and one row a slab",
                format!("{dim} rows, {chains} vectors, {rows:?} rows a slab"),
                "give it a size",
            ));
        }
        let limit = gpu.adapter().binding.min(gpu.adapter().buffer);
        let fitting = (limit / (4 * dim as u64)).max(1) as usize;
        let rows = rows.unwrap_or(dim).min(fitting).min(dim);
        let x = gpu.buffer("vectors", 4 * (dim * chains) as u64)?;
        let y = gpu.buffer("products", 8 * (dim * chains) as u64)?;
        let mut slabs = Vec::new();
        for first in (0..dim).step_by(rows) {
            let own = rows.min(dim - first);
            let slab = Slab { first: first as u32, rows: own as u32, ..Slab::default() };
            let slab = gpu.buffer_of("slab", &[slab])?;
            let entries = gpu.buffer("matrix", 4 * (own * dim) as u64)?;
            let groups = [dim.div_ceil(WORKGROUP), chains.div_ceil(lanes(chains))];
            // Entries are read once for the vectors of a workgroup; its part of the vectors by each workgroup. Products of earlier slabs are
            // read before they are written.
            let products = if first == 0 { 2 } else { 4 } * dim * chains;
            let words = own * dim * groups[1] + own * chains * groups[0] + products;
            let (spec, buffers) = (spec(dim, chains), [&slab, &entries, &x, &y]);
            let bound = Bound::new(gpu, &spec, &buffers, groups, 4 * words as u64)?;
            slabs.push((entries, bound));
        }
        let staging = gpu.staging("products", 8 * (dim * chains) as u64)?;
        Ok(Self { gpu: gpu.clone(), dim, chains, slabs, rows, x, y, staging })
    }

    /// Number of slabs the matrix is cut into.
    pub fn slabs(&self) -> usize {
        self.slabs.len()
    }

    /// Sends the entries, row after row; the matrix must be symmetric.
    pub fn set(&mut self, entries: &[f64]) -> Result<()> {
        expect("entries of the matrix", entries.len(), self.dim * self.dim)?;
        let rows = entries.chunks(self.rows * self.dim);
        for ((buffer, _), rows) in self.slabs.iter().zip(rows) {
            let rows: Vec<f32> = rows.iter().map(|&a| a as f32).collect();
            self.gpu.upload(buffer, 0, &rows);
        }
        Ok(())
    }

    /// Writes the product with each vector, vector after vector.
    pub fn multiply(&mut self, x: &[f64], out: &mut [f64]) -> Result<()> {
        expect("entries of the vectors", x.len(), self.dim * self.chains)?;
        expect("entries of the products", out.len(), x.len())?;
        let x: Vec<f32> = x.iter().map(|&x| x as f32).collect();
        self.gpu.upload(&self.x, 0, &x);
        let bytes = 8 * x.len() as u64;
        let mut recording = Recording::default();
        for (_, slab) in &self.slabs {
            recording.dispatch(slab);
        }
        recording.copy(&self.y, &self.staging, [0, 0], bytes);
        recording.download(&self.gpu, &[(&self.staging, bytes)], |bytes| {
            let sums: &[[f32; 2]] = bytemuck::cast_slice(bytes);
            for (out, sum) in out.iter_mut().zip(sums) {
                *out = f64::from(sum[0]) + f64::from(sum[1]);
            }
        });
        self.gpu.status()
    }
}

fn expect(what: &str, got: usize, want: usize) -> Result<()> {
    if got == want {
        return Ok(());
    }
    Err(Error::input(what, want.to_string(), got.to_string(), "make the sizes agree"))
}

/// Vectors that share a reading of the matrix.
fn lanes(chains: usize) -> usize {
    match chains {
        1 | 2 => chains,
        _ => 4,
    }
}

fn spec(dim: usize, chains: usize) -> Spec {
    Spec {
        name: "multiply",
        parts: vec![
            wgsl!("shared/guard.wgsl").into(),
            wgsl!("shared/two_float.wgsl").into(),
            wgsl!("dense/multiply.wgsl").into(),
        ],
        constants: vec![
            ("WG", WORKGROUP.into()),
            ("DIM", dim.into()),
            ("CHAINS", chains.into()),
            ("LANES", Constant::Fixed(lanes(chains) as u32)),
        ],
        read_only: vec![true, true, true, false],
    }
}

/// The stage for a small problem, for tests that need no device.
#[cfg(test)]
pub(super) fn specs() -> Vec<Spec> {
    [1, 2, 5].map(|chains| spec(100, chains)).into()
}
