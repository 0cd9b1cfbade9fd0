//! Computes potentials and gradients of a torus field in two passes over its spectrum.
//!
//! In the spectral basis everything is diagonal: with λ, a and T of the factor, e = Ts + z, u = Te, the prior's part of
//! U is ½Σ(a e² + log(1 + κλ)), y = ∂U/∂z = Tg + a e, and with P = y(e + Ts) − e²
//!
//!   ∂U/∂log σ = Σ a P + Σ(1 − a),   ∂U/∂log ℓ = ½Σ a P S'/S + ½Σ(1 − a) S'/S.
//!
//! One pass scales z into the inverse transform, one scales the forward transform's result out of it.

use super::Chart;
use super::tally::{SMALLEST_SHARE, Slopes, Volume};
use crate::error::Result;
use crate::numeric::{inline, vectorised};
use crate::structure::{
    Eigenvalues, Factor, Information, Spectral, SpectralFactor, Torus, Transform, variance,
};
use std::sync::Arc;

/// The fused chart of a [`Spectral`] structure.
pub(super) struct SpectralChart {
    factor: SpectralFactor,
    transform: Transform,
    shift: Option<Arc<Vec<f64>>>,
    /// κ Zⱼ, without the zeros at its end: one number for a constant.
    pulls: Vec<Vec<f64>>,
    /// s = q − κ Σ cⱼ Zⱼ, kept only if it is not zero.
    s: Vec<f64>,
    /// e = Ts + z of the last forward pass.
    e: Vec<f64>,
    volume: Volume,
    /// Σ log(1 + κλ), Σ(1 − a) and Σ(1 − a) S'/S of the last forward pass.
    volume_sums: [f64; 3],
    slopes: Slopes,
    rows: Rows,
}

/// Scratch for one row of the spectrum, spread over its degrees of freedom.
struct Rows {
    root: Vec<f64>,
    product: Vec<f64>,
    values: Vec<f64>,
    /// An edge row.
    edges: Vec<f64>,
}

impl SpectralChart {
    pub(super) fn new(
        spectral: &Spectral,
        columns: &[Vec<f64>],
        information: &Information,
        shift: Option<Arc<Vec<f64>>>,
    ) -> Result<Self> {
        let torus = spectral.torus();
        let pull = |z: &Vec<f64>| {
            let mut pull = information.times(z);
            pull.truncate(pull.iter().rposition(|&x| x != 0.0).map_or(0, |last| last + 1));
            pull
        };
        let pulls: Vec<_> =
            if information.is_none() { Vec::new() } else { columns.iter().map(pull).collect() };
        let wide = || vec![0.0; 2 * torus.p1];
        let factor = spectral.factor(information)?;
        let layout = factor.layout();
        Ok(Self {
            factor,
            transform: Transform::new(torus),
            s: match &shift {
                Some(q) => q.to_vec(),
                None if pulls.is_empty() => Vec::new(),
                None => vec![0.0; torus.dim()],
            },
            shift,
            pulls,
            e: vec![0.0; torus.dim()],
            volume: Volume::new(layout),
            volume_sums: [0.0; 3],
            slopes: Slopes::new(layout.width()),
            rows: Rows {
                root: wide(),
                product: wide(),
                values: vec![0.0; layout.width()],
                edges: vec![0.0; torus.p1],
            },
        })
    }

    fn torus(&self) -> Torus {
        self.factor.torus()
    }

    /// Moves s to the mean's coefficients c; only where a pull reaches does it change.
    fn set_shift(&mut self, c: &[f64]) {
        let reach = self.pulls.iter().map(Vec::len).max().unwrap_or(0);
        let s = &mut self.s[..reach];
        match &self.shift {
            Some(q) => s.copy_from_slice(&q[..reach]),
            None => s.fill(0.0),
        }
        for (pull, &c) in self.pulls.iter().zip(c) {
            crate::numeric::axpy(-c, pull, &mut s[..pull.len()]);
        }
    }

    fn set(&mut self, w: &[f64], c: &[f64]) -> bool {
        self.set_shift(c);
        self.factor.set(w)
    }
}

