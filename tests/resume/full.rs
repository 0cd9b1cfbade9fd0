//! Fills the disk while a fit runs: on a small file system of its own where one can be mounted, which takes root, and otherwise by a
//! limit on the size of files.

use super::{FIT, assert_same, bits, complaint, output, succeed, with_data};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system of so many KiB, gone when dropped.
struct Small(PathBuf);

impl Small {
    fn mount(path: &Path, kibibytes: u32) -> Option<Self> {
        std::fs::create_dir(path).unwrap();
        let size = format!("size={kibibytes}k");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(path);
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then(|| Self(path.to_path_buf()))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_stops_a_fit_that_goes_on_when_there_is_room() {
    let directory = with_data();
    let here = directory.path();
    let fit = format!("{FIT} --draws 450");
    succeed(here, &format!("{fit} --out whole"));
    let whole = bits(&here.join("whole"));
    let disk = Small::mount(&here.join("disk"), 12 << 10);
    let stopped = match &disk {
        Some(Small(path)) => {
            // Most of the room goes while the run is on its way.
            let mut child = super::start(here, &fit, "disk/run");
            let _ = std::fs::write(path.join("ballast"), vec![0; 12 << 20]);
            child.wait().unwrap();
            child.wait_with_output().unwrap()
        }
        None => {
            let line = format!(
                "trap '' XFSZ; ulimit -f 100; exec '{}' {fit} --out disk/run",
                env!("CARGO_BIN_EXE_sshmc")
            );
            Command::new("bash").current_dir(here).args(["-c", &line]).output().unwrap()
        }
    };
    let said = complaint(&stopped);
    assert_eq!(stopped.status.code(), Some(3), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    for part in ["stopped: cannot write", "free some space", "`sshmc resume disk/run` continues it"]
    {
        assert!(said.contains(part), "no `{part}` in {said}");
    }
    assert!(!here.join("disk/run").exists());
    if let Some(Small(path)) = &disk {
        let again = output(here, "resume disk/run --quiet");
        assert_ne!(again.status.code(), Some(0), "there is still no room");
        std::fs::remove_file(path.join("ballast")).unwrap();
    }
    succeed(here, "resume disk/run --quiet");
    assert_same(here, "disk/run", &whole);
    read_only(here, disk.as_ref());
}

/// Where nothing can be written a fit is refused before it begins; to root only a file system of its own is read-only.
fn read_only(here: &Path, disk: Option<&Small>) {
    let mut lock = match disk {
        Some(_) => Command::new("mount"),
        None => Command::new("chmod"),
    };
    match disk {
        Some(Small(path)) => lock.args(["-o", "remount,ro"]).arg(path),
        None => lock.arg("555").arg(here.join("disk")),
    };
    assert!(lock.status().unwrap().success());
    let refused = output(here, &format!("{FIT} --draws 50 --out disk/new"));
    let said = complaint(&refused);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot create") && said.contains("disk/new"), "{said}");
}
