//! Runs the examples, checks the likelihood that one of them brings, and holds what they learn against the truth.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

#[path = "../examples/counts_in_memory.rs"]
mod counts_in_memory;
#[path = "../examples/custom_model.rs"]
mod custom_model;
#[allow(dead_code, reason = "its main reads the command line of the tests")]
#[path = "../examples/lgcp_gpu.rs"]
mod lgcp_gpu;
#[path = "../examples/quickstart.rs"]
mod quickstart;
#[path = "../examples/returns_on_own_device.rs"]
mod returns_on_own_device;
#[path = "../examples/scattered_counts.rs"]
mod scattered_counts;

use custom_model::{NegativeBinomial, TRUTH};
use sshmc::likelihood::{Curvature, Likelihood};
use sshmc::{Device, Sampler, Settings, Summary};

/// Step of the five-point differences. Their error is h⁴ f⁽⁵⁾/30 plus rounding of about eps f/h.
const STEP: f64 = 1e-3;

fn difference(f: impl Fn(f64) -> f64) -> f64 {
    let at = |steps: f64| f(steps * STEP);
    (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * STEP)
}

/// Bound on a five-point difference of a function of this size, whose derivatives are no larger.
fn bound(size: f64) -> f64 {
    size * (STEP.powi(4) + 16.0 * f64::EPSILON / STEP)
}

fn evaluate(likelihood: &NegativeBinomial, eta: &[f64]) -> (f64, Vec<f64>) {
    let mut gradient = vec![f64::NAN; eta.len()];
    let value = likelihood.evaluate(eta, &[], &mut gradient, &mut []);
    (value, gradient)
}

const ETA: [f64; 5] = [-3.1, -0.4, 0.9, 1.7, 3.2];

fn likelihood() -> NegativeBinomial {
    NegativeBinomial { counts: vec![0.0, 2.0, 1.0, 11.0, 7.0], size: 2.3 }
}

#[test]
fn the_custom_gradient_is_the_derivative() {
    let likelihood = likelihood();
    let (value, gradient) = evaluate(&likelihood, &ETA);
    let bound = bound(1.0 + value.abs());
    let wanted = |i: usize| {
        difference(|d| {
            let mut eta = ETA;
            eta[i] += d;
            evaluate(&likelihood, &eta).0
        })
    };
    for (i, &got) in gradient.iter().enumerate() {
        let want = wanted(i);
        assert!((got - want).abs() < bound, "site {i}: {got} against {want}, bound {bound:e}");
        // A wrong sign must not pass.
        assert!((got + want).abs() > bound, "site {i} cannot tell a sign");
    }
}

#[test]
fn the_custom_curvature_is_the_expected_one() {
    // The gradient is linear in y, so with counts equal to their means its derivative is the expectation wanted.
    let size = 2.3;
    let mean: Vec<f64> = ETA.iter().map(|eta| eta.exp()).collect();
    let at_mean = NegativeBinomial { counts: mean, size };
    let Curvature::Sites(curvature) = at_mean.curvature(&ETA, &[]) else {
        panic!("one value a site")
    };
    for (i, got) in curvature.into_iter().enumerate() {
        let want = difference(|d| {
            let mut eta = ETA;
            eta[i] += d;
            evaluate(&at_mean, &eta).1[i]
        });
        let bound = bound(1.0 + at_mean.counts[i]);
        assert!((got - want).abs() < bound, "site {i}: {got} against {want}, bound {bound:e}");
    }
}

#[test]
fn the_custom_likelihood_does_not_overflow() {
    let (value, gradient) = evaluate(&likelihood(), &[-800.0, 800.0, 0.0, 0.0, 0.0]);
    assert!(value.is_finite() && gradient.iter().all(|g| g.is_finite()), "{value} {gradient:?}");
}

/// Whether the truth lies within five posterior standard deviations: a sanity bound that no seed should break.
fn recovers(summary: &Summary, name: &str, truth: f64) {
    let p = &summary.parameters[name];
    let distance = (p.mean - truth).abs() / p.sd;
    assert!(distance < 5.0, "{name}: {} ± {} against {truth}", p.mean, p.sd);
    assert!(p.rhat < 1.1, "{name}: R-hat {}", p.rhat);
}

fn small() -> Settings {
    Settings { chains: 2, warmup: 300, draws: 500, ..Settings::default() }
}

#[test]
fn the_custom_model_recovers_its_truth_and_tells_series_apart() {
    let counts = custom_model::simulate(300, 1).unwrap();
    let summary = custom_model::fit(counts.clone(), &small()).unwrap();
    for (name, truth) in TRUTH {
        recovers(&summary, name, truth);
    }
    // Ten times the counts must move mu by about log 10, which is far outside the posterior.
    let tenfold = custom_model::fit(counts.iter().map(|y| 10.0 * y).collect(), &small()).unwrap();
    let moved = tenfold.parameters["mu"].mean - summary.parameters["mu"].mean;
    let sd = tenfold.parameters["mu"].sd.hypot(summary.parameters["mu"].sd);
    assert!((moved - 10f64.ln()).abs() < 5.0 * sd && moved > 2.0 * sd, "{moved} ± {sd}");
}

