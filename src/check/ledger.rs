//! Keeps what came out of each replicate of a calibration, so that a check that was stopped or killed goes on where it was.
//!
//! `check.json` holds the settings and `ranks.csv` a line for each replicate, written as soon as it is done. A line that a crash left
//! unfinished is dropped. One process at a time has the directory.

use super::calibrate::Replicate;
use crate::data::{LOCK, add_file, take_lock};
use crate::error::{Error, Result};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const SETTINGS: &str = "check.json";
const RANKS: &str = "ranks.csv";
/// Columns after the number and the ranks.
const REST: [&str; 4] = ["draws", "ess", "divergent", "seconds"];

/// The replicates of a check that are done.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    file: File,
    /// Bytes of whole lines.
    length: u64,
    done: Vec<Replicate>,
    /// Held as long as the check goes on.
    _lock: File,
}

impl Ledger {
    /// Opens the directory of a check, new or begun with the same settings, with ranks of quantities of these names.
    pub fn open(directory: &Path, settings: &Value, names: &[String], among: u32) -> Result<Self> {
        fs::create_dir_all(directory).map_err(Error::io("create", directory))?;
        refuse_foreign(directory)?;
        let lock = take_lock(directory, "wait for it, or name another --out")?;
        compare_settings(directory, settings)?;
        let path = directory.join(RANKS);
        let header =
            [vec!["replicate".to_owned()], names.to_vec(), REST.map(String::from).to_vec()]
                .concat()
                .join(",");
        let text = match path.exists() {
            true => fs::read_to_string(&path).map_err(Error::io("read", &path))?,
            false => String::new(),
        };
        // What follows the last line feed was never finished.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let done = parse(&path, whole, &header, names.len(), among)?;
        let file = File::options().create(true).append(true).open(&path);
        let mut file = file.map_err(Error::io("open", &path))?;
        let mut length = whole.len() as u64;
        file.set_len(length).map_err(Error::io("write", &path))?;
        if whole.is_empty() {
            let header = format!("{header}\n");
            file.write_all(header.as_bytes()).map_err(Error::io("write", &path))?;
            length = header.len() as u64;
        }
        Ok(Self { path, file, length, done, _lock: lock })
    }

    /// What is done.
    pub fn done(&self) -> &[Replicate] {
        &self.done
    }

    /// Numbers below `replicates` that are not.
    pub fn missing(&self, replicates: u32) -> Vec<u32> {
        let done: BTreeSet<u32> = self.done.iter().map(|r| r.number).collect();
        (0..replicates).filter(|number| !done.contains(number)).collect()
    }

    /// Adds a replicate, on the disk before this returns.
    pub fn append(&mut self, replicate: Replicate) -> Result<()> {
        let ranks: Vec<String> = replicate.ranks.iter().map(ToString::to_string).collect();
        let Replicate { number, draws, ess, divergent, seconds, .. } = &replicate;
        let ranks = ranks.join(",");
        let line = format!("{number},{ranks},{draws},{ess:.1},{divergent},{seconds:.3}\n");
        self.write(|file| file.write_all(line.as_bytes()).and_then(|()| file.sync_data()))
            .map_err(Error::io("write", &self.path))?;
        self.length += line.len() as u64;
        self.done.push(replicate);
        Ok(())
    }

    /// Writes behind the last whole line; what a failure leaves there is cut off, so that another thread's line is not joined to it.
    fn write(&mut self, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        // A line that an earlier failure could not cut off.
        self.file.set_len(self.length)?;
        write(&mut self.file).inspect_err(|_| {
            // What failed is reported; where this fails too the next line tries again, or opening does.
            let _ = self.file.set_len(self.length);
        })
    }
}

/// Refuses a directory with other things in it.
fn refuse_foreign(directory: &Path) -> Result<()> {
    let entries = fs::read_dir(directory).map_err(Error::io("read", directory))?;
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    let foreign = names.into_iter().find(|name| name != LOCK);
    match (foreign, directory.join(SETTINGS).exists()) {
        (Some(name), false) => Err(Error::input(
            directory.display().to_string(),
            "a new or empty directory, or one of an earlier check",
            format!("one with {} and no {SETTINGS}", name.to_string_lossy()),
            "name another --out",
        )),
        _ => Ok(()),
    }
}

/// Writes the settings of a new check, or compares those of an earlier one.
fn compare_settings(directory: &Path, settings: &Value) -> Result<()> {
    let path = directory.join(SETTINGS);
    if !path.exists() {
        let text = format!("{settings:#}\n");
        return add_file(directory, SETTINGS, text.as_bytes());
    }
    let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
    let remedy = "name another --out, or remove this directory to begin again";
    let earlier: Value = serde_json::from_str(&text).map_err(|error| {
        Error::input(path.display().to_string(), "settings as JSON", error.to_string(), remedy)
    })?;
    if earlier == *settings {
        return Ok(());
    }
    let keys = settings.as_object().into_iter().flat_map(|all| all.keys());
    let other =
        keys.into_iter().find(|key| earlier.get(key.as_str()) != settings.get(key.as_str()));
    let key = other.map_or("settings", String::as_str);
    let show = |value: &Value| value.get(key).map_or("nothing".to_owned(), Value::to_string);
    Err(Error::input(
        path.display().to_string(),
        format!("a check with {key} {}", show(settings)),
        show(&earlier),
        remedy,
    ))
}

