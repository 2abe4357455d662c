//! Formats of other tools' files, recognised by what they contain.

use crate::{bruno, curl, json};

/// Beginning of a file in which the root of an XML document, or a line of YAML, is looked for.
const BEGINNING_BYTES: usize = 64 << 10;
/// Lines of YAML in which its keys are looked for.
const LINES_MAX: usize = 1000;
/// The beginning of the type of Insomnia's collections in YAML.
const INSOMNIA: &str = "collection.insomnia.rest/";

/// A format of files that become scenarios.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Tsung's XML, and every other.
    Tsung,
    /// A test plan of JMeter.
    JMeter,
    /// A recording of a browser.
    Har,
    /// A collection of Postman.
    Postman,
    /// An environment of Postman, which is no scenario.
    PostmanEnvironment,
    /// Requests of Bruno.
    Bruno,
    /// An export of Insomnia.
    Insomnia,
    /// A description of an API, OpenAPI 3.
    OpenApi,
    /// Its predecessor, Swagger 2.
    Swagger,
    /// Command lines of curl.
    Curl,
}

impl Format {
    /// The format of a file's bytes; `None`: none of them.
    pub fn of(bytes: &[u8]) -> Option<Format> {
        let beginning = &bytes[..bytes.len().min(BEGINNING_BYTES)];
        if crate::is_xml(bytes) {
            let root = b"<jmeterTestPlan";
            let is_jmeter = beginning.windows(root.len()).any(|window| window == root);
            return Some(if is_jmeter { Format::JMeter } else { Format::Tsung });
        }
        let text = std::str::from_utf8(bytes).ok()?;
        if text.trim_start_matches('\u{feff}').trim_start().starts_with('{') {
            return Some(of_json(text));
        }
        if bruno::is_bruno(text) {
            return Some(Format::Bruno);
        }
        let lines = || text.trim_start_matches('\u{feff}').lines();
        let has_key = |key: &str| {
            let mut lines = lines().take(LINES_MAX);
            lines.any(|line| {
                // Keys may be quoted.
                let line = line.trim_start_matches(['"', '\'']);
                let rest = line.strip_prefix(key).map(|rest| rest.trim_start_matches(['"', '\'']));
                rest.is_some_and(|rest| rest.starts_with(':'))
            })
        };
        let is_collection = |line: &str| {
            let kind = line.strip_prefix("type:").map(|kind| kind.trim().trim_matches(['"', '\'']));
            kind.is_some_and(|kind| kind.starts_with(INSOMNIA))
        };
        if lines().take(LINES_MAX).any(is_collection) {
            return Some(Format::Insomnia);
        }
        for (key, format) in [("openapi", Format::OpenApi), ("swagger", Format::Swagger)] {
            if has_key(key) && has_key("info") {
                return Some(format);
            }
        }
        curl::is_curl(text).then_some(Format::Curl)
    }
}

/// The format of an object in JSON; a recording where nothing else fits, whose reader then says what is missing.
fn of_json(text: &str) -> Format {
    let keys = json::keys(text);
    let has = |wanted: &str| keys.iter().any(|key| key == wanted);
    if has("log") {
        Format::Har
    } else if has("__export_format") || has("resources") {
        Format::Insomnia
    } else if has("openapi") {
        Format::OpenApi
    } else if has("swagger") {
        Format::Swagger
    } else if has("item") || has("collection") {
        Format::Postman
    } else if has("_postman_variable_scope") || has("values") {
        Format::PostmanEnvironment
    } else {
        Format::Har
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognised_by_content() {
        for (text, expected) in [
            ("<?xml version='1.0'?><jmeterTestPlan version='1.2'/>", Some(Format::JMeter)),
            ("<?xml version='1.0'?><tsung/>", Some(Format::Tsung)),
            ("\u{feff}{\"log\": {}}", Some(Format::Har)),
            ("{\"info\": {}, \"item\": []}", Some(Format::Postman)),
            ("{\"openapi\": \"3.0.0\"}", Some(Format::OpenApi)),
            ("{\"id\": 1, \"values\": []}", Some(Format::PostmanEnvironment)),
            ("{}", Some(Format::Har)),
            ("# x\nopenapi: 3.1.0\ninfo:\n  title: a\n", Some(Format::OpenApi)),
            ("{\"_type\": \"export\", \"__export_format\": 4}", Some(Format::Insomnia)),
            ("type: collection.insomnia.rest/5.0\nname: x\n", Some(Format::Insomnia)),
            ("\nmeta {\n  name: x\n}\n", Some(Format::Bruno)),
            ("type: other\nname: x\n", None),
            ("swagger: \"2.0\"\ninfo: {}\n", Some(Format::Swagger)),
            ("'openapi': '3.1.0'\n\"info\": {}\n", Some(Format::OpenApi)),
            ("# x\n\n$ TOKEN=1 curl -s http://a\n", Some(Format::Curl)),
            ("target: http://a\n", None),
            ("", None),
        ] {
            assert_eq!(Format::of(text.as_bytes()), expected, "{text}");
        }
    }
}
