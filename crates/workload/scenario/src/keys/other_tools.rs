//! Words of other load generators (k6, Gatling, Locust, JMeter, Artillery, Tsung), and what to write here.
//!
//! They come before similar names.

mod words;

use std::ops::Range;

use crate::keys::{DOCUMENT, OPTIONS, PHASES, Table};

/// Words that mean one thing here.
struct Words {
    /// In lower case, without `_` and `-`, with blanks between them.
    written: &'static str,
    /// The key that is meant, if it is one of the same mapping.
    key: Option<&'static str>,
    /// Advice on what to write.
    hint: &'static str,
}

/// A key of the same mapping.
const fn key(key: &'static str, written: &'static str, hint: &'static str) -> Words {
    Words { written, key: Some(key), hint }
}

/// Something that stands elsewhere, or has another form.
const fn form(written: &'static str, hint: &'static str) -> Words {
    Words { written, key: None, hint }
}

fn find(lists: &[&'static [Words]], written: &str) -> Option<&'static Words> {
    let plain = written.to_ascii_lowercase().replace(['_', '-'], "");
    let mut words = lists.iter().flat_map(|list| list.iter());
    words.find(|words| words.written.split(' ').any(|word| word == plain))
}

/// The words that could stand in a mapping.
fn lists_of(table: &'static Table) -> Vec<&'static [Words]> {
    let is_one_of = |tables: &[Table]| tables.iter().any(|one| std::ptr::eq(one, table));
    let mut lists: Vec<&'static [Words]> = Vec::new();
    match table.name {
        "scenario" => lists.push(words::TOP),
        "session" => lists.push(words::SESSION),
        "options" => lists.push(words::OPTIONS),
        "data" => lists.push(words::DATA),
        "abort" => lists.push(words::ABORT),
        "include" => lists.push(words::INCLUDE),
        "save" => lists.push(words::SAVE),
        "reply" => lists.push(words::REPLY),
        "if" => lists.push(words::BRANCHES),
        _ => {}
    }
    if table.key("save").is_some() && table.key("status").is_some() {
        lists.push(words::REQUEST);
        if table.key("method").is_none() {
            lists.push(words::ADDRESS);
        }
    }
    if is_one_of(PHASES) {
        lists.push(words::PHASE_KEYS);
    }
    if table.key("steps").is_some() && table.name != "steps" {
        lists.push(words::BODY);
    }
    lists
}

/// Advice on what to write instead of an unknown key of this mapping.
pub fn hint_for_key(table: &'static Table, written: &str) -> Option<String> {
    let sound = |words: &&Words| words.key.is_none_or(|key| table.key(key).is_some());
    if let Some(words) = find(&lists_of(table), written).filter(sound) {
        return Some(words.hint.to_owned());
    }
    if let Some(step) = written.strip_prefix('-').filter(|name| !name.is_empty()) {
        return Some(format!("write a blank after the dash: `- {step}:`"));
    }
    if std::ptr::eq(table, &DOCUMENT) && OPTIONS.key(written).is_some() {
        return Some(format!("write it under `options`: `options: {{ {written}: … }}`"));
    }
    if std::ptr::eq(table, &OPTIONS) && DOCUMENT.key(written).is_some() {
        return Some(format!("`{written}` stands at the top level of the file"));
    }
    None
}

/// Advice on a word that stands in a step, if it is a step of another tool that waits.
pub fn hint_in_step(written: &str) -> Option<String> {
    let words = find(&[words::WAITS], written)?;
    Some(format!("as a step of its own, {}", words.hint))
}

/// The key of this mapping that a word of another tool stands for.
pub fn key_meant(table: &'static Table, written: &str) -> Option<&'static str> {
    find(&lists_of(table), written)?.key
}

/// Advice on what to write instead of an unknown step.
pub fn hint_for_step(written: &str) -> Option<&'static str> {
    find(&[words::WAITS, words::STEP], written).map(|words| words.hint)
}

/// Advice on a word of an expression: that at `span` of its text, with the dots that other languages write into it, and
/// with what it is called with.
pub fn hint_in_expression(text: &str, span: &Range<usize>) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    let before = text.get(..span.start)?;
    let start = before.trim_end_matches(is_part).len();
    let rest = &text[start..];
    let word = &rest[..rest.find(|c: char| !is_part(c)).unwrap_or(rest.len())];
    if word.is_empty() {
        return None;
    }
    let method = word.rsplit_once('.').map(|(_, method)| method);
    let found = find(&[words::EXPRESSION], word)
        .or_else(|| find(&[words::METHODS], method?))
        .or_else(|| find(&[words::OBJECTS], word.split_once('.')?.0));
    found.map(|words| with_own_values(words.hint, word, &rest[word.len()..]))
}

/// A hint whose example has the numbers or the name that were written. `rest`: what follows the word.
fn with_own_values(hint: &str, word: &str, rest: &str) -> String {
    let called_with = rest.trim_start().strip_prefix('(').and_then(|inner| inner.split_once(')'));
    let numbers: Option<Vec<i64>> = called_with
        .and_then(|(inner, _)| inner.split(',').map(|part| part.trim().parse().ok()).collect());
    match numbers.as_deref() {
        Some([low, high]) => {
            // That of Python ends before the second.
            let high = high.saturating_sub(i64::from(word.ends_with("randrange")));
            return hint
                .replace("random(1, 100)", &format!("random({low}, {high})"))
                .replace("from 1 to 100", &format!("from {low} to {high}"));
        }
        Some([count]) => {
            return hint.replace("random_string(8)", &format!("random_string({count})"));
        }
        _ => {}
    }
    // `__ENV.HOST`, `process.env.HOST`.
    let is_object = |name: &str| ["env", "environ", "getenv"].contains(&name);
    match word.rsplit_once('.') {
        Some((_, name)) if !name.is_empty() && !is_object(name) => {
            hint.replace("env('NAME')", &format!("env('{name}')"))
        }
        _ => hint.to_owned(),
    }
}

/// Advice on what to write instead of an unknown kind of phase.
pub fn hint_for_phase(written: &str) -> Option<&'static str> {
    find(&[words::PHASE], written).map(|words| words.hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::STEPS;
    use crate::tables::all_tables;

    #[test]
    fn no_word_is_a_key_where_it_is_explained() {
        for table in all_tables() {
            for list in lists_of(table) {
                for words in list {
                    for word in words.written.split(' ') {
                        let is_known = table.key(word).is_some();
                        // A key of requests and calls; steps without it mean `check`.
                        let is_own = word == "expect" && words.key == Some("check");
                        assert!(
                            !is_known || is_own || words.key == Some(word),
                            "{word} in {}",
                            table.name
                        );
                    }
                }
            }
        }
        let steps = words::WAITS.iter().chain(words::STEP);
        for word in steps.flat_map(|words| words.written.split(' ')) {
            assert!(STEPS.iter().all(|step| step.keys.verb() != word), "{word}");
        }
        for word in words::PHASE.iter().flat_map(|words| words.written.split(' ')) {
            assert!(PHASES.iter().all(|phase| phase.verb() != word), "{word}");
        }
    }

    #[test]
    fn hints_in_expressions_have_what_was_written() {
        for (text, expected) in [
            ("randomIntBetween(1, 10)", "write `random(1, 10)` for a whole number from 1 to 10"),
            ("7 + __Random( -5 ,5)", "write `random(-5, 5)` for a whole number from -5 to 5"),
            ("random.randrange(0, 5)", "write `random(0, 4)` for a whole number from 0 to 4"),
            (
                "random.randrange(0, -9223372036854775808)",
                "write `random(0, -9223372036854775808)` for a whole number from 0 to -9223372036854775808",
            ),
            ("random.randint(n, 5)", "write `random(1, 100)` for a whole number from 1 to 100"),
            ("randomString(12)", "write `random_string(12)`"),
            ("__ENV.PLACE", "write `env('PLACE')`"),
            ("process.env.HOME_DIR + 1", "write `env('HOME_DIR')`"),
            ("os.environ", "write `env('NAME')`"),
            ("__VU", "write `user`, the user's number"),
        ] {
            let at = text.find(|c: char| c.is_ascii_alphabetic() || c == '_').unwrap();
            let found = hint_in_expression(text, &(at..at + 1));
            assert_eq!(found.as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn each_word_stands_once_in_its_list() {
        for list in [
            words::WAITS,
            words::STEP,
            words::TOP,
            words::REQUEST,
            words::PHASE,
            words::ABORT,
            words::INCLUDE,
            words::PHASE_KEYS,
            words::SESSION,
            words::OPTIONS,
            words::DATA,
            words::SAVE,
            words::REPLY,
            words::BODY,
            words::EXPRESSION,
            words::METHODS,
            words::OBJECTS,
        ] {
            let mut all: Vec<&str> =
                list.iter().flat_map(|words| words.written.split(' ')).collect();
            assert!(all.iter().all(|word| !word.is_empty() && !word.contains(['_', '-'])));
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count);
        }
    }
}
