//! JSONPath (RFC 9535): as far as it names one place it is what a JSON pointer can do; else it makes a list.

mod work;

use plan::expr::JsonSearch;
use serde_json_path::JsonPath;

/// Longest path, in bytes.
const PATH_BYTES_MAX: usize = 1_000;
/// Deepest nesting of brackets and parentheses: a parser of JSONPath recurses for each, and reads what is
/// inside of each twice.
const LEVELS_MAX: usize = 10;
/// Most filters (`?`): each looks at all items again that those around it look at.
const FILTERS_MAX: usize = 4;
/// Largest regular expression in a path, in bytes as it is compiled: for each value that it is compared with.
const PATTERN_BYTES_MAX: usize = 32 << 10;

/// Why a path is no pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathError {
    /// The error's message.
    pub message: String,
    /// Advice on what to write instead.
    pub hint: String,
}

/// True if the text is meant as JSONPath: `$` alone, or followed by a segment.
pub fn is_path(text: &str) -> bool {
    text.strip_prefix('$').is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The limit that a path exceeds, in words; `None`: it may be parsed. Whether it is a JSONPath at
/// all is not checked.
fn excess(path: &str) -> Option<String> {
    if path.len() > PATH_BYTES_MAX {
        return Some(format!("is longer than {PATH_BYTES_MAX} bytes"));
    }
    let mut level = 0_usize;
    let mut filters = 0;
    let mut quote = None;
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if quote.is_some() => drop(bytes.next()),
            _ if quote == Some(byte) => quote = None,
            _ if quote.is_some() => {}
            b'\'' | b'"' => quote = Some(byte),
            b'[' | b'(' => level += 1,
            b']' | b')' => level = level.saturating_sub(1),
            b'?' => filters += 1,
            _ => {}
        }
        if level > LEVELS_MAX {
            return Some(format!("is nested deeper than {LEVELS_MAX} levels"));
        }
    }
    (filters > FILTERS_MAX).then(|| format!("has more than {FILTERS_MAX} filters (`?`)"))
}

/// The search of a text that may name several places; `None`: it names one, or is no JSONPath. The error says what is
/// wrong with it.
pub fn places(text: &str) -> Result<Option<JsonSearch>, String> {
    // One place is not a list of one, and a pointer cannot count from a list's end.
    if !is_path(text) || matches!(walk(text), Ok(_) | Err(FROM_END)) {
        return Ok(None);
    }
    if let Some(excess) = excess(text) {
        return Err(excess);
    }
    // Each one multiplies the places that are looked at.
    if text.matches("..").count() > 1 && JsonPath::parse(text).is_ok() {
        return Err("searches all levels (`..`) more than once".to_owned());
    }
    let path = JsonPath::parse(text).map_err(|error| format!("is not JSONPath: {error}"))?;
    let read = work::read(text);
    // One of the target's would be compiled for each value, whatever it is.
    if read.computes_pattern {
        return Err("has a pattern of `match` or `search` that is not in quotes".to_owned());
    }
    if read.patterns.iter().any(|quoted| is_too_large(quoted)) {
        return Err("has too large a pattern of `match` or `search`".to_owned());
    }
    Ok(Some(JsonSearch { path, work: read.work.0 }))
}

/// Whether a regular expression in its quotes is too large to be compiled for each value.
fn is_too_large(quoted: &str) -> bool {
    let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    // The escapes are those of JSON, but for that of the single quote.
    let escaped = match quoted.starts_with('\'') {
        true => inner.replace("\\'", "'").replace('"', "\\\""),
        false => inner.to_owned(),
    };
    let pattern = serde_json::from_str::<String>(&format!("\"{escaped}\""));
    let pattern = pattern.unwrap_or_else(|_| inner.to_owned());
    let built = regex::RegexBuilder::new(&pattern).size_limit(PATTERN_BYTES_MAX).build();
    matches!(built, Err(regex::Error::CompiledTooBig(_)))
}

/// The tokens of the pointer that leads to the same place.
pub fn tokens(path: &str) -> Result<Vec<String>, PathError> {
    walk(path).map_err(|what| PathError {
        message: format!("`{path}` {what}"),
        hint: "name one place, like $.items[0].id or /items/0/id".to_owned(),
    })
}

/// The tokens of a path. The error says what the path is instead.
fn walk(path: &str) -> Result<Vec<String>, &'static str> {
    let mut rest = path.strip_prefix('$').ok_or("is not JSONPath")?;
    let mut tokens = Vec::new();
    while !rest.is_empty() {
        let (token, after) = segment(rest)?;
        tokens.push(token);
        rest = after;
    }
    Ok(tokens)
}

