//! JUnit XML, so that CI shows verdicts among its tests. The format is that of the Apache Ant task, which most
//! tools read.

use std::collections::BTreeSet;

use judge::focus::steps_of_threshold;
use judge::shown_names;
use record::controls::is_control;
use record::schema::{Finding, RunInfo, Severity, Summary, ThresholdResult};

use crate::Style;
use crate::intervals;
use crate::verdict::sentence;

/// Most failures and incidents that a text lists.
const BROKEN_MAX: usize = 10;
/// As XML is written.
const UNICODE: Style = Style { colour: false, unicode: true };

/// The status of a test case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Passed,
    Skipped,
    Failed,
    Error,
}

/// A test case of this class and name. A failure has a kind, a message and a text.
pub(crate) fn case(
    class: &str,
    name: &str,
    status: Status,
    kind: &str,
    message: &str,
    text: &str,
) -> String {
    let head =
        format!("    <testcase name=\"{}\" classname=\"throng.{class}\" time=\"0\"", escaped(name));
    let message = escaped(message);
    let element = match status {
        Status::Passed => return format!("{head}/>\n"),
        Status::Skipped => {
            return format!("{head}>\n      <skipped message=\"{message}\"/>\n    </testcase>\n");
        }
        Status::Failed => "failure",
        Status::Error => "error",
    };
    format!(
        "{head}>\n      <{element} message=\"{message}\" type=\"{kind}\">{}</{element}>\n    \
         </testcase>\n",
        escaped(text)
    )
}

/// A test case that passed, and what there is to know of it.
fn passed_with(class: &str, name: &str, text: &str) -> String {
    format!(
        "    <testcase name=\"{}\" classname=\"throng.{class}\" time=\"0\">\n      <system-out>{}</system-out>\n    \
         </testcase>\n",
        escaped(name),
        escaped(text)
    )
}

/// Escapes text and attributes of XML 1.0 (sections 2.2 and 2.4); characters that it does not allow, and others that no
/// output shows, are replaced.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            c if is_control(c) || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                out.push(char::REPLACEMENT_CHARACTER);
            }
            c => out.push(c),
        }
    }
    out
}

/// The numbers of sessions that started and failed, and of steps that failed of themselves: no test case counts them if
/// the verdict does not depend on them. Empty where nothing is known of sessions.
fn properties(summary: &Summary) -> String {
    let users = &summary.users;
    if users.sessions == 0 {
        return String::new();
    }
    let properties = [
        ("sessions", users.sessions),
        ("sessions.failed", users.failed + users.stopped),
        ("steps.failed", summary.operations.own_failures),
    ];
    let properties = properties
        .map(|(name, value)| format!("      <property name=\"{name}\" value=\"{value}\"/>\n"));
    format!("    <properties>\n{}    </properties>\n", properties.concat())
}

/// Failures by what they were, and incidents, a line each: those of all steps, or of these.
fn broken(summary: &Summary, info: &RunInfo, of: Option<&BTreeSet<String>>) -> String {
    let counts = |step: &str, tag: Option<&str>| {
        of.is_none_or(|steps| !shown_names(info, step, tag).is_disjoint(steps))
    };
    let errors = summary.errors.iter().filter(|error| counts(&error.step, None)).map(sentence);
    let incidents = summary.incidents.iter();
    let incidents = incidents.filter(|found| counts(&found.step, found.tag.as_deref()));
    let incidents = incidents.map(|incident| incident.text.clone());
    let lines = errors.take(BROKEN_MAX).chain(incidents.take(BROKEN_MAX));
    lines.map(|line| format!("\n{line}")).collect()
}

/// Failures and incidents of the steps of a threshold; of all if it is about no single step.
fn broken_by(threshold: &ThresholdResult, summary: &Summary, info: &RunInfo) -> String {
    let steps = steps_of_threshold(&threshold.text, info);
    broken(summary, info, (!steps.is_empty()).then_some(&steps))
}

