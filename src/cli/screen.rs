//! Writes to standard output, and goes on in silence if the reader has left.

use super::failure::Failure;
use std::io::{self, ErrorKind, Stdout, Write};

/// Standard output, or nothing. A closed pipe (`sshmc … | head`) is no failure: the files are still worth writing.
#[derive(Debug)]
pub(crate) struct Screen {
    out: Option<Stdout>,
}

impl Screen {
    /// The screen, or silence.
    pub(crate) fn open(quiet: bool) -> Self {
        Self { out: (!quiet).then(io::stdout) }
    }

    /// Prints a text as it is.
    pub(crate) fn tell(&mut self, text: &str) -> Result<(), Failure> {
        self.write_all(text.as_bytes()).and_then(|()| self.flush()).map_err(Failure::printing)
    }

    /// Does something with standard output and forgets it if it is closed.
    fn attempt<T>(
        &mut self,
        silent: T,
        action: impl FnOnce(&mut Stdout) -> io::Result<T>,
    ) -> io::Result<T> {
        let Some(out) = &mut self.out else { return Ok(silent) };
        match action(out) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.out = None;
                Ok(silent)
            }
            outcome => outcome,
        }
    }
}

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.attempt(bytes.len(), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt((), Stdout::flush)
    }
}
