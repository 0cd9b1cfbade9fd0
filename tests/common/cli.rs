//! Runs the binary as a user does.

#![allow(dead_code, reason = "each test binary uses a part of this")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Options of a fit that is over in a second.
pub(crate) const SHORT: &str = "--chains 2 --warmup 60 --draws 40 --seed 3";

/// The binary, ready to run in a directory.
pub(crate) fn binary(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sshmc"));
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        // Mesa's Vulkan driver complains on standard error where there is none.
        command.env("XDG_RUNTIME_DIR", directory);
    }
    command.current_dir(directory);
    command
}

/// Runs the binary in a directory.
pub(crate) fn sshmc(directory: &Path, line: &str) -> Output {
    binary(directory).args(line.split_whitespace()).output().expect("the binary runs")
}

/// Runs the binary and returns what it printed; it must succeed without a word on standard error.
pub(crate) fn succeed(directory: &Path, line: &str) -> String {
    let output = sshmc(directory, line);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaint.is_empty(), "{line}: {complaint}");
    String::from_utf8(output.stdout).expect("text")
}

/// Checks that a command is refused in one helpful line.
pub(crate) fn refused(directory: &Path, line: &str, parts: &[&str]) {
    let output = sshmc(directory, line);
    let complaint = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2), "{line}: {complaint}");
    assert!(complaint.starts_with("error: ") && complaint.ends_with('\n'), "{line}: {complaint}");
    assert_eq!(complaint.lines().count(), 1, "{line}: {complaint}");
    assert!(output.stdout.is_empty(), "{line} printed something");
    for part in parts {
        assert!(complaint.contains(part), "{line}: no `{part}` in {complaint}");
    }
}

/// What a directory holds.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Writes files into a new directory.
pub(crate) fn directory_with<'a>(
    files: impl IntoIterator<Item = (&'a str, String)>,
) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (name, text) in files {
        fs::write(directory.path().join(name), text).expect("a written file");
    }
    directory
}

/// Bytes as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}
