//! Refuses what cannot be resumed, extended, merged or begun, in one line and without touching anything.

use super::{FIT, complaint, output, succeed, with_data};
use std::fs;

/// What is typed, and parts of the answer. `run` and `other` are fits of the same data with other seeds, `next` has the chains after
/// those of `run`, `far` later ones, `bare` is a fit without its state, `theirs` is no fit, and `old` and `zarr` are of other versions.
const REFUSED: [(&str, &[&str]); 21] = [
    ("resume absent", &["absent", "nothing there", "--out DIR"]),
    ("resume theirs", &["theirs", "something else", "--out DIR"]),
    ("resume bare", &["bare", "a fit whose state was kept"]),
    ("resume old", &["sshmc 9.9.9", "use the version that wrote it"]),
    ("extend absent --draws 5", &["nothing there"]),
    ("extend theirs --draws 5", &["something else"]),
    ("extend bare --draws 5", &["a fit whose state was kept"]),
    ("extend run --draws 0", &["--draws", "at least 1"]),
    ("extend run --draws 4294967295", &["--draws", "at most"]),
    ("merge run theirs --out all", &["theirs", "something else"]),
    ("merge run other --out all", &["other", "the same data, model and settings"]),
    ("merge run run --out all", &["run", "--chain-offset"]),
    ("merge run far --out all", &["far", "chains from 2 on", "between"]),
    ("merge run next", &["--out"]),
    ("merge run next --out next", &["--out next", "none of the parts"]),
    ("merge run next --out theirs", &["theirs", "other contents"]),
    ("report zarr", &["draws.zarr", "layout 77"]),
    ("predict zarr", &["draws.zarr", "layout 77"]),
    ("fit funnel --checkpoint-interval -1", &["--checkpoint-interval", "-1"]),
    ("fit funnel --chain-offset 4000000000", &["--chain-offset", "at most"]),
    ("fit funnel --dim 5000000 --chains 1000", &["memory", "--keep-fields"]),
];

#[test]
fn whatever_does_not_belong_is_refused_and_nothing_is_touched() {
    let directory = with_data();
    let here = directory.path();
    let fit = format!("{FIT} --draws 20");
    for line in [
        format!("{fit} --out run"),
        format!("{fit} --chain-offset 2 --out next"),
        format!("{fit} --chain-offset 9 --out far"),
        format!("{} --out other", fit.replace("--seed 3", "--seed 4")),
        "fit funnel --dim 3 --warmup 20 --draws 20 --quiet --out bare".to_owned(),
    ] {
        succeed(here, &line);
    }
    fs::remove_dir_all(here.join("bare/state")).unwrap();
    fs::create_dir(here.join("theirs")).unwrap();
    fs::write(here.join("theirs/thesis.tex"), "").unwrap();
    for name in ["old", "zarr"] {
        let copied =
            std::process::Command::new("cp").args(["-r", "run", name]).current_dir(here).status();
        assert!(copied.unwrap().success());
    }
    let change = |file: &str, from: &str, to: &str| {
        let text = fs::read_to_string(here.join(file)).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(here.join(file), text.replace(from, to)).unwrap();
    };
    let program = format!("sshmc {}", env!("CARGO_PKG_VERSION"));
    change("old/state/task.json", &program, "sshmc 9.9.9");
    change("zarr/draws.zarr/zarr.json", "\"sshmc_layout\": 1", "\"sshmc_layout\": 77");
    let names = || {
        let entries = fs::read_dir(here).unwrap().map(|entry| entry.unwrap().file_name());
        entries.collect::<std::collections::BTreeSet<_>>()
    };
    let before = names();
    for (line, parts) in REFUSED {
        let refused = output(here, line);
        let said = complaint(&refused);
        assert_eq!(refused.status.code(), Some(2), "{line}: {said}");
        assert!(said.starts_with("error: ") && said.lines().count() == 1, "{line}: {said}");
        for part in parts {
            assert!(said.contains(part), "{line}: no `{part}` in {said}");
        }
        assert_eq!(names(), before, "{line}");
    }
}
