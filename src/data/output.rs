//! Writes a directory of results so that nothing half-written ever stands under its final name.
//!
//! Files go into a sibling, which [`OutputDir::commit`] renames into place. A run that fails leaves what was
//! there before untouched. Whether that can work is tried when the directory is created, before hours of sampling.
//!
//! The sibling is hidden and goes when the run does, or, for a run that can be resumed, is `DIR.partial` and stays until the run
//! has ended; a lock in it tells a run that goes on from one that was killed.
//!
//! A directory is replaced only if nothing in it is the user's: it is empty, or it holds the results of an earlier run
//! and every entry in it is listed in the file `.sshmc-files`, which each commit writes.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Component, Path, PathBuf};

use serde::Serialize;

use crate::error::{Error, Result};

/// One of these marks a directory as ours: the results of a fit or of several, of a simulation, or data that come with the program.
const MARKS: [&str; 4] = ["summary.json", "truth.json", "source.md", "series.csv"];

/// The names of the entries that a run wrote, one per line.
const LISTING: &str = ".sshmc-files";

/// Locked by the process that writes a directory.
pub(crate) const LOCK: &str = "lock";

/// How many runs may be writing, or have been killed while writing, the same directory under one process id.
const ATTEMPTS: u32 = 1000;

/// A directory being written. If dropped before [`OutputDir::commit`], it is removed without trace.
#[derive(Debug)]
pub struct OutputDir {
    target: PathBuf,
    staging: PathBuf,
    /// Where an earlier directory goes while the new one takes its place.
    aside: PathBuf,
    settled: bool,
    /// Held while a run that can be resumed goes on.
    lock: Option<File>,
}

impl OutputDir {
    /// Prepares to write a directory and makes sure that it will be possible to put it in place. Refused where an unfinished run waits
    /// to be resumed under that name: it would replace what is written now.
    pub fn create(path: &Path) -> Result<Self> {
        let (target, parent, name) = Self::locate(path)?;
        let unfinished = parent.join(format!("{name}.partial"));
        if unfinished.exists() {
            return Err(unfinished_there(&unfinished, path));
        }
        let staging = create_sibling(&parent, &name)?;
        Self::prepare(target, staging, None)
    }

    /// The same for a run that can be resumed: it is written in `DIR.partial`, which must not be there.
    pub fn begin(path: &Path) -> Result<Self> {
        let (target, parent, name) = Self::locate(path)?;
        let staging = parent.join(format!("{name}.partial"));
        // Locked before it has its name, so that of two processes that begin at once one gets it.
        let unnamed = create_sibling(&parent, &name).map_err(|error| match error {
            Error::Io { action, source, .. } => Error::Io { action, path: staging.clone(), source },
            other => other,
        })?;
        let lock = take_lock(&unnamed, WAIT)?;
        let named = match staging.exists() {
            true => Err(io::ErrorKind::AlreadyExists.into()),
            false => fs::rename(&unnamed, &staging),
        };
        let Err(error) = named else { return Self::prepare(target, staging, Some(lock)) };
        // Nothing is in it, and the failure is reported.
        let _ = fs::remove_dir_all(&unnamed);
        if !staging.exists() {
            return Err(Error::io("create", &staging)(error));
        }
        take_lock(&staging, WAIT)?;
        Err(unfinished_there(&staging, path))
    }

    /// Goes on with a directory that [`Self::begin`] began; whatever happens it is not removed.
    pub fn reopen(path: &Path) -> Result<Self> {
        let (target, parent, name) = Self::locate(path)?;
        let staging = parent.join(format!("{name}.partial"));
        let lock = take_lock(&staging, WAIT)?;
        let mut output = Self::prepare(target, staging, Some(lock))?;
        output.keep();
        Ok(output)
    }

    /// Where a run that can be resumed is written until it has ended.
    pub fn partial(path: &Path) -> Result<PathBuf> {
        let (_, parent, name) = Self::name(path)?;
        Ok(parent.join(format!("{name}.partial")))
    }

    fn prepare(target: PathBuf, staging: PathBuf, lock: Option<File>) -> Result<Self> {
        let name = target.file_name().map(|name| name.to_string_lossy().into_owned());
        let aside = format!(".{}-{}.old", name.unwrap_or_default(), std::process::id());
        let output =
            Self { aside: target.with_file_name(aside), target, staging, settled: false, lock };
        output.try_out()?;
        Ok(output)
    }

    /// Keeps what was written even if it is not committed.
    pub fn keep(&mut self) {
        self.settled = true;
    }

    /// The final name, its parent directory, which is created, and its last part.
    fn locate(path: &Path) -> Result<(PathBuf, PathBuf, String)> {
        let (target, parent, name) = Self::name(path)?;
        refuse_foreign(&target)?;
        fs::create_dir_all(&parent).map_err(Error::io("create", &parent))?;
        Ok((target, parent, name))
    }

