//! Reads which modules use which, and holds that against the order that docs/ARCHITECTURE.md states: no cycle, nothing against the order.
//!
//! The graph in that page is drawn from here: `SSHMC_DRAW_GRAPH=1 cargo test --test architecture` writes it anew.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Modules that all may use.
const FREE: [&str; 4] = ["error", "numeric", "random", "shared"];
const BEGIN: &str = "<!-- graph -->";
const END: &str = "<!-- end of graph -->";

/// Which modules each module uses.
type Graph = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every source file under a path, tests left out.
fn sources(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        let name = path.to_string_lossy();
        let own = name.ends_with(".rs") && !name.contains("_tests");
        return if own { vec![path.to_path_buf()] } else { Vec::new() };
    }
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| !path.ends_with("shader_tests")).flat_map(|p| sources(&p)).collect()
}

/// Code without comments and without its tests.
fn code(text: &str) -> String {
    let code = text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// The names that follow a prefix such as `crate::`, one by one or in braces.
fn names_after(code: &str, prefix: &str) -> BTreeSet<String> {
    let name = |text: &str| -> String {
        text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let mut names = BTreeSet::new();
    for rest in code.split(prefix).skip(1) {
        match rest.strip_prefix('{') {
            None => names.insert(name(rest)),
            Some(list) => {
                let list = list.split('}').next().unwrap_or_default();
                names.extend(list.split(',').map(|one| name(one.trim())));
                true
            }
        };
    }
    names
}

/// The modules of the library: folders and files of `src` that `lib.rs` names.
fn library() -> Graph {
    let text = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let modules: Vec<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ").or(line.strip_prefix("mod ")))
        .filter_map(|rest| rest.strip_suffix(';').map(str::to_owned))
        .collect();
    graph(&modules, &root().join("src"), &["crate::"])
}

/// The files of one module.
fn files_of(module: &str) -> Graph {
    let folder = root().join("src").join(module);
    let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let stem = |path: PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    let modules: Vec<String> = names.map(stem).filter(|name| name != "mod").collect();
    graph(&modules, &folder, &["super::", &format!("crate::{module}::")])
}

/// What each of these modules in a folder uses of the others.
fn graph(modules: &[String], folder: &Path, prefixes: &[&str]) -> Graph {
    let mut graph = Graph::new();
    for module in modules {
        let file = folder.join(format!("{module}.rs"));
        let path = if file.exists() { file } else { folder.join(module) };
        let mut uses = BTreeSet::new();
        for source in sources(&path) {
            let code = code(&fs::read_to_string(&source).unwrap());
            prefixes.iter().for_each(|prefix| uses.extend(names_after(&code, prefix)));
        }
        uses.retain(|name| modules.contains(name) && name != module);
        graph.insert(module.clone(), uses);
    }
    graph
}

/// Modules so that each uses only those before it, or those that are left in a cycle.
fn sorted(graph: &Graph) -> Result<Vec<String>, Vec<String>> {
    let mut order: Vec<String> = Vec::new();
    let mut left: BTreeSet<&String> = graph.keys().collect();
    while !left.is_empty() {
        let ready = |name: &&&String| graph[**name].iter().all(|used| order.contains(used));
        let Some(&next) = left.iter().find(ready) else {
            return Err(left.into_iter().cloned().collect());
        };
        left.remove(next);
        order.push(next.clone());
    }
    Ok(order)
}

/// Uses of a module that does not come before.
fn against(graph: &Graph, order: &[String]) -> Vec<String> {
    let place = |name: &str| match FREE.contains(&name) {
        true => Some(0),
        false => order.iter().position(|other| other == name).map(|k| k + 1),
    };
    let uses = graph.iter().flat_map(|(user, all)| all.iter().map(move |used| (user, used)));
    uses.filter(|(user, used)| place(used) != Some(0) && place(used) >= place(user))
        .map(|(user, used)| format!("{user} uses {used}"))
        .collect()
}

/// The order that the page states: the rows of its first table.
fn stated(page: &str) -> Vec<String> {
    let rows = page.lines().skip_while(|line| !line.starts_with("| `"));
    let rows = rows.take_while(|line| line.starts_with("| `"));
    rows.map(|row| row.split('`').nth(1).unwrap().to_owned()).collect()
}

/// Whether one module reaches another by way of a third.
fn is_implied(graph: &Graph, user: &str, used: &str) -> bool {
    fn reaches(graph: &Graph, from: &str, to: &str) -> bool {
        graph[from].iter().any(|next| next == to || reaches(graph, next, to))
    }
    graph[user].iter().any(|other| other != used && reaches(graph, other, used))
}

/// A graph as a picture, without the uses that others imply.
fn drawn(graph: &Graph, hidden: &[&str]) -> String {
    let shown = |name: &str| !hidden.contains(&name);
    let mut text = String::from("```mermaid\nflowchart BT\n");
    for (user, all) in graph.iter().filter(|(user, _)| shown(user)) {
        for used in all.iter().filter(|used| shown(used) && !is_implied(graph, user, used)) {
            text += &format!("  {user} --> {used}\n");
        }
    }
    text + "```\n"
}

#[test]
fn modules_use_only_what_is_stated_before_them_and_the_page_shows_it() {
    let path = root().join("docs/ARCHITECTURE.md");
    let page = fs::read_to_string(&path).unwrap();
    let (library, sample) = (library(), files_of("sample"));
    assert!(library.len() > 20 && library["sample"].contains("draws"), "nothing was read");
    let wrong = against(&library, &stated(&page));
    assert!(wrong.is_empty(), "against the order of docs/ARCHITECTURE.md: {wrong:?}");
    let order = sorted(&sample).unwrap_or_else(|left| panic!("a cycle in src/sample: {left:?}"));
    let graph = format!(
        "{BEGIN}\n\n{}\nInside `sample`, whose files each use only those before them: {}.\n\n{}\n{END}",
        drawn(&library, &FREE),
        order.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        drawn(&sample, &[])
    );
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let after = rest.split_once(END).map_or(rest, |(_, after)| after);
    let whole = format!("{before}{graph}{after}");
    if std::env::var_os("SSHMC_DRAW_GRAPH").is_some() {
        fs::write(&path, whole).unwrap();
        return;
    }
    let remedy = "draw it anew by SSHMC_DRAW_GRAPH=1 cargo test --test architecture";
    assert!(page == whole, "docs/ARCHITECTURE.md shows another graph; {remedy}");
}

#[test]
fn a_cycle_and_a_use_against_the_order_are_seen() {
    let graph = |uses: &[(&str, &[&str])]| -> Graph {
        let set = |all: &[&str]| all.iter().map(ToString::to_string).collect();
        uses.iter().map(|(user, all)| (user.to_string(), set(all))).collect()
    };
    let order = ["a", "b", "c"].map(String::from);
    let good = graph(&[("a", &[]), ("b", &["a"]), ("c", &["a", "b"])]);
    assert_eq!(sorted(&good), Ok(order.to_vec()));
    assert!(against(&good, &order).is_empty() && is_implied(&good, "c", "a"));
    let bad = graph(&[("a", &["c"]), ("b", &["a"]), ("c", &["b"])]);
    assert!(sorted(&bad).is_err());
    assert_eq!(against(&bad, &order), ["a uses c"]);
    let unknown = graph(&[("d", &["a"]), ("a", &[])]);
    assert_eq!(against(&unknown, &order), ["d uses a"], "a module that the page does not name");
    let text = "use crate::{one, two::Three};\n// use crate::four;\nfn f(x: crate::five::Six) {}\n";
    let names: Vec<String> = names_after(&code(text), "crate::").into_iter().collect();
    assert_eq!(names, ["five", "one", "two"]);
}
