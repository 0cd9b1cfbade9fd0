//! Tabulates the eigenvalues of a stationary correlation on a torus as smooth functions of log ℓ.
//!
//! The eigenvalues S_k(ℓ) of the circulant correlation matrix are the transform of its first row. One transform at
//! every hyperparameter step would double the cost of a gradient, so log ℓ is cut into panels of width 0.2 (0.04 for the
//! Gaussian) and on each panel S_k is its polynomial through 8 Chebyshev nodes. S_k(log ℓ) is analytic with its nearest
//! singularity π/2 off the real axis, so the interpolation error is small: 1e-10 relative or less as measured, and 1e-8 for
//! the Gaussian, which has no singularity but falls steeply. The interpolant, not
//! the kernel, is what is sampled: value and derivative belong to the same polynomial. A panel is built when it is first
//! visited and then shared by all chains.

use super::images::Images;
use super::kernel::Correlation;
use super::layout::Layout;
use super::spde;
use super::torus::{Torus, Transform};
use nalgebra::{SMatrix, SVector};
use std::f64::consts::PI;
use std::sync::OnceLock;

/// Polynomial coefficients kept per eigenvalue and panel.
pub(crate) const NODES: usize = 8;
/// Below this many cells the correlation of neighbours is under 1e-20 and the field is white noise for f64.
const SHORTEST: f64 = 0.02;

/// How the planar kernel is put on a torus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Embedding {
    /// The kernel of the shortest distance around the torus: exact in the window, but its eigenvalues can be negative
    /// for long ranges, so it is used only where they were checked to be positive.
    Exact,
    /// The sum over all images, scaled to variance one: positive for every range, and within a stated bound of the
    /// planar kernel in the window.
    Periodised,
}

/// Where a range lies in a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Place {
    /// So short that every eigenvalue is one.
    White,
    /// At t, between −1 and 1, of a panel; the panel is 2 × [`SpectrumTable::half_width`] wide in log ℓ.
    Panel {
        /// The panel.
        index: usize,
        /// The place in it.
        t: f64,
    },
}

/// Eigenvalues of the correlation matrix, for any range.
#[derive(Debug)]
pub struct SpectrumTable {
    torus: Torus,
    layout: Layout,
    correlation: Correlation,
    embedding: Embedding,
    longest: f64,
    panels: Vec<OnceLock<Vec<f64>>>,
}

impl SpectrumTable {
    /// A table for ranges (in cells) up to `longest`.
    pub(crate) fn new(
        torus: Torus,
        correlation: impl Into<Correlation>,
        embedding: Embedding,
        longest: f64,
    ) -> Self {
        let correlation = correlation.into();
        let kernel = correlation.kernel;
        let width = (longest / SHORTEST).ln();
        let count = (width / (2.0 * kernel.half_width())).ceil().max(1.0) as usize;
        let panels = (0..count).map(|_| OnceLock::new()).collect();
        let layout = Layout::new(torus, correlation.anisotropy.is_aligned());
        Self { torus, layout, correlation, embedding, longest, panels }
    }

    /// Which degrees of freedom share an eigenvalue.
    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// Half the width of a panel in log ℓ.
    pub(crate) fn half_width(&self) -> f64 {
        self.correlation.kernel.half_width()
    }

    /// The longest range, in cells, the table reaches.
    pub fn longest(&self) -> f64 {
        self.longest
    }

    /// The correlation function.
    pub fn correlation(&self) -> Correlation {
        self.correlation
    }

    /// How the kernel was put on the torus.
    pub fn embedding(&self) -> Embedding {
        self.embedding
    }

    /// Number of panels built so far.
    pub fn panels_built(&self) -> usize {
        self.panels.iter().filter(|p| p.get().is_some()).count()
    }