    fn name(path: &Path) -> Result<(PathBuf, PathBuf, String)> {
        // Links are resolved so that the directory they lead to is replaced and not the link.
        let target = if path.exists() {
            path.canonicalize().map_err(Error::io("find", path))?
        } else {
            path.to_path_buf()
        };
        let Some(name) = target.file_name().map(|name| name.to_string_lossy().into_owned()) else {
            let remedy = "name a directory that may be created, such as results/run1";
            return Err(refuse(path, "a directory with a name", "none", remedy));
        };
        let parent = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        Ok((target, parent, name))
    }

    /// Writes a file and, if there is a directory to be replaced, moves it away and back: a mount point or a
    /// directory of another user refuses only then.
    fn try_out(&self) -> Result<()> {
        let probe = self.staging.join(LISTING);
        fs::write(&probe, "").map_err(Error::io("write", &probe))?;
        if self.target.exists() {
            let got = |error| format!("one that cannot ({error})");
            let remedy = "name a new directory inside it";
            fs::rename(&self.target, &self.aside).map_err(|error| {
                refuse(&self.target, "a directory that can be replaced", got(error), remedy)
            })?;
            fs::rename(&self.aside, &self.target).map_err(Error::io("restore", &self.target))?;
        }
        Ok(())
    }

    /// The final name.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Where the files are until they are committed, for writers that need a path.
    pub fn staging(&self) -> &Path {
        &self.staging
    }

    /// Creates a file, and the directories in its name, for streaming. The caller has to flush it before the commit:
    /// an error on drop, such as a full disk, would go unseen.
    pub fn create_file(&self, name: &str) -> Result<BufWriter<File>> {
        let path = self.place(name)?;
        Ok(BufWriter::new(File::create(&path).map_err(Error::io("create", &path))?))
    }

    /// Writes a file by a function and flushes it.
    pub fn write_with(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<()> {
        let mut writer = self.create_file(name)?;
        let path = self.staging.join(name);
        write(&mut writer).and_then(|()| writer.flush()).map_err(Error::io("write", &path))
    }

    /// Writes a text file.
    pub fn write_text(&self, name: &str, text: &str) -> Result<()> {
        self.write_with(name, |writer| writer.write_all(text.as_bytes()))
    }

    /// Writes bytes as they are.
    pub fn write_bytes(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.write_with(name, |writer| writer.write_all(bytes))
    }

    /// Writes a value as indented JSON.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<()> {
        self.write_with(name, |writer| {
            serde_json::to_writer_pretty(&mut *writer, value)?;
            writer.write_all(b"\n")
        })
    }

    /// The path of a file inside, with the directories that lead there.
    fn place(&self, name: &str) -> Result<PathBuf> {
        let mut parts = Path::new(name).components();
        if name.is_empty() || !parts.all(|part| matches!(part, Component::Normal(_))) {
            let remedy = "use a relative name without `..`";
            return Err(refuse(Path::new(name), "a file inside the directory", "another", remedy));
        }
        let path = self.staging.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
        }
        Ok(path)
    }

    /// Makes sure that everything written so far has reached the disk: a name must not outlive its contents.
    pub fn sync(&self) -> Result<()> {
        sync_all(&self.staging)
    }

    /// Puts the directory in place of whatever was there and returns its name. If that fails the earlier directory
    /// is put back, and the new one is kept where the message says.
    pub fn commit(mut self) -> Result<PathBuf> {
        // From here on the work is worth more than a tidy disk.
        self.settled = true;
        self.replace().map_err(|error| {
            Error::input(
                self.target.display().to_string(),
                "to put the finished results in place",
                format!("a failure ({error})"),
                format!("they are complete in {}: move them by hand", self.staging.display()),
            )
        })?;
        Ok(self.target.clone())
    }

    fn replace(&self) -> Result<()> {
        if self.lock.is_some() {
            let lock = self.staging.join(LOCK);
            fs::remove_file(&lock).map_err(Error::io("remove", &lock))?;
        }
        let listing = self.staging.join(LISTING);
        let names: String =
            entries(&self.staging)?.iter().map(|name| format!("{name}\n")).collect();
        fs::write(&listing, names).map_err(Error::io("write", &listing))?;
        // A run that can be resumed is given up for its results only when those are safe.
        if self.lock.is_some() {
            self.sync()?;
        }
        // The user may have put something there since the run began.
        refuse_foreign(&self.target)?;
        let earlier = self.target.exists();
        if earlier {
            fs::rename(&self.target, &self.aside).map_err(Error::io("replace", &self.target))?;
        }
        if let Err(error) = fs::rename(&self.staging, &self.target) {
            if earlier {
                fs::rename(&self.aside, &self.target)
                    .map_err(Error::io("restore", &self.target))?;
            }
            return Err(Error::io("create", &self.target)(error));
        }
        if earlier {
            // The new results are in place; an old copy that will not go is litter and no failure.
            let _ = fs::remove_dir_all(&self.aside);
        }
        Ok(())
    }
}

impl Drop for OutputDir {
    fn drop(&mut self) {
        // A panic says nothing about the work so far.
        if !self.settled && !std::thread::panicking() {
            // Nothing can be reported from here, and nothing is lost if it stays.
            let _ = fs::remove_dir_all(&self.staging);
        }
    }
}

