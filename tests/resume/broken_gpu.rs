//! Lets a GPU be lost, or run out of memory, while a fit goes on: a layer between the program and the driver answers as a driver would.

use super::{assert_same, bits, complaint, sshmc, succeed};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Builds the layer with the compiler that links every Rust program.
fn build(directory: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/resume/broken_gpu.c");
    let layer = directory.join("layer");
    fs::create_dir(&layer).unwrap();
    let made = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(layer.join("broken_gpu.so"))
        .arg(source)
        .status();
    assert!(made.unwrap().success());
    let manifest = r#"{"file_format_version": "1.1.2", "layer": {"name": "VK_LAYER_SSHMC_broken_gpu", "type": "GLOBAL",
        "library_path": "./broken_gpu.so", "api_version": "1.3.0", "implementation_version": "1", "description": "breaks"}}"#;
    fs::write(layer.join("broken_gpu.json"), manifest).unwrap();
}

/// Ready to run on a GPU that breaks when the file `broken` says so.
fn fragile(here: &Path, line: &str) -> Command {
    let mut command = sshmc(here, line);
    command.env("VK_LAYER_PATH", here.join("layer"));
    command.env("VK_INSTANCE_LAYERS", "VK_LAYER_SSHMC_broken_gpu");
    command.env("BROKEN_GPU", here.join("broken"));
    command
}

/// One line and a code.
fn assert_said(ended: &Output, code: i32, parts: &[&str]) {
    let said = complaint(ended);
    assert_eq!(ended.status.code(), Some(code), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    for part in parts {
        assert!(said.contains(part), "no `{part}` in {said}");
    }
}

#[test]
fn a_gpu_that_breaks_stops_a_fit_which_goes_on_when_it_works_again() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    build(here);
    let adapter = std::env::var("SSHMC_TEST_ADAPTER").unwrap_or_else(|_| "gpu".into());
    succeed(here, "simulate sv --steps 40 --out market --quiet");
    let fit = format!(
        "fit sv --returns market/returns.csv --chains 2 --warmup 60 --draws 300 --device {adapter} --checkpoint-interval 0.01 --quiet"
    );
    succeed(here, &format!("{fit} --out whole"));
    let whole = bits(&here.join("whole"));
    let broken = here.join("broken");
    for (how, means, name) in [("lost", "lost", "a"), ("memory", "Out of memory", "b")] {
        let child = fragile(here, &format!("{fit} --out {name}")).spawn().unwrap();
        while !here.join(format!("{name}.partial/state/chain-0.old")).exists() {
            assert!(!here.join(name).exists(), "it ended before its GPU could break");
            std::thread::yield_now();
        }
        fs::write(&broken, how).unwrap();
        let stopped = child.wait_with_output().unwrap();
        assert_said(&stopped, 3, &["stopped: GPU", means, &format!("`sshmc resume {name}`")]);
        // While it is broken nothing is begun, and nothing that was kept is lost.
        let resumed = fragile(here, &format!("resume {name} --quiet")).output().unwrap();
        assert_said(&resumed, 1, &["error: GPU", means]);
        fs::remove_file(&broken).unwrap();
        succeed(here, &format!("resume {name} --quiet"));
        assert_same(here, name, &whole);
    }
    // No memory from the start: nothing is left.
    for (how, name) in [("memory", "c"), ("allocations", "d")] {
        fs::write(&broken, how).unwrap();
        let ended = fragile(here, &format!("{fit} --out {name}")).output().unwrap();
        assert_said(&ended, 1, &["error: GPU"]);
        assert!(!here.join(name).exists() && !here.join(format!("{name}.partial")).exists());
    }
    fs::remove_file(&broken).unwrap();
    // The layer itself changes nothing.
    let ended = fragile(here, &format!("{fit} --out through")).output().unwrap();
    assert!(ended.status.success(), "{}", complaint(&ended));
    assert_same(here, "through", &whole);
}
