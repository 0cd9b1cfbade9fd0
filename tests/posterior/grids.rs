//! Holds runs on Gaussian data on grids from 8 x 8 to 256 x 256 against closed forms.
//!
//! For y ~ N(x, s I), x ~ N(0, σ² R(ℓ)) and R = U Λ Uᵀ everything about (σ, ℓ, x) is a sum over a grid of σ and ℓ: with
//! v = σ² Λ and c = Uᵀ y, log p(y | σ, ℓ) = −½ Σ [log(v + s) + c² / (v + s)], and x given both is Gaussian with mean U (v c / (v + s)) and
//! variances U² (v s / (v + s)). Where there are too many cells to diagonalise R, priors hold σ and ℓ in place, to 0.2 %, and the
//! mean Σ (Σ + s I)⁻¹ y and some variances come from conjugate gradients.

use crate::common::torus::TorusField;
use crate::common::{field_priors, normals};
use crate::compare::{Score, judge, mean_score, moved};
use crate::conjugate::scores;
use nalgebra::{DMatrix, DVector};
use rustfft::FftPlanner;
use rustfft::num_complex::Complex;
use sshmc::model::{Model, gaussian};
use sshmc::prior::Hyperparameters;
use sshmc::sample::{Settings, run};
use sshmc::structure::{Kernel, Spectral, Structure};
use std::sync::Arc;

/// Variance of the noise.
const NOISE: f64 = 0.25;
const RANGE: f64 = 0.2;

/// A square of side 1 with data in every cell.
struct World {
    side: usize,
    field: TorusField,
    y: Vec<f64>,
    model: Arc<Model>,
}

fn world(side: usize, priors: &[&str]) -> World {
    let cell = 1.0 / side as f64;
    let spectral =
        Spectral::new(side, side, cell, Kernel::Exponential, (0.0, f64::INFINITY)).unwrap();
    let (torus, embedding) = (spectral.torus(), spectral.table().embedding());
    let field = TorusField { torus, correlation: Kernel::Exponential.into(), embedding, cell };
    let wave = |i: usize, j: usize| {
        let (u, v) = (i as f64 * cell, j as f64 * cell);
        (5.0 * u + 1.0).sin() + 0.8 * (7.0 * v - 3.0 * u).cos()
    };
    let noise = normals(side * side, 91);
    let y: Vec<f64> = (0..side * side).map(|k| wave(k / side, k % side) + 0.6 * noise[k]).collect();
    let mut all = field_priors(RANGE);
    priors.iter().for_each(|prior| all.set_prior(prior).unwrap());
    let precision = vec![1.0 / NOISE; side * side];
    let model = gaussian(Structure::Spectral(spectral), all, y.clone(), precision).unwrap();
    World { side, field, y, model: Arc::new(model) }
}

impl World {
    /// The correlation between cells of the window.
    fn window(&self, range: f64) -> DMatrix<f64> {
        let (p1, p2, side) = (self.field.torus.p1, self.field.torus.p2, self.side);
        let lags = self.field.correlations(range);
        DMatrix::from_fn(side * side, side * side, |a, b| {
            let lag1 = (b / side + p1 - a / side) % p1;
            let lag2 = (b % side + p2 - a % side) % p2;
            lags[lag1 * p2 + lag2]
        })
    }

    fn priors(&self) -> &Hyperparameters {
        self.model.hyperparameters()
    }
}

/// Nodes of a rule along log σ and log ℓ.
type Box2 = [(f64, f64); 2];

fn nodes((low, high): (f64, f64), count: usize) -> Vec<f64> {
    (0..count).map(|k| low + (high - low) * k as f64 / (count - 1) as f64).collect()
}

/// Sums over σ and ℓ: means of both values, their squares, then every cell's mean and second moment, and for the next
/// rule the mean and standard deviation of log σ and log ℓ.
struct Sums {
    moments: Vec<f64>,
    next: Box2,
}

