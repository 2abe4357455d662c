//! Message and place of a problem in a file.

use miette::Diagnostic;
use prost_reflect::prost_types::SourceCodeInfo;

/// The places of a file's parts.
#[derive(Debug, Default)]
pub(crate) struct Places(SourceCodeInfo);

impl Places {
    pub(crate) fn new(info: Option<SourceCodeInfo>) -> Places {
        Places(info.unwrap_or_default())
    }

    /// Line and column, from 1, of the part with this path in the file's descriptor, or of the one around it.
    pub(crate) fn of(&self, path: &[i32]) -> Option<(usize, usize)> {
        let lengths = (1..=path.len()).rev();
        let mut spans = lengths.filter_map(|length| {
            let found = self.0.location.iter().find(|found| found.path == path[..length])?;
            Some(&found.span)
        });
        let [line, column, ..] = spans.next()?[..] else {
            return None;
        };
        Some((line as usize + 1, column as usize + 1))
    }
}

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
