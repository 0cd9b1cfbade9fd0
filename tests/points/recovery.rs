//! Recovers what patterns were drawn from: a covariate's coefficient, and the same field in a smaller window.

use super::cli::directory_with;
use super::raster;
use geo::polygon;
use rand_distr::{Distribution, Poisson};
use sshmc::data::{Counts, Covariate, Pattern, Points, Raster, Resolution, Window};
use sshmc::model::{LgcpOptions, lgcp};
use sshmc::random::{Purpose, Stream};
use sshmc::report::{FieldMoments, Summary};
use sshmc::sample::{Fit, Settings, run};
use sshmc::simulate::{self, PatternTruth};
use sshmc::structure::{Anisotropy, Kernel};
use std::sync::Arc;

const CELLS: usize = 16;

fn truth() -> PatternTruth {
    PatternTruth {
        rows: CELLS,
        columns: CELLS,
        sigma: 0.6,
        range: 0.15,
        total: 1200.0,
        kernel: Kernel::Exponential,
        anisotropy: Anisotropy::NONE,
    }
}

fn fit(counts: &Counts, covariates: Vec<Covariate>) -> Fit {
    let options = LgcpOptions { covariates, ..LgcpOptions::default() };
    let model = Arc::new(lgcp(counts, &options).expect("a model"));
    let settings = Settings { chains: 2, warmup: 300, draws: 300, seed: 4, ..Settings::default() };
    run(&model, &settings, &()).expect("a run")
}

/// A covariate that rises to the north-east in a wave and enters with coefficient `effect` per standard deviation.
#[test]
fn the_coefficient_of_a_covariate_is_recovered() {
    let directory =
        directory_with([("wave.csv", raster(|x, y| 40.0 * (5.0 * x).sin() + 90.0 * y))]);
    let wave = Raster::read(&directory.path().join("wave.csv"), ((0.0, 0.0), (1.0, 1.0))).unwrap();
    let field = simulate::lgcp(&truth(), 11).unwrap();
    let covariate = Covariate::new("wave", &wave, &field.counts).unwrap().0;
    let posterior = |effect: f64| {
        let mut rng = Stream::new(5, 0, 0, Purpose::Other).rng();
        let area = field.counts.grid().cell_area();
        let draw = |(x, z): (&f64, &f64)| {
            let rate = area * (x + effect * z).exp();
            Poisson::new(rate).expect("a rate").sample(&mut rng)
        };
        let counts = field.x.iter().zip(covariate.values()).map(draw).collect();
        let counts = Counts::from_vec(CELLS, CELLS, counts).unwrap();
        let summary = Summary::new(&fit(&counts, vec![covariate.clone()]));
        (summary.parameters["wave"].clone(), summary.parameters["wave_per_unit"].clone())
    };
    // Five posterior standard deviations either way: a false alarm in 1.7 million.
    let (standard, per_unit) = posterior(1.0);
    assert!((standard.mean - 1.0).abs() < 5.0 * standard.sd, "{standard:?}");
    assert!((per_unit.mean * covariate.sd() - standard.mean).abs() < 1e-9 * standard.mean);
    // It can tell: the same fit excludes an effect of nought, and a pattern without one excludes an effect of one.
    assert!(standard.mean > 5.0 * standard.sd, "{standard:?}");
    let (absent, _) = posterior(0.0);
    assert!(
        absent.mean.abs() < 5.0 * absent.sd && absent.mean + 5.0 * absent.sd < 1.0,
        "{absent:?}"
    );
}

/// Distance of two fields' means in units of their standard deviation, root mean square over cells well inside.
fn distance(a: &FieldMoments, b: &FieldMoments, inside: &[usize]) -> f64 {
    let square =
        |&cell: &usize| ((a.mean[cell] - b.mean[cell]) / a.sd[cell].hypot(b.sd[cell])).powi(2);
    (inside.iter().map(square).sum::<f64>() / inside.len() as f64).sqrt()
}

