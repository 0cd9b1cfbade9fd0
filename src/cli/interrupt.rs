//! Hears when the user or the system asks a run to stop (Ctrl-C, SIGTERM, SIGHUP), so that it stops with its state kept.

use std::process;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit code of a run that was stopped and can be resumed.
pub(crate) const STOPPED: u8 = 3;

static STOP: AtomicBool = AtomicBool::new(false);
static FINISHING: AtomicBool = AtomicBool::new(false);
static WATCH: Once = Once::new();

/// From now on the first request sets the flag that is returned, and a second one ends the process.
pub(crate) fn watch() -> &'static AtomicBool {
    WATCH.call_once(|| {
        // Where it cannot be installed a request ends the process, as it does everywhere else.
        let _ = ctrlc::set_handler(|| {
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
