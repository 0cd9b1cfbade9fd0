//! Stops fits by signals, damages what they kept, changes their input, and starts second processes.

use super::{FIT, assert_same, bits, complaint, output, sshmc, start, succeed, with_data};
use std::fs;
use std::path::Path;
use std::process::{Child, Command};

/// Sends a signal to a run and waits for it.
pub(super) fn signal(child: Child, name: &str) -> std::process::Output {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
    child.wait_with_output().unwrap()
}

/// Long enough to be stopped on the way.
fn long() -> String {
    format!("{FIT} --draws 1200")
}

#[test]
fn signals_stop_a_fit_with_its_state_kept_and_no_damage_goes_unseen() {
    let directory = with_data();
    let here = directory.path();
    succeed(here, &format!("{} --out whole", long()));
    let whole = bits(&here.join("whole"));
    for (name, how) in [("INT", "a"), ("TERM", "b"), ("HUP", "c")] {
        let output = signal(start(here, &long(), how), name);
        assert_eq!(output.status.code(), Some(3), "{}", complaint(&output));
        let said = complaint(&output);
        assert!(said.starts_with("stopped: ") && said.contains("sshmc resume"), "{said}");
        assert!(!here.join(how).exists() && here.join(format!("{how}.partial")).exists());
    }
    for how in ["a", "c"] {
        succeed(here, &format!("resume {how} --quiet"));
        assert_same(here, how, &whole);
    }
    damaged(here);
    assert_same(here, "b", &whole);
}

/// A flipped bit in the newest state of one chain, and both states of the other cut short.
fn damaged(here: &Path) {
    let state = here.join("b.partial/state");
    let flipped = state.join("chain-0");
    let mut bytes = fs::read(&flipped).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(&flipped, bytes).unwrap();
    for name in ["chain-1", "chain-1.old"] {
        let bytes = fs::read(state.join(name)).unwrap();
        fs::write(state.join(name), &bytes[..bytes.len() / 3]).unwrap();
    }
    let resumed = output(here, "resume b --quiet");
    let said = complaint(&resumed);
    assert!(resumed.status.success(), "{said}");
    for part in [
        "chain-0 cannot be used",
        "the one before it is used",
        "chain-1.old cannot",
        "start afresh",
    ] {
        assert!(said.contains(part), "no `{part}` in {said}");
    }
}

#[test]
fn a_run_has_its_own_copy_of_the_input_and_no_second_process() {
    let directory = with_data();
    let here = directory.path();
    succeed(here, &format!("{} --out whole", long()));
    let whole = bits(&here.join("whole"));
    let child = start(here, &long(), "run");
    for line in [format!("{} --out run", long()), "resume run".into()] {
        let second = output(here, &line);
        assert_eq!(second.status.code(), Some(2), "{line}");
        assert!(complaint(&second).contains("got one that is running"), "{}", complaint(&second));
    }
    assert_eq!(signal(child, "TERM").status.code(), Some(3));
    // Nothing else takes its name either: to resume it would replace that.
    let others = [format!("{} --method nuts --out run", long()), "simulate sv --out run".into()];
    for other in others {
        let refused = output(here, &other);
        assert_eq!(refused.status.code(), Some(2), "{other}");
        assert!(complaint(&refused).contains("sshmc resume run"), "{}", complaint(&refused));
    }
    let again = output(here, &format!("{} --out run", long()));
    assert_eq!(again.status.code(), Some(2));
    assert!(complaint(&again).contains("an unfinished one; continue it by `sshmc resume run`"));
    // The original is of no more importance; the copy is.
    fs::remove_dir_all(here.join("data")).unwrap();
    let copy = here.join("run.partial/state/inputs/0-counts.csv");
    let text = fs::read_to_string(&copy).unwrap();
    fs::write(&copy, text.replace("0,0,", "0,0,1")).unwrap();
    let refused = output(here, "resume run");
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        complaint(&refused).contains("a file that has changed since"),
        "{}",
        complaint(&refused)
    );
    fs::write(&copy, text).unwrap();
    // From another directory as well.
    fs::create_dir(here.join("elsewhere")).unwrap();
    succeed(&here.join("elsewhere"), "resume ../run --quiet");
    assert_same(here, "run", &whole);
}

