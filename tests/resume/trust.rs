//! Fits until results can be trusted, kills them on the way, and extends those that ended too early.

use super::{FIT, assert_same, bits, complaint, output, succeed, with_data};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Looked at after 20, 40, 80 and 150 draws, none of which are enough.
const LOOKED_AT: &str = "--check-from 20 --max-draws 150";

fn summary(directory: &Path, name: &str) -> Value {
    serde_json::from_slice(&fs::read(directory.join(name).join("summary.json")).unwrap()).unwrap()
}

#[test]
fn a_fit_that_is_killed_between_looks_ends_with_the_same_bits() {
    super::kill::survives(&format!("{FIT} {LOOKED_AT}"), 10, 1915);
}

#[test]
fn a_fit_goes_on_until_it_is_trusted_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let fit = "fit funnel --dim 3 --chains 2 --warmup 200 --seed 5";
    let printed = succeed(here, &format!("{fit} --check-from 100 --out run"));
    let looks: Vec<&str> = printed.lines().filter(|line| line.contains("of each chain:")).collect();
    assert!(looks.len() >= 2, "{printed}");
    assert!(looks[0].contains("100 draws of each chain: smallest ESS"), "{printed}");
    assert!(looks[0].ends_with("; on to 200") && looks[0].contains("400 wanted"), "{printed}");
    assert!(looks[looks.len() - 1].ends_with("; enough"), "{printed}");
    assert!(printed.contains("s of CPU time") && printed.contains("s elapsed in all"), "{printed}");
    let found = summary(here, "run");
    let draws = found["draws"].as_u64().unwrap();
    assert_eq!((found["ended"].as_str(), draws), (Some("trusted"), 100 << (looks.len() - 1)));
    for figures in found["parameters"].as_object().unwrap().values() {
        let figure = |name: &str| figures[name].as_f64().unwrap();
        assert!(figure("ess_bulk") >= 400.0 && figure("ess_tail") >= 400.0, "{figures}");
        assert!(figure("rhat") <= 1.01, "{figures}");
    }
    let field = &found["field"];
    assert!(field["ess_bulk"]["min"].as_f64() >= Some(400.0), "{field}");
    assert!(field["ess_tail"]["min"].as_f64() >= Some(400.0), "{field}");
    assert!(field["rhat_max"].as_f64() <= Some(1.01), "{field}");
    // All files are those of a fit that was asked for as many draws, but for why it ended and how fields may be thinned.
    succeed(here, &format!("{fit} --draws {draws} --thin-for 2,16000 --quiet --out exact"));
    let (mut got, mut want) = (bits(&here.join("run")), bits(&here.join("exact")));
    for files in [&mut got, &mut want] {
        files.remove("summary.json");
    }
    let differ: Vec<_> = got.keys().filter(|name| got.get(*name) != want.get(*name)).collect();
    assert!(differ.is_empty() && got.len() == want.len(), "{differ:?}");
    // What is trusted already is left as it is.
    let again = succeed(here, "extend run");
    assert!(again.contains("; enough") && !again.contains("on to"), "{again}");
    assert_eq!(summary(here, "run")["draws"], draws);
}

#[test]
fn extending_goes_on_where_the_fit_ended() {
    let directory = with_data();
    let here = directory.path();
    succeed(here, &format!("{FIT} {LOOKED_AT} --out whole"));
    // One that had to end earlier goes on as if it had not.
    succeed(here, &format!("{FIT} --check-from 20 --max-draws 80 --thin-for 2,150 --out run"));
    assert_eq!(summary(here, "run")["ended"], "most-draws");
    assert_eq!(summary(here, "run")["remedy"], "extend");
    let report = fs::read_to_string(here.join("run/report.html")).unwrap();
    assert!(report.contains("<pre>sshmc extend run</pre>"), "no remedy");
    succeed(here, "extend run --max-draws 150 --quiet");
    assert_same(here, "run", &bits(&here.join("whole")));
    // By so many draws it ends with as many, whether it was looked at or not.
    succeed(here, "extend run --draws 30 --quiet");
    succeed(here, &format!("{FIT} --draws 180 --out exact"));
    assert_same(here, "run", &bits(&here.join("exact")));
    // A fit of a fixed length is looked at from then on.
    succeed(here, "extend exact --max-draws 200 --quiet");
    let found = summary(here, "exact");
    assert_eq!((found["draws"].as_u64(), found["ended"].as_str()), (Some(200), Some("most-draws")));
}

#[test]
fn time_that_is_up_ends_a_fit_with_what_it_has() {
    let directory = with_data();
    let here = directory.path();
    let fit = FIT.replace(" --quiet", "");
    let printed = succeed(here, &format!("{fit} --max-time 0s --out run"));
    assert!(printed.contains("because its time was up"), "{printed}");
    assert!(printed.contains("advice:  `sshmc extend run`"), "{printed}");
    let found = summary(here, "run");
    assert_eq!((found["draws"].as_u64(), found["ended"].as_str()), (Some(20), Some("out-of-time")));
    // There is all the time in the world, but not for more draws than these.
    succeed(here, "extend run --max-time 1d --max-draws 60 --quiet");
    assert_eq!(summary(here, "run")["draws"], 60);
}

#[test]
fn chains_that_are_run_apart_have_a_fixed_length() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let fit = "fit funnel --dim 3 --warmup 100 --chains 1 --quiet";
    succeed(here, &format!("{fit} --chain-offset 0 --out a"));
    assert_eq!(summary(here, "a")["draws"], 1000);
    succeed(here, &format!("{fit} --chain-offset 1 --max-draws 60 --out b"));
    assert_eq!(summary(here, "b")["draws"], 60, "unless they are told when to end");
    let refused = output(here, "merge a b --out all");
    assert_eq!(refused.status.code(), Some(2));
    let said = complaint(&refused);
    assert!(
        said.contains("expected 1000 draws of each chain") && said.contains("got 60"),
        "{said}"
    );
    // Of those that have as many it does not matter how they came to it.
    succeed(here, &format!("{fit} --chain-offset 1 --draws 1000 --out c"));
    succeed(here, "merge a c --out all --quiet");
    succeed(here, &format!("{} --draws 1000 --out whole", fit.replace("--chains 1", "--chains 2")));
    assert_same(here, "all", &bits(&here.join("whole")));
}
