//! Sums a kernel over the images of the torus: what periodising it means.
//!
//! A range as long as the torus has thousands of images within reach. Seen from the quarter of lags 0 … P/2 those beyond the
//! nearest are far away and their sum is smooth: it is computed at a few Chebyshev nodes and interpolated, to 5e-14 of the
//! sum. Only the nearest images, nine on a square torus, are added lag by lag.

use super::anisotropy::Metric;
use super::kernel::{Correlation, Kernel};
use super::torus::Torus;
use crate::numeric::vectorised;
use std::f64::consts::PI;

/// Nodes per axis for the far images. The nearest singularity of a far image lies at least six half-widths from the middle of
/// the quarter, so the error falls as 12⁻ⁿ.
const FAR_NODES: usize = 20;

/// A kernel with the images of the torus that matter to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Images {
    torus: Torus,
    kernel: Kernel,
    metric: Metric,
    ratio: f64,
    /// Whether there are any but the origin.
    periodic: bool,
}

impl Images {
    pub(super) fn new(torus: Torus, correlation: Correlation, periodic: bool) -> Self {
        let Correlation { kernel, anisotropy } = correlation;
        let (metric, ratio) = (anisotropy.metric(), anisotropy.ratio());
        Self { torus, kernel, metric, ratio, periodic }
    }

    /// The same seen in a mirror: its lag (i, j) is the lag (−i, j) of this one.
    pub(super) fn mirrored(self) -> Self {
        Self { metric: self.metric.mirrored(), ..self }
    }

    /// The sum at every lag within half the torus, row by row over the second axis.
    pub(super) fn quarter(&self, range: f64) -> Vec<f64> {
        let width = self.torus.half1();
        let mut quarter = vec![0.0; width * self.torus.half2()];
        self.near(range, |a, b| {
            for (j, line) in quarter.chunks_exact_mut(width).enumerate() {
                self.add_image(range, a, j as f64 + b, line);
            }
        });
        self.add_far(range, &mut quarter);
        quarter
    }

    /// The sum at one lag, image by image.
    pub(super) fn at_lag(&self, i: f64, j: f64, range: f64) -> f64 {
        let mut sum = [0.0];
        let mut add = |a: f64, b: f64| self.add_image(range, i + a, j + b, &mut sum);
        self.near(range, &mut add);
        self.far(range, &mut add);
        sum[0]
    }

    /// Adds the far images by interpolation.
    fn add_far(&self, range: f64, quarter: &mut [f64]) {
        let mut offsets = Vec::new();
        self.far(range, |a, b| offsets.push((a, b)));
        if offsets.is_empty() {
            return;
        }
        let (h1, h2) = (0.5 * self.torus.p1 as f64, 0.5 * self.torus.p2 as f64);
        // Sums at the nodes, one row of nodes along the first axis per node of the second.
        let mut at_nodes = [[0.0; FAR_NODES]; FAR_NODES];
        let (nodes1, nodes2) = (nodes(h1), nodes(h2));
        for (row, y2) in at_nodes.iter_mut().zip(nodes2) {
            for &(a, b) in &offsets {
                for (sum, y1) in row.iter_mut().zip(nodes1) {
                    let distance = self.metric.distance(y2 + b, y1 + a);
                    *sum += self.kernel.correlation(distance / range);
                }
            }
        }
        let width = self.torus.half1();
        let along1: Vec<[f64; FAR_NODES]> = (0..width).map(|i| weights(i as f64 / h1)).collect();
        for (j, line) in quarter.chunks_exact_mut(width).enumerate() {
            let across = weights(j as f64 / h2);
            let row: [f64; FAR_NODES] = std::array::from_fn(|n| {
                across.iter().zip(&at_nodes).map(|(w, values)| w * values[n]).sum()
            });
            for (sum, along) in line.iter_mut().zip(&along1) {
                *sum += along.iter().zip(&row).map(|(w, v)| w * v).sum::<f64>();
            }
        }
    }

    /// Visits the offsets of the origin and the images around it, where they are within reach.
    fn near(&self, range: f64, mut visit: impl FnMut(f64, f64)) {
        self.each(range, |a, b| self.is_near(a, b), &mut visit);
    }

