//! Diagnostics of scenarios: the problem, its place, and advice on what to write instead.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

use crate::document::node::Place;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The scenario can run all the same.
    Warning,
    /// There is no plan.
    Error,
}

impl Severity {
    /// `error` or `warning`.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// Which text a diagnostic speaks of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The scenario's own text.
    File,
    /// The text of a file that it includes.
    Included(IncludedText),
    /// An override; the text is its `key=value`.
    Set(String),
}

/// The text of a file that a scenario includes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct IncludedText {
    /// Where it begins among all texts: the scenario's own comes first, and after each there is a line break.
    pub start: usize,
    /// The file's name for messages.
    pub name: String,
    /// The file's content.
    pub text: Arc<str>,
}

/// One problem of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// Stable and short, for machines: `unknown-key`, `bad-duration`, …
    pub code: &'static str,
    /// The problem: lower case, without a full stop.
    pub message: String,
    /// Bytes of the text that [`Diagnostic::origin`] names; `None`: no place in particular.
    pub span: Option<Range<usize>>,
    /// Line from 1; 1 if there is no span.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// A few words for beside the marked text; may be empty.
    pub label: String,
    /// Advice on what to write instead.
    pub hint: Option<String>,
    /// Which text it speaks of.
    pub origin: Origin,
}

impl Diagnostic {
    /// Adds what to write instead.
    pub fn hint(&mut self, hint: impl Into<String>) -> &mut Diagnostic {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a hint where there is one.
    pub fn hint_some(&mut self, hint: Option<String>) -> &mut Diagnostic {
        if hint.is_some() {
            self.hint = hint;
        }
        self
    }

    /// Adds words beside the marked text.
    pub fn label(&mut self, label: impl Into<String>) -> &mut Diagnostic {
        self.label = label.into();
        self
    }
}

/// Most diagnostics that one compilation reports; the rest is counted.
pub const DIAGNOSTICS_MAX: usize = 100;

/// Collects diagnostics and finds their lines.
#[derive(Debug)]
pub struct Collector<'a> {
    /// The scenario's text, and behind it those of the files that it includes.
    text: Cow<'a, str>,
    included: Vec<IncludedText>,
    line_starts: Vec<usize>,
    overrides: Vec<String>,
    diagnostics: Vec<Diagnostic>,
    dropped_count: usize,
}

