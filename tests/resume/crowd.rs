//! Starts many processes on one directory at once: one gets it, the others are refused, and nothing is mixed.

use super::{FIT, assert_same, bits, complaint, output, sshmc, start, succeed, with_data};
use std::fs;

#[test]
fn of_many_processes_on_one_directory_one_gets_it() {
    let directory = with_data();
    let here = directory.path();
    let fit = format!("{FIT} --draws 400");
    succeed(here, &format!("{fit} --out whole"));
    let whole = bits(&here.join("whole"));
    for round in 0..3 {
        let name = format!("run-{round}");
        let children: Vec<_> =
            (0..6).map(|_| sshmc(here, &format!("{fit} --out {name}")).spawn().unwrap()).collect();
        let ended: Vec<_> =
            children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
        let won = ended.iter().filter(|one| one.status.success()).count();
        assert_eq!(won, 1, "{:?}", ended.iter().map(complaint).collect::<Vec<_>>());
        for one in ended.iter().filter(|one| !one.status.success()) {
            let said = complaint(one);
            assert_eq!(one.status.code(), Some(2), "{said}");
            assert!(said.contains("got one that is running"), "{said}");
        }
        assert_same(here, &name, &whole);
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
