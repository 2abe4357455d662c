//! JSON values as YAML: block style, in the order of the keys.

use std::fmt::Write as _;

use serde_json::Value;

/// Words that some parsers read as something else than text.
const WORDS: &[&str] = &["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// Objects as a stream of documents.
pub(super) fn documents(objects: &[Value]) -> String {
    let mut out = String::new();
    for object in objects {
        out += "---\n";
        block(&mut out, object, 0);
    }
    out
}

/// A value that stands in lines of its own.
fn block(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(pairs) => {
            for (key, value) in pairs {
                let _ = write!(out, "{:indent$}{}:", "", word(key));
                behind(out, value, indent + 2);
            }
        }
        Value::Array(items) => {
            for item in items {
                let start = out.len();
                match item {
                    Value::Object(pairs) if !pairs.is_empty() => {
                        block(out, item, indent + 2);
                        // The first key stands behind the dash.
                        out.replace_range(start + indent..=start + indent, "-");
                    }
                    _ => {
                        let _ = write!(out, "{:indent$}-", "");
                        behind(out, item, indent + 2);
                    }
                }
            }
        }
        _ => behind(out, value, indent),
    }
}

/// Writes the value behind a key or a dash, to the end of the line or of the block.
fn behind(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(pairs) if pairs.is_empty() => *out += " {}\n",
        Value::Array(items) if items.is_empty() => *out += " []\n",
        Value::Object(_) | Value::Array(_) => {
            out.push('\n');
            block(out, value, indent);
        }
        Value::String(text) if is_literal(text) => {
            *out += " |\n";
            for line in text.lines() {
                if !line.is_empty() {
                    let _ = write!(out, "{:indent$}{line}", "");
                }
                out.push('\n');
            }
        }
        Value::String(text) => {
            let _ = writeln!(out, " {}", word(text));
        }
        other => {
            let _ = writeln!(out, " {other}");
        }
    }
}

/// Whether a text of several lines can stand as it is.
fn is_literal(text: &str) -> bool {
    let ends = text.ends_with('\n') && !text.ends_with("\n\n");
    ends && text.starts_with(|c: char| !c.is_whitespace())
        && text.chars().all(|c| c == '\n' || is_printable(c))
}

fn is_printable(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// A text in one line, quoted if it could be read as something else.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    if starts && text.chars().all(plain) && !WORDS.contains(&text.to_ascii_lowercase().as_str()) {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted += "\\n",
            '\t' => quoted += "\\t",
            c if is_printable(c) => quoted.push(c),
            c => {
                let _ = write!(quoted, "\\U{:08x}", u32::from(c));
            }
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use saphyr::{LoadableYamlNode, Yaml};
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_in_blocks() {
        let value = json!({
            "kind": "Job",
            "none": {},
            "args": ["run", "-n", "4", ["a"], { "name": "x", "deep": { "er": [1] } }],
            "text": "a: 1\n\n  b\n",
        });
        let expected = "---\nkind: Job\nnone: {}\nargs:\n  - run\n  - \"-n\"\n  - \"4\"\n  -\n    - a\n  - name: \
                        x\n    deep:\n      er:\n        - 1\ntext: |\n  a: 1\n\n    b\n";
        assert_eq!(documents(&[value]), expected);
    }

    /// Read by another parser.
    #[test]
    fn any_text_is_read_as_it_was() {
        let texts = [
            "",
            " ",
            "yes",
            "No",
            "1",
            "1e3",
            "0x1",
            "~",
            "-",
            "- a",
            "a: b",
            "a #b",
            "#",
            "@",
            "`",
            "|",
            ">",
            "%",
            "a\nb",
            "a\n",
            "a\n\n",
            "\na\n",
            " a\n",
            "a \n",
            "a\n \nb\n",
            "\t\n",
            "a\tb\n",
            "\r\n",
            "a\r\n",
            "\u{7f}",
            "\u{85}",
            "\u{2028}\n",
            "\u{feff}",
            "ä ö 🎈\n",
            "\"\\\"",
            "\\n",
            "{}",
            "[]",
            "!tag",
            "&a",
            "*a",
            "null",
            "a:",
            "2026-01-01",
            ".inf",
            "---\n",
            "...\n",
            "a\n---\nb\n",
            "\0",
        ];
        for text in texts {
            let written = documents(&[json!({ "key": text, "list": [text] })]);
            let read = Yaml::load_from_str(&written)
                .unwrap_or_else(|error| panic!("{text:?}: {error}\n{written}"));
            let Yaml::Mapping(pairs) = &read[0] else {
                panic!("{written}");
            };
            let found = pairs.iter().find(|(key, _)| key.as_str() == Some("key"));
            let found = found.and_then(|(_, value)| value.as_str());
            assert_eq!(found, Some(text), "{written}");
        }
    }
}