    /// The eigenvalues at one range, to be read row by row; none if ℓ is longer than the table reaches.
    pub(crate) fn at(&self, log_range: f64) -> Option<Eigenvalues<'_>> {
        let steepness = 1.0 / self.half_width();
        Some(match self.locate(log_range)? {
            Place::White => Eigenvalues { t: 0.0, steepness, panel: None },
            Place::Panel { index, t } => {
                Eigenvalues { t, steepness, panel: Some(self.panel(index)) }
            }
        })
    }

    /// Where a range lies in the table; none if it is longer than the table reaches.
    pub(crate) fn locate(&self, log_range: f64) -> Option<Place> {
        if !log_range.is_finite() || log_range > self.longest.ln() {
            return None;
        }
        let position = (log_range - SHORTEST.ln()) / (2.0 * self.half_width());
        if position < 0.0 {
            return Some(Place::White);
        }
        let index = (position as usize).min(self.panels.len() - 1);
        Some(Place::Panel { index, t: 2.0 * (position - index as f64) - 1.0 })
    }

    /// A panel's coefficients: for each row k₂ of the spectrum [`NODES`] lines, powers of t from 0 up.
    pub(crate) fn panel(&self, index: usize) -> &[f64] {
        self.panels[index].get_or_init(|| self.build(index))
    }

    /// Number of panels, built or not.
    pub(crate) fn panels(&self) -> usize {
        self.panels.len()
    }

    /// S and its first two derivatives in log ℓ, from the same polynomials; none if ℓ is longer than
    /// the table reaches. Not meant for inner loops.
    pub(crate) fn derivatives(&self, log_range: f64) -> Option<[Vec<f64>; 3]> {
        let (n, width) = (self.layout.len(), self.layout.width());
        let [mut s, mut first, mut second] = [vec![0.0; n], vec![0.0; n], vec![0.0; n]];
        let at = self.at(log_range)?;
        for k2 in 0..self.torus.half2() {
            let row = self.layout.row(k2);
            at.write_row(k2, &mut s[row.clone()], &mut first[row]);
        }
        let Some(Place::Panel { index, t }) = self.locate(log_range) else {
            return Some([s, first, second]);
        };
        let panel = self.panel(index);
        for (k, second) in second.iter_mut().enumerate() {
            let block = &panel[k / width * NODES * width..];
            let term = |j: usize| {
                (j * (j - 1)) as f64 * block[j * width + k % width] * t.powi(j as i32 - 2)
            };
            *second = (2..NODES).map(term).sum::<f64>() / self.half_width().powi(2);
        }
        Some([s, first, second])
    }

    /// Fits the polynomials of one panel.
    fn build(&self, index: usize) -> Vec<f64> {
        let half_width = self.half_width();
        let middle = SHORTEST.ln() + (2 * index + 1) as f64 * half_width;
        let nodes =
            SVector::<f64, NODES>::from_fn(|i, _| (PI * (i as f64 + 0.5) / NODES as f64).cos());
        let vandermonde = SMatrix::<f64, NODES, NODES>::from_fn(|i, j| nodes[i].powi(j as i32));
        let to_coefficients = vandermonde.try_inverse().unwrap_or_else(SMatrix::zeros);
        let width = self.layout.width();
        let mut panel = vec![0.0; NODES * self.layout.len()];
        for (i, &node) in nodes.iter().enumerate() {
            let s = self.eigenvalues((middle + half_width * node).exp());
            for (block, row) in panel.chunks_exact_mut(NODES * width).zip(s.chunks_exact(width)) {
                for (j, line) in block.chunks_exact_mut(width).enumerate() {
                    let weight = to_coefficients[(j, i)];
                    line.iter_mut().zip(row).for_each(|(c, v)| *c += weight * v);
                }
            }
        }
        panel
    }

    /// Eigenvalues at one range: the slow way, for building and for tests.
    pub(crate) fn eigenvalues(&self, range: f64) -> Vec<f64> {
        if self.correlation.kernel.has_density() {
            let metric = self.correlation.anisotropy.metric();
            return spde::eigenvalues(self.torus, self.layout, metric, 2.0 / (range * range));
        }
        self.transformed(range)
    }

    /// Eigenvalues by a transform of the correlation.
    pub(super) fn transformed(&self, range: f64) -> Vec<f64> {
        let Torus { p1, p2, .. } = self.torus;
        let whole = Torus { rows: p1, columns: p2, p1, p2 };
        let correlation = self.correlations(range);
        let mut transform = Transform::new(whole);
        transform.analyse(&correlation);
        let spectrum = transform.spectrum();
        let width = self.layout.width();
        spectrum.chunks_exact(p1).flat_map(|row| row[..width].iter().map(|x| x.re)).collect()
    }

    /// The correlation with cell (0, 0) on the whole torus.
    fn correlations(&self, range: f64) -> Vec<f64> {
        let Torus { p1, p2, .. } = self.torus;
        let images = self.images();
        let quarter = images.quarter(range);
        // Lags that run down instead of up, where that makes a difference.
        let down = (!self.layout.is_quarter()).then(|| images.mirrored().quarter(range));
        let scale = (1.0 - self.correlation.kernel.nugget()) / quarter[0];
        let mut full = vec![0.0; p1 * p2];
        for i in 0..p1 {
            for j in 0..p2 {
                let (a, b) = (i.min(p1 - i), j.min(p2 - j));
                let lag = b * self.torus.half1() + a;
                full[i * p2 + j] = scale
                    * match &down {
                        None => quarter[lag],
                        // Half way round both are as near.
                        Some(down) if 2 * i == p1 || 2 * j == p2 => {
                            0.5 * (quarter[lag] + down[lag])
                        }
                        Some(down) if (2 * i < p1) != (2 * j < p2) => down[lag],
                        Some(_) => quarter[lag],
                    };
            }
        }
        full[0] = 1.0;
        full
    }

    fn images(&self) -> Images {
        Images::new(self.torus, self.correlation, self.embedding == Embedding::Periodised)
    }

    /// The largest difference between the embedded and the planar correlation at any two cells of the window.
    pub fn window_error(&self, range: f64) -> f64 {
        if self.embedding == Embedding::Exact {
            return 0.0;
        }
        let Torus { rows, columns, .. } = self.torus;
        let images = self.images();
        let kernel = self.correlation.kernel;
        let metric = self.correlation.anisotropy.metric();
        let variance = images.at_lag(0.0, 0.0, range);
        // The difference is a sum over far images, smooth on the scale of the window: its edges and the origin bound it.
        let lags = (0..rows).map(|i| (i, columns - 1)).chain((0..columns).map(|j| (rows - 1, j)));
        let lags = lags.chain([(0, 0), (rows / 2, columns / 2), (0, columns / 2), (rows / 2, 0)]);
        let signs = if self.layout.is_quarter() { &[1.0][..] } else { &[1.0, -1.0] };
        let error = lags
            .flat_map(|(i, j)| signs.iter().map(move |sign| (sign * i as f64, j as f64)))
            .map(|(i, j)| {
                let planar = kernel.correlation(metric.distance(j, i) / range);
                (images.at_lag(i, j, range) / variance - planar).abs()
            })
            .fold(0.0, f64::max);
        (1.0 - kernel.nugget()) * error
    }
}

