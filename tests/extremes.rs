//! Fits data and priors at the edges of what can be asked for: each run ends in results or in one line, with the exit code that
//! docs/FAULTS.md states, and never with numbers that are none and nobody warned about.

#[path = "common/cli.rs"]
mod cli;

use cli::{directory_with, names, refused, sshmc};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn grid(side: usize, cell: impl Fn(usize, usize) -> String) -> String {
    let mut text = String::from("i,j,y\n");
    for k in 0..side * side {
        text += &format!("{},{},{}\n", k / side, k % side, cell(k / side, k % side));
    }
    text
}

fn column(values: &[&str], times: usize) -> String {
    format!("y\n{}", values.iter().map(|v| format!("{v}\n")).collect::<String>().repeat(times))
}

const WINDOW: &str = r#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1],[0,0]]]}"#;

fn files() -> Vec<(&'static str, String)> {
    let at = |i: usize, j: usize| (i, j) == (3, 4);
    let groups = |x: &dyn Fn(u32) -> String| {
        let rows = (0..40).map(|k| format!("a,{},{}\n", u32::from(k > 20), x(k)));
        format!("group,label,x\n{}", rows.collect::<String>())
    };
    vec![
        ("million.csv", grid(6, |i, j| if at(i, j) { "1000000".into() } else { "0".into() })),
        (
            "largest.csv",
            grid(6, |i, j| if at(i, j) { "9007199254740992".into() } else { "0".into() }),
        ),
        ("one.csv", grid(6, |i, j| u32::from(at(i, j)).to_string())),
        ("zeros.csv", grid(4, |_, _| "0".into())),
        (
            "board.csv",
            grid(4, |i, j| if (i + j).is_multiple_of(2) { "NaN".into() } else { "3".into() }),
        ),
        ("lone.csv", grid(4, |i, j| if (i, j) == (2, 2) { "3".into() } else { "NaN".into() })),
        ("nothing.csv", grid(4, |_, _| "NaN".into())),
        ("point.csv", "x,y\n0.4,0.6\n".into()),
        ("pile.csv", format!("x,y\n{}", "0.4,0.6\n".repeat(60))),
        ("window.geojson", WINDOW.into()),
        ("large.csv", column(&["1e200", "-1e200", "3e199"], 8)),
        ("tiny.csv", column(&["1e-150", "-1e-150", "3e-149"], 8)),
        ("lost.csv", column(&["1e-200", "-1e-200", "3e-199"], 8)),
        ("spike.csv", column(&["0", "0", "0", "0", "0", "0", "0", "0", "1"], 3)),
        ("two.csv", column(&["1", "2"], 1)),
        ("nan.csv", column(&["0.1", "NaN", "0.3"], 3)),
        ("separable.csv", groups(&|k| k.to_string())),
        ("steep.csv", groups(&|k| format!("{k}e300"))),
    ]
}

/// Fits in a second or so.
const SHORT: &str = "--chains 1 --warmup 40 --draws 12 --seed 3 --quiet --out out";

