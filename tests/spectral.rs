//! Holds the field on a torus to dense algebra, and its window to the kernel in the plane.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod common;
#[path = "structures/suite.rs"]
mod suite;

use common::torus::{TorusField, fourier, planar};
use common::{FALSE_ALARM, close, normals};
use nalgebra::{DMatrix, DVector};
use sshmc::random::{Purpose, Stream};
use sshmc::structure::{
    Anisotropy, Correlation, Embedding, Information, Kernel, Spectral, Structure,
};
use suite::{Case, FIFTH_DERIVATIVE, check_draws, check_factor};

const CELL: f64 = 0.5;
/// Relative error allowed to the interpolated eigenvalues: 1.3e-10 was the largest seen, for a Matérn kernel on two cells.
const INTERPOLATION: f64 = 1e-9;
/// The same for the Gaussian kernel, whose eigenvalues fall steeply to its nugget.
const GAUSSIAN_INTERPOLATION: f64 = 1e-7;
/// Prior bounds on the range, in map units, that let every kernel be embedded exactly, and no bounds at all.
const SHORT: (f64, f64) = (0.1, 0.4);
const OPEN: (f64, f64) = (0.0, f64::INFINITY);

/// Every kernel in all directions alike, along the second axis of the grid and slanting.
fn correlations() -> impl Iterator<Item = Correlation> {
    [(0.0, 1.0), (90.0, 1.7), (35.0, 2.0)].into_iter().flat_map(|(angle, ratio)| {
        let anisotropy = Anisotropy::new(angle, ratio).unwrap();
        Kernel::ALL.map(|kernel| Correlation { kernel, anisotropy })
    })
}

fn interpolation(kernel: Kernel) -> f64 {
    if kernel == Kernel::Gaussian { GAUSSIAN_INTERPOLATION } else { INTERPOLATION }
}

fn field(spectral: &Spectral) -> TorusField {
    let (torus, table) = (spectral.torus(), spectral.table());
    let (correlation, embedding) = (table.correlation(), table.embedding());
    TorusField { torus, correlation, embedding, cell: CELL }
}

/// Σ in the structure's basis is F Σ F' from the kernel and the documented basis functions, and the suite passes on it.
///
/// What is sampled is the table's interpolant, so the suite, which asks for rounding errors only, is given the
/// interpolant's Σ; that one in turn is compared with the kernel's.
fn suite_on(
    rows: usize,
    columns: usize,
    correlation: Correlation,
    ranges: (f64, f64),
) -> Result<(), String> {
    let spectral = Spectral::new(rows, columns, CELL, correlation, ranges).unwrap();
    let (basis, field) = (fourier(spectral.torus()), field(&spectral));
    let structure = Structure::Spectral(spectral);
    let sigma = |w: &[f64]| {
        let root = common::root(&structure, &Information::NONE, w);
        &root * root.transpose()
    };
    // Eigenvalues of the Gaussian kernel are exp(−ℓ²ω²/2), where ℓ²ω² is at most 11 below: fifth derivatives of 11⁵.
    let gaussian = correlation.kernel == Kernel::Gaussian;
    let fifth_derivative = if gaussian { 2e5 } else { FIFTH_DERIVATIVE };
    for w in [[0.3, 0.37f64.ln()], [-1.1, 0.21f64.ln()]] {
        let name = format!("{rows} x {columns}, {correlation:?}, w {w:?}");
        let (got, want) = (sigma(&w), &basis * field.matrix(&w) * basis.transpose());
        close(
            &name,
            got.as_slice(),
            want.as_slice(),
            interpolation(correlation.kernel) * want.amax(),
        )?;
        for kappa in [0.0, 0.3, 50.0] {
            let factor = structure.factor(&Information::Scalar(kappa)).unwrap();
            let mut case =
                Case { factor, w: w.to_vec(), sigma: &sigma, factorised: false, fifth_derivative };
            check_factor(&mut case).map_err(|e| format!("{name}, κ {kappa}: {e}"))?;
        }
    }
    Ok(())
}

#[test]
fn every_shape_and_kernel_passes_the_factor_suite() {
    for (rows, columns) in [(1, 1), (1, 4), (3, 1), (2, 3), (3, 3), (5, 2)] {
        for correlation in correlations() {
            suite_on(rows, columns, correlation, OPEN).unwrap();
        }
        suite_on(rows, columns, Kernel::Exponential.into(), SHORT).unwrap();
        let anisotropy = Anisotropy::new(60.0, 1.5).unwrap();
        let slanting = Correlation { kernel: Kernel::Exponential, anisotropy };
        suite_on(rows, columns, slanting, SHORT).unwrap();
    }
}

