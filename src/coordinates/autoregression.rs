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
    /// κZⱼ.
    pulls: Vec<Vec<f64>>,
    /// s̃, if there is any.
    s: Vec<f64>,
    e: Vec<f64>,
    u: Vec<f64>,
    /// Σ d_t u_{t−1} and Σ d² of the prior.
    moments: [f64; 2],
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
        let pulls: Vec<_> = if information.is_none() {
            Vec::new()
        } else {
            columns.iter().map(|z| information.times(z)).collect()
        };
        let shifted = shift.is_some() || !pulls.is_empty();
        Ok(Self {
            kappa,
            prior: Process::at(0.0, 0.0, 0.0),
            root: Process::at(kappa, 0.0, 0.0),
            shift,
            pulls,
            s: if shifted { vec![0.0; n] } else { Vec::new() },
            e: vec![0.0; n],
            u: vec![0.0; n],
            moments: [0.0; 2],
        })
    }

    fn set(&mut self, w: &[f64], c: &[f64]) -> bool {
        self.prior = Process::at(0.0, w[0], w[1]);
        self.root = Process::at(self.kappa, w[0], w[1]);
        if !self.s.is_empty() {
            match (&self.shift, &self.pulls[..]) {
                (Some(q), []) => self.s.copy_from_slice(q),
                (Some(q), [pull, ..]) => {
                    for ((s, q), pull) in self.s.iter_mut().zip(&q[..]).zip(pull) {
                        *s = q - c[0] * pull;
                    }
                }
                (None, _) => self.s.fill(0.0),
            }
            let done = usize::from(self.shift.is_some());
            for (pull, &c) in self.pulls.iter().zip(c).skip(done) {
                crate::numeric::axpy(-c, pull, &mut self.s);
            }
        }
        self.prior.usable() && self.root.usable()
    }

    fn whitened(&self) -> bool {
        self.kappa == 0.0
    }

    /// e = T's̃ + z.
    fn shift_latents(&mut self, z: &[f64]) {
        if self.s.is_empty() {
            self.e.copy_from_slice(z);
            return;
        }
        let n = z.len();
        let (s, e, scale) = (&self.s[..n], &mut self.e[..n], self.root.scale());
        let first = self.root.scan(
            0.0,
            n,
            |i| s[n - 1 - i],
            |i, _, c| {
                let t = n - 1 - i;
                e[t] = scale * c + z[t];
            },
        );
        e[0] = self.root.first() * first + z[0];
    }

    /// u = T e, to the sites too, and the prior's moments of u.
    fn advance(&mut self, sites: &mut [f64]) {
        let n = sites.len();
        let (e, u) = (&self.e[..n], &mut self.u[..n]);
        u[0] = self.root.first() * e[0];
        sites[0] = u[0];
        let (scale, phi) = (self.root.scale(), self.prior.rho());
        let (mut products, mut squares): (Lanes, Lanes) = ([0.0; 4], [0.0; 4]);
        let mut before = u[0];
        let (rest, field, innovations) = (&mut u[1..], &mut sites[1..], &e[1..]);
        let count = innovations.len();
        let (rest, field) = (&mut rest[..count], &mut field[..count]);
        self.root.scan(
            before,
            count,
            |i| scale * innovations[i],
            |i, lane, now| {
                let d = now - phi * before;
                products[lane] += d * before;
                squares[lane] += d * d;
                before = now;
                rest[i] = now;
                field[i] = now;
            },
        );
        self.moments = [total(products), total(squares)];
    }

    /// ∂U/∂z = T'G (plus e if whitened), and the derivatives in ρ, log s and log g of T e with G held fixed.
    fn pull_latents(&self, g: &[f64], by_z: &mut [f64]) -> [f64; 3] {
        let n = g.len();
        let (e, u, by_z) = (&self.e[..n], &self.u[..n], &mut by_z[..n]);
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
        let (pull, others) = match &self.pulls[..] {
            [] => (&[][..], &[][..]),
            [pull, others @ ..] => (&pull[..n], others),
        };
        let (mut by_rho, mut by_scale, mut through): (Lanes, Lanes, Lanes) = Default::default();
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
                if !pull.is_empty() {
                    through[lane] += pull[t] * now;
                }
                before = now;
            },
        );
        if let Some(by_c) = by_c.first_mut().filter(|_| !pull.is_empty()) {
            *by_c = -(total(through) + pull[0] * at_start);
        }
        for (by_c, pull) in by_c.iter_mut().skip(1).zip(others) {
            *by_c = -self.through(y, pull);
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

impl Chart for AutoregressionChart {
    fn forward(&mut self, w: &[f64], c: &[f64], z: &[f64], sites: &mut [f64]) -> f64 {
        if !self.set(w, c) {
            return f64::INFINITY;
        }
        self.shift_latents(z);
        self.advance(sites);
        if self.whitened() {
            return 0.5 * crate::numeric::squared_norm(&self.e);
        }
        let start = self.u[0] / self.prior.first();
        let scale = self.prior.scale();
        let quadratic = start * start + self.moments[1] / (scale * scale);
        let n = self.e.len();
        0.5 * (quadratic + self.prior.log_det(n) - self.root.log_det(n))
    }

    fn backward(
        &mut self,
        z: &[f64],
        g: &[f64],
        by_z: &mut [f64],
        by_w: &mut [f64],
        by_c: &mut [f64],
    ) {
        by_c.fill(0.0);
        let mut moved = self.pull_latents(g, by_z);
        if !self.s.is_empty() {
            let shifted = self.pull_shift(z, by_z, by_c);
            moved.iter_mut().zip(shifted).for_each(|(m, s)| *m += s);
        }
        self.root.chain_rule(moved, by_w);
        if self.whitened() {
            return;
        }
        let n = self.e.len();
        let steps = (n - 1) as f64;
        // ½log|Σ| − ½log|V| and the prior's quadratic form at fixed u.
        let (start, scale) = (self.u[0] / self.prior.first(), self.prior.scale());
        let [products, squares] = self.moments.map(|m| m / (scale * scale));
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
            z[t] = (u[t] - rho * u[t - 1]) * inverse - self.e[t];
        }
        z[0] = u[0] / self.root.first() - self.e[0];
        true
    }

    fn latents(&mut self, _z: &[f64], u: &mut [f64]) {
        u.copy_from_slice(&self.u);
    }

    fn site_gradient(&mut self, _z: &[f64], by_z: &[f64], g: &mut [f64]) {
        // G = T'⁻¹ y by the recursion backwards, less Σ⁻¹u; whitened, y − e stands for y.
        let n = by_z.len();
        let own = if self.whitened() { 1.0 } else { 0.0 };
        let lambda = |t: usize| {
            let scale = if t == 0 { self.root.first() } else { self.root.scale() };
            (by_z[t] - own * self.e[t]) / scale
        };
        for t in 0..n {
            let next = if t + 1 < n { self.root.rho() * lambda(t + 1) } else { 0.0 };
            g[t] = lambda(t) - next;
        }
        if self.whitened() {
            return;
        }
        let (phi, u) = (self.prior.rho(), &self.u);
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
        chart.backward(&z, &g, &mut by_z, &mut by_w, &mut by_c);
        let (mut u, mut site_gradient, mut back) = (sites.clone(), sites.clone(), sites.clone());
        chart.latents(&z, &mut u);
        chart.site_gradient(&z, &by_z, &mut site_gradient);
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
