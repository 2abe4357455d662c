//! Verdicts and analyses for machines.

use serde::Serialize;

/// What was found as indented JSON with a newline at its end; of a summary, the text of
/// `summary.json`. Keys keep their order from run to run.
pub fn json(found: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(found)
        .expect("what is found has string keys only and nothing that refuses to be written");
    text.push('\n');
    text
}
