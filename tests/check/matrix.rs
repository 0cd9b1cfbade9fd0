//! Takes every model, method, kind of coordinates and device that the program names: each is calibrated, or refused in one line.
//!
//! By default worlds are tiny and few, so that this shows that fits run and truths are ranked. With `SSHMC_MATRIX_REPLICATES` set to
//! the number of worlds (a quarter of them on a GPU) it is a calibration, with a false-alarm rate of 1e-6 over all of it, and prints
//! a table: `SSHMC_MATRIX_REPLICATES=40 cargo test --test check matrix -- --nocapture`.

use crate::FALSE_ALARM;
use crate::cli::{refused, sshmc, succeed, text};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// One combination.
#[derive(Clone, Debug)]
struct Cell {
    model: String,
    method: String,
    coordinates: String,
    device: &'static str,
}

/// What the help says an option may be.
fn choices(help: &str, option: &str) -> Vec<String> {
    let after = help.split_once(option).unwrap().1;
    let list = after.split_once("[possible values: ").unwrap().1.split_once(']').unwrap().0;
    list.split(", ").map(String::from).collect()
}

/// All there are.
fn cells(here: &Path) -> Vec<Cell> {
    let help = succeed(here, "check calibrate -h");
    let mut all = Vec::new();
    for device in ["cpu", "gpu"] {
        for model in choices(&help, "\n  <MODEL>") {
            for method in choices(&help, "--method ") {
                for coordinates in choices(&help, "--coordinates ") {
                    let (model, method) = (model.clone(), method.clone());
                    all.push(Cell { model, method, coordinates, device });
                }
            }
        }
    }
    assert_eq!(all.len(), 2 * 5 * 6 * 5, "models, methods or coordinates have changed");
    all
}

impl Cell {
    /// Whether the documentation says that it can be sampled.
    fn is_offered(&self) -> bool {
        let (model, coordinates) = (self.model.as_str(), self.coordinates.as_str());
        let published = ["auto", "centred"].contains(&coordinates);
        if coordinates == "block" {
            let map = ["lgcp", "negative-binomial"].contains(&model);
            return map && (self.device, self.method.as_str()) == ("cpu", "sshmc");
        }
        match (self.device, self.method.as_str()) {
            ("gpu", "sshmc") => match model {
                "lgcp" | "negative-binomial" => true,
                "sv" => coordinates != "centred",
                _ => false,
            },
            ("gpu", _) => false,
            (_, "rmhmc-gibbs") => published,
            (_, "rmhmc-softabs") => published && ["logistic", "funnel"].contains(&model),
            _ => true,
        }
    }

    fn line(&self, replicates: Option<u32>, out: &str) -> String {
        let size = match self.model.as_str() {
            "lgcp" | "negative-binomial" => "--grid 4",
            "sv" => "--length 8",
            "logistic" => "--groups 2 --features 2 --rows 5",
            _ => "--dim 3",
        };
        let work = match (replicates, self.device) {
            (None, "gpu") => "--replicates 2 --chains 1 --warmup 10 --draws 8 --among 7".to_owned(),
            (None, _) => "--replicates 3 --chains 1 --warmup 40 --draws 16 --among 7".to_owned(),
            (Some(n), device) => {
                let n = if device == "gpu" { n.div_ceil(4) } else { n };
                format!("--replicates {n} --chains 2 --warmup 300 --draws 200 --among 15")
            }
        };
        let Cell { model, method, coordinates, device } = self;
        format!(
            "check calibrate {model} {size} {work} --method {method} --coordinates {coordinates} --device {device} --threads 1 --seed 7 \
             --progress 1e9 --out {out}"
        )
    }

    /// Calibrates it; its row of the table, and what is wrong if anything is.
    fn calibrate(&self, here: &Path, line: &str) -> (String, Option<String>) {
        let output = sshmc(here, line);
        let (printed, complaint) = (text(&output.stdout), text(&output.stderr));
        // Some methods are too slow for the draws they have, which the program says of itself.
        let (verdict, code) = match printed.contains("verdict: NOT EXACT") {
            true => ("not exact: fits too short", 4),
            false => ("uniform", 0),
        };
        let right = output.status.code() == Some(code) && printed.contains("verdict: ");
        // | quantity | p | largest difference | verdict |
        let p = printed.lines().filter_map(|row| row.strip_prefix("| ")?.split(" | ").nth(1));
        let p: Vec<f64> = p.filter_map(|p| p.parse().ok()).collect();
        let smallest = p.iter().copied().fold(1.0, f64::min);
        let worlds = printed.lines().find_map(|row| row.split_once(" fits of "));
        let worlds = worlds.map_or("none", |(worlds, _)| worlds);
        let verdict = if right { verdict } else { "WRONG" };
        let Cell { model, method, coordinates, device } = self;
        let row = format!(
            "| {model} | {method} | {coordinates} | {device} | {smallest:.3} | {worlds} | {verdict} |"
        );
        (row, (!right || p.len() < 5).then(|| format!("{line}: {complaint}{printed}")))
    }

    /// It is refused in one line and leaves nothing behind.
    fn refuse(&self, here: &Path, out: &str) -> String {
        refused(here, &self.line(None, out), &["; "]);
        assert!(!here.join(out).exists(), "{self:?} left a directory behind");
        let Cell { model, method, coordinates, device } = self;
        format!("| {model} | {method} | {coordinates} | {device} | | | refused |")
    }
}

#[test]
fn the_matrix_of_models_methods_coordinates_and_devices_has_no_hole() {
    let replicates: Option<u32> =
        std::env::var("SSHMC_MATRIX_REPLICATES").ok().map(|n| n.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let cells = cells(here);
    let each = FALSE_ALARM / cells.iter().filter(|cell| cell.is_offered()).count() as f64;
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(cell) = cells.get(index) else { return };
            let out = format!("cell-{index}");
            let line = format!("{} --false-alarm {each:e}", cell.line(replicates, &out));
            let row = match cell.is_offered() {
                true => cell.calibrate(here, &line),
                false => (cell.refuse(here, &out), None),
            };
            rows.lock().unwrap_or_else(PoisonError::into_inner).push((index, row));
        }
    };
    thread::scope(|scope| {
        (0..thread::available_parallelism().map_or(1, usize::from)).for_each(|_| {
            scope.spawn(work);
        });
    });
    let mut rows = rows.into_inner().unwrap();
    rows.sort();
    println!(
        "\n| model | method | coordinates | device | smallest p | worlds | verdict |\n|---|---|---|---|---:|---:|---|"
    );
    rows.iter().for_each(|(_, (row, _))| println!("{row}"));
    println!(
        "Each p is compared with {each:.1e} over its quantities: false-alarm rate {FALSE_ALARM:e} in all."
    );
    assert_eq!(rows.len(), cells.len());
    let wrong: Vec<&String> = rows.iter().filter_map(|(_, (_, wrong))| wrong.as_ref()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
