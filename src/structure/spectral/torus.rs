//! Moves fields between a window of the torus and the orthonormal real Fourier basis.
//!
//! A window of `rows` × `columns` cells sits in a torus of P₁ × P₂ (both even). With the unitary transform
//! X_k = n^{-½} Σ x_j e^{−2πi k·j/P}, n = P₁P₂, a real field has n real degrees of freedom, kept as
//! - k₂ = 0 and k₂ = P₂/2: P₁ numbers each: X(0), X(P₁/2), then √2 Re X(k₁), √2 Im X(k₁) for 0 < k₁ < P₁/2;
//! - 0 < k₂ < P₂/2: 2P₁ numbers each: √2 Re X(k₁), √2 Im X(k₁) for all k₁.
//!
//! This basis is orthonormal, so white noise stays white noise and inner products keep their value.
//! Rows outside the window are zero going in and not wanted coming out, so their row transforms are left out.

use realfft::num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftPlanner};
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};
use std::fmt;
use std::sync::Arc;

/// Which sides a torus may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sides {
    /// With no prime factor above 5.
    #[default]
    Smooth,
    /// Powers of two from 8 up: what a GPU's transforms need. A window whose sides are powers of two gets the same torus either way.
    PowersOfTwo,
}

impl Sides {
    /// The smallest side of this kind that is at least n.
    fn smallest(self, n: usize) -> usize {
        match self {
            Sides::Smooth => friendly(n),
            Sides::PowersOfTwo => n.next_power_of_two().max(8),
        }
    }
}

/// Sizes of a window and of the torus around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torus {
    /// Rows of the window.
    pub rows: usize,
    /// Columns of the window.
    pub columns: usize,
    /// Rows of the torus, even.
    pub p1: usize,
    /// Columns of the torus, even.
    pub p2: usize,
}

impl Torus {
    /// The smallest torus at least twice as large as the window whose sides have only the factors 2, 3 and 5.
    pub fn around(rows: usize, columns: usize) -> Self {
        Self { rows, columns, p1: friendly(2 * rows), p2: friendly(2 * columns) }
    }

    /// The smallest torus at least twice as large as the window with sides of this kind.
    pub fn with_sides(rows: usize, columns: usize, sides: Sides) -> Self {
        Self { rows, columns, p1: sides.smallest(2 * rows), p2: sides.smallest(2 * columns) }
    }

    /// The smallest torus with sides of this kind that leaves a margin of this share of the window's longer side.
    pub fn with_margin(rows: usize, columns: usize, share: f64, sides: Sides) -> Self {
        let margin = (share * rows.max(columns) as f64).ceil() as usize;
        let side = |window: usize| sides.smallest(window + margin);
        Self { rows, columns, p1: side(rows), p2: side(columns) }
    }

    /// Number of latents, n.
    pub fn dim(&self) -> usize {
        self.p1 * self.p2
    }

    /// Number of cells of the window.
    pub fn sites(&self) -> usize {
        self.rows * self.columns
    }

    /// The share of the torus that the window is.
    pub fn observed(&self) -> f64 {
        self.sites() as f64 / self.dim() as f64
    }

    /// Rows of the spectrum: k₂ = 0 … P₂/2.
    pub(crate) fn half2(&self) -> usize {
        self.p2 / 2 + 1
    }

    /// Entries in a row of the quarter spectrum: k₁ = 0 … P₁/2.
    pub(crate) fn half1(&self) -> usize {
        self.p1 / 2 + 1
    }

    /// Where the real degrees of freedom of row k₂ lie in a basis vector.
    pub(crate) fn row(&self, k2: usize) -> std::ops::Range<usize> {
        if k2 == 0 {
            0..self.p1
        } else if k2 == self.p2 / 2 {
            self.dim() - self.p1..self.dim()
        } else {
            let start = self.p1 + 2 * self.p1 * (k2 - 1);
            start..start + 2 * self.p1
        }
    }

