//! Kills, stops, extends and merges fits by every method: all end with the bits of a fit that was left alone.

use super::stop::signal;
use super::{FIT, assert_same, bits, complaint, start, succeed, with_data};

/// Fits by the other methods that take long enough to be killed.
fn fits() -> Vec<String> {
    let map = ["hmc --steps 12", "hmc-gibbs --coordinates informed --steps 8", "nuts"];
    let map = map.map(|method| format!("{FIT} --method {method}"));
    let funnel = "fit funnel --chains 2 --warmup 100 --seed 3 --checkpoint-interval 0.01 --quiet";
    let curved = ["rmhmc-gibbs --dim 1000", "rmhmc-softabs --dim 9"];
    map.into_iter().chain(curved.map(|method| format!("{funnel} --method {method}"))).collect()
}

#[test]
fn every_method_that_is_killed_or_stopped_ends_with_the_same_bits() {
    let directory = with_data();
    let here = directory.path();
    for (k, fit) in fits().into_iter().enumerate() {
        let draws = if fit.contains("rmhmc-gibbs") { 3000 } else { 150 };
        let fit = format!("{fit} --draws {draws}");
        succeed(here, &format!("{fit} --out whole-{k}"));
        let whole = bits(&here.join(format!("whole-{k}")));
        for name in ["KILL", "TERM"] {
            let run = format!("run-{k}-{name}");
            let ended = signal(start(here, &fit, &run), name);
            let code = if name == "KILL" { None } else { Some(3) };
            assert_eq!(ended.status.code(), code, "{fit}: {}", complaint(&ended));
            succeed(here, &format!("resume {run} --quiet"));
            assert_same(here, &run, &whole);
        }
    }
}

#[test]
fn every_method_is_extended_and_merged_to_the_same_bits() {
    let directory = with_data();
    let here = directory.path();
    for (k, fit) in fits().into_iter().enumerate() {
        let [whole, run, one, other, all] =
            ["whole", "run", "one", "other", "all"].map(|name| format!("{name}-{k}"));
        succeed(here, &format!("{fit} --draws 30 --out {whole}"));
        succeed(here, &format!("{fit} --draws 18 --out {run}"));
        succeed(here, &format!("extend {run} --draws 12 --quiet"));
        assert_same(here, &run, &bits(&here.join(&whole)));
        let part = fit.replace("--chains 2", "--chains 1");
        succeed(here, &format!("{part} --draws 30 --chain-offset 0 --out {one}"));
        succeed(here, &format!("{part} --draws 30 --chain-offset 1 --out {other}"));
        succeed(here, &format!("merge {one} {other} --out {all} --quiet"));
        assert_same(here, &all, &bits(&here.join(&whole)));
    }
}
