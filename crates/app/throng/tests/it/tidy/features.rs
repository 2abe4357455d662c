//! Features: where they are named, and what the smallest builds contain.

use std::process::Command;

use super::{ROOT, read};

#[test]
fn every_feature_is_documented() {
    let manifest = read(&ROOT.join("crates/app/throng/Cargo.toml"));
    let (_, rest) = manifest.split_once("\ndefault = [").unwrap();
    let (names, _) = rest.split_once(']').unwrap();
    let names: Vec<&str> = names.split('"').skip(1).step_by(2).collect();
    assert!(names.len() >= 8, "{names:?}");
    let table = read(&ROOT.join("docs/installing.md"));
    let hint = read(&ROOT.join("scripts/web.sh"));
    let without_pages: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| *name != "web")
        .collect();
    assert!(
        hint.contains(&format!("--features {}'", without_pages.join(","))),
        "scripts/web.sh names the features for a build without pages: {without_pages:?}"
    );
    for name in names {
        assert!(
            table.contains(&format!("\n| `{name}` |")),
            "docs/installing.md has no row for the feature `{name}` in its table"
        );
    }
}

/// What `make run` does not need, and would wait for.
const SLOW: &[&str] = &[
    "ads",
    "async-nats",
    "balancer",
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
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    let compiled = |name: &str| out.lines().any(|line| line.split(' ').next() == Some(name));
    assert!(output.status.success() && compiled("market"), "{err}");
    let slow: Vec<&&str> = SLOW.iter().filter(|name| compiled(name)).collect();
    assert!(
        slow.is_empty(),
        "`make run` compiles {slow:?}: keep them behind features that it does not select"
    );
}
