//! Computes potentials and gradients in block coordinates, in two passes over the spectrum.
//!
//! Far from the fitted places û hardly moves any more while s goes on to fall, and there all of this must become what the prior says. In the block
//! d = (s⁻² + κ)^(−½), κ(û) being the information that the fit found, never exceeds s; the rows of U have the weights g = 1 − d²/s², the share
//! that data have in a mode; and the mean P = p + K(c − c̄) is kept below a limit l = 5 d s √κ, five times what data of that
//! information lead one to expect: it is P (1 + (P/l)⁸)^(−⅛). Elsewhere v and the band fade with the field (see [`Place`]).
//!
//! With h = u/s the prior's part of U is ½|h|² + Σ_block(log s − log d) + ½ΣE. Given the spectrum of g, y = s g + h is ∂U/∂h: for modes
//! outside the block h is what z becomes, for those in it u = s h does not depend on s. So ∂U/∂log s is h(y − h) outside the
//! block, and 1 − h² in it.

use super::band::BandState;
use super::shape::{LINEAR, Place, QUADRATIC};
use super::{Block, add};
use crate::coordinates::Chart;
use crate::coordinates::tally::Slopes;
use crate::error::Result;
use crate::numeric::{exp, inline, ln, vectorised};
use crate::structure::{
    Eigenvalues, Information, Spectral, SpectralFactor, Torus, Transform, variance,
};
use std::sync::Arc;

/// The chart of a [`Spectral`] structure in block coordinates.
pub(crate) struct BlockChart {
    block: Arc<Block>,
    factor: SpectralFactor,
    transform: Transform,
    /// Which value of the spectrum each mode of the block has.
    values: Vec<u32>,
    place: Place,
    terms: [f64; QUADRATIC],
    /// h = u/s.
    h: Vec<f64>,
    /// d ∘ z in the block, and the derivatives in it.
    scaled: Vec<f64>,
    by_scaled: Vec<f64>,
    /// c − c̄.
    excess: Vec<f64>,
    /// κ, d, u and P in the block.
    information: Vec<f64>,
    scales: Vec<f64>,
    u: Vec<f64>,
    means: Vec<f64>,
    parts: Vec<[f64; LINEAR]>,
    /// g, and l of the block.
    weights: Vec<f64>,
    limits: Vec<f64>,
    /// u − p of the block, then c − c̄; on the way back ∂U in them.
    deviations: Vec<f64>,
    band: Option<BandState>,
    slopes: Slopes,
    root: Vec<f64>,
    product: Vec<f64>,
    folded: Vec<f64>,
    edges: Vec<f64>,
}

impl BlockChart {
    pub(crate) fn new(spectral: &Spectral, block: Arc<Block>) -> Result<Self> {
        let torus = spectral.torus();
        let factor = spectral.factor(&Information::NONE)?;
        let layout = factor.layout();
        let m = block.size();
        let wide = || vec![0.0; 2 * torus.p1];
        Ok(Self {
            values: layout.values_of(&block.modes),
            transform: Transform::new(torus),
            place: Place::default(),
            terms: [0.0; QUADRATIC],
            h: vec![0.0; torus.dim()],
            scaled: vec![0.0; m],
            by_scaled: vec![0.0; m],
            excess: vec![0.0; block.coefficients.len()],
            information: vec![0.0; m],
            scales: vec![0.0; m],
            u: vec![0.0; m],
            means: vec![0.0; m],
            parts: vec![[0.0; LINEAR]; m],
            weights: vec![0.0; m],
            limits: vec![0.0; m],
            deviations: vec![0.0; m + block.coefficients.len()],
            band: block.band.as_ref().map(|band| band.state()),
            slopes: Slopes::new(layout.width()),
            root: wide(),
            product: wide(),
            folded: vec![0.0; layout.width()],
            edges: vec![0.0; torus.p1],
            factor,
            block,
        })
    }

    fn torus(&self) -> Torus {
        self.factor.torus()
    }

