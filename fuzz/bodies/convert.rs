//! Fuzzing the converters of other tools' files. What they write, `scenario` reads.

use convert::{Leniency, har, tsung};
use scenario::{Settings, Source};

/// HTTP Archives of browsers.
pub(crate) fn har(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let settings =
        har::Settings { statics: har::Statics::Group, third_parties: true, cached: true };
    let source = Source { name: "x.har", text };
    if let (Some(converted), _) = har::convert(source, &settings) {
        compile(&converted.text);
    }
}

/// Tsung's XML.
pub(crate) fn tsung(data: &[u8]) {
    convert::is_xml(data);
    let Ok(text) = convert::decode(data) else {
        return;
    };
    for leniency in [Leniency::Strict, Leniency::Lenient] {
        let settings = tsung::Settings { leniency, files: &|_| Ok("a;b\n".to_owned()) };
        let source = Source { name: "x.xml", text: &text };
        if let (Some(converted), _) = tsung::convert(source, &settings) {
            compile(&converted.text);
        }
    }
}

fn compile(text: &str) {
    let settings = Settings { overrides: &[], env: &|_| None, files: &|_| Ok("a;b\n".to_owned()) };
    scenario::compile(Source { name: "x", text }, &settings);
}
