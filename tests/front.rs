//! Holds the names a program uses first to what they promise: the draws of the calls below them, data from slices, early stops.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use sshmc::data::Covariate;
use sshmc::model::{LgcpOptions, funnel, lgcp};
use sshmc::prelude::*;
use sshmc::sample::{Ended, run};
use sshmc::{Error, Settings, Until};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const SIDE: usize = 8;

/// Counts without symmetry.
fn counts() -> Vec<f64> {
    (0..SIDE * SIDE).map(|cell| ((7 * cell * cell + 3 * cell) % 11 / 3) as f64).collect()
}

fn elevation() -> Vec<f64> {
    (0..SIDE * SIDE).map(|cell| (0.3 * cell as f64).cos() * 40.0 + 200.0).collect()
}

fn small() -> Sampler {
    Sampler::default().chains(2).warmup(60).draws(40).seed(9)
}

/// Draws of everything, to the last bit.
fn bits(fit: &Fit) -> Vec<u64> {
    let parameters = fit.chains.iter().flat_map(|chain| chain.parameters.iter().flatten().copied());
    parameters.chain(fit.field_mean()).chain(fit.field_sd()).map(f64::to_bits).collect()
}

#[test]
fn a_few_words_have_the_bits_of_the_calls_below_them() {
    let by_words = Lgcp::new(Counts::new(SIDE, SIDE, &counts()).unwrap())
        .kernel(Kernel::Matern32)
        .prior("range", Prior::pc(0.1, 0.05))
        .prior("sigma", "half-normal(1.5)")
        .covariate("elev", &elevation());
    let counts = Counts::from_vec(SIDE, SIDE, counts()).unwrap();
    let options = LgcpOptions {
        kernel: Kernel::Matern32,
        covariates: vec![Covariate::from_values("elev", elevation(), &counts).unwrap()],
        priors: vec!["range=pc(0.1,0.05)".into(), "sigma=half-normal(1.5)".into()],
        ..LgcpOptions::default()
    };
    let settings =
        Settings { chains: 2, warmup: 60, draws: 40, seed: 9, until: None, ..Settings::default() };
    let below = run(&Arc::new(lgcp(&counts, &options).unwrap()), &settings, &()).unwrap();
    let fit = by_words.fit(&small()).unwrap();
    assert_eq!(bits(&fit), bits(&below));
    let other = by_words.fit(&small().seed(10)).unwrap();
    assert_ne!(bits(&fit), bits(&other), "the seed counts");
}

#[test]
fn a_fit_tells_what_was_learnt() {
    let fit = Lgcp::new(Counts::new(SIDE, SIDE, &counts()).unwrap())
        .covariate("elev", &elevation())
        .exceed(20.0)
        .fit(&small())
        .unwrap();
    assert_eq!(fit.names(), ["sigma", "range", "mu", "elev", "elev_per_unit"]);
    let sigma = fit.draws("sigma").unwrap();
    let mean = sigma.iter().sum::<f64>() / 80.0;
    assert_eq!(sigma.len(), 80);
    assert!((mean - fit.summary().parameters["sigma"].mean).abs() < 1e-12 * mean);
    let [elev, per_unit] = ["elev", "elev_per_unit"].map(|name| fit.draws(name).unwrap());
    let factor = per_unit[3] / elev[3];
    assert!(
        factor > 0.0 && elev.iter().zip(&per_unit).all(|(a, b)| (a * factor - b).abs() < 1e-12)
    );
    let message = fit.draws("sigmo").unwrap_err().to_string();
    assert!(message.contains("one of sigma, range, mu") && message.contains("sigmo"), "{message}");
    // Every draw has its field, and their mean is that of the map.
    let all: Vec<_> = fit.iter().collect();
    assert_eq!(all.len(), 80);
    assert_eq!((all[41].chain(), all[41].number()), (1, 1));
    assert_eq!(all[41].value("sigma").unwrap(), sigma[41]);
    let site = all.iter().map(|draw| f64::from(draw.field().unwrap()[5])).sum::<f64>() / 80.0;
    assert!((site - fit.field_mean()[5]).abs() < 1e-5, "{site}");
    // The mean of an exponential is above the exponential of the mean.
    let intensity = fit.intensity_mean().unwrap();
    assert!(intensity.iter().zip(fit.field_mean()).all(|(mean, log)| *mean >= log.exp()));
    let above = fit.exceedance(20.0).unwrap();
    let want = all.iter().filter(|draw| draw.field().unwrap()[5] > 20f32.ln()).count();
    assert!((above[5] - want as f64 / 80.0).abs() < 1e-9, "{} {want}", above[5]);
    assert!(fit.exceedance(21.0).is_none());
    let text = fit.summary().to_string();
    assert!(text.contains("elev_per_unit") && text.contains("verdict: "), "{text}");
    let mut csv = Vec::new();
    fit.write_csv(&mut csv).unwrap();
    assert_eq!(String::from_utf8(csv).unwrap().lines().count(), 81);
}

