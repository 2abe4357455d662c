//! Errors in thresholds and figures.

use std::fmt;
use std::ops::Range;

/// An error in a threshold or figure, and its place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FigureError {
    /// The diagnostic's code.
    pub code: &'static str,
    /// Bytes of the text at fault.
    pub span: Range<usize>,
    /// The message.
    pub message: String,
    /// Advice on what to write instead.
    pub hint: Option<String>,
    /// For an unknown name: the name as written, and the names that could stand there.
    pub unknown: Option<Box<Unknown>>,
}

/// An unknown name, and the names that could stand there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// As written.
    pub name: String,
    /// Text that introduces the list of the known ones.
    pub what: &'static str,
    /// The known names.
    pub known: Vec<String>,
}

impl fmt::Display for FigureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        match &self.unknown {
            Some(unknown) if !unknown.known.is_empty() => {
                write!(f, "; {}: `{}`", unknown.what, unknown.known.join("`, `"))
            }
            _ => Ok(()),
        }
    }
}

impl std::error::Error for FigureError {}

impl FigureError {
    pub(super) fn new(span: Range<usize>, message: impl Into<String>) -> FigureError {
        FigureError {
            code: "bad-threshold",
            span,
            message: message.into(),
            hint: None,
            unknown: None,
        }
    }

    /// An error about a name that is none of `known`; `what` introduces the list of those.
    pub(super) fn unknown<'n>(
        code: &'static str,
        span: Range<usize>,
        message: String,
        name: &str,
        what: &'static str,
        known: impl IntoIterator<Item = &'n str>,
    ) -> FigureError {
        FigureError {
            code,
            span,
            message,
            hint: None,
            unknown: Some(Box::new(Unknown {
                name: name.to_owned(),
                what,
                known: known.into_iter().map(str::to_owned).collect(),
            })),
        }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> FigureError {
        self.hint = Some(hint.into());
        self
    }
}
