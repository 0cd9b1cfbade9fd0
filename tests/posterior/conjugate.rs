//! Compares runs on Gaussian data with quadrature, and the funnel with its known moments, in all coordinates.
//!
//! For y ~ N(x, D), x ~ N(0, Σ(w)) the field given w is Gaussian in closed form and p(y|w) = N(0, Σ + D), so that every
//! moment is a sum over a grid of w. The trapezoidal rule on a smooth density that vanishes at the edges is exact to
//! rounding long before 120 points a side.

use crate::common::torus::TorusField;
use crate::common::{ar1_priors, field_priors, normals, points};
use crate::compare::{Score, judge, mean_score, moved};
use nalgebra::{DMatrix, DVector};
use sshmc::device::Flow;
use sshmc::integrate::Integrator;
use sshmc::model::{Model, funnel, gaussian};
use sshmc::prior::Hyperparameters;
use sshmc::sample::{CoordinateChoice, Fit, MassChoice, Settings, run};
use sshmc::structure::{Ar1, Dense, Kernel, Spectral, Stationary, Structure};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// Σ at the sites as a function of w.
type Covariance = Box<dyn Fn(&[f64]) -> DMatrix<f64>>;

/// A model with Gaussian data and its prior covariance at the sites.
struct Oracle {
    name: &'static str,
    model: Arc<Model>,
    y: DVector<f64>,
    precision: Vec<f64>,
    covariance: Covariance,
    /// Where the posterior of each working value surely is.
    grid: [(f64, f64); 2],
}

fn oracle(
    name: &'static str,
    structure: Structure,
    priors: Hyperparameters,
    covariance: Covariance,
    grid: [(f64, f64); 2],
) -> Oracle {
    let n = structure.sites();
    let y: Vec<f64> = normals(n, 60).iter().map(|e| 1.2 * e + 0.5).collect();
    let precision: Vec<f64> = (0..n).map(|i| [2.0, 0.5, 6.0][i % 3]).collect();
    let model = gaussian(structure, priors, y.clone(), precision.clone()).unwrap();
    Oracle { name, model: Arc::new(model), y: DVector::from_vec(y), precision, covariance, grid }
}

fn oracles() -> Vec<Oracle> {
    let ar1 = |w: &[f64]| {
        let variance = (w[1].exp() * w[0].cosh()).powi(2);
        DMatrix::from_fn(5, 5, |i, j| variance * w[0].tanh().powi(i.abs_diff(j) as i32))
    };
    let plane = |w: &[f64]| {
        let p = points(4);
        DMatrix::from_fn(4, 4, |i, j| {
            let distance = (p[i].0 - p[j].0).hypot(p[i].1 - p[j].1);
            (2.0 * w[0] - distance / w[1].exp()).exp()
        })
    };
    let dense = Dense::new(Arc::new(Stationary::exponential(&points(4)).unwrap())).unwrap();
    let spectral = Spectral::new(3, 1, 0.5, Kernel::Exponential, (0.0, f64::INFINITY)).unwrap();
    let (torus, embedding) = (spectral.torus(), spectral.table().embedding());
    let field = TorusField { torus, correlation: Kernel::Exponential.into(), embedding, cell: 0.5 };
    // The kernel's images are summed once for each range of the grid.
    let known = RefCell::new(HashMap::new());
    let window = move |w: &[f64]| {
        let unit = || {
            let all = field.matrix(&[0.0, w[1]]);
            DMatrix::from_fn(3, 3, |i, j| all[(i * torus.p2, j * torus.p2)])
        };
        known.borrow_mut().entry(w[1].to_bits()).or_insert_with(unit).clone() * (2.0 * w[0]).exp()
    };
    let mut short = field_priors(0.4);
    short.set_prior("range=lognormal(-0.9,0.4)").unwrap();
    vec![
        oracle(
            "ar1",
            Structure::Ar1(Ar1::new(5).unwrap()),
            ar1_priors(),
            Box::new(ar1),
            [(-3.0, 6.0), (-3.5, 2.5)],
        ),
        oracle(
            "dense",
            Structure::Dense(dense),
            field_priors(1.0),
            Box::new(plane),
            [(-9.0, 2.6), (-5.5, 6.0)],
        ),
        oracle(
            "spectral",
            Structure::Spectral(spectral),
            short,
            Box::new(window),
            [(-9.0, 2.6), (-3.0, 1.4)],
        ),
    ]
}

