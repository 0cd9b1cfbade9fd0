//! Starts many processes on one directory at once: one gets it, the others are refused, and nothing is mixed.

use super::{FIT, assert_same, bits, complaint, output, sshmc, start, succeed, with_data};
use std::fs;
use std::path::Path;
use std::process::{Child, Output};

/// Starts six processes on one directory; nothing if one of them ended well before the others had ended, so that a late one may have
/// come when the first was done.
fn crowd(here: &Path, line: &str) -> Option<Vec<Output>> {
    let mut children: Vec<Child> = (0..6).map(|_| sshmc(here, line).spawn().unwrap()).collect();
    let ended = |child: &mut Child| child.try_wait().unwrap();
    while children.iter_mut().filter_map(ended).count() < children.len() - 1 {
        std::thread::yield_now();
    }
    let lost = children.iter_mut().filter_map(ended).filter(|status| !status.success()).count();
    let all: Vec<Output> =
        children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    (lost == all.len() - 1).then_some(all)
}

#[test]
fn of_many_processes_on_one_directory_one_gets_it() {
    let directory = with_data();
    let here = directory.path();
    // Long enough that all are there before one ends; twice as long if not. Two that both go on to the end are never enough.
    let mut draws = 1000;
    for round in 0..3 {
        let ended = loop {
            let name = format!("run-{round}");
            match crowd(here, &format!("{FIT} --draws {draws} --out {name}")) {
                Some(ended) => break ended,
                None => fs::remove_dir_all(here.join(name)).unwrap(),
            }
            draws *= 2;
            assert!(draws <= 32_000, "one of six always ends before the others are refused");
        };
        let won = ended.iter().filter(|one| one.status.success()).count();
        assert_eq!(won, 1, "{:?}", ended.iter().map(complaint).collect::<Vec<_>>());
        for one in ended.iter().filter(|one| !one.status.success()) {
            let said = complaint(one);
            assert_eq!(one.status.code(), Some(2), "{said}");
            assert!(said.contains("got one that is running"), "{said}");
        }
        let whole = format!("whole-{round}");
        succeed(here, &format!("{FIT} --draws {draws} --out {whole}"));
        assert_same(here, &format!("run-{round}"), &bits(&here.join(whole)));
    }
    let left: Vec<_> = fs::read_dir(here)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains("partial"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_process_that_is_killed_gives_its_directory_free() {
    let directory = with_data();
    let here = directory.path();
    let fit = format!("{FIT} --draws 1200");
    let mut child = start(here, &fit, "run");
    let extended = output(here, "extend run --draws 5");
    assert_eq!(extended.status.code(), Some(2), "{}", complaint(&extended));
    child.kill().unwrap();
    child.wait().unwrap();
    succeed(here, "resume run --quiet");
    succeed(here, &format!("{fit} --out whole"));
    assert_same(here, "run", &bits(&here.join("whole")));
}
