//! JSON text (RFC 8259) to the tree of scenarios, which remembers where everything stands.
//!
//! Half of a surrogate pair, as browsers write it into recordings, becomes U+FFFD. Of a key that is given twice, readers
//! find the first value.

use std::ops::Range;

use scenario::document::node::{Entry, Node, NodeKind, Place, Scalar};
use serde_json::Value;

/// Deepest nesting of lists and objects; readers walk by recursion.
const DEPTH_MAX: usize = 64;
/// The byte order mark.
const MARK: char = '\u{feff}';
/// Most values of a document, those of skipped keys aside.
pub(crate) const VALUES_MAX: usize = 3_000_000;

/// Why a text is not JSON, or too much of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct JsonError {
    /// Byte of the text.
    pub(crate) at: usize,
    message: &'static str,
}

/// The text as a tree. Values of the keys in `skipped` are read and not kept.
pub(crate) fn parse(text: &str, skipped: &[&str]) -> Result<Node, JsonError> {
    let mut parser = Parser::new(text, skipped);
    let node = parser.value(0, true)?;
    parser.blanks();
    match parser.at == text.len() {
        true => Ok(node),
        false => Err(parser.error("something follows the end of the value")),
    }
}

/// The keys of the object that a text is, up to where it is no JSON any more; none if it is something else.
pub(crate) fn keys(text: &str) -> Vec<String> {
    let mut parser = Parser::new(text, &[]);
    let mut keys = Vec::new();
    parser.blanks();
    if !parser.take('{') {
        return keys;
    }
    loop {
        parser.blanks();
        let Ok(key) = parser.string() else {
            return keys;
        };
        keys.push(key);
        parser.blanks();
        if !parser.take(':') || parser.value(1, false).is_err() {
            return keys;
        }
        parser.blanks();
        if !parser.take(',') {
            return keys;
        }
    }
}

/// A tree as a value of JSON. What has no quotes and is no number or word of JSON is text.
pub(crate) fn value_of(node: &Node) -> Value {
    match &node.kind {
        NodeKind::Scalar(scalar) if scalar.quoted => Value::from(scalar.text.as_str()),
        NodeKind::Scalar(_) if node.is_null() => Value::Null,
        NodeKind::Scalar(scalar) => serde_json::from_str(&scalar.text)
            .ok()
            .filter(|value: &Value| value.is_number() || value.is_boolean())
            .unwrap_or_else(|| Value::from(scalar.text.as_str())),
        NodeKind::Sequence(items) => items.iter().map(value_of).collect(),
        NodeKind::Mapping(entries) => {
            let pairs = entries.iter().map(|entry| (entry.key.clone(), value_of(&entry.value)));
            Value::Object(pairs.collect())
        }
    }
}

/// The node that a path of keys leads to: `request/url`.
pub(crate) fn find<'n>(node: &'n Node, path: &str) -> Option<&'n Node> {
    path.split('/').try_fold(node, |node, key| node.get(key))
}

/// The text at a path; empty if there is none.
pub(crate) fn text<'n>(node: &'n Node, path: &str) -> &'n str {
    find(node, path).filter(|node| !node.is_null()).and_then(Node::text).unwrap_or_default()
}

/// The number at a path.
pub(crate) fn number(node: &Node, path: &str) -> Option<f64> {
    let scalar = find(node, path)?.scalar().filter(|scalar| !scalar.quoted)?;
    scalar.text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The items of the list at a path; none if there is no list.
pub(crate) fn items<'n>(node: &'n Node, path: &str) -> &'n [Node] {
    find(node, path).and_then(Node::sequence).unwrap_or_default()
}

/// Where the value at a path stands, else the node around it.
pub(crate) fn place(node: &Node, path: &str) -> Range<usize> {
    find(node, path).unwrap_or(node).place.span.clone()
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    values_count: usize,
    skipped: &'t [&'t str],
}