/// A run as a JUnit report: a test case for whether it can be trusted, one for each threshold, and one for each
/// finding for which the run has failed. The text of what failed lists what broke.
pub fn run_junit(summary: &Summary, info: &RunInfo) -> String {
    let fatal = summary.findings.iter().filter(|finding| finding.severity == Severity::Fatal);
    let fatal: Vec<&str> = fatal.map(|finding| finding.text.as_str()).collect();
    let failing: Vec<&Finding> = summary.failing().collect();
    let failures = summary.thresholds.iter().filter(|t| !t.passed).count() + failing.len();
    let totals = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"{}\" skipped=\"0\"",
        summary.thresholds.len() + failing.len() + 1,
        usize::from(!fatal.is_empty()),
    );
    let name = escaped(&summary.name);
    let took_ns = summary.phases.last().map_or(0, |phase| phase.end_ns);
    let took_s = took_ns as f64 / 1e9;
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {totals}>\n  <testsuite \
         name=\"{name}\" {totals} time=\"{took_s}\">\n"
    );
    text += &properties(summary);
    let (status, message) = match fatal.first() {
        None => (Status::Passed, ""),
        Some(first) => (Status::Error, *first),
    };
    text += &case("run", "the run can be trusted", status, "untrusted", message, &fatal.join("\n"));
    for finding in failing {
        let found = format!("{}{}", finding.text, broken(summary, info, None));
        text += &case("run", &finding.code, Status::Failed, "finding", &finding.text, &found);
    }
    for threshold in &summary.thresholds {
        let status = match threshold.passed {
            true => Status::Passed,
            false => Status::Failed,
        };
        let message = match threshold.value {
            Some(_) => {
                let interval = intervals::of_threshold(threshold, UNICODE);
                format!("measured {}{interval}", threshold.shown)
            }
            None => threshold.shown.clone(),
        };
        if threshold.passed && threshold.within_interval {
            text += &passed_with("run", &threshold.text, &message);
            continue;
        }
        let found = format!("{message}{}", broken_by(threshold, summary, info));
        text += &case("run", &threshold.text, status, "threshold", &message, &found);
    }
    let out = format!("{}{}", summary.id, broken(summary, info, None));
    text +=
        &format!("    <system-out>{}</system-out>\n  </testsuite>\n</testsuites>\n", escaped(&out));
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use record::schema::Verdict;

    use super::*;
    use crate::sample::{broken as broken_run, found, info, regional, summary};

    #[test]
    fn names_are_escaped() {
        let name = "GET /a?b=1&c=\"<x>\"\u{1}\u{202e}";
        let text = case("compare", name, Status::Failed, "comparison", "a < b", "one\ntwo");
        assert!(
            text.contains("name=\"GET /a?b=1&amp;c=&quot;&lt;x&gt;&quot;\u{fffd}\u{fffd}\""),
            "{text}"
        );
        assert!(text.contains(">one&#10;two</failure>"), "{text}");
    }

    #[test]
    fn thresholds_are_test_cases() {
        expect![[r#"
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites tests="4" failures="2" errors="0" skipped="0">
              <testsuite name="football" tests="4" failures="2" errors="0" skipped="0" time="500">
                <properties>
                  <property name="sessions" value="24000"/>
                  <property name="sessions.failed" value="0"/>
                  <property name="steps.failed" value="0"/>
                </properties>
                <testcase name="the run can be trusted" classname="throng.run" time="0"/>
                <testcase name="connected &gt;= 99.9%" classname="throng.run" time="0"/>
                <testcase name="p98(request) &lt; 10ms" classname="throng.run" time="0">
                  <failure message="measured 12.4 ms" type="threshold">measured 12.4 ms</failure>
                </testcase>
                <testcase name="max(broadcast) &lt; 1s" classname="throng.run" time="0">
                  <failure message="nothing measured" type="threshold">nothing measured</failure>
                </testcase>
                <system-out>20261121T101500-football-3f2a</system-out>
              </testsuite>
            </testsuites>
        "#]]
        .assert_eq(&run_junit(&summary(), &info()));
    }

    #[test]
    fn failures_say_what_broke() {
        let mut summary = broken_run();
        summary.errors[1].detail = Some("\u{1b}[31mx".to_owned());
        summary.thresholds[0].passed = false;
        let text = run_junit(&summary, &info());
        let of_request = "request: status 503: 9 (0.00125 %), 0:15–0:25&#10;\
                          request: script: \u{fffd}[31mx: 3 (0.000417 %), 0:16–0:17";
        let incident = "request: p50 8 → 401 ms, 30 % failed, from 0:15 to 0:25 (82 of 273)";
        let failure = format!(">measured 12.4 ms&#10;{of_request}&#10;{incident}</failure>");
        assert!(text.contains(&failure), "{text}");
        // A threshold that names no step may have failed by any.
        let rest = "a step whose name is longer than its column: timeout: 3 (100 %), 0:00–8:20";
        let all = format!("{of_request}&#10;{rest}&#10;{incident}");
        assert!(text.contains(&format!(">measured 100 %&#10;{all}</failure>")), "{text}");
        let out = format!("<system-out>20261121T101500-football-3f2a&#10;{all}</system-out>");
        assert!(text.contains(&out), "{text}");
    }

    /// Failures are of measures, thresholds and incidents of what measures of a name have in common.
    #[test]
    fn failures_of_a_region_are_among_those_of_the_step() {
        let (mut summary, info) = regional();
        let broken = broken_run();
        (summary.errors, summary.incidents) = (broken.errors, broken.incidents);
        "request (region=sydney)".clone_into(&mut summary.errors[0].step);
        "handshake (region=sydney)".clone_into(&mut summary.errors[1].step);
        summary.incidents[0].tag = Some("region=sydney".to_owned());
        let text = run_junit(&summary, &info);
        let of_region = "request (region=sydney): status 503: 9 (0.00125 %), 0:15–0:25";
        let incident = "request: p50 8 → 401 ms, 30 % failed, from 0:15 to 0:25 (82 of 273)";
        let failure = format!(">measured 12.4 ms&#10;{of_region}&#10;{incident}</failure>");
        assert!(text.contains(&failure), "{text}");
    }

    /// Whatever makes a verdict `FAILED` or `UNTRUSTED` is a failure or an error here.
    #[test]
    fn a_run_that_failed_has_a_test_that_failed() {
        let with = |code: &str, severity, verdict, expects_overload| {
            let mut run = summary();
            run.thresholds.retain(|threshold| threshold.passed);
            let finding = &mut run.findings[1];
            (finding.code, finding.severity) = (code.to_owned(), severity);
            (run.verdict, run.expects_overload) = (verdict, expects_overload);
            run_junit(&run, &info())
        };
        let counts = |failures: u32, errors: u32| {
            let tests = 2 + failures;
            format!("<testsuites tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\"")
        };
        for code in Finding::FAILING.iter().chain(&Finding::OVERLOAD) {
            let text = with(code, Severity::Warning, Verdict::Failed, false);
            assert!(text.contains(&counts(1, 0)), "{code}: {text}");
            let case = format!(
                "<testcase name=\"{code}\" classname=\"throng.run\" time=\"0\">\n      <failure"
            );
            assert!(text.contains(&case), "{code}: {text}");
        }
        let text = with("generator-cpu", Severity::Fatal, Verdict::Untrusted, false);
        assert!(text.contains(&counts(0, 1)), "{text}");
        for code in Finding::OVERLOAD {
            for verdict in [Verdict::Passed, Verdict::Measured] {
                let text = with(code, Severity::Warning, verdict, verdict == Verdict::Passed);
                assert!(text.contains(&counts(0, 0)), "{code}: {text}");
            }
        }
    }

    #[test]
    fn sessions_that_failed_are_counted() {
        let mut run = summary();
        (run.users.failed, run.users.stopped) = (54, 6);
        run.operations.own_failures = 55;
        let text = run_junit(&run, &info());
        let property = |name: &str, value: u32| {
            text.contains(&format!("<property name=\"{name}\" value=\"{value}\"/>"))
        };
        assert!(property("sessions.failed", 60) && property("steps.failed", 55), "{text}");
        run.users.sessions = 0;
        assert!(!run_junit(&run, &info()).contains("<properties>"));
    }

    #[test]
    fn limits_within_an_interval_are_noted() {
        let mut summary = summary();
        for (place, passed) in [(0, true), (1, false)] {
            let threshold = &mut summary.thresholds[place];
            threshold.passed = passed;
            threshold.interval = Some(found(0.98, Some(9_400_000), Some(13_000_000)));
            threshold.within_interval = true;
        }
        let text = run_junit(&summary, &info());
        let note = "12.4 ms (limit within the 95 % interval 9.40…13.0 ms: undecided)";
        let failure = format!("<failure message=\"measured {note}\" type=\"threshold\">");
        assert!(text.contains(&failure), "{text}");
        let note = note.replace("12.4 ms", "100 %");
        let passed = format!("time=\"0\">\n      <system-out>measured {note}</system-out>");
        assert!(text.contains(&passed), "{text}");
    }
}
