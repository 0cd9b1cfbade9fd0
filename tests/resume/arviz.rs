//! Opens the archive of draws with xarray and ArviZ and compares their summary with ours.

use super::{succeed, with_data};
use std::path::Path;
use std::process::{Command, Output};

/// Python with ArviZ; tests/run.sh names one.
fn check(directory: &Path, words: &[&str]) -> Output {
    let python = std::env::var("SSHMC_PYTHON").unwrap_or_else(|_| "python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/resume/open_draws.py");
    let output = Command::new(python).arg(script).args(words).current_dir(directory).output();
    output.expect("Python; tests/run.sh installs it")
}

#[test]
#[ignore = "needs ArviZ, which tests/run.sh installs"]
fn arviz_finds_what_we_found() {
    let directory = with_data();
    let here = directory.path();
    succeed(here, "simulate sv --steps 40 --out market --quiet");
    let short = "--chains 3 --warmup 100 --draws 600 --quiet --out";
    succeed(here, &format!("fit lgcp --counts data/counts.csv {short} lgcp"));
    succeed(here, &format!("fit lgcp --counts data/counts.csv --keep-fields 0 {short} thin"));
    succeed(here, &format!("fit sv --returns market/returns.csv {short} sv"));
    succeed(here, &format!("fit funnel --dim 4 {short} funnel"));
    for name in ["lgcp", "thin", "sv", "funnel"] {
        let output = check(here, &[name]);
        let (said, why) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && said.contains("same"), "{name}: {said} {why}");
        // The comparison sees draws that are a hundredth of a standard deviation away.
        let moved = check(here, &[name, "--move", "0.01"]);
        assert_eq!(moved.status.code(), Some(1), "{name}: moved draws pass");
    }
}
