//! Every promise of docs/promises.md, and every limit of docs/limits.md, is held by something that there is.

use super::{PACKAGES, ROOT, files_below, none, read};

/// The names in backquotes in the second column of the document's tables.
fn tests(document: &str) -> Vec<String> {
    let rows = document.lines().filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|row| row.trim_end_matches(['|', ' ']).rsplit_once(" | "));
    let quoted = cells.flat_map(|(_, cell)| cell.split('`').skip(1).step_by(2).map(str::to_owned));
    quoted.collect()
}

#[test]
fn promises_name_tests_that_exist() {
    let mut files = Vec::new();
    files_below(&ROOT.join("crates"), "rs", &mut files);
    let code: String = files.iter().map(|path| read(path)).collect();
    let makefile = read(&ROOT.join("Makefile"));
    let crates: Vec<&str> = PACKAGES.iter().map(|package| package.name.as_str()).collect();
    let documents =
        ["docs/promises.md", "docs/limits.md"].map(|name| tests(&read(&ROOT.join(name))));
    assert!(documents.iter().all(|named| named.len() > 10), "{documents:?}");
    let named = documents.into_iter().flatten();
    let is_there = |name: &String| match name.strip_prefix("make ") {
        Some(target) => makefile.contains(&format!("\n{target}:")),
        None => {
            code.contains(&format!("fn {name}("))
                || code.contains(&format!("mod {name};"))
                || crates.contains(&name.as_str())
        }
    };
    let missing: Vec<String> = named.filter(|name| !is_there(name)).collect();
    none("promises and limits without a test", "Name the test in the document.", &missing);
}
