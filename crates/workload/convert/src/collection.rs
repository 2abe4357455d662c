//! The form of Postman's collections, which those of other tools get: one importer reads all of them.
//!
//! Each value has the place of what it was made of, so that what is said of it is shown there.

use std::ops::Range;

use scenario::document::node::{Entry, Node, NodeKind, Place, Scalar};

use crate::postman::{Part, parts};
use crate::template::url_value;

/// A text.
pub(crate) fn scalar(text: &str, at: &Range<usize>) -> Node {
    let scalar = Scalar { text: text.to_owned(), quoted: true, verbatim: None };
    Node { place: Place::at(at.clone()), kind: NodeKind::Scalar(scalar) }
}

/// Keys with values.
pub(crate) fn mapping(at: &Range<usize>, pairs: Vec<(&str, Node)>) -> Node {
    let entries = pairs.into_iter().map(|(key, value)| Entry {
        key: key.to_owned(),
        key_place: Place::at(at.clone()),
        value,
    });
    Node { place: Place::at(at.clone()), kind: NodeKind::Mapping(entries.collect()) }
}

/// A list.
pub(crate) fn list(at: &Range<usize>, items: Vec<Node>) -> Node {
    Node { place: Place::at(at.clone()), kind: NodeKind::Sequence(items) }
}

/// A header, a field of a form, or a variable.
pub(crate) fn pair(key: &str, value: &str, at: &Range<usize>) -> Node {
    mapping(at, vec![("key", scalar(key, at)), ("value", scalar(value, at))])
}

/// A script. `listen`: `prerequest`, or `test` for one that runs behind the response.
pub(crate) fn script(listen: &str, text: &str, at: &Range<usize>) -> Node {
    let script = mapping(at, vec![("exec", scalar(text, at))]);
    mapping(at, vec![("listen", scalar(listen, at)), ("script", script)])
}

/// A URL with further pairs of its query, which are not encoded yet.
pub(crate) fn with_query(url: &str, pairs: &[(String, String)]) -> String {
    let mut url = url.to_owned();
    for (name, value) in pairs {
        url.push(if url.contains('?') { '&' } else { '?' });
        url.push_str(&encoded(name));
        url.push('=');
        url.push_str(&encoded(value));
    }
    url
}

/// The text percent-encoded, its variables aside.
fn encoded(text: &str) -> String {
    let parts = parts(text).into_iter().map(|part| match part {
        Part::Text(text) => url_value(text),
        Part::Name(name) => format!("{{{{{name}}}}}"),
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_encoded_but_for_variables() {
        let pairs = [("a b", "{{x}}&"), ("c", "")];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(with_query("http://a/?b", &pairs), "http://a/?b&a%20b={{x}}%26&c=");
        assert_eq!(with_query("http://a/", &[]), "http://a/");
    }
}
