//! Thresholds that do not hold, errors, retries, losses, throughput.

use std::collections::BTreeSet;

use record::controls::is_control;
use record::schema::{
    Event, EventKind, Finding, MeasureSummary, Severity, ThresholdResult, TlsHandshakes,
};

use crate::case::Case;
use crate::finding::finding;
use crate::limits::{
    ERROR_FINDINGS_MAX, ERROR_KINDS_MAX, ERROR_TEXT_CHARS_MAX, NOTES_MAX, RESENT_MANY_MIN,
    RESENT_SHARE_MAX,
};
use crate::{summary, totals};

/// Regions that have no network of their own.
pub(crate) fn regions_at_home(case: &Case<'_>) -> Vec<Finding> {
    let regions = &case.figures.info.regions;
    let at_home = regions.iter().filter(|region| region.netns.is_none());
    let at_home: Vec<&str> = at_home.map(|region| region.name.as_str()).collect();
    let all = regions.len();
    let own = at_home.len();
    let text = match own {
        0 => return Vec::new(),
        own if own == all => {
            "regions only divide users: all connect from the generator's own network; \
             `--netns REGION=PATH` gives a region another"
                .to_owned()
        }
        _ => format!(
            "users of {} connect from the generator's own network, those of other regions from a \
             network namespace",
            at_home.join(", ")
        ),
    };
    let draft = finding(Severity::Note, "regions-without-network", text);
    vec![draft.with("regions", own as f64).done()]
}

/// Thresholds that do not hold.
pub(crate) fn thresholds(case: &Case<'_>) -> Vec<Finding> {
    let failed = case.results.iter().filter(|threshold| !threshold.passed);
    failed.map(threshold_failed).collect()
}

fn threshold_failed(threshold: &ThresholdResult) -> Finding {
    let text = format!("threshold {} failed: {}", threshold.text, threshold.shown);
    let draft = finding(Severity::Warning, "threshold-failed", text);
    match threshold.value {
        Some(value) => draft.with("value", value).done(),
        None => draft.done(),
    }
}

/// Operations that failed.
pub(crate) fn operations_failed(case: &Case<'_>) -> Vec<Finding> {
    errors(&case.measures, &case.figures.events)
}

/// The measures with most errors, each with its most frequent kinds and what the first of a kind said.
pub fn errors(measures: &[MeasureSummary], events: &[Event]) -> Vec<Finding> {
    let mut failing: Vec<_> = measures.iter().filter(|m| m.errors > 0).collect();
    failing.sort_by_key(|m| std::cmp::Reverse(m.errors));
    let others = failing.iter().skip(ERROR_FINDINGS_MAX).map(|m| m.errors).sum::<u64>();
    let mut findings: Vec<Finding> =
        failing.iter().take(ERROR_FINDINGS_MAX).map(|m| errors_of(m, events)).collect();
    if others > 0 {
        let measures = failing.len() - ERROR_FINDINGS_MAX;
        let text = format!(
            "{} more in {}",
            units::counted(others, "error"),
            units::counted(measures as u64, "other measure")
        );
        let draft = finding(Severity::Warning, "errors", text);
        findings.push(draft.with("errors", others as f64).done());
    }
    findings
}

fn errors_of(measure: &MeasureSummary, events: &[Event]) -> Finding {
    let mut kinds: Vec<_> = measure.errors_by_kind.iter().collect();
    kinds.sort_by_key(|&(_, n)| std::cmp::Reverse(*n));
    let mut shown: Vec<String> = kinds
        .iter()
        .take(ERROR_KINDS_MAX)
        .map(|(kind, n)| {
            let first = first_text(events, &measure.name, kind);
            let first = first.map_or(String::new(), |text| format!(" (first: {text})"));
            format!("{} × {kind}{first}", units::count(**n))
        })
        .collect();
    let rest: u64 = kinds.iter().skip(ERROR_KINDS_MAX).map(|(_, n)| **n).sum();
    if rest > 0 {
        shown.push(units::counted(rest, "other"));
    }
    let share = measure.errors as f64 / measure.count.max(1) as f64;
    let text = format!(
        "{}: {} of {} failed ({}): {}{}",
        measure.name,
        units::count(measure.errors),
        units::count(measure.count),
        units::share(share),
        shown.join(", "),
        times_of_errors(measure),
    );
    let mut draft = finding(Severity::Warning, "errors", text)
        .with("errors", measure.errors as f64)
        .with("count", measure.count as f64);
    for (kind, n) in kinds {
        draft = draft.with(kind, *n as f64);
    }
    draft.done()
}

