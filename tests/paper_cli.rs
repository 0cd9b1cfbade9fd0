//! Reproduces the paper as a user does, with a handful of draws: the pages are whole, the pictures are pictures, and nothing is run twice.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

#[path = "common/cli.rs"]
mod cli;

use cli::{sshmc, text};
use std::fs;
use std::path::Path;
use std::process::Output;

fn paper(directory: &Path, line: &str) -> Output {
    sshmc(directory, &format!("paper {line}"))
}

/// The cells of a page's tables, table by table.
fn tables(page: &str) -> Vec<Vec<Vec<String>>> {
    let mut all: Vec<Vec<Vec<String>>> = vec![Vec::new()];
    for line in page.lines() {
        let cells = line.strip_prefix("| ").and_then(|l| l.strip_suffix(" |"));
        match cells {
            Some(cells) => {
                let row = cells.split(" | ").map(|c| c.trim().to_owned()).collect();
                all.last_mut().unwrap().push(row);
            }
            None if line.starts_with("|---") => {}
            None => all.push(Vec::new()),
        }
    }
    all.into_iter().filter(|table| !table.is_empty()).collect()
}

#[test]
fn everything_is_made_and_kept() {
    let directory = tempfile::tempdir().unwrap();
    let output = paper(directory.path(), "all --quick --draws 4 --out made");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let out = directory.path().join("made");
    let page = fs::read_to_string(out.join("paper.md")).unwrap();
    let html = fs::read_to_string(out.join("paper.html")).unwrap();
    let tables = tables(&page);
    assert_eq!(tables.len(), 4, "{page}");
    for (k, table) in tables.iter().enumerate() {
        let width = table[0].len();
        assert!(table.iter().all(|row| row.len() == width), "table {}", k + 1);
        let count = |what: &str| table.iter().filter(|row| row[0] == what).count();
        // The paper has three rows, or two without HMC; each has one of ours beside it.
        assert_eq!(count("paper"), if k == 3 { 2 } else { 3 });
        assert_eq!(count("here"), count("paper"));
        assert!(count("here, besides") >= 6);
        let methods: Vec<&str> = table.iter().map(|row| row[1].as_str()).collect();
        assert!(
            ["NUTS", "HMC (Gibbs)", "SSHMC"].iter().all(|m| methods.contains(m)),
            "{methods:?}"
        );
    }
    for figure in ["figure1", "figure2", "figure3"] {
        assert!(page.contains(&format!("({figure}.png)")));
        let svg = fs::read_to_string(out.join(format!("{figure}.svg"))).unwrap();
        assert!(svg.starts_with("<svg") && html.contains(&svg));
        let png = fs::read(out.join(format!("{figure}.png"))).unwrap();
        assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");
        assert!(png.len() > 10_000, "{figure}: {} bytes", png.len());
    }
    assert!(page.contains("six times") && page.contains("100 times cheaper"));
    made_again(directory.path(), &page);
}

/// A second call runs nothing and writes the same page.
fn made_again(directory: &Path, page: &str) {
    let output = paper(directory, "all --quick --draws 4 --out made");
    let told = text(&output.stdout);
    let lines: Vec<&str> = told.lines().filter(|line| line.starts_with("table")).collect();
    assert!(lines.len() > 30 && lines.iter().all(|line| line.ends_with("(made before)")), "{told}");
    assert_eq!(fs::read_to_string(directory.join("made/paper.md")).unwrap(), page);
    // A file cut short is run again, and only that one.
    fs::write(directory.join("made/runs/table1-hmc-centred.json"), "{").unwrap();
    let told = text(&paper(directory, "table1 --quick --draws 4 --out made").stdout);
    let fresh = told.lines().filter(|l| l.starts_with("table") && !l.ends_with("(made before)"));
    assert_eq!(fresh.count(), 1, "{told}");
    // The page still holds what was made before.
    assert_eq!(tables(&fs::read_to_string(directory.join("made/paper.md")).unwrap()).len(), 4);
}

#[test]
fn the_uci_file_is_read_and_what_is_no_such_file_refused() {
    let directory = tempfile::tempdir().unwrap();
    let line = |purpose: usize, k: usize| {
        format!(
            "A1{} {} A3{} A4{purpose} {} A61 A75 {} A93 A101 4 A121 {} A143 A152 2 A173 1 A192 A201 {}\n",
            1 + k % 4,
            6 + k % 40,
            k % 5,
            1000 + 37 * k,
            1 + k % 4,
            20 + k % 50,
            1 + k % 2
        )
    };
    let data: String = (0..60).map(|k| line(k % 3, k)).collect();
    fs::write(directory.path().join("german.data"), data).unwrap();
    let output =
        paper(directory.path(), "table2 --quick --draws 4 --data german.data --out made --quiet");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(output.stdout.is_empty());
    let page = fs::read_to_string(directory.path().join("made/paper.md")).unwrap();
    assert!(page.contains("60 rows of the German credit data in 3 groups"), "{page}");
    fs::write(directory.path().join("other.csv"), "a,b\n1,2\n").unwrap();
    fs::create_dir(directory.path().join("full")).unwrap();
    fs::write(directory.path().join("full/thesis.tex"), "x").unwrap();
    for (line, parts) in [
        (
            "table2 --quick --draws 4 --data other.csv --out a",
            &["other.csv, line 1", "20 attributes"][..],
        ),
        ("table2 --quick --draws 4 --data missing --out a", &["missing"]),
        ("table9", &["table9"]),
        ("figure1 --draws 0 --out a", &["--draws"]),
        ("figure1 --out full", &["full", "another"]),
    ] {
        let output = paper(directory.path(), line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        let complaint = text(&output.stderr);
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        assert!(!directory.path().join("a").exists(), "{line} left something behind");
        assert!(parts.iter().all(|part| complaint.contains(part)), "{complaint}");
    }
}
