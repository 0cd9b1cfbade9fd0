//! Lists what a fit can run on.

use super::failure::Failure;
use super::screen::Screen;

/// Prints one line a device.
pub(crate) fn run() -> Result<(), Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let noun = if cores == 1 { "core" } else { "cores" };
    Screen::open(false)
        .tell(&format!("cpu   {cores} {noun}, double precision (f64); what --device auto takes\n"))
}
