//! Knows which wave each latent of a torus field is, and what information at the sites is between two of them.

use crate::structure::{Torus, Transform};
use nalgebra::DMatrix;
use realfft::num_complex::Complex;
use std::f64::consts::SQRT_2;

/// A latent as a wave: √(1/n) cos, √(2/n) cos, or −√(2/n) sin, of 2πk·j/P.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wave {
    k1: usize,
    k2: usize,
    sine: bool,
    /// Its norm times √n.
    norm: f64,
}

impl Wave {
    /// The wave at a place in a vector of latents.
    pub(crate) fn at(torus: Torus, place: usize) -> Self {
        let Torus { p1, p2, .. } = torus;
        let (k2, own) = if place < p1 {
            (0, place)
        } else if place >= torus.dim() - p1 {
            (p2 / 2, place + p1 - torus.dim())
        } else {
            (1 + (place - p1) / (2 * p1), (place - p1) % (2 * p1))
        };
        match (torus.is_edge(k2), own) {
            (true, 0) => Self { k1: 0, k2, sine: false, norm: 1.0 },
            (true, 1) => Self { k1: p1 / 2, k2, sine: false, norm: 1.0 },
            _ => Self { k1: own / 2, k2, sine: own % 2 == 1, norm: SQRT_2 },
        }
    }
}

/// The spectrum of a function on the sites, zero elsewhere on the torus.
pub(crate) struct Spectrum {
    torus: Torus,
    /// Half of it, as a transform has it.
    half: Vec<Complex<f64>>,
}

impl Spectrum {
    pub(crate) fn new(transform: &mut Transform, torus: Torus, sites: &[f64]) -> Self {
        transform.analyse(sites);
        Self { torus, half: transform.spectrum().to_vec() }
    }

    /// Σ_j W_j e^{−2πi k·j/P}, k taken around the torus.
    fn at(&self, k1: usize, k2: usize) -> Complex<f64> {
        let Torus { p1, p2, .. } = self.torus;
        let (k1, k2) = (k1 % p1, k2 % p2);
        if k2 <= p2 / 2 {
            self.half[k2 * p1 + k1]
        } else {
            self.half[(p2 - k2) * p1 + (p1 - k1) % p1].conj()
        }
    }

    /// Σ_j W_j a_j b_j for two waves.
    pub(crate) fn between(&self, a: Wave, b: Wave) -> f64 {
        let Torus { p1, p2, .. } = self.torus;
        let sum = self.at(a.k1 + b.k1, a.k2 + b.k2);
        let difference = self.at(a.k1 + p1 - b.k1, a.k2 + p2 - b.k2);
        // Products of waves are waves of the sum and of the difference; sines have a minus, and so has the imaginary part.
        let product = match (a.sine, b.sine) {
            (false, false) => difference.re + sum.re,
            (true, true) => difference.re - sum.re,
            (true, false) => sum.im + difference.im,
            (false, true) => sum.im - difference.im,
        };
        0.5 * a.norm * b.norm * product / self.torus.dim() as f64
    }

    /// Σ_j W_j a_j b_j for every two of these waves.
    pub(crate) fn matrix(&self, waves: &[Wave]) -> DMatrix<f64> {
        let m = waves.len();
        let mut out = DMatrix::zeros(m, m);
        for j in 0..m {
            for i in j..m {
                let value = self.between(waves[i], waves[j]);
                out[(i, j)] = value;
                out[(j, i)] = value;
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn information_between_waves_is_that_between_unit_latents() {
        for torus in [Torus::around(3, 4), Torus { rows: 5, columns: 3, p1: 6, p2: 4 }] {
            let n = torus.dim();
            let mut transform = Transform::new(torus);
            let sites: Vec<f64> =
                (0..torus.sites()).map(|i| 1.2 + (3.0 + 7.7 * i as f64).sin()).collect();
            let columns: Vec<Vec<f64>> = (0..n)
                .map(|i| {
                    let mut unit = vec![0.0; n];
                    unit[i] = 1.0;
                    let mut field = vec![0.0; torus.sites()];
                    transform.write_field(&unit, &mut field);
                    field
                })
                .collect();
            let waves: Vec<Wave> = (0..n).map(|i| Wave::at(torus, i)).collect();
            let matrix = Spectrum::new(&mut transform, torus, &sites).matrix(&waves);
            for i in 0..n {
                for j in 0..n {
                    let want: f64 =
                        (0..sites.len()).map(|s| sites[s] * columns[i][s] * columns[j][s]).sum();
                    assert!((matrix[(i, j)] - want).abs() < 1e-12, "{i} {j}: {want}");
                }
            }
        }
    }
}