    /// Moves the spectrum and û to w; false outside the model.
    fn set(&mut self, w: &[f64]) -> bool {
        let table = self.factor.table().clone();
        let Some(at) = table.at(self.factor.log_range(w)) else { return false };
        let variance = variance(w);
        let positive = variance.is_finite() && self.set_rows(&at, variance);
        self.place = self.block.shape.place(w);
        self.terms = self.place.terms();
        positive && self.terms.iter().all(|t| t.is_finite())
    }

    fn set_rows(&mut self, at: &Eigenvalues<'_>, variance: f64) -> bool {
        let rows = self.torus().half2();
        vectorised(
            #[inline(always)]
            || {
                let mut positive = true;
                for k2 in 0..rows {
                    positive &= self.factor.set_row(at, variance, k2);
                }
                positive
            },
        )
    }

    /// Moves κ and d to û and s, and P to û and c; returns Σ(log s − log d) = ½Σ log(1 + κ s²).
    fn set_block(&mut self, c: &[f64]) -> f64 {
        let terms = self.terms;
        let (coefficients, information) = (&self.block.log_information, &mut self.information);
        vectorised(
            #[inline(always)]
            || {
                combine(&terms, coefficients, information);
                information.iter_mut().for_each(|k| *k = exp(*k));
            },
        );
        let mut volume = 0.0;
        for (i, &value) in self.values.iter().enumerate() {
            let s = self.factor.root[value as usize];
            let told = self.information[i] * s * s;
            let precision = 1.0 + told;
            self.scales[i] = s / precision.sqrt();
            self.weights[i] = told / precision;
            self.limits[i] = FURTHEST * s * (told / precision).sqrt();
            volume += 0.5 * ln(precision);
        }
        self.means.fill(0.0);
        combine_onto(1.0, &self.terms, &self.block.means, &mut self.means);
        let (own, others) = self.deviations.split_at_mut(self.means.len());
        own.iter_mut().zip(&self.means).for_each(|(own, mean)| *own = -mean);
        for (k, c) in c.iter().enumerate() {
            self.excess[k] = c - self.block.coefficients.mean(k, &self.terms);
            others[k] = self.excess[k];
            combine_onto(self.excess[k], &self.terms, &self.block.couplings[k], &mut self.means);
        }
        volume
    }

    /// The block: d ∘ z and the mean into u, and u/s into `h`. Returns Σ(log s − log d).
    fn forward_block(&mut self, c: &[f64], z: &[f64]) -> f64 {
        let volume = self.set_block(c);
        for (i, &mode) in self.block.modes.iter().enumerate() {
            self.scaled[i] = self.scales[i] * z[mode as usize];
        }
        let at = (&self.terms[..], &self.weights[..]);
        self.block.triangle.apply(at, &self.scaled, &mut self.u, &mut self.parts);
        for (i, &mode) in self.block.modes.iter().enumerate() {
            let s = self.factor.root[self.values[i] as usize];
            self.u[i] += limited(self.means[i], self.limits[i])[0];
            self.h[mode as usize] = self.u[i] / s;
            self.deviations[i] += self.u[i];
        }
        volume
    }

    /// Adds v(û) to row k₂ of h, scales it into the spectrum and returns Σ h².
    #[inline(always)]
    fn forward_row(&mut self, k2: usize) -> f64 {
        let torus = self.torus();
        let edge = torus.is_edge(k2);
        let range = torus.row(k2);
        let n = range.len();
        let root = &mut self.root[..n];
        self.factor.write_roots(k2, root);
        let (norm, x) = match edge {
            true => (1.0, &mut self.product[..n]),
            false => (self.transform.spectrum_norm(), self.transform.parts(k2)),
        };
        let h = &mut self.h[range.clone()];
        let [v0, v1, v2] = &self.block.drift;
        let (v0, v1, v2) = (&v0[range.clone()], &v1[range.clone()], &v2[range]);
        let fade = self.place.fade;
        let (t0, t1, t2) = (fade, fade * self.terms[1], fade * self.terms[2]);
        let (x, root) = (&mut x[..n], &root[..n]);
        for i in 0..n {
            h[i] += t0 * f64::from(v0[i]) + (t1 * f64::from(v1[i]) + t2 * f64::from(v2[i]));
            x[i] = norm * (root[i] * h[i]);
        }
        let total = inline::squared_norm(h);
        if edge {
            self.transform.load_row(k2, &self.product[..n]);
        }
        total
    }