/// Basis → window and back are the documented sums, for odd and rectangular windows in tori larger than twice them.
#[test]
fn the_window_is_cut_out_of_the_documented_basis() {
    for (rows, columns) in [(1, 1), (2, 3), (7, 3), (3, 7), (5, 5)] {
        let spectral = Spectral::new(rows, columns, CELL, Kernel::Exponential, OPEN).unwrap();
        let torus = spectral.torus();
        let basis = fourier(torus);
        let n = torus.dim();
        let rounding = 8.0 * (n as f64).sqrt() * f64::EPSILON;
        let unit = &basis * basis.transpose();
        let identity = DMatrix::<f64>::identity(n, n);
        close("F F'", unit.as_slice(), identity.as_slice(), 8.0 * n as f64 * f64::EPSILON).unwrap();
        let b = DVector::from_vec(normals(n, 50));
        let cells = basis.tr_mul(&b);
        let window: Vec<usize> =
            (0..rows * columns).map(|s| s / columns * torus.p2 + s % columns).collect();
        let want: Vec<f64> = window.iter().map(|&cell| cells[cell]).collect();
        let mut between = Structure::Spectral(spectral).basis();
        let mut got = vec![f64::NAN; rows * columns];
        between.write_field(b.as_slice(), &mut got);
        close("window", &got, &want, rounding * b.norm()).unwrap();
        let mut masked = DVector::zeros(n);
        window.iter().zip(&want).for_each(|(&cell, x)| masked[cell] = *x);
        let mut got = vec![f64::NAN; n];
        between.write_basis(&want, &mut got);
        close("adjoint", &got, (&basis * masked).as_slice(), rounding * b.norm()).unwrap();
    }
}

/// The covariance of the window between every two of its cells, straight from the factor.
fn window_covariance(spectral: &Spectral, w: &[f64]) -> DMatrix<f64> {
    let structure = Structure::Spectral(spectral.clone());
    let root = common::root(&structure, &Information::NONE, w);
    let (n, sites) = (structure.dim(), structure.sites());
    let mut between = structure.basis();
    let mut window = DMatrix::zeros(sites, n);
    for j in 0..n {
        let mut column = vec![f64::NAN; sites];
        between.write_field(root.column(j).as_slice(), &mut column);
        window.column_mut(j).copy_from_slice(&column);
    }
    &window * window.transpose()
}

/// σ² c(distance/ℓ) in the plane.
fn planar_covariance(spectral: &Spectral, correlation: Correlation, w: &[f64]) -> DMatrix<f64> {
    let nugget = correlation.kernel.nugget();
    let torus = spectral.torus();
    let place = |s: usize| ((s / torus.columns) as f64, (s % torus.columns) as f64);
    DMatrix::from_fn(torus.sites(), torus.sites(), |a, b| {
        let ((i, j), (k, l)) = (place(a), place(b));
        let lag = (CELL * (j - l), CELL * (i - k));
        let own = if a == b { nugget } else { 0.0 };
        (2.0 * w[0]).exp() * ((1.0 - nugget) * planar(correlation, lag, w[1].exp()) + own)
    })
}

/// The largest difference between window and plane, over what is allowed.
fn excess(spectral: &Spectral, w: &[f64]) -> f64 {
    let correlation = spectral.table().correlation();
    let difference = window_covariance(spectral, w) - planar_covariance(spectral, correlation, w);
    let variance = (2.0 * w[0]).exp();
    // Relative errors of the eigenvalues add up to that of the variance, which is their mean.
    let bound = variance * (spectral.window_error(w[1].exp()) + interpolation(correlation.kernel));
    difference.amax() / bound
}

#[test]
fn the_window_has_the_planar_covariance_up_to_the_stated_error() {
    for (rows, columns) in [(4, 4), (3, 6), (5, 1)] {
        for correlation in correlations() {
            for ranges in [SHORT, OPEN] {
                let spectral = Spectral::new(rows, columns, CELL, correlation, ranges).unwrap();
                let exact = spectral.table().embedding() == Embedding::Exact;
                for range in [0.12, 0.3, 0.39, 0.9, 2.5] {
                    if range > ranges.1 {
                        continue;
                    }
                    let excess = excess(&spectral, &[0.4, f64::ln(range)]);
                    let name = format!("{rows} x {columns}, {correlation:?}, range {range}");
                    assert!(excess <= 1.0, "{name}: {excess} times the stated error");
                    assert!(!exact || spectral.window_error(range) == 0.0, "{name}");
                }
            }
        }
    }
    let short = Spectral::new(4, 4, CELL, Kernel::Exponential, SHORT).unwrap();
    let open = Spectral::new(4, 4, CELL, Kernel::Exponential, OPEN).unwrap();
    assert_eq!(short.table().embedding(), Embedding::Exact);
    assert_eq!(open.table().embedding(), Embedding::Periodised);
    // The must-fail twin: as if the periodised field were said to be exact.
    assert!(excess(&open, &[0.0, 0.0]) > 0.1);
    assert!(open.window_error(1.0) > 1e-3);
}

