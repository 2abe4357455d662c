//! A comparison as JUnit XML: a test case a measure, so that CI shows it among its tests.
//!
//! The form is that of the Apache Ant task, as most readers take it: `failure` where a measure is
//! worse, `skipped` where it cannot be told, `error` where nothing can.

use judge::compare::{Comparison, Verdict};
use record::schema::Severity;

use super::asked;

/// The comparison as a JUnit report.
pub fn comparison_junit(comparison: &Comparison) -> String {
    let count = |wanted: &dyn Fn(Verdict) -> bool| {
        comparison
            .measures
            .iter()
            .filter(|m| wanted(m.verdict))
            .count()
    };
    let untold = comparison.verdict == Verdict::CannotTell;
    let tests = comparison.measures.len() + usize::from(untold);
    let totals = format!(
        "tests=\"{tests}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        count(&|verdict| verdict.exit_code() == 1),
        usize::from(untold),
        count(&|verdict| verdict == Verdict::CannotTell),
    );
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {totals}>\n  \
         <testsuite name=\"throng compare\" {totals} time=\"0\">\n"
    );
    if untold {
        let fatal = comparison
            .findings
            .iter()
            .filter(|f| f.severity == Severity::Fatal);
        let why: Vec<&str> = fatal.map(|finding| finding.text.as_str()).collect();
        text += &case("comparison", "error", "cannot be told", &why.join("\n"));
    }
    for measure in &comparison.measures {
        let about = format!("{}: {}", measure.name, measure.text);
        let findings = comparison.findings.iter();
        let told = findings.filter(|f| f.text.starts_with(&about));
        let told: Vec<&str> = told.map(|finding| finding.text.as_str()).collect();
        let element = match measure.verdict {
            Verdict::CannotTell => "skipped",
            verdict if verdict.exit_code() == 1 => "failure",
            _ => "",
        };
        text += &case(&measure.name, element, &measure.text, &told.join("\n"));
    }
    text += &format!(
        "    <system-out>{}</system-out>\n  </testsuite>\n</testsuites>\n",
        escaped(&asked(comparison))
    );
    text
}

/// A test case; `element` says how it ended, nothing where it passed.
fn case(name: &str, element: &str, message: &str, text: &str) -> String {
    let head = format!(
        "    <testcase name=\"{}\" classname=\"throng.compare\" time=\"0\"",
        escaped(name)
    );
    let message = escaped(message);
    match element {
        "" => format!("{head}/>\n"),
        "skipped" => {
            format!("{head}>\n      <skipped message=\"{message}\"/>\n    </testcase>\n")
        }
        element => format!(
            "{head}>\n      <{element} message=\"{message}\" type=\"comparison\">{}</{element}>\n    \
             </testcase>\n",
            escaped(text)
        ),
    }
}

/// Fit for text and attributes of XML 1.0 (section 2.2 and 2.4): what it does not allow at all is
/// replaced.
fn escaped(text: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_out() {
        let text = case("GET /a?b=1&c=\"<x>\"\u{1}", "failure", "a < b", "one\ntwo");
        assert!(
            text.contains("name=\"GET /a?b=1&amp;c=&quot;&lt;x&gt;&quot;\u{fffd}\""),
            "{text}"
        );
        assert!(text.contains(">one&#10;two</failure>"), "{text}");
    }
}
