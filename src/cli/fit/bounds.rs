//! Refuses a fit that would not fit into the memory or on the disk, before it begins.

use sshmc::sample::Footprint;
use sshmc::{Error, Result};
use std::path::{Path, PathBuf};
use sysinfo::System;

/// Memory that this process may still take: what is free, or less where a container has a limit.
fn free_memory() -> u64 {
    let mut system = System::new();
    system.refresh_memory();
    let free = system.available_memory();
    system.cgroup_limits().map_or(free, |limits| limits.free_memory.min(free))
}

/// The nearest directory that is already there, whose disk the results go to.
fn existing(directory: &Path) -> PathBuf {
    let above = directory.ancestors().find(|path| path.is_dir());
    above.map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// A size for people.
pub(super) fn size(bytes: u64) -> String {
    const MEBI: f64 = (1u64 << 20) as f64;
    let mebibytes = bytes as f64 / MEBI;
    match mebibytes < 1024.0 {
        true => format!("{mebibytes:.0} MiB"),
        false => format!("{:.1} GiB", mebibytes / 1024.0),
    }
}

/// Refuses if there is not enough memory or room on the disk of a directory.
pub(crate) fn check(footprint: &Footprint, directory: &Path) -> Result<()> {
    let free = free_memory();
    // A system that does not tell is trusted.
    if free > 0 && footprint.memory > free {
        return Err(Error::input(
            "memory",
            format!("{} free, which this fit may need", size(footprint.memory)),
            size(free),
            "take a coarser grid, fewer --chains or --draws, or a smaller --keep-fields",
        ));
    }
    let place = existing(directory);
    match fs4::available_space(&place) {
        Ok(free) if footprint.disk > free => Err(Error::input(
            format!("disk of {}", directory.display()),
            format!("{} free, which this fit may need", size(footprint.disk)),
            size(free),
            "free some, name another --out, or keep less by --keep-fields",
        )),
        // A file system that does not tell is trusted too.
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_let_through_and_what_cannot_is_not() {
        let here = std::env::temp_dir();
        let need = |memory, disk| check(&Footprint { memory, disk }, &here.join("new/run"));
        assert!(need(1 << 20, 1 << 10).is_ok());
        let memory = need(u64::MAX, 0).unwrap_err().to_string();
        assert!(memory.starts_with("memory: expected") && memory.contains("GiB"), "{memory}");
        let disk = need(0, u64::MAX).unwrap_err().to_string();
        assert!(disk.starts_with("disk of ") && disk.contains("--keep-fields"), "{disk}");
        assert_eq!((size(5 << 20), size(3 << 30)), ("5 MiB".into(), "3.0 GiB".into()));
    }
}
