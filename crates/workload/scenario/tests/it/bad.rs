//! Wrong scenarios and what is said of them, as files: `testdata/scenarios/bad/*.yaml` and
//! beside each its `.expected`. `UPDATE=1` rewrites those. A first line `# --set key=value`
//! is an override.

use std::path::{Path, PathBuf};

use scenario::{Source, render};

use crate::compile_with;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/scenarios/bad")
}

#[test]
fn wrong_scenarios_are_reported_as_expected() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "yaml"))
        .collect();
    files.sort();
    assert!(files.len() >= 20, "only {} files in {}", files.len(), folder().display());
    let mut different = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let found = said_of(name, &text);
        let golden = path.with_extension("expected");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&golden, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        if found != expected {
            different.push(format!("{name}\n--- expected\n{expected}\n--- found\n{found}"));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n\n"));
}

fn said_of(name: &str, text: &str) -> String {
    let sets: Vec<(&str, &str)> = text
        .lines()
        .map_while(|line| line.strip_prefix("# --set "))
        .filter_map(|set| set.split_once('='))
        .collect();
    let (plan, diagnostics) = compile_with(text, &sets);
    assert!(plan.is_none(), "{name} compiles");
    render(&diagnostics, Source { name, text })
}
