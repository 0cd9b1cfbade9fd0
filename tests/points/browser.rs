//! Opens reports in a headless browser: they render without a complaint, pictures included, and fit a phone.

use super::cli::{SHORT, directory_with, succeed};
use super::{WINDOW, clumps, csv};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names under which Chromium is installed.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Told to the test by a script that is added to a copy of the page.
const PROBE: &str = "<script>window.addEventListener('load', () => { \
    const all = [...document.images]; \
    const seen = all.filter(i => i.complete && i.naturalWidth > 0).length; \
    const wide = Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth); \
    document.title = `images ${seen} of ${all.length}, drawings ${document.querySelectorAll('svg').length}, overflow ${wide}`; \
    });</script>";

fn browser() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let find =
        |name: &&str| std::env::split_paths(&path).map(|p| p.join(name)).find(|p| p.exists());
    NAMES.iter().find_map(find).expect("Chromium; tests/run.sh installs it")
}

/// What the page says about itself and what the console said.
fn open(directory: &Path, html: &str) -> (String, Vec<String>) {
    let page = directory.join("probe.html");
    fs::write(&page, html.replace("</head>", &format!("{PROBE}</head>"))).expect("a page");
    let output = Command::new(browser())
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--window-size=500,900", "--enable-logging=stderr", "--dump-dom"])
        .arg(format!("--user-data-dir={}", directory.join("profile").display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("the browser runs");
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let title = dom.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next());
    let console = String::from_utf8_lossy(&output.stderr);
    let lines = console.lines().filter(|line| line.contains("CONSOLE")).map(String::from).collect();
    (title.unwrap_or_default().to_owned(), lines)
}

#[test]
#[ignore = "needs Chromium, which tests/run.sh installs"]
fn reports_render_in_a_browser() {
    let directory =
        directory_with([("points.csv", csv(&clumps())), ("window.geojson", WINDOW.to_owned())]);
    let here = directory.path();
    succeed(here, "simulate sv --steps 60 --out market");
    for (line, name, images, drawings) in [
        ("fit lgcp --points points.csv --window window.geojson --grid 6", "a", 3, 10),
        ("fit sv --returns market/returns.csv", "b", 0, 10),
        ("fit funnel --dim 3", "c", 0, 3),
    ] {
        succeed(here, &format!("{line} {SHORT} --quiet --out {name}"));
        let html = fs::read_to_string(here.join(name).join("report.html")).expect("a report");
        let (title, console) = open(here, &html);
        assert_eq!(
            title,
            format!("images {images} of {images}, drawings {drawings}, overflow 0"),
            "{line}"
        );
        assert!(console.is_empty(), "{line}: {console:?}");
        assert!(!html.contains("src=\"http") && !html.contains("url("), "{line} needs the network");
    }
}

/// The probe sees a broken picture, a complaint and a page that is too wide.
#[test]
#[ignore = "needs Chromium, which tests/run.sh installs"]
fn the_probe_sees_faults() {
    let directory = directory_with([]);
    let html = "<!doctype html><html><head></head><body><img src=\"data:image/png;base64,AAAA\">\
                <div style=\"width:2000px\">wide</div><script>console.error('broken')</script></body></html>";
    let (title, console) = open(directory.path(), html);
    assert!(
        title.starts_with("images 0 of 1, drawings 0") && !title.ends_with("overflow 0"),
        "{title}"
    );
    assert!(console.iter().any(|line| line.contains("broken")), "{console:?}");
}
