//! Tells failures the user can mend from those they cannot, and gives each its exit code.

use super::interrupt::STOPPED;
use sshmc::{DeviceError, Error};
use std::fmt;
use std::path::Path;

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line, a file or a directory cannot be used: exit code 2.
    BadInput(String),
    /// Something else went wrong: exit code 1.
    Broken(String),
    /// A run has stopped with its state kept: exit code 3.
    Stopped(String),
    /// A check has found something wrong: exit code 4.
    Failed(String),
}

impl Failure {
    /// A failure while input is read and checked and the output directory is made, for use with `map_err`: a file that
    /// cannot be opened is then the user's to mend.
    pub(crate) fn preparing(error: Error) -> Self {
        match error {
            Error::Input { .. } | Error::Io { .. } => Failure::BadInput(error.to_string()),
            Error::Device(device) => Failure::device(&device),
            Error::Numeric(_) | Error::Stopped => Failure::Broken(error.to_string()),
        }
    }

    /// A failure while the run goes on.
    pub(crate) fn running(error: Error) -> Self {
        match error {
            Error::Input { .. } => Failure::BadInput(error.to_string()),
            Error::Device(device) => Failure::device(&device),
            Error::Io { .. } | Error::Numeric(_) | Error::Stopped => {
                Failure::Broken(error.to_string())
            }
        }
    }

    /// A GPU that is not there or not able was asked for by the user; one that gives up was not.
    fn device(error: &DeviceError) -> Self {
        match gives_up(error) {
            true => Failure::Broken(error.to_string()),
            false => Failure::BadInput(error.to_string()),
        }
    }

    /// A failure to put finished results in place.
    pub(crate) fn finishing(error: Error) -> Self {
        Failure::Broken(error.to_string())
    }

    /// A failure to print.
    pub(crate) fn printing(error: std::io::Error) -> Self {
        Failure::Broken(format!("cannot write to standard output: {error}"))
    }

    /// A failure of a run whose state is kept in the files of `directory`.
    pub(crate) fn keeping(error: Error, directory: &Path) -> Self {
        let directory = directory.display();
        let go_on = format!("`sshmc resume {directory}` continues it");
        match error {
            Error::Stopped => Failure::Stopped(format!("the run is kept as it is; {go_on}")),
            Error::Io { .. } => Failure::Stopped(format!(
                "{error}; the run is kept as it was at its last checkpoint: free some space or mend this, then {go_on}"
            )),
            Error::Device(ref device) if gives_up(device) => Failure::Stopped(format!(
                "{error}; the run is kept as it was at its last checkpoint: once the GPU works again, {go_on}"
            )),
            error => Failure::running(error),
        }
    }

    /// What to call it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Failure::BadInput(_) | Failure::Broken(_) => "error",
            Failure::Stopped(_) => "stopped",
            Failure::Failed(_) => "failed",
        }
    }

    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::BadInput(_) => 2,
            Failure::Broken(_) => 1,
            Failure::Stopped(_) => STOPPED,
            Failure::Failed(_) => 4,
        }
    }
}

/// Whether a GPU that was able to run it no longer is.
fn gives_up(error: &DeviceError) -> bool {
    use DeviceError::{
        Lost, NoAdapter, NoSuchAdapter, OutOfMemory, OverLimit, Refused, Unsupported,
    };
    match error {
        NoAdapter | NoSuchAdapter { .. } | OverLimit { .. } | Unsupported { .. } => false,
        Refused { .. } | OutOfMemory { .. } | Lost { .. } => true,
    }
}

impl fmt::Display for Failure {
    /// One line, whatever a file name contains.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::BadInput(text)
        | Failure::Broken(text)
        | Failure::Stopped(text)
        | Failure::Failed(text)) = self;
        f.write_str(&text.replace(char::is_control, " "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_users_to_mend_only_before_the_run() {
        let error = || Error::io("open", Path::new("a\nb"))(std::io::Error::other("no"));
        assert_eq!(Failure::preparing(error()).code(), 2);
        assert_eq!(Failure::running(error()).code(), 1);
        assert_eq!(Failure::preparing(error()).to_string(), "cannot open a b: no");
        assert_eq!(Failure::finishing(Error::input("a", "b", "c", "d")).code(), 1);
        assert_eq!(Failure::running(Error::Numeric("lost".into())).code(), 1);
    }

    #[test]
    fn a_gpu_that_gives_up_stops_a_run_that_is_kept() {
        let (adapter, reason) = ("a GPU".to_owned(), "reset".to_owned());
        let lost = || {
            Error::Device(DeviceError::Lost { adapter: adapter.clone(), reason: reason.clone() })
        };
        let full = || {
            let what = "draws".to_owned();
            Error::Device(DeviceError::OutOfMemory { adapter: adapter.clone(), what })
        };
        let both: [&dyn Fn() -> Error; 2] = [&lost, &full];
        for error in both {
            let failure = Failure::keeping(error(), Path::new("run"));
            assert_eq!((failure.code(), failure.kind()), (STOPPED, "stopped"));
            assert!(failure.to_string().contains("`sshmc resume run` continues it"), "{failure}");
            // Without anything kept there is nothing to go on from.
            assert_eq!(Failure::running(error()).code(), 1);
        }
        let absent = Failure::keeping(Error::Device(DeviceError::NoAdapter), Path::new("run"));
        assert_eq!(absent.code(), 2);
    }
}
