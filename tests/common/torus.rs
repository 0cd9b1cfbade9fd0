//! Repeats the algebra of fields on a torus the slow way, from the formulas alone.

use nalgebra::DMatrix;
use sshmc::structure::{Correlation, Covariance, Embedding, Kernel, Torus};
use std::f64::consts::{SQRT_2, TAU};

/// The orthonormal real Fourier basis: rows are basis functions in the order of the documentation, columns are cells.
pub(crate) fn fourier(torus: Torus) -> DMatrix<f64> {
    let Torus { p1, p2, .. } = torus;
    let mut rows: Vec<Vec<f64>> = Vec::new();
    let wave = |k1: usize, k2: usize, scale: f64, imaginary: bool| {
        let norm = scale / ((p1 * p2) as f64).sqrt();
        let cell = |j: usize| {
            let (j1, j2) = (j / p2, j % p2);
            let turns = (k1 * j1) as f64 / p1 as f64 + (k2 * j2) as f64 / p2 as f64;
            let (sin, cos) = (TAU * turns.fract()).sin_cos();
            norm * if imaginary { -sin } else { cos }
        };
        (0..p1 * p2).map(cell).collect::<Vec<f64>>()
    };
    for k2 in 0..=p2 / 2 {
        let edge = k2 == 0 || k2 == p2 / 2;
        let inner = if edge { 1..p1 / 2 } else { 0..p1 };
        if edge {
            rows.push(wave(0, k2, 1.0, false));
            rows.push(wave(p1 / 2, k2, 1.0, false));
        }
        for k1 in inner {
            rows.push(wave(k1, k2, SQRT_2, false));
            rows.push(wave(k1, k2, SQRT_2, true));
        }
    }
    DMatrix::from_fn(p1 * p2, p1 * p2, |i, j| rows[i][j])
}

/// Σ between all cells of a torus, straight from the kernel; w = (log σ, log ℓ).
#[derive(Clone, Debug)]
pub(crate) struct TorusField {
    pub(crate) torus: Torus,
    pub(crate) correlation: Correlation,
    pub(crate) embedding: Embedding,
    pub(crate) cell: f64,
}

/// Distance in units of the range beyond which images are left out: every kernel is below 1e-16 there.
fn reach(kernel: Kernel) -> f64 {
    match kernel {
        Kernel::Exponential => 38.0,
        Kernel::Matern1 => 29.0,
        Kernel::Matern32 => 24.0,
        Kernel::Matern52 => 20.0,
        Kernel::Gaussian => 9.0,
    }
}

/// The correlation in the plane at a lag in map units, without the nugget.
pub(crate) fn planar(correlation: Correlation, (x, y): (f64, f64), range: f64) -> f64 {
    let Correlation { kernel, anisotropy } = correlation;
    let (sin, cos) = anisotropy.angle().to_radians().sin_cos();
    let (along, across) = (x * cos + y * sin, y * cos - x * sin);
    kernel.correlation(along.hypot(anisotropy.ratio() * across) / range)
}

impl TorusField {
    fn at_lag(&self, lag1: usize, lag2: usize, range: f64) -> f64 {
        let Torus { p1, p2, .. } = self.torus;
        let at = |a: i32, b: i32| {
            let y = lag1 as f64 + f64::from(a) * p1 as f64;
            let x = lag2 as f64 + f64::from(b) * p2 as f64;
            planar(self.correlation, (self.cell * x, self.cell * y), range)
        };
        match self.embedding {
            // The shortest way round; for lags half way round, the mean over both.
            Embedding::Exact => {
                let ways = |lag: usize, p: usize| match (2 * lag).cmp(&p) {
                    std::cmp::Ordering::Less => [0, 0],
                    std::cmp::Ordering::Equal => [0, -1],
                    std::cmp::Ordering::Greater => [-1, -1],
                };
                let all = ways(lag1, p1).map(|a| ways(lag2, p2).map(|b| at(a, b)));
                all.as_flattened().iter().sum::<f64>() / 4.0
            }
            Embedding::Periodised => {
                let images = |p: usize| {
                    (reach(self.correlation.kernel) * range / (self.cell * p as f64)).ceil() as i32
                };
                let (m1, m2) = (images(p1), images(p2));
                (-m1..=m1)
                    .flat_map(|a| (-m2..=m2).map(move |b| (a, b)))
                    .map(|(a, b)| at(a, b))
                    .sum()
            }
        }
    }

    /// The correlation at every lag, row by row of the torus.
    pub(crate) fn correlations(&self, range: f64) -> Vec<f64> {
        let Torus { p1, p2, .. } = self.torus;
        let nugget = self.correlation.kernel.nugget();
        let lags: Vec<f64> = (0..p1 * p2).map(|l| self.at_lag(l / p2, l % p2, range)).collect();
        let own = |lag: usize| if lag == 0 { nugget } else { 0.0 };
        (0..p1 * p2).map(|lag| (1.0 - nugget) * lags[lag] / lags[0] + own(lag)).collect()
    }

    /// The covariance matrix.
    pub(crate) fn matrix(&self, w: &[f64]) -> DMatrix<f64> {
        let variance = (2.0 * w[0]).exp();
        let Torus { p1, p2, .. } = self.torus;
        let lags = self.correlations(w[1].exp());
        DMatrix::from_fn(p1 * p2, p1 * p2, |a, b| {
            let lag1 = (b / p2 + p1 - a / p2) % p1;
            let lag2 = (b % p2 + p2 - a % p2) % p2;
            variance * lags[lag1 * p2 + lag2]
        })
    }
}

impl Covariance for TorusField {
    fn dim(&self) -> usize {
        self.torus.dim()
    }

    fn parameters(&self) -> usize {
        2
    }

    fn fill(&self, w: &[f64], sigma: &mut DMatrix<f64>) {
        sigma.copy_from(&self.matrix(w));
    }

    fn fill_derivative(&self, w: &[f64], k: usize, out: &mut DMatrix<f64>) {
        let at = |steps: f64| {
            let mut moved = w.to_vec();
            moved[k] += steps * super::STEP;
            self.matrix(&moved)
        };
        let far = at(2.0) - at(-2.0);
        out.copy_from(&(((at(1.0) - at(-1.0)) * 8.0 - far) / (12.0 * super::STEP)));
    }
}
