//! Failures by what they were: counts by kind and detail, and some of each as their users saw them.
//!
//! An operation that fails is explained first and counted then: [`Failures::explain`] takes what is known besides the
//! outcome, and [`Failures::count`] adds one to that kind when the operation is recorded. What succeeds comes here never.
//! A detail is a number of a protocol or the number of a text that is kept once, so that the next failure of a kind costs
//! a search in a small map. A text is only made where it is the detail, or where a sample is still wanted.

mod detail;

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use plan::builtin;
use plan::{MeasureId, Pc, SessionId};
use proto::http1::Head;
use record::Outcome;
use record::schema::ErrorCount;
use serde::{Deserialize, Serialize};

use crate::fetch::content;

pub use detail::without_numbers;
pub(crate) use detail::{Cause, Code};
use detail::{Detail, code_of, plain, shortened};

/// Most samples that a loop hands over in one interval: with their bytes, at most 400 KiB.
pub const INTERVAL_SAMPLES_MAX: usize = 50;
/// Most different texts of details that a loop keeps. Failures with further ones are not told apart.
const TEXTS_MAX: usize = 400;
/// Bytes of a sample's text.
const TEXT_BYTES_MAX: usize = 1 << 10;
/// Bytes of an answer's body in a sample.
pub(crate) const BODY_BYTES_MAX: usize = 2 << 10;
/// Bytes of a sample's request.
const REQUEST_BYTES_MAX: usize = 512;
/// Headers of a sample.
pub const HEADERS_MAX: usize = 16;
/// Bytes of a header's name and value in a sample.
const HEADER_BYTES_MAX: usize = 128;
/// Bytes of any one text of a sample; all of them together have at most 8 KiB.
pub const FIELD_BYTES_MAX: usize = 4 << 10;

/// Failures of one kind with one detail at one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorDelta {
    pub measure: MeasureId,
    /// The step, if it is no operation.
    pub own_step: Option<String>,
    pub outcome: Outcome,
    /// As in [`ErrorCount::detail`].
    pub detail: Option<String>,
    pub count: u64,
}

/// A failure as its user saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    pub at_ns: u64,
    pub measure: MeasureId,
    /// The step, if it is no operation.
    pub own_step: Option<String>,
    pub outcome: Outcome,
    /// As in [`ErrorCount::detail`].
    pub detail: Option<String>,
    pub user: u64,
    /// The failure in words.
    pub text: String,
    /// Method and path.
    pub request: Option<String>,
    pub status: Option<String>,
    pub headers: Vec<(String, String)>,
    /// The beginning of the body.
    pub body: Option<String>,
}

/// The place of a step in the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StepPlace {
    pub(crate) session: SessionId,
    pub(crate) pc: Pc,
}

/// A failure that is about to be counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FailureReport<'a> {
    pub(crate) at_ns: u64,
    pub(crate) measure: MeasureId,
    /// The instruction, if its step is no operation.
    pub(crate) own_step: Option<StepPlace>,
    pub(crate) outcome: Outcome,
    pub(crate) user: u64,
    pub(crate) cause: Cause<'a>,
}

impl FailureReport<'static> {
    /// A failure of an operation with this number of a user. Its text is its detail, if the outcome does not say all.
    pub(crate) fn new(
        at_ns: u64,
        measure: MeasureId,
        outcome: Outcome,
        user: u64,
    ) -> FailureReport<'static> {
        FailureReport { at_ns, measure, own_step: None, outcome, user, cause: Cause::Text }
    }
}

/// The features that failures have in common which count as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ErrorKey {
    measure: MeasureId,
    own_step: Option<StepPlace>,
    outcome: Outcome,
    detail: Detail,
}

/// The last failure that was explained.
#[derive(Debug, Clone, Copy)]
struct ExplainedFailure {
    key: ErrorKey,
    user: u64,
}

/// Failures of a loop.
#[derive(Debug)]
pub(crate) struct Failures {
    /// Samples of each kind; 0: none.
    samples_max: u8,
    /// A number of the protocol with which whatever fails now does so, unless it has a detail of its own.
    pub(crate) code: Option<Code>,
    explained: Option<ExplainedFailure>,
    /// The texts of details by their numbers, and their numbers.
    texts: Vec<Arc<str>>,
    numbers: BTreeMap<Arc<str>, u32>,
    /// The failures of the interval.
    counts: BTreeMap<ErrorKey, u64>,
    /// The samples of each kind so far.
    kept: BTreeMap<ErrorKey, u8>,
    /// The samples of the interval.
    samples: Vec<Sample>,
    /// The steps that are no operations, by session and instruction.
    own_steps: Arc<BTreeMap<StepPlace, String>>,
}

