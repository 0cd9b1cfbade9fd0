//! Approximates the posterior of a field and the coefficients of its mean by a Gaussian, at given hyperparameters.
//!
//! The approximation is the one whose mean f and information W agree with each other: W and the score are averaged over the
//! spread that the field has at each site, S⁻¹f = D'E[score]. Where data are many this is Laplace's approximation. The spread is that of
//! a field with as much information everywhere as at the site: v = mean of S_k/(1 + S_k W).

use super::modes::{Spectrum, Wave};
use crate::likelihood::Curvature;
use crate::model::{Column, Model};
use crate::numeric::{axpy, dot};
use crate::structure::{Factor, Information, Spectral, Torus, Transform};
use nalgebra::{Cholesky, DMatrix, DMatrixView, DVector, Dyn};

/// Nodes and weights of a Gauss–Hermite rule for the average over a standard normal.
const NODES: [(f64, f64); 5] = [
    (0.0, 0.533_333_333_333_333_3),
    (1.355_626_179_974_266, 0.222_075_922_005_612_64),
    (-1.355_626_179_974_266, 0.222_075_922_005_612_64),
    (2.856_970_013_872_806, 0.011_257_411_327_720_691),
    (-2.856_970_013_872_806, 0.011_257_411_327_720_691),
];
/// Places at which v(W) is tabulated, in powers of e.
const TABULATED: usize = 49;
/// Newton steps at the most, and the change of the predictor that ends them.
const STEPS: usize = 12;
const SETTLED: f64 = 0.02;
/// The largest change of the predictor in one step.
const LONGEST: f64 = 3.0;
/// Conjugate gradients stop at this relative residual, or after so many products.
const RESIDUAL: f64 = 1e-3;
const PRODUCTS: usize = 200;

/// A Gaussian approximation: the mean of latents and coefficients, and the information at the sites.
#[derive(Clone, Debug)]
pub(crate) struct Fitted {
    pub(crate) f: Vec<f64>,
    pub(crate) c: Vec<f64>,
    pub(crate) information: Vec<f64>,
}

/// What the approximations of one model share. Cheap to clone for another thread.
#[derive(Clone)]
pub(crate) struct Surrogate<'a> {
    model: &'a Model,
    spectral: &'a Spectral,
    transform: Transform,
    /// Prior mean and standard deviation of each coefficient.
    pub(crate) coefficients: Vec<(f64, f64)>,
    /// Working values of the likelihood's own hyperparameters, where the model starts: any are valid.
    own: Vec<f64>,
    eta: Vec<f64>,
    sites: Vec<f64>,
    basis: Vec<f64>,
}

impl<'a> Surrogate<'a> {
    /// None if the model is not one of a field on a grid whose sites are seen one by one.
    pub(crate) fn new(model: &'a Model, spectral: &'a Spectral) -> Option<Self> {
        let eta = model.start_predictor();
        let own = model.own(&model.start());
        let Curvature::Sites(_) = model.likelihood().curvature(&eta, &own) else { return None };
        let torus = spectral.torus();
        Some(Self {
            coefficients: model.mean().iter().map(|term| gaussian(model, term)).collect(),
            transform: Transform::new(torus),
            sites: vec![0.0; torus.sites()],
            basis: vec![0.0; torus.dim()],
            own,
            eta,
            model,
            spectral,
        })
    }

    pub(crate) fn torus(&self) -> Torus {
        self.spectral.torus()
    }

    /// Prior standard deviations of the latents at w; none outside the model.
    pub(crate) fn deviations(&self, w: &[f64]) -> Option<Vec<f64>> {
        let mut factor = self.spectral.factor(&Information::NONE).ok()?;
        if !factor.set(w) {
            return None;
        }
        let torus = self.torus();
        let mut out = vec![0.0; torus.dim()];
        for k2 in 0..torus.half2() {
            factor.write_roots(k2, &mut out[torus.row(k2)]);
        }
        Some(out)
    }

    /// Where a fit begins: no field, and coefficients as their priors have them, but a constant as the data have it.
    pub(crate) fn start(&self) -> Fitted {
        let phi = self.model.start();
        Fitted {
            f: vec![0.0; self.torus().dim()],
            c: self.model.coefficients(&phi),
            information: self.curvature(&self.eta),
        }
    }

    fn curvature(&self, eta: &[f64]) -> Vec<f64> {
        match self.model.likelihood().curvature(eta, &self.own) {
            Curvature::Sites(sites) => sites,
            Curvature::Blocks(_) => vec![0.0; eta.len()],
        }
    }

    /// D f + Z c at the sites, without the offset.
    fn at_sites(&mut self, f: &[f64], c: &[f64], out: &mut [f64]) {
        self.transform.write_field(f, out);
        for (term, &c) in self.model.mean().iter().zip(c) {
            match &term.column {
                Column::Constant => out.iter_mut().for_each(|o| *o += c),
                Column::Values(values) => axpy(c, values, out),
            }
        }
    }

