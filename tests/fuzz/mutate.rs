//! Damages a file: bits, bytes, words, lines, pieces of itself and of other files.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Bytes that mean something to a reader, so that most damage gets past the first check.
const TELLING: &[u8] = b"0123456789.,-+eE\"\n\r\t; NAnaIif{}[]:\0\xff\xef\xbb\xbf";

/// Words that mean something to a reader.
const WORDS: [&str; 24] = [
    "0",
    "-0",
    "-1",
    "1e308",
    "-1e308",
    "1e-320",
    "1e999",
    "NaN",
    "inf",
    "null",
    "[]",
    "{}",
    "true",
    "\"\"",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "18446744073709551615",
    "99999999999999999999",
    "0.1",
    ",",
    "\r\n",
    "\"a,b\"",
    "é",
];

/// One change.
#[derive(Clone, Debug)]
enum Change {
    Flip(Index, u8),
    Set(Index, u8),
    Insert(Index, u8),
    Delete(Index, Index),
    Repeat(Index, Index),
    Truncate(Index),
    /// Puts a word in place of a number, or at a place if there is none.
    Word(Index, &'static str),
    /// Removes or doubles a line.
    Line(Index, bool),
    /// Sets four bytes to a number that is large, small or odd.
    Number(Index, u32),
    /// Goes on with another file from some place.
    Splice(Index, Index, Index),
}

/// A file and its changes.
#[derive(Clone, Debug)]
pub(crate) struct Damage {
    file: Index,
    changes: Vec<Change>,
}

/// Between one and three changes of any file.
pub(crate) fn damages() -> impl Strategy<Value = Damage> {
    let place = any::<Index>;
    let telling = || prop_oneof![select(TELLING), any::<u8>()];
    let number = prop_oneof![
        any::<u32>(),
        select(&[0, 1, 2, 4, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff][..])
    ];
    let change = prop_oneof![
        (place(), 0..8u8).prop_map(|(at, bit)| Change::Flip(at, 1 << bit)),
        (place(), telling()).prop_map(|(at, byte)| Change::Set(at, byte)),
        (place(), telling()).prop_map(|(at, byte)| Change::Insert(at, byte)),
        (place(), place()).prop_map(|(from, to)| Change::Delete(from, to)),
        (place(), place()).prop_map(|(from, to)| Change::Repeat(from, to)),
        place().prop_map(Change::Truncate),
        (place(), select(&WORDS[..])).prop_map(|(at, word)| Change::Word(at, word)),
        (place(), select(&WORDS[..])).prop_map(|(at, word)| Change::Word(at, word)),
        (place(), any::<bool>()).prop_map(|(at, twice)| Change::Line(at, twice)),
        (place(), number).prop_map(|(at, number)| Change::Number(at, number)),
        (place(), place(), place()).prop_map(|(at, file, from)| Change::Splice(at, file, from)),
    ];
    (any::<Index>(), vec(change, 1..=3)).prop_map(|(file, changes)| Damage { file, changes })
}

impl Damage {
    /// Which of the files it is, and what becomes of it.
    pub(crate) fn apply(&self, files: &[Vec<u8>]) -> (usize, Vec<u8>) {
        let k = self.file.index(files.len());
        let mut bytes = files[k].clone();
        self.changes.iter().for_each(|change| change.apply(&mut bytes, files));
        (k, bytes)
    }
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>, files: &[Vec<u8>]) {
        // One past the last byte is a place too.
        let place = |index: &Index, bytes: &Vec<u8>| index.index(bytes.len() + 1);
        match self {
            Change::Flip(at, bit) => {
                let at = place(at, bytes);
                bytes.get_mut(at).into_iter().for_each(|byte| *byte ^= bit);
            }
            Change::Set(at, value) => {
                let at = place(at, bytes);
                bytes.get_mut(at).into_iter().for_each(|byte| *byte = *value);
            }
            Change::Insert(at, value) => bytes.insert(place(at, bytes), *value),
            Change::Delete(from, to) | Change::Repeat(from, to) => {
                let (from, to) = (place(from, bytes), place(to, bytes));
                let range = from.min(to)..from.max(to);
                match self {
                    // Short pieces leave more of the file to get past.
                    Change::Delete(..) => {
                        drop(bytes.drain(range.start..range.end.min(range.start + 24)))
                    }
                    _ => bytes.extend_from_within(range),
                }
            }
            Change::Truncate(at) => bytes.truncate(place(at, bytes)),
            Change::Word(at, word) => {
                let range = number_near(bytes, place(at, bytes));
                bytes.splice(range, word.bytes());
            }
            Change::Line(at, twice) => {
                let range = line_at(bytes, place(at, bytes));
                let line = if *twice { bytes[range.clone()].repeat(2) } else { Vec::new() };
                bytes.splice(range, line);
            }
            Change::Number(at, number) => {
                let at = place(at, bytes);
                let rest = bytes[at..].iter_mut();
                rest.zip(number.to_le_bytes()).for_each(|(byte, value)| *byte = value);
            }
            Change::Splice(at, file, from) => {
                let other = &files[file.index(files.len())];
                bytes.truncate(place(at, bytes));
                bytes.extend_from_slice(&other[from.index(other.len() + 1)..]);
            }
        }
    }
}

/// The first number from a place on.
fn number_near(bytes: &[u8], at: usize) -> std::ops::Range<usize> {
    let digit = |byte: &u8| byte.is_ascii_digit() || b".-+eE".contains(byte);
    let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit) else { return at..at };
    let start = at + start;
    let length = bytes[start..].iter().position(|byte| !digit(byte));
    start..length.map_or(bytes.len(), |length| start + length)
}

/// The line around a place, with its end.
fn line_at(bytes: &[u8], at: usize) -> std::ops::Range<usize> {
    let start = bytes[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |k| k + 1);
    let end =
        bytes[at..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |k| at + k + 1);
    start..end
}
