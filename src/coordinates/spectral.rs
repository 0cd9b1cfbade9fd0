//! Computes potentials and gradients of a torus field in two passes over its spectrum.
//!
//! In the spectral basis everything is diagonal: with λ, a and T of the factor, e = Ts + z, u = Te, the prior's part of
//! U is ½Σ(a e² + log(1 + κλ)), y = ∂U/∂z = Tg + a e, and with P = y(e + Ts) − e²
//!
//!   ∂U/∂log σ = Σ a P + Σ(1 − a),   ∂U/∂log ℓ = ½Σ a P S'/S + ½Σ(1 − a) S'/S.
//!
//! One pass scales z into the inverse transform, one scales the forward transform's result out of it.

use super::Chart;
use crate::error::Result;
use crate::numeric::{inline, ln, vectorised};
use crate::structure::{
    Eigenvalues, Factor, Information, Layout, Spectral, SpectralFactor, Torus, Transform, variance,
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
    /// ½Σ log(1 + κλ) and its derivatives.
    volume: [f64; 3],
    rows: Rows,
}

/// Scratch for one row of the spectrum, spread over its degrees of freedom.
struct Rows {
    root: Vec<f64>,
    share: Vec<f64>,
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
        let values = factor.layout().width();
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
            volume: [0.0; 3],
            rows: Rows {
                root: wide(),
                share: vec![1.0; 2 * torus.p1],
                product: wide(),
                values: vec![0.0; values],
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

/// Σ log(1 + κλ), Σ(1 − a) and Σ(1 − a) S'/S over the degrees of freedom of row k₂ of the spectrum.
#[inline(always)]
fn volume(layout: Layout, k2: usize, share: &[f64], slope: &[f64]) -> [f64; 3] {
    // The ends of a folded row count half as often as what lies between; otherwise there are none.
    let (inner, ends) = match layout.is_folded(k2) {
        true => (1..layout.last(), Some([0, layout.last()])),
        false => (0..share.len(), None),
    };
    let weight = layout.multiplicity(k2, 0);
    // Logarithms are dear: one for every four factors, none of which exceeds one.
    let (start, fours) = (inner.start, inner.len() / 4);
    let [p, q, r, t] = std::array::from_fn(|i| &share[start + i * fours..start + (i + 1) * fours]);
    let rest = start + 4 * fours..inner.end;
    let logs = inline::sum_of([p, q, r, t], |[p, q, r, t]| ln(p * q * r * t))
        + rest.map(|k| ln(share[k])).sum::<f64>();
    let (a, d) = (&share[inner.clone()], &slope[inner]);
    let sums =
        [-logs, inline::sum_of([a], |[a]| 1.0 - a), inline::sum_of([a, d], |[a, d]| (1.0 - a) * d)];
    let Some(ends) = ends else { return sums.map(|sum| weight * sum) };
    let at_ends = [
        ends.map(|k| -ln(share[k])),
        ends.map(|k| 1.0 - share[k]),
        ends.map(|k| (1.0 - share[k]) * slope[k]),
    ];
    std::array::from_fn(|i| weight * (2.0 * sums[i] + at_ends[i][0] + at_ends[i][1]))
}

/// Spreads T, and a where it is not one everywhere, over the degrees of freedom of a row.
#[inline(always)]
fn spread(factor: &SpectralFactor, k2: usize, root: &mut [f64], share: &mut [f64]) {
    let layout = factor.layout();
    let row = layout.row(k2);
    layout.expand(k2, &factor.root[row.clone()], root);
    if factor.kappa() > 0.0 {
        layout.expand(k2, &factor.share[row], share);
    }
}

/// e = Ts + z (s may be empty) and x = norm × Te; returns Σ a e².
#[inline(always)]
fn scale_in(
    z: &[f64],
    s: &[f64],
    (root, share): (&[f64], &[f64]),
    norm: f64,
    e: &mut [f64],
    x: &mut [f64],
) -> f64 {
    let n = z.len();
    let (root, share, e, x) = (&root[..n], &share[..n], &mut e[..n], &mut x[..n]);
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
    inline::sum_of([share, e], |[a, e]| a * e * e)
}

/// y = T(norm × g) + a e, and P = y(e + Ts) − e², where Ts = e − z.
#[inline(always)]
fn scale_out(
    z: &[f64],
    g: &[f64],
    (root, share): (&[f64], &[f64]),
    norm: f64,
    e: &[f64],
    y: &mut [f64],
    p: &mut [f64],
) {
    let n = y.len();
    let (z, g, e, p) = (&z[..n], &g[..n], &e[..n], &mut p[..n]);
    let (root, share) = (&root[..n], &share[..n]);
    for i in 0..n {
        let gradient = root[i] * (norm * g[i]) + share[i] * e[i];
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
            let layout = self.factor.layout();
            let row = layout.row(k2);
            let sums = volume(layout, k2, &self.factor.share[row.clone()], &self.factor.slope[row]);
            self.volume.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
        }
        let s = if self.s.is_empty() { &[][..] } else { &self.s[range.clone()] };
        let (z, e) = (&z[range.clone()], &mut self.e[range]);
        let Rows { root, share, product, .. } = &mut self.rows;
        let (root, share) = (&mut root[..n], &mut share[..n]);
        spread(&self.factor, k2, root, share);
        let quadratic = if edge {
            let quadratic = scale_in(z, s, (root, share), 1.0, e, &mut product[..n]);
            self.transform.load_row(k2, &product[..n]);
            quadratic
        } else {
            let norm = self.transform.spectrum_norm();
            scale_in(z, s, (root, share), norm, e, self.transform.parts(k2))
        };
        (positive, quadratic)
    }

    /// Scales row k₂ out of the spectrum into `by_z` and returns Σ a P and Σ a P S'/S.
    #[inline(always)]
    fn backward_row(&mut self, k2: usize, z: &[f64], by_z: &mut [f64]) -> (f64, f64) {
        let torus = self.torus();
        let edge = torus.is_edge(k2);
        let range = torus.row(k2);
        let n = range.len();
        let (z, e, y) = (&z[range.clone()], &self.e[range.clone()], &mut by_z[range]);
        let Rows { root, share, product, values, edges } = &mut self.rows;
        let (root, share, product) = (&mut root[..n], &mut share[..n], &mut product[..n]);
        spread(&self.factor, k2, root, share);
        if edge {
            self.transform.store_row(k2, edges);
            scale_out(z, edges, (root, share), 1.0, e, y, product);
        } else {
            let norm = self.transform.analysis_norm();
            scale_out(z, self.transform.parts(k2), (root, share), norm, e, y, product);
        }
        let layout = self.factor.layout();
        layout.fold(k2, product, values);
        let row = layout.row(k2);
        let (a, slope) = (&self.factor.share[row.clone()], &self.factor.slope[row]);
        values.iter_mut().zip(a).for_each(|(v, a)| *v *= a);
        (inline::sum(values), inline::dot(values, slope))
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
                let layout = self.factor.layout();
                layout.expand(k2, &self.factor.root[layout.row(k2)], root);
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
        self.set_shift(c);
        self.volume = [0.0; 3];
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
        0.5 * (quadratic + self.volume[0])
    }

    fn backward(
        &mut self,
        z: &[f64],
        g: &[f64],
        by_z: &mut [f64],
        by_w: &mut [f64],
        by_c: &mut [f64],
    ) {
        self.transform.analyse(g);
        by_w[0] = self.volume[1];
        by_w[1] = 0.5 * self.volume[2];
        for k2 in 0..self.torus().half2() {
            let (by_sigma, by_range) = vectorised(
                #[inline(always)]
                || self.backward_row(k2, z, by_z),
            );
            by_w[0] += by_sigma;
            by_w[1] += 0.5 * by_range;
        }
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

    fn latents(&mut self, z: &[f64], u: &mut [f64]) {
        if self.s.is_empty() {
            self.factor.apply(z, u);
        } else {
            let mut e = vec![0.0; z.len()];
            self.factor.apply(&self.s, &mut e);
            crate::numeric::axpy(1.0, z, &mut e);
            self.factor.apply(&e, u);
        }
    }

    fn site_gradient(&mut self, z: &[f64], by_z: &[f64], g: &mut [f64]) {
        // T g = y − a e, with a e = T u / λ = u T⁻¹ (1 − κV): through u, to need no more scratch than one vector.
        let mut u = vec![0.0; z.len()];
        self.latents(z, &mut u);
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