    /// D'v and Z'v.
    fn gather(&mut self, v: &[f64], f: &mut [f64], c: &mut [f64]) {
        self.transform.write_basis(v, f);
        for (term, c) in self.model.mean().iter().zip(c) {
            *c = match &term.column {
                Column::Constant => v.iter().sum(),
                Column::Values(values) => dot(values, v),
            };
        }
    }

    /// The predictor of a fit.
    fn predictor(&mut self, fitted: &Fitted) -> Vec<f64> {
        let mut eta = vec![0.0; self.torus().sites()];
        self.at_sites(&fitted.f, &fitted.c, &mut eta);
        eta.iter_mut().for_each(|e| *e += self.model.offset());
        eta
    }

    /// −E[score] and information at the sites, averaged over the spread around a predictor.
    fn averaged(&mut self, eta: &[f64], spread: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let n = eta.len();
        let (mut g, mut information) = (vec![0.0; n], vec![0.0; n]);
        for (node, weight) in NODES {
            for ((moved, &eta), &v) in self.eta.iter_mut().zip(eta).zip(spread) {
                *moved = eta + node * v.sqrt();
            }
            let by_own = &mut vec![0.0; self.own.len()];
            self.model.likelihood().evaluate(&self.eta, &self.own, &mut self.sites, by_own);
            axpy(weight, &self.sites, &mut g);
            axpy(weight, &self.curvature(&self.eta), &mut information);
        }
        (g, information)
    }

    /// Finds the approximation at prior deviations `s`, from another one. `block` are modes for which systems are solved exactly, which
    /// is where they are stiff; if `within` is given, only those and the coefficients move.
    pub(crate) fn fit(&mut self, s: &[f64], from: &Fitted, block: &[u32], within: bool) -> Fitted {
        let variances = Spread::new(s);
        let mut fitted = from.clone();
        for _ in 0..STEPS {
            let eta = self.predictor(&fitted);
            let spread: Vec<f64> = fitted.information.iter().map(|&w| variances.at(w)).collect();
            let (g, information) = self.averaged(&eta, &spread);
            if !information.iter().chain(&g).all(|w| w.is_finite()) {
                return from.clone();
            }
            fitted.information = information;
            let change = self.newton_step(s, &g, &mut fitted, block, within);
            if change < SETTLED {
                break;
            }
        }
        fitted
    }

    /// Moves a fit by one Newton step; returns the largest change of the predictor.
    fn newton_step(
        &mut self,
        s: &[f64],
        g: &[f64],
        fitted: &mut Fitted,
        block: &[u32],
        within: bool,
    ) -> f64 {
        let deviations: Vec<f64> = self.coefficients.iter().map(|c| c.1).collect();
        let scale = Scale { s, c: &deviations };
        let n = s.len();
        let mut right = vec![0.0; n + deviations.len()];
        let (by_f, by_c) = right.split_at_mut(n);
        self.gather(g, by_f, by_c);
        for i in 0..n {
            by_f[i] = -s[i] * by_f[i] - fitted.f[i] / s[i];
        }
        for (k, by_c) in by_c.iter_mut().enumerate() {
            let (mean, sd) = self.coefficients[k];
            *by_c = -sd * *by_c - (fitted.c[k] - mean) / sd;
        }
        let exact = self.exact(&scale, &fitted.information, block);
        let Some(exact) = exact else { return 0.0 };
        let mut step = if within {
            let mut step = vec![0.0; right.len()];
            exact.solve_block(&right, &mut step);
            step
        } else {
            self.solve(&scale, &fitted.information, &exact, &right)
        };
        scale.apply(&mut step);
        let (by_f, by_c) = step.split_at(n);
        let mut change = vec![0.0; self.torus().sites()];
        self.at_sites(by_f, by_c, &mut change);
        let largest = change.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        let damping = (LONGEST / largest).min(1.0);
        axpy(damping, by_f, &mut fitted.f);
        axpy(damping, by_c, &mut fitted.c);
        largest
    }

    /// Prior standard deviations of a block's modes and of the coefficients, in that order.
    pub(crate) fn scales(&self, s: &[f64], block: &[u32]) -> Vec<f64> {
        let coefficients = self.coefficients.iter().map(|c| c.1);
        block.iter().map(|&mode| s[mode as usize]).chain(coefficients).collect()
    }