    /// Visits the offsets of all other images within reach.
    fn far(&self, range: f64, mut visit: impl FnMut(f64, f64)) {
        self.each(range, |a, b| !self.is_near(a, b), &mut visit);
    }

    /// Whether an image lies within one and a half times the longer side, or further where distances across the longest range
    /// count for more: sums change faster there.
    fn is_near(&self, a: f64, b: f64) -> bool {
        a.abs().max(b.abs()) <= 1.5 * self.ratio * self.torus.p1.max(self.torus.p2) as f64
    }

    /// Adds the kernel at lags (y, x), (y + 1, x), … to a line.
    fn add_image(&self, range: f64, y: f64, x: f64, line: &mut [f64]) {
        let (kernel, metric) = (self.kernel, self.metric);
        vectorised(
            #[inline(always)]
            || {
                for (i, sum) in line.iter_mut().enumerate() {
                    *sum += kernel.correlation(metric.distance(x, y + i as f64) / range);
                }
            },
        );
    }

    fn each(
        &self,
        range: f64,
        wanted: impl Fn(f64, f64) -> bool,
        visit: &mut impl FnMut(f64, f64),
    ) {
        let reach = self.kernel.reach() * range;
        let (p1, p2) = (self.torus.p1 as f64, self.torus.p2 as f64);
        let count = |p: f64| if self.periodic { (reach / p + 0.5).ceil() as i64 } else { 0 };
        for a in -count(p1)..=count(p1) {
            for b in -count(p2)..=count(p2) {
                let (y, x) = (a as f64 * p1, b as f64 * p2);
                // Lags reach half the torus further in either direction; images beyond that are out of reach of all.
                let nearest = (y.abs() - 0.5 * p1).max(0.0).hypot((x.abs() - 0.5 * p2).max(0.0));
                if nearest < reach && wanted(y, x) {
                    visit(y, x);
                }
            }
        }
    }
}

fn angle(n: usize) -> f64 {
    PI * (n as f64 + 0.5) / FAR_NODES as f64
}

/// Chebyshev nodes on 0 … `end`.
fn nodes(end: f64) -> [f64; FAR_NODES] {
    std::array::from_fn(|n| 0.5 * end * (1.0 + angle(n).cos()))
}

/// Weights with which values at the nodes add up to the interpolant at `x` of 0 … 1 (barycentric formula).
fn weights(x: f64) -> [f64; FAR_NODES] {
    let t = 2.0 * x - 1.0;
    if let Some(hit) = (0..FAR_NODES).find(|&n| t == angle(n).cos()) {
        return std::array::from_fn(|n| if n == hit { 1.0 } else { 0.0 });
    }
    let raw: [f64; FAR_NODES] = std::array::from_fn(|n| {
        let sign = if n % 2 == 0 { 1.0 } else { -1.0 };
        sign * angle(n).sin() / (t - angle(n).cos())
    });
    let total: f64 = raw.iter().sum();
    raw.map(|w| w / total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::spectral::anisotropy::Anisotropy;

    #[test]
    fn interpolated_images_are_the_sum_of_all_images() {
        for (rows, columns) in [(9, 14), (30, 5), (16, 16)] {
            let torus = Torus::around(rows, columns);
            let skew = Anisotropy::new(27.0, 2.5).unwrap();
            let cases = Kernel::ALL
                .into_iter()
                .flat_map(|kernel| [kernel.into(), Correlation { kernel, anisotropy: skew }]);
            for correlation in cases {
                let images = Images::new(torus, correlation, true);
                // The Bessel function is slow, and summed over many images only here.
                let few = if correlation.kernel.has_density() { 2 } else { 5 };
                for range in [0.5, 4.0, 12.0, 33.0, 60.0].into_iter().take(few) {
                    let quarter = images.quarter(range);
                    for (j, i) in [(0, 0), (1, 2), (torus.p2 / 2, torus.p1 / 2), (3, 1)] {
                        let want = images.at_lag(i as f64, j as f64, range);
                        let got = quarter[j * torus.half1() + i];
                        let slack = 5e-14 * want + 1e-15 * quarter[0];
                        assert!(
                            (got - want).abs() < slack,
                            "{torus:?} {correlation:?} {range} ({i}, {j}): {got} {want}"
                        );
                    }
                }
            }
        }
    }
}
