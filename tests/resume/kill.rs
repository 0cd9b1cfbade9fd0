//! Kills a fit at random moments, again and again, and resumes it.

use super::{FIT, assert_same, bits, complaint, output, sshmc, succeed, with_data};
use sshmc::random::{Purpose, Stream};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

/// Moments at which a run is killed.
const MOMENTS: u32 = 20;

#[test]
fn a_fit_that_is_killed_at_any_moment_ends_with_the_same_bits() {
    survives(&format!("{FIT} --draws 150"), MOMENTS, 1914);
}

/// Kills a fit at so many moments, which a seed chooses.
pub(crate) fn survives(fit: &str, count: u32, seed: u64) {
    let directory = with_data();
    let here = directory.path();
    let begun = Instant::now();
    succeed(here, &format!("{fit} --out whole"));
    let span = begun.elapsed();
    let whole = bits(&here.join("whole"));
    let moments = Stream::new(seed, 0, 0, Purpose::Other);
    let mut killed = 0;
    for moment in 0..count {
        let name = format!("run-{moment}");
        // Every third run is killed a second time while it is being resumed.
        for turn in 0..=u32::from(moment % 3 == 0) {
            let line = match here.join(format!("{name}.partial/state/task.json")).exists() {
                true => format!("resume {name} --quiet"),
                false => format!("{fit} --out {name}"),
            };
            if here.join(&name).exists() || (turn > 0 && line.starts_with("fit")) {
                break;
            }
            let mut child = sshmc(here, &line).spawn().unwrap();
            let wait = span.mul_f64(moments.uniform(2 * moment + turn));
            std::thread::sleep(wait.max(Duration::from_millis(1)));
            child.kill().unwrap();
            let status = child.wait().unwrap();
            assert!(status.success() || status.signal() == Some(9), "{line}: {status}");
            killed += u32::from(!status.success());
        }
        if here.join(format!("{name}.partial/state/task.json")).exists() {
            succeed(here, &format!("resume {name} --quiet"));
        } else if !here.join(&name).exists() {
            // Killed before it had written down what to do, it is begun again.
            succeed(here, &format!("{fit} --out {name}"));
        }
        assert_same(here, &name, &whole);
        fs::remove_dir_all(here.join(&name)).unwrap();
    }
    // If none were hit the test would show nothing.
    assert!(killed >= count / 4, "only {killed} runs were still going when they were killed");
}

/// The comparison sees another seed.
#[test]
fn other_draws_are_told_apart() {
    let directory = with_data();
    let here = directory.path();
    succeed(here, &format!("{FIT} --draws 20 --out a"));
    succeed(here, &format!("{} --draws 20 --out b", FIT.replace("--seed 3", "--seed 4")));
    let (a, b) = (bits(&here.join("a")), bits(&here.join("b")));
    for name in
        ["hyperparameters.csv", "field.csv", "summary.json", "draws.zarr/posterior/field/c/0/0/0/0"]
    {
        assert_ne!(a[name], b[name], "{name}");
    }
    // A run that has ended has nothing to resume, and is left alone.
    let again = output(here, "resume a");
    assert!(again.status.success(), "{}", complaint(&again));
    assert!(String::from_utf8_lossy(&again.stdout).contains("a has ended"));
    assert_same(here, "a", &a);
}