/// e = Ts + z (s may be empty) and x = norm × Te; returns Σ a e² with a = 1 − κT².
#[inline(always)]
fn scale_in(
    z: &[f64],
    s: &[f64],
    root: &[f64],
    (norm, kappa): (f64, f64),
    e: &mut [f64],
    x: &mut [f64],
) -> f64 {
    let n = z.len();
    let (root, e, x) = (&root[..n], &mut e[..n], &mut x[..n]);
    if s.is_empty() {
        e.copy_from_slice(z);
    } else {
        let s = &s[..n];
        for i in 0..n {
            e[i] = root[i] * s[i] + z[i];
        }
    }
    for i in 0..n {
        x[i] = norm * (root[i] * e[i]);
    }
    let weight = kappa / (norm * norm);
    inline::sum_of([e, x], |[e, x]| e * e - weight * (x * x))
}

/// y = T(norm × g) + a e, and P = y(e + Ts) − e², where Ts = e − z and a = 1 − κT².
#[inline(always)]
fn scale_out(
    z: &[f64],
    g: &[f64],
    root: &[f64],
    (norm, kappa): (f64, f64),
    e: &[f64],
    y: &mut [f64],
    p: &mut [f64],
) {
    let n = y.len();
    let (z, g, e, p, root) = (&z[..n], &g[..n], &e[..n], &mut p[..n], &root[..n]);
    for i in 0..n {
        let t = root[i];
        let gradient = t * (norm * g[i]) + (1.0 - kappa * (t * t)) * e[i];
        y[i] = gradient;
        p[i] = gradient * (2.0 * e[i] - z[i]) - e[i] * e[i];
    }
}

impl SpectralChart {
    /// Moves row k₂ to the eigenvalues, scales z into the spectrum there and returns whether all V are positive,
    /// and Σ a e².
    #[inline(always)]
    fn forward_row(
        &mut self,
        at: &Eigenvalues<'_>,
        variance: f64,
        k2: usize,
        z: &[f64],
    ) -> (bool, f64) {
        let torus = self.torus();
        let edge = torus.is_edge(k2);
        let range = torus.row(k2);
        let n = range.len();
        let positive = self.factor.set_row(at, variance, k2);
        if self.factor.kappa() > 0.0 {
            let row = self.factor.layout().row(k2);
            self.volume.add(k2, &self.factor.share[row.clone()], &self.factor.slope[row]);
        }
        let s = if self.s.is_empty() { &[][..] } else { &self.s[range.clone()] };
        let (z, e) = (&z[range.clone()], &mut self.e[range]);
        let Rows { root, product, .. } = &mut self.rows;
        let (root, product) = (&mut root[..n], &mut product[..n]);
        self.factor.write_roots(k2, root);
        let (norm, x) = match edge {
            true => (1.0, &mut *product),
            false => (self.transform.spectrum_norm(), self.transform.parts(k2)),
        };
        let quadratic = scale_in(z, s, root, (norm, self.factor.kappa()), e, x);
        if edge {
            self.transform.load_row(k2, product);
        }
        (positive, quadratic)
    }

    /// Scales row k₂ out of the spectrum into `by_z` and adds to Σ a P and Σ a P S'/S.
    #[inline(always)]
    fn backward_row(&mut self, k2: usize, z: &[f64], by_z: &mut [f64]) {
        let torus = self.torus();
        let edge = torus.is_edge(k2);
        let range = torus.row(k2);
        let n = range.len();
        let (z, e, y) = (&z[range.clone()], &self.e[range.clone()], &mut by_z[range]);
        let Rows { root, product, values, edges } = &mut self.rows;
        let (root, product) = (&mut root[..n], &mut product[..n]);
        self.factor.write_roots(k2, root);
        let kappa = self.factor.kappa();
        let (norm, g) = match edge {
            true => {
                self.transform.store_row(k2, edges);
                (1.0, &edges[..])
            }
            false => (self.transform.analysis_norm(), &*self.transform.parts(k2)),
        };
        scale_out(z, g, root, (norm, kappa), e, y, product);
        let layout = self.factor.layout();
        layout.fold(k2, product, values);
        let row = layout.row(k2);
        self.slopes.add(values, &self.factor.share[row.clone()], &self.factor.slope[row]);
    }

