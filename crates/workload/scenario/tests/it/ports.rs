//! Examples of k6 as scenarios: `examples/k6/*.yaml` pass `throng check` without a word, and have as many lines as
//! `docs/coming-from.md` says.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use scenario::{Settings, Source, compile, render};

const PAGE: &str = include_str!("../../../../../docs/coming-from.md");
/// Examples of k6 that were looked at.
const EXAMPLES_MIN: usize = 16;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/k6")
}

/// Lines of a scenario, but for empty ones and comments.
fn lines_count(text: &str) -> usize {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).count()
}

/// The lines that the page says each file has.
fn lines_said() -> BTreeMap<String, usize> {
    let rows = PAGE.lines().filter(|line| line.contains("](../examples/k6/"));
    let said = rows.map(|row| {
        let (_, rest) = row.split_once("](../examples/k6/").expect("the row has a link");
        let (name, _) = rest.split_once(')').expect("the link has an end");
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let count = cells.last().and_then(|cell| cell.parse().ok());
        (name.to_owned(), count.expect("the last cell is a number"))
    });
    said.collect()
}

#[test]
fn examples_of_k6_are_said_in_as_many_lines_as_the_page_says() {
    let files = |name: &str| match name.strip_prefix("base64:") {
        Some(_) => Ok("aGVsbG8=".to_owned()),
        None => std::fs::read_to_string(folder().join(name)).map_err(|error| error.to_string()),
    };
    let settings =
        Settings { overrides: &[], env: &|_| Some("GEZDGNBVGY3TQOJQ".to_owned()), files: &files };
    let mut said = lines_said();
    assert!(said.len() >= EXAMPLES_MIN, "{} rows", said.len());
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "yaml") {
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let source = Source { name: &name, text: &text };
        let (plan, diagnostics) = compile(source, &settings);
        assert!(plan.is_some() && diagnostics.is_empty(), "{}", render(&diagnostics, source));
        assert_eq!(said.remove(&name), Some(lines_count(&text)), "lines of {name}");
    }
    assert!(said.is_empty(), "no such file: {said:?}");
}
