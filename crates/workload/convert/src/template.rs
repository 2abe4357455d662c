//! Templates: text of a scenario with `${…}` in it.

use plan::expr::{Escape, Value};

/// Text that means itself in a template.
pub(crate) fn literal(text: &str) -> String {
    text.replace("${", "\\${")
}

/// Text in an expression's quotes.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("'");
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\'' => out.push_str("\\'"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Text, without escapes.
    Text(String),
    /// What stands between `${` and `}`.
    Expr(String),
}

/// The parts of a template, in their order.
pub(crate) fn pieces(template: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut rest = template;
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('\\') {
            plain.push_str(&rest[..at - 1]);
            plain.push_str("${");
            rest = &rest[at + 2..];
            continue;
        }
        plain.push_str(&rest[..at]);
        let end = expression_length(&rest[at + 2..]);
        if !plain.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
        }
        pieces.push(Piece::Expr(rest[at + 2..at + 2 + end].to_owned()));
        rest = rest[at + 2 + end..].strip_prefix('}').unwrap_or_default();
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        pieces.push(Piece::Text(plain));
    }
    pieces
}

/// The bytes of an expression, up to the brace that ends it.
fn expression_length(text: &str) -> usize {
    let mut quote = None;
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if c == '\\' => is_escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '\'' || c == '"' => quote = Some(c),
            None if c == '}' => return at,
            None => {}
        }
    }
    text.len()
}

/// A template with its texts changed, and its expressions as `wrapped` writes them.
pub(crate) fn mapped(
    template: &str,
    text: impl Fn(&str) -> String,
    wrapped: impl Fn(&str) -> String,
) -> String {
    let parts = pieces(template).into_iter().map(|piece| match piece {
        Piece::Text(plain) => literal(&text(&plain)),
        Piece::Expr(expr) => format!("${{{}}}", wrapped(&expr)),
    });
    parts.collect()
}

/// The text as a value of a query or form: percent-encoded.
pub(crate) fn url_value(text: &str) -> String {
    escaped(text, Escape::Url)
}

/// The text as a part of a URL that is encoded already: only what can stand in no URL is percent-encoded.
pub(crate) fn url_text(text: &str) -> String {
    escaped(text, Escape::UrlRaw)
}

fn escaped(text: &str, escape: Escape) -> String {
    let mut out = Vec::new();
    Value::text(text).write_escaped(escape, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// A template as a value of a form's body.
pub(crate) fn form_value(template: &str) -> String {
    mapped(template, url_value, |expr| format!("url({expr})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_fall_into_text_and_expressions() {
        let text = |text: &str| Piece::Text(text.to_owned());
        let expr = |text: &str| Piece::Expr(text.to_owned());
        assert_eq!(
            pieces("a\\${b}${pick('}', \"\\\"}\")}c"),
            [text("a${b}"), expr("pick('}', \"\\\"}\")"), text("c")]
        );
        assert_eq!(pieces("${open"), [expr("open")]);
        assert_eq!(pieces(""), []);
        assert_eq!(form_value("a b${x}\\${"), "a%20b${url(x)}%24%7B");
        assert_eq!(quoted("it's \\ \n"), r"'it\'s \\ \n'");
    }
}