    /// The part of ∂U/∂c that comes through u: −(T y)'κZ.
    fn pull_back(&mut self, by_z: &[f64], by_c: &mut [f64]) {
        by_c.fill(0.0);
        let torus = self.torus();
        for (by_c, pull) in by_c.iter_mut().zip(&self.pulls) {
            for k2 in 0..torus.half2() {
                let range = torus.row(k2);
                let end = pull.len().min(range.end);
                if range.start >= end {
                    break;
                }
                let root = &mut self.rows.root[..range.len()];
                self.factor.write_roots(k2, root);
                let (y, pull) = (&by_z[range.start..end], &pull[range.start..end]);
                let root = &root[..y.len()];
                *by_c -= inline::sum_of([y, root, pull], |[y, t, pull]| y * t * pull);
            }
        }
    }
}

impl Chart for SpectralChart {
    fn forward(&mut self, w: &[f64], c: &[f64], z: &[f64], sites: &mut [f64]) -> f64 {
        let table = self.factor.table().clone();
        let Some(at) = table.at(self.factor.log_range(w)) else { return f64::INFINITY };
        let variance = variance(w);
        // No eigenvalue of a correlation exceeds the number of cells.
        if self.factor.kappa() * variance * self.torus().dim() as f64 > 1.0 / SMALLEST_SHARE {
            return f64::INFINITY;
        }
        self.set_shift(c);
        self.volume.clear();
        let (mut positive, mut quadratic) = (variance.is_finite(), 0.0);
        for k2 in 0..self.torus().half2() {
            let (row_positive, row_quadratic) = vectorised(
                #[inline(always)]
                || self.forward_row(&at, variance, k2, z),
            );
            positive &= row_positive;
            quadratic += row_quadratic;
        }
        if !positive {
            return f64::INFINITY;
        }
        self.transform.synthesise(sites);
        self.volume_sums = vectorised(
            #[inline(always)]
            || self.volume.sums(),
        );
        0.5 * (quadratic + self.volume_sums[0])
    }

    fn backward(
        &mut self,
        z: &[f64],
        _sites: &[f64],
        g: &[f64],
        by_z: &mut [f64],
        by_w: &mut [f64],
        by_c: &mut [f64],
    ) {
        self.transform.analyse(g);
        self.slopes.clear();
        for k2 in 0..self.torus().half2() {
            vectorised(
                #[inline(always)]
                || self.backward_row(k2, z, by_z),
            );
        }
        let [by_sigma, by_range] = self.slopes.sums();
        by_w[0] = self.volume_sums[1] + by_sigma;
        by_w[1] = 0.5 * (self.volume_sums[2] + by_range);
        self.pull_back(by_z, by_c);
    }

    fn invert(&mut self, w: &[f64], c: &[f64], u: &[f64], z: &mut [f64]) -> bool {
        if !self.set(w, c) {
            return false;
        }
        self.factor.solve(u, z);
        if !self.s.is_empty() {
            let mut shift = vec![0.0; z.len()];
            self.factor.apply(&self.s, &mut shift);
            crate::numeric::axpy(-1.0, &shift, z);
        }
        true
    }

    fn latents(&mut self, z: &[f64], _sites: &[f64], u: &mut [f64]) {
        if self.s.is_empty() {
            self.factor.apply(z, u);
        } else {
            let mut e = vec![0.0; z.len()];
            self.factor.apply(&self.s, &mut e);
            crate::numeric::axpy(1.0, z, &mut e);
            self.factor.apply(&e, u);
        }
    }

    fn site_gradient(&mut self, z: &[f64], sites: &[f64], by_z: &[f64], g: &mut [f64]) {
        // T g = y − a e, with a e = T u / λ = u T⁻¹ (1 − κV): through u, to need no more scratch than one vector.
        let mut u = vec![0.0; z.len()];
        self.latents(z, sites, &mut u);
        self.factor.solve(by_z, g);
        let kappa = self.factor.kappa();
        let mut inverse = vec![0.0; z.len()];
        self.factor.solve(&u, &mut inverse);
        self.factor.solve(&inverse.clone(), &mut inverse);
        for ((g, &u), &v) in g.iter_mut().zip(&u).zip(&inverse) {
            *g -= v - kappa * u;
        }
    }
}