    /// Whether row k₂ is one of the two that are their own mirror image.
    pub(crate) fn is_edge(&self, k2: usize) -> bool {
        k2 == 0 || k2 == self.p2 / 2
    }
}

/// The smallest even number ≥ n with no prime factor above 5.
fn friendly(n: usize) -> usize {
    let smooth = |mut m: usize| {
        for f in [2, 3, 5] {
            while m.is_multiple_of(f) {
                m /= f;
            }
        }
        m == 1
    };
    (n.max(2)..).find(|&m| m % 2 == 0 && smooth(m)).unwrap_or(n)
}

/// Transform plans and scratch for one chain.
#[derive(Clone)]
pub(crate) struct Transform {
    torus: Torus,
    forward_row: Arc<dyn RealToComplex<f64>>,
    inverse_row: Arc<dyn ComplexToReal<f64>>,
    forward_column: Arc<dyn Fft<f64>>,
    inverse_column: Arc<dyn Fft<f64>>,
    spectrum: Vec<Complex<f64>>,
    lines: Vec<Complex<f64>>,
    line: Vec<f64>,
    scratch: Vec<Complex<f64>>,
}

impl fmt::Debug for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transform").field("torus", &self.torus).finish_non_exhaustive()
    }
}

impl Transform {
    pub(crate) fn new(torus: Torus) -> Self {
        let mut real = RealFftPlanner::new();
        let mut complex = FftPlanner::new();
        let forward_row = real.plan_fft_forward(torus.p2);
        let inverse_row = real.plan_fft_inverse(torus.p2);
        let forward_column = complex.plan_fft_forward(torus.p1);
        let inverse_column = complex.plan_fft_inverse(torus.p1);
        let scratch = [
            forward_row.get_scratch_len(),
            inverse_row.get_scratch_len(),
            forward_column.get_inplace_scratch_len(),
            inverse_column.get_inplace_scratch_len(),
        ];
        let zero = Complex::new(0.0, 0.0);
        Self {
            torus,
            forward_row,
            inverse_row,
            forward_column,
            inverse_column,
            spectrum: vec![zero; torus.half2() * torus.p1],
            lines: vec![zero; torus.half2() * LINES],
            line: vec![0.0; torus.p2],
            scratch: vec![zero; scratch.into_iter().max().unwrap_or(0)],
        }
    }

    /// The complex half spectrum, row k₂ holding all k₁: where [`Self::synthesise`] reads and [`Self::analyse`] writes.
    pub(crate) fn spectrum(&mut self) -> &mut [Complex<f64>] {
        &mut self.spectrum
    }

    /// Row k₂ of the spectrum, not an edge, as real and imaginary parts in turn: its degrees of freedom times
    /// [`Self::spectrum_norm`], or after [`Self::analyse`] over [`Self::analysis_norm`].
    pub(crate) fn parts(&mut self, k2: usize) -> &mut [f64] {
        let p1 = self.torus.p1;
        bytemuck::cast_slice_mut(&mut self.spectrum[k2 * p1..(k2 + 1) * p1])
    }

    /// What degrees of freedom away from the edges are multiplied by to become parts of the spectrum.
    pub(crate) fn spectrum_norm(&self) -> f64 {
        FRAC_1_SQRT_2 / (self.torus.dim() as f64).sqrt()
    }

    /// What parts of an analysed spectrum away from the edges are multiplied by to become degrees of freedom.
    pub(crate) fn analysis_norm(&self) -> f64 {
        SQRT_2 / (self.torus.dim() as f64).sqrt()
    }

    /// Writes basis row k₂, already scaled, into the complex spectrum (times n^{-½}, the transform's norm).
    pub(crate) fn load_row(&mut self, k2: usize, dofs: &[f64]) {
        let p1 = self.torus.p1;
        let norm = 1.0 / (self.torus.dim() as f64).sqrt();
        let edge = self.torus.is_edge(k2);
        let half = self.spectrum_norm();
        let row = &mut self.spectrum[k2 * p1..(k2 + 1) * p1];
        if edge {
            row[0] = Complex::new(dofs[0] * norm, 0.0);
            row[p1 / 2] = Complex::new(dofs[1] * norm, 0.0);
            for k1 in 1..p1 / 2 {
                let value = Complex::new(dofs[2 * k1] * half, dofs[2 * k1 + 1] * half);
                row[k1] = value;
                row[p1 - k1] = value.conj();
            }
        } else {
            for (x, pair) in row.iter_mut().zip(dofs.chunks_exact(2)) {
                *x = Complex::new(pair[0] * half, pair[1] * half);
            }
        }
    }

