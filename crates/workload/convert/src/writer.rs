//! A scenario's text while it is made: YAML in block style, with comments, and for each line the
//! place of the original that it is made of.

use std::ops::Range;

use serde_json::Value;

/// A value that is to be written.
#[derive(Debug, Clone)]
pub(super) enum Item {
    /// Text that may hold `${…}`.
    Text(String),
    /// A value that is written as it is: a number, a duration, `null`.
    Bare(String),
    /// Nothing behind the colon.
    Nothing,
    Map(Map),
    List(Vec<Map>),
    /// A list of lists; one of a single item is the item.
    Branches(Vec<Vec<Map>>),
    /// A list of values that are written as they are.
    Lines(Vec<Line>),
}

/// An item of a list that is one value.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    /// Lines of a comment above it.
    pub(super) comments: Vec<String>,
    pub(super) text: String,
}

impl Line {
    pub(super) fn new(text: impl Into<String>) -> Line {
        Line { comments: Vec::new(), text: text.into() }
    }

    pub(super) fn comment(mut self, text: impl Into<String>) -> Line {
        self.comments.push(text.into());
        self
    }
}

/// A mapping that is to be written: a step, a phase, a group of keys.
#[derive(Debug, Clone, Default)]
pub(super) struct Map {
    /// Bytes of the original that it comes from.
    pub(super) at: Range<usize>,
    /// Lines of a comment above it.
    pub(super) comments: Vec<String>,
    pub(super) entries: Vec<(String, Item)>,
}

impl Map {
    pub(super) fn new(at: Range<usize>) -> Map {
        Map { at, ..Map::default() }
    }

    /// A mapping of one text: most steps.
    pub(super) fn single(at: Range<usize>, key: &str, value: Item) -> Map {
        Map::new(at).with(key, value)
    }

    pub(super) fn with(mut self, key: &str, value: Item) -> Map {
        self.put(key, value);
        self
    }

    pub(super) fn comment(mut self, text: impl Into<String>) -> Map {
        self.comments.push(text.into());
        self
    }

    pub(super) fn put(&mut self, key: &str, value: Item) {
        self.entries.push((key.to_owned(), value));
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Item> {
        self.entries.iter_mut().find(|(found, _)| found == key).map(|(_, value)| value)
    }

    /// The mapping under `key`, made where there is none.
    pub(super) fn sub(&mut self, key: &str) -> &mut Map {
        let found = self.entries.iter().position(|(k, v)| k == key && matches!(v, Item::Map(_)));
        let index = found.unwrap_or_else(|| {
            self.put(key, Item::Map(Map::new(self.at.clone())));
            self.entries.len() - 1
        });
        match &mut self.entries[index].1 {
            Item::Map(map) => map,
            _ => unreachable!("it was found or made as a mapping"),
        }
    }
}

/// The text so far.
#[derive(Debug, Default)]
pub(super) struct Writer {
    pub(super) text: String,
    pub(super) lines: Vec<Range<usize>>,
}

impl Writer {
    fn line(&mut self, at: &Range<usize>, indent: usize, text: &str) {
        self.text.extend(std::iter::repeat_n(' ', indent));
        self.text.push_str(text);
        self.text.push('\n');
        self.lines.push(at.clone());
    }

    pub(super) fn comment(&mut self, at: &Range<usize>, indent: usize, text: &str) {
        for line in text.lines() {
            // A control character would end the comment for a YAML reader.
            let line: String = line.chars().filter(|c| !c.is_control()).collect();
            self.line(at, indent, format!("# {line}").trim_end());
        }
    }

    /// The mapping's entries, each on a line of its own.
    pub(super) fn map(&mut self, map: &Map, indent: usize) {
        for comment in &map.comments {
            self.comment(&map.at, indent, comment);
        }
        self.entries(map, indent, 0);
    }

