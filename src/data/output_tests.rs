//! Tests how directories of results are written, replaced and resumed.

use super::*;

fn names(path: &Path) -> Vec<String> {
    entries(path).unwrap().into_iter().collect()
}

fn write_run(target: &Path, text: &str) {
    let output = OutputDir::create(target).unwrap();
    output.write_json("summary.json", &text).unwrap();
    output.write_text("figures/field.svg", text).unwrap();
    assert_eq!(output.commit().unwrap().file_name(), target.file_name());
}

#[test]
fn results_appear_at_once_and_replace_earlier_ones() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("deep/run");
    write_run(&target, "first");
    assert_eq!(fs::read_to_string(target.join("summary.json")).unwrap(), "\"first\"\n");
    let output = OutputDir::create(&target).unwrap();
    output.write_text("truth.json", "{}").unwrap();
    assert_eq!(names(&target), [".sshmc-files", "figures", "summary.json"]);
    output.commit().unwrap();
    assert_eq!(names(&target), [".sshmc-files", "truth.json"]);
    assert_eq!(names(target.parent().unwrap()), ["run"]);
}

#[test]
fn files_added_later_are_replaced_with_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("run");
    write_run(&target, "first");
    add_file(&target, "predictions/counts.csv", b"a").unwrap();
    add_file(&target, "predictions/counts.csv", b"b").unwrap();
    assert_eq!(fs::read(target.join("predictions/counts.csv")).unwrap(), b"b");
    assert_eq!(names(&target), [".sshmc-files", "figures", "predictions", "summary.json"]);
    write_run(&target, "second");
    assert_eq!(names(&target), [".sshmc-files", "figures", "summary.json"]);
}

#[test]
fn a_run_that_ends_early_leaves_no_trace() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("run");
    drop(OutputDir::create(&target).unwrap());
    assert!(names(directory.path()).is_empty());
    write_run(&target, "kept");
    let second = OutputDir::create(&target).unwrap();
    second.write_text("summary.json", "half").unwrap();
    drop(second);
    assert_eq!(fs::read_to_string(target.join("summary.json")).unwrap(), "\"kept\"\n");
    assert_eq!(names(directory.path()), ["run"]);
}

#[test]
fn what_is_not_ours_is_never_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let refused =
        |name: &str| OutputDir::create(&directory.path().join(name)).unwrap_err().to_string();
    fs::write(directory.path().join("file"), "").unwrap();
    assert!(refused("file").contains("got a file; choose another name"));
    fs::create_dir(directory.path().join("theirs")).unwrap();
    fs::write(directory.path().join("theirs/thesis.tex"), "").unwrap();
    assert!(refused("theirs").contains("a directory with other contents"));
    write_run(&directory.path().join("run"), "x");
    fs::write(directory.path().join("run/notes.txt"), "").unwrap();
    assert!(refused("run").contains("`notes.txt` in it"));
    assert!(refused("file/inside").contains("cannot create"));
    assert!(refused("..").contains("expected a new or empty directory"));
    assert_eq!(names(directory.path()), ["file", "run", "theirs"]);
    assert!(OutputDir::create(Path::new(".")).is_err());
    assert!(OutputDir::create(Path::new("/")).is_err());
}

#[test]
fn finished_work_is_kept_when_it_cannot_be_put_in_place() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("run");
    let output = OutputDir::create(&target).unwrap();
    output.write_text("summary.json", "{}").unwrap();
    let staging = output.staging().to_path_buf();
    fs::write(&target, "in the way").unwrap();
    let message = output.commit().unwrap_err().to_string();
    assert!(message.contains(&staging.display().to_string()), "{message}");
    assert!(staging.join("summary.json").exists());
    assert_eq!(fs::read_to_string(&target).unwrap(), "in the way");
}

#[test]
fn a_run_that_can_be_resumed_stays_and_is_nobody_elses() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("run");
    let mut output = OutputDir::begin(&target).unwrap();
    output.write_text("summary.json", "{}").unwrap();
    let refused = |error: Error| error.to_string();
    assert!(refused(OutputDir::begin(&target).unwrap_err()).contains("one that is running"));
    assert!(refused(OutputDir::reopen(&target).unwrap_err()).contains("one that is running"));
    output.keep();
    drop(output);
    assert!(refused(OutputDir::begin(&target).unwrap_err()).contains("sshmc resume"));
    let output = OutputDir::reopen(&target).unwrap();
    output.commit().unwrap();
    assert_eq!(names(&target), [".sshmc-files", "summary.json"]);
    assert_eq!(names(directory.path()), ["run"]);
    drop(OutputDir::begin(&target).unwrap());
    assert_eq!(names(directory.path()), ["run"]);
}

#[test]
fn names_stay_inside() {
    let directory = tempfile::tempdir().unwrap();
    let output = OutputDir::create(&directory.path().join("run")).unwrap();
    for name in ["", "../out", "/etc/x", "a/../../b", "."] {
        assert!(output.write_text(name, "").is_err(), "{name:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_and_kept() {
    let directory = tempfile::tempdir().unwrap();
    let (real, link) = (directory.path().join("real"), directory.path().join("link"));
    fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let output = OutputDir::create(&link).unwrap();
    output.write_text("truth.json", "{}").unwrap();
    output.commit().unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(real.join("truth.json").exists());
    fs::remove_dir_all(&real).unwrap();
    assert!(OutputDir::create(&link).unwrap_err().to_string().contains("leads nowhere"));
}