    /// Writes y = s g + h of row k₂ into `by_z`, and adds to Σ h(y − h), to the same times S'/S and to the sums of v y.
    #[inline(always)]
    fn backward_row(&mut self, k2: usize, by_z: &mut [f64], by_drift: &mut [f64; LINEAR]) {
        let torus = self.torus();
        let edge = torus.is_edge(k2);
        let range = torus.row(k2);
        let n = range.len();
        self.factor.write_roots(k2, &mut self.root[..n]);
        let (norm, g) = match edge {
            true => {
                self.transform.store_row(k2, &mut self.edges);
                (1.0, &self.edges[..])
            }
            false => (self.transform.analysis_norm(), &*self.transform.parts(k2)),
        };
        let (g, root, h) = (&g[..n], &self.root[..n], &self.h[range.clone()]);
        let (y, product) = (&mut by_z[range.clone()], &mut self.product[..n]);
        let [v0, v1, v2] = &self.block.drift;
        let (v0, v1, v2) = (&v0[range.clone()], &v1[range.clone()], &v2[range]);
        let mut sums = [[0.0; 4]; LINEAR];
        for i in 0..n {
            let pull = root[i] * (norm * g[i]);
            product[i] = h[i] * pull;
            y[i] = pull + h[i];
        }
        let whole = n - n % 4;
        let mut first = 0;
        while first < whole {
            let own = first..first + 4;
            let (y, v0) = (&y[own.clone()], &v0[own.clone()]);
            let (v1, v2) = (&v1[own.clone()], &v2[own]);
            for lane in 0..4 {
                sums[0][lane] += f64::from(v0[lane]) * y[lane];
                sums[1][lane] += f64::from(v1[lane]) * y[lane];
                sums[2][lane] += f64::from(v2[lane]) * y[lane];
            }
            first += 4;
        }
        for i in whole..n {
            sums[0][i - whole] += f64::from(v0[i]) * y[i];
            sums[1][i - whole] += f64::from(v1[i]) * y[i];
            sums[2][i - whole] += f64::from(v2[i]) * y[i];
        }
        for (by, sums) in by_drift.iter_mut().zip(&sums) {
            *by += sums.iter().sum::<f64>();
        }
        let layout = self.factor.layout();
        layout.fold(k2, product, &mut self.folded);
        self.slopes.add_all(&self.folded, &self.factor.slope[layout.row(k2)]);
    }