    /// Reads row k₂ of the complex spectrum back into the basis.
    pub(crate) fn store_row(&self, k2: usize, dofs: &mut [f64]) {
        let p1 = self.torus.p1;
        let norm = 1.0 / (self.torus.dim() as f64).sqrt();
        let row = &self.spectrum[k2 * p1..(k2 + 1) * p1];
        let twice = self.analysis_norm();
        if self.torus.is_edge(k2) {
            dofs[0] = row[0].re * norm;
            dofs[1] = row[p1 / 2].re * norm;
            for (pair, x) in dofs[2..].chunks_exact_mut(2).zip(&row[1..]) {
                pair[0] = x.re * twice;
                pair[1] = x.im * twice;
            }
        } else {
            for (pair, x) in dofs.chunks_exact_mut(2).zip(row) {
                pair[0] = x.re * twice;
                pair[1] = x.im * twice;
            }
        }
    }

    /// Spectrum → field on the window (row-major).
    pub(crate) fn synthesise(&mut self, field: &mut [f64]) {
        let Torus { rows, columns, p1, .. } = self.torus;
        let width = self.torus.half2();
        for row in self.spectrum.chunks_exact_mut(p1) {
            self.inverse_column.process_with_scratch(row, &mut self.scratch);
        }
        for first in (0..rows).step_by(LINES) {
            let count = LINES.min(rows - first);
            for (k2, row) in self.spectrum.chunks_exact(p1).enumerate() {
                for (l, &x) in row[first..first + count].iter().enumerate() {
                    self.lines[l * width + k2] = x;
                }
            }
            for l in 0..count {
                let line = &mut self.lines[l * width..(l + 1) * width];
                // The transform insists on real ends; theirs are real but for rounding.
                line[0].im = 0.0;
                line[width - 1].im = 0.0;
                let done =
                    self.inverse_row.process_with_scratch(line, &mut self.line, &mut self.scratch);
                debug_assert!(done.is_ok());
                let start = (first + l) * columns;
                field[start..start + columns].copy_from_slice(&self.line[..columns]);
            }
        }
    }

    /// Field on the window, zero outside → spectrum.
    pub(crate) fn analyse(&mut self, field: &[f64]) {
        let Torus { rows, columns, p1, .. } = self.torus;
        let width = self.torus.half2();
        for first in (0..rows).step_by(LINES) {
            let count = LINES.min(rows - first);
            for l in 0..count {
                let start = (first + l) * columns;
                self.line[..columns].copy_from_slice(&field[start..start + columns]);
                self.line[columns..].fill(0.0);
                let done = self.forward_row.process_with_scratch(
                    &mut self.line,
                    &mut self.lines[l * width..(l + 1) * width],
                    &mut self.scratch,
                );
                debug_assert!(done.is_ok());
            }
            for (k2, row) in self.spectrum.chunks_exact_mut(p1).enumerate() {
                for (l, x) in row[first..first + count].iter_mut().enumerate() {
                    *x = self.lines[l * width + k2];
                }
            }
        }
        for row in self.spectrum.chunks_exact_mut(p1) {
            row[rows..].fill(Complex::new(0.0, 0.0));
            self.forward_column.process_with_scratch(row, &mut self.scratch);
        }
    }

    /// Basis vector → field on the window.
    pub(crate) fn write_field(&mut self, basis: &[f64], field: &mut [f64]) {
        for k2 in 0..self.torus.half2() {
            self.load_row(k2, &basis[self.torus.row(k2)]);
        }
        self.synthesise(field);
    }