/// Runs a fit that must end in results: finite figures, or a warning.
fn ends(here: &Path, line: &str) {
    let output = sshmc(here, &format!("{line} {SHORT}"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaint.is_empty(), "{line}: {complaint}");
    let text = fs::read_to_string(here.join("out/summary.json")).expect("a summary");
    let summary: Value = serde_json::from_str(&text).expect("JSON");
    let parameters = summary["parameters"].as_object().expect("parameters");
    let finite = parameters.values().all(|p| p["mean"].is_f64() && p["q50"].is_f64());
    let warned = summary["warnings"].as_array().is_some_and(|warnings| !warnings.is_empty());
    assert!(finite || warned, "{line}: {text}");
    assert!(here.join("out/report.html").exists(), "{line}");
    fs::remove_dir_all(here.join("out")).expect("results that can be removed");
}

#[test]
fn extreme_data_are_fitted() {
    let directory = directory_with(files());
    let here = directory.path();
    for line in [
        "fit lgcp --counts million.csv",
        "fit lgcp --counts one.csv",
        "fit lgcp --counts board.csv",
        "fit lgcp --counts lone.csv",
        "fit lgcp --points point.csv --window window.geojson --grid 8",
        "fit lgcp --points pile.csv --window window.geojson --grid 8",
        "fit sv --returns tiny.csv",
        "fit sv --returns spike.csv",
        "fit sv --returns two.csv",
        "fit logistic --table separable.csv --group group --label label",
    ] {
        ends(here, line);
    }
    assert_eq!(names(here).len(), files().len(), "{:?}", names(here));
}

#[test]
fn data_that_say_nothing_or_cannot_be_computed_with_are_refused() {
    let directory = directory_with(files());
    let here = directory.path();
    for (line, parts) in [
        ("fit lgcp --counts zeros.csv", &["zeros.csv", "at least one point"][..]),
        ("fit lgcp --counts nothing.csv", &["nothing.csv", "some observed cells"]),
        ("fit lgcp --points point.csv", &["point.csv", "--window"]),
        ("fit sv --returns nan.csv", &["nan.csv, line 3", "NaN"]),
        ("fit sv --returns large.csv", &["1e200", "square is finite"]),
        ("fit sv --returns lost.csv", &["1e-200", "not lost"]),
        (
            "fit logistic --table steep.csv --group group --label label",
            &["`x`", "e300", "standardise"],
        ),
    ] {
        refused(here, &format!("{line} --out out"), parts);
    }
    assert_eq!(names(here).len(), files().len(), "{:?}", names(here));
}

/// Priors that pin a value, leave it free over hundreds of orders of magnitude, or put it where nothing fits, and the exit code.
const PRIORS: [(&str, i32); 7] = [
    ("fit lgcp --counts one.csv --prior sigma=half-normal(1e-9)", 0),
    ("fit lgcp --counts one.csv --prior range=uniform(1e-9,1e9)", 0),
    ("fit lgcp --counts one.csv --prior mu=normal(1000,1)", 0),
    ("fit sv --returns two.csv --prior phi=beta(1e6,1e-6)", 0),
    ("fit sv --returns two.csv --prior beta=cauchy(1e300,1)", 2),
    ("fit funnel --dim 3 --prior v=normal(0,1e6)", 0),
    ("fit funnel --dim 3 --prior v=uniform(1e300,2e300)", 2),
];

const MORE_PRIORS: [(&str, i32); 10] = [
    ("fit lgcp --counts one.csv --prior sigma=half-normal(1e9)", 0),
    ("fit lgcp --counts one.csv --prior sigma=lognormal(0,100)", 0),
    ("fit lgcp --counts one.csv --prior sigma=pc(1e-12,1e-12)", 0),
    ("fit lgcp --counts one.csv --prior range=lognormal(0,100)", 0),
    ("fit lgcp --counts one.csv --prior range=lognormal(-40,0.1)", 0),
    ("fit lgcp --counts one.csv --prior mu=normal(-1000,1)", 0),
    ("fit lgcp --counts one.csv --prior mu=normal(0,1e9)", 0),
    ("fit sv --returns two.csv --prior sigma2=inv-gamma(1e-6,1e-6)", 0),
    ("fit sv --returns two.csv --prior sigma2=scaled-inv-chi2(1e-3,1e99)", 0),
    ("fit lgcp --counts largest.csv", 0),
];

/// Results that are numbers or come with a warning, or one line that names the prior; nothing else is left.
fn end_with(lines: &[(&str, i32)]) {
    let directory = directory_with(files());
    let here = directory.path();
    for &(line, code) in lines {
        match code {
            0 => ends(here, line),
            _ => refused(here, &format!("{line} --out out"), &["prior", "expected"]),
        }
        assert_eq!(names(here).len(), files().len(), "{line}: {:?}", names(here));
    }
}

#[test]
fn extreme_priors_end_as_stated() {
    end_with(&PRIORS);
}

#[test]
#[ignore = "a minute; run with --ignored"]
fn more_extreme_priors_end_as_stated() {
    end_with(&MORE_PRIORS);
}

/// 10⁷ points, or as many as `SSHMC_POINTS` says.
#[test]
#[ignore = "a minute and 2 GB of disk; run with --ignored"]
fn ten_million_points_are_fitted() {
    many_points(
        std::env::var("SSHMC_POINTS").ok().and_then(|n| n.parse().ok()).unwrap_or(10_000_000),
    );
}

#[test]
fn many_points_are_fitted() {
    many_points(50_000);
}

fn many_points(count: u64) {
    use std::io::Write;
    let directory = directory_with(files());
    let here = directory.path();
    let file = fs::File::create(here.join("many.csv")).expect("a file");
    let mut out = std::io::BufWriter::new(file);
    writeln!(out, "x,y").expect("room");
    for k in 0..count {
        // The golden ratio and its like spread points evenly; a quarter of them crowd in a corner.
        let (u, v) = ((k as f64 * 0.754_877_666).fract(), (k as f64 * 0.569_840_296).fract());
        let shrink = if k.is_multiple_of(4) { 0.2 } else { 1.0 };
        writeln!(out, "{:.7},{:.7}", shrink * u, shrink * v).expect("room");
    }
    out.flush().expect("room");
    drop(out);
    ends(here, "fit lgcp --points many.csv --window window.geojson --grid 16");
}
