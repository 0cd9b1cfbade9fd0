//! Adds draws to fits and joins chains that were run apart.

use super::{FIT, assert_same, bits, succeed, with_data};

#[test]
fn an_extended_fit_is_the_longer_one() {
    let directory = with_data();
    let here = directory.path();
    // More than a chunk of the archive, in two pieces that both end within one.
    succeed(here, &format!("{FIT} --draws 700 --out whole"));
    succeed(here, &format!("{FIT} --draws 150 --out run"));
    succeed(here, "extend run --draws 400 --quiet");
    succeed(here, "extend run --draws 150 --quiet");
    assert_same(here, "run", &bits(&here.join("whole")));
    // Thinned fields keep their thinning, and everything else is as it would have been.
    let thin = format!("{FIT} --keep-fields 0");
    succeed(here, &format!("{thin} --draws 60 --out thin"));
    succeed(here, "extend thin --draws 60 --quiet");
    succeed(here, &format!("{thin} --draws 120 --out thin-whole"));
    let (mut got, mut want) = (bits(&here.join("thin")), bits(&here.join("thin-whole")));
    for files in [&mut got, &mut want] {
        files.retain(|name, _| name.ends_with("field.csv") || name.contains("hyperparameters"));
    }
    assert_eq!((got.len(), got), (2, want));
}

#[test]
fn merged_parts_are_the_whole() {
    let directory = with_data();
    let here = directory.path();
    let four = FIT.replace("--chains 2", "--chains 4");
    succeed(here, &format!("{four} --draws 60 --out whole"));
    let one = FIT.replace("--chains 2", "--chains 1");
    succeed(here, &format!("{one} --draws 60 --out a"));
    succeed(here, &format!("{FIT} --draws 60 --chain-offset 1 --threads 1 --out b"));
    succeed(here, &format!("{one} --draws 60 --chain-offset 3 --out c"));
    succeed(here, "merge c a b --out all --quiet");
    assert_same(here, "all", &bits(&here.join("whole")));
    // The command that is shown leaves the parts alone.
    let report = std::fs::read_to_string(here.join("all/report.html")).unwrap();
    let shown: Vec<&str> = report.lines().filter(|line| line.contains("--thin-for")).collect();
    assert!(!shown.is_empty(), "{report}");
    assert!(shown.iter().all(|line| line.contains("--out all") && !line.contains("--out a ")));
    // The whole can be extended like any other.
    succeed(here, "extend all --draws 20 --quiet");
    succeed(here, &format!("{four} --draws 80 --out longer"));
    assert_same(here, "all", &bits(&here.join("longer")));
}
