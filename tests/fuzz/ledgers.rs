//! The directory of a calibration: its settings, and the ranks of the replicates that are done.

use super::{assert_mixed, scratch, storm};
use serde_json::json;
use sshmc::check::{Ledger, Replicate};
use std::fs;

#[test]
fn settings_and_ranks_of_a_calibration() {
    let directory = scratch();
    let here = directory.path();
    let settings = json!({"model": "sv", "seed": 1, "among": 63, "priors": ["phi=beta(20,1.5)"]});
    let names = ["phi".to_owned(), "log-likelihood".to_owned()];
    let open = || Ledger::open(here, &settings, &names, 63);
    let mut ledger = open().unwrap();
    for number in 0..5 {
        let ranks = vec![7 * number, 63 - number];
        let ess = 99.5;
        let one = Replicate { number, ranks, draws: 250, ess, divergent: 0, seconds: 0.25 };
        ledger.append(one).unwrap();
    }
    drop(ledger);
    let paths = ["check.json", "ranks.csv"].map(|name| here.join(name));
    let written: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    let tally = storm("directories of calibrations", 0.5, &written, |k, bytes| {
        fs::write(&paths[k], bytes).unwrap();
        let outcome = open().map(|ledger| {
            let done = ledger.done().to_vec();
            assert!(done.iter().all(|one| one.ranks.iter().all(|&rank| rank <= 63)), "{done:?}");
            assert!(done.len() + ledger.missing(5).len() >= 5, "{done:?}");
        });
        paths.iter().zip(&written).for_each(|(path, whole)| fs::write(path, whole).unwrap());
        outcome
    });
    assert_mixed("directories of calibrations", &tally);
}
