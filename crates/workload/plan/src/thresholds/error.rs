//! What is wrong with a threshold or figure.

use std::fmt;
use std::ops::Range;

/// What is wrong with a threshold or figure, and where in its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FigureError {
    /// The diagnostic's code.
    pub code: &'static str,
    /// Where in the text.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
    /// Of an unknown name: what was written, and the names that could stand there.
    pub unknown: Option<Box<Unknown>>,
}

/// A name that is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// As written.
    pub name: String,
    /// Introduces the list of the known ones.
    pub what: &'static str,
    /// Those that are known.
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

    /// A name that is none of `known`; `what` introduces the list of those.
    pub(super) fn unknown<'n>(
        code: &'static str,
        span: Range<usize>,
        message: String,
        (name, what): (&str, &'static str),
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
