//! Runs the checks as a user does, at a size that takes seconds.

#[path = "../common/cli.rs"]
mod cli;

use cli::{names, refused, sshmc, succeed, text};
use std::fs;

/// A calibration of tiny fits.
const SMALL: &str = "--replicates 12 --chains 1 --warmup 60 --draws 30 --among 15 --seed 4";

#[test]
fn kernels_are_checked_and_the_figures_printed() {
    let directory = tempfile::tempdir().unwrap();
    let line = "check joint funnel --replicates 300 --transitions 600 --kernel whitened";
    let printed = succeed(directory.path(), line);
    for part in ["sshmc, whitened", "hmc, whitened", "largest |z|", "ranks p", "once in 1000000"] {
        assert!(printed.contains(part), "no `{part}` in {printed}");
    }
    assert!(printed.ends_with("verdict: nothing wrong was found\n"), "{printed}");
    assert!(!printed.contains("centred"), "{printed}");
    let here = directory.path();
    refused(here, "check joint funnel --kernel gibbon", &["--kernel", "sshmc, whitened"]);
    refused(here, "check joint funnel --replicates 3", &["--replicates", "at least 100"]);
    refused(here, "check joint funnel --false-alarm 2", &["between 0 and 1"]);
    refused(here, "check joint sv --prior beta=flat-log", &["beta", "proper"]);
}

#[test]
fn every_model_is_calibrated_and_the_results_written() {
    let directory = tempfile::tempdir().unwrap();
    for line in [
        "lgcp --grid 4",
        "sv --length 12",
        "logistic --groups 2 --rows 6 --method nuts",
        "funnel --dim 3 --coordinates centred",
    ] {
        let model = line.split(' ').next().unwrap();
        let line = format!("check calibrate {line} {SMALL} --out {model} --false-alarm 1e-9");
        let printed = succeed(directory.path(), &line);
        for part in ["priors: ", "| field maximum |", "once in 1000000000", "verdict: "] {
            assert!(printed.contains(part), "{model}: no `{part}` in {printed}");
        }
        assert_eq!(printed.contains("log-likelihood"), model != "funnel", "{printed}");
        let place = directory.path().join(model);
        assert_eq!(
            names(&place),
            ["calibration.png", "calibration.svg", "check.json", "lock", "ranks.csv", "report.md"]
        );
        let svg = fs::read_to_string(place.join("calibration.svg")).unwrap();
        assert!(svg.contains("field mean: p = ") && svg.contains("95 % band"));
    }
}

#[test]
fn a_killed_calibration_goes_on_where_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let line = |out: &str| {
        format!("check calibrate sv --length 10 {SMALL} --false-alarm 1e-9 --out {out}")
    };
    succeed(here, &line("whole"));
    let ranks = |out: &str| {
        let text = fs::read_to_string(here.join(out).join("ranks.csv")).unwrap();
        // Without the seconds, and in order: replicates end when they end.
        let mut lines: Vec<String> =
            text.lines().map(|line| line.rsplit_once(',').unwrap().0.to_owned()).collect();
        lines.sort();
        lines
    };
    let whole = fs::read_to_string(here.join("whole/ranks.csv")).unwrap();
    fs::create_dir(here.join("half")).unwrap();
    fs::copy(here.join("whole/check.json"), here.join("half/check.json")).unwrap();
    // Killed in the middle of its sixth line.
    let cut = whole.match_indices('\n').nth(5).unwrap().0 - 3;
    fs::write(here.join("half/ranks.csv"), &whole[..cut]).unwrap();
    let printed = succeed(here, &line("half"));
    assert!(printed.contains("going on after 4 replicates"), "{printed}");
    assert_eq!(ranks("half"), ranks("whole"));
    assert_eq!(ranks("whole").len(), 13);
    refused(here, &line("half").replace("--seed 4", "--seed 5"), &["check.json", "seed", "4", "5"]);
    fs::create_dir(here.join("mine")).unwrap();
    fs::write(here.join("mine/notes.txt"), "mine").unwrap();
    refused(here, &line("mine"), &["notes.txt", "--out"]);
}

#[test]
fn what_cannot_be_checked_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    refused(here, "check calibrate sv --grid 8", &["--grid", "sv", "lgcp"]);
    refused(here, "check calibrate lgcp --grid 1", &["--grid", "from 2 to 512"]);
    refused(here, "check calibrate sv --among 5000", &["--among", "at most"]);
    refused(here, "check calibrate sv --prior beta=flat-log --out x", &["beta", "proper"]);
    refused(here, "check calibrate tides", &["tides", "lgcp"]);
    refused(here, "check device --device cpu", &["--device", "check joint"]);
    refused(here, "check device --device abacus", &["abacus"]);
}

/// A sampler that has not been warmed up and does not move is found out.
#[test]
fn a_wrong_sampler_fails_with_a_code_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    // Draws straight from a start that depends on the data are not draws of the posterior.
    let line = "check calibrate sv --length 200 --coordinates centred --replicates 80 --chains 1 --warmup 0 --draws 8 --among 7 --seed 2 --out bad";
    let output = sshmc(directory.path(), line);
    let complaint = text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{complaint}\n{}", text(&output.stdout));
    assert!(complaint.starts_with("failed: ") && complaint.lines().count() == 1, "{complaint}");
    assert!(text(&output.stdout).contains("NOT uniform"));
}

/// Every method in every kind of coordinates it takes, at a size where its posterior is easy.
#[test]
#[ignore = "a quarter of an hour"]
fn every_method_is_calibrated_in_all_coordinates() {
    let directory = tempfile::tempdir().unwrap();
    let gaussian = ["sshmc", "hmc", "hmc-gibbs", "nuts"];
    let any = ["centred", "whitened", "informed"];
    let mut all: Vec<(&str, &str)> =
        gaussian.iter().flat_map(|method| any.map(|coordinates| (*method, coordinates))).collect();
    all.extend([("rmhmc-gibbs", "centred"), ("rmhmc-softabs", "centred")]);
    for (method, coordinates) in all {
        let line = format!(
            "check calibrate logistic --groups 3 --features 2 --rows 8 --replicates 100 --method {method} --coordinates {coordinates} \
             --out {method}-{coordinates} --false-alarm 1e-6"
        );
        println!("{method}, {coordinates}:{}", succeed(directory.path(), &line));
    }
}
