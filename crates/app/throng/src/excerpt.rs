//! The place in a text that an error report shows. Lines that are too long for a terminal, and for the
//! renderer (its widths have 16 bits), are shown in part.

use std::ops::Range;

use miette::{
    LabeledSpan, MietteDiagnostic, MietteError, MietteSpanContents, NamedSource, Report,
    SourceCode, SourceSpan, SpanContents,
};

/// Longest line that is shown as it is, in bytes.
const LINE_BYTES_MAX: usize = 1_000;
/// Bytes of a longer line that are shown before the place and from it on.
const BEFORE_BYTES: usize = 60;
const AFTER_BYTES: usize = 120;

/// A report of `diagnostic` at `span` of the text called `name`; without a span it has no place.
pub(crate) fn report(
    diagnostic: MietteDiagnostic,
    span: Option<Range<usize>>,
    label: Option<String>,
    name: &str,
    text: &str,
) -> Report {
    let Some(span) = span else {
        return Report::new(diagnostic);
    };
    let (span, excerpt) = match shorten(text, &span) {
        None => (span, Excerpt::new(name, text.to_owned(), None)),
        Some(short) => (short.span, Excerpt::new(name, short.text, Some(short.column))),
    };
    let label = LabeledSpan::new(label, span.start, span.len());
    Report::new(diagnostic.with_label(label)).with_source_code(excerpt)
}

/// A text whose place has another column than it seems.
#[derive(Debug)]
struct Excerpt {
    source: NamedSource<String>,
    /// Column of the place in the original; `None`: the same as in the text.
    column: Option<usize>,
}

impl Excerpt {
    fn new(name: &str, text: String, column: Option<usize>) -> Excerpt {
        Excerpt { source: NamedSource::new(name, text), column }
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let found = self.source.read_span(span, before, after)?;
        // The place itself is requested without the lines around it.
        let column = self.column.filter(|_| before == 0);
        Ok(Box::new(MietteSpanContents::new_named(
            self.source.name().to_owned(),
            found.data(),
            *found.span(),
            found.line(),
            column.unwrap_or_else(|| found.column()),
            found.line_count(),
        )))
    }
}

/// A text with parts of lines, and the place in it.
#[derive(Debug, PartialEq, Eq)]
struct Short {
    text: String,
    span: Range<usize>,
    column: usize,
}

/// `None` if all lines that are shown are short enough.
fn shorten(text: &str, span: &Range<usize>) -> Option<Short> {
    let start = text.floor_char_boundary(span.start.min(text.len()));
    let end = text.ceil_char_boundary(span.end.clamp(start, text.len()));
    let line_start = |at: usize| text[..at].rfind('\n').map_or(0, |found| found + 1);
    let line_end = |at: usize| text[at..].find('\n').map_or(text.len(), |found| at + found);
    let this = line_start(start)..line_end(start);
    let previous = line_start(this.start.saturating_sub(1));
    let last = line_end((line_end(end) + 1).min(text.len()));
    let is_short = |line: &str| line.len() <= LINE_BYTES_MAX;
    if text[previous..last].split('\n').all(is_short) {
        return None;
    }
    let mut short = text[..previous].to_owned();
    if previous < this.start {
        short += &cut(&text[previous..this.start - 1], 0).0;
        short.push('\n');
    }
    let (line, at) = cut(&text[this.clone()], start - this.start);
    let place = short.len() + at;
    short += &line;
    // A place in several lines is shown by its first one.
    let length = (end.min(this.end) - start).min(short.len() - place);
    if this.end < text.len() {
        let next = this.end + 1;
        short.push('\n');
        short += &cut(&text[next..line_end(next)], 0).0;
    }
    let place_end = short.floor_char_boundary(place + length);
    Some(Short { text: short, span: place..place_end, column: start - this.start })
}

/// The part of a line around a place, and where in it the place is.
fn cut(line: &str, at: usize) -> (String, usize) {
    if line.len() <= LINE_BYTES_MAX {
        return (line.to_owned(), at);
    }
    let from = line.floor_char_boundary(at.saturating_sub(BEFORE_BYTES));
    let to = line.floor_char_boundary((at + AFTER_BYTES).min(line.len()));
    let begin = if from > 0 { "…" } else { "" };
    let end = if to < line.len() { "…" } else { "" };
    let shown = format!("{begin}{}{end}", &line[from..to]);
    (shown, begin.len() + at - from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(text: &str, span: Range<usize>) -> String {
        let diagnostic = MietteDiagnostic::new("wrong");
        let label = Some("here".to_owned());
        let report = report(diagnostic, Some(span), label, "a.yaml", text);
        format!("{report:?}")
    }

    #[test]
    fn short_lines_are_shown_as_they_are() {
        let text = "a: 1\nb: wrong\nc: 3\n";
        assert_eq!(shorten(text, &(8..13)), None);
        let seen = rendered(text, 8..13);
        assert!(seen.contains("a.yaml:2:4"), "{seen}");
        assert!(seen.contains("b: wrong"), "{seen}");
    }

    #[test]
    fn a_place_far_to_the_right_is_shown_with_what_is_around_it() {
        // A character of two bytes, so that cuts meet its middle.
        let text = format!("a: 1\nb: {}wrong{}\nc: 3\n", "é".repeat(70_000), "y".repeat(70_000));
        let at = text.find("wrong").unwrap();
        let seen = rendered(&text, at..at + 5);
        assert!(seen.contains("a.yaml:2:140004"), "{seen}");
        assert!(seen.contains("éwrongy"), "{seen}");
        assert!(seen.contains("a: 1") && seen.contains("c: 3"), "{seen}");
        assert!(seen.len() < 3_000, "{}", seen.len());
        // A place that is itself long, and one that spans lines.
        for span in [8..at, 5..text.len(), 0..text.len(), at..text.len() + 9] {
            assert!(rendered(&text, span).len() < 4_000);
        }
    }

    #[test]
    fn long_lines_beside_the_place_are_cut() {
        let long = "z".repeat(100_000);
        let text = format!("{long}\nwrong\n{long}");
        let seen = rendered(&text, 100_001..100_006);
        assert!(seen.contains("a.yaml:2:1"), "{seen}");
        assert!(seen.contains("wrong"), "{seen}");
        assert!(seen.len() < 3_000, "{}", seen.len());
    }

    #[test]
    fn places_at_the_ends_are_shown() {
        let long = "z".repeat(100_000);
        for text in ["", "a", "a\n", &long, &format!("{long}\n")] {
            for start in [0, text.len() / 2, text.len()] {
                assert!(rendered(text, start..text.len()).contains("wrong"));
            }
        }
    }
}
