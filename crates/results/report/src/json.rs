//! Verdicts and analyses as JSON.

use record::controls::is_control;
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

/// A result as indented JSON with a newline at the end: the text of `summary.json` for a summary, of `analysis.json` for
/// the analysis of an experiment. Keys keep their order from run to run.
pub fn json(found: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(found)
        .expect("what is found has string keys only and nothing that refuses to be written");
    text.push('\n');
    escaped(&text, |c| is_control(c) && c != '\n')
}

/// JSON with escapes for these characters, which JSON itself allows in its texts, and which occur nowhere else in it.
pub(crate) fn escaped(json: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match is_escaped(c) {
            true => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn texts_say_the_same_without_controls() {
        let name = "a\u{202e}b\u{9b}2J\n\x1b[31m";
        let json = super::json(&name);
        assert_eq!(json, "\"a\\u202eb\\u009b2J\\n\\u001b[31m\"\n");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), name);
    }
}