impl<'a> Collector<'a> {
    /// The texts that the diagnostics are about, one behind the other: places are bytes of it.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn new(text: &'a str, overrides: &[(String, String)]) -> Collector<'a> {
        Collector {
            text: Cow::Borrowed(text),
            included: Vec::new(),
            line_starts: line_starts(text, 0).collect(),
            overrides: overrides.iter().map(|(key, value)| format!("{key}={value}")).collect(),
            diagnostics: Vec::new(),
            dropped_count: 0,
        }
    }

    /// Appends the text of an included file, whose `name` is for messages; returns where it begins.
    pub fn include(&mut self, name: String, text: &str) -> usize {
        let all = self.text.to_mut();
        all.push('\n');
        let start = all.len();
        all.push_str(text);
        self.line_starts.extend(line_starts(text, start));
        self.included.push(IncludedText { start, name, text: text.into() });
        start
    }

    /// The included file that has this byte; `None`: it is the scenario's own.
    pub fn included_at(&self, at: usize) -> Option<&IncludedText> {
        let before = self.included.partition_point(|file| file.start <= at);
        self.included.get(before.checked_sub(1)?)
    }

    /// Adds an error; the returned diagnostic takes its hint and label.
    pub fn error(
        &mut self,
        code: &'static str,
        place: &Place,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.add(Severity::Error, code, place, message.into())
    }

    /// Adds a warning; the returned diagnostic takes its hint and label.
    pub fn warning(
        &mut self,
        code: &'static str,
        place: &Place,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.add(Severity::Warning, code, place, message.into())
    }

    fn add(
        &mut self,
        severity: Severity,
        code: &'static str,
        place: &Place,
        message: String,
    ) -> &mut Diagnostic {
        if self.diagnostics.len() > DIAGNOSTICS_MAX {
            self.dropped_count += 1;
            self.diagnostics.pop();
        }
        let mut span = place.span.clone();
        let (origin, line, column) = match place.set {
            Some(index) => (Origin::Set(self.overrides[index].clone()), 1, 1),
            None => {
                let (line, column) = self.position(span.start);
                match self.included_at(span.start) {
                    Some(file) => {
                        span = span.start - file.start..span.end.max(span.start) - file.start;
                        (Origin::Included(file.clone()), line, column)
                    }
                    None => (Origin::File, line, column),
                }
            }
        };
        self.diagnostics.push(Diagnostic {
            severity,
            code,
            message,
            span: Some(span),
            line,
            column,
            label: String::new(),
            hint: None,
            origin,
        });
        self.diagnostics.last_mut().expect("one was pushed just now")
    }

    /// Adds a hint to the last diagnostic.
    pub fn last_hint(&mut self, hint: String) {
        if let Some(last) = self.diagnostics.last_mut() {
            last.hint(hint);
        }
    }

    /// How many were reported so far.
    pub fn count(&self) -> usize {
        self.diagnostics.len() + self.dropped_count
    }

    /// Of what was reported after the first `count`, drops what repeats something in the same words of the same place.
    pub fn drop_repeated(&mut self, count: usize) {
        let since = count.min(self.diagnostics.len());
        for later in self.diagnostics.split_off(since) {
            if !self.diagnostics.contains(&later) {
                self.diagnostics.push(later);
            }
        }
    }

    /// True if something was reported of exactly this part of the scenario's own text.
    pub(crate) fn is_reported(&self, place: &Place) -> bool {
        let is_here = |found: &Diagnostic| {
            found.origin == Origin::File && found.span.as_ref() == Some(&place.span)
        };
        place.set.is_none() && self.diagnostics.iter().any(is_here)
    }

    /// The line of its file, from 1, in which a byte lies.
    pub fn line(&self, at: usize) -> usize {
        let before = self.included_at(at).map_or(0, |file| self.lines_up_to(file.start) - 1);
        self.lines_up_to(at) - before
    }

    /// How many lines of all texts begin at a byte or before it.
    fn lines_up_to(&self, at: usize) -> usize {
        self.line_starts.partition_point(|&start| start <= at)
    }

    /// The line, from 1, in which a place begins; 0: it is in an override.
    pub fn line_of(&self, place: &Place) -> u32 {
        match place.set {
            Some(_) => 0,
            None => u32::try_from(self.line(place.span.start)).unwrap_or(u32::MAX),
        }
    }

    fn position(&self, at: usize) -> (usize, usize) {
        let line_start = self.line_starts[self.lines_up_to(at) - 1];
        let before = self.text.get(line_start..at).unwrap_or_default();
        (self.line(at), before.chars().count() + 1)
    }

    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity == Severity::Error)
    }

    /// All of them, each file's in the order of its text, the scenario's first, then the overrides'.
    pub fn finish(mut self) -> Vec<Diagnostic> {
        if self.dropped_count > 0 {
            self.diagnostics.truncate(DIAGNOSTICS_MAX);
            let count = self.dropped_count + 1;
            let place = Place::at(0..0);
            self.error("too-many", &place, format!("and {count} more problems"));
        }
        self.diagnostics.sort_by_key(|d| {
            (d.code == "too-many", d.origin.clone(), d.span.as_ref().map_or(0, |s| s.start))
        });
        self.diagnostics.dedup();
        self.diagnostics
    }
}

/// Where the lines of a text begin that begins at `start` itself.
fn line_starts(text: &str, start: usize) -> impl Iterator<Item = usize> + '_ {
    let breaks = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
    std::iter::once(start).chain(breaks.map(move |(at, _)| start + at + 1))
}

/// Diagnostics as plain text: place and message, the source line, a caret under the text meant,
/// and the hint. One blank line between two of them.
pub fn render(diagnostics: &[Diagnostic], source: crate::document::Source<'_>) -> String {
    let mut out = String::new();
    for (index, diagnostic) in diagnostics.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        render_one(diagnostic, source, &mut out);
    }
    out
}

fn render_one(diagnostic: &Diagnostic, source: crate::document::Source<'_>, out: &mut String) {
    let Diagnostic { severity, message, line, column, label, .. } = diagnostic;
    let (text, place) = match &diagnostic.origin {
        Origin::File => (source.text, format!("{}:{line}:{column}", source.name)),
        Origin::Included(file) => (&*file.text, format!("{}:{line}:{column}", file.name)),
        Origin::Set(set) => (set.as_str(), format!("--set {set}")),
    };
    put(out, format_args!("{place}: {}: {message}\n", severity.name()));
    if let Some(span) = &diagnostic.span {
        render_source(text, span, *line, label, out);
    }
    if let Some(hint) = &diagnostic.hint {
        put(out, format_args!("  hint: {hint}\n"));
    }
}

fn render_source(text: &str, span: &Range<usize>, line: usize, label: &str, out: &mut String) {
    let Some(before) = text.get(..span.start) else {
        return;
    };
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let shown = text[start..].lines().next().unwrap_or_default();
    if shown.trim().is_empty() {
        return;
    }
    let number = line.to_string();
    let end = span.end.clamp(span.start, start + shown.len());
    let marked = text.get(span.start..end).map_or(0, |t| t.chars().count()).max(1);
    // Tabs stay tabs, so that the caret stands where the eye expects it.
    let indent: String =
        text[start..span.start].chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    let carets = "^".repeat(marked);
    let space = if label.is_empty() { "" } else { " " };
    put(out, format_args!("  {number} | {shown}\n"));
    put(out, format_args!("  {:1$} | {indent}{carets}{space}{label}\n", "", number.len()));
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a String cannot fail");
}