/// Flushes every file of a directory to the disk, and the directories themselves where the system lets them be opened.
fn sync_all(directory: &Path) -> Result<()> {
    for name in entries(directory)? {
        let path = directory.join(name);
        if path.is_dir() {
            sync_all(&path)?;
        } else {
            File::open(&path)
                .and_then(|file| file.sync_all())
                .map_err(Error::io("write", &path))?;
        }
    }
    match File::open(directory) {
        Ok(opened) if cfg!(unix) => opened.sync_all().map_err(Error::io("write", directory)),
        _ => Ok(()),
    }
}

/// Adds a file to a directory of results, or replaces one, at once and listed as ours.
pub fn add_file(directory: &Path, name: &str, contents: &[u8]) -> Result<()> {
    let target = directory.join(name);
    let parent = target.parent().unwrap_or(directory);
    fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
    let partial = directory.join(format!(".{}.partial", std::process::id()));
    let written = fs::write(&partial, contents)
        .map_err(Error::io("write", &partial))
        .and_then(|()| fs::rename(&partial, &target).map_err(Error::io("write", &target)));
    if written.is_err() {
        // What is half-written is of no use to anyone, and the failure is reported.
        let _ = fs::remove_file(&partial);
    }
    written?;
    list(directory, name)
}

/// Makes sure that the first part of a name is listed as written by us.
fn list(directory: &Path, name: &str) -> Result<()> {
    let listing = directory.join(LISTING);
    let first = Path::new(name).iter().next().map(|part| part.to_string_lossy().into_owned());
    let (Ok(mut names), Some(first)) = (fs::read_to_string(&listing), first) else { return Ok(()) };
    if names.lines().any(|listed| listed == first) {
        return Ok(());
    }
    names.push_str(&format!("{first}\n"));
    fs::write(&listing, names).map_err(Error::io("write", &listing))
}

fn refuse(path: &Path, expected: &str, got: impl Into<String>, remedy: &str) -> Error {
    Error::input(path.display().to_string(), expected, got, remedy)
}

fn unfinished_there(partial: &Path, path: &Path) -> Error {
    let remedy = format!(
        "continue it by `sshmc resume {}`, or remove that directory to begin again",
        path.display()
    );
    refuse(partial, "no earlier run", "an unfinished one", &remedy)
}

/// What to do about a directory that another process has.
const WAIT: &str = "wait for it, or name another directory";

/// Takes the lock of a directory that is being written; refuses if another process has it.
pub(crate) fn take_lock(directory: &Path, remedy: &str) -> Result<File> {
    let path = directory.join(LOCK);
    let file = File::options().create(true).append(true).open(&path);
    let file = file.map_err(Error::io("open", &path))?;
    match fs4::FileExt::try_lock(&file) {
        Ok(()) => Ok(file),
        Err(fs4::TryLockError::WouldBlock) => {
            Err(refuse(directory, "no other process at work there", "one that is running", remedy))
        }
        Err(fs4::TryLockError::Error(error)) => Err(Error::io("lock", &path)(error)),
    }
}

/// Creates a hidden directory beside the target that no other run is using.
fn create_sibling(parent: &Path, name: &str) -> Result<PathBuf> {
    let process = std::process::id();
    for attempt in 0..ATTEMPTS {
        let path = parent.join(format!(".{name}-{process}-{attempt}.partial"));
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(Error::io("create", &path)(error)),
        }
    }
    let got = format!("{ATTEMPTS} directories .{name}-*.partial");
    Err(refuse(parent, "room for a temporary directory", got, "remove those of runs that ended"))
}

/// The names of the entries of a directory, in order.
fn entries(path: &Path) -> Result<BTreeSet<String>> {
    let read = || -> io::Result<BTreeSet<String>> {
        let name =
            |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into());
        fs::read_dir(path)?.map(name).collect()
    };
    read().map_err(Error::io("read", path))
}

/// Refuses to replace anything that an earlier run did not write.
fn refuse_foreign(target: &Path) -> Result<()> {
    let expected = "a new or empty directory, or earlier results to replace";
    let elsewhere = "choose another name";
    if !target.exists() {
        return match target.is_symlink() {
            false => Ok(()),
            true => Err(refuse(target, expected, "a link that leads nowhere", elsewhere)),
        };
    }
    if !target.is_dir() {
        return Err(refuse(target, expected, "a file", elsewhere));
    }
    if std::env::current_dir().is_ok_and(|here| here.starts_with(target)) {
        let remedy = "name a directory inside it";
        return Err(refuse(target, expected, "the current directory or one above it", remedy));
    }
    let found = entries(target)?;
    if found.is_empty() {
        return Ok(());
    }
    let listing = fs::read_to_string(target.join(LISTING)).unwrap_or_default();
    let foreign = found.iter().find(|name| !listing.lines().any(|listed| listed == *name));
    if !MARKS.iter().any(|&mark| found.contains(mark)) {
        return Err(refuse(target, expected, "a directory with other contents", elsewhere));
    }
    match foreign {
        None => Ok(()),
        Some(name) => {
            let got = format!("`{}` in it, which no earlier run wrote", name.escape_debug());
            Err(refuse(target, expected, got, "move it away, or choose another name"))
        }
    }
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
