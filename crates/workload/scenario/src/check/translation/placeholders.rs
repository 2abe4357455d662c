//! Places for values as other tools write them.

use std::ops::Range;

/// A placeholder of another tool, and what it is here.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::check) struct Placeholder {
    /// Bytes of the text.
    pub(in crate::check) range: Range<usize>,
    pub(in crate::check) written: String,
    pub(in crate::check) meant: String,
}

/// Opening and closing signs: of Artillery, Gatling and Tsung.
const SIGNS: &[Signs] = &[
    Signs { open: "{{", close: "}}" },
    Signs { open: "#{", close: "}" },
    Signs { open: "%%_", close: "%%" },
];

struct Signs {
    open: &'static str,
    close: &'static str,
}

/// The first placeholder of another tool around a name that is known. Other texts between such signs are meant as
/// they stand.
pub(in crate::check) fn placeholder(
    text: &str,
    is_known: impl Fn(&str) -> bool,
) -> Option<Placeholder> {
    SIGNS.iter().find_map(|signs| {
        let mut starts = text.match_indices(signs.open).map(|(at, _)| at);
        starts.find_map(|start| {
            let inner = start + signs.open.len();
            let end = inner + text[inner..].find(signs.close)?;
            let name = text[inner..end].trim();
            let range = start..end + signs.close.len();
            is_known(name).then(|| Placeholder {
                written: text[range.clone()].to_owned(),
                range,
                meant: format!("${{{name}}}"),
            })
        })
    })
}

/// An expression whose variables stand in `${…}`, without these: `x == 1` for `${x} == 1`. `None` if there are none.
pub(in crate::check) fn without_braces(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (inner, after) = after.split_once('}')?;
        // Quotes around it made it a text.
        let quote = before.chars().next_back().filter(|c| matches!(c, '\'' | '"'));
        match quote.filter(|quote| after.starts_with(*quote)) {
            Some(_) => {
                out.push_str(&before[..before.len() - 1]);
                out.push_str(inner.trim());
                rest = &after[1..];
            }
            None => {
                out.push_str(before);
                out.push_str(inner.trim());
                rest = after;
            }
        }
    }
    out.push_str(rest);
    (out != text).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_names_are_placeholders() {
        for (text, expected) in [
            ("/items/{{ id }}", Some("${id}")),
            ("/items/#{id}", Some("${id}")),
            ("/items/%%_id%%", Some("${id}")),
            ("{{ a }} {{id}}", Some("${id}")),
            ("/items/{{ other }}", None),
            ("/items/{{ id", None),
            ("/items/${id}", None),
        ] {
            let found = placeholder(text, |name| name == "id");
            assert_eq!(found.map(|one| one.meant).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn variables_lose_their_braces() {
        for (text, expected) in [
            ("${x} == 1", Some("x == 1")),
            ("'${x}' == 'a'", Some("x == 'a'")),
            ("${x} > ${ y }", Some("x > y")),
            ("x == 1", None),
            ("${x", None),
        ] {
            assert_eq!(without_braces(text).as_deref(), expected, "{text}");
        }
    }
}
