//! Gives the command line everything it should refuse: exit code 2, one line on standard error, nothing on the disk.

#[path = "common/cli.rs"]
mod cli;

use cli::{directory_with, names, refused, sshmc};
use std::fs;

const GRID: &str = "i,j,y\n0,0,1\n0,1,0\n1,0,2\n1,1,0\n";

/// Files by name, good and bad.
const FILES: [(&str, &str); 17] = [
    ("good.csv", GRID),
    ("returns.csv", "y\n0.1\n-0.2\n0.3\n"),
    ("table.csv", "group,y,x\na,0,1\na,1,2\nb,0,3\nb,1,4\n"),
    ("empty.csv", ""),
    ("nocolumn.csv", "i,j,count\n0,0,1\n"),
    ("negative.csv", "i,j,y\n0,0,1\n0,1,-1\n1,0,2\n1,1,0\n"),
    ("fractional.csv", "i,j,y\n0,0,1\n0,1,0.5\n1,0,2\n1,1,0\n"),
    ("infinite.csv", "i,j,y\n0,0,inf\n0,1,0\n1,0,2\n1,1,0\n"),
    ("duplicate.csv", "i,j,y\n0,0,1\n0,0,1\n1,0,2\n1,1,0\n"),
    ("missing.csv", "i,j,y\n0,0,1\n0,1,0\n1,1,2\n"),
    ("zeros.csv", "i,j,y\n0,0,0\n0,1,0\n1,0,0\n1,1,0\n"),
    ("unseen.csv", "i,j,y\n0,0,NaN\n"),
    ("nan.csv", "y\n0.1\nNaN\n0.3\n"),
    ("constant.csv", "y\n1\n1\n1\n"),
    ("flat.csv", "y\n0\n0\n0\n"),
    ("words.csv", "group,y,x\na,0,red\nb,1,4\n"),
    ("oneclass.csv", "group,y,x\na,1,1\nb,1,4\n"),
];