#[test]
fn the_quickstart_finds_sigma_and_range() {
    let summary = quickstart::fit(&small().into()).unwrap().summary();
    recovers(&summary, "sigma", 1.2);
    recovers(&summary, "range", 0.15);
}

#[test]
fn the_quickstart_goes_on_until_it_is_to_be_trusted() {
    let summary = quickstart::fit(&Sampler::default()).unwrap().summary();
    assert!(summary.warnings.is_empty(), "{:#?}", summary.warnings);
    assert_eq!(summary.ended, "trusted");
}

#[test]
fn the_gpu_example_runs_on_its_own_grid() {
    // As few draws as have figures, and far too few to learn anything: what runs is the whole of the example on its own grid. Other tests audit
    // the energies of such grids.
    let device =
        Device::gpu().unwrap_or_else(|error| panic!("this test needs an adapter: {error}"));
    let (summary, truth) = lgcp_gpu::fit(device.clone(), 4).unwrap();
    assert_eq!((summary.device.as_str(), summary.draws), (device.name().as_str(), 4));
    assert_eq!(summary.field.n, 128 * 128);
    assert!(summary.parameters.keys().eq(truth.keys()), "{truth:?}");
    assert!(summary.parameters.values().all(|p| p.mean.is_finite()), "{:?}", summary.parameters);
    assert!(summary.sampler.gradients >= 4 * u64::from(summary.chains), "{:?}", summary.sampler);
    assert!(summary.warnings.iter().all(|w| !w.contains("suspect")), "{:?}", summary.warnings);
}

#[test]
fn counts_in_memory_give_the_same_map_on_both_devices() {
    let fit = |device| {
        let sampler = Sampler::default().device(device).chains(4).draws(250);
        counts_in_memory::fit(&sampler).unwrap()
    };
    let (cpu, gpu) = (fit(Device::cpu()), fit(Device::gpu().unwrap()));
    assert!(cpu.device == "cpu" && gpu.device != "cpu", "{} {}", cpu.device, gpu.device);
    for name in ["sigma", "range", "mu", "elevation", "elevation_per_unit"] {
        let (a, b) = (&cpu.summary().parameters[name], &gpu.summary().parameters[name]);
        let error = a.mcse_mean.hypot(b.mcse_mean);
        assert!((a.mean - b.mean).abs() < 6.0 * error, "{name}: {} {} ± {error}", a.mean, b.mean);
    }
    // More where it is high, and in the corner.
    assert!(cpu.summary().parameters["elevation"].q05 > 0.0);
    let (map, other) = (cpu.field_mean(), gpu.field_mean());
    let difference = map.iter().zip(&other).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let spread = cpu.field_sd().into_iter().fold(0.0, f64::max);
    // Means of some hundred effective draws each are within half a standard deviation of each other.
    assert!(difference < 0.5 * spread, "{difference} of {spread}");
    assert!(map[0] > map[10], "{} {}", map[0], map[10]);
}

/// A size and a slope drawn with the field, in a model whose posterior means may miss the truth by six of their standard deviations.
#[test]
fn the_size_of_scattered_counts_is_learnt_on_both_devices() {
    let fit = |device| {
        scattered_counts::fit(&Sampler::default().device(device).chains(4).draws(250)).unwrap()
    };
    let (cpu, gpu) = (fit(Device::cpu()), fit(Device::gpu().unwrap()));
    assert!(cpu.device == "cpu" && gpu.device != "cpu", "{} {}", cpu.device, gpu.device);
    let truths = [("size", scattered_counts::SIZE), ("moisture", scattered_counts::SLOPE)];
    for (name, truth) in truths {
        let (a, b) = (&cpu.summary().parameters[name], &gpu.summary().parameters[name]);
        let error = a.mcse_mean.hypot(b.mcse_mean);
        assert!((a.mean - b.mean).abs() < 6.0 * error, "{name}: {} {} ± {error}", a.mean, b.mean);
        assert!((a.mean - truth).abs() < 6.0 * a.sd, "{name}: {} ± {}", a.mean, a.sd);
        // It is the data that say so: a Poisson law would have an infinite size.
        assert!(a.sd < 0.5 * truth, "{name}: {}", a.sd);
    }
    assert!(gpu.audit.is_some_and(|audit| audit.worst < 0.05), "{:?}", gpu.audit);
}

#[test]
fn returns_are_fitted_on_a_device_that_stays_the_callers() {
    let fit = returns_on_own_device::fit(150).unwrap();
    assert_ne!(fit.device, "cpu");
    let volatility = fit.field_mean();
    let mean = |days: std::ops::Range<usize>| volatility[days].iter().sum::<f64>() / 25.0;
    // Stormy weeks after calm ones.
    assert!(mean(25..50) > mean(0..25) + 1.0 && mean(75..100) > mean(100..125) + 1.0);
    assert!(fit.audit.is_some_and(|audit| audit.worst < 0.05), "{:?}", fit.audit);
}

#[test]
fn the_other_examples_run_as_they_stand() {
    custom_model::main().unwrap();
    quickstart::main().unwrap();
    counts_in_memory::main().unwrap();
    returns_on_own_device::main().unwrap();
    scattered_counts::main().unwrap();
}