/// The first segment, and what follows it. The error says what it is instead.
fn segment(text: &str) -> Result<(String, &str), &'static str> {
    if text.starts_with("..") {
        return Err("searches all levels (`..`), and a JSON pointer names one place");
    }
    if let Some(after) = text.strip_prefix('.') {
        let end = after.find(['.', '[']).unwrap_or(after.len());
        let (name, after) = after.split_at(end);
        return match name {
            "" => Err("has a dot without a name behind it"),
            "*" => Err(WILDCARD),
            name if name.contains(['(', ')']) => {
                Err("calls a function, which a JSON pointer cannot")
            }
            name if name.contains(['\'', '"', ']', '*', '?', ' ']) => {
                Err("has a name that must be in quotes: ['…']")
            }
            name => Ok((name.to_owned(), after)),
        };
    }
    let inner = text.strip_prefix('[').ok_or("has a dot or a bracket missing")?;
    let inner = inner.trim_start();
    if let Some(quote) = inner.chars().next().filter(|c| matches!(c, '\'' | '"')) {
        return quoted(&inner[1..], quote);
    }
    let end = inner.find(']').ok_or("has a bracket that is not closed")?;
    let index = inner[..end].trim_end();
    let after = &inner[end + 1..];
    match index {
        "*" => Err(WILDCARD),
        index if index.starts_with('?') => {
            Err("has a filter (`?`), and a JSON pointer names one place")
        }
        index if index.contains(':') => {
            Err("has a slice (`:`), and a JSON pointer names one place")
        }
        index if index.contains(',') => Err("names several places, and a JSON pointer names one"),
        index if index.starts_with('-') => Err(FROM_END),
        index if !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit()) => {
            let plain = index.trim_start_matches('0');
            let plain = if plain.is_empty() { "0" } else { plain };
            Ok((plain.to_owned(), after))
        }
        _ => Err("has neither a number nor a name in quotes in its brackets"),
    }
}

const WILDCARD: &str = "has a wildcard (`*`), and a JSON pointer names one place";
const FROM_END: &str = "counts from the end of a list, which a JSON pointer cannot";

/// A name up to its closing quote and bracket.
fn quoted(text: &str, quote: char) -> Result<(String, &str), &'static str> {
    let mut name = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            match chars.next() {
                Some((_, escaped @ ('\\' | '\'' | '"' | '/'))) => name.push(escaped),
                _ => {
                    return Err(
                        "has an escape that is not known; only quotes and backslashes need one",
                    );
                }
            }
        } else if c == quote {
            let after = text[at + 1..].trim_start();
            return match after.strip_prefix(']') {
                Some(after) => Ok((name, after)),
                None if after.starts_with(',') => {
                    Err("names several places, and a JSON pointer names one")
                }
                None => Err("has a bracket that is not closed"),
            };
        } else {
            name.push(c);
        }
    }
    Err("has a quote that is not closed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_paths_become_tokens() {
        for (path, expected) in [
            ("$", ""),
            ("$.items[0].id", "items|0|id"),
            ("$['items'][ 12 ][\"a b\"]", "items|12|a b"),
            ("$[0]", "0"),
            ("$['it\\'s'].x-y", "it's|x-y"),
            ("$['a/b']['~']", "a/b|~"),
            ("$['a.b[0]']", "a.b[0]"),
            ("$.größe", "größe"),
            ("$.items.0", "items|0"),
        ] {
            assert!(is_path(path), "{path}");
            assert_eq!(tokens(path).unwrap().join("|"), expected, "{path}");
        }
    }

    #[test]
    fn paths_to_several_places_are_refused() {
        for (path, expected) in [
            ("$..id", "searches all levels"),
            ("$.items[*].id", "wildcard"),
            ("$.*", "wildcard"),
            ("$.items[?(@.id == 1)]", "filter"),
            ("$.items[0:2]", "slice"),
            ("$.items[0,1]", "several places"),
            ("$['a','b']", "several places"),
            ("$.items[-1]", "from the end"),
            ("$.items.length()", "function"),
            ("$.items[0", "not closed"),
            ("$['a", "quote that is not closed"),
            ("$['a'", "bracket that is not closed"),
            ("$.", "without a name"),
            ("$.a b", "must be in quotes"),
            ("$[]", "neither a number"),
            ("$[a]", "neither a number"),
            ("$['\\x']", "escape"),
            ("$.a[0]b", "missing"),
        ] {
            let refused = tokens(path).unwrap_err();
            assert!(refused.message.contains(expected), "{path}: {refused:?}");
        }
    }

    #[test]
    fn what_a_parser_would_take_too_long_for_is_refused() {
        let deep = |open: &str, levels: usize| format!("$[?{}@.a", open.repeat(levels));
        for (path, expected) in [
            ("$.a[?@.b == 1].c[?(@.d && (@.e || @.f))]".to_owned(), None),
            (format!("$['{}']", "[(?".repeat(100)), None),
            (format!("$[\"\\\"{}\"]", "[".repeat(100)), None),
            (deep("(", 9), None),
            (deep("(", 10), Some("is nested deeper than 10 levels")),
            (deep("@[?", 10), Some("is nested deeper than 10 levels")),
            ("$[?@.a]".repeat(5), Some("has more than 4 filters (`?`)")),
            (format!("$.{}", "a".repeat(998)), None),
            (format!("$.{}", "a".repeat(999)), Some("is longer than 1000 bytes")),
        ] {
            assert_eq!(excess(&path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn patterns_that_are_compiled_for_each_value_are_short_and_known() {
        for (path, expected) in [
            ("$[?match(@.a, 'x.*')]".to_owned(), None),
            ("$[?search(@.a, \"it's [a-z]+\\\\.\")]".to_owned(), None),
            ("$[?search(@.a, 'it\\'s \"x\"')]".to_owned(), None),
            (
                "$[?match(@.a, $.b)]".to_owned(),
                Some("has a pattern of `match` or `search` that is not in quotes"),
            ),
            (
                "$[?search(@.a, '\\\\w{1000}')]".to_owned(),
                Some("has too large a pattern of `match` or `search`"),
            ),
        ] {
            assert_eq!(places(&path).err().as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn names_with_a_dollar_sign_are_no_paths() {
        for text in ["$ref", "items", "/$/a", ""] {
            assert!(!is_path(text), "{text}");
        }
    }
}
