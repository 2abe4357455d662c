//! How deep a JSON text from outside may be nested: the parser recurses once for each level.

/// Deepest nesting of arrays and objects that is read. It is that of `serde_json`, with which
/// expressions read JSON, so that what can be saved can be read there.
const DEPTH_MAX: usize = 127;

/// Bytes that are counted at once: fewer than a `u8` can count, and a multiple of all vectors.
const PIECE_BYTES: usize = 128;

/// A JSON text that is nested no deeper than [`DEPTH_MAX`], or a part of one. Nothing else reaches
/// the parser.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shallow<'a>(&'a [u8]);

impl<'a> Shallow<'a> {
    /// `None`: it is nested too deeply.
    pub(super) fn new(json: &'a [u8]) -> Option<Shallow<'a>> {
        (!is_too_deep(json)).then_some(Shallow(super::unmarked(json).trim_ascii()))
    }

    pub(super) fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// `part` with the lifetime of what it is a part of: a lazy value of borrowed input is one.
    pub(super) fn part(self, part: &str) -> Option<Shallow<'a>> {
        let start = (part.as_ptr() as usize).checked_sub(self.0.as_ptr() as usize)?;
        self.0.get(start..start + part.len()).map(Shallow)
    }
}

/// True if arrays and objects are nested too deeply. Few texts have that many of either at all; only
/// those are walked through.
fn is_too_deep(json: &[u8]) -> bool {
    json.len() > DEPTH_MAX && openings(json) > DEPTH_MAX && nests_too_deeply(json)
}

/// Note to append to the error about a text that could not be read.
pub fn depth_note(json: &[u8]) -> &'static str {
    if is_too_deep(json) { "; it is nested deeper than 127 levels, which is not read" } else { "" }
}

/// How many brackets and braces open, those inside of strings included.
fn openings(json: &[u8]) -> usize {
    // `[` is 0x5b and `{` is 0x7b.
    let count = |piece: &[u8]| -> u8 { piece.iter().map(|b| u8::from(b | 0x20 == b'{')).sum() };
    json.chunks(PIECE_BYTES).map(|piece| usize::from(count(piece))).sum()
}

/// Follows the nesting. In a text that is no JSON the parser stops where the two could disagree.
fn nests_too_deeply(json: &[u8]) -> bool {
    let mut at = 0;
    let mut depth = 0_usize;
    while let Some(&byte) = json.get(at) {
        at += 1;
        match byte {
            b'"' => at = end_of_string(json, at),
            b'[' | b'{' if depth == DEPTH_MAX => return true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// The end of the string whose opening quote stands before `at`.
pub(crate) fn end_of_string(json: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = json.get(at) {
        at += 1;
        match byte {
            b'"' => return at,
            b'\\' => at += 1,
            _ => {}
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nested(depth: usize) -> String {
        format!("{}{}", "[".repeat(depth), "]".repeat(depth))
    }

    #[test]
    fn depth_is_limited_and_width_is_not() {
        assert!(!is_too_deep(nested(DEPTH_MAX).as_bytes()));
        assert!(is_too_deep(nested(DEPTH_MAX + 1).as_bytes()));
        let wide = format!("[{}]", vec![r#"{"a]":["\"{",1]}"#; 10_000].join(","));
        assert!(!is_too_deep(wide.as_bytes()));
        let text = format!("\"{}\"", "[".repeat(1000));
        assert!(!is_too_deep(text.as_bytes()));
        // A string that would hide what follows if its last quote were escaped.
        let hidden = format!(r#"["\\",{}]"#, "[".repeat(1000));
        assert!(is_too_deep(hidden.as_bytes()));
        let closers = format!(r#"{}"]]]]""#, r#"["]","#.repeat(1000));
        assert!(is_too_deep(closers.as_bytes()));
        assert!(is_too_deep("{\"a\":".repeat(1000).as_bytes()));
    }

    proptest! {
        /// What is let through is what `serde_json` reads.
        #[test]
        fn the_limit_is_that_of_serde_json(
            levels in proptest::collection::vec(any::<bool>(), 120..135),
        ) {
            let open: String = levels.iter().map(|list| if *list { "[" } else { r#"{"a]":"# }).collect();
            let close: String = levels.iter().rev().map(|list| if *list { "]" } else { "}" }).collect();
            let text = format!("{open}\"[\"{close}");
            let read = serde_json::from_str::<serde_json::Value>(&text);
            prop_assert_eq!(read.is_err(), is_too_deep(text.as_bytes()));
        }
    }
}
