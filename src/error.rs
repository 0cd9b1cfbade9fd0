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
    /// A GPU cannot be used, or no longer.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The run was asked to stop; its state is kept.
    #[error("stopped before the end")]
    Stopped,
    /// The arithmetic cannot go on, for instance because no starting point has a finite density.
    #[error("{0}")]
    Numeric(String),
}

/// Why a GPU cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// No adapter that can compute was found.
    #[error(
        "no GPU found: no graphics driver answers; install one (on Debian without a GPU: apt-get install libvulkan1 \
         mesa-vulkan-drivers) or use --device cpu"
    )]
    NoAdapter,
    /// No adapter has this in its name.
    #[error(
        "--device {part}: expected auto, cpu, gpu or part of an adapter's name ({found}), got {part}; sshmc devices lists them"
    )]
    NoSuchAdapter {
        /// What was asked for.
        part: String,
        /// What there is.
        found: String,
    },
    /// The driver does not give access.
    #[error("GPU {adapter}: {problem}; use another device, or --device cpu")]
    Refused {
        /// The adapter's name.
        adapter: String,
        /// What the driver said.
        problem: String,
    },
    /// A buffer is larger than the adapter allows.
    #[error(
        "GPU {adapter}: {what} takes {bytes} bytes and the adapter allows {limit}; run fewer chains, a smaller problem, or use --device cpu"
    )]
    OverLimit {
        /// The adapter's name.
        adapter: String,
        /// What the buffer holds.
        what: String,
        /// Its size.
        bytes: u64,
        /// The largest the adapter allows.
        limit: u64,
    },
    /// The adapter has no memory left.
    #[error(
        "GPU {adapter}: out of memory for {what}; run fewer chains, a smaller problem, or use --device cpu"
    )]
    OutOfMemory {
        /// The adapter's name.
        adapter: String,
        /// What memory was wanted for.
        what: String,
    },
    /// The device stopped answering.
    #[error(
        "GPU {adapter}: the device was lost ({reason}); see that its driver works (`sshmc devices`), or use --device cpu"
    )]
    Lost {
        /// The adapter's name.
        adapter: String,
        /// What the driver said.
        reason: String,
    },
    /// The problem cannot be run on a GPU.
    #[error("{what} cannot run on a GPU: {why}; {remedy}")]
    Unsupported {
        /// The model or setting.
        what: String,
        /// What is missing.
        why: String,
        /// What to do.
        remedy: String,
    },
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
