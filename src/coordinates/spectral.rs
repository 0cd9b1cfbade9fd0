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
    /// e = Ts + z of the last forward pass.
    e: Vec<f64>,
    /// How many degrees of freedom share each value of the quarter spectrum.
    multiplicity: Vec<f64>,
    /// ½Σ log(1 + κλ) and its derivatives.
    volume: [f64; 3],
    rows: Rows,
}

/// Scratch for one row of the spectrum, spread over its degrees of freedom.
struct Rows {
    root: Vec<f64>,
    share: Vec<f64>,
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
            e: vec![0.0; torus.dim()],
            multiplicity: (0..torus.half2())
                .flat_map(|k2| (0..torus.half1()).map(move |k1| torus.multiplicity(k2, k1)))
                .collect(),
            volume: [0.0; 3],
            rows: Rows {
                root: wide(),
                share: vec![1.0; 2 * torus.p1],
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
            self.volume = volume(&self.factor, &self.multiplicity);
        }
        true
    }
}

/// ½Σ log(1 + κλ) over all degrees of freedom, and its derivatives in log σ and log ℓ.
fn volume(factor: &SpectralFactor, multiplicity: &[f64]) -> [f64; 3] {
    let n = multiplicity.len();
    let (share, slope) = (&factor.share[..n], &factor.slope[..n]);
    vectorised(
        #[inline(always)]
        || {
            [
                0.5 * inline::sum_over(n, |k| -multiplicity[k] * ln(share[k])),
                inline::sum_over(n, |k| multiplicity[k] * (1.0 - share[k])),
                0.5 * inline::sum_over(n, |k| multiplicity[k] * (1.0 - share[k]) * slope[k]),
            ]
        },
    )
}

/// Spreads T, and a where it is not one everywhere, over the degrees of freedom of a row.
#[inline(always)]
fn spread(factor: &SpectralFactor, k2: usize, root: &mut [f64], share: &mut [f64]) {
    let torus = factor.torus();
    let (edge, width) = (torus.is_edge(k2), torus.half1());
    let quarter = k2 * width..(k2 + 1) * width;
    expand(edge, &factor.root[quarter.clone()], root);
    if factor.kappa() > 0.0 {
        expand(edge, &factor.share[quarter], share);
    }
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
    let n = y.len();
    let (z, root, share, e, p) = (&z[..n], &root[..n], &share[..n], &e[..n], &mut p[..n]);
    for i in 0..n {
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
            let range = torus.row(k2);
            let length = range.len();
            let s = if self.s.is_empty() { &[][..] } else { &self.s[range.clone()] };
            let (z, e) = (&z[range.clone()], &mut self.e[range]);
            let Rows { root, share, product, .. } = &mut self.rows;
            let (root, share) = (&mut root[..length], &mut share[..length]);
            let x = &mut product[..length];
            let factor = &self.factor;
            quadratic += vectorised(
                #[inline(always)]
                || {
                    spread(factor, k2, root, share);
                    scale_in(z, s, root, share, e, x)
                },
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
            let range = torus.row(k2);
            let length = range.len();
            let (z, e) = (&z[range.clone()], &self.e[range.clone()]);
            let y = &mut by_z[range.clone()];
            self.transform.store_row(k2, y);
            let Rows { root, share, product, quarter } = &mut self.rows;
            let (root, share) = (&mut root[..length], &mut share[..length]);
            let product = &mut product[..length];
            let factor = &self.factor;
            let row = k2 * width..(k2 + 1) * width;
            let (a, slope) = (&factor.share[row.clone()], &factor.slope[row]);
            let (by_sigma, by_range) = vectorised(
                #[inline(always)]
                || {
                    spread(factor, k2, root, share);
                    scale_out(z, root, share, e, y, product);
                    fold(torus.is_edge(k2), product, quarter);
                    quarter.iter_mut().zip(a).for_each(|(q, a)| *q *= a);
                    (inline::sum(quarter), inline::dot(quarter, slope))
                },
            );
            by_w[0] += by_sigma;
            by_w[1] += 0.5 * by_range;
            for (by_c, pull) in by_c.iter_mut().zip(&self.pulls) {
                let pull = &pull[range.clone()];
                *by_c -= inline::sum_over(length, |i| y[i] * root[i] * pull[i]);
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
