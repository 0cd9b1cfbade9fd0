//! Takes a square real field to its half spectrum and back by realfft and rustfft, in the plain way: every row, a
//! transposition, every column.

use realfft::num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftPlanner};
use std::hint::black_box;
use std::sync::Arc;

/// Side of the blocks in which a matrix is transposed: two of 16 x 16 complex numbers fit in the fastest cache.
const BLOCK: usize = 16;

/// A field with the plans and scratch for its two transforms.
pub(crate) struct Fft2 {
    side: usize,
    there: Arc<dyn RealToComplex<f64>>,
    back: Arc<dyn ComplexToReal<f64>>,
    column: Arc<dyn Fft<f64>>,
    column_back: Arc<dyn Fft<f64>>,
    field: Vec<f64>,
    rows: Vec<Complex<f64>>,
    columns: Vec<Complex<f64>>,
    scratch: Vec<Complex<f64>>,
}

impl Fft2 {
    pub(crate) fn new(side: usize) -> Self {
        let (mut real, mut complex) = (RealFftPlanner::new(), FftPlanner::new());
        let (there, back) = (real.plan_fft_forward(side), real.plan_fft_inverse(side));
        let (column, column_back) =
            (complex.plan_fft_forward(side), complex.plan_fft_inverse(side));
        let lengths = [
            there.get_scratch_len(),
            back.get_scratch_len(),
            column.get_inplace_scratch_len(),
            column_back.get_inplace_scratch_len(),
        ];
        let zeros = |length: usize| vec![Complex::new(0.0, 0.0); length];
        Self {
            side,
            there,
            back,
            column,
            column_back,
            field: (0..side * side).map(|i| (i as f64 * 0.37).sin()).collect(),
            rows: zeros(side * (side / 2 + 1)),
            columns: zeros(side * (side / 2 + 1)),
            scratch: zeros(lengths.into_iter().max().unwrap_or(0)),
        }
    }

    /// One forward and one inverse transform. The field comes back as it was, so that it can be used again.
    pub(crate) fn there_and_back(&mut self) {
        let (side, half) = (self.side, self.side / 2 + 1);
        for (field, row) in self.field.chunks_exact_mut(side).zip(self.rows.chunks_exact_mut(half))
        {
            // The lengths are the plan's own, so this cannot fail; nor can the inverse below.
            let _ = self.there.process_with_scratch(field, row, &mut self.scratch);
        }
        transpose(&self.rows, half, &mut self.columns);
        self.column.process_with_scratch(&mut self.columns, &mut self.scratch);
        self.column_back.process_with_scratch(&mut self.columns, &mut self.scratch);
        transpose(&self.columns, side, &mut self.rows);
        let norm = 1.0 / (side * side) as f64;
        for (field, row) in self.field.chunks_exact_mut(side).zip(self.rows.chunks_exact_mut(half))
        {
            // The ends of a real row's spectrum are real; rounding has left them a little off.
            row[0].im = 0.0;
            row[half - 1].im = 0.0;
            let _ = self.back.process_with_scratch(row, field, &mut self.scratch);
            field.iter_mut().for_each(|x| *x *= norm);
        }
        black_box(&mut self.field);
    }
}

/// Writes the transpose of a matrix with rows of length `width`.
fn transpose(from: &[Complex<f64>], width: usize, to: &mut [Complex<f64>]) {
    let height = from.len() / width;
    for top in (0..height).step_by(BLOCK) {
        for left in (0..width).step_by(BLOCK) {
            for j in left..(left + BLOCK).min(width) {
                for i in top..(top + BLOCK).min(height) {
                    to[j * height + i] = from[i * width + j];
                }
            }
        }
    }
}
