//! Reads arrays in NumPy's file format (versions 1 to 3, C order, little-endian numbers).

use std::fs;
use std::path::Path;

use super::{Bounds, Raster};
use crate::data::names::shown;
use crate::error::{Error, Result};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Reads a matrix and spreads it over `bounds`.
pub(super) fn read(path: &Path, (low, high): Bounds) -> Result<Raster> {
    let (shape, values) = read_npy(path)?;
    let [rows, columns] = shape[..] else {
        let got = format!("{} dimensions", shape.len());
        let remedy = "save a two-dimensional array, rows from south to north";
        return Err(Error::input(path.display().to_string(), "a matrix", got, remedy));
    };
    let pixel = ((high.0 - low.0) / columns as f64, (high.1 - low.1) / rows as f64);
    Raster::new(path, (rows, columns), low, pixel, values, None)
}

/// Reads an array of numbers: its shape and its values in C order.
fn read_npy(path: &Path) -> Result<(Vec<usize>, Vec<f64>)> {
    let bytes = fs::read(path).map_err(Error::io("read", path))?;
    let refuse = |expected: &str, got: String| {
        let remedy = "save it with numpy.save(file, array.astype('<f4', order='C'))";
        Error::input(path.display().to_string(), expected, got, remedy)
    };
    let header = header(&bytes).ok_or_else(|| refuse("a NumPy file", "another kind".into()))?;
    let kind = entry(header.text, "descr").unwrap_or_default();
    let decode = decoder(kind).ok_or_else(|| refuse("plain numbers", shown(kind)))?;
    if entry(header.text, "fortran_order") != Some("False") {
        return Err(refuse("an array in C order", "Fortran order".into()));
    }
    let shape = shape(header.text).ok_or_else(|| refuse("a shape", shown(header.text)))?;
    let count = shape.iter().try_fold(1usize, |n, &side| n.checked_mul(side));
    let data = &bytes[header.end..];
    if count.and_then(|n| n.checked_mul(decode.0)) != Some(data.len()) {
        let got = format!("{} bytes for shape {shape:?} of {kind}", data.len());
        return Err(refuse("as many values as its shape says", got));
    }
    Ok((shape, data.chunks_exact(decode.0).map(decode.1).collect()))
}

struct Header<'a> {
    text: &'a str,
    end: usize,
}

fn header(bytes: &[u8]) -> Option<Header<'_>> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (start, length) = match rest.first()? {
        1 => (10, usize::from(u16::from_le_bytes(rest.get(2..4)?.try_into().ok()?))),
        2 | 3 => (12, u32::from_le_bytes(rest.get(2..6)?.try_into().ok()?) as usize),
        _ => return None,
    };
    let end = start + length;
    Some(Header { text: std::str::from_utf8(bytes.get(start..end)?).ok()?, end })
}

/// The value of a key of the header, which is a Python dictionary, without quotes.
fn entry<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let after = text.split(&format!("'{key}':")).nth(1)?;
    Some(after.trim_start().split([',', '}']).next()?.trim().trim_matches('\''))
}

fn shape(text: &str) -> Option<Vec<usize>> {
    let inner = text.split("'shape':").nth(1)?.split('(').nth(1)?.split(')').next()?;
    let sides = inner.split(',').map(str::trim).filter(|side| !side.is_empty());
    sides.map(|side| side.parse().ok()).collect()
}

type Decode = fn(&[u8]) -> f64;

/// Bytes of a number and how it is read.
fn decoder(kind: &str) -> Option<(usize, Decode)> {
    fn word<const N: usize>(bytes: &[u8]) -> [u8; N] {
        let mut word = [0; N];
        word.copy_from_slice(bytes);
        word
    }
    Some(match kind {
        "<f8" => (8, |b| f64::from_le_bytes(word(b))),
        "<f4" => (4, |b| f64::from(f32::from_le_bytes(word(b)))),
        "<i8" => (8, |b| i64::from_le_bytes(word(b)) as f64),
        "<i4" => (4, |b| f64::from(i32::from_le_bytes(word(b)))),
        "<i2" => (2, |b| f64::from(i16::from_le_bytes(word(b)))),
        "<u4" => (4, |b| f64::from(u32::from_le_bytes(word(b)))),
        "<u2" => (2, |b| f64::from(u16::from_le_bytes(word(b)))),
        "|u1" | "|b1" => (1, |b| f64::from(b[0])),
        "|i1" => (1, |b| f64::from(b[0] as i8)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.npy");
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
        let mut bytes =
            [MAGIC, &[1, 0], &(text.len() as u16).to_le_bytes(), text.as_bytes()].concat();
        let values = [1.0f32, -2.5, f32::NAN, 4.0, 5.0, 6.0];
        values.iter().for_each(|v| bytes.extend(v.to_le_bytes()));
        fs::write(&path, &bytes).unwrap();
        let (shape, read_back) = read_npy(&path).unwrap();
        assert_eq!(shape, [2, 3]);
        assert!(read_back[2].is_nan() && read_back[1] == -2.5);
        let raster = read(&path, ((10.0, 0.0), (16.0, 4.0))).unwrap();
        assert_eq!(raster.bounds(), ((10.0, 0.0), (16.0, 4.0)));
        bytes.pop();
        fs::write(&path, &bytes).unwrap();
        assert!(read_npy(&path).unwrap_err().to_string().contains("23 bytes for shape [2, 3]"));
        fs::write(&path, b"\x93NUMPY\x01").unwrap();
        assert!(read_npy(&path).unwrap_err().to_string().contains("expected a NumPy file"));
    }
}