/// Three series of different lengths.
fn write_series(here: &Path) {
    let mut text = String::from("name,y\n");
    for (name, length, step) in [("a", 60, 0.7548), ("b", 45, 0.5698), ("c", 53, 0.3247)] {
        for k in 0..length {
            text += &format!("{name},{}\n", ((f64::from(k) * step).fract() - 0.5) * 0.04);
        }
    }
    fs::write(here.join("returns.csv"), text).unwrap();
}

const SERIES: [&str; 3] = ["a", "b", "c"];

/// Stops a fit of several series when `begun` says so, and lets it go on.
fn stop_and_go_on(here: &Path, fit: &str, begun: impl Fn(&[bool], &[bool]) -> bool) {
    succeed(here, &format!("{fit} whole"));
    let child = sshmc(here, &format!("{fit} run")).spawn().unwrap();
    let ended = |name: &str| here.join("run.partial").join(name).join("summary.json").exists();
    let kept = |name: &str| here.join(format!("run.partial/{name}.partial/state/chain-0")).exists();
    while !begun(&SERIES.map(ended), &SERIES.map(kept)) {
        assert!(!here.join("run").exists(), "it ended before it could be stopped");
        std::thread::yield_now();
    }
    assert_eq!(signal(child, "TERM").status.code(), Some(3));
    assert!(!here.join("run").exists());
    succeed(here, "resume run --quiet");
    for series in SERIES {
        assert_same(&here.join("run"), series, &bits(&here.join("whole").join(series)));
    }
    let table = |name: &str| fs::read(here.join(name).join("series.csv")).unwrap();
    assert_eq!(table("run"), table("whole"));
}

#[test]
fn several_series_are_resumed_as_one() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    write_series(here);
    let fit = "fit sv --returns returns.csv --by name --chains 1 --warmup 100 --draws 3000 --threads 1 \
               --checkpoint-interval 0.01 --quiet --out";
    let any = |flags: &[bool]| flags.contains(&true);
    // One series has ended, another has begun.
    stop_and_go_on(here, fit, |ended, kept| any(ended) && any(kept));
}

#[test]
fn several_series_on_a_gpu_are_fitted_together_and_resumed_as_one() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    write_series(here);
    let adapter = std::env::var("SSHMC_TEST_ADAPTER").unwrap_or_else(|_| "gpu".into());
    let options =
        format!("--chains 2 --warmup 60 --draws 40 --device {adapter} --checkpoint-interval 0.01");
    let fit = format!("fit sv --returns returns.csv --by name {options} --quiet --out");
    stop_and_go_on(here, &fit, |_, kept| kept.iter().all(|&kept| kept));
    let printed =
        succeed(here, &format!("fit sv --returns returns.csv --by name {options} --out told"));
    assert!(printed.contains("3 series to fit, up to 3 at a time"), "{printed}");
    // A series has the draws it has alone.
    let all = fs::read_to_string(here.join("returns.csv")).unwrap();
    let own: String =
        all.lines().filter_map(|l| l.strip_prefix("b,")).map(|y| format!("{y}\n")).collect();
    fs::write(here.join("b.csv"), format!("y\n{own}")).unwrap();
    succeed(here, &format!("fit sv --returns b.csv {options} --quiet --out alone"));
    let draws = |run: &str| fs::read(here.join(run).join("hyperparameters.csv")).unwrap();
    assert!(draws("alone") == draws("run/b"), "other draws than alone");
    assert!(draws("alone") != draws("run/a"), "the comparison sees nothing");
}
