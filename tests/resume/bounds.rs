//! Holds the memory that a fit says it takes at most against what it took.

use super::{sshmc, with_data};
use std::fs;

/// The largest memory a process has had so far, in MiB.
fn peak(id: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kibibytes| kibibytes / 1024.0)
}

#[cfg(target_os = "linux")]
#[test]
fn a_fit_takes_no_more_memory_than_it_says() {
    let directory = with_data();
    for (line, most) in [
        ("fit lgcp --counts data/counts.csv --chains 2 --warmup 60 --draws 4000 --out a", 3.0),
        ("fit funnel --dim 60000 --chains 2 --warmup 40 --draws 150 --out b", 3.0),
    ] {
        let mut child = sshmc(directory.path(), line).spawn().unwrap();
        let mut taken = 0.0f64;
        while child.try_wait().unwrap().is_none() {
            taken = taken.max(peak(child.id()).unwrap_or(0.0));
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let output = child.wait_with_output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let stated = printed.split("at most about ").nth(1).and_then(|rest| rest.split(' ').next());
        let stated: f64 = stated.unwrap().parse().unwrap();
        assert!(taken > 10.0 && taken <= stated, "{line}: {taken:.0} MiB of {stated:.0}");
        // A bound that is far too large would turn fits away for nothing; the program's own share is left out.
        assert!(stated - 96.0 <= most * taken, "{line}: {taken:.0} MiB of {stated:.0}");
    }
}
