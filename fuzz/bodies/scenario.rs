//! Fuzzing what people write: any text compiles or is reported, and nothing panics.

use scenario::{Settings, Source};

/// Files that a scenario names hold this.
const FILE: &str = "a,b\n1,2\n3,4\n";

fn settings() -> Settings<'static> {
    Settings {
        overrides: &[],
        env: &|_| None,
        files: &|_| Ok(FILE.to_owned()),
    }
}

/// YAML: scenarios, experiments, meters and price lists.
pub(crate) fn yaml(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let source = Source { name: "x", text };
    let (_, diagnostics) = scenario::compile(source, &settings());
    scenario::render(&diagnostics, source);
    scenario::experiment(source, &settings(), true);
    document::meters(source);
    document::prices(source);
}

/// Expressions, as a condition and inside text.
pub(crate) fn expressions(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    // JSON's text is YAML's, too.
    let [condition, template] =
        [text, &format!("a${{{text}}}b")].map(|text| serde_json::Value::from(text).to_string());
    let text = format!(
        "target: http://h/\nsessions: {{ s: [ {{ set: {{ x: 1, y: {template} }} }}, \
         {{ if: {condition}, then: [ {{ get: / }} ] }} ] }}\narrivals: [ {{ users: 1, for: 1s }} ]\n"
    );
    let source = Source {
        name: "x",
        text: &text,
    };
    scenario::compile(source, &settings());
}
