//! Lets the clocks of a fit leap hours ahead and back while it runs: time says when to keep a state, and nothing else.

use super::{FIT, assert_same, bits, complaint, output, sshmc, start, succeed, with_data};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library that makes clocks leap, compiled with the compiler that links every Rust program.
fn leaping(directory: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/resume/clock.c");
    let library = directory.join("clock.so");
    let made = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .arg(source)
        .status();
    assert!(made.unwrap().success());
    library
}

#[cfg(target_os = "linux")]
#[test]
fn clocks_that_leap_change_no_bit() {
    let directory = with_data();
    let here = directory.path();
    let fit = format!("{FIT} --draws 150");
    succeed(here, &format!("{fit} --out whole"));
    let whole = bits(&here.join("whole"));
    let library = leaping(here);
    let leap = |line: &str| {
        let told = here.join("leaps");
        let ended = sshmc(here, line).env("LD_PRELOAD", &library).env("LEAPS", &told).output();
        let ended = ended.unwrap();
        assert!(ended.status.success(), "{line}: {}", complaint(&ended));
        // The library counts what the program saw.
        let leaps: u32 = std::fs::read_to_string(&told).unwrap().parse().unwrap();
        assert!(leaps >= 10, "{line}: its clock has leapt {leaps} times");
        std::fs::remove_file(told).unwrap();
    };
    leap(&format!("{fit} --out leapt"));
    assert_same(here, "leapt", &whole);
    // Stopped in one time and resumed in another, with files from the future.
    let child = start(here, &fit.replace("--draws 150", "--draws 1200"), "run");
    super::stop::signal(child, "TERM");
    for name in ["chain-0", "chain-1", "task.json"] {
        let state = here.join("run.partial/state").join(name);
        let future = std::time::SystemTime::now() + std::time::Duration::from_secs(400_000_000);
        std::fs::File::options().append(true).open(state).unwrap().set_modified(future).unwrap();
    }
    leap("resume run --quiet");
    succeed(here, &format!("{} --out long", fit.replace("--draws 150", "--draws 1200")));
    assert_same(here, "run", &bits(&here.join("long")));
    assert!(output(here, "summary run").status.success());
}
