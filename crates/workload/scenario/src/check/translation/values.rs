//! Steps and keys of other tools with the values that stand behind them: waits, loops, addresses, and what is saved.

use units::parse;

use super::load::{count_of, length, plain};
use super::scalar_text;
use crate::document::node::{Entry, Node};
use crate::keys::Table;

/// The step that one of another tool stands for: `sleep: 1`, `loopCount: 5`.
pub(in crate::check) fn step_meant(entry: &Entry) -> Option<String> {
    match plain(&entry.key).as_str() {
        "sleep" | "pause" | "wait" | "delay" | "thinktime" | "waittime" => {
            Some(format!("write `think: {}`", wait(&entry.value)?))
        }
        "repeat" | "times" | "iterate" | "rounds" | "count" | "loopcount" => {
            Some(format!("write `loop: {}` with `steps`", count_of(&entry.value)?))
        }
        _ => None,
    }
}

/// The key that one of another tool stands for, at the top level, in a session, or in a request.
pub(in crate::check) fn key_meant(table: &Table, entry: &Entry) -> Option<String> {
    let value = &entry.value;
    let is_request = table.key("save").is_some() && table.key("status").is_some();
    match (table.name, plain(&entry.key).as_str()) {
        ("scenario", "baseurl" | "url" | "host" | "server" | "endpoint" | "site" | "address") => {
            let url = value.text().filter(|text| text.contains("://"))?;
            Some(format!("write `target: {url}`"))
        }
        ("session", "thinktime" | "waittime" | "think" | "sleep" | "pause") => {
            Some(format!("write it as a step of the session: `- think: {}`", wait(value)?))
        }
        (_, "saveas") if is_request => {
            let name = value.text().filter(|_| !value.is_null())?;
            Some(format!("write `save: {{ {name}: /pointer }}`, with the place of the value"))
        }
        (_, "capture") if is_request => {
            let name = value.get("as")?.text()?;
            let place = value.get("json")?.text()?;
            Some(format!("write `save: {{ {name}: {} }}`", scalar_text(place, false)))
        }
        _ => None,
    }
}

/// Two numbers in words of other tools are the ends of a range: `between(1, 5)`, `1-5s`.
pub(in crate::check) fn range_meant(text: &str) -> Option<String> {
    let pieces = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    let numbers = pieces.filter(|piece| piece.starts_with(|c: char| c.is_ascii_digit()));
    let lengths = numbers.map(|piece| match parse::number(piece) {
        Ok(_) => format!("{piece}s"),
        Err(_) => piece.to_owned(),
    });
    let lengths: Vec<String> = lengths.collect();
    match &lengths[..] {
        [from, to] if text.contains(['(', ',', '-']) => Some(format!("{from}..{to}")),
        _ => None,
    }
}

/// The expression of a wait that is a template: `x` for `${x}` and `${x}s`; `None`: it is none.
pub(in crate::check) fn seconds_meant(text: &str) -> Option<String> {
    let (inner, unit) = text.trim().strip_prefix("${")?.rsplit_once('}')?;
    match (inner.contains("${"), unit) {
        (false, "" | "s") => Some(inner.trim().to_owned()),
        (false, "ms") => Some(format!("({}) / 1000", inner.trim())),
        _ => None,
    }
}

/// How long a step waits; a number alone is one of seconds.
fn wait(node: &Node) -> Option<String> {
    let text = node.text().filter(|_| !node.is_null())?;
    let inner = text.strip_prefix("constant(").and_then(|rest| rest.strip_suffix(')'));
    match inner {
        Some(seconds) => {
            seconds.trim().parse::<f64>().is_ok().then(|| format!("{}s", seconds.trim()))
        }
        None => length(node).or_else(|| range_meant(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::yaml::parse_value;
    use crate::keys::{DOCUMENT, SESSION};

    fn entry(text: &str) -> Entry {
        parse_value(text).mapping().unwrap()[0].clone()
    }

    #[test]
    fn steps_keep_their_values() {
        for (written, expected) in [
            ("{ sleep: 1 }", Some("write `think: 1s`")),
            ("{ thinktime: 2.5 }", Some("write `think: 2.5s`")),
            ("{ pause: 500ms }", Some("write `think: 500ms`")),
            ("{ wait: 'between(1, 5)' }", Some("write `think: 1s..5s`")),
            ("{ wait_time: constant(3) }", Some("write `think: 3s`")),
            ("{ loopCount: 5 }", Some("write `loop: 5` with `steps`")),
            ("{ sleep: a while }", None),
            ("{ repeat: often }", None),
            ("{ fetch: /x }", None),
        ] {
            assert_eq!(step_meant(&entry(written)).as_deref(), expected, "{written}");
        }
    }

    #[test]
    fn templates_of_waits_become_expressions() {
        for (written, expected) in [
            ("${pause}", Some("pause")),
            (" ${ (a - b) / 1000 } ", Some("(a - b) / 1000")),
            ("${pause}s", Some("pause")),
            ("${pause}ms", Some("(pause) / 1000")),
            ("${a}..${b}", None),
            ("1s", None),
        ] {
            assert_eq!(seconds_meant(written).as_deref(), expected, "{written}");
        }
    }

    #[test]
    fn keys_keep_their_values() {
        let meant = |table, written: &str| key_meant(table, &entry(written));
        let host = meant(&DOCUMENT, "{ host: 'http://h:1/' }");
        assert_eq!(host.as_deref(), Some("write `target: http://h:1/`"));
        assert_eq!(meant(&DOCUMENT, "{ host: h }"), None);
        let wait = meant(&SESSION, "{ wait_time: 'between(2, 3)' }");
        assert_eq!(wait.as_deref(), Some("write it as a step of the session: `- think: 2s..3s`"));
        assert_eq!(meant(&SESSION, "{ saveAs: token }"), None);
    }
}
