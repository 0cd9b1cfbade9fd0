//! Writes down what a run was asked to do, with copies of its input, so that it can go on whatever happens to the originals.

use serde::{Deserialize, Serialize};
use sshmc::checkpoint::STATE;
use sshmc::data::{OutputDir, add_file};
use sshmc::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The layout of that folder; one that is not known is refused.
const LAYOUT: u32 = 1;

/// What a run was asked to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    layout: u32,
    program: String,
    /// The words after `sshmc`.
    pub(crate) words: Vec<String>,
    inputs: Vec<Input>,
}

/// An input file and its copy.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Input {
    path: String,
    copy: String,
    checksum: u32,
}

fn program() -> String {
    format!("sshmc {}", env!("CARGO_PKG_VERSION"))
}

impl Task {
    /// Copies the inputs into a directory that is being written and writes the task down beside them.
    pub(crate) fn write(words: Vec<String>, inputs: &[&Path], output: &OutputDir) -> Result<()> {
        let mut copies: Vec<Input> = Vec::new();
        for path in inputs {
            let name = path.display().to_string();
            // An exposure may be a number instead of a file; a file may be named twice.
            if !path.is_file() || copies.iter().any(|known| known.path == name) {
                continue;
            }
            let bytes = fs::read(path).map_err(Error::io("read", path))?;
            let last = path.file_name().map(|n| n.to_string_lossy().into_owned());
            let copy = format!("{}-{}", copies.len(), last.unwrap_or_default());
            output.write_bytes(&format!("{STATE}/inputs/{copy}"), &bytes)?;
            copies.push(Input { path: name, copy, checksum: crc32fast::hash(&bytes) });
        }
        let task = Self { layout: LAYOUT, program: program(), words, inputs: copies };
        // It appears at once, and last: a directory with a task is one that can be resumed.
        output.sync()?;
        task.write_into(output.staging())?;
        output.sync()
    }

    /// Reads the task of a run in `directory`, finished or not; nothing if there is none.
    pub(crate) fn read(directory: &Path) -> Result<Option<Self>> {
        let path = directory.join(STATE).join("task.json");
        if !path.is_file() {
            return Ok(None);
        }
        let refuse = |got: String, remedy: &str| {
            Err(Error::input(path.display().to_string(), "what a fit wrote", got, remedy))
        };
        let text = fs::read(&path).map_err(Error::io("read", &path))?;
        let task: Self = match serde_json::from_slice(&text) {
            Ok(task) => task,
            Err(error) => return refuse(format!("something else ({error})"), "run the fit again"),
        };
        if task.layout != LAYOUT || task.program != program() {
            let got = format!("that of {}, layout {}", task.program, task.layout);
            return refuse(got, "use the version that wrote it, or run the fit again");
        }
        Ok(Some(task))
    }

    /// Removes what is left of a run that was killed before it had written down what to do: there is nothing in it.
    pub(crate) fn clear_stillborn(directory: &Path) -> Result<()> {
        let partial = OutputDir::partial(directory)?;
        if !partial.is_dir() || partial.join(STATE).join("task.json").exists() {
            return Ok(());
        }
        // Refused if it belongs to a process that has just begun.
        drop(OutputDir::reopen(directory)?);
        fs::remove_dir_all(&partial).map_err(Error::io("remove", &partial))
    }

    /// Writes the task down in a directory that holds its copies.
    pub(crate) fn write_into(&self, directory: &Path) -> Result<()> {
        let text = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::Numeric(format!("cannot write the task down: {error}")))?;
        add_file(directory, &format!("{STATE}/task.json"), &text)
    }

    /// The same task with an option set to another value.
    pub(crate) fn with_option(&self, option: &str, value: &str) -> Self {
        let mut task = self.without_option(option);
        task.words.extend([option.to_owned(), value.to_owned()]);
        task
    }

    /// The same task without an option.
    pub(crate) fn without_option(&self, option: &str) -> Self {
        let mut words = Vec::with_capacity(self.words.len() + 2);
        let mut rest = self.words.iter();
        while let Some(word) = rest.next() {
            if word == option {
                rest.next();
            } else if !word.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')) {
                words.push(word.clone());
            }
        }
        Self { words, ..self.clone() }
    }

    /// The checksum of an input as a word; the path itself if it was not copied.
    pub(crate) fn checksum_of(&self, path: &Path) -> String {
        let name = path.display().to_string();
        let known = self.inputs.iter().find(|input| input.path == name);
        known.map_or(name, |input| format!("{:08x}", input.checksum))
    }

    /// Where the copy of an input is, checked; the path itself if it was not copied, as a number is not.
    pub(crate) fn copy_of(&self, path: &Path, directory: &Path) -> Result<PathBuf> {
        let name = path.display().to_string();
        let Some(input) = self.inputs.iter().find(|input| input.path == name) else {
            return Ok(path.to_path_buf());
        };
        let copy = directory.join(STATE).join("inputs").join(&input.copy);
        let bytes = fs::read(&copy).map_err(Error::io("read", &copy))?;
        if crc32fast::hash(&bytes) != input.checksum {
            return Err(Error::input(
                copy.display().to_string(),
                format!("the copy of {name} that the run began with"),
                "a file that has changed since",
                "put the original there again, or run the fit anew",
            ));
        }
        Ok(copy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_replaced_however_they_were_typed() {
        let words = |line: &str| line.split(' ').map(String::from).collect::<Vec<_>>();
        let task = |line: &str| Task {
            layout: LAYOUT,
            program: program(),
            words: words(line),
            inputs: Vec::new(),
        };
        for line in ["fit sv --draws 5 --out a", "fit sv --draws=5 --out a", "fit sv --out a"] {
            let changed = task(line).with_option("--draws", "9");
            assert_eq!(changed.words, words("fit sv --out a --draws 9"));
            assert_eq!(task(line).without_option("--draws").words, words("fit sv --out a"));
        }
        let other = task("fit sv --draws-x 5").with_option("--draws", "9");
        assert_eq!(other.words, words("fit sv --draws-x 5 --draws 9"));
    }
}
