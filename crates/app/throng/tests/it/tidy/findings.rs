//! Findings of a run: the pages describe each of them, with the severity that it has.

use super::sources::SOURCES;
use super::{ROOT, none, read};

const PAGES: &[&str] = &["docs/judging-reference.md", "docs/analysing.md"];

/// Severity and code of the findings that a source makes of literals.
fn literal_findings(source: &str) -> Vec<(String, String)> {
    // As if each call stood in one line.
    let words: Vec<&str> = source.split_whitespace().collect();
    let text = words.join(" ").replace("( ", "(");
    let mut found = Vec::new();
    for arguments in text.split("finding(Severity::").skip(1) {
        let Some((severity, rest)) = arguments.split_once(", \"") else { continue };
        let Some((code, _)) = rest.split_once('"') else { continue };
        // Otherwise the code is no literal, and a later one was found.
        if severity.chars().all(char::is_alphabetic) {
            found.push((severity.to_lowercase(), code.to_owned()));
        }
    }
    found
}

/// What the rows of a code state as its severity.
fn stated_severities<'a>(pages: &'a str, code: &str) -> Vec<&'a str> {
    let quoted = format!("`{code}`");
    let rows = pages.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.filter_map(|row| row.split_once(" | "));
    let own = cells.filter(|(codes, _)| codes.contains(&quoted));
    own.filter_map(|(_, rest)| rest.split(" | ").next()).collect()
}

/// A finding that no table has is described in the text.
fn is_described(pages: &str, severity: &str, code: &str) -> bool {
    let stated = stated_severities(pages, code);
    stated.iter().any(|cell| cell.contains(severity))
        || stated.is_empty() && pages.contains(&format!("`{code}`"))
}

#[test]
fn every_finding_is_described_with_its_severity() {
    let pages: String = PAGES.iter().map(|page| read(&ROOT.join(page))).collect();
    let judge = SOURCES.iter().filter(|source| !source.is_test && source.krate == "judge");
    let mut findings_count = 0;
    let mut missing = Vec::new();
    for source in judge {
        for (severity, code) in literal_findings(&source.code) {
            findings_count += 1;
            if !is_described(&pages, &severity, &code) {
                missing.push(format!("{}: {code}, {severity}", source.path));
            }
        }
    }
    assert!(findings_count > 30, "only {findings_count} findings found");
    none(
        "findings that the pages do not describe",
        "docs/judging-reference.md has a row for each.",
        &missing,
    );
}

#[test]
fn findings_and_their_rows_are_read() {
    let source = "finding(Severity::Note, CODE, text); let a = \"b\";\n\
                  finding(\n    Severity::Fatal,\n    \"too-late\",\n    text)";
    let expected = [("fatal".to_owned(), "too-late".to_owned())];
    assert_eq!(literal_findings(source), expected);
    let pages = "| `too-late`, `x` | fatal or note | … |\nand `in-words` (note)";
    assert!(is_described(pages, "fatal", "too-late") && is_described(pages, "note", "in-words"));
    assert!(!is_described(pages, "good", "x") && !is_described(pages, "note", "unknown"));
}
