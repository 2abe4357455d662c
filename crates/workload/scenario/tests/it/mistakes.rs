//! Mistakes of people who know another tool: `testdata/scenarios/mistakes/*.yaml`. The first line of each file is the
//! hint, `# says: …`; lines that are wrong end with `# here`. What is said in full is beside each in its `.expected`,
//! which `UPDATE=1` rewrites, and the hints are those of `docs/mistakes.md`.

use std::path::{Path, PathBuf};

use scenario::{Source, render};

use crate::compile_with;

const FILES_MIN: usize = 35;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

#[test]
fn each_mistake_has_its_line_and_its_hint() {
    let entries = std::fs::read_dir(root().join("testdata/scenarios/mistakes")).unwrap();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "yaml"))
        .collect();
    files.sort();
    assert!(files.len() >= FILES_MIN, "only {} files", files.len());
    let page = std::fs::read_to_string(root().join("docs/mistakes.md")).unwrap();
    let mut wrong = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let hint = text.lines().next().unwrap().strip_prefix("# says: ").unwrap();
        let numbered = (1..).zip(text.lines());
        let marked: Vec<usize> = numbered
            .filter(|(_, line)| line.ends_with("# here"))
            .map(|(number, _)| number)
            .collect();
        let (_, diagnostics) = compile_with(&text, &[]);
        let found = render(&diagnostics, Source { name, text: &text });
        let first = diagnostics.first();
        let is_said = first.is_some_and(|first| {
            first.line == marked[0] && first.hint.as_ref().is_some_and(|found| found.contains(hint))
        });
        let is_marked = diagnostics.iter().all(|one| marked.contains(&one.line));
        let golden = path.with_extension("expected");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&golden, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        if !is_said || !is_marked || diagnostics.len() != marked.len() {
            wrong.push(format!("{name} should say `{hint}` in line {marked:?}:\n{found}"));
        } else if found != expected {
            wrong.push(format!("{name}\n--- expected\n{expected}\n--- found\n{found}"));
        }
        if !page.contains(hint) {
            wrong.push(format!("docs/mistakes.md lacks `{hint}`"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