    /// `dash`: how many of the first line's blanks are a list item's sign instead.
    fn entries(&mut self, map: &Map, indent: usize, dash: usize) {
        for (index, (key, value)) in map.entries.iter().enumerate() {
            let sign = if index == 0 && dash > 0 { "- " } else { "" };
            let start = indent - sign.len();
            let key = format!("{sign}{}", scalar(key));
            match value {
                Item::Text(text) => self.line(&map.at, start, &format!("{key}: {}", scalar(text))),
                Item::Bare(text) => self.line(&map.at, start, &format!("{key}: {text}")),
                Item::Nothing => self.line(&map.at, start, &format!("{key}:")),
                Item::Map(inner) if inner.entries.is_empty() => {
                    self.line(&map.at, start, &format!("{key}: {{}}"));
                }
                Item::Map(inner) => {
                    self.line(&map.at, start, &format!("{key}:"));
                    self.map(inner, indent + 2);
                }
                Item::Lines(lines) => {
                    self.line(&map.at, start, &format!("{key}:"));
                    for line in lines {
                        for comment in &line.comments {
                            self.comment(&map.at, indent + 2, comment);
                        }
                        self.line(&map.at, indent + 2, &format!("- {}", line.text));
                    }
                }
                Item::Branches(branches) => {
                    self.line(&map.at, start, &format!("{key}:"));
                    for branch in branches {
                        self.branch(branch, indent + 2);
                    }
                }
                Item::List(items) if items.is_empty() => {
                    self.line(&map.at, start, &format!("{key}: []"));
                }
                Item::List(items) => {
                    self.line(&map.at, start, &format!("{key}:"));
                    for item in items {
                        self.item(item, indent + 2);
                    }
                }
            }
        }
    }

    /// An item of a list, behind its dash.
    fn item(&mut self, item: &Map, indent: usize) {
        for comment in &item.comments {
            self.comment(&item.at, indent, comment);
        }
        self.entries(item, indent + 2, 2);
    }

    fn branch(&mut self, branch: &[Map], indent: usize) {
        match branch {
            [] => {}
            [only] => self.item(only, indent),
            [first, ..] => {
                self.line(&first.at, indent, "-");
                for item in branch {
                    self.item(item, indent + 2);
                }
            }
        }
    }
}

/// A scalar as YAML: plain where that is safe, else in double quotes.
pub(super) fn scalar(text: &str) -> String {
    let first = |c: char| c.is_ascii_alphabetic() || "/_".contains(c);
    let rest = |c: char| c.is_ascii_alphanumeric() || "/_-.=?&+*()<>!%,;'~$ ".contains(c);
    let word = text.to_ascii_lowercase();
    let is_word = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let plain = text.starts_with(first)
        && text.chars().all(rest)
        && !text.ends_with(' ')
        && !is_word.contains(&word.as_str());
    if plain {
        return text.to_owned();
    }
    in_quotes(text)
}

/// Text in double quotes, as YAML and JSON read it alike.
fn in_quotes(text: &str) -> String {
    let json = Value::from(text).to_string();
    // JSON may hold these bare; YAML takes them for line breaks, or not at all.
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\u{7f}'..='\u{9f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

/// A value of JSON on one line. Its texts are templates, its keys are not.
pub(super) fn flow(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => in_quotes(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(pairs) => {
            let pair =
                |(key, value): (&String, &Value)| format!("{}: {}", in_quotes(key), flow(value));
            let pairs: Vec<String> = pairs.iter().map(pair).collect();
            match pairs.is_empty() {
                true => "{}".to_owned(),
                false => format!("{{ {} }}", pairs.join(", ")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_plain_where_that_is_safe() {
        for plain in ["/a?x=1&y=2", "match_1 == null", "Mozilla/5.0 (X11; Linux)"] {
            assert_eq!(scalar(plain), plain);
        }
        for quoted in ["", "true", "No", "1s", "a: b", "a #b", " a", "a ", "- a", "${x}", "é"] {
            assert!(scalar(quoted).starts_with('"'), "{quoted}");
        }
        assert_eq!(scalar("a\"\n\u{85}"), "\"a\\\"\\n\\u0085\"");
    }

    #[test]
    fn values_of_json_stand_on_one_line() {
        let value = serde_json::json!({"a": [1, null, "x: y"], "b": {}, "é": true});
        assert_eq!(flow(&value), "{ \"a\": [1, null, \"x: y\"], \"b\": {}, \"é\": true }");
    }
}