    /// The information between the block's modes and the coefficients, in that order.
    pub(crate) fn information(&mut self, sites: &[f64], block: &[u32]) -> DMatrix<f64> {
        let torus = self.torus();
        let waves: Vec<Wave> = block.iter().map(|&mode| Wave::at(torus, mode as usize)).collect();
        let spectrum = Spectrum::new(&mut self.transform, torus, sites);
        let own = spectrum.matrix(&waves);
        let (m, count) = (block.len(), self.coefficients.len());
        let mut all = own.resize(m + count, m + count, 0.0);
        for k in 0..count {
            let mut weighted = sites.to_vec();
            if let Column::Values(values) = &self.model.mean()[k].column {
                weighted.iter_mut().zip(values).for_each(|(w, z)| *w *= z);
            }
            let (mut f, mut c) = (std::mem::take(&mut self.basis), vec![0.0; count]);
            self.gather(&weighted, &mut f, &mut c);
            for (i, &mode) in block.iter().enumerate() {
                all[(m + k, i)] = f[mode as usize];
                all[(i, m + k)] = f[mode as usize];
            }
            for (j, &c) in c.iter().enumerate() {
                all[(m + k, m + j)] = c;
            }
            self.basis = f;
        }
        all
    }

    /// I + s W s on the block, factored, and its diagonal elsewhere.
    fn exact(&mut self, scale: &Scale<'_>, sites: &[f64], block: &[u32]) -> Option<Exact> {
        let matrix =
            scaled_information(&self.information(sites, block), &self.scales(scale.s, block));
        let density = sites.iter().sum::<f64>() / self.torus().dim() as f64;
        let diagonal = scale.s.iter().map(|s| 1.0 / (1.0 + s * s * density)).collect();
        Some(Exact { block: block.to_vec(), factor: matrix.cholesky()?, diagonal })
    }

    /// out = (I + s D'W D s) x.
    fn product(&mut self, scale: &Scale<'_>, sites: &[f64], x: &[f64], out: &mut [f64]) {
        let n = scale.s.len();
        let mut scaled = x.to_vec();
        scale.apply(&mut scaled);
        let mut field = vec![0.0; sites.len()];
        self.at_sites(&scaled[..n], &scaled[n..], &mut field);
        field.iter_mut().zip(sites).for_each(|(f, w)| *f *= w);
        let (by_f, by_c) = out.split_at_mut(n);
        self.gather(&field, by_f, by_c);
        scale.apply(out);
        axpy(1.0, x, out);
    }

    /// Solves (I + s D'W D s) x = right by conjugate gradients.
    fn solve(
        &mut self,
        scale: &Scale<'_>,
        sites: &[f64],
        exact: &Exact,
        right: &[f64],
    ) -> Vec<f64> {
        let n = right.len();
        let (mut x, mut rest) = (vec![0.0; n], right.to_vec());
        let (mut near, mut curved) = (vec![0.0; n], vec![0.0; n]);
        exact.solve(&rest, &mut near);
        let mut search = near.clone();
        let mut size = dot(&rest, &near);
        let enough = RESIDUAL * RESIDUAL * size;
        for _ in 0..PRODUCTS {
            if size.is_nan() || size <= enough {
                break;
            }
            self.product(scale, sites, &search, &mut curved);
            let step = size / dot(&search, &curved);
            axpy(step, &search, &mut x);
            axpy(-step, &curved, &mut rest);
            exact.solve(&rest, &mut near);
            let next = dot(&rest, &near);
            let turn = next / size;
            search.iter_mut().zip(&near).for_each(|(s, r)| *s = r + turn * *s);
            size = next;
        }
        x
    }

    /// What data say of a direction x of some modes, scaled by s: D'W D s x of all latents, left in `basis`, and Z'W D s x of the coefficients.
    fn respond(&mut self, s: &[f64], sites: &[f64], modes: &[u32], x: &[f64], by_c: &mut [f64]) {
        let mut basis = std::mem::take(&mut self.basis);
        basis.fill(0.0);
        for (&mode, x) in modes.iter().zip(x) {
            basis[mode as usize] = s[mode as usize] * x;
        }
        let mut field = std::mem::take(&mut self.sites);
        self.transform.write_field(&basis, &mut field);
        field.iter_mut().zip(sites).for_each(|(f, w)| *f *= w);
        self.gather(&field, &mut basis, by_c);
        (self.basis, self.sites) = (basis, field);
    }

    /// out = s W s x on some modes, for directions in which data say much.
    pub(crate) fn pull(
        &mut self,
        s: &[f64],
        sites: &[f64],
        modes: &[u32],
        x: &[f64],
        out: &mut [f64],
    ) {
        self.respond(s, sites, modes, x, &mut vec![0.0; self.coefficients.len()]);
        for (&mode, out) in modes.iter().zip(out) {
            *out = s[mode as usize] * self.basis[mode as usize];
        }
    }