/// Posterior means of the hyperparameters' values and squares, then of the field and its squares.
fn quadrature(oracle: &Oracle, points: usize) -> Vec<f64> {
    let n = oracle.y.len();
    let noise = DMatrix::from_diagonal(&DVector::from_iterator(
        n,
        oracle.precision.iter().map(|p| 1.0 / p),
    ));
    let node = |k: usize, i: usize| {
        let (low, high) = oracle.grid[k];
        low + (high - low) * i as f64 / (points - 1) as f64
    };
    let priors = oracle.model.hyperparameters();
    let mut rows: Vec<(f64, Vec<f64>)> = Vec::new();
    for i in 0..points * points {
        let w = [node(0, i / points), node(1, i % points)];
        let sigma = (oracle.covariance)(&w);
        let Some(total) = (&sigma + &noise).cholesky() else { continue };
        let solved = total.solve(&oracle.y);
        let mean = &sigma * &solved;
        let spread = &sigma - &sigma * total.solve(&sigma);
        let logs = total.l().diagonal().map(f64::ln).sum();
        let density = priors.log_prior(&w, &mut [0.0; 2]) - 0.5 * oracle.y.dot(&solved) - logs;
        let values = priors.values(&w);
        let squares = values.iter().map(|v| v * v);
        let field = (0..n).flat_map(|j| [mean[j], mean[j] * mean[j] + spread[(j, j)]]);
        rows.push((density, values.iter().copied().chain(squares).chain(field).collect()));
    }
    let top = rows.iter().map(|r| r.0).fold(f64::NEG_INFINITY, f64::max);
    let mut sums = vec![0.0; rows[0].1.len()];
    let mut weight = 0.0;
    for (density, values) in rows {
        let share = (density - top).exp();
        weight += share;
        sums.iter_mut().zip(values).for_each(|(s, v)| *s += share * v);
    }
    sums.into_iter().map(|s| s / weight).collect()
}

/// The same moments from a run, scored.
pub(crate) fn scores(fit: &Fit, want: &[f64]) -> Vec<Score> {
    let m = fit.model.hyperparameters().len();
    let mut series: Vec<(String, Vec<Vec<f64>>)> = Vec::new();
    let gather = |pick: &dyn Fn(&sshmc::draws::ChainDraws) -> Vec<f64>| -> Vec<Vec<f64>> {
        fit.chains.iter().map(pick).collect()
    };
    let square = |draws: &[Vec<f64>]| -> Vec<Vec<f64>> {
        draws.iter().map(|d| d.iter().map(|x| x * x).collect()).collect()
    };
    let parameters: Vec<_> = (0..m).map(|k| gather(&|c| c.parameters[k].clone())).collect();
    for (k, draws) in parameters.iter().enumerate() {
        series.push((format!("hyperparameter {k}"), draws.clone()));
    }
    for (k, draws) in parameters.iter().enumerate() {
        series.push((format!("hyperparameter {k} squared"), square(draws)));
    }
    for site in 0..fit.model.structure().sites() {
        let draws = gather(&|c| c.field.series(site).collect());
        series.push((format!("site {site} squared"), square(&draws)));
        series.insert(series.len() - 1, (format!("site {site}"), draws));
    }
    assert_eq!(series.len(), want.len());
    series.into_iter().zip(want).map(|((name, d), &want)| mean_score(name, &d, want, 0.0)).collect()
}

