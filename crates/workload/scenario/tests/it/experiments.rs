//! Experiments: what is read, which combinations follow, what is said of wrong ones.

use std::path::PathBuf;

use scenario::experiment::{Design, Factor, RUN_VARIABLE, RUNS_MAX};
use scenario::{
    Diagnostic, Experiment, Settings, Source, experiment, experiment_reference, experiment_schema,
    render,
};
use testkit::documents::assert_blocks;
use testkit::needs::root;

fn read(name: &str, text: &str) -> (Option<Experiment>, Vec<Diagnostic>) {
    let settings =
        Settings { overrides: &[], env: &|_| None, files: &|_| Err("no such file".to_owned()) };
    experiment(Source { name, text }, &settings, false)
}

fn in_full(text: &str) -> (Option<Experiment>, Vec<Diagnostic>) {
    let settings =
        Settings { overrides: &[], env: &|_| None, files: &|_| Err("no such file".to_owned()) };
    let name = "it.yaml";
    experiment(Source { name, text }, &settings, true)
}

#[track_caller]
fn right(text: &str) -> Experiment {
    let (found, diagnostics) = read("it.yaml", text);
    let source = Source { name: "it.yaml", text };
    assert!(diagnostics.is_empty(), "{}", render(&diagnostics, source));
    found.expect("what has no problem is an experiment")
}

#[test]
fn an_experiment_is_read() {
    let found = right(
        "scenario: s.yaml\nset: { hold: 5s, name: 'no 7' }\n\
         factors:\n  users: { set: arrivals.0.constant, levels: [10/s, 20/s, 40/s] }\n  \
         hosts: ['1', '${host}']\nresponses:\n  - p99(request)\n  \
         - { figure: errors, model: multiplicative }\npause: 0\nconfidence: 90%\n",
    );
    assert_eq!((found.name.as_str(), found.scenario.as_str()), ("it", "s.yaml"));
    assert_eq!(found.design, Design::Full);
    assert_eq!((found.repetitions, found.pause_ns, found.confidence), (3, 0, 0.9));
    assert_eq!(found.cells().len(), 6);
    assert_eq!(found.cells()[1], [1, 0]);
    // Quoted values stay text, and what stands in ${} is the scenario's.
    let written = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let expected = [
        ("hold", "5s"),
        ("name", "\"no 7\""),
        ("arrivals.0.constant", "40/s"),
        ("hosts", "\"${host}\""),
    ];
    assert_eq!(found.overrides(&[2, 1]), expected.iter().map(written).collect::<Vec<_>>());
    let multiplicative: Vec<bool> = found.responses.iter().map(|r| r.multiplicative).collect();
    assert_eq!(multiplicative, [false, true]);
}

const VARIANTS: &str = "scenario: s\nresponses: [errors]\nfactors:\n  \
    it: { levels: { as it is: {}, more: { rate: 2/s, name: '7' } } }\n\
    compare: { measures: [ad, impression], bin: 100us }\n\
    full: { repetitions: 9, factors.it.levels.as it is.rate: 1/s }\n";

#[test]
fn variants_set_any_number_of_places() {
    let found = right(VARIANTS);
    assert_eq!(found.cells(), [[0], [1]]);
    assert_eq!(found.overrides(&[0]), []);
    let written = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    let more = [("rate", "2/s"), ("name", "\"7\"")].map(written);
    assert_eq!(found.overrides(&[1]), more);
    let levels: Vec<&str> = found.factors[0].levels.iter().map(|l| &*l.text).collect();
    assert_eq!(levels, ["as it is", "more"]);
    let compare = found.compare.expect("it stands there");
    let measures: Vec<&str> = compare.measures.iter().map(|(name, _)| &**name).collect();
    assert_eq!(measures, ["ad", "impression"]);
    assert_eq!((compare.bin_ns, compare.skip_ns, found.repetitions), (100_000, 0, 3));
}