    /// The block on the way back: `by_z` holds y there and gets ∂U/∂z. Returns what ∂U/∂log s of its modes lacks, and the same
    /// times S'/S.
    fn backward_block(
        &mut self,
        by_z: &mut [f64],
        by_c: &mut [f64],
        by_terms: &mut [f64; QUADRATIC],
    ) -> [f64; 2] {
        let mut missing = [0.0; 2];
        for (i, &mode) in self.block.modes.iter().enumerate() {
            let s = self.factor.root[self.values[i] as usize];
            // ∂U/∂u.
            self.u[i] = by_z[mode as usize] / s + self.deviations[i];
        }
        let block = &self.block;
        let (by_own, by_others) = self.deviations.split_at_mut(block.modes.len());
        by_own.iter_mut().for_each(|by| *by = -*by);
        combine_back(&block.means, by_own, by_terms);
        let at = (&self.terms[..], &self.weights[..]);
        block.triangle.apply_transposed(at, &self.u, &mut self.by_scaled);
        for ((parts, by_u), weight) in self.parts.iter().zip(&self.u).zip(&self.weights) {
            by_terms[1] += parts[1] * (weight * by_u);
            by_terms[2] += parts[2] * (weight * by_u);
        }
        for (i, &mode) in block.modes.iter().enumerate() {
            let (value, mode) = (self.values[i] as usize, mode as usize);
            let (y, h, d) = (by_z[mode], self.h[mode], self.scales[i]);
            let [_, by_mean, by_log_limit] = limited(self.means[i], self.limits[i]);
            let by_log_limit = self.u[i] * by_log_limit;
            let by_log_d = self.scaled[i] * self.by_scaled[i] - 1.0;
            by_z[mode] = d * self.by_scaled[i];
            // u moves with s and with κ through d, g and l, which are functions of κ s² and of s.
            let weight = self.weights[i];
            let share = 1.0 - weight;
            let by_log_weight = self.u[i] * weight * self.parts[i][0];
            let by_told = 0.5 * (share * by_log_limit - weight * by_log_d) + share * by_log_weight;
            let lack = 1.0 - h * y + by_log_d + by_log_limit + 2.0 * by_told;
            missing[0] += lack;
            missing[1] += lack * self.factor.slope[value];
            self.by_scaled[i] = by_told;
            self.means[i] = self.u[i] * by_mean;
        }
        combine_back(&block.log_information, &self.by_scaled, by_terms);
        combine_back(&block.means, &self.means, by_terms);
        for (k, by_c) in by_c.iter_mut().enumerate() {
            let mut by_coupling = [0.0; QUADRATIC];
            combine_back(&block.couplings[k], &self.means, &mut by_coupling);
            *by_c = by_coupling.iter().zip(&self.terms).map(|(by, t)| by * t).sum();
            *by_c += by_others[k];
            add(self.excess[k], &by_coupling, by_terms);
            add(-*by_c, &block.coefficients.means[k], by_terms);
        }
        missing
    }
}

/// How many times further from zero than expected a mean may be.
const FURTHEST: f64 = 5.0;

/// A mean kept below a limit, and its derivatives in the mean and in the log of the limit.
fn limited(mean: f64, limit: f64) -> [f64; 3] {
    let x = (mean / limit).powi(8);
    // Far out x overflows, and the limit is all there is.
    if !x.is_finite() {
        let end = limit * mean.signum();
        return [end, 0.0, end];
    }
    let share = 1.0 / (1.0 + x).sqrt().sqrt().sqrt();
    let kept = mean * share;
    [kept, share / (1.0 + x), kept * (x / (1.0 + x))]
}

/// out_i = Σ_j terms_j c_{j,i}, the coefficients coming term after term.
#[inline(always)]
fn combine(terms: &[f64; QUADRATIC], coefficients: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for (term, line) in terms.iter().zip(coefficients.chunks_exact(out.len().max(1))) {
        inline::axpy(*term, line, out);
    }
}

/// A factor times the same, added.
fn combine_onto(factor: f64, terms: &[f64; QUADRATIC], coefficients: &[f64], out: &mut [f64]) {
    for (term, line) in terms.iter().zip(coefficients.chunks_exact(out.len().max(1))) {
        crate::numeric::axpy(factor * *term, line, out);
    }
}

/// Adds Σ_i c_{j,i} x_i to the derivative in each term.
fn combine_back(coefficients: &[f64], x: &[f64], by_terms: &mut [f64; QUADRATIC]) {
    for (by, line) in by_terms.iter_mut().zip(coefficients.chunks_exact(x.len().max(1))) {
        *by += crate::numeric::dot(line, x);
    }
}

impl Chart for BlockChart {
    fn forward(&mut self, w: &[f64], c: &[f64], z: &[f64], sites: &mut [f64]) -> f64 {
        if !self.set(w) {
            return f64::INFINITY;
        }
        self.h.copy_from_slice(z);
        let mut volume = self.forward_block(c, z);
        if let (Some(band), Some(state)) = (&self.block.band, &mut self.band) {
            let at = (&self.terms[..], self.place.fade);
            volume += band.forward(at, &self.deviations, &mut self.h, state);
        }
        let mut squares = 0.0;
        for k2 in 0..self.torus().half2() {
            squares += vectorised(
                #[inline(always)]
                || self.forward_row(k2),
            );
        }
        self.transform.synthesise(sites);
        0.5 * squares + volume
    }

