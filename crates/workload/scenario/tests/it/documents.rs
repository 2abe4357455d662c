//! What is written about the language agrees with it: the reference, the examples, the schema.

use scenario::{Load, Settings, Source, UrlRun, compile, reference, render, schema, url_scenario};
use testkit::documents::assert_blocks;
use testkit::needs::root;

use crate::{plan, plan_with, with_arrivals, with_steps};

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect("the file is part of the project")
}

const GUIDE: &str = "docs/scenario.md";
const REFERENCE: &str = "docs/scenario-reference.md";
const COOKBOOK: &str = "docs/cookbook.md";

/// Documents whose code blocks are compiled.
const WITH_EXAMPLES: &[&str] = &[
    GUIDE,
    REFERENCE,
    "docs/arrivals.md",
    "docs/coming-from.md",
    "docs/connecting.md",
    "docs/faq.md",
    "docs/graphql.md",
    "docs/grpc.md",
    "docs/http.md",
    "docs/mqtt.md",
    "docs/realtime.md",
];

/// Every table of keys stands in the reference between `<!-- keys: NAME -->` and `<!-- end -->`;
/// `UPDATE=1` writes them there.
#[test]
fn the_reference_has_every_key() {
    assert_blocks(REFERENCE, "keys", reference());
}

/// Code blocks say what they are: ```yaml scenario, steps, phases, top (top-level keys) or
/// distribution; each compiles in its place.
#[test]
fn the_examples_of_the_documents_compile() {
    let text: String = WITH_EXAMPLES.iter().map(|path| read(path)).collect();
    let mut blocks_count = 0;
    for block in text.split("```yaml").skip(1) {
        let (kind, rest) = block.split_once('\n').unwrap();
        let code = rest.split("```").next().unwrap();
        blocks_count += 1;
        match kind.trim() {
            "scenario" => drop(plan(code)),
            "steps" => drop(plan(&with_steps(&format!("- ws: /v1\n{code}")))),
            "phases" => drop(plan(&with_arrivals(code))),
            "top" => drop(plan(&with_top(code))),
            "distribution" => {
                for line in code.lines() {
                    plan(&with_steps(line));
                }
            }
            other => panic!("a yaml block of the unknown kind {other:?}"),
        }
    }
    assert!(blocks_count >= 8, "only {blocks_count} examples found");
}

/// The cookbook's scenarios compile without a warning. Its other blocks are the files that they name,
/// such as `csv users.csv`.
#[test]
fn the_scenarios_of_the_cookbook_compile() {
    let text = read(COOKBOOK);
    // What is between two fences is a block, and the next part is text.
    let blocks = text.split("\n```").skip(1).step_by(2);
    let blocks: Vec<(&str, &str)> = blocks.filter_map(|block| block.split_once('\n')).collect();
    let settings = Settings {
        overrides: &[],
        env: &|name| (name == "TOKEN").then(|| "open sesame".to_owned()),
        files: &|name| {
            let is_named = |kind: &str| kind.split_once(' ').is_some_and(|(_, file)| file == name);
            let found = blocks.iter().find(|(kind, _)| is_named(kind));
            let text = found.map(|(_, code)| (*code).to_owned());
            text.ok_or_else(|| "no such file".to_owned())
        },
    };
    let scenarios = blocks.iter().filter(|(kind, _)| *kind == "yaml scenario");
    let mut scenarios_count = 0;
    for (_, code) in scenarios {
        let source = Source { name: COOKBOOK, text: code };
        let (plan, diagnostics) = compile(source, &settings);
        let shown = render(&diagnostics, source);
        assert!(plan.is_some() && diagnostics.is_empty(), "{shown}\n{code}");
        scenarios_count += 1;
    }
    assert!(scenarios_count >= 25, "only {scenarios_count} scenarios");
}

/// Top-level keys, with those they lack.
fn with_top(code: &str) -> String {
    let mut text = code.to_owned();
    for (key, value) in [
        ("target:", "target: http://127.0.0.1/\n"),
        ("sessions:", "sessions:\n  s:\n    - ws: /\n    - send: { op: go }\n      reply: {}\n"),
        ("arrivals:", "arrivals: [ { constant: 1/s, for: 5m, name: peak } ]\n"),
    ] {
        if !text.lines().any(|line| line.starts_with(key)) {
            text.push_str(value);
        }
    }
    text
}