#[test]
fn in_full_it_is_otherwise() {
    let (found, diagnostics) = in_full(VARIANTS);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let found = found.unwrap();
    assert_eq!(found.repetitions, 9);
    assert_eq!(found.overrides(&[0]), [("rate".to_owned(), "1/s".to_owned())]);
    for (full, part) in [
        ("", "no key `full`"),
        ("full: { nothing.at.all: 1 }\n", "there is no `nothing`"),
        ("full: { scenario.of: 1 }\n", "not a mapping"),
        ("full: { repetition: 9 }\n", "repetition"),
        ("full: { repetitions: often }\n", "often"),
        ("full: 7\n", "mapping"),
    ] {
        let text = VARIANTS.split("full:").next().unwrap().to_owned() + full;
        let (found, diagnostics) = in_full(&text);
        let diagnostics: Vec<&str> = diagnostics.iter().map(|d| d.message.as_str()).collect();
        assert!(found.is_none(), "{full:?}");
        assert!(
            diagnostics.iter().any(|message| message.contains(part)),
            "{full:?}: {diagnostics:?}"
        );
    }
}

#[test]
fn wrong_variants_are_reported() {
    for (factors, part) in [
        ("it: { levels: { one: {} } }", "only one level"),
        ("it: { levels: { a: {}, b: } }", "is given twice"),
        ("it: { levels: { a: { x: 1 }, b: [2] } }", "mapping"),
        ("it: { set: x, levels: { a: {}, b: { x: 1 } } }", "define what they set"),
        ("{ it: { levels: { a: {}, b: { x: 1 } } }, x: [1, 2] }", "changed by another factor"),
    ] {
        let text = format!("scenario: s\nresponses: [errors]\nfactors:\n  {factors}\n");
        let (found, diagnostics) = read("it.yaml", &text);
        let diagnostics: Vec<&str> = diagnostics.iter().map(|d| d.message.as_str()).collect();
        assert!(found.is_none(), "{factors}");
        assert!(
            diagnostics.iter().any(|message| message.contains(part)),
            "{factors}: {diagnostics:?}"
        );
    }
}

#[test]
fn generators_choose_a_part_of_the_design() {
    let found = right(
        "scenario: s\nfactors: { a: [0, 1], b: [0, 1], c: [0, 1], d: [0, 1] }\n\
         responses: [errors]\ndesign: 2^(k-r)\ngenerators: [D=ABC]\n",
    );
    let cells = found.cells();
    assert_eq!(cells.len(), 8);
    let sign = |level: usize| if level == 1 { 1 } else { -1 };
    for cell in &cells {
        assert_eq!(sign(cell[3]), sign(cell[0]) * sign(cell[1]) * sign(cell[2]), "{cell:?}");
    }
    let other = right(
        "scenario: s\nfactors: { a: [0, 1], b: [0, 1], c: [0, 1] }\nresponses: [errors]\n\
         design: 2^(k-r)\ngenerators: [\"C = -AB\"]\n",
    );
    assert_eq!(other.cells(), [[0, 0, 0], [1, 0, 1], [0, 1, 1], [1, 1, 0]]);
}

#[test]
fn what_was_published_has_levels_of_factors() {
    let text = "scenario: s\nfactors: { policy: [random, hash, least], users: [250, 500] }\nresponses:\n  \
        - { figure: errors, published: [1, 2ms, 3/s, 40%, 5, 6] }\n  \
        - figure: p50\n    published:\n      source: Olaru (2015)\n      \
        values: [{ at: { policy: hash, users: 500 }, value: 7ms }, { at: { users: 250 }, value: 8ms }]\n      \
        claims:\n        - { claim: it is slow, order: [hash, [least, random]], at: { users: 500 } }\n        \
        - { of: users, order: [500, 250] }\n";
    let found = right(text);
    let cells = found.cells();
    let [first, second] = &found.responses[..] else {
        panic!("two responses");
    };
    let values = [1.0, 2e6, 3.0, 0.4, 5.0, 6.0];
    assert_eq!(first.published.of_cells(&cells), values.map(Some));
    let published = &second.published;
    assert_eq!(published.source, "Olaru (2015)");
    let low = Some(8e6);
    assert_eq!(published.of_cells(&cells), [low, low, low, None, Some(7e6), None]);
    let claims = published.claims.iter().map(|claim| {
        let order = claim.order.clone();
        let at = claim.at.clone();
        (claim.text.as_str(), claim.factor, order, at)
    });
    let claims: Vec<_> = claims.collect();
    let expected = [
        ("it is slow", 0, vec![vec![1], vec![2, 0]], vec![None, Some(1)]),
        ("", 1, vec![vec![1], vec![0]], vec![None, None]),
    ];
    assert_eq!(claims, expected);
}

