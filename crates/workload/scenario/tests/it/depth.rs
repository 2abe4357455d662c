//! Texts that are nested more deeply than a stack holds are reported, not followed.

use scenario::document::{meters, prices};
use scenario::{Settings, Source, compile, render};

use crate::with_steps;

/// Levels of each text; a parser that recursed would need far more than the stack below.
const LEVELS: usize = 20_000;

/// Runs on a quarter of a thread's usual stack.
fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(512 << 10);
    let thread = thread.spawn(test).expect("a thread");
    thread.join().expect("no overflow");
}

/// What is reported of a scenario, with `rows.jsonl` as its only file.
fn reported(text: &str, rows: &str) -> String {
    let source = Source { name: "test.yaml", text };
    let settings = Settings { overrides: &[], env: &|_| None, files: &|_| Ok(rows.to_owned()) };
    let (_, diagnostics) = compile(source, &settings);
    render(&diagnostics, source)
}

#[test]
fn deep_documents_are_reported() {
    on_a_small_stack(|| {
        for front in [
            "[", "{", "{a: ", "- ", "? ", "!", "! ", "&a ", "&a [", "!!seq [", "*", "\"[", "|\n [",
            "a:\n- ",
        ] {
            let text = front.repeat(LEVELS);
            assert!(!reported(&text, "").is_empty(), "{front}");
            // As a value of an override.
            let overrides = [("name".to_owned(), text.clone())];
            let settings = Settings {
                overrides: &overrides,
                env: &|_| None,
                files: &|name| Err(name.to_owned()),
            };
            let name = "test.yaml";
            compile(Source { name, text: "target: x" }, &settings);
            let source = Source { name, text: &text };
            assert!(meters(source).0.is_none() && prices(source).0.is_none(), "{front}");
        }
        let mut indented = String::new();
        for level in 0..1_000 {
            indented += &format!("{:level$}a:\n", "");
        }
        assert!(reported(&indented, "").contains("64 levels"));
    });
}

/// An alias brings the levels of what it stands for.
#[test]
fn aliases_do_not_nest_deeper_than_lists() {
    on_a_small_stack(|| {
        let open = "[".repeat(60);
        let close = "]".repeat(60);
        let mut text = format!("vars:\n  a0: &a0 {open}{close}\n");
        for n in 1..50 {
            text += &format!("  a{n}: &a{n} {open}*a{}{close}\n", n - 1);
        }
        let reported = reported(&text, "");
        assert!(reported.contains("nested too deeply"), "{reported}");
        assert!(reported.contains("line 3") || reported.contains(":3:"), "{reported}");
    });
}

#[test]
fn deep_expressions_are_reported() {
    on_a_small_stack(|| {
        let levels = |front: &str, levels: usize| {
            let value = format!("${{{}1", front.repeat(levels));
            reported(&with_steps(&format!("- set: {{ x: \"{value}\" }}")), "")
        };
        for front in ["(", "-", "!", "not ", "str(", "1 + (", "1 < (", "- (", "pick(1, "] {
            assert!(!levels(front, LEVELS).is_empty(), "{front}");
            let reported = levels(front, 70);
            assert!(reported.contains("nested too deeply"), "{front}: {reported}");
        }
        // As long as an expression may be, and nested to the left only.
        for operator in [" + ", " and ", " * ", " == x or "] {
            let value = format!("x{}", format!("{operator}x").repeat(120));
            let steps = format!("- set: {{ x: 1 }}\n- set: {{ x: \"${{{value}}}\" }}");
            assert_eq!(reported(&with_steps(&steps), ""), "", "{operator}");
        }
    });
}

#[test]
fn deep_rows_and_thresholds_are_reported() {
    on_a_small_stack(|| {
        let text = "target: http://a.test/\ndata:\n  rows: { file: rows.jsonl }\nsessions:\n  s: [ { feed: rows }, { think: 1s } ]\narrivals: [ { hold: 1s } ]\n";
        for front in ["[", "{\"a\":", "{\"a\":[", "-"] {
            let rows = front.repeat(LEVELS);
            assert!(!reported(text, &rows).is_empty(), "{front}");
        }
        for front in ["(", "count(", "p99(", "-", "["] {
            let threshold = front.repeat(LEVELS);
            let text = format!("{}thresholds: [ '{threshold}' ]\n", with_steps("- think: 1s"));
            assert!(!reported(&text, "").is_empty(), "{front}");
        }
    });
}

/// Also those that are short: the parser takes twice as long for each level.
#[test]
fn deep_paths_are_reported() {
    on_a_small_stack(|| {
        for (front, levels) in
            [("(", LEVELS), ("@[?", LEVELS), ("(", 40), ("@[?", 40), ("value(@[?", 40)]
        {
            let path = format!("$[?{}", front.repeat(levels));
            let reported =
                reported(&with_steps(&format!("- get: /\n  save: {{ x: '{path}' }}")), "");
            let expected = if levels == LEVELS {
                "is longer than 1000 bytes"
            } else {
                "is nested deeper than 10 levels"
            };
            assert!(reported.contains(expected), "{front}: {reported}");
        }
    });
}
