//! What was wrong with lines, counted by kind with the first of each.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Examples kept of each kind.
const EXAMPLES_MAX: usize = 3;
/// Characters kept of an example.
const EXAMPLE_CHARS_MAX: usize = 160;

/// What can be wrong with a line.
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
    /// Left out: there is no such time, or none that a log of our days has.
    NotATime,
    /// Left out: its request is none.
    Request,
    /// Left out: its target has no path, as in `OPTIONS *` or `CONNECT`.
    NoPath,
    /// Left out: it has nothing that its session could be known by.
    NoKey,
    /// Left out: it is longer than any line may be.
    TooLong,
    /// Left out: the file ends in the middle of it.
    CutOff,
    /// Kept: its time names no zone, and was taken as the zone's that was given, or UTC.
    NoZone,
    /// Kept: its time is one that the clock showed twice; it was taken as the first.
    TimeRepeated,
    /// Kept: its time is one that the clock was put forward over.
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

    /// What is said of such lines, after their number.
    pub fn text(self) -> &'static str {
        match self {
            ProblemKind::Format => "do not have the log's format",
            ProblemKind::OtherFormat => "have another format than the file began with",
            ProblemKind::NoTime => "have no time",
            ProblemKind::NoYear => "have a time without a year",
            ProblemKind::NotATime => {
                "have a time that there is not, or that is no log's (before 1824, after 2115)"
            }
            ProblemKind::Request => "have no request that could be read",
            ProblemKind::NoPath => "ask for no path",
            ProblemKind::NoKey => "have nothing to know their session by",
            ProblemKind::TooLong => "are longer than a line may be",
            ProblemKind::CutOff => "are cut off by the file's end",
            ProblemKind::NoZone => "have a time without a zone, taken as the zone given, or UTC",
            ProblemKind::TimeRepeated => "have a time that the clock showed twice, taken as the first",
            ProblemKind::TimeSkipped => "have a time that the clock was put forward over",
            ProblemKind::NotUtf8 => "are not UTF-8; such bytes were percent-encoded",
            ProblemKind::ClockBack => "are earlier than the line above them",
        }
    }
}

/// Lines of one kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProblemCount {
    /// How many.
    pub lines: u64,
    /// The first of them, each as file:line and its beginning.
    pub examples: Vec<Example>,
}

/// A line that stands for others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Example {
    /// The place of its file among those read.
    #[serde(skip)]
    pub(crate) file: u32,
    /// From 1.
    pub(crate) line: u64,
    /// `FILE:LINE`.
    pub at: String,
    /// Its beginning.
    pub text: String,
}

/// Counts by kind.
#[derive(Debug, Clone, Default)]
pub(crate) struct LineProblems {
    pub(crate) kinds: BTreeMap<ProblemKind, ProblemCount>,
}

impl LineProblems {
    /// Counts a line. `name` is asked only for lines that are kept as examples.
    pub(crate) fn add(&mut self, kind: ProblemKind, (file, line): (u32, u64), text: &[u8], name: &str) {
        let count = self.kinds.entry(kind).or_default();
        count.lines += 1;
        if count.examples.len() < EXAMPLES_MAX {
            let cut = &text[..text.len().min(4 * EXAMPLE_CHARS_MAX)];
            let shown = String::from_utf8_lossy(cut);
            let clean = shown
                .chars()
                .map(|c| if c.is_control() { '\u{fffd}' } else { c });
            count.examples.push(Example {
                file,
                line,
                at: format!("{name}:{line}"),
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

    /// The kind that most of the lines have that were left out.
    pub(crate) fn most(&self) -> ProblemKind {
        let bad = self.kinds.iter().filter(|(kind, _)| kind.is_bad());
        let most = bad.max_by_key(|(_, count)| count.lines);
        most.map_or(ProblemKind::Format, |(kind, _)| *kind)
    }

    /// Lines that were left out.
    pub(crate) fn bad(&self) -> u64 {
        let bad = self.kinds.iter().filter(|(kind, _)| kind.is_bad());
        bad.map(|(_, count)| count.lines).sum()
    }
}