    /// s W s between directions of some modes, one after the other, and each of: the modes of a block and the coefficients, in that order; the directions
    /// themselves.
    pub(crate) fn between(
        &mut self,
        s: &[f64],
        sites: &[f64],
        (modes, directions): (&[u32], &[f64]),
        block: &[u32],
    ) -> (DMatrix<f64>, DMatrix<f64>) {
        let (m, count) = (block.len(), self.coefficients.len());
        let each = modes.len().max(1);
        let r = directions.len() / each;
        let mut by_block = DMatrix::zeros(r, m + count);
        let mut images = DMatrix::zeros(each, r);
        let mut by_c = vec![0.0; count];
        for (i, x) in directions.chunks_exact(each).enumerate() {
            self.respond(s, sites, modes, x, &mut by_c);
            for (k, &mode) in block.iter().enumerate() {
                by_block[(i, k)] = s[mode as usize] * self.basis[mode as usize];
            }
            for (k, &c) in by_c.iter().enumerate() {
                by_block[(i, m + k)] = self.coefficients[k].1 * c;
            }
            for (image, &mode) in images.column_mut(i).iter_mut().zip(modes) {
                *image = s[mode as usize] * self.basis[mode as usize];
            }
        }
        let directions = DMatrixView::from_slice(directions, each, r);
        (by_block, directions.tr_mul(&images))
    }
}

/// I + s W s.
pub(crate) fn scaled_information(information: &DMatrix<f64>, s: &[f64]) -> DMatrix<f64> {
    DMatrix::from_fn(s.len(), s.len(), |i, j| {
        s[i] * information[(i, j)] * s[j] + if i == j { 1.0 } else { 0.0 }
    })
}

/// The prior mean and standard deviation of a coefficient, by the curvature of its log density where it starts.
fn gaussian(model: &Model, term: &crate::model::MeanTerm) -> (f64, f64) {
    let one = &model.hyperparameters()[term.hyperparameter];
    let phi = one.start();
    let h = 1e-3;
    let slope = |phi: f64| one.log_prior(phi).1;
    let curvature = (slope(phi - h) - slope(phi + h)) / (2.0 * h);
    let (w, dw) = one.working(phi);
    // An improper or flat prior: wide.
    let sd = if curvature > 1e-4 { dw.abs() / curvature.sqrt() } else { 100.0 * dw.abs() };
    (term.scale * w, (term.scale * sd).abs())
}

/// Standard deviations of latents and coefficients.
struct Scale<'s> {
    s: &'s [f64],
    c: &'s [f64],
}

impl Scale<'_> {
    fn apply(&self, x: &mut [f64]) {
        x.iter_mut().zip(self.s.iter().chain(self.c)).for_each(|(x, s)| *x *= s);
    }
}

/// An approximate inverse: exact between the modes of a block and the coefficients.
struct Exact {
    block: Vec<u32>,
    factor: Cholesky<f64, Dyn>,
    diagonal: Vec<f64>,
}

impl Exact {
    fn solve(&self, x: &[f64], out: &mut [f64]) {
        for ((out, x), d) in out.iter_mut().zip(x).zip(&self.diagonal) {
            *out = x * d;
        }
        self.solve_block(x, out);
    }

    /// The block's entries alone.
    fn solve_block(&self, x: &[f64], out: &mut [f64]) {
        let n = self.diagonal.len();
        let (m, count) = (self.block.len(), x.len() - n);
        let mut own = DVector::from_fn(m + count, |i, _| {
            if i < m { x[self.block[i] as usize] } else { x[n + i - m] }
        });
        self.factor.solve_mut(&mut own);
        for (i, &mode) in self.block.iter().enumerate() {
            out[mode as usize] = own[i];
        }
        out[n..].copy_from_slice(&own.as_slice()[m..]);
    }
}

/// The variance that a field keeps where information is W, tabulated.
struct Spread {
    first: f64,
    values: Vec<f64>,
}

impl Spread {
    fn new(s: &[f64]) -> Self {
        let n = s.len() as f64;
        let variance = s.iter().map(|s| s * s).sum::<f64>() / n;
        let largest = s.iter().fold(0.0f64, |most, &s| most.max(s * s));
        // From where no mode feels information to where it is all there is.
        let (first, last) = ((1e-3 / largest).ln(), (1e4 / variance).ln());
        let step = (last - first) / (TABULATED - 1) as f64;
        let mut values: Vec<f64> = (0..TABULATED)
            .map(|i| {
                let w = (first + step * i as f64).exp();
                s.iter().map(|s| s * s / (1.0 + s * s * w)).sum::<f64>() / n
            })
            .collect();
        values.push(step);
        Self { first, values }
    }

    fn at(&self, w: f64) -> f64 {
        let step = self.values[TABULATED];
        let position = ((w.ln() - self.first) / step).clamp(0.0, (TABULATED - 1) as f64 - 1e-9);
        let i = position as usize;
        let t = position - i as f64;
        (1.0 - t) * self.values[i] + t * self.values[i + 1]
    }
}
