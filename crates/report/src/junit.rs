//! JUnit XML, so that CI shows what was judged among its tests.
//!
//! The form is that of the Apache Ant task, as most readers take it.

use record::schema::{Severity, Summary};

/// How a test case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Passed,
    Skipped,
    Failed,
    Error,
}

/// A test case: its class and name, how it ended, and with what message and text.
pub(crate) fn case(
    (class, name): (&str, &str),
    ending: Ending,
    (kind, message): (&str, &str),
    text: &str,
) -> String {
    let head = format!(
        "    <testcase name=\"{}\" classname=\"throng.{class}\" time=\"0\"",
        escaped(name)
    );
    let message = escaped(message);
    let element = match ending {
        Ending::Passed => return format!("{head}/>\n"),
        Ending::Skipped => {
            return format!("{head}>\n      <skipped message=\"{message}\"/>\n    </testcase>\n");
        }
        Ending::Failed => "failure",
        Ending::Error => "error",
    };
    format!(
        "{head}>\n      <{element} message=\"{message}\" type=\"{kind}\">{}</{element}>\n    \
         </testcase>\n",
        escaped(text)
    )
}

/// Fit for text and attributes of XML 1.0 (section 2.2 and 2.4): what it does not allow at all is
/// replaced.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A run as a JUnit report: a test case for whether it can be trusted, and one a threshold.
pub fn run_junit(summary: &Summary) -> String {
    let fatal = summary
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Fatal);
    let fatal: Vec<&str> = fatal.map(|finding| finding.text.as_str()).collect();
    let failures = summary.thresholds.iter().filter(|t| !t.passed).count();
    let totals = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"{}\" skipped=\"0\"",
        summary.thresholds.len() + 1,
        usize::from(!fatal.is_empty()),
    );
    let name = escaped(&summary.name);
    let took_ns = summary.phases.last().map_or(0, |phase| phase.end_ns);
    let took_s = took_ns as f64 / 1e9;
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {totals}>\n  <testsuite \
         name=\"{name}\" {totals} time=\"{took_s}\">\n"
    );
    let (ending, message) = match fatal.first() {
        None => (Ending::Passed, ""),
        Some(first) => (Ending::Error, *first),
    };
    let trusted = ("run", "the run can be trusted");
    text += &case(trusted, ending, ("untrusted", message), &fatal.join("\n"));
    for threshold in &summary.thresholds {
        let ending = match threshold.passed {
            true => Ending::Passed,
            false => Ending::Failed,
        };
        let message = match threshold.value {
            Some(_) => format!("it is {}", threshold.shown),
            None => threshold.shown.clone(),
        };
        let about = ("threshold", message.as_str());
        text += &case(("run", &threshold.text), ending, about, &message);
    }
    text += &format!(
        "    <system-out>{}</system-out>\n  </testsuite>\n</testsuites>\n",
        escaped(&summary.id)
    );
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::sample::summary;

    #[test]
    fn names_cannot_break_out() {
        let name = ("compare", "GET /a?b=1&c=\"<x>\"\u{1}");
        let text = case(name, Ending::Failed, ("comparison", "a < b"), "one\ntwo");
        assert!(
            text.contains("name=\"GET /a?b=1&amp;c=&quot;&lt;x&gt;&quot;\u{fffd}\""),
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
                <testcase name="the run can be trusted" classname="throng.run" time="0"/>
                <testcase name="connected &gt;= 99.9%" classname="throng.run" time="0"/>
                <testcase name="p98(request) &lt; 10ms" classname="throng.run" time="0">
                  <failure message="it is 12.4 ms" type="threshold">it is 12.4 ms</failure>
                </testcase>
                <testcase name="max(broadcast) &lt; 1s" classname="throng.run" time="0">
                  <failure message="nothing measured" type="threshold">nothing measured</failure>
                </testcase>
                <system-out>20261121T101500-football-3f2a</system-out>
              </testsuite>
            </testsuites>
        "#]]
        .assert_eq(&run_junit(&summary()));
    }
}
