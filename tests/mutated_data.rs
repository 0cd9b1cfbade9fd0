//! Damages valid files at random and checks that reading them ends in data or in one line, never in a panic.

use std::io::Cursor;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sshmc::data::{Counts, GroupedColumns, GroupedTable, Returns, Table};

const MUTATIONS: usize = 4000;

/// Bytes that mean something to a reader, so that most mutations get past the first check.
const TELLING: &[u8] = b"0123456789.,-+eE\"\n\r\t; NAnaIif\0\xff\xef\xbb\xbf";

/// Between one and four replacements, insertions, deletions, repetitions or truncations.
fn damaged(valid: &[u8], random: &mut StdRng) -> Vec<u8> {
    let mut bytes = valid.to_vec();
    for _ in 0..random.random_range(1..=4) {
        let at = random.random_range(0..=bytes.len());
        let until = random.random_range(at..=bytes.len());
        let telling = TELLING[random.random_range(0..TELLING.len())];
        match random.random_range(0..6) {
            0 => bytes.insert(at, telling),
            1 => bytes.insert(at, random.random()),
            2 if at < bytes.len() => bytes[at] = telling,
            3 if at < bytes.len() => drop(bytes.remove(at)),
            4 => bytes.extend_from_within(at..until),
            _ => bytes.truncate(until),
        }
    }
    bytes
}

/// Reads many damaged versions of a file and returns how many were accepted.
fn accepted(seed: u64, valid: &str, read: impl Fn(Table) -> sshmc::Result<()>) -> usize {
    let open = |bytes| Table::from_reader("damaged.csv", Cursor::new(bytes));
    let undamaged = open(valid.as_bytes().to_vec()).and_then(&read);
    assert!(undamaged.is_ok(), "{undamaged:?}");
    let mut random = StdRng::seed_from_u64(seed);
    let mut accepted = 0;
    for _ in 0..MUTATIONS {
        let bytes = damaged(valid.as_bytes(), &mut random);
        match open(bytes.clone()).and_then(&read) {
            Ok(()) => accepted += 1,
            Err(error) => {
                let message = error.to_string();
                let text = String::from_utf8_lossy(&bytes);
                assert!(message.contains("damaged.csv"), "{text:?}: {message}");
                assert!(!message.contains(['\n', '\r', '\0']), "{text:?}: {message}");
                assert!(message.len() < 1000, "{text:?}: {message}");
            }
        }
    }
    accepted
}

/// Both outcomes have to occur, or the mutations are too tame or too wild to test anything.
fn assert_mixed(accepted: usize) {
    assert!((MUTATIONS / 50..MUTATIONS * 49 / 50).contains(&accepted), "{accepted} accepted");
}

const GRID: &str = "i,j,y,exposure\r\n0,0,3,1\r\n0,1,,0.5\r\n1,0,\"2\",2\r\n1,1,0,1\r\n\
                    2,0,NA,1\r\n2,1,14,0.25\r\n";

#[test]
fn damaged_counts() {
    assert_mixed(accepted(1, GRID, |table| Counts::from_table(table).map(drop)));
}

#[test]
fn damaged_exposures() {
    let counts = Counts::from_vec(3, 2, vec![1.0; 6]).unwrap();
    let read = |table| counts.clone().with_exposure_table(table).map(drop);
    assert_mixed(accepted(2, GRID, read));
}

#[test]
fn damaged_returns() {
    let valid = "date,y\n\"1 May, noon\",0.01\n2,-0.5e-2\n3,0\n4,1.25\n";
    assert_mixed(accepted(3, valid, |table| Returns::from_table(table).map(drop)));
    let bare = "y\n0.01\n-0.5e-2\n0\n1.25\n";
    assert_mixed(accepted(4, bare, |table| Returns::from_table(table).map(drop)));
}

#[test]
fn damaged_grouped_tables() {
    let columns = GroupedColumns { intercept: true, ..GroupedColumns::default() };
    let valid = "group,label,x,\"z\"\na,0,1.5,2\nb,1,-3,4\n\na,1,2e1,0\n\"c, d\",0,0,0\n";
    assert_mixed(accepted(5, valid, |table| GroupedTable::from_table(table, &columns).map(drop)));
}
