//! Verdicts and analyses as JSON.

use record::schema::Summary;
use serde::Serialize;

/// A run's summary with its directory, as [`json`].
pub fn run_json(summary: &Summary, directory: &str) -> String {
    #[derive(Serialize)]
    struct Run<'a> {
        directory: &'a str,
        #[serde(flatten)]
        summary: &'a Summary,
    }
    json(&Run { directory, summary })
}

/// A result as indented JSON with a newline at the end; for a summary, the text of `summary.json`. Keys keep their order from run to run.
pub fn json(found: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(found)
        .expect("what is found has string keys only and nothing that refuses to be written");
    text.push('\n');
    text
}