impl<'t> Parser<'t> {
    fn new(text: &'t str, skipped: &'t [&'t str]) -> Parser<'t> {
        // Editors and some browsers put a byte order mark before it.
        let at = if text.starts_with(MARK) { MARK.len_utf8() } else { 0 };
        Parser { text, at, values_count: 0, skipped }
    }

    fn error(&self, message: &'static str) -> JsonError {
        JsonError { at: self.at, message }
    }

    fn blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn take(&mut self, sign: char) -> bool {
        let found = self.text[self.at..].starts_with(sign);
        self.at += usize::from(found) * sign.len_utf8();
        found
    }

    fn value(&mut self, depth: usize, is_kept: bool) -> Result<Node, JsonError> {
        self.blanks();
        self.values_count += usize::from(is_kept);
        if self.values_count > VALUES_MAX {
            return Err(self.error("more than 3,000,000 values"));
        }
        if depth > DEPTH_MAX {
            return Err(self.error("nested too deeply (64 levels at most)"));
        }
        let start = self.at;
        let kind = match self.text[self.at..].chars().next() {
            Some('{') => self.object(depth, is_kept)?,
            Some('[') => self.array(depth, is_kept)?,
            Some('"') => {
                let text = self.string()?;
                let text = if is_kept { text } else { String::new() };
                NodeKind::Scalar(Scalar { text, quoted: true, verbatim: None })
            }
            Some(_) => self.word()?,
            None => return Err(self.error("the text ends too early")),
        };
        Ok(Node { place: Place::at(start..self.at), kind })
    }

    fn object(&mut self, depth: usize, is_kept: bool) -> Result<NodeKind, JsonError> {
        self.at += 1;
        let mut entries = Vec::new();
        self.blanks();
        if self.take('}') {
            return Ok(NodeKind::Mapping(entries));
        }
        loop {
            self.blanks();
            let start = self.at;
            let key = self.string()?;
            let key_place = Place::at(start..self.at);
            self.blanks();
            if !self.take(':') {
                return Err(self.error("a colon is missing behind a key"));
            }
            let is_kept = is_kept && !self.skipped.contains(&key.as_str());
            let value = self.value(depth + 1, is_kept)?;
            if is_kept {
                entries.push(Entry { key, key_place, value });
            }
            self.blanks();
            if self.take('}') {
                return Ok(NodeKind::Mapping(entries));
            }
            if !self.take(',') {
                return Err(self.error("a comma or } is missing"));
            }
        }
    }

    fn array(&mut self, depth: usize, is_kept: bool) -> Result<NodeKind, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        self.blanks();
        if self.take(']') {
            return Ok(NodeKind::Sequence(items));
        }
        loop {
            let item = self.value(depth + 1, is_kept)?;
            if is_kept {
                items.push(item);
            }
            self.blanks();
            if self.take(']') {
                return Ok(NodeKind::Sequence(items));
            }
            if !self.take(',') {
                return Err(self.error("a comma or ] is missing"));
            }
        }
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<NodeKind, JsonError> {
        let rest = &self.text[self.at..];
        let is_part = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        let word = &rest[..rest.len() - rest.trim_start_matches(is_part).len()];
        let is_number = word.starts_with(|c: char| c.is_ascii_digit() || c == '-')
            && word.parse::<f64>().is_ok();
        if !is_number && !["true", "false", "null"].contains(&word) {
            return Err(self.error("a value is missing"));
        }
        self.at += word.len();
        Ok(NodeKind::Scalar(Scalar { text: word.to_owned(), quoted: false, verbatim: None }))
    }

    fn string(&mut self) -> Result<String, JsonError> {
        if !self.take('"') {
            return Err(self.error("text in quotes is missing"));
        }
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(end) = rest.find(['"', '\\']) else {
                return Err(self.error("the text ends inside of quotes"));
            };
            out.push_str(&rest[..end]);
            self.at += end + 1;
            if rest.as_bytes()[end] == b'"' {
                return Ok(out);
            }
            out.push(self.escaped()?);
        }
    }

    /// The character behind a backslash.
    fn escaped(&mut self) -> Result<char, JsonError> {
        let Some(sign) = self.text[self.at..].chars().next() else {
            return Err(self.error("the text ends inside of quotes"));
        };
        self.at += sign.len_utf8();
        Ok(match sign {
            '"' | '\\' | '/' => sign,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let first = self.unit()?;
                if (0xd800..0xdc00).contains(&first) && self.text[self.at..].starts_with("\\u") {
                    let before = self.at;
                    self.at += 2;
                    let second = self.unit()?;
                    if (0xdc00..0xe000).contains(&second) {
                        let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                        return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                    }
                    self.at = before;
                }
                char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return Err(self.error("this escape is none of JSON's")),
        })
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Result<u32, JsonError> {
        let digits = self.text.get(self.at..self.at + 4);
        let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let Some(unit) = unit else {
            return Err(self.error("\\u has four hexadecimal digits"));
        };
        self.at += 4;
        Ok(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_another_parser() {
        for json in [
            r#"{"a": [1, -2.5e3, true, null, "x\n\u00e9\ud83d\ude00\/"], "b": {}, "c": []}"#,
            " [ ] ",
            "\"\\\"\"",
            "12345678901234567890123",
        ] {
            let expected: Value = serde_json::from_str(json).unwrap();
            let found = value_of(&parse(json, &[]).unwrap());
            if json.contains("123456") {
                assert_eq!(found.to_string(), expected.to_string());
            } else {
                assert_eq!(found, expected);
            }
        }
        for bad in
            ["", "{", "[1,]", "{\"a\" 1}", "tru", "\"\\x\"", "[1] 2", "01x", "\"\\u12\"", "{,}"]
        {
            assert!(parse(bad, &[]).is_err(), "{bad}");
        }
        assert_eq!(value_of(&parse(r#""\ud83d""#, &[]).unwrap()), "\u{fffd}");
    }

    #[test]
    fn places_are_bytes_of_the_text() {
        let json = "{\"é\": {\"b\": \"c\"}}";
        let node = parse(json, &[]).unwrap();
        let found = find(&node, "é/b").unwrap();
        assert_eq!(&json[found.place.span.clone()], "\"c\"");
        assert_eq!(text(&node, "é/b"), "c");
        assert_eq!(text(&node, "é/x"), "");
    }

    #[test]
    fn skipped_keys_are_read_and_not_kept() {
        let node = parse("{\"a\": {\"x\": [1, 2]}, \"b\": 3}", &["a"]).unwrap();
        assert!(node.get("a").is_none());
        assert_eq!(number(&node, "b"), Some(3.0));
        assert_eq!(keys("{\"a\": {\"x\": [1, 2]}, \"b\": 3"), ["a", "b"]);
        assert_eq!(keys("\u{feff}{\"a\": 1}"), ["a"]);
        assert!(parse("\u{feff}[]", &[]).is_ok());
        assert!(keys("[1]").is_empty());
    }
}
