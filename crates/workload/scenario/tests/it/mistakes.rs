//! Mistakes of people who know another tool: `testdata/scenarios/mistakes/*.yaml`. The first line of each file is the
//! hint, `# says: …`; lines that are wrong end with `# here`. What is said in full is beside each in its `.expected`,
//! which `UPDATE=1` rewrites, and the hints are those of `docs/mistakes.md`. The last line may be the line as the hint says
//! to write it, `# fixed: …`, or `# fixed, with what is below: …`; with it in the place of the wrong ones there is nothing to
//! report.

use std::path::{Path, PathBuf};

use scenario::{Source, render};

use crate::compile_with;

const FILES_MIN: usize = 35;
/// Those whose fix is applied.
const FIXED_MIN: usize = 40;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("testdata/scenarios/mistakes"));
    let mut files: Vec<PathBuf> = entries
        .expect("the folder is there")
        .map(|entry| entry.expect("a folder that can be listed").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "yaml"))
        .collect();
    files.sort();
    files
}

/// The file with this in the place of its wrong lines. `is_block`: and of what is indented below them.
fn fixed(text: &str, instead: &str, is_block: bool) -> String {
    let mut out = String::new();
    let mut instead = Some(instead);
    // The indentation of a wrong line, below which nothing is kept.
    let mut left_out: Option<usize> = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        if left_out.is_some_and(|above| indent > above) {
            continue;
        }
        left_out = None;
        if !line.ends_with("# here") {
            out += &format!("{line}\n");
            continue;
        }
        left_out = is_block.then_some(indent);
        for line in instead.take().into_iter().flat_map(|lines| lines.split("\\n")) {
            out += &format!("{:indent$}{line}\n", "");
        }
    }
    out
}

/// Whether the hint says so: in code, where the rest of it may be left open, or else in one of its words.
fn says(hint: &str, fixed: &str) -> bool {
    let plain = |text: &str| text.replace(' ', "");
    let fixed = plain(fixed);
    let is_said = |code: &str| {
        let begins = plain(code.split('…').next().unwrap_or_default());
        !begins.is_empty() && (fixed.contains(&begins) || begins.contains(&fixed))
    };
    if hint.contains('`') {
        return hint.split('`').skip(1).step_by(2).any(is_said);
    }
    let words = hint.split(' ').map(|word| word.trim_end_matches(','));
    let mut codes = words.filter(|word| word.contains(|c: char| !c.is_alphabetic()));
    codes.any(is_said)
}

/// Whoever does what is said has no mistake any more.
#[test]
fn each_fix_is_right() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for path in files() {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let last = text.lines().last().unwrap();
        let fix = match last.strip_prefix("# fixed: ") {
            Some(line) => Some((line, false)),
            None => last.strip_prefix("# fixed, with what is below: ").map(|lines| (lines, true)),
        };
        let Some((instead, is_block)) = fix else {
            continue;
        };
        count += 1;
        let text = fixed(&text, instead, is_block);
        let (plan, diagnostics) = compile_with(&text, &[]);
        if plan.is_none() || !diagnostics.is_empty() {
            wrong.push(format!("{name}\n{}", render(&diagnostics, Source { name, text: &text })));
        }
        let hint = text.lines().next().unwrap().strip_prefix("# says: ").unwrap();
        if !says(hint, instead) {
            wrong.push(format!("{name}: `{hint}` does not say `{instead}`"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(count >= FIXED_MIN, "only {count} fixes");
}

#[test]
fn each_mistake_has_its_line_and_its_hint() {
    let files = files();
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
