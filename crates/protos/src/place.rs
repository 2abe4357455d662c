//! Where in a file something is wrong.

use miette::Diagnostic;

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
