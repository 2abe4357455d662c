//! The rules of this repository that a machine can check. Each failure says what to do instead.

mod crates;
mod features;
mod findings;
mod imports;
mod links;
mod promises;
mod sources;
mod words;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

/// The folders of `crates` in their order: a crate imports from its own folder and from those before it. Cargo refuses
/// circles within a folder.
const ORDER: &[&[&str]] =
    &[&["base"], &["protocols"], &["workload"], &["results"], &["generator", "lab"], &["app"]];
/// The folder of the systems under test, which stands beside the others: they import none of the other crates but those
/// of [`SHARED_WITH_SYSTEMS`], and the binary alone imports them.
const SYSTEMS: &str = "systems";
/// Nothing that the generator and a target say to each other.
const SHARED_WITH_SYSTEMS: &[&str] = &["regular", "stats", "trust"];
/// The folder that alone may import the systems under test.
const APP: &str = "app";
/// What tests share. Crates have it as a dev-dependency, and what it imports is in no program: walls do not hold for it.
const TESTKIT: &str = "testkit";

/// Third-party crates, who may depend on them, and what the others do instead.
const WALLS: &[(&[&str], &[&str], &str)] = &[
    (
        &["async-std", "axum", "futures-util", "hyper", "hyper-util", "smol", "tokio"],
        &[
            "ads",
            "balancer",
            "controller",
            "fleet",
            "market",
            "protos",
            "queue",
            "recorder",
            "server",
            "targets",
        ],
        "the generator is plain loops over epoll: make it a command or an event of `engine`",
    ),
    (
        &["tokio-tungstenite", "tungstenite"],
        &["market", "server", "targets"],
        "`proto` is our WebSocket client",
    ),
    (&["arrow", "hdrhistogram", "parquet"], &["record"], "`record` has our own types"),
    (
        &["clap", "clap_complete", "clap_mangen", "ctrlc", "signal-hook"],
        &["throng"],
        "take a plain argument",
    ),
    (&["miette"], &["protos", "throng"], "return places; `throng` shows them"),
    (
        &["prost", "prost-reflect", "protox"],
        &["protos", "targets"],
        "messages are read and written by `grpc`; `.proto` files are compiled by `protos`",
    ),
    (
        &["rquickjs"],
        &["k6", "script"],
        "JavaScript runs in `script`, and that of k6 in `k6`, with their limits",
    ),
    (&["corosensei"], &["k6"], "stacks of their own have users of scripts of k6 alone"),
    (&["html5ever"], &["html"], "pages are parsed by `html`, with its limits"),
    (&["fake"], &["plan"], "call `fake` of the expressions"),
    (&["ring"], &["signing"], "keys are `signing`'s, hashes those of `sha2`"),
    (&["roxmltree"], &["convert"], "other tools' files are converted to scenarios there"),
    (
        &["async-nats"],
        &["fleet", "market"],
        "controller and agents are connected by `fleet`; systems under test have their own brokers",
    ),
    (
        &["mysql", "redis"],
        &["ads", "market", "probe", "server"],
        "the server's side is queried by `probe`; systems under test have their own stores",
    ),
    (&["postgres", "ureq"], &["probe"], "the server's side is queried by `probe`"),
    (
        &["tokio-postgres-rustls"],
        &["probe", "server"],
        "databases are reached by `probe` and by systems under test",
    ),
    (
        &["tokio-postgres"],
        &["queue", "server"],
        "only systems under test keep anything in a database",
    ),
    (&["crossterm"], &["report", "throng"], "return text; `report` draws"),
    (
        &["libc", "mio", "nix", "rustix"],
        &[
            "balancer", "driver", "lab", "machine", "market", "probe", "regular", "server",
            "targets",
        ],
        "call `machine` or `driver`",
    ),
    (
        &["simple-dns"],
        &["controller", "lab"],
        "a run's names are resolved by `controller::names`, the lab's name server is `lab`'s",
    ),
    (
        &["rusqlite"],
        &["ads", "server", "targets"],
        "only systems under test keep a database; run directories are files",
    ),
    (&["rustls-native-certs"], &["probe", "trust"], "`trust` says whom clients trust"),
    (
        &["rustls"],
        &["engine", "probe", "protos", "recorder", "server", "trust"],
        "TLS is that of users, that of those who question servers, that of browsers that are recorded, and that of \
         systems under test",
    ),
];

