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
    Factor, Information, Spectral, SpectralFactor, Torus, Transform, expand, fold,
};
use std::sync::Arc;

/// The fused chart of a [`Spectral`] structure.
pub(super) struct SpectralChart {
    factor: SpectralFactor,
    transform: Transform,
    shift: Option<Arc<Vec<f64>>>,
    /// κ Zⱼ.
    pulls: Vec<Vec<f64>>,
    /// s = q − κ Σ cⱼ Zⱼ, kept only if it is not zero.
    s: Vec<f64>,
    /// ½Σ log(1 + κλ) and its derivatives.
    volume: [f64; 3],
    rows: Rows,
}

/// Scratch for one row of the spectrum, spread over its degrees of freedom.
struct Rows {
    root: Vec<f64>,
    share: Vec<f64>,
    e: Vec<f64>,
    product: Vec<f64>,
    quarter: Vec<f64>,
}

impl SpectralChart {
    pub(super) fn new(
        spectral: &Spectral,
        columns: &[Vec<f64>],
        information: &Information,
        shift: Option<Arc<Vec<f64>>>,
    ) -> Result<Self> {
        let torus = spectral.torus();
        let pulls: Vec<_> = if information.is_none() {
            Vec::new()
        } else {
            columns.iter().map(|z| information.times(z)).collect()
        };
        let shifted = shift.is_some() || !pulls.is_empty();
        let wide = || vec![0.0; 2 * torus.p1];
        Ok(Self {
            factor: spectral.factor(information)?,
            transform: Transform::new(torus),
            s: if shifted { vec![0.0; torus.dim()] } else { Vec::new() },
            shift,
            pulls,
            volume: [0.0; 3],
            rows: Rows {
                root: wide(),
                share: wide(),
                e: wide(),
                product: wide(),
                quarter: vec![0.0; torus.half1()],
            },
        })
    }

    fn torus(&self) -> Torus {
        self.factor.torus()
    }

    fn set(&mut self, w: &[f64], c: &[f64]) -> bool {
        if !self.factor.set(w) {
            return false;
        }
        if !self.s.is_empty() {
            match &self.shift {
                Some(q) => self.s.copy_from_slice(q),
                None => self.s.fill(0.0),
            }
            for (pull, &c) in self.pulls.iter().zip(c) {
                crate::numeric::axpy(-c, pull, &mut self.s);
            }
        }
        if self.factor.kappa() > 0.0 {
            self.volume = volume(&self.factor, &mut self.rows.quarter);
        }
        true
    }

    /// Spreads T (and a where it is not one) of row k₂.
    fn spread(&mut self, k2: usize) {
        let torus = self.factor.torus();
        let (edge, width) = (torus.is_edge(k2), torus.half1());
        let quarter = k2 * width..(k2 + 1) * width;
        let length = torus.row(k2).len();
        expand(edge, &self.factor.root[quarter.clone()], &mut self.rows.root[..length]);
        if self.factor.kappa() > 0.0 {
            expand(edge, &self.factor.share[quarter], &mut self.rows.share[..length]);
        } else {
            self.rows.share[..length].fill(1.0);
        }
    }
}

/// ½Σ log(1 + κλ) over all degrees of freedom, and its derivatives in log σ and log ℓ.
fn volume(factor: &SpectralFactor, scratch: &mut [f64]) -> [f64; 3] {
    let torus = factor.torus();
    let width = torus.half1();
    let mut total = [0.0; 3];
    for k2 in 0..torus.half2() {
        let row = k2 * width..(k2 + 1) * width;
        let (share, slope) = (&factor.share[row.clone()], &factor.slope[row]);
        vectorised(
            #[inline(always)]
            || scratch.iter_mut().zip(share).for_each(|(o, &a)| *o = -ln(a)),
        );
        for k1 in 0..width {
            let weight = torus.multiplicity(k2, k1);
            let informed = weight * (1.0 - share[k1]);
            total[0] += 0.5 * weight * scratch[k1];
            total[1] += informed;
            total[2] += 0.5 * informed * slope[k1];
        }
    }
    total
}