#[test]
fn what_is_not_kept_of_a_draw_is_not_there() {
    let sparse = small().field_memory(4 * SIDE * SIDE * 2 * 10);
    let fit = Lgcp::new(Counts::new(SIDE, SIDE, &counts()).unwrap()).fit(&sparse).unwrap();
    let stride = fit.chains[0].field.field_stride();
    assert!(stride > 1);
    let kept: Vec<bool> = fit.iter().map(|draw| draw.field().is_some()).collect();
    let want: Vec<bool> = (0..80).map(|t| (t % 40) % stride == 0).collect();
    assert_eq!(kept, want);
}

#[test]
fn exposure_points_and_windows_come_from_slices() {
    let mut exposure = vec![2.0; SIDE * SIDE];
    let zero = counts().iter().position(|&y| y == 0.0).unwrap();
    exposure[zero] = 0.0;
    let exposed = Counts::new(SIDE, SIDE, &counts()).unwrap().with_exposure(&exposure).unwrap();
    assert!(!exposed.observed()[zero] && exposed.observed_cells() == SIDE * SIDE - 1);
    assert_eq!((exposed.exposure()[zero], exposed.exposure()[zero + 1]), (0.0, 2.0));
    let seen = counts().iter().position(|&y| y > 0.0).unwrap();
    for (cell, value) in [(seen, 0.0), (seen, -1.0), (zero, f64::NAN)] {
        let mut bad = exposure.clone();
        bad[cell] = value;
        let error = Counts::new(SIDE, SIDE, &counts()).unwrap().with_exposure(&bad).unwrap_err();
        assert!(error.to_string().starts_with("exposure, cell ("), "{error}");
    }
    let short = Counts::new(SIDE, SIDE, &counts()).unwrap().with_exposure(&exposure[1..]);
    assert!(short.unwrap_err().to_string().contains("64 values"));
    let window = Window::polygon(&[(0.0, 0.0), (4.0, 0.0), (0.0, 4.0)], &[]).unwrap();
    let places = [(0.5, 0.5), (0.6, 0.2), (2.5, 0.5), (3.9, 3.9)];
    let counted = Counts::from_points(&places, &window, Resolution::Cells(4)).unwrap();
    assert_eq!((counted.total(), counted.counts()[0]), (3.0, 2.0));
    // Half of the cells on the edge is inside, and twice as much is seen there.
    let exposed = counted.with_exposure(&[2.0; 16]).unwrap();
    assert_eq!((exposed.exposure()[0], exposed.exposure()[3]), (2.0, 1.0));
    assert!(Counts::from_points(&[], &window, Resolution::Cells(4)).is_err());
}

#[test]
fn cells_without_a_covariate_are_left_out_and_said() {
    let mut elevation = elevation();
    (elevation[3], elevation[12]) = (f64::NAN, f64::INFINITY);
    let lgcp = Lgcp::new(Counts::new(SIDE, SIDE, &counts()).unwrap());
    let model = lgcp.covariate("elev", &elevation).model(&Device::cpu()).unwrap();
    let lost = counts()[3] + counts()[12];
    let said = format!("2 cells with {lost} points count as not observed");
    assert!(model.notes().iter().any(|note| note.contains(&said)), "{:?}", model.notes());
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let lgcp = || Lgcp::new(Counts::new(SIDE, SIDE, &counts()).unwrap());
    let refused = [
        (lgcp().prior("rnge", Prior::pc(0.1, 0.05)).fit(&small()), "rnge"),
        (lgcp().prior("range", Prior::normal(0.0, -1.0)).fit(&small()), "sd"),
        (lgcp().prior("mu", Prior::pc(0.1, 0.05)).fit(&small()), "pc on sigma or range"),
        (lgcp().covariate("elev", &[1.0, 2.0]).fit(&small()), "64 values"),
        (lgcp().covariate("mu", &elevation()).fit(&small()), "mu"),
        (lgcp().exceed(-1.0).fit(&small()), "positive intensity"),
        (lgcp().mu(f64::NAN).fit(&small()), "finite"),
        (lgcp().fit(&small().chains(0)), "chains"),
        (Funnel::new(0).fit(&small()), "at least"),
    ];
    for (fit, word) in refused {
        let message = fit.map(drop).unwrap_err().to_string();
        assert!(message.contains(word) && !message.contains('\n'), "{word}: {message}");
    }
    assert!(Counts::new(2, 2, &[0u8, 1, 2]).is_err() && Counts::new(2, 2, &[0u8, 1, 2, 3]).is_ok());
    assert!(Returns::new(&[0.1, f64::NAN]).is_err());
    assert!(GroupedTable::new(&["a"], &["x"], &[1.0], &[true, false]).is_err());
}

