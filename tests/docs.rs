//! Keeps README and the book in docs/ whole: links lead somewhere, every page is in the table of contents, all code is run.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use std::fs;
use std::path::{Path, PathBuf};

/// Lines that a newcomer is asked to read at most.
const README_LINES: usize = 250;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// README, CONTRIBUTING, CHANGELOG and the pages of the book.
fn pages() -> Vec<PathBuf> {
    let beside = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root().join(name));
    beside.into_iter().chain(book()).collect()
}

fn book() -> Vec<PathBuf> {
    let files = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|kind| kind == "md")).collect();
    pages.sort();
    pages
}

/// Text outside of fenced code.
fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

/// Where the links of a page lead, as they are written.
fn links(text: &str) -> Vec<String> {
    let after = prose(text);
    let targets = after.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.to_owned()).collect()
}

/// What GitHub and mdBook call a heading in links.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().replace(' ', "-")
}

fn has_heading(page: &Path, wanted: &str) -> bool {
    let text = prose(&read(page));
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#'))).any(|own| own == wanted)
}

#[test]
fn links_lead_somewhere() {
    let mut seen = 0;
    for page in pages() {
        for link in links(&read(&page)) {
            if link.contains("://") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => page.clone(),
                file => page.parent().unwrap().join(file),
            };
            assert!(target.exists(), "{} links to {link}", page.display());
            let known = heading.is_empty() || has_heading(&target, heading);
            assert!(known, "{} links to a heading that is not there: {link}", page.display());
            seen += 1;
        }
    }
    assert!(seen > 40, "{seen}");
}

#[test]
fn every_page_of_the_book_is_in_its_contents() {
    let contents = links(&read(&root().join("docs/SUMMARY.md")));
    for page in book() {
        let name = page.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(name == "SUMMARY.md" || contents.contains(&name), "{name}");
    }
}

#[test]
fn all_code_of_the_pages_is_run() {
    let library = read(&root().join("src/lib.rs"));
    for page in pages() {
        if read(&page).contains("```rust") {
            let name = page.strip_prefix(root()).unwrap().display().to_string();
            assert!(library.contains(&format!("include_str!(\"../{name}\")")), "{name}");
        }
    }
}

#[test]
fn the_readme_is_short_and_has_its_two_commands() {
    let readme = read(&root().join("README.md"));
    let lines = readme.lines().count();
    assert!(lines <= README_LINES, "{lines} lines");
    for command in ["\ncargo run --release -- demo ", "\nbash tests/run.sh "] {
        assert!(readme.contains(command), "{command}");
    }
}

/// Files that the page for those who change the code names in full.
fn named(page: &str) -> Vec<&str> {
    let tops = ["src/", "shaders/", "tests/", "docs/", "examples/", "benches/"];
    let words = page.split('`').skip(1).step_by(2);
    words.filter(|word| tops.iter().any(|top| word.starts_with(top))).collect()
}

#[test]
fn the_lists_of_files_name_files_there_are() {
    let page = prose(&read(&root().join("docs/ARCHITECTURE.md")));
    let named = named(&page);
    assert!(named.len() > 20, "{named:?}");
    let missing: Vec<_> = named.into_iter().filter(|path| !root().join(path).exists()).collect();
    assert!(missing.is_empty(), "docs/ARCHITECTURE.md names files that are not there: {missing:?}");
}