/// The part that failures have in the response times of a measure.
fn times_of_errors(measure: &MeasureSummary) -> String {
    let mut text = String::new();
    if let Some(failed) = &measure.failed {
        let all = measure.response.as_ref().map_or(0, |all| all.count);
        text += &format!(
            "; {} answered with a failure ({} of all), in {} (median)",
            units::count(failed.count),
            units::share(failed.count as f64 / all.max(failed.count).max(1) as f64),
            units::duration(failed.p50_ns as f64)
        );
    }
    let response = measure.response.as_ref();
    if let Some(share) = response.and_then(|response| response.bound_above) {
        text += &match (share * 1000.0).floor() / 10.0 {
            0.0 => "; all response times are lower bounds".to_owned(),
            known => {
                format!("; response times above p{} are lower bounds", units::significant(known, 3))
            }
        };
    }
    text
}

/// The text of the first of these errors, without its kind, which stands before it. Loops report theirs one after the other.
pub(crate) fn first_text(events: &[Event], measure: &str, kind: &str) -> Option<String> {
    let details = events.iter().filter_map(|event| match &event.what {
        EventKind::Error { measure: of, outcome, detail, .. }
            if of == measure && outcome == kind =>
        {
            Some((event.at_ns, detail.as_str()))
        }
        _ => None,
    });
    let (_, detail) = details.min_by_key(|&(at_ns, _)| at_ns)?;
    let text = detail.strip_prefix(kind).unwrap_or(detail).trim();
    let mut chars = text.chars().map(|c| if is_control(c) { ' ' } else { c });
    let mut shown: String = chars.by_ref().take(ERROR_TEXT_CHARS_MAX).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    (!shown.is_empty()).then_some(shown)
}

/// Connections that failed and were retried.
pub(crate) fn connects_retried(case: &Case<'_>) -> Vec<Finding> {
    let n = case.figures.total(|row| row.connects_retried);
    if n == 0 {
        return Vec::new();
    }
    let text = match n {
        1 => "1 connection failed and was retried".to_owned(),
        _ => format!("{} connections failed and were retried", units::count(n)),
    };
    let finding = finding(Severity::Note, "connects-retried", text);
    vec![finding.with("retries", n as f64).done()]
}

/// Requests that were sent again because the connection that they used again had ended. Few are those whose idle connection
/// the target was just closing; many were dropped.
pub(crate) fn requests_retried(case: &Case<'_>) -> Vec<Finding> {
    let n = case.figures.total(|row| row.requests_retried.saturating_sub(row.requests_goaway));
    if n == 0 {
        return Vec::new();
    }
    let begun = case.figures.total(|row| row.sends);
    let share = n as f64 / begun.max(1) as f64;
    let are_many = n >= RESENT_MANY_MIN && share > RESENT_SHARE_MAX;
    let requests = units::counted(n, "request");
    let were = if n == 1 { "was" } else { "were" };
    let draft = match are_many {
        true => {
            let text = format!(
                "{requests} ({} of all operations) met the end of their connection and {were} sent again on a fresh one: \
                 more than a target's limit for idle connections explains, so it, or what is before it, drops requests",
                units::share(share)
            );
            finding(Severity::Warning, "requests-retried", text).with("share", share)
        }
        false => {
            let text = format!(
                "{requests} met the end of an idle connection and {were} sent again on a fresh one: the target closes \
                 idle connections sooner than users use them again"
            );
            finding(Severity::Note, "requests-retried", text)
        }
    };
    vec![draft.with("retries", n as f64).done()]
}

/// Iterations of k6's scripts that were due and had no user.
pub(crate) fn iterations_dropped(case: &Case<'_>) -> Vec<Finding> {
    // Of a script of k6 both are there.
    let (Some(done), Some(dropped)) =
        (case.figures.metric_sum("iterations"), case.figures.metric_sum("dropped_iterations"))
    else {
        return Vec::new();
    };
    if dropped <= 0.0 {
        return Vec::new();
    }
    let share = dropped / (done + dropped);
    let text = format!(
        "{} of {} iterations that were due had no user and were dropped ({}): as many were busy as `maxVUs` allows, so the \
         load was less than the script says, and no figure has the time that they would have waited",
        units::count(dropped as u64),
        units::count((done + dropped) as u64),
        units::share(share)
    );
    let draft = finding(Severity::Warning, "iterations-dropped", text);
    vec![draft.with("iterations", dropped).with("share", share).done()]
}

