//! Fuzzing the converters of other tools' files. What they write, the check of scenarios accepts.

use convert::{Conversion, Leniency, bruno, curl, har, insomnia, jmeter, openapi, postman, tsung};
use scenario::{BINARY, Diagnostic, Settings, Source};

/// What a file of each kind holds that another one names.
const FILE: &str = "a;b\n1;2\n";
/// The same in base64.
const FILE_BASE64: &str = "YTtiCjE7Mgo=";

/// HTTP Archives of browsers.
pub(crate) fn har(data: &[u8]) {
    let settings =
        har::Settings { statics: har::Statics::Group, third_parties: true, cached: true };
    converted(data, "x.har", |source, _| har::convert(source, &settings));
}

/// Tsung's XML. What is made of it need not be accepted: `throng import` checks it afterwards.
pub(crate) fn tsung(data: &[u8]) {
    convert::is_xml(data);
    let Ok(text) = convert::decode(data) else {
        return;
    };
    for leniency in [Leniency::Strict, Leniency::Lenient] {
        let settings = tsung::Settings { leniency, files: &files };
        let source = Source { name: "x.xml", text: &text };
        if let (Some(converted), _) = tsung::convert(source, &settings) {
            let settings = Settings { overrides: &[], env: &|_| None, files: &files };
            scenario::compile(Source { name: "x", text: &converted.text }, &settings);
        }
    }
}

/// Test plans of JMeter.
pub(crate) fn jmeter(data: &[u8]) {
    let Ok(text) = convert::decode(data) else {
        return;
    };
    converted(text.as_bytes(), "x.jmx", |source, leniency| {
        jmeter::convert(source, &jmeter::Settings { leniency, files: &files })
    });
}

/// Collections of Postman; the same text is an environment, too.
pub(crate) fn postman(data: &[u8]) {
    converted(data, "x.json", |source, leniency| {
        let environment = Some(source.text);
        postman::convert(source, &postman::Settings { leniency, environment, files: &files })
    });
}

/// Exports of Insomnia.
pub(crate) fn insomnia(data: &[u8]) {
    converted(data, "x.yaml", |source, leniency| {
        let environment = Some("Test");
        insomnia::convert(source, &insomnia::Settings { leniency, environment, files: &files })
    });
}

/// Requests of Bruno.
pub(crate) fn bruno(data: &[u8]) {
    converted(data, "x.bru", |source, leniency| {
        bruno::convert(source, &bruno::Settings { leniency, files: &files })
    });
}

/// Descriptions in OpenAPI.
pub(crate) fn openapi(data: &[u8]) {
    converted(data, "x.yaml", |source, leniency| {
        let settings = openapi::Settings { leniency, by: openapi::By::Tag, all_methods: true };
        openapi::convert(source, &settings)
    });
}

/// Command lines of curl.
pub(crate) fn curl(data: &[u8]) {
    converted(data, "x.sh", |source, leniency| {
        curl::convert(source, &curl::Settings { leniency, files: &files })
    });
}

fn files(name: &str) -> Result<String, String> {
    match name.strip_prefix(BINARY) {
        Some(_) => Ok(FILE_BASE64.to_owned()),
        None => Ok(FILE.to_owned()),
    }
}

fn converted(
    data: &[u8],
    name: &str,
    convert: impl Fn(Source<'_>, Leniency) -> (Option<Conversion>, Vec<Diagnostic>),
) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    convert::Format::of(data);
    for leniency in [Leniency::Strict, Leniency::Lenient] {
        let (Some(converted), _) = convert(Source { name, text }, leniency) else {
            continue;
        };
        // Variables of the environment are texts, or addresses, or one of them is the address of the target.
        let addresses = [None, Some("")].into_iter().chain(variables(&converted.text).map(Some));
        let is_accepted = addresses.into_iter().any(|address| {
            let env = |name: &str| {
                let is_address = address.is_some_and(|address| [name, ""].contains(&address));
                Some(if is_address { "http://value.test" } else { "value" }.to_owned())
            };
            convert::problems(&converted, &files, &env).is_empty()
        });
        assert!(is_accepted, "the check refuses what was written:\n{}", converted.text);
    }
}

/// The names of the variables of the environment that a scenario reads.
fn variables(text: &str) -> impl Iterator<Item = &str> {
    text.split("env('").skip(1).filter_map(|rest| Some(rest.split_once('\'')?.0))
}
