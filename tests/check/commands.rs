//! Runs the checks as a user does, at a size that takes seconds.

use crate::cli::{names, refused, sshmc, succeed, text};
use std::fs;

/// A calibration of tiny fits.
const SMALL: &str = "--replicates 12 --chains 2 --warmup 500 --draws 100 --among 7 --seed 4";

#[test]
fn kernels_are_checked_and_the_figures_printed() {
    let directory = tempfile::tempdir().unwrap();
    let line = "check joint funnel --replicates 300 --transitions 600 --kernel hmc,";
    let printed = succeed(directory.path(), line);
    for part in
        ["sshmc, informed, tilted", "hmc, whitened", "largest |z|", "ranks p", "once in 1000000"]
    {
        assert!(printed.contains(part), "no `{part}` in {printed}");
    }
    assert!(printed.ends_with("verdict: nothing wrong was found\n"), "{printed}");
    assert!(!printed.contains("nuts"), "{printed}");
    let here = directory.path();
    refused(here, "check joint funnel --kernel gibbon", &["--kernel", "sshmc, whitened, tilted"]);
    refused(here, "check joint funnel --replicates 3", &["--replicates", "at least 100"]);
    refused(here, "check joint funnel --false-alarm 2", &["between 1e-100 and 1"]);
    refused(here, "check joint sv --prior beta=flat-log", &["beta", "proper"]);
}

#[test]
fn every_model_is_calibrated_and_the_results_written() {
    let directory = tempfile::tempdir().unwrap();
    for line in [
        "lgcp --grid 4",
        "sv --length 12",
        "logistic --groups 2 --rows 6 --method nuts",
        "funnel --dim 3 --coordinates whitened",
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
    // Another build may compute something else.
    fs::create_dir(here.join("other")).unwrap();
    let settings = fs::read_to_string(here.join("whole/check.json")).unwrap();
    let other = settings.replace("\"build\": \"", "\"build\": \"0");
    assert_ne!(other, settings);
    fs::write(here.join("other/check.json"), other).unwrap();
    refused(here, &line("other"), &["check.json", "build"]);
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
    // What is found out late leaves nothing behind either.
    let wide = "check calibrate lgcp --grid 4 --prior mu=normal(60,1) --out wide";
    refused(here, wide, &["--prior", "points expected in a cell", "narrower"]);
    refused(here, "check joint lgcp --prior mu=normal(30,1)", &["--prior", "narrower"]);
    refused(here, "check calibrate lgcp --grid 4 --method rmhmc-softabs", &["rmhmc-softabs"]);
    assert_eq!(names(here), [""; 0], "something was left behind");
    refused(here, "check device --device cpu", &["--device", "check joint"]);
    refused(here, "check device --device abacus", &["abacus"]);
}

/// Fits that are too short to be ranked, and ranks that are not uniform, fail with a code of their own.
#[test]
fn a_wrong_sampler_fails_with_a_code_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let failed = |line: &str, verdict: &str| {
        let output = sshmc(here, line);
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{complaint}\n{}", text(&output.stdout));
        assert!(complaint.starts_with("failed: ") && complaint.lines().count() == 1, "{complaint}");
        assert!(text(&output.stdout).contains(verdict), "{}", text(&output.stdout));
    };
    // Without any warm-up steps are far too short.
    let line = "check calibrate sv --length 200 --coordinates centred --replicates 8 --chains 1 --warmup 0 --draws 8 --among 7 --seed 2 --out bad";
    failed(line, "verdict: NOT EXACT");
    // The same check as if its fits had been long enough and the truth always below its draws: a few ranks of phi.
    let path = here.join("bad/ranks.csv");
    let kept = fs::read_to_string(&path).unwrap();
    let header = kept.lines().next().unwrap();
    assert_eq!(header.split(',').nth(1), Some("phi"));
    let row = |n: u32| format!("{n},0,{r},{r},{r},{r},{r},{r},{r},8,99.0,0,0.1\n", r = n % 8);
    let rows: String = (0..8).map(row).collect();
    fs::write(&path, format!("{header}\n{rows}")).unwrap();
    failed(line, "verdict: ranks are NOT uniform");
}

/// Maps without a point, which `fit` refuses, are worlds as good as others; and progress is told without a terminal.
#[test]
fn worlds_without_points_are_calibrated_and_progress_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let line = format!(
        "check calibrate lgcp --grid 2 --prior mu=normal(-1,0.4) {SMALL} --progress 0 --false-alarm 1e-9"
    );
    let output = sshmc(directory.path(), &line);
    let told = text(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("1 of 12 worlds done, about ") && told.lines().count() == 12, "{told}");
    assert!(text(&output.stdout).contains("12 fits of "), "{}", text(&output.stdout));
}
