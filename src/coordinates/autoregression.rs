//! Computes potentials and gradients of an autoregression in four passes over the series.
//!
//! With (ρ, s, g) of the factor and (φ, σ, g₀) of the prior, s̃ = q − Σ cⱼKZⱼ and d_t = u_t − φu_{t−1}:
//!
//! - backwards, c_t = s̃_t + ρ c_{t+1} and e = T's̃ + z;
//! - forwards, u = T e and the prior's ½Σd²/σ²;
//! - backwards, λ_t = G_t + ρ λ_{t+1} with G = ∇ + Σ⁻¹u, which gives ∂U/∂z = T'G and what moves with T e;
//! - forwards, p = T ∂U/∂z, which gives what moves with T's̃.
//!
//! Whitened coordinates have no s̃ and Σ⁻¹u cancels, which leaves half of it.

use super::Chart;
use crate::error::Result;
use crate::structure::{Ar1, Information, Process};
use std::sync::Arc;

/// The fused chart of an [`Ar1`] structure.
pub(super) struct AutoregressionChart {
    kappa: f64,
    prior: Process,
    root: Process,
    shift: Option<Arc<Vec<f64>>>,
    pulls: Vec<Pull>,
    /// What the constant pulls take from s̃.
    level: f64,
    /// s̃ but for its level, where a pull is not constant; elsewhere that is q.
    s: Vec<f64>,
    /// e, if there is any s̃; without it e is z.
    e: Vec<f64>,
    moments: Moments,
}

/// κZⱼ.
enum Pull {
    Constant(f64),
    Values(Vec<f64>),
}

impl Pull {
    fn new(values: Vec<f64>) -> Self {
        match values.first() {
            Some(&first) if values.iter().all(|&v| v == first) => Pull::Constant(first),
            _ => Pull::Values(values),
        }
    }
}

/// Sums over the series that the potential and its derivatives need.
#[derive(Default)]
struct Moments {
    /// Σ d_t u_{t−1}.
    products: f64,
    /// Σ d².
    squares: f64,
    /// Σ e².
    innovations: f64,
}

/// Sums over a series in four parts, so that an addition need not wait for the one before it.
type Lanes = [f64; 4];

fn total(lanes: Lanes) -> f64 {
    (lanes[0] + lanes[2]) + (lanes[1] + lanes[3])
}

impl AutoregressionChart {
    pub(super) fn new(
        series: &Ar1,
        columns: &[Vec<f64>],
        information: &Information,
        shift: Option<Arc<Vec<f64>>>,
    ) -> Result<Self> {
        let n = series.dim();
        let kappa = information.scalar("an autoregression")?;
        let pulls: Vec<_> = match information.is_none() {
            true => Vec::new(),
            false => columns.iter().map(|z| Pull::new(information.times(z))).collect(),
        };
        let varies = pulls.iter().any(|pull| matches!(pull, Pull::Values(_)));
        let shifted = shift.is_some() || !pulls.is_empty();
        let room = |needed| if needed { vec![0.0; n] } else { Vec::new() };
        Ok(Self {
            kappa,
            prior: Process::at(0.0, 0.0, 0.0),
            root: Process::at(kappa, 0.0, 0.0),
            shift,
            pulls,
            level: 0.0,
            s: room(varies),
            e: room(shifted),
            moments: Moments::default(),
        })
    }

    fn set(&mut self, w: &[f64], c: &[f64]) -> bool {
        self.prior = Process::at(0.0, w[0], w[1]);
        self.root = Process::at(self.kappa, w[0], w[1]);
        self.level = 0.0;
        match &self.shift {
            Some(q) if !self.s.is_empty() => self.s.copy_from_slice(q),
            _ => self.s.fill(0.0),
        }
        for (pull, &c) in self.pulls.iter().zip(c) {
            match pull {
                Pull::Constant(value) => self.level -= c * value,
                Pull::Values(values) => crate::numeric::axpy(-c, values, &mut self.s),
            }
        }
        self.prior.usable() && self.root.usable()
    }

    /// e of the last forward pass at `z`.
    fn innovations<'a>(&'a self, z: &'a [f64]) -> &'a [f64] {
        if self.e.is_empty() { z } else { &self.e[..z.len()] }
    }

    fn whitened(&self) -> bool {
        self.kappa == 0.0
    }

