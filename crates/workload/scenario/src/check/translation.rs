//! What other load generators write, as a line of a scenario: load, thresholds, credentials, waits and placeholders.
//!
//! [`crate::keys::other_tools`] knows words; this file reads the values behind them, so that a hint is the line to write.

mod load;
mod placeholders;
mod thresholds;
mod values;

pub(super) use load::{line_meant, means_key, phase_meant};
pub(super) use placeholders::{placeholder, without_braces};
pub(super) use thresholds::{conditions_of, list, thresholds_meant};
pub(super) use values::{key_meant, range_meant, seconds_meant, step_meant};

use crate::document::node::{Node, NodeKind};

/// Longest value that a hint shows.
const CHARS_MAX: usize = 160;

/// A value in one line of YAML; `None` if it is too long for a hint.
pub(super) fn in_one_line(node: &Node) -> Option<String> {
    let mut line = String::new();
    write_value(node, &mut line)?;
    Some(line)
}

fn write_value(node: &Node, line: &mut String) -> Option<()> {
    match &node.kind {
        NodeKind::Scalar(scalar) => line.push_str(&scalar_text(&scalar.text, scalar.quoted)),
        NodeKind::Sequence(items) => {
            line.push('[');
            for (number, item) in items.iter().enumerate() {
                line.push_str(if number > 0 { ", " } else { "" });
                write_value(item, line)?;
            }
            line.push(']');
        }
        NodeKind::Mapping(entries) => {
            line.push_str("{ ");
            for (number, entry) in entries.iter().enumerate() {
                line.push_str(if number > 0 { ", " } else { "" });
                line.push_str(&scalar_text(&entry.key, false));
                line.push_str(": ");
                write_value(&entry.value, line)?;
            }
            line.push_str(" }");
        }
    }
    (line.chars().count() <= CHARS_MAX && !line.contains('\n')).then_some(())
}

/// A text as it can stand between `{` and `}`.
pub(super) fn scalar_text(text: &str, quoted: bool) -> String {
    let signs = "{}[],#:&*!|>%@`\"'\\";
    let is_plain = !quoted && !text.is_empty() && !text.contains(|c: char| signs.contains(c));
    match text.contains(['"', '\\']) {
        _ if is_plain => text.to_owned(),
        true => format!("'{}'", text.replace('\'', "''")),
        false => format!("\"{text}\""),
    }
}

/// The `auth` that a text or mapping of another tool stands for.
pub(super) fn auth_meant(node: &Node) -> Option<String> {
    let bearer = |token: &str| format!("write `auth: {{ bearer: {} }}`", scalar_text(token, true));
    let basic = |user: &str, password: &str| {
        let user = scalar_text(user, false);
        let password = scalar_text(password, true);
        format!("write `auth: {{ basic: {{ user: {user}, password: {password} }} }}`")
    };
    if let Some(text) = node.text().filter(|_| !node.is_null()) {
        let text = text.trim();
        if ["no", "off", "false"].contains(&text) {
            return Some("write `auth: none`".to_owned());
        }
        return Some(match text.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => bearer(token.trim()),
            Some((scheme, _)) if scheme.eq_ignore_ascii_case("basic") => {
                format!("write `headers: {{ authorization: {} }}`", scalar_text(text, true))
            }
            _ => match text.split_once(':') {
                Some((user, password)) if !text.contains("${") => basic(user, password),
                _ => bearer(text),
            },
        });
    }
    let one_of = |names: &[&str]| names.iter().find_map(|name| node.get(name)?.text());
    if let Some(token) = one_of(&["token", "access_token"]) {
        return Some(bearer(token));
    }
    let user = one_of(&["user", "username", "login"])?;
    let password = one_of(&["password", "pass"])?;
    Some(basic(user, password))
}

/// The step that a line like `GET /path` stands for.
pub(super) fn request_meant(text: &str) -> Option<String> {
    const METHODS: &[&str] = &["get", "post", "put", "patch", "delete", "head"];
    let (method, path) = text.split_once(' ')?;
    let method = method.trim_end_matches(':').to_ascii_lowercase();
    METHODS.contains(&&*method).then(|| format!("write `{method}: {}`", path.trim()))
}

/// Headers that are written as lines: `["accept: text/html"]`.
pub(super) fn pairs_meant(node: &Node) -> Option<String> {
    let lines = node.sequence().unwrap_or(std::slice::from_ref(node));
    let pairs: Option<Vec<String>> = lines
        .iter()
        .map(|line| {
            let (name, value) = match line.mapping() {
                Some([entry]) => (entry.key.as_str(), entry.value.text()?),
                Some(_) => return None,
                None => line.text()?.split_once(':')?,
            };
            let name = scalar_text(name.trim(), false);
            Some(format!("{name}: {}", scalar_text(value.trim(), false)))
        })
        .collect();
    let pairs = pairs?.join(", ");
    (pairs.chars().count() <= CHARS_MAX).then(|| format!("{{ {pairs} }}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::yaml::parse_value;

    #[test]
    fn values_fit_between_braces() {
        for (written, expected) in [
            ("{ a: 1, b: [x, 'y z'] }", Some("{ a: 1, b: [x, \"y z\"] }")),
            ("{ a: \"${x}\" }", Some("{ a: \"${x}\" }")),
            ("'say \"hi\"'", Some("'say \"hi\"'")),
            ("''", Some("\"\"")),
        ] {
            assert_eq!(in_one_line(&parse_value(written)).as_deref(), expected, "{written}");
        }
        assert_eq!(in_one_line(&parse_value(&"x".repeat(CHARS_MAX + 1))), None);
    }

    #[test]
    fn credentials_become_mappings() {
        for (written, expected) in [
            ("Bearer ${token}", "auth: { bearer: \"${token}\" }"),
            ("${token}", "auth: { bearer: \"${token}\" }"),
            ("ann:secret", "auth: { basic: { user: ann, password: \"secret\" } }"),
            ("Basic YTpi", "headers: { authorization: \"Basic YTpi\" }"),
            ("{ username: ann, password: a1 }", "auth: { basic: { user: ann, password: \"a1\" } }"),
            ("no", "auth: none"),
            ("{ type: bearer, token: abc }", "auth: { bearer: \"abc\" }"),
        ] {
            let found = auth_meant(&parse_value(written));
            assert_eq!(found, Some(format!("write `{expected}`")), "{written}");
        }
        assert_eq!(auth_meant(&parse_value("{ bearer: x }")), None);
    }

    #[test]
    fn lines_become_steps_and_mappings() {
        assert_eq!(request_meant("GET /a").as_deref(), Some("write `get: /a`"));
        assert_eq!(request_meant("think 1s"), None);
        let headers = pairs_meant(&parse_value("['accept: text/html', { x-id: 7 }]"));
        assert_eq!(headers.as_deref(), Some("{ accept: text/html, x-id: 7 }"));
        assert_eq!(pairs_meant(&parse_value("[accept]")), None);
    }
}
