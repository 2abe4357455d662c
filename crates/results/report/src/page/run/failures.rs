//! Failures of a run, by step, kind and detail: from its summary, or, of a record that does not say so, from its
//! course.

use std::collections::BTreeSet;

use judge::course::{Course, ErrorTrack, Number};
use judge::shown_names;
use record::schema::{ErrorCount, ErrorSample, ErrorSummary, RunInfo, Summary};
use serde::Serialize;

use super::seconds;

/// Most failures that are listed: the most frequent.
const FAILURES_MAX: usize = ErrorCount::DISTINCT_MAX + 1;
/// Most samples of one failure, and most bytes of the texts of all samples.
const SAMPLES_MAX: usize = 5;
const SAMPLE_BYTES_MAX: usize = 512 << 10;

/// The failures of a run.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Failures<'a> {
    /// The most frequent first.
    list: Vec<Failure<'a>>,
    /// Number of further ones.
    left_out: usize,
    /// Number of samples that only the record has.
    samples_left_out: usize,
}

/// Failures of one kind with one detail at one step.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Failure<'a> {
    step: &'a str,
    /// The names of its rows among the steps, and of its lines in the course.
    rows: BTreeSet<String>,
    kind: &'a str,
    /// A status code, a close code, the check that failed; `None`: the kind says all.
    detail: Option<&'a str>,
    count: u64,
    /// `count` by the operations of the step that succeeded or failed, 0..=1; `None` if the step is no operation.
    share: Option<Number>,
    /// When the first and the last failed; `None` if the record does not say.
    first_s: Option<Number>,
    last_s: Option<Number>,
    /// `count` by phase; empty if the record does not say.
    by_phase: &'a [u64],
    /// Failures a second, in the points of `Course::lines`; empty if the record does not say.
    line: &'a [Number],
    samples: Vec<&'a ErrorSample>,
}

impl<'a> Failures<'a> {
    pub(super) fn new(summary: &'a Summary, course: &'a Course, info: &RunInfo) -> Failures<'a> {
        let mut list: Vec<Failure<'a>> = match summary.errors.is_empty() {
            true => course.errors.iter().map(|track| of_track(track, summary)).collect(),
            false => summary.errors.iter().map(|found| of_summary(found, course)).collect(),
        };
        let more = if summary.errors.is_empty() { course.errors_left_out } else { 0 };
        let left_out = list.len().saturating_sub(FAILURES_MAX) + more;
        list.truncate(FAILURES_MAX);
        for failure in &mut list {
            failure.rows = shown_names(info, failure.step, None);
        }
        let samples_left_out = add_samples(&mut list, &summary.errors);
        Failures { list, left_out, samples_left_out }
    }
}

fn of_summary<'a>(found: &'a ErrorSummary, course: &'a Course) -> Failure<'a> {
    let is_same = |track: &&ErrorTrack| {
        track.step == found.step && track.kind == found.kind && track.detail == found.detail
    };
    let track = course.errors.iter().find(is_same);
    Failure {
        step: &found.step,
        rows: BTreeSet::new(),
        kind: &found.kind,
        detail: found.detail.as_deref(),
        count: found.count,
        share: found.share.map(Number),
        first_s: Some(seconds(found.first_ns)),
        last_s: Some(seconds(found.last_ns)),
        by_phase: &found.by_phase,
        line: track.map(|track| track.line.as_slice()).unwrap_or_default(),
        samples: Vec::new(),
    }
}

fn of_track<'a>(track: &'a ErrorTrack, summary: &Summary) -> Failure<'a> {
    let measure = summary.measures.iter().find(|measure| measure.name == track.step);
    let measure = measure.filter(|measure| measure.count > 0);
    Failure {
        step: &track.step,
        rows: BTreeSet::new(),
        kind: &track.kind,
        detail: track.detail.as_deref(),
        count: track.count,
        share: measure.map(|measure| Number(track.count as f64 / measure.count as f64)),
        first_s: None,
        last_s: None,
        by_phase: &[],
        line: &track.line,
        samples: Vec::new(),
    }
}

/// Adds samples as far as there is room: the first of each failure, then the second of each, and so on. Returns the
/// number of those for which there is none.
fn add_samples<'a>(list: &mut [Failure<'a>], errors: &'a [ErrorSummary]) -> usize {
    let mut room = SAMPLE_BYTES_MAX;
    let mut left_out = 0;
    for place in 0..SAMPLES_MAX {
        for (failure, found) in list.iter_mut().zip(errors) {
            let Some(sample) = found.samples.get(place) else { continue };
            match room.checked_sub(bytes(sample)) {
                Some(rest) => {
                    room = rest;
                    failure.samples.push(sample);
                }
                None => left_out += 1,
            }
        }
    }
    let further = errors.iter().map(|found| found.samples.len().saturating_sub(SAMPLES_MAX));
    left_out + further.sum::<usize>()
}

/// Bytes of the texts of a sample.
fn bytes(sample: &ErrorSample) -> usize {
    let texts = [&sample.request, &sample.status, &sample.body].into_iter().flatten();
    let headers = sample.headers.iter().map(|(name, value)| name.len() + value.len());
    sample.text.len() + texts.map(String::len).sum::<usize>() + headers.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::tests::course;
    use crate::sample;

    fn found(detail: &str, count: u64, body_bytes: usize) -> ErrorSummary {
        let sample = ErrorSample {
            at_ns: 15_250_000_000,
            measure: Some(1),
            own_step: None,
            kind: "status".to_owned(),
            detail: Some(detail.to_owned()),
            user: 17,
            text: "status".to_owned(),
            request: Some("GET /cart HTTP/1.1".to_owned()),
            status: Some("503 Service Unavailable".to_owned()),
            headers: vec![("retry-after".to_owned(), "1".to_owned())],
            body: Some("x".repeat(body_bytes)),
        };
        ErrorSummary {
            step: "request".to_owned(),
            kind: "status".to_owned(),
            detail: Some(detail.to_owned()),
            count,
            share: Some(0.25),
            first_ns: 15_000_000_000,
            last_ns: 26_000_000_000,
            by_phase: vec![0, count],
            samples: vec![sample; 5],
        }
    }

    #[test]
    fn each_failure_has_a_sample_before_one_has_two() {
        let mut summary = sample::summary();
        summary.errors = vec![found("503", 82, 200 << 10), found("404", 3, 200 << 10)];
        let course = course();
        let failures = Failures::new(&summary, &course, &sample::info());
        let samples: Vec<usize> = failures.list.iter().map(|one| one.samples.len()).collect();
        assert_eq!(samples, [1, 1]);
        assert_eq!((failures.left_out, failures.samples_left_out), (0, 8));
        let first = &failures.list[0];
        assert_eq!((first.first_s, first.last_s), (Some(Number(15.0)), Some(Number(26.0))));
        assert!(first.line.is_empty(), "the course has no such failure");
    }

    #[test]
    fn a_record_without_details_has_the_failures_of_its_course() {
        let mut summary = sample::summary();
        let mut course = course();
        "request".clone_into(&mut course.errors[0].step);
        course.errors[0].count = 72;
        let failures = Failures::new(&summary, &course, &sample::info());
        let one = &failures.list[0];
        assert_eq!((one.step, one.kind, one.count), ("request", "timeout", 72));
        assert_eq!(one.share, Some(Number(72.0 / 720_000.0)));
        assert_eq!(one.line.len(), 2);
        summary.errors = vec![found("503", 82, 0)];
        assert_eq!(Failures::new(&summary, &course, &sample::info()).list[0].detail, Some("503"));
    }
}