/// Stops when both chains together have told of so many transitions. One alone makes 360, 60 of them to warm up.
fn stopping(after: u32) -> Sampler {
    let told = AtomicU32::new(0);
    small().threads(2).draws(300).progress(move |_| {
        match told.fetch_add(1, Ordering::Relaxed) < after {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    })
}

#[test]
fn a_fit_that_is_stopped_has_the_draws_so_far() {
    let whole = Funnel::new(5).fit(&small().draws(300)).unwrap();
    let fit = Funnel::new(5).fit(&stopping(320)).unwrap();
    let made = fit.settings.draws as usize;
    assert_eq!(fit.ended, Ended::Stopped);
    assert!(made > 0 && made < 300, "{made}");
    assert!(!fit.chains.is_empty() && fit.chains.len() == fit.settings.chains as usize);
    for chain in &fit.chains {
        let same = whole.chains.iter().find(|own| own.chain == chain.chain).unwrap();
        assert_eq!(chain.parameters[0], same.parameters[0][..made]);
        assert_eq!(chain.energy, same.energy[..made]);
        assert!(chain.field.fields().eq(same.field.fields().take(made)));
        assert!(chain.field.count() >= made as u64 && chain.gradients > 0);
    }
    let summary = fit.summary();
    assert_eq!((summary.ended.as_str(), summary.draws as usize), ("stopped", made));
    assert!(summary.to_string().contains("because it was asked to stop"));
    // Nothing was drawn yet.
    let early = Funnel::new(5).fit(&stopping(20));
    assert!(matches!(early, Err(Error::Stopped)));
    // A map has a pilot run, whose coordinates the draws so far keep.
    let map = Lgcp::new(Counts::new(SIDE, SIDE, &counts()).unwrap());
    let (whole, fit) = (map.fit(&small()).unwrap(), map.fit(&stopping(300)).unwrap());
    assert_eq!((fit.ended, fit.coordinates), (Ended::Stopped, whole.coordinates));
    assert!(fit.intensity_mean().is_some());
}

#[test]
fn progress_that_never_breaks_changes_nothing() {
    let told = Arc::new(AtomicU32::new(0));
    let counter = told.clone();
    let watched = small().progress(move |step| {
        assert!(step.transitions >= 1 && step.draws == step.transitions.saturating_sub(60));
        assert_eq!(step.values.len(), 1);
        counter.fetch_add(1, Ordering::Relaxed);
        ControlFlow::Continue(())
    });
    let (fit, plain) =
        (Funnel::new(5).fit(&watched).unwrap(), Funnel::new(5).fit(&small()).unwrap());
    assert_eq!(bits(&fit), bits(&plain));
    assert_eq!(told.load(Ordering::Relaxed), 200);
}

#[test]
fn samplers_say_when_to_end() {
    let sampler = Sampler::default();
    assert_eq!(sampler.settings().until, Some(Until::default()));
    assert_eq!(sampler.clone().draws(70).settings().until, None);
    let settings = sampler.clone().at_most(200).settings().clone();
    assert_eq!((settings.most_draws(), settings.draws), (200, 200));
    let settings = sampler.method(Method::Nuts).settings().clone();
    assert_eq!(settings.until, Some(Until::default()), "every method draws until it is trusted");
    let own = Arc::new(funnel(4, &["v=normal(0,2)".into()]).unwrap());
    let fit = small().fit(own).unwrap();
    let same = Funnel::new(4).prior("v", Prior::normal(0.0, 2.0)).fit(&small()).unwrap();
    assert_eq!(bits(&fit), bits(&same));
}

#[cfg(feature = "archive")]
#[test]
fn what_is_saved_can_be_read_and_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fit");
    let map = Lgcp::new(Counts::new(SIDE, SIDE, &counts()).unwrap());
    let fit = map.fit(&small()).unwrap();
    fit.save(&path).unwrap();
    fit.save(&path).unwrap();
    let stored = sshmc::archive::Archive::fields(&path.join("draws.zarr")).unwrap();
    assert_eq!((stored.chains, stored.per_chain, stored.sites), (2, 40, SIDE * SIDE));
    let last = fit.iter().last().unwrap();
    assert_eq!(stored.values[79 * SIDE * SIDE..], *last.field().unwrap());
    let field = std::fs::read_to_string(path.join("field.csv")).unwrap();
    assert!(field.starts_with("i,j,mean,sd\n0,0,") && field.lines().count() == 65);
    for file in ["summary.json", "hyperparameters.csv"] {
        assert!(path.join(file).exists(), "{file}");
    }
    // Stopped early, after some of the draws.
    let stopped = map.fit(&stopping(300)).unwrap();
    stopped.save(directory.path().join("stopped")).unwrap();
    let series = Volatility::new(Returns::new(&[0.1, -0.2, 0.05, 0.3]).unwrap());
    series.fit(&small()).unwrap().save(directory.path().join("series")).unwrap();
    // A directory that holds something else is not touched.
    std::fs::write(directory.path().join("note.txt"), "mine").unwrap();
    assert!(fit.save(directory.path()).is_err());
}
