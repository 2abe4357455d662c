//! The fuzzers' bodies on their kept corpus.

#[path = "../../../../../fuzz/bodies/convert.rs"]
mod bodies;

use convert::{Leniency, bruno, curl, insomnia, jmeter, openapi, postman};
use scenario::Source;
use testkit::replay::replay;

#[test]
fn no_recording_panics() {
    replay("har", 200, bodies::har);
}

#[test]
fn no_tsung_file_panics() {
    replay("tsung", 200, bodies::tsung);
}

#[test]
fn no_plan_of_jmeter_panics_or_is_refused_by_the_check() {
    replay("jmeter", 50, bodies::jmeter);
}

#[test]
fn no_collection_of_postman_panics_or_is_refused_by_the_check() {
    replay("postman", 100, bodies::postman);
}

#[test]
fn no_export_of_insomnia_panics_or_is_refused_by_the_check() {
    replay("insomnia", 100, bodies::insomnia);
}

#[test]
fn no_request_of_bruno_panics_or_is_refused_by_the_check() {
    replay("bruno", 100, bodies::bruno);
}

#[test]
fn no_description_panics_or_is_refused_by_the_check() {
    replay("openapi", 100, bodies::openapi);
}

#[test]
fn no_command_line_panics_or_is_refused_by_the_check() {
    replay("curl", 100, bodies::curl);
}

/// Otherwise the fuzzer would change what no scenario is made of.
#[test]
fn all_files_of_the_corpus_become_scenarios() {
    let leniency = Leniency::Lenient;
    let files = |name: &str| {
        let is_binary = name.starts_with(scenario::BINARY);
        Ok(if is_binary { "YTtiCjE7Mgo=" } else { "a;b\n1;2\n" }.to_owned())
    };
    let files: &dyn Fn(&str) -> Result<String, String> = &files;
    let by = openapi::By::Tag;
    let convert = |target: &str, source: Source<'_>| match target {
        "jmeter" => jmeter::convert(source, &jmeter::Settings { leniency, files }),
        "bruno" => bruno::convert(source, &bruno::Settings { leniency, files }),
        "curl" => curl::convert(source, &curl::Settings { leniency, files }),
        "postman" => {
            postman::convert(source, &postman::Settings { leniency, environment: None, files })
        }
        "insomnia" => {
            insomnia::convert(source, &insomnia::Settings { leniency, environment: None, files })
        }
        _ => openapi::convert(source, &openapi::Settings { leniency, by, all_methods: true }),
    };
    let mut files_count = 0;
    for target in ["jmeter", "bruno", "curl", "postman", "insomnia", "openapi"] {
        let folder = testkit::needs::root().join("fuzz/corpus").join(target);
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.to_str().unwrap();
            let (converted, said) = convert(target, Source { name, text: &text });
            assert!(converted.is_some(), "{name}: {said:?}");
            files_count += 1;
        }
    }
    assert!(files_count >= 10, "{files_count}");
}
