//! The rules of the house that a machine can hold. Each failure says what to do instead.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

/// The crates by floor. A crate imports from floors below its own only.
const FLOORS: &[&[&str]] = &[
    &["proto", "stats"],
    &["scenario", "record"],
    &["engine", "judge"],
    &["controller", "report"],
    &["throng"],
];
/// Imports none of the others, and is imported by the binary alone.
const ISLAND: &str = "targets";

/// Third-party crates, who may depend on them, and what the others do instead.
const WALLS: &[(&[&str], &[&str], &str)] = &[
    (
        &[
            "async-std",
            "axum",
            "futures-util",
            "hyper",
            "hyper-util",
            "smol",
            "tokio",
        ],
        &["controller", "targets"],
        "the generator is plain loops over epoll: make it a command or an event of `engine`",
    ),
    (
        &["tokio-tungstenite", "tungstenite"],
        &["targets"],
        "`proto` is our WebSocket client",
    ),
    (
        &["arrow", "hdrhistogram", "parquet"],
        &["record"],
        "ask `record` for our own types",
    ),
    (
        &["clap", "clap_complete", "ctrlc", "miette"],
        &["throng"],
        "take a plain argument",
    ),
    (
        &["crossterm"],
        &["report", "throng"],
        "return text; `report` draws",
    ),
    (
        &["libc", "mio", "nix", "rustix"],
        &["engine", "targets"],
        "read /proc, or ask `engine`",
    ),
    (
        &["rustls", "rustls-native-certs"],
        &["engine"],
        "TLS is the engine's",
    ),
];

/// What the sources of some crates must not name, so that they stay without input and output.
const PURE: &[&str] = &["proto", "stats", "scenario", "judge"];
const IMPURE: &[&str] = &[
    "std::env",
    "std::fs",
    "std::io",
    "std::net",
    "std::process",
    "std::thread",
    "Instant::now",
    "SystemTime",
];

/// A file of more lines than this, tests aside, does more than one thing.
const FILE_LINES_MAX: usize = 700;
/// How many of the longest are told.
const TOLD: usize = 10;

/// A source file and its text up to its inline tests.
struct Source {
    /// From the root of the workspace.
    path: String,
    krate: String,
    code: String,
    is_test: bool,
}

static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize()
        .expect("the crate stands in its workspace")
});

static PACKAGES: LazyLock<Vec<Package>> = LazyLock::new(|| {
    let manifest = ROOT.join("Cargo.toml");
    let metadata = MetadataCommand::new()
        .manifest_path(manifest)
        .no_deps()
        .exec();
    metadata.expect("cargo describes the workspace").packages
});

static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
    let mut files = Vec::new();
    files_below(&ROOT.join("crates"), "rs", &mut files);
    let texts: Vec<_> = files.iter().map(|file| (file, read(file))).collect();
    // Whole files that are compiled for tests only, by the name of their module.
    let test_modules: BTreeSet<&str> = texts
        .iter()
        .flat_map(|(_, text)| text.split("#[cfg(test)]\nmod ").skip(1))
        .filter_map(|rest| rest.split_once(';').map(|(name, _)| name))
        .filter(|name| !name.contains(char::is_whitespace))
        .collect();
    let sources = texts.iter().map(|(file, text)| {
        let path = relative(file);
        let stem = file
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default();
        Source {
            krate: path.split('/').nth(1).unwrap_or_default().to_owned(),
            is_test: path.contains("/tests/") || test_modules.contains(stem),
            code: text
                .split("#[cfg(test)]\nmod tests {")
                .next()
                .unwrap_or_default()
                .to_owned(),
            path,
        }
    });
    sources.collect()
});

fn files_below(folder: &Path, extension: &str, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files_below(&path, extension, files);
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn relative(path: &Path) -> String {
    path.strip_prefix(&*ROOT)
        .unwrap_or(path)
        .display()
        .to_string()
}

fn shipped() -> impl Iterator<Item = &'static Source> {
    SOURCES.iter().filter(|source| !source.is_test)
}

