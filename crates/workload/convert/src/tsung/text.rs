//! Text of a scenario: literals, numbers, durations, and Tsung's `%%_name%%`.

use std::ops::Range;

use super::Importer;
use crate::template::literal;

/// A number as scenarios write it.
pub(super) fn number(number: f64) -> String {
    format!("{number}")
}

/// Seconds as a duration.
pub(super) fn seconds(seconds: f64) -> String {
    if seconds == 0.0 {
        return "0s".to_owned();
    }
    if seconds >= 1.0 || seconds.fract() == 0.0 {
        return format!("{seconds}s");
    }
    if seconds >= 1e-3 {
        return format!("{}ms", rounded(seconds * 1e3));
    }
    format!("{}us", rounded(seconds * 1e6))
}

/// The number without what binary fractions add.
fn rounded(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}

/// Form of a variable inside a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `${name}`.
    Plain,
    /// `${raw(name)}`, for URLs.
    Raw,
}

impl Importer<'_> {
    /// Tsung's text as a template: where `subst`, `%%_name%%` is filled in for each user.
    pub(super) fn template(
        &mut self,
        text: &str,
        subst: bool,
        form: Form,
        at: &Range<usize>,
    ) -> String {
        if !subst {
            return literal(text);
        }
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("%%") {
            out.push_str(&literal(before));
            let Some((inner, tail)) = after.split_once("%%") else {
                // Tsung drops what is not closed; so would nobody have meant it.
                let message = "this `%%` is never closed".to_owned();
                self.diagnostics
                    .error("bad-substitution", at.clone(), message)
                    .hint("write %%_name%%");
                return out;
            };
            match inner.strip_prefix('_') {
                Some(name) => {
                    let name = self.read_variable(name, at);
                    match form {
                        Form::Plain => out.push_str(&format!("${{{name}}}")),
                        Form::Raw => out.push_str(&format!("${{raw({name})}}")),
                    }
                }
                None if inner == "ts_user_server:get_unique_id" => out.push_str("${user + 1}"),
                None if inner == "ts_user_server:get_really_unique_id" => {
                    out.push_str("${int(now() / 1000)}-${user + 1}");
                }
                None => {
                    let message = format!("the Erlang function `{inner}` cannot be called");
                    self.diagnostics.lost(at.clone(), message);
                }
            }
            rest = tail;
        }
        out.push_str(&literal(rest));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_written_as_durations() {
        let written = [0.0, 25.0, 1.5, 0.01, 0.000_25, 2560.0, 0.1].map(seconds);
        assert_eq!(written, ["0s", "25s", "1.5s", "10ms", "250us", "2560s", "100ms"]);
    }
}