    /// e = T's̃ + z.
    fn shift_latents(&mut self, z: &[f64]) {
        if self.e.is_empty() {
            return;
        }
        let (n, level) = (z.len(), self.level);
        let (root, e) = (&self.root, &mut self.e[..n]);
        match (&self.shift, &self.s[..]) {
            (_, s) if !s.is_empty() => shift_by(root, e, z, |t| s[t] + level),
            (Some(q), _) => {
                let q = &q[..n];
                shift_by(root, e, z, |t| q[t] + level);
            }
            (None, _) => shift_by(root, e, z, |_| level),
        }
    }

    /// u = T e, and the moments of both.
    fn advance(&mut self, z: &[f64], u: &mut [f64]) {
        let n = u.len();
        let e = &self.innovations(z)[..n];
        u[0] = self.root.first() * e[0];
        let (scale, phi) = (self.root.scale(), self.prior.rho());
        let (mut products, mut squares, mut norm): (Lanes, Lanes, Lanes) = Default::default();
        let mut before = u[0];
        let (rest, innovations) = (&mut u[1..], &e[1..]);
        let count = innovations.len();
        let rest = &mut rest[..count];
        self.root.scan(
            before,
            count,
            |i| scale * innovations[i],
            |i, lane, now| {
                let d = now - phi * before;
                products[lane] += d * before;
                squares[lane] += d * d;
                norm[lane] += innovations[i] * innovations[i];
                before = now;
                rest[i] = now;
            },
        );
        let innovations = total(norm) + e[0] * e[0];
        self.moments = Moments { products: total(products), squares: total(squares), innovations };
    }

    /// ∂U/∂z = T'G (plus e if whitened), and the derivatives in ρ, log s and log g of T e with G held fixed.
    fn pull_latents(&self, z: &[f64], u: &[f64], g: &[f64], by_z: &mut [f64]) -> [f64; 3] {
        let n = g.len();
        let (e, u, by_z) = (&self.innovations(z)[..n], &u[..n], &mut by_z[..n]);
        let (scale, phi) = (self.root.scale(), self.prior.rho());
        let precision = 1.0 / (self.prior.scale() * self.prior.scale());
        let whitened = self.whitened();
        let own = if whitened { 1.0 } else { 0.0 };
        // Σ⁻¹u inside the series; the ends are put right below.
        let inside = |t: usize| {
            if whitened {
                return g[t];
            }
            let (d, next) = (u[t] - phi * u[t - 1], u[t + 1] - phi * u[t]);
            g[t] + precision * (d - phi * next)
        };
        let (mut by_rho, mut by_scale): (Lanes, Lanes) = ([0.0; 4], [0.0; 4]);
        let mut adjoint = 0.0;
        if n > 1 {
            let d = u[n - 1] - phi * u[n - 2];
            adjoint = g[n - 1] + if whitened { 0.0 } else { precision * d };
            by_z[n - 1] = scale * adjoint + own * e[n - 1];
            by_rho[0] = adjoint * u[n - 2];
            by_scale[0] = adjoint * e[n - 1];
            adjoint = self.root.scan(
                adjoint,
                n - 2,
                |i| inside(n - 2 - i),
                |i, lane, lambda| {
                    let t = n - 2 - i;
                    by_z[t] = scale * lambda + own * e[t];
                    by_rho[lane] += lambda * u[t - 1];
                    by_scale[lane] += lambda * e[t];
                },
            );
        }
        let mut start = g[0];
        if !whitened {
            start += u[0] / (self.prior.first() * self.prior.first());
            if n > 1 {
                start -= precision * phi * (u[1] - phi * u[0]);
            }
        }
        let first = start + self.root.rho() * adjoint;
        by_z[0] = self.root.first() * first + own * e[0];
        [total(by_rho), scale * total(by_scale), first * u[0]]
    }