fn parse(
    path: &Path,
    text: &str,
    header: &str,
    quantities: usize,
    among: u32,
) -> Result<Vec<Replicate>> {
    let refuse = |line: usize, expected: &str, got: &str| {
        let place = format!("{}, line {line}", path.display());
        let remedy = "remove that line: its replicate is then made again";
        Err(Error::input(place, expected, got, remedy))
    };
    let mut lines = text.lines().enumerate();
    match lines.next() {
        Some((_, first)) if first != header => return refuse(1, header, first),
        _ => {}
    }
    let (mut done, mut seen) = (Vec::new(), BTreeSet::new());
    for (index, line) in lines {
        match replicate(line, quantities, among) {
            Some(one) if seen.insert(one.number) => done.push(one),
            Some(_) => return refuse(index + 1, "every replicate once", line),
            None => return refuse(index + 1, "a replicate with its ranks", line),
        }
    }
    Ok(done)
}

fn replicate(line: &str, quantities: usize, among: u32) -> Option<Replicate> {
    let fields: Vec<&str> = line.split(',').collect();
    if fields.len() != 1 + quantities + REST.len() {
        return None;
    }
    let (ranks, rest) = fields[1..].split_at(quantities);
    let ranks: Vec<u32> = ranks.iter().map(|rank| rank.parse().ok()).collect::<Option<_>>()?;
    let [draws, ess, divergent, seconds] = rest else { return None };
    let number = |text: &str| text.parse::<f64>().ok().filter(|x| x.is_finite());
    Some(Replicate {
        number: fields[0].parse().ok()?,
        ranks: Some(ranks).filter(|all| all.iter().all(|&rank| rank <= among))?,
        draws: draws.parse().ok()?,
        ess: number(ess)?,
        divergent: divergent.parse().ok()?,
        seconds: number(seconds)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn one(number: u32) -> Replicate {
        Replicate { number, ranks: vec![3, 7], draws: 250, ess: 99.5, divergent: 0, seconds: 0.25 }
    }

    fn open(directory: &Path, model: &str) -> Result<Ledger> {
        let names = ["a".to_owned(), "b".to_owned()];
        Ledger::open(directory, &json!({ "model": model, "seed": 1 }), &names, 9)
    }

    #[test]
    fn what_was_appended_is_there_again_and_a_torn_line_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("check");
        let mut ledger = open(&place, "sv").unwrap();
        assert!(open(&place, "sv").unwrap_err().to_string().contains("running"));
        for number in [0, 2] {
            ledger.append(one(number)).unwrap();
        }
        drop(ledger);
        let torn = File::options().append(true).open(place.join(RANKS));
        torn.unwrap().write_all(b"3,1,2,250,99").unwrap();
        let mut ledger = open(&place, "sv").unwrap();
        assert_eq!(ledger.done(), [one(0), one(2)]);
        assert_eq!(ledger.missing(4), [1, 3]);
        ledger.append(one(1)).unwrap();
        drop(ledger);
        assert_eq!(open(&place, "sv").unwrap().missing(4), [3]);
    }

    #[test]
    fn a_line_that_could_not_be_written_leaves_no_trace() {
        let directory = tempfile::tempdir().unwrap();
        let mut ledger = open(directory.path(), "sv").unwrap();
        ledger.append(one(0)).unwrap();
        let full = ledger.write(|file| {
            file.write_all(b"1,3,7,25")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
        ledger.append(one(2)).unwrap();
        drop(ledger);
        assert_eq!(open(directory.path(), "sv").unwrap().done(), [one(0), one(2)]);
    }

    #[test]
    fn other_settings_other_files_and_damage_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("check");
        open(&place, "sv").unwrap().append(one(0)).unwrap();
        let complaint = open(&place, "lgcp").unwrap_err().to_string();
        assert!(complaint.contains("model") && complaint.contains("\"sv\""), "{complaint}");
        for wrong in ["1,2,3\n", "1,2,77,250,1,0,0\n", "0,1,2,250,1,0,0\n", "x,1,2,250,1,0,0\n"] {
            let path = place.join(RANKS);
            let good = fs::read_to_string(&path).unwrap();
            fs::write(&path, format!("{good}{wrong}")).unwrap();
            let complaint = open(&place, "sv").unwrap_err().to_string();
            assert!(complaint.contains("line 3"), "{complaint}");
            fs::write(&path, good).unwrap();
        }
        fs::write(directory.path().join("thesis.tex"), "").unwrap();
        assert!(open(directory.path(), "sv").unwrap_err().to_string().contains("thesis.tex"));
    }
}