    fn backward(
        &mut self,
        _z: &[f64],
        _sites: &[f64],
        g: &[f64],
        by_z: &mut [f64],
        by_w: &mut [f64],
        by_c: &mut [f64],
    ) {
        self.transform.analyse(g);
        self.slopes.clear();
        let mut by_drift = [0.0; LINEAR];
        for k2 in 0..self.torus().half2() {
            vectorised(
                #[inline(always)]
                || self.backward_row(k2, by_z, &mut by_drift),
            );
        }
        let mut by_terms = [0.0; QUADRATIC];
        let mut by_log_fade = 0.0;
        for (term, by) in by_drift.iter().enumerate() {
            by_terms[term] += self.place.fade * by;
            by_log_fade += self.place.fade * by * self.terms[term];
        }
        match (&self.block.band, &mut self.band) {
            (Some(band), Some(state)) => {
                let by_deviations = &mut self.deviations;
                by_log_fade += band.backward(&mut by_terms, by_z, by_deviations, state);
            }
            _ => self.deviations.fill(0.0),
        }
        let missing = self.backward_block(by_z, by_c, &mut by_terms);
        let [by_sigma, by_range] = self.slopes.sums();
        by_w[0] = by_sigma + missing[0];
        by_w[1] = 0.5 * (by_range + missing[1]);
        self.place.pull_back(&by_terms, by_log_fade, by_w);
    }

    fn invert(&mut self, w: &[f64], c: &[f64], u: &[f64], z: &mut [f64]) -> bool {
        if !self.set(w) {
            return false;
        }
        // h, then z outside the block.
        for k2 in 0..self.torus().half2() {
            let range = self.torus().row(k2);
            let root = &mut self.root[..range.len()];
            self.factor.write_roots(k2, root);
            for (i, s) in range.zip(&*root) {
                let drift = self.block.drift.iter().zip(&self.terms);
                let drift = drift.map(|(v, t)| f64::from(v[i]) * t).sum::<f64>();
                z[i] = u[i] / s - self.place.fade * drift;
            }
        }
        let block = self.block.clone();
        self.set_block(c);
        for (own, &mode) in self.deviations.iter_mut().zip(&block.modes) {
            *own += u[mode as usize];
        }
        if let (Some(band), Some(state)) = (&block.band, &mut self.band) {
            band.invert((&self.terms, self.place.fade), &self.deviations, z, state);
        }
        let mut centred: Vec<f64> = block.modes.iter().map(|&mode| u[mode as usize]).collect();
        for (i, centred) in centred.iter_mut().enumerate() {
            *centred -= limited(self.means[i], self.limits[i])[0];
        }
        block.triangle.solve((&self.terms, &self.weights), &centred, &mut self.scaled);
        for (i, &mode) in block.modes.iter().enumerate() {
            z[mode as usize] = self.scaled[i] / self.scales[i];
        }
        true
    }

    fn latents(&mut self, _z: &[f64], _sites: &[f64], u: &mut [f64]) {
        for k2 in 0..self.torus().half2() {
            let range = self.torus().row(k2);
            let root = &mut self.root[..range.len()];
            self.factor.write_roots(k2, root);
            for (i, s) in range.zip(&*root) {
                u[i] = s * self.h[i];
            }
        }
    }

    fn site_gradient(&mut self, _z: &[f64], _sites: &[f64], _by_z: &[f64], g: &mut [f64]) {
        // The spectrum is still that of g.
        for k2 in 0..self.torus().half2() {
            self.transform.store_row(k2, &mut g[self.factor.torus().row(k2)]);
        }
    }
}