    /// The derivatives in ρ, log s and log g of s̃'T y with y = ∂U/∂z held fixed; −(T y)'κZ goes to `by_c`.
    fn pull_shift(&self, z: &[f64], y: &[f64], by_c: &mut [f64]) -> [f64; 3] {
        let n = y.len();
        let (e, z) = (&self.e[..n], &z[..n]);
        let (scale, inverse) = (self.root.scale(), 1.0 / self.root.scale());
        let (mut by_rho, mut by_scale, mut path): (Lanes, Lanes, Lanes) = Default::default();
        let mut before = self.root.first() * y[0];
        let first = (e[0] - z[0]) / self.root.first() * before;
        let at_start = before;
        self.root.scan(
            before,
            n - 1,
            |i| scale * y[i + 1],
            |i, lane, now| {
                let t = i + 1;
                let c = (e[t] - z[t]) * inverse;
                by_rho[lane] += c * before;
                by_scale[lane] += c * y[t];
                path[lane] += now;
                before = now;
            },
        );
        let path = total(path) + at_start;
        for (by_c, pull) in by_c.iter_mut().zip(&self.pulls) {
            *by_c = match pull {
                Pull::Constant(value) => -value * path,
                Pull::Values(values) => -self.through(y, values),
            };
        }
        [total(by_rho), scale * total(by_scale), first]
    }

    /// (T y)'x.
    fn through(&self, y: &[f64], x: &[f64]) -> f64 {
        let scale = self.root.scale();
        let before = self.root.first() * y[0];
        let mut sums: Lanes = [0.0; 4];
        let count = y.len() - 1;
        self.root.scan(
            before,
            count,
            |i| scale * y[i + 1],
            |i, lane, now| sums[lane] += x[i + 1] * now,
        );
        total(sums) + x[0] * before
    }
}

/// e = T's̃ + z, with s̃ as a function of time.
fn shift_by(root: &Process, e: &mut [f64], z: &[f64], s: impl Fn(usize) -> f64) {
    let n = z.len();
    let (e, scale) = (&mut e[..n], root.scale());
    let first = root.scan(
        0.0,
        n,
        |i| s(n - 1 - i),
        |i, _, c| {
            let t = n - 1 - i;
            e[t] = scale * c + z[t];
        },
    );
    e[0] = root.first() * first + z[0];
}

impl Chart for AutoregressionChart {
    fn forward(&mut self, w: &[f64], c: &[f64], z: &[f64], sites: &mut [f64]) -> f64 {
        if !self.set(w, c) {
            return f64::INFINITY;
        }
        self.shift_latents(z);
        self.advance(z, sites);
        if self.whitened() {
            return 0.5 * self.moments.innovations;
        }
        let start = sites[0] / self.prior.first();
        let scale = self.prior.scale();
        let quadratic = start * start + self.moments.squares / (scale * scale);
        let n = z.len();
        0.5 * (quadratic + self.prior.log_det(n) - self.root.log_det(n))
    }

    fn backward(
        &mut self,
        z: &[f64],
        sites: &[f64],
        g: &[f64],
        by_z: &mut [f64],
        by_w: &mut [f64],
        by_c: &mut [f64],
    ) {
        by_c.fill(0.0);
        let mut moved = self.pull_latents(z, sites, g, by_z);
        if !self.e.is_empty() {
            let shifted = self.pull_shift(z, by_z, by_c);
            moved.iter_mut().zip(shifted).for_each(|(m, s)| *m += s);
        }
        self.root.chain_rule(moved, by_w);
        if self.whitened() {
            return;
        }
        let steps = (z.len() - 1) as f64;
        // ½log|Σ| − ½log|V| and the prior's quadratic form at fixed u.
        let (start, scale) = (sites[0] / self.prior.first(), self.prior.scale());
        let Moments { products, squares, .. } = self.moments;
        let [products, squares] = [products, squares].map(|m| m / (scale * scale));
        let mut part = [0.0; 2];
        self.prior.chain_rule([-products, steps - squares, 1.0 - start * start], &mut part);
        by_w.iter_mut().zip(part).for_each(|(b, p)| *b += p);
        self.root.chain_rule([0.0, steps, 1.0], &mut part);
        by_w.iter_mut().zip(part).for_each(|(b, p)| *b -= p);
    }

    fn invert(&mut self, w: &[f64], c: &[f64], u: &[f64], z: &mut [f64]) -> bool {
        if !self.set(w, c) {
            return false;
        }
        let n = u.len();
        let (rho, inverse) = (self.root.rho(), 1.0 / self.root.scale());
        // z = T⁻¹u − T's̃, with e at z = 0 for T's̃.
        z.fill(0.0);
        self.shift_latents(z);
        for t in 1..n {
            z[t] = (u[t] - rho * u[t - 1]) * inverse;
        }
        z[0] = u[0] / self.root.first();
        z.iter_mut().zip(&self.e).for_each(|(z, e)| *z -= e);
        true
    }

