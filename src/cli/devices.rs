//! Lists what a fit can run on.

use super::failure::Failure;
use super::screen::Screen;
use sshmc::device::gpu::{AdapterSummary, list};

/// Prints the CPU and every adapter, the best first.
pub(crate) fn run() -> Result<(), Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let noun = if cores == 1 { "core" } else { "cores" };
    let adapters = list();
    let mut text = format!("cpu   {cores} {noun}, double precision (f64)\n");
    for adapter in &adapters {
        text += &describe(adapter);
    }
    if adapters.is_empty() {
        text += "no GPU: no graphics driver answers (on Debian without a GPU, libvulkan1 and mesa-vulkan-drivers imitate one)\n";
    }
    text += if adapters.iter().any(|adapter| !adapter.software) {
        "--device auto takes the first hardware GPU for large problems, and the cpu otherwise\n"
    } else {
        "--device auto takes the cpu: there is no hardware GPU\n"
    };
    Screen::open(false).tell(&text)
}

fn describe(adapter: &AdapterSummary) -> String {
    let mebibytes = |bytes: u64| bytes >> 20;
    format!(
        "gpu   {}, {} through {}, driver {}, single precision (f32)\n      {} invocations and {} KiB of memory a workgroup, {} MiB a \
         binding, {} MiB a buffer\n",
        adapter.name,
        adapter.kind,
        adapter.backend,
        if adapter.driver.is_empty() { "unknown" } else { &adapter.driver },
        adapter.workgroup,
        adapter.shared_memory >> 10,
        mebibytes(adapter.binding),
        mebibytes(adapter.buffer),
    )
}
