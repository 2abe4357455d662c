//! Verdicts and analyses as JSON.

use serde::Serialize;

/// A result as indented JSON with a newline at the end; for a summary, the text of `summary.json`. Keys keep their order from run to run.
pub fn json(found: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(found)
        .expect("what is found has string keys only and nothing that refuses to be written");
    text.push('\n');
    text
}