    fn latents(&mut self, _z: &[f64], sites: &[f64], u: &mut [f64]) {
        u.copy_from_slice(sites);
    }

    fn site_gradient(&mut self, z: &[f64], sites: &[f64], by_z: &[f64], g: &mut [f64]) {
        // G = T'⁻¹ y by the recursion backwards, less Σ⁻¹u; whitened, y − e stands for y.
        let n = by_z.len();
        let own = if self.whitened() { 1.0 } else { 0.0 };
        let e = self.innovations(z);
        let lambda = |t: usize| {
            let scale = if t == 0 { self.root.first() } else { self.root.scale() };
            (by_z[t] - own * e[t]) / scale
        };
        for t in 0..n {
            let next = if t + 1 < n { self.root.rho() * lambda(t + 1) } else { 0.0 };
            g[t] = lambda(t) - next;
        }
        if self.whitened() {
            return;
        }
        let (phi, u) = (self.prior.rho(), sites);
        let precision = 1.0 / (self.prior.scale() * self.prior.scale());
        let d = |t: usize| u[t] - phi * u[t - 1];
        for t in 0..n {
            let now = if t == 0 {
                u[0] / (self.prior.first() * self.prior.first())
            } else {
                precision * d(t)
            };
            let next = if t + 1 < n { precision * phi * d(t + 1) } else { 0.0 };
            g[t] -= now - next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Coordinates;
    use super::super::generic::GenericChart;
    use super::*;
    use crate::structure::Structure;

    fn waves(n: usize, pace: f64) -> Vec<f64> {
        (0..n).map(|i| (pace * (i as f64 + 0.7)).sin()).collect()
    }

    /// Everything a chart computes at one point, in one list.
    fn everything(chart: &mut dyn Chart, n: usize, columns: usize) -> Vec<f64> {
        let (w, c) = ([1.3, -0.4], &[0.7, -1.1][..columns]);
        let (z, g) = (waves(n, 1.9), waves(n, 0.3));
        let mut sites = vec![0.0; n];
        let potential = chart.forward(&w, c, &z, &mut sites);
        let (mut by_z, mut by_w, mut by_c) = (vec![0.0; n], vec![0.0; 2], vec![0.0; columns]);
        chart.backward(&z, &sites, &g, &mut by_z, &mut by_w, &mut by_c);
        let (mut u, mut site_gradient, mut back) = (sites.clone(), sites.clone(), sites.clone());
        chart.latents(&z, &sites, &mut u);
        chart.site_gradient(&z, &sites, &by_z, &mut site_gradient);
        for (got, want) in site_gradient.iter().zip(&g) {
            assert!((got - want).abs() < 1e-11, "the site gradient comes back: {got} {want}");
        }
        assert!(chart.invert(&w, c, &sites, &mut back));
        for (got, want) in back.iter().zip(&z) {
            assert!((got - want).abs() < 1e-12, "z comes back: {got} {want}");
        }
        [vec![potential], sites, by_z, by_w, by_c, u].concat()
    }

    #[test]
    fn the_passes_equal_the_algebra_of_factors() {
        for n in [1, 2, 3, 5, 9, 103] {
            let columns = [vec![1.0; n], waves(n, 0.8)];
            for (kappa, shifted, count) in
                [(0.0, false, 2), (0.5, true, 0), (0.5, false, 1), (2.0, true, 1), (2.0, true, 2)]
            {
                let information = Information::Scalar(kappa);
                let shift = shifted.then(|| Arc::new(waves(n, 2.3)));
                let series = Ar1::new(n).unwrap();
                let columns = &columns[..count];
                let mut fused =
                    AutoregressionChart::new(&series, columns, &information, shift.clone())
                        .unwrap();
                let coordinates = Coordinates::Informed { information, shift };
                let structure = Structure::Ar1(series);
                let mut plain = GenericChart::new(&structure, columns, &coordinates).unwrap();
                let got = everything(&mut fused, n, count);
                let want = everything(&mut plain, n, count);
                for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                    let slack = 1e-12 * (1.0 + want.abs()) * (n as f64).sqrt();
                    assert!((got - want).abs() < slack, "{n} {kappa} {count} {i}: {got} {want}");
                }
            }
        }
    }
}
