//! Features: where they are named, and what the smallest builds contain.

use std::process::Command;

use super::{ROOT, read};

#[test]
fn every_feature_is_documented() {
    let manifest = read(&ROOT.join("crates/app/throng/Cargo.toml"));
    let (_, rest) = manifest.split_once("\n[features]\n").unwrap();
    let (table, _) = rest.split_once("\n[").unwrap();
    let names: Vec<&str> = table
        .lines()
        .filter_map(|line| line.split_once(" = ["))
        .map(|(name, _)| name)
        .filter(|name| *name != "default")
        .collect();
    assert!(names.contains(&"full"), "{names:?}");
    let page = read(&ROOT.join("docs/installing.md"));
    for name in names {
        assert!(
            page.contains(&format!("\n| `{name}` |")),
            "docs/installing.md has no row for the feature `{name}` in its table"
        );
    }
}

/// What `make run` does not need, and would wait for.
const SLOW: &[&str] = &[
    "ads",
    "async-nats",
    "balancer",
    "corosensei",
    "icu_segmenter",
    "libsqlite3-sys",
    "mysql",
    "protox",
    "queue",
    "redis",
    "rquickjs",
    "rusqlite",
    "tokio-postgres",
];

#[test]
fn the_first_look_compiles_only_what_it_needs() {
    let script = read(&ROOT.join("scripts/quick.sh"));
    let (_, rest) = script.split_once("--profile quick --locked ").unwrap();
    let selected = rest.lines().next().unwrap_or_default().split_whitespace();
    let mut tree = Command::new(env!("CARGO"));
    tree.current_dir(&*ROOT);
    tree.args(["tree", "--locked", "--offline", "--edges", "normal,build"]);
    tree.args(["--prefix", "none"]).args(selected);
    let output = tree.output().expect("cargo runs");
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    let compiled = |name: &str| out.lines().any(|line| line.split(' ').next() == Some(name));
    assert!(output.status.success() && compiled("market"), "{err}");
    let slow: Vec<&&str> = SLOW.iter().filter(|name| compiled(name)).collect();
    assert!(
        slow.is_empty(),
        "`make run` compiles {slow:?}: keep them behind features that it does not select"
    );
}