static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    root.canonicalize().expect("the crate stands in its workspace")
});

static PACKAGES: LazyLock<Vec<Package>> = LazyLock::new(|| {
    let manifest = ROOT.join("Cargo.toml");
    let metadata = MetadataCommand::new().manifest_path(manifest).no_deps().exec();
    metadata.expect("cargo describes the workspace").packages
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
    path.strip_prefix(&*ROOT).unwrap_or(path).display().to_string()
}

/// What a package needs to be built, by name; the second is true for our own.
fn imports(package: &Package) -> impl Iterator<Item = (&str, bool)> {
    let normal = package.dependencies.iter().filter(|dep| dep.kind == DependencyKind::Normal);
    normal.map(|dep| (dep.name.as_str(), dep.path.is_some()))
}

fn none(what: &str, instead: &str, found: &[String]) {
    assert!(found.is_empty(), "{what}:\n  {}\n{instead}", found.join("\n  "));
}

/// The folder of a crate: `crates/FOLDER/NAME`.
fn folder(package: &Package) -> &str {
    let manifest = package.manifest_path.as_path();
    let mut above = manifest.ancestors().skip(2);
    above.next().and_then(|path| path.file_name()).unwrap_or_default()
}

/// The folder of our crate of that name.
fn folder_of(name: &str) -> &'static str {
    let package = PACKAGES.iter().find(|package| *package.name == *name);
    package.map_or("", folder)
}

#[test]
fn dependencies_follow_the_order_of_folders() {
    let rank = |folder: &str| ORDER.iter().position(|rank| rank.contains(&folder));
    let mut found = Vec::new();
    for package in PACKAGES.iter().filter(|package| folder(package) != SYSTEMS) {
        let own = folder(package);
        let own_rank = rank(own).unwrap_or_else(|| {
            panic!(
                "{own} is no folder of crates: give it a place in ORDER and docs/architecture.md"
            )
        });
        for (name, _) in imports(package).filter(|(_, ours)| *ours) {
            let other = folder_of(name);
            let is_before = rank(other).is_some_and(|rank| rank < own_rank);
            if !(is_before || other == own || own == APP && other == SYSTEMS) {
                found.push(format!("{own}/{} imports {other}/{name}", package.name));
            }
        }
    }
    none(
        "crates import from folders that come later",
        "Move what is shared to an earlier folder, or pass it as a value.",
        &found,
    );
}

#[test]
fn systems_under_test_import_none_of_the_generators_crates() {
    let mut found = Vec::new();
    for package in PACKAGES.iter().filter(|package| folder(package) == SYSTEMS) {
        for (name, _) in imports(package).filter(|(_, ours)| *ours) {
            if folder_of(name) != SYSTEMS && !SHARED_WITH_SYSTEMS.contains(&name) {
                found.push(format!("{} imports {name}", package.name));
            }
        }
    }
    none(
        "systems under test import crates of the generator",
        "Use the ecosystem's crates, so that a fault of ours cannot stand at both ends of the wire.",
        &found,
    );
}

#[test]
fn tests_alone_depend_on_what_tests_share() {
    let mut found = Vec::new();
    for package in PACKAGES.iter() {
        let mut others =
            package.dependencies.iter().filter(|dep| dep.kind != DependencyKind::Development);
        if others.any(|dep| dep.name == TESTKIT) {
            found.push(package.name.to_string());
        }
    }
    none(
        "programs that contain helpers of tests",
        "Make `testkit` a dev-dependency, or move what is not for tests to another crate.",
        &found,
    );
}