impl Failures {
    pub(crate) fn new(samples_max: u8, own_steps: Arc<BTreeMap<StepPlace, String>>) -> Failures {
        Failures {
            samples_max,
            code: None,
            explained: None,
            texts: Vec::new(),
            numbers: BTreeMap::new(),
            counts: BTreeMap::new(),
            kept: BTreeMap::new(),
            samples: Vec::new(),
            own_steps,
        }
    }

    /// Takes what is known of a failure. True if it is kept as a sample that wants to know of the request and its answer.
    pub(crate) fn explain<F: FnOnce() -> String>(
        &mut self,
        failed: &FailureReport<'_>,
        text: &LazyCell<String, F>,
    ) -> bool {
        let own_step = failed.own_step.filter(|at| self.own_steps.contains_key(at));
        let key = ErrorKey {
            measure: failed.measure,
            own_step,
            outcome: failed.outcome,
            detail: self.detail(failed, text),
        };
        self.explained = Some(ExplainedFailure { key, user: failed.user });
        let is_wanted = self.wants_sample(&key);
        if is_wanted {
            *self.kept.entry(key).or_default() += 1;
            let sample = Sample {
                at_ns: failed.at_ns,
                measure: key.measure,
                own_step: own_step.and_then(|at| self.own_steps.get(&at).cloned()),
                outcome: key.outcome,
                detail: self.shown(key.outcome, key.detail),
                user: failed.user,
                text: shortened(text, TEXT_BYTES_MAX),
                request: None,
                status: None,
                headers: Vec::new(),
                body: None,
            };
            self.samples.push(sample);
        }
        is_wanted
    }

    /// Counts a failure, of this user's if it is a user's. `status`: that of its row.
    pub(crate) fn count(
        &mut self,
        measure: MeasureId,
        outcome: Outcome,
        user: Option<u64>,
        status: u16,
    ) {
        let explained = self.explained.filter(|last| {
            last.key.outcome == outcome && user.is_none_or(|user| user == last.user)
        });
        let detail = match (outcome, status) {
            (Outcome::Status, 1..) => Detail::Status(status),
            _ => plain(outcome),
        };
        let unexplained = ErrorKey { measure, own_step: None, outcome, detail };
        let key = match explained {
            Some(last) if last.key.measure == measure => {
                self.explained = None;
                last.key
            }
            // The step that needed the connection is still to be counted.
            Some(last) if measure == builtin::CONNECT => {
                ErrorKey { detail: last.key.detail, ..unexplained }
            }
            _ => unexplained,
        };
        if let Some(count) = self.counts.get_mut(&key) {
            *count += 1;
            return;
        }
        let is_known = self.counts.len() < ErrorCount::DISTINCT_MAX;
        let key = if is_known { key } else { ErrorKey { detail: Detail::Others, ..key } };
        *self.counts.entry(key).or_default() += 1;
    }

    /// The step that is no operation, at which the failure is that is counted next.
    pub(crate) fn blame(
        &mut self,
        measure: MeasureId,
        outcome: Outcome,
        user: u64,
        own_step: StepPlace,
    ) {
        let last = self.explained.filter(|last| last.key.outcome == outcome && last.user == user);
        let detail = last.map_or(plain(outcome), |last| last.key.detail);
        let own_step = Some(own_step).filter(|at| self.own_steps.contains_key(at));
        let key = ErrorKey { measure, own_step, outcome, detail };
        self.explained = Some(ExplainedFailure { key, user });
    }

    /// True as long as answers with this status are wanted as samples of this measure.
    pub(crate) fn wants_status(&self, measure: MeasureId, status: u16) -> bool {
        let outcome = Outcome::Status;
        let detail = Detail::Status(status);
        self.wants_sample(&ErrorKey { measure, own_step: None, outcome, detail })
    }

    fn wants_sample(&self, key: &ErrorKey) -> bool {
        if !key.outcome.is_error() || self.samples.len() >= INTERVAL_SAMPLES_MAX {
            return false;
        }
        match self.kept.get(key) {
            Some(kept) => *kept < self.samples_max,
            None => self.samples_max > 0 && self.kept.len() < ErrorCount::DISTINCT_MAX,
        }
    }

