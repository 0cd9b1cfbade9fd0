//! Turns every line ending into one line feed, so that line numbers can be counted exactly.
//!
//! The CSV parser counts line feeds only and consumes the second half of `\r\n` late, which shifts the line numbers
//! of files written on Windows. Behind this adaptor each line, the last included, ends in exactly one `\n`.

use std::io::{self, Read};

/// A reader in which `\r\n` and a lone `\r` have become `\n`, and the last line is terminated.
pub(super) struct LineFeeds<R> {
    inner: R,
    /// The last byte read from `inner`, before translation.
    last: Option<u8>,
    ended: bool,
}

impl<R: Read> LineFeeds<R> {
    pub(super) fn new(inner: R) -> Self {
        LineFeeds { inner, last: None, ended: false }
    }

    /// Translates in place and returns how many bytes are left.
    fn translate(&mut self, bytes: &mut [u8]) -> usize {
        let mut kept = 0;
        for position in 0..bytes.len() {
            let byte = bytes[position];
            let second_half = byte == b'\n' && self.last == Some(b'\r');
            self.last = Some(byte);
            if !second_half {
                bytes[kept] = if byte == b'\r' { b'\n' } else { byte };
                kept += 1;
            }
        }
        kept
    }

    /// Supplies the line feed that the last line lacks, once.
    fn terminate(&mut self, buffer: &mut [u8]) -> usize {
        let complete = matches!(self.last, None | Some(b'\n' | b'\r'));
        if self.ended || complete {
            return 0;
        }
        self.ended = true;
        buffer[0] = b'\n';
        1
    }
}

impl<R: Read> Read for LineFeeds<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || self.ended {
            return Ok(0);
        }
        loop {
            let count = self.inner.read(buffer)?;
            if count == 0 {
                return Ok(self.terminate(buffer));
            }
            // A chunk that held only the second half of `\r\n` is empty now, and 0 would mean the end.
            let kept = self.translate(&mut buffer[..count]);
            if kept > 0 {
                return Ok(kept);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out one byte at a time, so that every boundary falls between two reads.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(1);
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    #[test]
    fn every_ending_becomes_a_line_feed() {
        for (raw, expected) in [
            ("", ""),
            ("a", "a\n"),
            ("a\n", "a\n"),
            ("a\r\nb\r\n", "a\nb\n"),
            ("a\rb", "a\nb\n"),
            ("a\r\n\r\nb", "a\n\nb\n"),
            ("a\n\rb\n\n", "a\n\nb\n\n"),
        ] {
            let (mut whole, mut trickled) = (String::new(), String::new());
            LineFeeds::new(raw.as_bytes()).read_to_string(&mut whole).unwrap();
            LineFeeds::new(Trickle(raw.as_bytes())).read_to_string(&mut trickled).unwrap();
            assert_eq!(whole, expected, "{raw:?} at once");
            assert_eq!(trickled, expected, "{raw:?} byte by byte");
        }
    }
}