/// Lines of code as (number from 1, text), comments left out.
fn lines(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let numbered = source
        .code
        .lines()
        .enumerate()
        .map(|(i, line)| (i + 1, line));
    numbered.filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// What a package needs to be built, by name; the second is true for our own.
fn imports(package: &Package) -> impl Iterator<Item = (&str, bool)> {
    let normal = package
        .dependencies
        .iter()
        .filter(|dep| dep.kind == DependencyKind::Normal);
    normal.map(|dep| (dep.name.as_str(), dep.path.is_some()))
}

fn none(what: &str, instead: &str, found: &[String]) {
    assert!(
        found.is_empty(),
        "{what}:\n  {}\n{instead}",
        found.join("\n  ")
    );
}

#[test]
fn dependencies_point_down() {
    let floor = |name: &str| FLOORS.iter().position(|floor| floor.contains(&name));
    let mut found = Vec::new();
    for package in PACKAGES
        .iter()
        .filter(|package| package.name.as_str() != ISLAND)
    {
        let own = floor(&package.name).unwrap_or_else(|| {
            panic!(
                "{} has no floor: give it one in FLOORS and docs/architecture.md",
                package.name
            )
        });
        for (name, _) in imports(package).filter(|(_, ours)| *ours) {
            let is_binary = own + 1 == FLOORS.len();
            if !(floor(name).is_some_and(|below| below < own) || is_binary && name == ISLAND) {
                found.push(format!("{} imports {name}", package.name));
            }
        }
    }
    let instead = "Move what is shared to a floor below both, or hand it over as a value.";
    none(
        "crates import from their own floor or from above it",
        instead,
        &found,
    );
}

#[test]
fn the_island_imports_none_of_us() {
    let island = PACKAGES
        .iter()
        .find(|package| package.name.as_str() == ISLAND);
    let island = island.expect("the targets are a crate");
    let ours: Vec<_> = imports(island).filter(|(_, ours)| *ours).collect();
    assert!(
        ours.is_empty(),
        "{ISLAND} imports {ours:?}; use the ecosystem's crates, so that a fault of ours cannot \
         stand at both ends of the wire"
    );
}

#[test]
fn third_party_walls_hold() {
    let mut found = Vec::new();
    for package in PACKAGES.iter() {
        for (name, _) in imports(package) {
            for (walled, allowed, instead) in WALLS {
                if walled.contains(&name) && !allowed.contains(&package.name.as_str()) {
                    found.push(format!("{} depends on {name}; {instead}", package.name));
                }
            }
        }
    }
    none(
        "dependencies beyond a wall",
        "Tests may use any of them as dev-dependency.",
        &found,
    );
}

#[test]
fn the_codecs_do_without_std() {
    let root = read(&ROOT.join("crates/proto/src/lib.rs"));
    assert!(
        root.contains("\n#![no_std]\n"),
        "crates/proto/src/lib.rs must say #![no_std]: codecs turn bytes into events and reach no \
         socket, clock, thread or random source; take what is missing as an argument"
    );
}

#[test]
fn pure_crates_do_no_input_or_output() {
    let mut found = Vec::new();
    for source in shipped().filter(|source| PURE.contains(&source.krate.as_str())) {
        for (number, line) in lines(source) {
            for word in IMPURE.iter().filter(|word| line.contains(*word)) {
                found.push(format!("{}:{number} names {word}", source.path));
            }
        }
    }
    let instead = "Take the text, the bytes or the time as an argument; the caller does the rest.";
    none(
        "input and output in a crate that is free of it",
        instead,
        &found,
    );
}

#[test]
fn only_the_real_driver_reads_the_engines_clock() {
    let mut found = Vec::new();
    for source in shipped().filter(|source| source.krate == "engine") {
        let is_real = source.path.contains("/driver/real");
        for (number, line) in lines(source).filter(|_| !is_real) {
            if [
                "Instant",
                "SystemTime",
                "rustix::",
                "libc::",
                "std::net::Tcp",
            ]
            .iter()
            .any(|word| line.contains(word))
            {
                found.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    let instead = "Pass `now_ns` in, and add a command or an event; driver/real carries it out.";
    none(
        "clock or system calls outside engine/src/driver/real",
        instead,
        &found,
    );
}

#[test]
fn each_crate_opens_with_its_sentence() {
    for package in PACKAGES.iter() {
        let sentence = package.description.as_deref().unwrap_or_default();
        let manifest = relative(package.manifest_path.as_std_path());
        assert!(
            !sentence.is_empty(),
            "{manifest} has no description: say in one sentence what for"
        );
        let folder = package.manifest_path.as_std_path().parent().unwrap();
        let lib = folder.join("src/lib.rs");
        let root = if lib.exists() {
            lib
        } else {
            folder.join("src/main.rs")
        };
        let first = read(&root).lines().next().unwrap_or_default().to_owned();
        let path = relative(&root);
        let expected = format!("//! {sentence}");
        assert_eq!(
            first, expected,
            "{path} must open with the description of {manifest}"
        );
    }
}

#[test]
fn the_architecture_names_every_crate() {
    let text = read(&ROOT.join("docs/architecture.md"));
    for package in PACKAGES.iter() {
        let heading = format!("\n### `{}`", package.name);
        assert!(
            text.contains(&heading),
            "docs/architecture.md has no heading {:?}: say what the crate is and must never do",
            heading.trim()
        );
    }
}

#[test]
fn every_example_is_right_and_told_of() {
    let mut examples = Vec::new();
    files_below(&ROOT.join("examples"), "yaml", &mut examples);
    assert!(!examples.is_empty(), "examples/ is empty");
    let mut told = vec![
        ROOT.join("README.md"),
        ROOT.join("crates/throng/tests/it/examples.rs"),
    ];
    files_below(&ROOT.join("docs"), "md", &mut told);
    let told: String = told.iter().map(|path| read(path)).collect();
    for example in &examples {
        let (name, text) = (relative(example), read(example));
        let folder = example.parent().unwrap();
        let files = |name: &str| fs::read_to_string(folder.join(name)).map_err(|e| e.to_string());
        let settings = scenario::Settings {
            overrides: &[],
            env: &|_| None,
            files: &files,
        };
        let source = scenario::Source {
            name: &name,
            text: &text,
        };
        let (plan, diagnostics) = scenario::compile(source, &settings);
        assert!(
            plan.is_some() && diagnostics.is_empty(),
            "{name} does not compile without a word; `throng check {name}` tells: {diagnostics:?}"
        );
        assert!(
            told.contains(&name),
            "nothing tells of {name}: show it in a doc or in examples.rs"
        );
    }
}

#[test]
fn nothing_is_left_to_be_done() {
    // Put together here, so that this file does not find itself.
    let words = [
        ["TO", "DO"],
        ["FIX", "ME"],
        ["XX", "X"],
        ["todo", "!("],
        ["unimplemented", "!("],
    ];
    let mut found = Vec::new();
    for source in SOURCES.iter() {
        for (number, line) in source.code.lines().enumerate() {
            if words.iter().any(|word| line.contains(&word.concat())) {
                found.push(format!("{}:{}: {}", source.path, number + 1, line.trim()));
            }
        }
    }
    none(
        "unfinished work in the sources",
        "Finish it, or open an issue and take it out.",
        &found,
    );
}

#[test]
fn nothing_unwraps_outside_tests() {
    let mut found = Vec::new();
    for source in shipped() {
        for (number, line) in lines(source).filter(|(_, line)| line.contains(".unwrap()")) {
            found.push(format!("{}:{number}: {}", source.path, line.trim()));
        }
    }
    let instead = "Return the error, or say .expect(\"why this cannot fail\").";
    none("unwrap() outside tests", instead, &found);
}

#[test]
fn modules_stand_beside_their_folders() {
    let old: Vec<_> = SOURCES
        .iter()
        .filter(|source| source.path.ends_with("/mod.rs"))
        .map(|source| source.path.clone())
        .collect();
    none(
        "mod.rs files",
        "Name the file after its module: foo.rs beside foo/.",
        &old,
    );
}

/// Functions as (lines, name), found by the layout that rustfmt gives them.
fn functions(source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String, String)> = None;
    for (number, line) in source.code.lines().enumerate() {
        let indent = &line[..line.len() - line.trim_start().len()];
        if let Some((start, name, end)) = &open {
            if line == end {
                found.push((number + 1 - start, name.clone()));
                open = None;
            } else if line.ends_with(';') && line.starts_with(&end.replace('}', ")")) {
                // A trait's method without a body.
                open = None;
            }
            continue;
        }
        let head = line.split('(').next().unwrap_or_default();
        let mut words = head.split_whitespace();
        let is_comment = line.trim_start().starts_with("//");
        if !is_comment && words.by_ref().any(|word| word == "fn") && !line.trim_end().ends_with(';')
        {
            let name = words
                .next()
                .unwrap_or_default()
                .split('<')
                .next()
                .unwrap_or_default();
            let ends_here = line.ends_with('}');
            if !ends_here {
                let name = format!("{}: {name}", source.path);
                open = Some((number, name, format!("{indent}}}")));
            }
        }
    }
    found
}

#[test]
#[expect(
    clippy::print_stdout,
    reason = "for those who ask: cargo test -- --nocapture"
)]
fn files_stay_short() {
    let count = |source: &Source| source.code.lines().count();
    let mut files: Vec<_> = shipped().map(|s| (count(s), s.path.clone())).collect();
    files.sort_by(|a, b| b.cmp(a));
    let mut functions: Vec<_> = shipped().flat_map(functions).collect();
    functions.sort_by(|a, b| b.cmp(a));
    for (title, longest) in [("files", &files), ("functions", &functions)] {
        println!("the longest {title}, inline tests aside:");
        for (lines, name) in longest.iter().take(TOLD) {
            println!("  {lines:4} {name}");
        }
    }
    let long = files.iter().filter(|(lines, _)| *lines > FILE_LINES_MAX);
    let long: Vec<_> = long
        .map(|(lines, path)| format!("{path} has {lines} lines"))
        .collect();
    let instead = format!("Cut it by what it does into files below {FILE_LINES_MAX} lines.");
    none("files too long to be read in one go", &instead, &long);
}
