//! Runs the benchmark as a user does, on runs of a few draws.

#[path = "common/cli.rs"]
mod cli;

use cli::{sshmc, text};
use std::fs;
use std::path::Path;
use std::process::Output;

fn bench(directory: &Path, line: &str) -> Output {
    sshmc(directory, &format!("bench {line}"))
}

/// The cells of the table's lines.
fn cells(table: &str) -> Vec<Vec<String>> {
    let lines = table.lines().filter(|line| line.starts_with('|'));
    lines.map(|line| line.trim_matches('|').split('|').map(|c| c.trim().into()).collect()).collect()
}

const TINY: &str = "--quick --chains 2 --warmup 20 --draws 20 --problem sv200";

#[test]
fn a_tiny_run_prints_and_writes_a_whole_table() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("table.md"), "an earlier table\n").unwrap();
    let line = format!("{TINY} --variant auto --seeds 2 --out table.md");
    let output = bench(directory.path(), &line);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert_eq!(fs::read_to_string(directory.path().join("table.md")).unwrap(), printed);
    assert_eq!(text(&output.stderr).lines().count(), 2, "a line of progress for each seed");
    let rows = cells(&printed);
    let columns = [
        "problem",
        "variant",
        "ESS / 1000 gradients",
        "ESS / CPU s",
        "with warm-up",
        "slowest",
        "R-hat",
        "accept",
        "steps",
        "divergent",
        "warm-up as draws",
        "us / gradient",
    ];
    assert_eq!(rows.len(), 3, "{printed}");
    assert_eq!(rows[0], columns);
    assert!(rows[1].iter().all(|rule| rule.starts_with("---")), "{printed}");
    assert_eq!(rows[2][..2], ["sv200", "auto"]);
    for spread in &rows[2][2..5] {
        let values: Vec<f64> = spread.split(" / ").map(|v| v.parse().unwrap()).collect();
        assert!(values.len() == 3 && values[0] > 0.0 && values.is_sorted(), "{spread}");
    }
    for value in &rows[2][6..] {
        assert!(value.parse::<f64>().unwrap() >= 0.0, "{value}");
    }
}

#[test]
fn a_refused_pair_is_left_out_with_its_reason_and_the_others_run() {
    let directory = tempfile::tempdir().unwrap();
    let line = format!("{TINY} --variant informed-prior-leapfrog --variant whitened");
    let output = bench(directory.path(), &line);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    let rows = cells(&printed);
    assert_eq!(rows.len(), 3, "{printed}");
    assert_eq!(rows[2][1], "whitened");
    let reason = printed.split("Not run:").nth(1).expect("a list of what was not run");
    assert!(reason.contains("sv200, informed-prior-leapfrog: integrator: expected"), "{reason}");
}

#[test]
fn what_cannot_be_run_is_refused_with_the_choices() {
    let directory = tempfile::tempdir().unwrap();
    for (line, parts) in [
        ("--problem lgcp31", &["lgcp31", "lgcp32,", "logistic200"][..]),
        ("--problem sv --variant best", &["best", "auto", "whitened", "speed-2"]),
        ("--quick --seeds 0", &["--seeds"]),
        ("--quick --draws 0", &["--draws"]),
        ("--quick --out missing/table.md", &["missing/table.md"]),
    ] {
        let output = bench(directory.path(), line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        let complaint = text(&output.stderr);
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        assert!(parts.iter().all(|part| complaint.contains(part)), "{complaint}");
        assert!(output.stdout.is_empty(), "{line}");
    }
}
