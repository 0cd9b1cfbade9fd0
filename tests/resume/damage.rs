//! Damages chunks of draws while a run is stopped, and after it has ended: what is damaged is named, and made anew with the same bits.

use super::{FIT, assert_same, bits, complaint, output, start, succeed, with_data};
use std::fs;
use std::path::{Path, PathBuf};

/// A name, and what is done to a file.
type Damage = (&'static str, fn(&Path));

/// What can happen to a file.
const WAYS: [Damage; 3] = [
    ("flipped", |path| {
        let mut bytes = fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 16;
        fs::write(path, bytes).unwrap();
    }),
    ("cut", |path| {
        let bytes = fs::read(path).unwrap();
        fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    }),
    ("removed", |path| fs::remove_file(path).unwrap()),
];

fn copy(here: &Path, from: &str, to: &str) {
    let copied = std::process::Command::new("cp").args(["-r", from, to]).current_dir(here).status();
    assert!(copied.unwrap().success());
}

fn chunk(run: &Path, name: &str) -> PathBuf {
    run.join("draws.zarr").join(name)
}

#[test]
fn damaged_draws_of_a_run_that_has_ended_are_named_and_made_anew() {
    let directory = with_data();
    let here = directory.path();
    succeed(here, &format!("{FIT} --draws 60 --out whole"));
    succeed(here, &format!("{FIT} --draws 80 --out longer"));
    let longer = bits(&here.join("longer"));
    for (way, damage) in WAYS {
        copy(here, "whole", way);
        let field = chunk(&here.join(way), "posterior/field/c/1/0/0/0");
        damage(&field);
        for line in [format!("report {way}"), format!("predict {way}")] {
            let refused = output(here, &line);
            let said = complaint(&refused);
            assert_eq!(refused.status.code(), Some(2), "{line}: {said}");
            assert_eq!(said.lines().count(), 1, "{line}: {said}");
            for part in ["posterior/field/c/1/0/0/0", "damaged", "sshmc extend"] {
                assert!(said.contains(part), "{line}: no `{part}` in {said}");
            }
        }
        // The chain whose draws are lost begins again; the other goes on.
        damage_again(&here.join(way), damage);
        let extended = output(here, &format!("extend {way} --draws 20 --quiet"));
        let said = complaint(&extended);
        assert!(extended.status.success(), "{said}");
        assert_same(here, way, &longer);
    }
}

/// Damages a chunk of few bytes, whose contents are all the same, as well.
fn damage_again(run: &Path, damage: fn(&Path)) {
    damage(&chunk(run, "sample_stats/diverging/c/0/0"));
}

#[test]
fn damaged_draws_of_a_run_on_its_way_are_named_and_made_anew() {
    let directory = with_data();
    let here = directory.path();
    let fit = format!("{FIT} --draws 1500");
    succeed(here, &format!("{fit} --out whole"));
    let whole = bits(&here.join("whole"));
    for (way, damage) in WAYS {
        let child = start(here, &fit, way);
        let partial = here.join(format!("{way}.partial"));
        let field = chunk(&partial, "posterior/sigma/c/0/0");
        let mut child = child;
        while !field.exists() {
            assert!(child.try_wait().unwrap().is_none(), "it ended before it could be stopped");
            std::thread::yield_now();
        }
        let stopped = super::stop::signal(child, "TERM");
        assert_eq!(stopped.status.code(), Some(3), "{}", complaint(&stopped));
        damage(&field);
        let resumed = output(here, &format!("resume {way} --quiet"));
        let said = complaint(&resumed);
        assert!(resumed.status.success(), "{said}");
        for part in ["warning: ", "chain-0 cannot be used", "posterior/sigma/c/0/0", "damaged"] {
            assert!(said.contains(part), "{way}: no `{part}` in {said}");
        }
        assert_same(here, way, &whole);
        fs::remove_dir_all(here.join(way)).unwrap();
    }
}

#[test]
fn states_of_another_run_are_refused() {
    let directory = with_data();
    let here = directory.path();
    succeed(here, "simulate lgcp --grid 6x5 --total 60 --out small --quiet");
    let other = FIT.replace("data/counts.csv", "small/counts.csv");
    succeed(here, &format!("{FIT} --draws 30 --out a"));
    succeed(here, &format!("{other} --draws 30 --out b"));
    fs::copy(here.join("b/state/chain-0"), here.join("a/state/chain-0")).unwrap();
    let refused = output(here, "extend a --draws 10 --quiet");
    let said = complaint(&refused);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("chain 0") && said.contains("mixed"), "{said}");
    // What was there before is as it was.
    assert!(output(here, "summary a").status.success());
}
