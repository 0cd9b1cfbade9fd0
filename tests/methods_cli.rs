//! Fits by every method as a user does, and asks for combinations that do not exist.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

#[path = "common/cli.rs"]
mod cli;

use cli::{sshmc, text};
use serde_json::Value;

const SHORT: &str = "--chains 2 --warmup 60 --draws 40 --out out";

#[test]
fn every_method_fits_and_writes_the_same_files() {
    let directory = tempfile::tempdir().unwrap();
    assert!(sshmc(directory.path(), "simulate sv --steps 60 --out data").status.success());
    let mut energies = Vec::new();
    for (method, coordinates) in [
        ("sshmc", "informed"),
        ("hmc", "whitened"),
        ("hmc-gibbs", "whitened"),
        ("rmhmc-gibbs", "centred"),
        ("nuts", "whitened"),
    ] {
        let line = format!("fit sv --returns data/returns.csv --method {method} {SHORT}");
        let output = sshmc(directory.path(), &line);
        assert!(output.status.success(), "{method}: {}", text(&output.stderr));
        assert!(text(&output.stdout).contains(&format!("sampler: {method}, 2 chains")));
        let out = directory.path().join("out");
        let summary: Value =
            serde_json::from_str(&std::fs::read_to_string(out.join("summary.json")).unwrap())
                .unwrap();
        assert_eq!(summary["method"], method);
        assert_eq!(summary["coordinates"], coordinates);
        assert!(summary["sampler"]["gradients"].as_u64().unwrap() > 80, "{method}");
        assert!(summary["sampler"]["accept"].as_f64().unwrap() > 0.2, "{method}");
        let draws = std::fs::read_to_string(out.join("hyperparameters.csv")).unwrap();
        assert_eq!(draws.lines().count(), 81);
        assert!(out.join("field.csv").is_file() && out.join("volatility.svg").is_file());
        energies.push(draws);
    }
    energies.dedup();
    assert_eq!(energies.len(), 5, "two methods drew the same");
}

#[test]
fn steps_are_as_many_as_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    for (method, line, steps) in [
        ("hmc", "--steps 7", 7.0),
        ("hmc-gibbs", "--steps 4 --hyper-steps 3", 7.0),
        ("rmhmc-gibbs", "--steps 2 --hyper-steps 1", 3.0),
        ("rmhmc-softabs", "--steps 5", 5.0),
        ("sshmc", "--steps 6 --coordinates centred", 6.0),
    ] {
        let output = sshmc(
            directory.path(),
            &format!("fit funnel --dim 3 --method {method} {line} {SHORT}"),
        );
        assert!(output.status.success(), "{method}: {}", text(&output.stderr));
        let path = directory.path().join("out/summary.json");
        let summary: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(summary["sampler"]["steps"].as_f64().unwrap(), steps, "{method}");
    }
}

#[test]
fn combinations_that_do_not_exist_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    assert!(sshmc(directory.path(), "simulate sv --steps 60 --out data").status.success());
    let sv = "fit sv --returns data/returns.csv";
    for (line, parts) in [
        (format!("{sv} --method rmhmc-softabs"), &["rmhmc-softabs", "funnel", "nuts"][..]),
        ("fit funnel --dim 4096 --method rmhmc-softabs".into(), &["rmhmc-softabs", "300", "4096"]),
        (
            "fit funnel --dim 4 --method rmhmc-softabs --prior v=cauchy(0,1)".into(),
            &["cauchy", "normal"],
        ),
        (format!("{sv} --method rmhmc-gibbs --coordinates whitened"), &["rmhmc-gibbs", "centred"]),
        (format!("{sv} --method hmc --mass prior"), &["hmc", "identity"]),
        (format!("{sv} --method nuts --mass prior-plus-information"), &["nuts", "identity"]),
        (format!("{sv} --method hmc --steps 0"), &["--steps", "1"]),
        (format!("{sv} --method walk"), &["walk", "nuts"]),
    ] {
        let output = sshmc(directory.path(), &format!("{line} {SHORT}"));
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        assert!(parts.iter().all(|part| complaint.contains(part)), "{complaint}");
        assert!(!directory.path().join("out").exists(), "{line}");
    }
}