/// Requests that were sent again because the server had announced the end of their connection.
pub(crate) fn requests_goaway(case: &Case<'_>) -> Vec<Finding> {
    let n = case.figures.total(|row| row.requests_goaway);
    if n == 0 {
        return Vec::new();
    }
    let text = format!(
        "{} sent again over another connection: the target announced the end of theirs (`GOAWAY`), as after a number \
         of requests, a time, or before a restart",
        match n {
            1 => "1 request was".to_owned(),
            _ => format!("{} were", units::counted(n, "request")),
        }
    );
    let finding = finding(Severity::Note, "requests-goaway", text);
    vec![finding.with("retries", n as f64).done()]
}

/// TLS handshakes, and how many were spared by sessions of before.
pub(crate) fn tls_handshakes(case: &Case<'_>) -> Vec<Finding> {
    let Some(TlsHandshakes { full, resumed }) = summary::tls_handshakes(case.figures) else {
        return Vec::new();
    };
    let text = format!(
        "{} set up: {} by a full handshake, {} from a session of before",
        match full + resumed {
            1 => "TLS of 1 connection was".to_owned(),
            n => format!("TLS of {} was", units::counted(n, "connection")),
        },
        units::count(full),
        units::count(resumed),
    );
    let finding = finding(Severity::Note, "tls-handshakes", text);
    vec![finding.with("full", full as f64).with("resumed", resumed as f64).done()]
}

/// Bodies that were decoded.
pub(crate) fn bodies_decoded(case: &Case<'_>) -> Vec<Finding> {
    let encoded = case.figures.total(|row| row.encoded_in);
    let decoded = case.figures.total(|row| row.decoded_in);
    if encoded == 0 {
        return Vec::new();
    }
    let text =
        format!("bodies of {} were decoded to {}", units::bytes(encoded), units::bytes(decoded));
    let finding = finding(Severity::Note, "bodies-decoded", text);
    let finding = finding.with("encoded_bytes", encoded as f64);
    vec![finding.with("decoded_bytes", decoded as f64).done()]
}

/// Users that waited for other connections to be set up.
pub(crate) fn users_held(case: &Case<'_>) -> Vec<Finding> {
    let n = case.figures.total(|row| row.users_held);
    if n == 0 {
        return Vec::new();
    }
    let text = format!(
        "{} started late: the limit of concurrent connection attempts was reached \
         (`options.connecting_max`)",
        units::counted(n, "user")
    );
    let finding = finding(Severity::Note, "users-held", text);
    vec![finding.with("users", n as f64).done()]
}

/// Messages that nobody waited for.
pub(crate) fn unmatched(case: &Case<'_>) -> Vec<Finding> {
    let n = case.figures.total(|row| row.unmatched);
    if n == 0 {
        return Vec::new();
    }
    let text = format!(
        "{} matched neither a waiting step nor an entry of `messages`",
        units::counted(n, "message")
    );
    let finding = finding(Severity::Note, "unmatched-messages", text);
    vec![finding.with("messages", n as f64).done()]
}

/// Notes of the run itself, such as clocks that made ages negative; each once.
pub(crate) fn notes(case: &Case<'_>) -> Vec<Finding> {
    let mut seen = BTreeSet::new();
    let texts = case.figures.events.iter().filter_map(|event| match &event.what {
        EventKind::Note { text } => Some(text),
        _ => None,
    });
    texts
        .filter(|text| seen.insert(text.as_str()))
        .take(NOTES_MAX)
        .map(|text| finding(Severity::Note, "note", text.clone()).done())
        .collect()
}