/// What is typed, and parts of the answer.
const REFUSED: [(&str, &[&str]); 67] = [
    // Files.
    ("fit lgcp --counts empty.csv", &["empty.csv", "an empty file"]),
    ("fit lgcp --counts absent.csv", &["cannot read absent.csv"]),
    ("fit lgcp --counts nocolumn.csv", &["a column `y`", "`count`"]),
    ("fit lgcp --counts negative.csv", &["negative.csv, line 3", "`-1`"]),
    ("fit lgcp --counts fractional.csv", &["line 3", "`0.5`"]),
    ("fit lgcp --counts infinite.csv", &["line 2", "`inf`"]),
    ("fit lgcp --counts duplicate.csv", &["line 3", "again"]),
    ("fit lgcp --counts missing.csv", &["none for cell (1, 0)"]),
    ("fit lgcp --counts zeros.csv", &["at least one point"]),
    ("fit lgcp --counts unseen.csv", &["unseen.csv", "got NaN, NA or nothing in every cell"]),
    ("fit lgcp --counts good.csv --exposure absent.csv", &["cannot read absent.csv"]),
    ("fit lgcp --counts good.csv --exposure -1", &["exposure", "positive"]),
    ("fit lgcp --counts good.csv --exposure good.csv", &["a column `exposure`"]),
    ("fit sv --returns empty.csv", &["an empty file"]),
    ("fit sv --returns nan.csv", &["line 3", "`NaN`"]),
    ("fit sv --returns constant.csv", &["returns that vary"]),
    ("fit sv --returns flat.csv", &["returns that vary"]),
    ("fit logistic --table words.csv --group group --label y", &["`red`", "--ignore x"]),
    ("fit logistic --table oneclass.csv --group group --label y", &["one class"]),
    (
        "fit logistic --table table.csv --group town --label y",
        &["a column `town`", "give --group one of `group`, `y`, `x`"],
    ),
    ("fit logistic --table table.csv --group group --label z", &["--label one of `group`"]),
    ("fit logistic --table table.csv --group group --label y --ignore z", &["--ignore one of"]),
    (
        "fit sv --returns table.csv --column foo",
        &["a column `foo`", "give --column one of `group`, `y`"],
    ),
    ("fit sv --returns table.csv --by foo", &["a column `foo`", "give --by one of `group`, `y`"]),
    ("fit logistic --table table.csv --group group --label group", &["name two columns"]),
    // Priors.
    ("fit lgcp --counts good.csv --prior tau=normal(0,1)", &["one of", "sigma", "got tau"]),
    ("fit lgcp --counts good.csv --prior sigma=gauss(1)", &["sigma=gauss(1)", "half-normal"]),
    ("fit lgcp --counts good.csv --prior sigma", &["NAME=DISTRIBUTION(arguments)"]),
    ("fit lgcp --counts good.csv --prior sigma=half-normal(-2)", &["half-normal(-2)"]),
    ("fit lgcp --counts good.csv --prior sigma=uniform(-1,2)", &["sigma"]),
    ("fit lgcp --counts good.csv --mu 1 --prior mu=normal(0,1)", &["mu", "fixed"]),
    (
        "fit lgcp --counts good.csv --prior range=uniform(50,100)",
        &["--prior", "some probability of ranges below 2.000", "50", "shorter ranges"],
    ),
    ("fit sv --returns returns.csv --prior phi=uniform(0,2)", &["phi"]),
    ("fit funnel --prior v=half-normal(1)", &["v"]),
    // Options.
    ("fit funnel --draws 0", &["--draws", "got 0", "at least one"]),
    ("fit funnel --chains 0", &["--chains", "got 0"]),
    ("fit funnel --threads 0", &["--threads", "got 0"]),
    ("fit funnel --dim 0", &["--dim", "at least 1", "got 0"]),
    ("fit funnel --dim 99999999999", &["--dim", "at most"]),
    ("fit funnel --draws 4294967295", &["--draws", "at most"]),
    ("fit funnel --draws -5", &["'-5'", "--draws", "0..=4294967295"]),
    ("fit funnel --seed -1", &["'-1'", "--seed", "a whole number from 0 up"]),
    ("fit funnel --threads -1", &["'-1'", "--threads", "a whole number from 0 up"]),
    ("fit lgcp --points good.csv --grid -3", &["'-3'", "--grid", "a whole number from 0 up"]),
    ("simulate sv --steps -1", &["'-1'", "--steps", "a whole number from 0 up"]),
    ("predict absent --horizon -1", &["'-1'", "--horizon"]),
    ("fit funnel -1", &["unexpected argument '-1'"]),
    ("fit funnel --draws many", &["many", "--draws"]),
    ("fit funnel --device gpu7", &["gpu7", "auto, cpu"]),
    ("fit funnel --method gibbs", &["gibbs", "sshmc"]),
    ("fit funnel --coordinates polar", &["polar", "auto, centred, whitened, informed"]),
    ("fit lgcp --counts good.csv --mu inf", &["--mu", "finite"]),
    ("fit lgcp --counts good.csv --kernel spherical", &["spherical", "gaussian"]),
    ("fit lgcp --counts good.csv --anisotropy 30", &["--anisotropy", "30,2"]),
    ("fit lgcp --counts good.csv --anisotropy 30,0.5", &["ratio from 1 to 10", "1/ratio"]),
    ("fit lgcp --counts good.csv --anisotropy -30,2 --device gpu", &["0 or 90", "--device cpu"]),
    ("simulate lgcp --anisotropy 30,99", &["ratio from 1 to 10"]),
    ("fit lgcp", &["--points FILE or --counts FILE"]),
    ("fit lgcp --counts good.csv --oput x", &["--oput"]),
    ("fits", &["'fits'", "'fit'"]),
    // Simulations.
    ("simulate lgcp --sigma 0", &["sigma", "above 0"]),
    ("simulate lgcp --grid 0", &["grid", "0 x 0"]),
    ("simulate lgcp --grid 4y5", &["4y5", "48x64"]),
    ("simulate lgcp --total -3", &["total", "-3"]),
    ("simulate sv --phi 1", &["phi", "between -1 and 1"]),
    ("simulate logistic --rows 0", &["rows", "got 0"]),
    ("summary absent", &["absent", "nothing there", "--out DIR"]),
];

fn with_files() -> tempfile::TempDir {
    directory_with(FILES.map(|(name, text)| (name, text.to_owned())))
}

#[test]
fn everything_bad_is_refused_in_one_line_and_leaves_nothing() {
    let directory = with_files();
    let before = names(directory.path());
    for (line, parts) in REFUSED {
        refused(directory.path(), line, parts);
        assert_eq!(names(directory.path()), before, "{line} left something");
    }
}