fn quadrature(world: &World, bounds: Box2, counts: [usize; 2]) -> Sums {
    let n = world.y.len();
    let y = DVector::from_column_slice(&world.y);
    // Logarithms of weights so far lie below this one; everything is rescaled when a larger one comes.
    let (mut top, mut weight) = (f64::NEG_INFINITY, 0.0);
    let mut sums = vec![0.0; 4 + 2 * n];
    let mut places = [[0.0; 2]; 2];
    for &log_range in &nodes(bounds[1], counts[1]) {
        let eigen = world.window(log_range.exp()).symmetric_eigen();
        let c = eigen.eigenvectors.tr_mul(&y);
        let squares = eigen.eigenvectors.map(|u| u * u);
        for &log_sigma in &nodes(bounds[0], counts[0]) {
            let w = [log_sigma, log_range];
            let v = eigen.eigenvalues.map(|l| (2.0 * log_sigma).exp() * l.max(0.0));
            let term = |v: f64, c: f64| (v + NOISE).ln() + c * c / (v + NOISE);
            let likelihood: f64 = v.iter().zip(&c).map(|(&v, &c)| term(v, c)).sum();
            let log = world.priors().log_prior(&w, &mut [0.0; 2]) - 0.5 * likelihood;
            if log > top {
                let shrink = (top - log).exp();
                sums.iter_mut().for_each(|s| *s *= shrink);
                places.as_flattened_mut().iter_mut().for_each(|p| *p *= shrink);
                (top, weight) = (log, weight * shrink);
            }
            let share = (log - top).exp();
            if share < 1e-14 {
                continue;
            }
            weight += share;
            for k in 0..2 {
                places[k][0] += share * w[k];
                places[k][1] += share * w[k] * w[k];
            }
            let values = world.priors().values(&w);
            for k in 0..2 {
                sums[k] += share * values[k];
                sums[2 + k] += share * values[k] * values[k];
            }
            let shrunk = v.zip_map(&c, |v, c| v * c / (v + NOISE));
            let mean = &eigen.eigenvectors * shrunk;
            let spread = &squares * v.map(|v| v * NOISE / (v + NOISE));
            for j in 0..n {
                sums[4 + 2 * j] += share * mean[j];
                sums[5 + 2 * j] += share * (mean[j] * mean[j] + spread[j]);
            }
        }
    }
    let next = std::array::from_fn(|k| {
        let mean = places[k][0] / weight;
        let sd = (places[k][1] / weight - mean * mean).max(0.0).sqrt();
        let step = (bounds[k].1 - bounds[k].0) / (counts[k] - 1) as f64;
        let reach = 7.5 * sd.max(0.4 * step);
        (mean - reach, mean + reach)
    });
    Sums { moments: sums.into_iter().map(|s| s / weight).collect(), next }
}

/// Field and hyperparameters together.
fn exact(side: usize, counts: [usize; 2], draws: u32) {
    let world = world(side, &["range=lognormal(-1.6,0.4)"]);
    let mut bounds = [(-3.0, 2.5), (-3.6, 0.4)];
    for _ in 0..2 {
        bounds = quadrature(&world, bounds, [25, 9]).next;
    }
    let want = quadrature(&world, bounds, counts).moments;
    let coarse = quadrature(&world, bounds, counts.map(|count| count * 2 / 3)).moments;
    let off = want.iter().zip(&coarse).map(|(a, b)| (a - b).abs() / (1.0 + a.abs()));
    let off = off.fold(0.0, f64::max);
    assert!(off < 2e-4, "{side} x {side}: the rule is off by {off}");
    let settings =
        Settings { draws, threads: Some(2), seed: 11, small_torus: false, ..Settings::default() };
    let fit = run(&world.model, &settings, &()).unwrap();
    let name = format!("{side} x {side}, all unknown");
    let scores = scores(&fit, &want);
    let worst = judge(&name, &scores).unwrap();
    println!(
        "{name}: sigma {:.4}, range {:.4}; largest |z| {worst:.2} of {}; rule off by {off:.1e}",
        want[0],
        want[1],
        scores.len()
    );
    // The must-fail twin: sigma's truth moved by 0.3 of its standard deviations.
    let sd = (want[2] - want[0] * want[0]).sqrt();
    assert!(judge(&name, &moved(&scores[..1], |_| 0.3 * sd)).is_err(), "{name}: no power");
}

/// Multiplies by σ² R + s I on the window, by Fourier transforms on the torus.
struct Operator {
    side: usize,
    p: (usize, usize),
    /// Eigenvalues of R on the torus over the number of its cells.
    eigenvalues: Vec<f64>,
    buffer: Vec<Complex<f64>>,
    planner: FftPlanner<f64>,
}

impl Operator {
    fn new(world: &World) -> Self {
        let p = (world.field.torus.p1, world.field.torus.p2);
        let lags = world.field.correlations(RANGE);
        let buffer = lags.iter().map(|&r| Complex::new(r, 0.0)).collect();
        let mut new = Self {
            side: world.side,
            p,
            eigenvalues: Vec::new(),
            buffer,
            planner: FftPlanner::new(),
        };
        new.transform(false);
        let cells = (p.0 * p.1) as f64;
        new.eigenvalues = new.buffer.iter().map(|e| e.re / cells).collect();
        new
    }

    fn transform(&mut self, back: bool) {
        let mut plan = |n| match back {
            false => self.planner.plan_fft_forward(n),
            true => self.planner.plan_fft_inverse(n),
        };
        let (rows, columns) = (plan(self.p.1), plan(self.p.0));
        rows.process(&mut self.buffer);
        let mut column = vec![Complex::default(); self.p.0];
        for j in 0..self.p.1 {
            (0..self.p.0).for_each(|i| column[i] = self.buffer[i * self.p.1 + j]);
            columns.process(&mut column);
            (0..self.p.0).for_each(|i| self.buffer[i * self.p.1 + j] = column[i]);
        }
    }

