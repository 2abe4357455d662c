//! Texts that are not YAML, and the fix that is suggested.

use crate::rendered;

/// The hint for these lines below `sessions:`.
#[track_caller]
fn hint(sessions: &str) -> String {
    let text = format!(
        "target: http://127.0.0.1/\nsessions:\n{sessions}\narrivals:\n  - {{ hold: 1s }}\n"
    );
    let said = rendered(&text, &[]);
    let hint = said.lines().find_map(|line| line.strip_prefix("  hint: "));
    hint.unwrap_or_else(|| panic!("no hint in {said}\n{text}")).to_owned()
}

#[test]
fn lines_in_a_wrong_column_are_explained() {
    for (sessions, expected) in [
        (
            "  s:\n    - get: /\n      as: x\n       status: 200",
            "begin this line in column 7, as `as` in line 5; it begins in column 8",
        ),
        (
            "  s:\n    - get: /\n     as: x",
            "begin this line in column 7, as the key in line 4; it begins in column 6",
        ),
        (
            "  s:\n    - get: /\n      headers:\n        a: b\n       c: d",
            "begin this line in column 9, as the key in line 6; it begins in column 8",
        ),
        (
            "  s:\n    - get: /\n    as: x",
            "begin this line in column 7, as the key in line 4; it begins in column 5",
        ),
        (
            "  s:\n    - get: /\n   - get: /b",
            "begin this item in column 5, as the item in line 4; it begins in column 4",
        ),
        (
            "  s:\n    - get: /\n     - get: /b",
            "begin this item in column 5, as the item in line 4; it begins in column 6",
        ),
        (
            "  s:\n - get: /",
            "begin the list in column 5, deeper than `s` above it; it begins in column 2",
        ),
        ("\ts:\n    - get: /", "indent with spaces: YAML forbids tabs there"),
        ("  s:\n    - get: /\n    \tas: x", "indent with spaces: YAML forbids tabs there (line 5)"),
        (
            "  s:\n    - get: /\n      save:\n      id: /id",
            "indent what belongs to the key deeper than the key",
        ),
    ] {
        assert_eq!(hint(sessions), expected, "{sessions}");
    }
    let said = rendered("  target: http://127.0.0.1/\nsessions:\n  s: []\n", &[]);
    assert!(said.contains("hint: begin line 1 in column 1, as this one"), "{said}");
    let said = rendered("target: http://127.0.0.1/\n sessions:\n  s: []\n", &[]);
    assert!(said.contains("hint: begin this line in column 1, as `target` in line 1"), "{said}");
}

#[test]
fn colons_and_blanks_that_are_missing_are_explained() {
    for (sessions, expected) in [
        ("  s:\n    - get /\n      as: x", "line 4: a colon is missing after `get`"),
        ("  s:\n    - get:/\n      as: x", "line 4: write a blank after `get:`"),
        ("  s\n    - get: /", "line 3: a colon is missing after `s`"),
        ("  s:\n    -get: /", "write a blank after the dash: `- get:`"),
        ("  s: t:\n    - get: /", "write `t:` in a line of its own below `s:`, indented deeper"),
    ] {
        assert_eq!(hint(sessions), expected, "{sessions}");
    }
}

#[test]
fn text_that_needs_quotes_is_shown_with_them() {
    for (step, expected) in [
        ("as: a: b", "quote the value: `as: \"a: b\"`"),
        ("check: x == 'a: b'", "quote the value: `check: \"x == 'a: b'\"`"),
        ("check: x == \"a: b\"", "quote the value: `check: 'x == \"a: b\"'`"),
        ("save: { id: $.items[0].id }", "quote a value that contains [ ] { } or a comma"),
        ("save: { id: /id", "the { in line 5 is not closed"),
        ("body: {\"a\": 1}x", "quote the complete value"),
        ("as: \"a\" b", "quote the complete value"),
        ("as: \"a", "the quote in line 5 is not closed"),
        ("as: @x", "quote text that begins with @"),
        ("check: *x", "quote text that begins with *"),
    ] {
        let found = hint(&format!("  s:\n    - get: /\n      {step}"));
        assert_eq!(found, expected, "{step}");
    }
}