/// The eigenvalues at one range.
#[derive(Clone, Copy)]
pub(crate) struct Eigenvalues<'a> {
    t: f64,
    /// One over half the width of a panel.
    steepness: f64,
    /// Coefficients of the panel's polynomials; none for white noise.
    panel: Option<&'a [f64]>,
}

impl Eigenvalues<'_> {
    /// Writes S and ∂S/∂(log ℓ) of row k₂ of the spectrum.
    #[inline(always)]
    pub(crate) fn write_row(&self, k2: usize, s: &mut [f64], ds: &mut [f64]) {
        match self.panel {
            None => {
                s.fill(1.0);
                ds.fill(0.0);
            }
            Some(panel) => {
                let block = NODES * s.len();
                horner((self.t, self.steepness), &panel[k2 * block..(k2 + 1) * block], s, ds);
            }
        }
    }
}

/// Value and derivative (in log ℓ) of a row of polynomials by Horner's rule.
#[inline(always)]
fn horner((t, steepness): (f64, f64), coefficients: &[f64], s: &mut [f64], ds: &mut [f64]) {
    let width = s.len();
    let c: [&[f64]; NODES] = std::array::from_fn(|j| &coefficients[j * width..(j + 1) * width]);
    for k in 0..width {
        let mut value = c[NODES - 1][k];
        let mut slope = 0.0;
        for j in (0..NODES - 1).rev() {
            slope = slope * t + value;
            value = value * t + c[j][k];
        }
        s[k] = value;
        ds[k] = slope * steepness;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::structure::spectral::{Anisotropy, Kernel};

    /// Every kernel, the same in all directions, along an axis, and slanting.
    fn cases() -> impl Iterator<Item = Correlation> {
        let directions = [(0.0, 1.0), (90.0, 2.0), (35.0, 3.0)];
        directions.into_iter().flat_map(|(angle, ratio)| {
            let anisotropy = Anisotropy::new(angle, ratio).unwrap();
            Kernel::ALL.map(|kernel| Correlation { kernel, anisotropy })
        })
    }

    #[test]
    fn the_table_gives_the_eigenvalues_and_their_slope() {
        let torus = Torus::around(9, 14);
        for case in cases() {
            let table = SpectrumTable::new(torus, case, Embedding::Periodised, 40.0);
            let (n, width) = (table.layout().len(), table.layout().width());
            // What is interpolated, relative to the value: the Gaussian falls steeply to its nugget.
            let accuracy = if case.kernel == Kernel::Gaussian { 1e-7 } else { 1e-9 };
            let (mut s, mut ds) = (vec![f64::NAN; n], vec![f64::NAN; n]);
            for range in [0.03, 0.4, 1.0, 3.3, 17.0, 39.0f64] {
                let rows = s.chunks_exact_mut(width).zip(ds.chunks_exact_mut(width));
                let at = table.at(range.ln()).unwrap();
                rows.enumerate().for_each(|(k2, (s, ds))| at.write_row(k2, s, ds));
                let h = 1e-4;
                let (want, up, down) = (
                    table.eigenvalues(range),
                    table.eigenvalues(range * f64::exp(h)),
                    table.eigenvalues(range * f64::exp(-h)),
                );
                for k in 0..n {
                    // The interpolation, and the rounding of a transform of numbers that add up to the largest eigenvalue.
                    let slack = accuracy * want[k] + 1e-14 * n as f64 * want[0].max(1.0);
                    assert!(
                        (s[k] - want[k]).abs() < slack,
                        "{case:?} {range} {k}: {} {}",
                        s[k],
                        want[k]
                    );
                    let slope = (up[k] - down[k]) / (2.0 * h);
                    let slack = 1e-6 * (want[k] + slope.abs()) + slack / h;
                    assert!(
                        (ds[k] - slope).abs() < slack,
                        "{case:?} {range} {k}: {} {slope}",
                        ds[k]
                    );
                }
            }
            assert!(table.at(41f64.ln()).is_none(), "past the end");
            assert!(table.at(f64::NAN).is_none());
        }
    }

    #[test]
    fn periodised_eigenvalues_are_positive_where_the_exact_embedding_fails() {
        let torus = Torus::around(16, 16);
        for case in cases() {
            let least = |v: Vec<f64>| v.into_iter().fold(f64::INFINITY, f64::min);
            let exact = SpectrumTable::new(torus, case, Embedding::Exact, 64.0);
            let fails = least(exact.eigenvalues(8.0)) < 0.0;
            assert_eq!(fails, !case.kernel.has_density(), "{case:?} at half the window");
            let periodised = SpectrumTable::new(torus, case, Embedding::Periodised, 64.0);
            for range in [0.1, 1.0, 8.0, 30.0] {
                let least = least(periodised.eigenvalues(range));
                let nugget = case.kernel.nugget();
                assert!(least > 0.999 * nugget, "{case:?} {range}: {least}");
            }
        }
    }

    #[test]
    fn the_window_error_bounds_every_pair_of_cells() {
        let torus = Torus::around(8, 12);
        for case in cases() {
            let Correlation { kernel, anisotropy } = case;
            let metric = anisotropy.metric();
            let table = SpectrumTable::new(torus, case, Embedding::Periodised, 64.0);
            for range in [0.5, 2.0, 6.0] {
                let full = table.correlations(range);
                let mut worst = (full[0] - 1.0).abs();
                for (i, j) in (0..8).flat_map(|i| (0..12).map(move |j| (i, j))).skip(1) {
                    for down in [false, true] {
                        let (y, row) = if down {
                            (-(i as f64), (torus.p1 - i) % torus.p1)
                        } else {
                            (i as f64, i)
                        };
                        let planar = kernel.correlation(metric.distance(j as f64, y) / range);
                        let planar = (1.0 - kernel.nugget()) * planar;
                        worst = worst.max((full[row * torus.p2 + j] - planar).abs());
                    }
                }
                let bound = table.window_error(range);
                assert!(
                    worst <= bound * (1.0 + 1e-12) + 1e-14,
                    "{case:?} {range}: {worst} > {bound}"
                );
            }
        }
    }
}
