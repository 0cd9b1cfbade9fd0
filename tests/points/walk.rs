//! Walks from points to maps, predictions and comparisons, and from prices to forecasts.

use super::cli::{SHORT, directory_with, succeed};
use super::{WINDOW, clumps, csv, raster};
use sshmc::archive::Archive;
use sshmc::data::{Crs, Raster};
use std::fs;
use std::path::Path;

fn read(directory: &Path, name: &str) -> String {
    fs::read_to_string(directory.join(name)).expect(name)
}

#[test]
fn points_become_maps_predictions_and_comparisons() {
    let mut points = clumps();
    points.push((3.0, 3.0));
    let directory = directory_with([
        ("points.csv", csv(&points)),
        ("window.geojson", WINDOW.to_owned()),
        ("slope.csv", raster(|x, y| 100.0 * x + 3.0 * y)),
    ]);
    let here = directory.path();
    let fit = format!(
        "fit lgcp --points points.csv --window window.geojson --grid 8 --crs EPSG:3310 --hold-out 0.3 {SHORT}"
    );
    let printed = succeed(
        here,
        &format!("{fit} --covariate slope=slope.csv --exceed 50 --exceed 1.5x --out a"),
    );
    for part in ["1 of 61 points lie outside", "slope_per_unit", "report.html", "are held out"] {
        assert!(printed.contains(part), "no `{part}` in {printed}");
    }
    succeed(here, &format!("{fit} --out b"));
    let map =
        Raster::read(&here.join("a/maps/exceedance_50.tif"), ((0.0, 0.0), (1.0, 1.0))).unwrap();
    assert_eq!(map.crs(), Some(&Crs::Epsg(3310)));
    assert_eq!(map.bounds(), ((0.0, 0.0), (1.0, 1.0)));
    let fields = Archive::fields(&here.join("a/draws.zarr")).unwrap();
    assert_eq!([fields.chains, fields.per_chain, fields.sites], [2, 40, 64]);
    // The intensity at a level is exceeded alike whether it is counted while sampling or later.
    let during = fs::read(here.join("a/maps/exceedance_50.tif")).unwrap();
    succeed(here, "map a --exceed 50 --exceed 3x");
    assert_eq!(fs::read(here.join("a/maps/exceedance_50.tif")).unwrap(), during);
    assert!(read(here, "a/report.html").contains("alt=\"exceedance_3x\""));
    // A level that nothing reaches is said to be one, in its unit.
    let printed = succeed(here, "map a --exceed 1e9");
    assert!(printed.contains("note: no draw of the intensity is above"), "{printed}");
    assert!(printed.contains("per square metre anywhere; the mean over the data is"), "{printed}");
    assert!(read(here, "a/report.html").contains("per square metre, the unit of files and levels"));
    succeed(here, "predict a --patterns 3");
    assert_eq!(read(here, "a/predictions/counts.csv").lines().count(), 65);
    let patterns = read(here, "a/predictions/patterns.csv");
    assert!((0..3).all(|k| patterns.contains(&format!("\n{k},"))));
    let compared = succeed(here, "compare a b");
    for part in ["log score of the points held out", "verdict of B", "sigma"] {
        assert!(compared.contains(part), "no `{part}` in {compared}");
    }
    let same = succeed(here, "compare a a");
    assert!(same.contains("B minus A 0.00 ± 0.00"), "{same}");
    // The directory with its later files is still ours to replace.
    succeed(here, &format!("{fit} --quiet --out a"));
    assert!(!here.join("a/predictions").exists());
}

#[test]
fn the_two_scales_of_a_coefficient_belong_together() {
    let directory =
        directory_with([("points.csv", csv(&clumps())), ("slope.csv", raster(|x, _| 1000.0 * x))]);
    let here = directory.path();
    succeed(
        here,
        &format!(
            "fit lgcp --points points.csv --grid 6 --covariate slope=slope.csv {SHORT} -q --out a"
        ),
    );
    let summary: serde_json::Value = serde_json::from_str(&read(here, "a/summary.json")).unwrap();
    let mean = |name: &str| summary["parameters"][name]["mean"].as_f64().expect("a mean");
    let ratio = mean("slope") / mean("slope_per_unit");
    // Coordinates spread evenly over a width of about 0.86 have standard deviation 0.86 / √12 = 0.25.
    assert!((200.0..300.0).contains(&ratio), "{ratio}");
}

#[test]
fn prices_become_forecasts_one_by_one_and_in_a_batch() {
    let mut text = String::from("date,a,b\n");
    let (mut a, mut b) = (100.0, 50.0);
    for k in 0..80u32 {
        let wave = |step: f64| ((f64::from(k) * step).fract() - 0.5) * 0.04;
        (a, b) = (a * (1.0 + wave(0.7548)), b * (1.0 + wave(0.5698)));
        text += &format!("{k},{a},{b}\n");
    }
    let directory = directory_with([("prices.csv", text)]);
    let here = directory.path();
    succeed(
        here,
        &format!("fit sv --returns prices.csv --price-column a {SHORT} --quiet --out one"),
    );
    succeed(here, "predict one --horizon 7");
    let forecast = read(here, "one/predictions/forecast.csv");
    assert_eq!(forecast.lines().count(), 8);
    let printed = succeed(
        here,
        &format!(
            "fit sv --returns prices.csv --price-column a --price-column b {SHORT} --out both"
        ),
    );
    assert!(printed.contains("2 series") && printed.contains("\nb,"), "{printed}");
    assert_eq!(read(here, "both/series.csv").lines().count(), 3);
    // A series in a batch has the draws it has alone.
    assert_eq!(read(here, "both/a/hyperparameters.csv"), read(here, "one/hyperparameters.csv"));
    assert!(read(here, "both/b/report.html").contains("returns of b"));
    succeed(here, "report both/b");
}