/// Draws of the window, compared with the plane at a false-alarm rate of 1e-6 plus the stated error.
///
/// For sites a, b the sum over N draws of ((x_a ± x_b)/s)², s² its variance on the torus, is χ²_N; beyond
/// N + 2√(Nx) + 2x or below N − 2√(Nx) lies less than e^{−x} (Laurent & Massart 2000).
fn check_window_draws(spectral: &Spectral, w: &[f64], planar: &DMatrix<f64>) -> Result<(), String> {
    let structure = Structure::Spectral(spectral.clone());
    let mut factor = structure.factor(&Information::NONE).unwrap();
    assert!(factor.set(w));
    let mut between = structure.basis();
    let (n, sites, draws) = (structure.dim(), structure.sites(), 20_000u32);
    let (mut z, mut u, mut x) = (vec![0.0; n], vec![0.0; n], DVector::zeros(sites));
    let mut sums = DMatrix::<f64>::zeros(sites, sites);
    for draw in 0..draws {
        Stream::new(11, 0, draw, Purpose::Prior).fill_normals(&mut z);
        factor.apply(&z, &mut u);
        between.write_field(&u, x.as_mut_slice());
        sums.ger(1.0, &x, &x, 1.0);
    }
    let error = (2.0 * w[0]).exp() * spectral.window_error(w[1].exp());
    let tail = (2.0 * (sites * sites) as f64 / FALSE_ALARM).ln();
    let total = f64::from(draws);
    for a in 0..sites {
        for b in 0..=a {
            let pick = |m: &DMatrix<f64>, sign: f64| m[(a, a)] + m[(b, b)] + 2.0 * sign * m[(a, b)];
            for sign in [1.0, -1.0] {
                let (sum, variance) = (pick(&sums, sign), pick(planar, sign));
                let slack = 2.0 * error;
                let high = (variance + slack) * (total + 2.0 * (total * tail).sqrt() + 2.0 * tail);
                let low = (variance - slack) * (total - 2.0 * (total * tail).sqrt());
                if sum > high + 1e-9 || sum < low - 1e-9 {
                    return Err(format!("sites {a}, {b}: sum {sum}, allowed {low} to {high}"));
                }
            }
        }
    }
    Ok(())
}

#[test]
fn draws_in_the_window_have_the_planar_covariance() {
    let w = [0.4, 0.3f64.ln()];
    let slanting = Anisotropy::new(25.0, 1.5).unwrap();
    for (rows, columns, correlation) in [
        (3, 3, Kernel::Exponential.into()),
        (2, 5, Kernel::Matern52.into()),
        (3, 3, Kernel::Gaussian.into()),
        (3, 3, Correlation { kernel: Kernel::Exponential, anisotropy: slanting }),
    ] {
        let spectral = Spectral::new(rows, columns, CELL, correlation, OPEN).unwrap();
        let planar = planar_covariance(&spectral, correlation, &w);
        check_window_draws(&spectral, &w, &planar).unwrap();
        let wider = planar_covariance(&spectral, correlation, &[0.5, w[1]]);
        assert!(check_window_draws(&spectral, &w, &wider).is_err(), "a tenth more deviation");
        let longer = planar_covariance(&spectral, correlation, &[w[0], w[1] + 0.3]);
        assert!(check_window_draws(&spectral, &w, &longer).is_err(), "a third more range");
    }
}

#[test]
fn draws_on_the_torus_have_the_prior_covariance() {
    let w = [0.4, 0.6f64.ln()];
    let spectral = Spectral::new(2, 1, CELL, Kernel::Matern32, OPEN).unwrap();
    let basis = fourier(spectral.torus());
    let sigma = &basis * field(&spectral).matrix(&w) * basis.transpose();
    let mut factor = Structure::Spectral(spectral).factor(&Information::NONE).unwrap();
    assert!(factor.set(&w));
    check_draws(factor.as_mut(), &sigma, 20_000, 6).unwrap();
}

#[test]
fn what_cannot_be_done_is_refused() {
    for (rows, columns, cell) in
        [(0, 3, 1.0), (3, 0, 1.0), (3, 3, 0.0), (3, 3, -1.0), (3, 3, f64::NAN)]
    {
        assert!(Spectral::new(rows, columns, cell, Kernel::Exponential, OPEN).is_err());
    }
    let spectral = Spectral::new(3, 4, CELL, Kernel::Exponential, SHORT).unwrap();
    let structure = Structure::Spectral(spectral.clone());
    for kappa in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(structure.factor(&Information::Scalar(kappa)).is_err());
    }
    let mut factor = structure.factor(&Information::NONE).unwrap();
    for w in [
        [0.0, 0.41f64.ln()],
        [0.0, f64::NAN],
        [f64::NAN, -1.0],
        [400.0, -1.0],
        [0.0, f64::INFINITY],
    ] {
        assert!(!factor.set(&w), "{w:?}");
    }
    assert!(factor.set(&[0.0, 0.39f64.ln()]));
    let open = Spectral::new(3, 4, CELL, Kernel::Exponential, OPEN).unwrap();
    let longest = open.table().longest() * CELL;
    let mut factor = Structure::Spectral(open).factor(&Information::NONE).unwrap();
    assert!(factor.set(&[0.0, longest.ln() - 1e-9]) && !factor.set(&[0.0, longest.ln() + 1e-9]));
}
