//! Refuses every unusable input in one line that says where, what and what to do, and writes nothing.

use super::cli::{SHORT, directory_with, names, refused, succeed};
use super::{WINDOW, clumps, csv, raster};
use sshmc::data::{Crs, Grid, write_geotiff};
use std::fs::{self, File};

fn files() -> Vec<(&'static str, String)> {
    let layer = |crs: &str, geometry: &str| {
        format!(
            r#"{{"type":"Feature","crs":{{"type":"name","properties":{{"name":"{crs}"}}}},"properties":{{}},"geometry":{geometry}}}"#
        )
    };
    let far = WINDOW
        .replace("0.", "7.")
        .replace("[1,", "[9,")
        .replace(",1]", ",9]")
        .replace("[0,", "[7,")
        .replace(",0]", ",7]");
    let points = r#"{"type":"MultiPoint","coordinates":[[0.1,0.1],[0.2,0.7],[0.6,0.4],[0.9,0.3],[0.5,0.2]]}"#;
    vec![
        ("points.csv", csv(&clumps())),
        ("window.geojson", WINDOW.to_owned()),
        ("short.csv", "x,y\n0.1,0.2\n0.3\n".into()),
        ("words.csv", "x,y\n0.1,0.2\n0.3,north\n".into()),
        ("missing.csv", "x,y\n0.1,0.2\n,0.4\n".into()),
        ("named.csv", "east,north\n0.1,0.2\n0.3,0.4\n".into()),
        ("empty.csv", String::new()),
        ("header.csv", "x,y\n".into()),
        ("line.csv", "x,y\n0.5,0.2\n0.5,0.4\n".into()),
        ("lonlat.csv", "lon,lat\n0.1,0.2\n0.3,0.4\n".into()),
        ("degrees.csv", "x,y\n-120.1,35.2\n-119,36.1\n-118.4,36.9\n".into()),
        ("points.geojson", layer("EPSG:3310", points)),
        ("plain.geojson", points.to_owned()),
        (
            "bow.geojson",
            r#"{"type":"Polygon","coordinates":[[[0,0],[1,1],[1,0],[0,1],[0,0]]]}"#.into(),
        ),
        ("open.geojson", r#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}"#.into()),
        ("road.geojson", r#"{"type":"LineString","coordinates":[[0,0],[1,1]]}"#.into()),
        ("text.geojson", "{\"type\":\n\"Polygon\",, }".into()),
        ("far.geojson", far),
        ("utm.geojson", layer("EPSG:32633", WINDOW)),
        ("slope.csv", raster(|x, _| x)),
        (
            "corner.csv",
            raster(|x, y| x + y)
                .lines()
                .filter(|l| {
                    !l.starts_with("0.5")
                        && !l.starts_with("0.6")
                        && !l.starts_with("0.7")
                        && !l.starts_with("0.8")
                        && !l.starts_with("0.9")
                })
                .map(|l| format!("{l}\n"))
                .collect(),
        ),
        ("flat.csv", raster(|_, _| 4.0)),
        ("negative.csv", raster(|x, _| x - 0.5)),
        ("void.csv", raster(|_, _| f64::NAN)),
        ("scattered.csv", "x,y,value\n0,0,1\n1,0,1\n0,1,1\n0.37,0.21,2\n0.9,0.77,3\n".into()),
        ("garbage.tif", "no picture".into()),
        ("garbage.npy", "no array".into()),
        ("picture.jpg", "no raster".into()),
        ("prices.csv", "date,close\n1,10\n2,0\n3,12\n".into()),
        ("steady.csv", "date,close\n1,10\n2,10\n3,10\n".into()),
    ]
}

/// What is typed after `fit lgcp --points`, and parts of the answer.
const POINTS: [(&str, &[&str]); 51] = [
    ("absent.csv", &["cannot read absent.csv"]),
    ("empty.csv", &["empty.csv", "an empty file"]),
    ("header.csv", &["header.csv", "rows below the header"]),
    ("short.csv", &["short.csv, line 3", "2 fields"]),
    ("words.csv", &["words.csv, line 3", "`north`"]),
    ("missing.csv", &["missing.csv, line 3", "an empty field"]),
    ("named.csv", &["a column `x`", "give --x-column one of `east`, `north`"]),
    ("points.csv --x-column lon", &["a column `lon`", "give --x-column one of `x`, `y`"]),
    ("points.csv --y-column lat", &["a column `lat`", "give --y-column one of `x`, `y`"]),
    ("named.csv --x-column est --y-column north", &["did you mean `east`"]),
    ("line.csv", &["on a line or in one place", "--window"]),
    ("lonlat.csv --x-column lon --y-column lat", &["longitude", "--allow-degrees"]),
    ("degrees.csv", &["look like longitude and latitude", "--allow-degrees"]),
    ("points.csv --crs EPSG:4326", &["EPSG:4326", "degrees"]),
    ("points.csv --crs foo", &["--crs: expected AUTHORITY:CODE, got `foo`", "EPSG:5070"]),
    ("points.csv --crs=", &["--crs: expected AUTHORITY:CODE, got ``", "EPSG:5070"]),
    ("points.csv --crs EPSG:abc", &["--crs: expected AUTHORITY:CODE, got `EPSG:abc`"]),
    ("degrees.csv --crs EPSG:99999", &["look like longitude and latitude", "--allow-degrees"]),
    ("lonlat.csv --x-column lon --y-column lat --crs EPSG:99999", &["named for longitude"]),
    ("window.geojson", &["window.geojson: expected points", "1 polygons"]),
    ("points.csv --window absent.geojson", &["cannot read absent.geojson"]),
    ("points.csv --window bow.geojson", &["bow.geojson, polygon 1", "cross itself"]),
    ("points.csv --window open.geojson", &["closed rings", "an open one"]),
    ("points.csv --window road.geojson", &["expected a polygon", "LineString"]),
    ("points.csv --window text.geojson", &["text.geojson, line 2", "not JSON"]),
    ("points.csv --window points.geojson", &["expected a polygon", "5 points"]),
    ("points.csv --window far.geojson", &["points inside the window", "none of the 60"]),
    ("points.geojson --window utm.geojson", &["utm.geojson", "EPSG:3310", "got EPSG:32633"]),
    ("points.geojson --crs EPSG:32633", &["points.geojson", "EPSG:32633"]),
    ("points.csv --crs EPSG:3310 --covariate a=utm.tif", &["utm.tif", "got EPSG:32633"]),
    ("points.csv --grid 1", &["--grid", "at least 2"]),
    ("points.csv --grid 100000", &["--grid", "at most 2048"]),
    ("points.csv --grid 2048 --chains 1000", &["memory", "coarser grid"]),
    ("points.csv --cell 0", &["--cell", "positive"]),
    ("points.csv --cell 1e-9", &["grid", "larger --cell"]),
    ("points.csv --grid 8 --cell 1", &["--grid", "--cell"]),
    ("points.csv --counts points.csv", &["--counts", "--points"]),
    ("points.csv --covariate slope.csv", &["NAME=FILE", "elevation=dem.tif"]),
    ("points.csv --covariate sigma=slope.csv", &["not taken", "`sigma`"]),
    ("points.csv --covariate a=absent.tif", &["cannot read absent.tif"]),
    ("points.csv --covariate a=slope.csv --covariate a=slope.csv", &["each name once"]),
    ("points.csv --covariate a=flat.csv", &["a covariate that varies", "4 in every cell"]),
    ("points.csv --covariate a=void.csv", &["void.csv", "some values"]),
    ("points.csv --covariate a=corner.csv", &["corner.csv", "covers the window"]),
    ("points.csv --covariate a=scattered.csv", &["scattered.csv", "interpolate"]),
    ("points.csv --covariate a=garbage.tif", &["garbage.tif", "a GeoTIFF"]),
    ("points.csv --covariate a=garbage.npy", &["garbage.npy", "a NumPy file"]),
    ("points.csv --covariate a=picture.jpg", &["picture.jpg", "gdal_translate"]),
    ("points.csv --exposure negative.csv", &["negative.csv", "at least 0"]),
    ("points.csv --exceed none", &["--exceed", "2x"]),
    ("points.csv --hold-out 1.5", &["--hold-out", "between 0 and 1"]),
];

/// Other commands and parts of the answer; `fit` is a Cox process, `funnel` another model.
const OTHERS: [(&str, &[&str]); 14] = [
    ("fit sv --returns prices.csv --price-column close", &["prices.csv, line 3", "above 0"]),
    ("fit sv --returns steady.csv --price-column close", &["returns that vary"]),
    (
        "fit sv --returns prices.csv --price-column shut",
        &["a column `shut`", "give --price-column one of"],
    ),
    ("fit sv --returns prices.csv --price-column close --column date", &["--column"]),
    ("fit sv --returns prices.csv --column date --column date", &["different ones"]),
    ("report absent", &["absent", "nothing there"]),
    ("report .", &["without run.json"]),
    ("map fit --exceed -2", &["--exceed"]),
    ("map funnel --exceed 2", &["Cox process", "funnel"]),
    ("predict funnel", &["a fit of lgcp or sv"]),
    ("predict fit --horizon 5", &["--horizon: expected a fit of sv, got one of lgcp", "leave out"]),
    ("predict fit --patterns 0", &["--patterns", "at least 1"]),
    ("compare fit funnel", &["a fit of lgcp", "one of funnel"]),
    ("report old", &["layout 2", "layout 99"]),
];

#[test]
fn every_unusable_input_is_refused_in_one_line_and_leaves_nothing() {
    let directory = directory_with(files());
    let here = directory.path();
    let grid = Grid::new(4, 4, 0.25, (0.0, 0.0)).unwrap();
    let values: Vec<f64> = (0..16).map(f64::from).collect();
    let file = File::create(here.join("utm.tif")).unwrap();
    write_geotiff(&grid, &values, Some(&Crs::Epsg(32633)), file).unwrap();
    succeed(here, &format!("fit lgcp --points points.csv --grid 6 {SHORT} --quiet --out fit"));
    succeed(here, &format!("fit funnel --dim 3 {SHORT} --quiet --out funnel"));
    fs::create_dir(here.join("old")).unwrap();
    for name in ["summary.json", "hyperparameters.csv"] {
        fs::copy(here.join("fit").join(name), here.join("old").join(name)).unwrap();
    }
    let record = fs::read_to_string(here.join("fit/run.json")).unwrap();
    fs::write(here.join("old/run.json"), record.replace("\"layout\": 2", "\"layout\": 99"))
        .unwrap();
    let before = names(here);
    for (line, parts) in POINTS {
        refused(here, &format!("fit lgcp --out out --points {line}"), parts);
    }
    for (line, parts) in OTHERS {
        refused(here, line, parts);
    }
    assert_eq!(names(here), before);
}

#[test]
fn what_is_refused_for_a_reason_is_accepted_without_it() {
    let directory = directory_with(files());
    let here = directory.path();
    for line in [
        "degrees.csv --allow-degrees --grid 4",
        "degrees.csv --crs EPSG:3310 --grid 4",
        "points.csv --crs EPSG:99999 --grid 5",
        "plain.geojson --window window.geojson --grid 5",
        "points.csv --covariate a=slope.csv --grid 5",
        "points.csv --exposure slope.csv --grid 5",
        "named.csv --x-column east --y-column north --grid 4",
    ] {
        succeed(here, &format!("fit lgcp --points {line} {SHORT} --quiet --out out"));
    }
}
