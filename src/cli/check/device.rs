//! Compares the user's own adapter with the processor, and writes a report to paste into a bug report.

use super::bar;
use crate::cli::failure::Failure;
use crate::cli::screen::Screen;
use clap::Args;
use sshmc::check::{Comparison, Finding, conformance};
use sshmc::device::Device;
use sshmc::device::gpu::AdapterSummary;
use sshmc::{Error, Result};
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Instant;

const AFTER_HELP: &str = "\
Everything a GPU computes is compared with the same in double precision on the processor: random numbers, transforms and gradients
along trajectories of fields and series, also after memory was filled with garbage, dense products, energies of large problems; and
the energies of two short fits are audited. Tolerances come from the precision of a float and the arithmetic that is done. Please paste the whole report
into a bug report.

Exit codes: 0 nothing wrong was found; 4 something was; 2 there is no such device; others as for all commands.

Examples:
  sshmc check device
  sshmc check device --device nvidia --out device.md";

/// Options of the check of a device.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Adapter {
    /// gpu for the best there is, or part of an adapter's name; `sshmc devices` lists them
    #[arg(long, value_name = "DEVICE", default_value = "gpu")]
    device: String,
    /// File for the report, besides standard output
    #[arg(long, value_name = "FILE.md")]
    out: Option<PathBuf>,
    /// Print nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

impl Adapter {
    pub(crate) fn run(&self) -> std::result::Result<(), Failure> {
        let begun = Instant::now();
        let device = self.open().map_err(Failure::preparing)?;
        let comparisons = conformance().map_err(Failure::preparing)?;
        let bar = bar(comparisons.len() as u64, self.quiet);
        let make = |comparison: &Comparison| {
            bar.inc(1);
            bar.set_message(comparison.name().to_owned());
            comparison.make(&device)
        };
        let found: Result<Vec<Finding>> = comparisons.iter().map(make).collect();
        bar.finish_and_clear();
        let found = found.map_err(Failure::running)?;
        let adapter = device.as_gpu().map(|gpu| gpu.adapter().clone());
        let text = report(adapter.as_ref(), &found, begun.elapsed().as_secs_f64());
        Screen::open(self.quiet).tell(&text)?;
        if let Some(path) = &self.out {
            let written = std::fs::write(path, &text).map_err(Error::io("write", path));
            written.map_err(Failure::finishing)?;
        }
        let wrong: Vec<&str> =
            found.iter().filter(|f| !f.passes()).map(|f| f.name.as_str()).collect();
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(Failure::Failed(format!(
                "{} computes wrongly: {}; use --device cpu, and paste the report into a bug report",
                device.name(),
                wrong.join("; ")
            ))),
        }
    }

    fn open(&self) -> Result<Device> {
        match self.device.to_lowercase().as_str() {
            "cpu" => Err(Error::input(
                "--device",
                "gpu or part of an adapter's name",
                "cpu",
                "the processor is what a GPU is compared with; `sshmc check joint` checks the sampler there",
            )),
            "gpu" | "auto" => Device::gpu(),
            part => Device::gpu_named(part),
        }
    }
}

/// The report as Markdown.
fn report(adapter: Option<&AdapterSummary>, found: &[Finding], seconds: f64) -> String {
    let mut text = format!("# Device check by sshmc {}\n\n", env!("CARGO_PKG_VERSION"));
    let system = (std::env::consts::OS, std::env::consts::ARCH);
    let _ = writeln!(text, "- system: {} on {}", system.0, system.1);
    if let Some(adapter) = adapter {
        let driver = if adapter.driver.is_empty() { "unknown" } else { &adapter.driver };
        let _ = writeln!(text, "- adapter: {}, {}", adapter.name, adapter.kind);
        let _ = writeln!(text, "- backend: {}, driver: {driver}", adapter.backend);
        let _ = writeln!(
            text,
            "- limits: {} invocations and {} bytes of memory a workgroup, {} bytes a binding, {} bytes a buffer",
            adapter.workgroup, adapter.shared_memory, adapter.binding, adapter.buffer
        );
    }
    text += "\n| compared with double precision | worst error | tolerance | verdict | note |\n|---|---:|---:|---|---|\n";
    for finding in found {
        let Finding { name, worst, tolerance, note } = finding;
        let verdict = if finding.passes() { "right" } else { "**WRONG**" };
        let _ = writeln!(
            text,
            "| {name} | {worst:.2e} | {tolerance:.2e} | {verdict} | {} |",
            note.replace('|', "\\|")
        );
    }
    let wrong = found.iter().filter(|finding| !finding.passes()).count();
    let verdict = match wrong {
        0 => format!("all {} comparisons are within their tolerance", found.len()),
        _ => format!("{wrong} of {} comparisons are beyond their tolerance", found.len()),
    };
    let _ = writeln!(text, "\nverdict: {verdict} ({seconds:.0} s)");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_names_what_is_wrong() {
        let finding = |name: &str, worst: f64| Finding {
            name: name.into(),
            worst,
            tolerance: 1.0,
            note: "|Δz|".into(),
        };
        let text =
            report(None, &[finding("gradients", 0.25), finding("energies", f64::INFINITY)], 3.0);
        assert!(text.contains("| gradients | 2.50e-1 | 1.00e0 | right | \\|Δz\\| |"), "{text}");
        assert!(text.contains("| energies | inf | 1.00e0 | **WRONG** |"), "{text}");
        assert!(text.contains("1 of 2 comparisons"), "{text}");
    }
}
