//! Problems of log lines, counted by kind with the first examples of each.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Examples kept of each kind.
const EXAMPLES_MAX: usize = 3;
/// Characters kept of an example.
const EXAMPLE_CHARS_MAX: usize = 160;

/// A problem of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// Left out: it does not have the log's format.
    Format,
    /// Left out: it looks like a line of another format.
    OtherFormat,
    /// Left out: it has no time.
    NoTime,
    /// Left out: its time has no year.
    NoYear,
    /// Left out: its time is impossible, or outside the supported years.
    NotATime,
    /// Left out: its request cannot be read.
    Request,
    /// Left out: the server received no request, but TLS or other bytes at a plain port, or nothing at all.
    NoRequest,
    /// Left out: its target has no path, as in `OPTIONS *` or `CONNECT`.
    NoPath,
    /// Left out: it lacks a part of the key.
    NoKey,
    /// Left out: it is longer than the maximum.
    TooLong,
    /// Left out: the file ends in the middle of it.
    CutOff,
    /// Kept: its time names no zone, and was taken as the zone's that was given, or UTC.
    NoZone,
    /// Kept: the clock showed its time twice; it was read as the first.
    TimeRepeated,
    /// Kept: the clock skipped its time when it was put forward.
    TimeSkipped,
    /// Kept: it is not UTF-8; the bytes were percent-encoded.
    NotUtf8,
    /// Kept: its time is before that of the line above it by more than a second.
    ClockBack,
}

impl ProblemKind {
    /// Whether the line was left out.
    pub fn is_bad(self) -> bool {
        self <= ProblemKind::CutOff
    }

    /// Whether the line was left out, though it has the log's format: it records something else than a request for a
    /// path.
    pub fn is_no_request(self) -> bool {
        matches!(self, ProblemKind::NoRequest | ProblemKind::NoPath)
    }

    /// A phrase that follows the number of such lines.
    pub fn text(self) -> &'static str {
        match self {
            ProblemKind::Format => "not in the log's format",
            ProblemKind::OtherFormat => "in another format than the first lines of the file",
            ProblemKind::NoTime => "without a time",
            ProblemKind::NoYear => "with a time without a year",
            ProblemKind::NotATime => "with an impossible time, or one before 1824 or after 2115",
            ProblemKind::Request => "without a readable request",
            ProblemKind::NoRequest => {
                "for which the server received no request, such as TLS at a plain port"
            }
            ProblemKind::NoPath => "whose request has no path",
            ProblemKind::NoKey => "without the parts of --key",
            ProblemKind::TooLong => "longer than 64 KiB",
            ProblemKind::CutOff => "cut off by the end of the file",
            ProblemKind::NoZone => "with a time without a zone, read as UTC",
            ProblemKind::TimeRepeated => {
                "with a time that the clock showed twice, read as the first"
            }
            ProblemKind::TimeSkipped => "with a time that the clock skipped",
            ProblemKind::NotUtf8 => "not in UTF-8, whose bytes were percent-encoded",
            ProblemKind::ClockBack => "earlier than the line above",
        }
    }
}

/// Lines with one kind of problem.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProblemCount {
    /// How many.
    pub lines: u64,
    /// The first of these, each as file:line and its beginning.
    pub examples: Vec<Example>,
}

/// A line that stands for others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Example {
    /// The place of its file among those read.
    #[serde(skip)]
    pub(crate) file: u32,
    /// Number of the line, from 1.
    pub(crate) line: u64,
    /// `FILE:LINE`.
    pub at: String,
    /// The beginning of the line.
    pub text: String,
}

/// The place of a line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LinePlace {
    /// Number of the file, from 0.
    pub(crate) file: u32,
    /// Number of the line in the file, from 1.
    pub(crate) line: u64,
}

/// Lines that were left out for related reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinesLeftOut {
    /// How many.
    pub(crate) lines: u64,
    /// The most frequent kind among them.
    pub(crate) most: ProblemKind,
}

/// Counts by kind.
#[derive(Debug, Clone, Default)]
pub(crate) struct LineProblems {
    pub(crate) kinds: BTreeMap<ProblemKind, ProblemCount>,
}

impl LineProblems {
    /// Counts a line of the file `name`.
    pub(crate) fn add(&mut self, kind: ProblemKind, place: LinePlace, text: &[u8], name: &str) {
        let count = self.kinds.entry(kind).or_default();
        count.lines += 1;
        if count.examples.len() < EXAMPLES_MAX {
            let cut = &text[..text.len().min(4 * EXAMPLE_CHARS_MAX)];
            let shown = String::from_utf8_lossy(cut);
            let clean = shown.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
            count.examples.push(Example {
                file: place.file,
                line: place.line,
                at: format!("{name}:{}", place.line),
                text: clean.take(EXAMPLE_CHARS_MAX).collect(),
            });
        }
    }

    /// Adds what another reader counted; the first lines stay.
    pub(crate) fn merge(&mut self, other: LineProblems) {
        for (kind, count) in other.kinds {
            let own = self.kinds.entry(kind).or_default();
            own.lines += count.lines;
            own.examples.extend(count.examples);
            own.examples.sort();
            own.examples.truncate(EXAMPLES_MAX);
        }
    }

    /// Lines that were left out because they could not be read.
    pub(crate) fn unreadable(&self) -> LinesLeftOut {
        self.left_out(|kind| kind.is_bad() && !kind.is_no_request())
    }

    /// Lines that were left out because they record no request for a path.
    pub(crate) fn no_requests(&self) -> LinesLeftOut {
        self.left_out(ProblemKind::is_no_request)
    }

    fn left_out(&self, is_one: impl Fn(ProblemKind) -> bool) -> LinesLeftOut {
        let all = self.kinds.iter().filter(|(kind, _)| is_one(**kind));
        let most = all.clone().max_by_key(|(_, count)| count.lines);
        LinesLeftOut {
            lines: all.map(|(_, count)| count.lines).sum(),
            most: most.map_or(ProblemKind::Format, |(kind, _)| *kind),
        }
    }

    /// Lines that were left out.
    pub(crate) fn bad(&self) -> u64 {
        let bad = self.kinds.iter().filter(|(kind, _)| kind.is_bad());
        bad.map(|(_, count)| count.lines).sum()
    }
}
