//! Hears when the user or the system asks a run to stop (Ctrl-C, SIGTERM, SIGHUP), so that it stops with its state kept.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread;
use std::time::Duration;

/// Exit code of a run that was stopped and can be resumed.
pub(crate) const STOPPED: u8 = 3;

/// Exit code of a run that was stopped and cannot, which is what shells say of a program that Ctrl-C ended.
const LOST: i32 = 130;

/// Times that a directory is tried to be removed, and how long to wait in between.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(5);

static STOP: AtomicBool = AtomicBool::new(false);
static FINISHING: AtomicBool = AtomicBool::new(false);
static WATCH: Once = Once::new();
/// What runs that keep no state have written so far.
static FORSAKEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// From now on the first request sets the flag that is returned, and a second one ends the process.
pub(crate) fn watch() -> &'static AtomicBool {
    WATCH.call_once(|| {
        // Where it cannot be installed a request ends the process, as it does everywhere else.
        let _ = ctrlc::set_handler(|| {
            give_up();
            if STOP.swap(true, Ordering::Relaxed) || FINISHING.load(Ordering::Relaxed) {
                process::exit(i32::from(STOPPED));
            }
        });
    });
    &STOP
}

/// All draws are made and kept: a request has nothing to wait for any more.
pub(crate) fn finishing() {
    FINISHING.store(true, Ordering::Relaxed);
}

/// From now on a request ends a run that keeps no state, and removes what it has written into this directory: once `begin`, which
/// writes there, is through.
pub(crate) fn forsake<R>(directory: &Path, begin: impl FnOnce() -> R) -> R {
    watch();
    let mut forsaken = FORSAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    forsaken.push(directory.to_path_buf());
    begin()
}

/// Ends the process if there is a run of which nothing can be kept.
fn give_up() {
    let lost = std::mem::take(&mut *FORSAKEN.lock().unwrap_or_else(PoisonError::into_inner));
    if lost.is_empty() {
        return;
    }
    lost.iter().for_each(|directory| remove(directory));
    // If standard error is gone there is nobody left to tell.
    let _ = writeln!(
        io::stderr(),
        "stopped: nothing is kept of this method; only --method sshmc can be resumed"
    );
    process::exit(LOST);
}

/// Removes a directory into which other threads may still be writing. What will not go is litter and no failure.
fn remove(directory: &Path) {
    for _ in 0..TRIES {
        // A file that is written while its directory is being removed keeps it from going.
        let _ = fs::remove_dir_all(directory);
        if !directory.exists() {
            return;
        }
        thread::sleep(PAUSE);
    }
}
