//! The verdict for machines.

use record::schema::Summary;

/// The summary as indented JSON with a newline at its end: the text of `summary.json`. Keys keep
/// their order from run to run.
pub fn json(summary: &Summary) -> String {
    let mut text = serde_json::to_string_pretty(summary)
        .expect("a summary has string keys only and nothing that refuses to be written");
    text.push('\n');
    text
}
