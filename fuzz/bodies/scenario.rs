//! Fuzzing what people write: any text compiles or is reported, and nothing panics.

use plan::Source as Place;
use scenario::{Settings, Source};

/// Files that a scenario names hold this.
const FILE: &str = "a,b\n1,2\n3,4\n";

fn settings() -> Settings<'static> {
    Settings { overrides: &[], env: &|_| None, files: &|_| Ok(FILE.to_owned()) }
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
    scenario::document::meters(source);
    scenario::document::prices(source);
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
    let source = Source { name: "x", text: &text };
    scenario::compile(source, &settings());
}

/// JSONPath in the first line, and an answer in which it looks for places in the rest.
pub(crate) fn json_paths(data: &[u8]) {
    let end = data.iter().position(|&byte| byte == b'\n');
    let (path, answer) = data.split_at(end.unwrap_or(data.len()));
    let Ok(path) = std::str::from_utf8(path) else {
        return;
    };
    let path = serde_json::Value::from(path);
    let text = format!(
        "target: http://h/\nsessions: {{ s: [ {{ get: /, save: {{ x: {path} }} }} ] }}\n\
         arrivals: [ {{ users: 1, for: 1s }} ]\n"
    );
    let source = Source { name: "x", text: &text };
    let (Some(plan), _) = scenario::compile(source, &settings()) else {
        return;
    };
    let ops = plan.sessions.iter().flat_map(|session| &session.ops);
    for save in ops.flat_map(plan::Op::saves) {
        if let Place::Path(search) = &save.from {
            let mut visits_left = plan::expr::VISITS_MAX;
            let _ = plan::expr::all_places(search, answer, &mut visits_left);
        }
    }
}

/// Files of data. The first byte says of which kind.
pub(crate) fn data_files(data: &[u8]) {
    let Some((&first, contents)) = data.split_first() else {
        return;
    };
    let file = ["a.csv", "a.jsonl", "a.csv, separator: ;", "a.txt, format: plain, columns: [a, b]"];
    let text = format!(
        "target: http://h/\ndata: {{ rows: {{ file: {} }} }}\n\
         sessions: {{ s: [ {{ feed: rows }}, {{ get: \"/${{a}}\" }} ] }}\n\
         arrivals: [ {{ users: 1, for: 1s }} ]\n",
        file[usize::from(first) % file.len()]
    );
    let source = Source { name: "x", text: &text };
    let contents = String::from_utf8_lossy(contents);
    let settings = Settings { files: &|_| Ok(contents.clone().into_owned()), ..settings() };
    let (_, diagnostics) = scenario::compile(source, &settings);
    scenario::render(&diagnostics, source);
}
