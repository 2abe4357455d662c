use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

fn failures(samples_max: u8) -> Failures {
    let own_steps = BTreeMap::from([(
        StepPlace { session: SessionId(0), pc: 3 },
        "`set` of `code`".to_owned(),
    )]);
    Failures::new(samples_max, Arc::new(own_steps))
}

fn failed(outcome: Outcome, cause: Cause<'_>) -> FailureReport<'_> {
    FailureReport { cause, ..FailureReport::new(7, MeasureId(2), outcome, 5) }
}

/// Explains and counts a failure. True if its sample wants more.
fn fail(failures: &mut Failures, failed: &FailureReport<'_>, text: &str) -> bool {
    let is_kept = failures.explain(failed, &LazyCell::new(|| text.to_owned()));
    failures.count(failed.measure, failed.outcome, Some(failed.user), 0);
    is_kept
}

fn details(failures: &mut Failures) -> Vec<(Option<String>, u64)> {
    failures.take_counts().into_iter().map(|one| (one.detail, one.count)).collect()
}

fn detail(text: &str, count: u64) -> (Option<String>, u64) {
    (Some(text.to_owned()), count)
}

#[test]
fn each_kind_of_detail_is_shown_as_people_write_it() {
    let mut all = failures(0);
    let causes = [
        (Outcome::Status, Cause::Code(Code::Status(503))),
        (Outcome::Closed, Cause::Code(Code::Close(1006))),
        (Outcome::Rejected, Cause::Code(Code::Mqtt(135))),
        (Outcome::Check, Cause::Named("status == 200")),
        (Outcome::Script, Cause::Text),
        (Outcome::GrpcUnavailable, Cause::Text),
        (Outcome::Timeout, Cause::Text),
    ];
    for (outcome, cause) in causes {
        fail(&mut all, &failed(outcome, cause), "Error: item 12 is gone");
    }
    let mut found: Vec<Option<String>> =
        all.take_counts().into_iter().map(|one| one.detail).collect();
    found.sort();
    let expected = [
        "503",
        "Error: item # is gone",
        "UNAVAILABLE",
        "close 1006",
        "reason 135",
        "status == 200",
    ];
    let expected = expected.map(|text| Some(text.to_owned()));
    assert_eq!(found[0], None, "the outcome says all");
    assert_eq!(found[1..], expected);
    assert!(all.take_counts().is_empty(), "an interval begins with nothing");
}

#[test]
fn texts_are_only_made_where_they_say_something() {
    let mut all = failures(1);
    let status = failed(Outcome::Status, Cause::Code(Code::Status(404)));
    assert!(fail(&mut all, &status, "first"));
    let unused = LazyCell::new(|| -> String { panic!("nobody reads it") });
    assert!(!all.explain(&status, &unused));
}

#[test]
fn too_many_kinds_are_one_and_none_is_lost() {
    let mut all = failures(1);
    for status in 100..500 {
        fail(&mut all, &failed(Outcome::Status, Cause::Code(Code::Status(status))), "x");
    }
    let found = details(&mut all);
    assert_eq!(found.len(), ErrorCount::DISTINCT_MAX + 1);
    assert_eq!(found.last(), Some(&detail(ErrorCount::OTHERS, 200)));
    assert_eq!(found.iter().map(|(_, count)| count).sum::<u64>(), 400);
    assert_eq!(all.take_samples().len(), INTERVAL_SAMPLES_MAX);
}

#[test]
fn the_first_of_each_kind_are_samples() {
    let mut all = failures(2);
    let mut wants = Vec::new();
    for status in [401, 404, 401, 401, 404] {
        let failed = failed(Outcome::Status, Cause::Code(Code::Status(status)));
        assert_eq!(all.wants_status(MeasureId(2), status), wants.len() < 3 || status == 404);
        wants.push(fail(&mut all, &failed, "status"));
    }
    assert_eq!(wants, [true, true, true, false, true]);
    assert_eq!(details(&mut all), [detail("401", 3), detail("404", 2)]);
    // Without samples no text is kept.
    let mut none = failures(0);
    assert!(!fail(&mut none, &failed(Outcome::Timeout, Cause::Text), "late"));
    assert!(!fail(&mut none, &failed(Outcome::Timeout, Cause::Text), "late"));
    assert_eq!(none.take_samples(), []);
}

#[test]
fn a_connection_fails_as_the_step_that_needs_it() {
    let mut all = failures(1);
    let refused = failed(Outcome::Refused, Cause::Text);
    all.explain(&refused, &LazyCell::new(|| "connection refused".to_owned()));
    all.count(builtin::CONNECT, Outcome::Refused, Some(5), 0);
    all.count(MeasureId(2), Outcome::Refused, Some(5), 0);
    // Of another user's nothing is known, nor of the next one.
    all.count(MeasureId(2), Outcome::Refused, Some(5), 0);
    let found = details(&mut all);
    assert_eq!(
        found,
        [detail("connection refused", 1), (None, 1), detail("connection refused", 1)]
    );
}

#[test]
fn a_step_that_is_no_operation_has_its_name() {
    let mut all = failures(1);
    let own = FailureReport {
        own_step: Some(StepPlace { session: SessionId(0), pc: 3 }),
        ..failed(Outcome::Step, Cause::Text)
    };
    fail(&mut all, &own, "it is no number");
    all.blame(MeasureId(2), Outcome::Check, 5, StepPlace { session: SessionId(0), pc: 9 });
    all.count(MeasureId(2), Outcome::Check, None, 0);
    let steps: Vec<_> = all.take_counts().into_iter().map(|one| one.own_step).collect();
    assert_eq!(steps, [None, Some("`set` of `code`".to_owned())]);
}

#[test]
fn samples_are_bounded() {
    let mut all = failures(1);
    let head =
        format!("HTTP/1.1 500 Oh\r\nx-long: {}\r\n{}\r\n", "y".repeat(400), "a: b\r\n".repeat(30));
    let head = Head::stored(head.as_bytes()).unwrap();
    let body = vec![b'z'; 10_000];
    assert!(fail(&mut all, &failed(Outcome::Tls, Cause::Text), &"t".repeat(9_000)));
    let answer = Answer { head: Some(&head), body: &body, is_decoded: false };
    all.complete_sample(Some("GET /".to_owned()), Some(answer), |text| {
        text.replace("Oh", "(secret)")
    });
    let sample = all.take_samples().remove(0);
    assert_eq!(sample.status.as_deref(), Some("HTTP/1.1 500 (secret)"));
    assert_eq!(sample.request.as_deref(), Some("GET /"));
    assert_eq!(sample.headers.len(), HEADERS_MAX);
    assert!(sample.headers[0].1.len() <= HEADER_BYTES_MAX + 3);
    let body = sample.body.unwrap();
    assert!(body.ends_with("z…") && body.len() == BODY_BYTES_MAX + 3, "{}", body.len());
    assert!(sample.text.len() <= TEXT_BYTES_MAX + 3 && sample.detail.unwrap().len() <= 163);
}

#[test]
fn a_sample_has_no_query_and_no_length_that_is_not_known() {
    let mut all = failures(1);
    let head = "HTTP/1.1 302 No\r\nLocation: /in?code=hush#hush\r\ncontent-encoding: gzip\r\n\r\n";
    let head = Head::stored(head.as_bytes()).unwrap();
    // What is kept of a body ends a byte behind what is shown.
    for (length, expected) in [(3, "3 bytes"), (BODY_BYTES_MAX + 1, "more than 2048 bytes")] {
        all.explain(&failed(Outcome::Tls, Cause::Text), &LazyCell::new(|| "x".repeat(length)));
        let body = vec![0; length];
        let answer = Answer { head: Some(&head), body: &body, is_decoded: false };
        all.complete_sample(None, Some(answer), |text| text);
        let sample = all.take_samples().remove(0);
        assert_eq!(sample.headers[0].1, "/in");
        assert_eq!(sample.body.unwrap(), format!("{expected} that are compressed with gzip"));
    }
}

/// A server compresses pages of errors as it does any other.
#[test]
fn a_sample_shows_the_beginning_of_a_compressed_answer() {
    let head = "HTTP/1.1 500 Oh\r\ncontent-encoding: gzip\r\n\r\n";
    let head = Head::stored(head.as_bytes()).unwrap();
    for (text, expected) in [
        ("out of stock".to_owned(), "out of stock".to_owned()),
        ("x".repeat(9_000), format!("{}…", "x".repeat(BODY_BYTES_MAX))),
    ] {
        let mut all = failures(1);
        fail(&mut all, &failed(Outcome::Tls, Cause::Text), "x");
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        let body = encoder.finish().unwrap();
        let answer = Answer { head: Some(&head), body: &body, is_decoded: false };
        all.complete_sample(None, Some(answer), |text| text);
        assert_eq!(all.take_samples().remove(0).body, Some(expected));
    }
}

#[test]
fn too_many_texts_are_one_detail() {
    let mut all = failures(0);
    let letters =
        |n: usize| format!("{}{}", "a".repeat(n / 26 + 1), char::from(b'a' + (n % 26) as u8));
    for n in 0..TEXTS_MAX + 7 {
        fail(&mut all, &failed(Outcome::Tls, Cause::Named(&letters(n))), "x");
        if n % 100 == 99 {
            all.take_counts();
        }
    }
    let others = (Some(ErrorCount::OTHERS.to_owned()), 7);
    assert_eq!(details(&mut all), [others]);
}