    /// R v.
    fn correlate(&mut self, v: &[f64]) -> Vec<f64> {
        self.buffer.fill(Complex::default());
        for (k, &v) in v.iter().enumerate() {
            self.buffer[k / self.side * self.p.1 + k % self.side].re = v;
        }
        self.transform(false);
        self.buffer.iter_mut().zip(&self.eigenvalues).for_each(|(b, &e)| *b *= e);
        self.transform(true);
        (0..v.len()).map(|k| self.buffer[k / self.side * self.p.1 + k % self.side].re).collect()
    }

    /// (R + s I)⁻¹ b by conjugate gradients, to 1e-11 of b.
    fn solve(&mut self, b: &[f64]) -> Vec<f64> {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut x = vec![0.0; b.len()];
        let (mut r, mut direction) = (b.to_vec(), b.to_vec());
        let (mut size, aim) = (dot(b, b), 1e-22 * dot(b, b));
        for _ in 0..5000 {
            if size <= aim {
                return x;
            }
            let mut image = self.correlate(&direction);
            image.iter_mut().zip(&direction).for_each(|(i, d)| *i += NOISE * d);
            let step = size / dot(&direction, &image);
            x.iter_mut().zip(&direction).for_each(|(x, d)| *x += step * d);
            r.iter_mut().zip(&image).for_each(|(r, i)| *r -= step * i);
            let new = dot(&r, &r);
            direction.iter_mut().zip(&r).for_each(|(d, r)| *d = r + new / size * *d);
            size = new;
        }
        panic!("conjugate gradients have not converged: {size} of {aim}");
    }
}

/// The field where the hyperparameters are known.
fn known(side: usize, settings: Settings) {
    let world = world(side, &["sigma=lognormal(0,0.002)", "range=lognormal(-1.609438,0.002)"]);
    let mut operator = Operator::new(&world);
    let solved = operator.solve(&world.y);
    let mean = operator.correlate(&solved);
    let settings = Settings { threads: Some(2), seed: 12, small_torus: false, ..settings };
    let fit = run(&world.model, &settings, &()).unwrap();
    let name = format!("{side} x {side}, the field alone");
    let series = |k: usize| -> Vec<Vec<f64>> {
        fit.chains.iter().map(|chain| chain.field.series(k).collect()).collect()
    };
    let kept = fit.chains[0].field.kept();
    let mut all: Vec<Score> = kept
        .iter()
        .enumerate()
        .map(|(k, &site)| mean_score(format!("cell {site}"), &series(k), mean[site], 0.0))
        .collect();
    let means = all.len();
    let mut sds = Vec::new();
    for probe in 0..5 {
        let k = probe * (kept.len() - 1) / 4;
        let site = kept[k];
        let mut unit = vec![0.0; world.y.len()];
        unit[site] = 1.0;
        let column = operator.correlate(&unit);
        let explained = operator.solve(&column);
        let variance =
            column[site] - column.iter().zip(&explained).map(|(a, b)| a * b).sum::<f64>();
        let squares: Vec<Vec<f64>> = series(k)
            .iter()
            .map(|chain| chain.iter().map(|x| (x - mean[site]).powi(2)).collect())
            .collect();
        all.push(mean_score(format!("variance of cell {site}"), &squares, variance, 0.0));
        sds.push((k, variance.sqrt()));
    }
    let worst = judge(&name, &all).unwrap();
    let square = all[..means].iter().map(|s| s.z().powi(2)).sum::<f64>() / means as f64;
    println!("{name}: largest |z| {worst:.2} of {}, mean z² of means {square:.2}", all.len());
    // The must-fail twin: the mean of one cell moved by 0.5 of its standard deviations.
    let (k, sd) = sds[2];
    assert!(judge(&name, &moved(&all[k..=k], |_| 0.5 * sd)).is_err(), "{name}: no power");
}

fn short() -> Settings {
    Settings { chains: 2, warmup: 300, draws: 400, ..Settings::default() }
}

#[test]
fn a_grid_of_8_and_one_of_16_have_their_closed_forms() {
    exact(8, [41, 25], 1500);
    exact(16, [45, 23], 500);
}

#[test]
fn a_field_of_32_has_its_closed_form() {
    known(32, short());
}

#[test]
#[ignore = "minutes; run with --ignored"]
fn a_grid_of_32_has_its_closed_form() {
    exact(32, [39, 18], 3000);
}

#[test]
#[ignore = "minutes; run with --ignored"]
fn a_field_of_64_has_its_closed_form() {
    known(64, short());
}

#[test]
#[ignore = "minutes; run with --ignored"]
fn a_field_of_128_has_its_closed_form() {
    known(128, Settings { draws: 250, ..short() });
}

#[test]
#[ignore = "minutes; run with --ignored"]
fn a_field_of_256_has_its_closed_form() {
    known(256, Settings { draws: 150, ..short() });
}
