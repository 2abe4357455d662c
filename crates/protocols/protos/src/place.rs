//! Message and place of a problem in a file.

use miette::Diagnostic;

/// The message of an error. The parser's text for a wrong import is that for a wrong group; only its help differs.
pub(crate) fn message(error: &dyn Diagnostic) -> String {
    let help = error.help().map(|help| help.to_string());
    help.filter(|help| help.starts_with("imports ")).unwrap_or_else(|| error.to_string())
}

/// Line and column of the first place that an error names.
pub(crate) fn of_error(error: &dyn Diagnostic, text: &str) -> Option<(usize, usize)> {
    let label = error.labels()?.next()?;
    Some(of_byte(text, label.offset()))
}

/// Line and column of a byte, from 1.
pub(crate) fn of_byte(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset.min(text.len())).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    (line, before[start..].chars().count() + 1)
}