#[test]
fn a_polygon_sees_what_the_rectangle_sees() {
    let octagon = polygon![
        (x: 0.0, y: 0.2), (x: 0.2, y: 0.0), (x: 0.8, y: 0.0), (x: 1.0, y: 0.2),
        (x: 1.0, y: 0.8), (x: 0.8, y: 1.0), (x: 0.2, y: 1.0), (x: 0.0, y: 0.8),
    ];
    let fields = |seed: u64| {
        let drawn = simulate::lgcp(&truth(), seed).unwrap();
        let points = Points::new("simulated", drawn.points, None).unwrap();
        let square = Window::rectangle((0.0, 0.0), (1.0, 1.0), None).unwrap();
        let window = Window::new("octagon", vec![octagon.clone()], None).unwrap();
        [square, window].map(|window| {
            let pattern = Pattern::new(&points, window, Resolution::Cells(CELLS)).unwrap();
            (FieldMoments::new(&fit(&pattern.counts, vec![])), pattern.counts)
        })
    };
    let [(square, all), (window, part)] = fields(7);
    assert!(part.total() < all.total() && part.observed_cells() < all.observed_cells());
    let inside: Vec<usize> = (0..CELLS * CELLS)
        .filter(|cell| {
            (3..CELLS - 3).contains(&(cell / CELLS)) && (3..CELLS - 3).contains(&(cell % CELLS))
        })
        .collect();
    let same = distance(&square, &window, &inside);
    // Both saw the same points there and differ by what the corners say: far less than their uncertainty. Another pattern
    // differs by more than that.
    assert!(same < 0.25, "{same}");
    let [(other, _), _] = fields(8);
    assert!(distance(&square, &other, &inside) > 0.7);
}

/// Every family of covariances finds its own field again.
#[test]
fn fields_of_every_family_are_recovered() {
    let slanting = Anisotropy::new(30.0, 2.5).unwrap();
    let along = Anisotropy::new(90.0, 2.5).unwrap();
    let mut families: Vec<(Kernel, Anisotropy)> =
        Kernel::ALL.into_iter().map(|kernel| (kernel, Anisotropy::NONE)).collect();
    families.extend([
        (Kernel::Exponential, slanting),
        (Kernel::Matern1, slanting),
        (Kernel::Gaussian, along),
    ]);
    for (kernel, anisotropy) in families {
        let name = format!("{kernel:?} {anisotropy:?}");
        let truth = PatternTruth { sigma: 1.0, range: 0.2, kernel, anisotropy, ..truth() };
        let drawn = simulate::lgcp(&truth, 21).unwrap();
        let options = LgcpOptions { kernel, anisotropy, ..LgcpOptions::default() };
        let model = Arc::new(lgcp(&drawn.counts, &options).unwrap());
        let settings =
            Settings { chains: 2, warmup: 300, draws: 300, seed: 4, ..Settings::default() };
        let fit = run(&model, &settings, &()).unwrap();
        let summary = Summary::new(&fit);
        let within = |name: &str, value: f64| {
            // Five posterior standard deviations of the logarithm either way: a false alarm in 1.7 million.
            let one = &summary.parameters[name];
            (one.mean / value).ln().abs() < 5.0 * one.sd / one.mean
        };
        assert!(within("sigma", 1.0) && within("range", 0.2), "{name}: {:?}", summary.parameters);
        let field = FieldMoments::new(&fit);
        let error = |x: &[f64]| {
            let cells = field.mean.iter().zip(&field.sd).zip(x);
            let square = cells.map(|((mean, sd), x)| ((mean - x) / sd).powi(2)).sum::<f64>();
            (square / x.len() as f64).sqrt()
        };
        // Standardised errors of 256 dependent cells: near one if mean and standard deviation are right.
        let own = error(&drawn.x);
        assert!((0.6..1.5).contains(&own), "{name}: {own}");
        let other = simulate::lgcp(&truth, 22).unwrap();
        assert!(error(&other.x) > 2.0, "{name}: another field passes");
    }
}