/// Operations of steps that were completed while load was planned, and bytes.
pub(crate) fn throughput(case: &Case<'_>) -> Vec<Finding> {
    let figures = case.figures;
    let seconds = figures.seconds(None);
    let operations = totals::operations(&case.measures);
    let per_s = operations.completed_per_s.unwrap_or(0.0);
    let sent = figures.total(|row| row.bytes_out);
    let received = figures.total(|row| row.bytes_in);
    // Each attempt makes operations, and all attempts of a block are one of it.
    let blocks = case.measures.iter().filter(|m| m.kind == "transaction" && m.retried > 0);
    let blocks = blocks.map(|m| m.completed).reduce(|sum, completed| sum + completed);
    let blocks = blocks.map_or(String::new(), |completed| {
        format!(" (blocks of attempts: {})", units::rate(summary::per_second(completed, seconds)))
    });
    let text = format!(
        "{} completed in {}: {}{blocks}{} {} sent, {} received",
        units::counted(operations.completed, "operation"),
        units::span((seconds * 1e9) as u64),
        units::rate(per_s),
        match operations.drained {
            0 => ",".to_owned(),
            drained => format!(", and {} in the drain;", units::count(drained)),
        },
        units::bytes(sent),
        units::bytes(received)
    );
    let finding = finding(Severity::Note, "throughput", text)
        .with("operations", operations.completed as f64)
        .with("per_s", per_s)
        .with("drained", operations.drained as f64)
        .with("bytes_out", sent as f64)
        .with("bytes_in", received as f64);
    vec![finding.done()]
}

