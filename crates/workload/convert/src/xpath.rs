//! Paths of XPath 1.0 as selectors of CSS, where both name the same elements.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::template::literal;
use crate::writer::{Item, Map};

/// A step: its axis, the name of elements, and conditions in brackets.
static STEP: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"^(//?)([A-Za-z_][\w-]*|\*)((?:\[[^\]]*\])*)"#;
    Regex::new(pattern).expect("a pattern that is always the same")
});
/// A condition: an attribute that is there, or has a text.
static CONDITION: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"^\s*@([A-Za-z_][\w-]*)\s*(?:=\s*(?:'([^'"\\]*)'|"([^'"\\]*)"))?\s*$"#;
    Regex::new(pattern).expect("a pattern that is always the same")
});

/// Elements of a page, and what of them is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// A selector of CSS; names are in small letters, as in pages of HTML.
    pub(crate) selector: String,
    /// The attribute whose value is meant; `None`: the text of the element.
    pub(crate) attribute: Option<String>,
}

impl Found {
    /// The source of a variable.
    pub(crate) fn source(self, at: Range<usize>) -> Map {
        let mut source = Map::single(at, "css", Item::Text(literal(&self.selector)));
        if let Some(attribute) = self.attribute {
            source.put("attr", Item::Text(attribute));
        }
        source
    }
}

/// What a path finds; `None`: a selector cannot say it.
pub(crate) fn found(path: &str) -> Option<Found> {
    let mut rest = path.trim();
    let mut selector = String::new();
    while rest != "/text()"
        && let Some(step) = STEP.captures(rest)
    {
        if !selector.is_empty() {
            selector.push_str(if &step[1] == "//" { " " } else { " > " });
        }
        selector.push_str(&step[2].to_lowercase());
        for condition in step[3].split(['[', ']']).filter(|part| !part.is_empty()) {
            for part in condition.split(" and ") {
                let part = CONDITION.captures(part)?;
                let value = part.get(2).or_else(|| part.get(3));
                let value = value.map_or(String::new(), |v| format!("=\"{}\"", v.as_str()));
                selector.push_str(&format!("[{}{value}]", part[1].to_lowercase()));
            }
        }
        rest = &rest[step[0].len()..];
    }
    if selector.is_empty() {
        return None;
    }
    if matches!(rest, "" | "/text()") {
        return Some(Found { selector, attribute: None });
    }
    let name = rest.strip_prefix("/@")?.to_lowercase();
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let is_sound = !name.is_empty() && name.chars().all(is_name);
    is_sound.then_some(Found { selector, attribute: Some(name) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_a_selector_can_say_become_one() {
        for (path, selector, attribute) in [
            ("//title/text()", "title", None),
            ("/tokenReply/tokenInfo/token/text()", "tokenreply > tokeninfo > token", None),
            (
                "//form[@name='auth']/input[@name=\"key\"]/@value",
                "form[name=\"auth\"] > input[name=\"key\"]",
                Some("value"),
            ),
            ("//div//a[@class='x' and @href]/@href", "div a[class=\"x\"][href]", Some("href")),
            ("//ul/*", "ul > *", None),
        ] {
            let attribute = attribute.map(str::to_owned);
            let expected = Found { selector: selector.to_owned(), attribute };
            assert_eq!(found(path), Some(expected), "{path}");
        }
    }

    #[test]
    fn other_paths_become_none() {
        for path in [
            "",
            "/",
            "count(//a)",
            "//a[1]",
            "//a[contains(@href,'x')]",
            "//a/following-sibling::b",
            "//ns:a",
            "//a/@",
            "//a[@b='it''s']",
            "//a | //b",
            "//a[",
        ] {
            assert_eq!(found(path), None, "{path}");
        }
    }
}