    /// Adds to the newest sample what it was an answer to, and the answer.
    /// `discreet` removes the user's secrets from a text.
    pub(crate) fn complete_sample(
        &mut self,
        request: Option<String>,
        answer: Option<Answer<'_>>,
        discreet: impl Fn(String) -> String,
    ) {
        let Some(sample) = self.samples.last_mut() else {
            return;
        };
        let short = |text: &str, bytes_max| shortened(&discreet(text.to_owned()), bytes_max);
        sample.request = request.map(|request| short(&request, REQUEST_BYTES_MAX));
        let Some(Answer { head, body, is_decoded }) = answer else {
            return;
        };
        if let Some(head) = head {
            let line = head.raw.split(|&byte| matches!(byte, b'\r' | b'\n')).next();
            let line = String::from_utf8_lossy(line.unwrap_or_default());
            sample.status = Some(short(&line, HEADER_BYTES_MAX));
            let headers = head.headers().take(HEADERS_MAX).map(|(name, value)| {
                let value = String::from_utf8_lossy(&value);
                // The query of an address may hold anything, as that of the request, which is not shown.
                let value = match name.eq_ignore_ascii_case("location") {
                    true => without_query(&value),
                    false => &*value,
                };
                (shortened(name, HEADER_BYTES_MAX), short(value, HEADER_BYTES_MAX))
            });
            sample.headers = headers.collect();
        }
        let coding =
            head.filter(|_| !is_decoded && !body.is_empty()).and_then(Head::content_coding);
        let (plain, is_all) = match coding {
            None => (Cow::Borrowed(body), true),
            Some(coding) => match content::decode_start(&coding, body, BODY_BYTES_MAX) {
                Ok((start, is_all)) => (Cow::Owned(start), is_all),
                Err(_) => {
                    let length = match body.len() > BODY_BYTES_MAX {
                        true => format!("more than {BODY_BYTES_MAX}"),
                        false => body.len().to_string(),
                    };
                    sample.body = Some(format!("{length} bytes that are compressed with {coding}"));
                    return;
                }
            },
        };
        let begin = &plain[..plain.len().min(BODY_BYTES_MAX)];
        let mut text = String::from_utf8_lossy(begin).into_owned();
        if plain.len() > BODY_BYTES_MAX || !is_all {
            text.push('…');
        }
        sample.body = (!plain.is_empty()).then(|| short(&text, BODY_BYTES_MAX));
    }

    /// The counts of the interval, which is over.
    pub(crate) fn take_counts(&mut self) -> Vec<ErrorDelta> {
        let counts = std::mem::take(&mut self.counts).into_iter();
        let counts = counts.map(|(key, count)| ErrorDelta {
            measure: key.measure,
            own_step: key.own_step.and_then(|at| self.own_steps.get(&at).cloned()),
            outcome: key.outcome,
            detail: self.shown(key.outcome, key.detail),
            count,
        });
        counts.collect()
    }

    /// The samples of the interval.
    pub(crate) fn take_samples(&mut self) -> Vec<Sample> {
        std::mem::take(&mut self.samples)
    }

    fn detail<F: FnOnce() -> String>(
        &mut self,
        failed: &FailureReport<'_>,
        text: &LazyCell<String, F>,
    ) -> Detail {
        let outcome = failed.outcome;
        match failed.cause {
            Cause::Code(code) => code_of(code),
            Cause::Named(name) if name.len() <= detail::BYTES_MAX => self.number(name),
            Cause::Named(name) => self.number(&shortened(name, detail::BYTES_MAX)),
            Cause::Text => match self.code.filter(|_| detail::may_have_code(outcome)) {
                Some(code) => code_of(code),
                None if detail::is_text(outcome) => self.number(&detail::of_text(outcome, text)),
                None => plain(outcome),
            },
        }
    }

    /// The number of a text, which is kept if there is room for it.
    fn number(&mut self, text: &str) -> Detail {
        if let Some(number) = self.numbers.get(text) {
            return Detail::Text(*number);
        }
        if self.texts.len() >= TEXTS_MAX {
            return Detail::Others;
        }
        let number = self.texts.len() as u32;
        let text: Arc<str> = text.into();
        self.numbers.insert(text.clone(), number);
        self.texts.push(text);
        Detail::Text(number)
    }

    fn shown(&self, outcome: Outcome, detail: Detail) -> Option<String> {
        match detail {
            Detail::Text(number) => self.texts.get(number as usize).map(|text| (**text).to_owned()),
            detail => detail::shown(outcome, detail),
        }
    }
}

/// A path or an address without its query: the names of measures do not have it either, and it may hold anything.
pub(crate) fn without_query(target: &str) -> &str {
    target.split(['?', '#']).next().unwrap_or_default()
}

/// An answer that a failure was, or the message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer<'a> {
    pub(crate) head: Option<&'a Head<'a>>,
    pub(crate) body: &'a [u8],
    /// The body was encoded; its head still says so.
    pub(crate) is_decoded: bool,
}

#[cfg(test)]
mod tests;