/// Segments and bytes that the connections took on the wire.
pub(crate) fn traffic(case: &Case<'_>) -> Vec<Finding> {
    let Some(traffic) = summary::traffic(case.figures) else {
        return Vec::new();
    };
    let total = traffic.total;
    let each = traffic.per_connection;
    let text = format!(
        "{} over TCP: {} segments out and {} in, {} retransmitted; about {} of IP packets out and \
         {} in, {} and {} per connection",
        units::counted(traffic.connections, "connection"),
        units::count(total.segments_out as u64),
        units::count(total.segments_in as u64),
        units::count(total.retransmits as u64),
        units::bytes(total.ip_bytes_out as u64),
        units::bytes(total.ip_bytes_in as u64),
        units::bytes(each.ip_bytes_out as u64),
        units::bytes(each.ip_bytes_in as u64),
    );
    let draft = finding(Severity::Note, "traffic", text)
        .with("connections", traffic.connections as f64)
        .with("segments_out", total.segments_out)
        .with("segments_in", total.segments_in)
        .with("payload_out", total.payload_out)
        .with("payload_in", total.payload_in)
        .with("retransmits", total.retransmits)
        .with("ip_bytes_out", total.ip_bytes_out)
        .with("ip_bytes_in", total.ip_bytes_in);
    vec![draft.done()]
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use plan::{Comparison, Figure, Threshold};
    use record::Outcome;
    use record::schema::{MeasureInfo, Verdict};

    use super::*;
    use crate::sample::{self, REQUEST, SECOND, fail, figures, judged, rendered};
    use crate::{Figures, judge_figures};

    /// All findings but the first, which is about the generator's health.
    fn check(findings: &[Finding], expect: &Expect) {
        assert_eq!(findings[0].code, "generator-healthy");
        expect.assert_eq(&rendered(&findings[1..]));
    }

    #[test]
    fn a_run_without_a_fault_has_its_throughput() {
        check(
            &judged(&figures()).findings,
            &expect![[r#"
                Note throughput
                    6,000 operations completed in 1 min: 100/s, 586 KiB sent, 2.29 MiB received
            "#]],
        );
    }

    #[test]
    fn thresholds_that_do_not_hold_come_before_errors() {
        let mut figures = figures();
        fail(&mut figures, REQUEST, Outcome::Timeout, 900);
        fail(&mut figures, REQUEST, Outcome::Status, 40);
        fail(&mut figures, REQUEST, Outcome::Reset, 3);
        fail(&mut figures, REQUEST, Outcome::Closed, 1);
        fail(&mut figures, 0, Outcome::Refused, 2);
        let users = |comparison, text: &str| Threshold {
            text: text.to_owned(),
            figure: Figure::Users,
            comparison,
            limit: 6000.0,
        };
        let thresholds =
            [users(Comparison::Equal, "users == 6000"), users(Comparison::Less, "users < 6000")];
        let summary = judge_figures(&figures, &thresholds, false);
        assert_eq!(summary.verdict, Verdict::Failed);
        check(
            &summary.findings,
            &expect![[r#"
                Warning threshold-failed
                    threshold users < 6000 failed: 6,000
                Warning errors
                    request: 944 of 6,944 failed (13.59 %): 900 × timeout, 40 × status, 3 × reset, 1
                    other
                Warning errors
                    connect: 2 of 2 failed (100 %): 2 × refused
                Note throughput
                    6,040 operations completed in 1 min: 101/s, 586 KiB sent, 2.29 MiB received
            "#]],
        );
    }

    #[test]
    fn errors_say_what_the_first_of_a_kind_was() {
        let mut figures = figures();
        fail(&mut figures, REQUEST, Outcome::Status, 210);
        fail(&mut figures, REQUEST, Outcome::Check, 3);
        let error = |outcome: Outcome, detail: &str| Event {
            at_ns: SECOND,
            what: EventKind::Error {
                measure: figures.info.measures[REQUEST].name.clone(),
                outcome: outcome.name().to_owned(),
                user: 7,
                detail: detail.to_owned(),
            },
        };
        figures.events = vec![
            error(Outcome::Status, "status 404"),
            error(Outcome::Status, "status 500"),
            error(Outcome::Check, &format!("received\n{}", "x".repeat(200))),
        ];
        let finding = judged(&figures).findings;
        let finding = finding.iter().find(|f| f.code == "errors").unwrap();
        let rest = format!("3 × check (first: received {}…)", "x".repeat(71));
        let text = format!("210 × status (first: 404), {rest}");
        assert!(finding.text.ends_with(&text), "{}", finding.text);
    }

    #[test]
    fn untrusted_wins_over_failed() {
        let mut figures = figures();
        figures.info.phases[0].users_planned = 60_000.0;
        let threshold = Threshold {
            text: "users >= 60000".to_owned(),
            figure: Figure::Users,
            comparison: Comparison::GreaterEqual,
            limit: 60_000.0,
        };
        let summary = judge_figures(&figures, &[threshold], false);
        assert_eq!(summary.verdict, Verdict::Untrusted);
    }

    #[test]
    fn many_failing_measures_are_summed_up() {
        let mut info = sample::info();
        for n in 0..6 {
            info.measures.push(MeasureInfo::new(&format!("step {n}"), "request"));
        }
        let mut figures = Figures::new(info, (0..60).map(sample::row).collect(), Vec::new());
        for n in 0..6 {
            fail(&mut figures, 2 + n, Outcome::Save, 10 - n as u64);
        }
        fail(&mut figures, REQUEST, Outcome::Save, 1);
        let findings = judged(&figures).findings;
        let errors: Vec<_> = findings.iter().filter(|f| f.code == "errors").collect();
        assert_eq!(errors.len(), ERROR_FINDINGS_MAX + 1);
        assert_eq!(errors[ERROR_FINDINGS_MAX].text, "6 errors more in 2 other measures");
    }

    #[test]
    fn unmatched_messages_retries_and_notes_are_reported_once() {
        let mut figures = figures();
        figures.series[7].unmatched = 3;
        figures.series[8].connects_retried = 40;
        figures.series[8].requests_retried = 9;
        figures.series[8].requests_goaway = 7;
        figures.series[8].tls_handshakes_full = 1_000;
        figures.series[9].tls_handshakes_resumed = 20;
        let note = EventKind::Note { text: "2 ages were negative and count as 0".to_owned() };
        figures.events = vec![Event { at_ns: SECOND, what: note }; 2];
        check(
            &judged(&figures).findings,
            &expect![[r#"
                Note connects-retried
                    40 connections failed and were retried
                Note requests-retried
                    2 requests met the end of an idle connection and were sent again on a fresh one:
                    the target closes idle connections sooner than users use them again
                Note requests-goaway
                    7 requests were sent again over another connection: the target announced the end
                    of theirs (`GOAWAY`), as after a number of requests, a time, or before a restart
                Note tls-handshakes
                    TLS of 1,020 connections was set up: 1,000 by a full handshake, 20 from a
                    session of before
                Note unmatched-messages
                    3 messages matched neither a waiting step nor an entry of `messages`
                Note note
                    2 ages were negative and count as 0
                Note throughput
                    6,000 operations completed in 1 min: 100/s, 586 KiB sent, 2.29 MiB received
            "#]],
        );
    }
}