#[test]
fn the_examples_compile() {
    for name in ["football-quick", "football-final", "http-hello"] {
        let found = plan(&read(&format!("examples/{name}.yaml")));
        assert_eq!(found.name, name);
    }
    let quick = plan(&read("examples/football-quick.yaml"));
    assert_eq!(quick.users_planned(), 2000.0);
    let last = plan_with(&read("examples/football-final.yaml"), &[("hold", "5m")]);
    assert_eq!(last.users_planned(), 24_000.0);
    assert_eq!(last.end_ns(), 500_000_000_000);
}

/// Every `$ref` of the schema leads somewhere.
#[test]
fn the_schema_is_closed() {
    let schema = schema();
    let text = schema.to_string();
    let mut references_count = 0;
    for rest in text.split("\"#/$defs/").skip(1) {
        let name = rest.split('"').next().unwrap();
        assert!(schema["$defs"].get(name).is_some(), "no definition of {name}");
        references_count += 1;
    }
    assert!(references_count > 50);
    assert_eq!(schema["required"], serde_json::json!(["target", "sessions"]));
    let one_of = serde_json::json!([
        { "anyOf": [ { "required": ["arrivals"] }, { "required": ["populations"] } ] }
    ]);
    assert_eq!(schema["allOf"], one_of);
}

#[test]
fn a_bare_url_is_an_ordinary_scenario() {
    let headers = vec![("x-a".to_owned(), "\"quoted\" ${not}".to_owned())];
    let run = UrlRun {
        url: "https://example.org:8443/a/b?c=d",
        load: Load::Rate("50/s"),
        duration: "10s",
        method: None,
        headers: &headers,
        body: Some("{\"a\": 1}"),
    };
    let open = plan(&url_scenario(&run).text);
    let plan::Op::Http(request) = &open.sessions[0].ops[0] else { panic!("no request") };
    assert_eq!(request.method, "POST");
    assert_eq!(request.path.as_static(), Some("/a/b?c=d"));
    assert_eq!(request.body.as_ref().unwrap().as_static(), Some("{\"a\": 1}"));
    assert_eq!(request.headers[0].1.as_static(), Some("\"quoted\" ${not}"));
    assert_eq!(open.endpoints[0].port, 8443);

    let run = UrlRun { url: "http://h", load: Load::Users(64), headers: &[], body: None, ..run };
    let closed = plan(&url_scenario(&run).text);
    assert_eq!(closed.users_planned(), 64.0);
    assert_eq!(closed.sessions[0].ops.len(), 2);
    for url in ["http://h/${x}", "http://h/a(b)=c"] {
        let text = url_scenario(&UrlRun {
            url,
            load: Load::Users(1),
            duration: "1s",
            method: Some("get"),
            headers: &[],
            body: None,
        })
        .text;
        assert_eq!(plan(&text).sessions.len(), 1, "{text}");
    }
}

/// Links between guide and reference, and within each, lead to headings.
#[test]
fn links_lead_to_headings() {
    let mut links_count = 0;
    for (own, other) in [(GUIDE, REFERENCE), (REFERENCE, GUIDE)] {
        let text = read(own);
        let name = other.rsplit('/').next().unwrap();
        for (begin, file) in [("](#".to_owned(), own), (format!("]({name}#"), other)] {
            let headings = headings(&read(file));
            for rest in text.split(&begin).skip(1) {
                let link = rest.split(')').next().unwrap();
                assert!(
                    headings.iter().any(|heading| heading == link),
                    "{own}: no heading for #{link} in {file}"
                );
                links_count += 1;
            }
        }
    }
    assert!(links_count > 40, "only {links_count} links found");
}

/// The anchors of a document's headings.
fn headings(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchors = headings.map(|line| line.trim_start_matches('#').trim().to_lowercase());
    anchors.map(|anchor| anchor.replace(' ', "-")).collect()
}