/// Every way to run. Steps are shorter than by default: latents are measured with very different precision, and a
/// chain must not stick for longer than its error can be estimated.
fn ways() -> Vec<(&'static str, Settings)> {
    let base = Settings {
        draws: 4000,
        threads: Some(2),
        seed: 7,
        acceptance: 0.95,
        ..Settings::default()
    };
    let way =
        |coordinates, mass, integrator| Settings { coordinates, mass, integrator, ..base.clone() };
    use CoordinateChoice::{Auto, Centred, Informed, Whitened};
    let abla = |flow, k1, k2| Some(Integrator::Abla { flow, k1, k2 });
    vec![
        ("auto", way(Auto, MassChoice::Auto, None)),
        ("centred, prior mass", way(Centred, MassChoice::Auto, None)),
        ("centred, information mass", way(Centred, MassChoice::PriorPlusInformation, None)),
        ("centred, identity", way(Centred, MassChoice::Identity, None)),
        ("whitened", way(Whitened, MassChoice::Auto, None)),
        ("whitened, information mass", way(Whitened, MassChoice::PriorPlusInformation, None)),
        ("whitened, drift", way(Whitened, MassChoice::Auto, Some(Integrator::Joint(Flow::Drift)))),
        ("whitened, ABLA turning", way(Whitened, MassChoice::Auto, abla(Flow::Rotation, 2, 2))),
        ("informed", way(Informed, MassChoice::Auto, None)),
        ("informed, prior mass", way(Informed, MassChoice::Prior, None)),
    ]
}

#[test]
fn posteriors_match_quadrature_in_all_coordinates() {
    for oracle in oracles() {
        let want = quadrature(&oracle, 120);
        let coarse = quadrature(&oracle, 60);
        let converged =
            want.iter().zip(&coarse).all(|(a, b)| (a - b).abs() < 1e-4 * (1.0 + a.abs()));
        assert!(converged, "{}: quadrature {want:?} {coarse:?}", oracle.name);
        for (way, settings) in ways() {
            let fit = run(&oracle.model, &settings, &()).unwrap();
            let name = format!("{}, {way}", oracle.name);
            let scores = scores(&fit, &want);
            let worst = judge(&name, &scores).unwrap();
            println!("{name}: largest |z| {worst:.2} of {}", scores.len());
            // The must-fail twin: the first truth moved by its standard deviation, which even slow ways must see.
            let sd = (want[2] - want[0] * want[0]).sqrt();
            assert!(judge(&name, &moved(&scores[..1], |_| sd)).is_err(), "{name}: no power");
        }
    }
}

/// E v = 0 and E v² = 9, as published and by default.
#[test]
fn the_funnel_has_its_moments() {
    let cases = [
        (100, CoordinateChoice::Auto, MassChoice::Auto),
        (100, CoordinateChoice::Whitened, MassChoice::Auto),
        (3, CoordinateChoice::Centred, MassChoice::Prior),
    ];
    for (dim, coordinates, mass) in cases {
        let model = Arc::new(funnel(dim, &[]).unwrap());
        let settings =
            Settings { coordinates, mass, draws: 8000, threads: Some(2), ..Settings::default() };
        let fit = run(&model, &settings, &()).unwrap();
        let v: Vec<Vec<f64>> = fit.chains.iter().map(|c| c.parameters[0].clone()).collect();
        let squares: Vec<Vec<f64>> = v.iter().map(|c| c.iter().map(|v| v * v).collect()).collect();
        let scores =
            [mean_score("E v".into(), &v, 0.0, 0.0), mean_score("E v²".into(), &squares, 9.0, 0.0)];
        let name = format!("funnel of {dim}, {coordinates:?}");
        println!(
            "{name}: E v {:.3}, z {:.2}; E v² {:.3}, z {:.2}",
            scores[0].got,
            scores[0].z(),
            scores[1].got,
            scores[1].z()
        );
        judge(&name, &scores).unwrap();
        assert!(judge(&name, &moved(&scores, |_| 0.9)).is_err(), "{name}: no power");
    }
}