#[test]
fn third_party_walls_hold() {
    let mut found = Vec::new();
    for package in PACKAGES.iter().filter(|package| *package.name != TESTKIT) {
        for (name, _) in imports(package) {
            for (walled, allowed, instead) in WALLS {
                if walled.contains(&name) && !allowed.contains(&package.name.as_str()) {
                    found.push(format!("{} depends on {name}; {instead}", package.name));
                }
            }
        }
    }
    none("dependencies beyond a wall", "Tests may use any of them as dev-dependency.", &found);
}

#[test]
fn the_codecs_do_without_std() {
    let root = read(&ROOT.join("crates/protocols/proto/src/lib.rs"));
    assert!(
        root.contains("\n#![no_std]\n"),
        "crates/protocols/proto/src/lib.rs must say #![no_std]: codecs turn bytes into events and reach no \
         socket, clock, thread or random source; take what is missing as an argument"
    );
}

/// Who may name a path of `/proc` or `/sys` besides `machine`: the framework of the systems under test, which
/// may not import it, `regular`, which detects that a path is a process's open file, and the network, which
/// opens its namespaces and is on the floor of `machine`.
const KERNEL_FILES: &[&str] = &[
    "crates/base/machine/src/procfs.rs",
    "crates/base/regular/src/lib.rs",
    // Only for tests: they freeze servers.
    "crates/app/testkit/src/services.rs",
    "crates/systems/market/src/outside/bus/testing.rs",
    "crates/systems/server/src/metrics.rs",
    "crates/systems/server/src/threads/files.rs",
    "crates/lab/lab/src/wan/namespace.rs",
];

#[test]
fn kernel_files_are_read_in_one_module() {
    let mut files = Vec::new();
    for package in PACKAGES.iter() {
        let folder = package.manifest_path.as_std_path().parent().unwrap();
        files_below(&folder.join("src"), "rs", &mut files);
    }
    let found: Vec<_> = files
        .iter()
        .map(|file| relative(file))
        .filter(|name| !KERNEL_FILES.iter().any(|known| name.starts_with(known)))
        .filter(|name| {
            let text = read(&ROOT.join(name));
            let text = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
            ["(\"/proc", "(\"/sys", "&str = \"/proc", "&str = \"/sys"]
                .iter()
                .any(|path| text.contains(path))
        })
        .collect();
    let instead = "Call `machine::procfs`, or add there what is missing.";
    none("files of /proc or /sys are opened", instead, &found);
}

#[test]
fn distributions_are_called_in_one_module() {
    let mut files = Vec::new();
    files_below(&ROOT.join("crates/base/stats/src"), "rs", &mut files);
    let found: Vec<_> = files
        .iter()
        .filter(|file| read(file).contains("statrs::distribution"))
        .map(|file| relative(file))
        .filter(|name| name != "crates/base/stats/src/tail.rs")
        .collect();
    let instead = "Call `stats::tail`: the distributions of statrs panic where an argument is NaN.";
    none("files call statrs", instead, &found);
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
        let root = if lib.exists() { lib } else { folder.join("src/main.rs") };
        let first = read(&root).lines().next().unwrap_or_default().to_owned();
        let path = relative(&root);
        let expected = format!("//! {sentence}");
        assert_eq!(first, expected, "{path} must open with the description of {manifest}");
    }
}

/// The scenario, whose files stand in `folder`, compiles without so much as a warning.
#[track_caller]
fn assert_compiles(name: &str, text: &str, folder: &Path) {
    let files = |name: &str| fs::read_to_string(folder.join(name)).map_err(|e| e.to_string());
    // What `examples/market/up` sets, and servers of the kind that a variable is named after.
    let server = |name: &str| match name.strip_prefix("MARKET_") {
        // And `examples/queue/up`.
        None if name == "QUEUE_DATABASE" => Some("tcp://127.0.0.1:5432".to_owned()),
        None if name == "QUEUE_PASSWORD" => Some("secret".to_owned()),
        Some("STORE") if text.contains("--store postgres") => {
            Some("postgres://127.0.0.1/market".to_owned())
        }
        Some("STORE") => Some("mysql://127.0.0.1/market".to_owned()),
        Some("BUS" | "CACHE") => Some("redis://127.0.0.1/".to_owned()),
        Some(pid) if pid.starts_with("PID_") => Some("1".to_owned()),
        Some(_) => Some("http://127.0.0.1/".to_owned()),
        None => {
            let kind = name.strip_suffix("_URL")?;
            Some(format!("{}://127.0.0.1/", kind.to_lowercase()))
        }
    };
    let settings = scenario::Settings { overrides: &[], env: &server, files: &files };
    let (plan, diagnostics) = scenario::compile(scenario::Source { name, text }, &settings);
    assert!(
        plan.is_some() && diagnostics.is_empty(),
        "{name} does not compile without diagnostics; fix what `throng check` reports: {diagnostics:?}"
    );
}