#[test]
fn directories_that_cannot_be_written_are_refused_before_the_run() {
    let directory = with_files();
    let here = directory.path();
    fs::create_dir(here.join("theirs")).unwrap();
    fs::write(here.join("theirs/thesis.tex"), "").unwrap();
    let before = names(here);
    // Sampling this many draws would take hours: the refusal has to come first.
    let fit = "fit funnel --warmup 90000000 --out";
    refused(here, &format!("{fit} good.csv"), &["got a file", "choose another name"]);
    refused(here, &format!("{fit} good.csv/inside"), &["good.csv"]);
    refused(here, &format!("{fit} theirs"), &["other contents"]);
    refused(here, &format!("{fit} ."), &["directory"]);
    refused(here, &format!("{fit} /proc/nowhere"), &["/proc"]);
    refused(here, "simulate funnel --out theirs", &["other contents"]);
    assert_eq!(names(here), before);
    assert_eq!(names(&here.join("theirs")), ["thesis.tex"]);
}

#[test]
fn a_broken_summary_is_refused() {
    let directory = with_files();
    let here = directory.path();
    fs::create_dir_all(here.join("fit")).unwrap();
    refused(here, "summary fit", &["without summary.json"]);
    refused(here, "summary good.csv", &["got a file"]);
    for text in ["", "{", "[]", "{\"model\": \"lgcp\"}"] {
        fs::write(here.join("fit/summary.json"), text).unwrap();
        refused(here, "summary fit", &["summary.json", "run the fit again"]);
    }
}

#[test]
fn a_directory_of_several_series_or_of_an_unfinished_fit_is_refused_as_such() {
    let directory = directory_with([("two.csv", "a,b\n0.1,0.3\n-0.2,0.1\n0.3,-0.4\n".into())]);
    let here = directory.path();
    let fit = "fit sv --returns two.csv --column a --column b --chains 1 --warmup 20 --draws 10";
    assert!(sshmc(here, &format!("{fit} --quiet --out both")).status.success());
    fs::create_dir_all(here.join("halted.partial/state")).unwrap();
    fs::write(here.join("halted.partial/state/task.json"), "").unwrap();
    for command in ["summary", "report", "predict", "compare both/a", "map"] {
        let several = ["both: expected", "holds 2 series", "name both/a or both/b"];
        refused(here, &format!("{command} both {}", options(command)), &several);
        let unfinished = ["halted: expected", "an unfinished one", "`sshmc resume halted` ends it"];
        refused(here, &format!("{command} halted {}", options(command)), &unfinished);
    }
    for option in ["--patterns 3", "--draws 5"] {
        let name = option.split(' ').next().unwrap();
        let parts = [name, "a fit of lgcp, got one of sv", "leave out"];
        refused(here, &format!("predict both/a {option}"), &parts);
    }
    assert!(sshmc(here, "predict both/a --horizon 3").status.success());
}

/// What a command cannot do without.
fn options(command: &str) -> &'static str {
    if command == "map" { "--exceed 2" } else { "" }
}

#[test]
fn a_refused_fit_leaves_earlier_results_alone() {
    let directory = with_files();
    let here = directory.path();
    let good = "fit funnel --dim 2 --chains 1 --warmup 10 --draws 10 --quiet --out fit";
    assert!(sshmc(here, good).status.success());
    let before = fs::read_to_string(here.join("fit/summary.json")).unwrap();
    refused(here, "fit lgcp --counts zeros.csv --out fit", &["at least one point"]);
    assert_eq!(fs::read_to_string(here.join("fit/summary.json")).unwrap(), before);
}

#[test]
fn results_never_replace_the_directory_of_their_data() {
    let home = tempfile::tempdir().unwrap();
    let made = sshmc(home.path(), "simulate sv --steps 20 --out a");
    assert!(made.status.success(), "{made:?}");
    let before = names(&home.path().join("a"));
    refused(
        home.path(),
        "fit sv --returns a/returns.csv --out a",
        &["--out a", "name another one"],
    );
    assert_eq!(names(&home.path().join("a")), before);
}

#[test]
fn a_missing_command_points_to_the_help() {
    let directory = tempfile::tempdir().unwrap();
    let output = sshmc(directory.path(), "");
    assert_eq!(output.status.code(), Some(2));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(complaint.lines().count() == 1 && complaint.contains("--help"), "{complaint}");
    refused(directory.path(), "fit", &["--help"]);
}
