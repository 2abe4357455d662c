//! Builds a finding: severity, code, sentence and the figures behind it.

use record::schema::{Finding, Severity};

/// A finding under construction.
pub struct Draft(Finding);

/// Starts a finding; `code` is for machines and never changes.
pub fn finding(severity: Severity, code: &str, text: String) -> Draft {
    Draft(Finding { severity, code: code.to_owned(), text, evidence: Default::default() })
}

impl Draft {
    /// Adds a figure as evidence.
    pub fn with(mut self, name: &str, value: f64) -> Draft {
        self.0.evidence.insert(name.to_owned(), value);
        self
    }

    /// Finishes the finding with this text instead.
    pub fn worded(mut self, text: String) -> Finding {
        self.0.text = text;
        self.0
    }

    /// Finishes the finding.
    pub fn done(self) -> Finding {
        self.0
    }
}