/// Reports what is wrong with a file.
type Check = fn(scenario::Source<'_>) -> Vec<scenario::Diagnostic>;

/// Examples that are no scenarios, by folder; the tests of their verbs use them.
const OTHER_EXAMPLES: &[(&str, Check)] = &[
    ("meters", |source| scenario::document::meters(source).1),
    ("prices", |source| scenario::document::prices(source).1),
];

#[test]
fn every_example_is_right_and_run() {
    let mut examples = Vec::new();
    files_below(&ROOT.join("examples"), "yaml", &mut examples);
    let has = |file: &PathBuf, key: &str| read(file).lines().any(|line| line.starts_with(key));
    let (labs, examples): (Vec<_>, Vec<_>) =
        examples.into_iter().partition(|file| has(file, "lab:"));
    // An experiment names its scenario; no scenario does.
    let (experiments, examples): (Vec<_>, Vec<_>) =
        examples.into_iter().partition(|file| has(file, "scenario:"));
    let mut lab_tests = vec![ROOT.join("crates/app/throng/tests/it/lab.rs")];
    files_below(&ROOT.join("crates/app/throng/tests/it/lab"), "rs", &mut lab_tests);
    let labs_run: String = lab_tests.iter().map(|file| read(file)).collect();
    for example in &labs {
        let name = relative(example);
        let text = read(example);
        let source = scenario::Source { name: &name, text: &text };
        assert_eq!(lab::lab(source).1, [], "{name}");
        assert!(
            labs_run.contains(&name),
            "no test runs {name}: add one to crates/app/throng/tests/it/lab.rs"
        );
    }
    let run = read(&ROOT.join("crates/app/throng/tests/it/experiments.rs")) + &labs_run;
    for example in &experiments {
        let name = relative(example);
        assert!(
            run.contains(&name),
            "no test runs {name}: add one to crates/app/throng/tests/it/experiments.rs"
        );
    }
    assert!(!examples.is_empty(), "examples/ is empty");
    let run = ["balancer", "examples", "market/whole", "stores"].map(|name| {
        let file = format!("crates/app/throng/tests/it/{name}.rs");
        read(&ROOT.join(file))
    });
    let run = run.concat() + &labs_run;
    for example in &examples {
        let name = relative(example);
        let folder = example.parent().and_then(Path::file_name).unwrap();
        if let Some((_, check)) = OTHER_EXAMPLES.iter().find(|other| *other.0 == *folder) {
            let text = read(example);
            let diagnostics = check(scenario::Source { name: &name, text: &text });
            assert!(diagnostics.is_empty(), "{name}: {diagnostics:?}");
            continue;
        }
        // A test of the scenarios' own compiles them; their servers are those of k6's examples.
        if *folder == *"k6" {
            continue;
        }
        assert_compiles(&name, &read(example), example.parent().unwrap());
        let file = example.file_name().and_then(|file| file.to_str()).unwrap();
        assert!(
            run.contains(file),
            "no test runs {name}: add one to crates/app/throng/tests/it/examples.rs"
        );
    }
}

#[test]
fn the_readmes_scenario_is_right() {
    let readme = read(&ROOT.join("README.md"));
    let blocks = readme.split("```yaml first.yaml\n").skip(1);
    let texts: Vec<_> = blocks.filter_map(|rest| rest.split_once("```")).map(|b| b.0).collect();
    assert!(!texts.is_empty(), "README.md shows no scenario");
    for text in texts {
        assert_compiles("README.md", text, &ROOT);
    }
}