/// As for scenarios: `testdata/experiments/bad/*.yaml`, and beside each what is said of it.
#[test]
fn wrong_experiments_are_reported_as_expected() {
    let folder = root().join("testdata/experiments/bad");
    let entries = std::fs::read_dir(&folder).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    files.sort();
    assert!(files.len() >= 4, "only {} files", files.len());
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let (found, diagnostics) = read(name, &text);
        assert!(found.is_none(), "{name} is right");
        let said = render(&diagnostics, Source { name, text: &text });
        let golden = path.with_extension("expected");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&golden, &said).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        assert!(said == expected, "{name}\n--- expected\n{expected}\n--- found\n{said}");
    }
}

#[test]
fn names_of_variables() {
    let text = "scenario: s\nfactors: { message size: [1, 2], run: [1, 2] }\nresponses: [errors]\n";
    // Without commands nobody looks for them, so that `run` is a name like others.
    let experiment = right(text);
    let variables = experiment.factors.iter().map(Factor::variable);
    let variables: Vec<String> = variables.collect();
    assert_eq!(variables, ["THRONG_MESSAGE_SIZE", RUN_VARIABLE]);
}

#[test]
fn too_many_runs_are_counted_not_listed() {
    let levels: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
    let factors: Vec<String> = (0..12).map(|f| format!("f{f}: [{}]", levels.join(", "))).collect();
    let text = format!("scenario: s\nresponses: [errors]\nfactors:\n  {}\n", factors.join("\n  "));
    let (found, diagnostics) = read("it.yaml", &text);
    assert!(found.is_none());
    assert!(
        diagnostics
            .iter()
            .any(|d| d.code == "too-many-runs" && d.message.ends_with(&RUNS_MAX.to_string()))
    );
}

/// `UPDATE=1` writes the tables of keys into the document.
#[test]
fn the_document_has_every_key_and_its_example_is_right() {
    let document = "docs/experiments.md";
    assert_blocks(document, "keys", experiment_reference());
    let text = std::fs::read_to_string(root().join(document)).unwrap();
    let mut blocks = text.split("```yaml experiment\n").skip(1);
    let block = blocks.next().and_then(|rest| rest.split("```").next());
    right(block.expect("the document shows an experiment"));
}

#[test]
fn the_examples_are_right_and_the_schema_is_closed() {
    let example = std::fs::read_to_string(root().join("examples/experiments/market.yaml")).unwrap();
    let found = right(&example);
    assert_eq!(found.cells().len() * found.repetitions as usize, 24);
    let schema = experiment_schema();
    let text = schema.to_string();
    for rest in text.split("\"#/$defs/").skip(1) {
        let name = rest.split('"').next().unwrap();
        assert!(schema["$defs"].get(name).is_some(), "no definition of {name}");
    }
    assert_eq!(schema["required"], serde_json::json!(["scenario", "factors", "responses"]));
}

/// No input panics: pieces of a valid file, cut and recombined.
#[test]
fn pieces_of_files_are_reported_or_read() {
    let example = std::fs::read_to_string(root().join("examples/experiments/market.yaml")).unwrap();
    let places: Vec<usize> = example.char_indices().map(|(at, _)| at).collect();
    for (number, &at) in places.iter().enumerate() {
        read("it.yaml", &example[..at]);
        if number % 7 == 0 {
            read("it.yaml", &format!("{}{}", &example[at..], &example[..at]));
        }
    }
}