    /// The adjoint of [`Self::write_field`]: field on the window, zero outside → basis vector.
    pub(crate) fn write_basis(&mut self, field: &[f64], basis: &mut [f64]) {
        self.analyse(field);
        for k2 in 0..self.torus.half2() {
            self.store_row(k2, &mut basis[self.torus.row(k2)]);
        }
    }
}

/// Window rows transposed at a time: 16 complex numbers are four cache lines, so each line fetched is used whole.
const LINES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    /// Basis vector → full torus by the defining sum.
    fn naive(torus: Torus, basis: &[f64], i: usize, j: usize) -> f64 {
        let (p1, p2) = (torus.p1, torus.p2);
        let norm = 1.0 / (torus.dim() as f64).sqrt();
        let mut sum = 0.0;
        let angle = |k1: usize, k2: usize| {
            TAU * (((k1 * i) % p1) as f64 / p1 as f64 + ((k2 * j) % p2) as f64 / p2 as f64)
        };
        for k2 in 0..torus.half2() {
            let dofs = &basis[torus.row(k2)];
            if torus.is_edge(k2) {
                sum += dofs[0] * angle(0, k2).cos() + dofs[1] * angle(p1 / 2, k2).cos();
            }
            let first = if torus.is_edge(k2) { 1 } else { 0 };
            let count = if torus.is_edge(k2) { p1 / 2 } else { p1 };
            for k1 in first..count {
                let a = angle(k1, k2);
                sum += SQRT_2 * (dofs[2 * k1] * a.cos() - dofs[2 * k1 + 1] * a.sin());
            }
        }
        sum * norm
    }

    fn noise(n: usize, salt: u64) -> Vec<f64> {
        let mut s = salt;
        (0..n)
            .map(|_| {
                s = s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (s >> 11) as f64 / (1u64 << 53) as f64 - 0.5
            })
            .collect()
    }

    #[test]
    fn synthesis_is_the_defining_sum_and_analysis_its_adjoint() {
        for (rows, columns) in [(3, 3), (4, 7), (9, 2), (1, 5), (17, 20)] {
            let torus = Torus::around(rows, columns);
            let mut transform = Transform::new(torus);
            let basis = noise(torus.dim(), 1);
            let mut field = vec![f64::NAN; torus.sites()];
            transform.write_field(&basis, &mut field);
            for i in 0..rows {
                for j in 0..columns {
                    let want = naive(torus, &basis, i, j);
                    let got = field[i * columns + j];
                    assert!((got - want).abs() < 1e-13, "{rows}x{columns} ({i},{j}): {got} {want}");
                }
            }
            let other = noise(torus.sites(), 2);
            let mut back = vec![f64::NAN; torus.dim()];
            transform.write_basis(&other, &mut back);
            let left: f64 = field.iter().zip(&other).map(|(a, b)| a * b).sum();
            let right: f64 = basis.iter().zip(&back).map(|(a, b)| a * b).sum();
            assert!((left - right).abs() < 1e-12, "adjoint {left} {right}");
        }
    }

    #[test]
    fn the_basis_is_orthonormal_on_the_whole_torus() {
        let torus = Torus { rows: 6, columns: 4, p1: 6, p2: 4 };
        let mut transform = Transform::new(torus);
        let basis = noise(torus.dim(), 3);
        let mut field = vec![0.0; torus.dim()];
        let mut back = vec![0.0; torus.dim()];
        transform.write_field(&basis, &mut field);
        transform.write_basis(&field, &mut back);
        for (a, b) in basis.iter().zip(&back) {
            assert!((a - b).abs() < 1e-14);
        }
    }

    #[test]
    fn tori_are_friendly_and_twice_the_window() {
        assert_eq!(Torus::around(32, 32).p1, 64);
        assert_eq!(Torus::around(33, 49).p1, 72);
        assert_eq!(Torus::around(33, 49).p2, 100);
        assert_eq!(Torus::around(1, 1).p1, 2);
    }
}
