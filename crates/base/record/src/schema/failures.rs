//! Failures by their kinds, and the times in which a step was worse than in the rest of its run.

use serde::{Deserialize, Serialize};

/// A line of `errors.jsonl`: failures of one kind with one detail, at one step, in one interval of the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// Start of the interval, since the run's start.
    pub start_ns: u64,
    /// Index into `RunInfo::phases`.
    pub phase: u32,
    /// Index into `RunInfo::measures`; `None`: the step is no operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<u16>,
    /// The step that is no operation: "`set` of `code`".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_step: Option<String>,
    /// [`crate::Outcome::name`].
    pub kind: String,
    /// The detail that the kind lacks: a status code, a code of gRPC, a close code, the text of an exception without its
    /// numbers, the check that failed. `None`: the kind says all. [`ErrorCount::OTHERS`]: details that were too many
    /// to be told apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// How many failed so.
    pub count: u64,
}

impl ErrorCount {
    /// The detail of failures whose own detail is not kept, because a run had too many different ones.
    pub const OTHERS: &str = "others";
    /// Most different failures (step, kind and detail) that a run tells apart: the first ones, of those that are new in the
    /// same interval the most frequent.
    pub const DISTINCT_MAX: usize = 200;
}

/// A line of `samples.jsonl`: one failure as its user saw it. Secrets are removed, and texts are bounded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ts_rs::TS)]
pub struct ErrorSample {
    /// When it failed, since the run's start.
    pub at_ns: u64,
    /// Index into `RunInfo::measures`; `None`: the step is no operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<u16>,
    /// The step that is no operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_step: Option<String>,
    /// [`crate::Outcome::name`].
    pub kind: String,
    /// As in [`ErrorCount::detail`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The number of the user.
    pub user: u64,
    /// The failure in words.
    pub text: String,
    /// The request's method and path, without its query, such as `GET /cart`; what was computed or drawn for it is `…`.
    /// `None` if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The answer's status line, or another protocol's code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The answer's headers, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The first 2 KiB of the answer's body, with what is no UTF-8 replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// Failures of one kind with one detail at one step, over the complete run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct ErrorSummary {
    /// The step's name.
    pub step: String,
    /// [`crate::Outcome::name`].
    pub kind: String,
    /// As in [`ErrorCount::detail`].
    pub detail: Option<String>,
    /// How many failed so.
    pub count: u64,
    /// `count` by the operations of the step that succeeded or failed, 0..=1; `None` if the step is no operation.
    pub share: Option<f64>,
    /// The start of the interval in which the first failed, since the run's start.
    pub first_ns: u64,
    /// The end of the interval in which the last failed.
    pub last_ns: u64,
    /// `count` by phase, in the order of `RunInfo::phases`.
    pub by_phase: Vec<u64>,
    /// Samples of the failures, the first ones of the run.
    pub samples: Vec<ErrorSample>,
}

/// A failure in a few words, by its kind and detail: `status 503`, `check: total > 0`, `timeout`, `save, others`.
pub fn failure_name(kind: &str, detail: Option<&str>) -> String {
    match detail {
        None => kind.to_owned(),
        Some(ErrorCount::OTHERS) => format!("{kind}, {}", ErrorCount::OTHERS),
        Some(code) if code.chars().all(|c| c.is_ascii_digit()) => format!("{kind} {code}"),
        Some(detail) => format!("{kind}: {detail}"),
    }
}

/// A window in which a step was worse than in the rest of its run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct Incident {
    /// The step's name.
    pub step: String,
    /// The tag whose operations were worse, if others of its key were not: `region=sydney`.
    pub tag: Option<String>,
    /// In what it was worse, the clearest first.
    pub kinds: Vec<IncidentKind>,
    /// The window's begin, since the run's start.
    pub begin_ns: u64,
    /// The window's end.
    pub end_ns: u64,
    /// True if it had not ended when the load ended.
    pub to_the_end: bool,
    /// The step outside of the step's incidents.
    pub usual: IncidentFigures,
    /// The step in the window.
    pub during: IncidentFigures,
    /// Whatever else began, ended or was at its limit then, in words, the nearest first.
    pub beside: Vec<String>,
    /// The incident in one sentence: "checkout: p50 8 ms → 401 ms, 30 % failed, from 0:15 to 0:25 (82 of 273)".
    pub text: String,
}

/// In what a step was worse.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ts_rs::TS,
)]
#[serde(rename_all = "snake_case")]
pub enum IncidentKind {
    /// More operations failed.
    Errors,
    /// Operations were not answered.
    Unanswered,
    /// Answers took longer.
    Response,
    /// Fewer operations were completed than were due.
    Throughput,
}

/// A step within some time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct IncidentFigures {
    /// Operations that succeeded or failed.
    pub operations: u64,
    /// Those of them that failed.
    pub errors: u64,
    /// Operations that began and had no answer.
    pub unanswered: u64,
    /// Median of the response times of successes; `None`: there were none.
    pub p50_ns: Option<u64>,
    /// The 90th percentile of them.
    pub p90_ns: Option<u64>,
    /// `operations` by second.
    pub per_s: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_named_by_its_kind_and_detail() {
        let named = |kind, detail| failure_name(kind, detail);
        assert_eq!(named("timeout", None), "timeout");
        assert_eq!(named("status", Some("503")), "status 503");
        assert_eq!(named("check", Some("total > 0")), "check: total > 0");
        assert_eq!(named("save", Some(ErrorCount::OTHERS)), "save, others");
    }
}
