//! Tells what went wrong in one line: where, what was expected, what was found, and what to do.

use std::path::{Path, PathBuf};

/// The result of anything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// What ends a run. A divergence or a rejected proposal is not an error: it is counted and reported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something the user gave cannot be used.
    #[error("{place}: expected {expected}, got {got}; {remedy}")]
    Input {
        /// File and line, option or argument.
        place: String,
        /// What would have been right.
        expected: String,
        /// What was there.
        got: String,
        /// What to type or change.
        remedy: String,
    },
    /// A file or directory could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// A verb: read, write, create.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The arithmetic cannot go on, for instance because no starting point has a finite density.
    #[error("{0}")]
    Numeric(String),
}

impl Error {
    /// An input error in four phrases.
    pub fn input(
        place: impl Into<String>,
        expected: impl Into<String>,
        got: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Error::Input {
            place: place.into(),
            expected: expected.into(),
            got: got.into(),
            remedy: remedy.into(),
        }
    }

    /// Turns an operating-system error into one that names the file, for use with `map_err`.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Error::Io { action, path: path.to_path_buf(), source }
    }
}
