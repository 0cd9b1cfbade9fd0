//! Does the algebra of a torus field in its spectral basis, where every factor is diagonal.
//!
//! With λ = σ²S(ℓ) and a = 1/(1 + κλ), V = λa and T = √V. A relative change of λ by dlog λ changes T by
//! dT/T = ½ a dlog λ; dlog λ is 2 in log σ and S'/S in log ℓ.

use super::{Eigenvalues, Layout, SpectrumTable, Torus};
use crate::error::Result;
use crate::structure::{Factor, Information};
use std::sync::Arc;

/// Diagonal factor of V = (Σ⁻¹ + κI)⁻¹, one number for each value of the spectrum.
#[derive(Debug)]
pub struct SpectralFactor {
    torus: Torus,
    layout: Layout,
    table: Arc<SpectrumTable>,
    log_cell: f64,
    kappa: f64,
    /// S'/S.
    pub(crate) slope: Vec<f64>,
    /// T.
    pub(crate) root: Vec<f64>,
    /// a = 1/(1 + κλ).
    pub(crate) share: Vec<f64>,
    wide: Vec<f64>,
    narrow: Vec<f64>,
}

impl SpectralFactor {
    pub(super) fn new(
        torus: Torus,
        table: Arc<SpectrumTable>,
        log_cell: f64,
        information: &Information,
    ) -> Result<Self> {
        let kappa = information.scalar("a field on a grid")?;
        let layout = table.layout();
        let n = layout.len();
        Ok(Self {
            torus,
            layout,
            table,
            log_cell,
            kappa,
            slope: vec![0.0; n],
            root: vec![1.0; n],
            share: vec![1.0; n],
            wide: vec![0.0; 2 * torus.p1],
            narrow: vec![0.0; layout.width()],
        })
    }

    /// The torus it lives on.
    pub(crate) fn torus(&self) -> Torus {
        self.torus
    }

    /// Which degrees of freedom share a value of the spectrum.
    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// κ.
    pub(crate) fn kappa(&self) -> f64 {
        self.kappa
    }

    /// The table of eigenvalues.
    pub(crate) fn table(&self) -> &Arc<SpectrumTable> {
        &self.table
    }

    /// log ℓ in cells at w.
    pub(crate) fn log_range(&self, w: &[f64]) -> f64 {
        w[1] - self.log_cell
    }

    /// Moves row k₂ of the spectrum to these eigenvalues times `variance`, and tells whether all of its V
    /// are positive.
    #[inline(always)]
    pub(crate) fn set_row(&mut self, at: &Eigenvalues<'_>, variance: f64, k2: usize) -> bool {
        let (width, row) = (self.layout.width(), self.layout.row(k2));
        let slope = &mut self.slope[row.clone()];
        let root = &mut self.root[row.clone()];
        let share = &mut self.share[row];
        at.write_row(k2, root, slope);
        let information = self.kappa * variance;
        let mut degenerate = 0u64;
        for k in 0..width {
            // One division for both a = 1/(1 + κλ) and S'/S.
            let s = root[k];
            let excess = 1.0 + information * s;
            let inverse = 1.0 / (s * excess);
            let a = s * inverse;
            let v = variance * s * a;
            slope[k] *= excess * inverse;
            share[k] = a;
            root[k] = v.sqrt();
            degenerate += u64::from(v.is_nan() || v <= 0.0);
        }
        degenerate == 0
    }

    /// Spreads T over the degrees of freedom of row k₂.
    #[inline(always)]
    pub(crate) fn write_roots(&self, k2: usize, out: &mut [f64]) {
        self.layout.expand(k2, &self.root[self.layout.row(k2)], out);
    }

    /// out = v times T, or divided by it.
    fn scale(&mut self, divide: bool, v: &[f64], out: &mut [f64]) {
        for k2 in 0..self.torus.half2() {
            let range = self.torus.row(k2);
            let wide = &mut self.wide[..range.len()];
            self.layout.expand(k2, &self.root[self.layout.row(k2)], wide);
            for ((o, &x), &t) in out[range.clone()].iter_mut().zip(&v[range]).zip(&*wide) {
                *o = if divide { x / t } else { x * t };
            }
        }
    }

    /// Σ over the spectrum of multiplicity × f(index).
    fn weighted(&self, f: impl Fn(usize) -> f64) -> f64 {
        let width = self.layout.width();
        (0..self.torus.half2())
            .map(|k2| {
                (0..width)
                    .map(|k1| self.layout.multiplicity(k2, k1) * f(k2 * width + k1))
                    .sum::<f64>()
            })
            .sum()
    }
}

/// σ² at w.
pub(crate) fn variance(w: &[f64]) -> f64 {
    (2.0 * w[0]).exp()
}

impl Factor for SpectralFactor {
    fn dim(&self) -> usize {
        self.torus.dim()
    }

    fn parameters(&self) -> usize {
        2
    }

    fn set(&mut self, w: &[f64]) -> bool {
        let table = self.table.clone();
        let Some(at) = table.at(self.log_range(w)) else { return false };
        let variance = variance(w);
        let mut positive = variance.is_finite();
        for k2 in 0..self.torus.half2() {
            positive &= crate::numeric::vectorised(
                #[inline(always)]
                || self.set_row(&at, variance, k2),
            );
        }
        positive
    }

    fn log_det(&self) -> f64 {
        2.0 * self.weighted(|k| self.root[k].ln())
    }

    fn log_det_gradient(&self, out: &mut [f64]) {
        out[0] = 2.0 * self.weighted(|k| self.share[k]);
        out[1] = self.weighted(|k| self.share[k] * self.slope[k]);
    }

    fn apply(&mut self, z: &[f64], out: &mut [f64]) {
        self.scale(false, z, out);
    }

    fn apply_transposed(&mut self, y: &[f64], out: &mut [f64]) {
        self.scale(false, y, out);
    }

    fn solve(&mut self, u: &[f64], out: &mut [f64]) {
        self.scale(true, u, out);
    }

    fn solve_transposed(&mut self, r: &[f64], out: &mut [f64]) {
        self.scale(true, r, out);
    }

    fn sensitivity(&mut self, a: &[f64], z: &[f64], out: &mut [f64]) {
        let width = self.layout.width();
        let (mut by_sigma, mut by_range) = (0.0, 0.0);
        for k2 in 0..self.torus.half2() {
            let range = self.torus.row(k2);
            let wide = &mut self.wide[..range.len()];
            for ((p, x), y) in wide.iter_mut().zip(&a[range.clone()]).zip(&z[range]) {
                *p = x * y;
            }
            self.layout.fold(k2, wide, &mut self.narrow);
            for (k1, &p) in self.narrow.iter().enumerate() {
                let k = k2 * width + k1;
                let relative = p * self.root[k] * self.share[k];
                by_sigma += relative;
                by_range += 0.5 * relative * self.slope[k];
            }
        }
        out[0] = by_sigma;
        out[1] = by_range;
    }

    fn information(&self, v: &[f64], out: &mut [f64]) {
        for (o, x) in out.iter_mut().zip(v) {
            *o = self.kappa * x;
        }
    }
}