/// e = Ts + z (s may be empty) and x = Te; returns Σ a e².
#[inline(always)]
fn scale_in(
    z: &[f64],
    s: &[f64],
    root: &[f64],
    share: &[f64],
    e: &mut [f64],
    x: &mut [f64],
) -> f64 {
    if s.is_empty() {
        e.copy_from_slice(z);
    } else {
        for (e, ((&z, &s), &t)) in e.iter_mut().zip(z.iter().zip(s).zip(root)) {
            *e = t * s + z;
        }
    }
    for (x, (&e, &t)) in x.iter_mut().zip(e.iter().zip(root)) {
        *x = t * e;
    }
    let mut sums = [0.0; 8];
    let chunks = e.chunks_exact(8).zip(share.chunks_exact(8));
    for (e, a) in chunks {
        for l in 0..8 {
            sums[l] += a[l] * e[l] * e[l];
        }
    }
    let tail = e.len() / 8 * 8;
    let rest: f64 = e[tail..].iter().zip(&share[tail..]).map(|(e, a)| a * e * e).sum();
    sums.iter().sum::<f64>() + rest
}

/// y = Tg + a e in place of g, and P = y(e + Ts) − e², where Ts = e − z.
#[inline(always)]
fn scale_out(z: &[f64], root: &[f64], share: &[f64], e: &[f64], y: &mut [f64], p: &mut [f64]) {
    for i in 0..y.len() {
        let gradient = root[i] * y[i] + share[i] * e[i];
        y[i] = gradient;
        p[i] = gradient * (2.0 * e[i] - z[i]) - e[i] * e[i];
    }
}

impl Chart for SpectralChart {
    fn forward(&mut self, w: &[f64], c: &[f64], z: &[f64], sites: &mut [f64]) -> f64 {
        if !self.set(w, c) {
            return f64::INFINITY;
        }
        let torus = self.torus();
        let mut quadratic = 0.0;
        for k2 in 0..torus.half2() {
            self.spread(k2);
            let range = torus.row(k2);
            let length = range.len();
            let s = if self.s.is_empty() { &[][..] } else { &self.s[range.clone()] };
            let Rows { root, share, e, product, .. } = &mut self.rows;
            let (root, share) = (&root[..length], &share[..length]);
            let (e, x) = (&mut e[..length], &mut product[..length]);
            quadratic += vectorised(
                #[inline(always)]
                || scale_in(&z[range], s, root, share, e, x),
            );
            self.transform.load_row(k2, x);
        }
        self.transform.synthesise(sites);
        0.5 * quadratic + self.volume[0]
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
        let torus = self.torus();
        let width = torus.half1();
        by_w[0] = self.volume[1];
        by_w[1] = self.volume[2];
        by_c.fill(0.0);
        for k2 in 0..torus.half2() {
            self.spread(k2);
            let range = torus.row(k2);
            let length = range.len();
            let s = if self.s.is_empty() { &[][..] } else { &self.s[range.clone()] };
            let (z, y) = (&z[range.clone()], &mut by_z[range.clone()]);
            self.transform.store_row(k2, y);
            let Rows { root, share, e, product, quarter } = &mut self.rows;
            let (root, share) = (&root[..length], &share[..length]);
            let (e, product) = (&mut e[..length], &mut product[..length]);
            let quarter_row = k2 * width..(k2 + 1) * width;
            let (a, slope) =
                (&self.factor.share[quarter_row.clone()], &self.factor.slope[quarter_row]);
            let edge = torus.is_edge(k2);
            let (by_sigma, by_range) = vectorised(
                #[inline(always)]
                || {
                    scale_in(z, s, root, share, e, product);
                    scale_out(z, root, share, e, y, product);
                    fold(edge, product, quarter);
                    quarter.iter_mut().zip(a).for_each(|(q, a)| *q *= a);
                    (inline::sum(quarter), inline::dot(quarter, slope))
                },
            );
            by_w[0] += by_sigma;
            by_w[1] += 0.5 * by_range;
            for (by_c, pull) in by_c.iter_mut().zip(&self.pulls) {
                let pull = &pull[range.clone()];
                *by_c -= y.iter().zip(root).zip(pull).map(|((y, t), p)| y * t * p).sum::<f64>();
            }
        }
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
