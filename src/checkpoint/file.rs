//! Reads and writes one checkpoint file so that a damaged one is never taken for a good one.
//!
//! | bytes | hold |
//! |---|---|
//! | 8 | `sshmcCP\n` |
//! | 4 | layout |
//! | 4, then as many | length and name of the program's version |
//! | 8, then as many | length and contents, in postcard's encoding: floats keep every bit |
//! | 4 | CRC-32 of all that precedes |
//!
//! Numbers are little-endian. A file is written under another name, flushed to the disk and renamed; the one before it stays as
//! `NAME.old`.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"sshmcCP\n";
const LAYOUT: u32 = 1;
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Why a file is of no use.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// There is none.
    Missing,
    /// It is cut short, has changed bits, or is something else; in words.
    Damaged(String),
    /// Another version wrote it; its name.
    Foreign(String),
}

/// Puts a value in place of the one at `path`, which is kept beside it.
pub(super) fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let contents = postcard::to_stdvec(value).map_err(io::Error::other)?;
    let mut bytes = Vec::with_capacity(contents.len() + 64);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&LAYOUT.to_le_bytes());
    bytes.extend_from_slice(&(VERSION.len() as u32).to_le_bytes());
    bytes.extend_from_slice(VERSION.as_bytes());
    bytes.extend_from_slice(&(contents.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&contents);
    bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
    replace(path, &bytes)
}

/// Replaces a file at once, keeping the one before it.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let fresh = beside(path, "new");
    let written = File::create(&fresh).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    if let Err(error) = written {
        // What is half-written takes room on a disk that may be full, and the failure is reported.
        let _ = fs::remove_file(&fresh);
        return Err(error);
    }
    match fs::rename(path, previous(path)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::rename(&fresh, path)?;
    // Names are part of the directory, which has to reach the disk as well; where it cannot be opened that is the system's care.
    match path.parent().map(File::open) {
        Some(Ok(directory)) if cfg!(unix) => directory.sync_all(),
        _ => Ok(()),
    }
}

/// Where the file that was replaced is.
pub(super) fn previous(path: &Path) -> PathBuf {
    beside(path, "old")
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}

/// Reads a value back.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Fault> {
    let damaged = |what: &str| Fault::Damaged(what.into());
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Fault::Missing),
        Err(error) => return Err(Fault::Damaged(error.to_string())),
    };
    let Some((body, sum)) = bytes.split_last_chunk::<4>() else {
        return Err(damaged("it is cut short"));
    };
    if !body.starts_with(MAGIC) {
        return Err(damaged("it is no checkpoint"));
    }
    if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
        return Err(damaged("its checksum is wrong: it is cut short or bits have changed"));
    }
    let contents = contents(&body[MAGIC.len()..]).ok_or(damaged("its header is wrong"))??;
    postcard::from_bytes(contents).map_err(|error| Fault::Damaged(error.to_string()))
}

/// As much of a name as belongs in a message.
pub(super) fn brief(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(60).collect()
}

/// The contents behind layout and version; nothing if the lengths do not fit.
fn contents(rest: &[u8]) -> Option<Result<&[u8], Fault>> {
    let (layout, rest) = rest.split_first_chunk::<4>()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (version, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let (length, contents) = rest.split_first_chunk::<8>()?;
    if u32::from_le_bytes(*layout) != LAYOUT || version != VERSION.as_bytes() {
        return Some(Err(Fault::Foreign(brief(&String::from_utf8_lossy(version)))));
    }
    (u64::from_le_bytes(*length) == contents.len() as u64).then_some(Ok(contents))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_with_every_bit_and_the_one_before_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("chain-0");
        let first = vec![1.0, f64::NAN, -0.0, f64::MIN_POSITIVE / 3.0];
        write(&path, &first).unwrap();
        write(&path, &vec![2.0]).unwrap();
        assert_eq!(read::<Vec<f64>>(&path), Ok(vec![2.0]));
        let before: Vec<f64> = read(&previous(&path)).unwrap();
        let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&before), bits(&first));
        assert_eq!(read::<Vec<f64>>(&directory.path().join("other")), Err(Fault::Missing));
    }

    #[test]
    fn no_cut_and_no_changed_bit_goes_unseen() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("chain-0");
        write(&path, &vec![0.5, 7.0]).unwrap();
        let good = fs::read(&path).unwrap();
        for length in 0..good.len() {
            fs::write(&path, &good[..length]).unwrap();
            assert!(matches!(read::<Vec<f64>>(&path), Err(Fault::Damaged(_))), "{length} bytes");
        }
        for bit in 0..8 * good.len() {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &bad).unwrap();
            assert!(matches!(read::<Vec<f64>>(&path), Err(Fault::Damaged(_))), "bit {bit}");
        }
        fs::write(&path, &good).unwrap();
        assert_eq!(read::<Vec<f64>>(&path), Ok(vec![0.5, 7.0]));
    }

    #[test]
    fn another_version_is_told_from_damage() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("chain-0");
        write(&path, &1u32).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes[16] = b'9';
        let end = bytes.len() - 4;
        let sum = crc32fast::hash(&bytes[..end]).to_le_bytes();
        bytes[end..].copy_from_slice(&sum);
        fs::write(&path, &bytes).unwrap();
        let version = format!("9{}", &VERSION[1..]);
        assert_eq!(read::<u32>(&path), Err(Fault::Foreign(version)));
    }
}
