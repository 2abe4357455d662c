//! A comparison as JUnit XML: a test case for each measure, so that CI shows it among its tests.
//!
//! A measure that is worse fails; one without a conclusion is skipped; a comparison without any conclusion is
//! an error.

use compare::{Acceptance, Comparison, Verdict};
use record::schema::Severity;

use super::subject;
use crate::junit::{Status, case, escaped};

/// The comparison as a JUnit report.
pub fn comparison_junit(comparison: &Comparison) -> String {
    let count = |wanted: &dyn Fn(Verdict) -> bool| {
        comparison.measures.iter().filter(|m| wanted(m.verdict)).count()
    };
    let inconclusive = comparison.verdict == Verdict::Inconclusive;
    let tests = comparison.measures.len() + usize::from(inconclusive);
    let totals = format!(
        "tests=\"{tests}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        count(&|verdict| verdict.acceptance() == Acceptance::Rejected),
        usize::from(inconclusive),
        count(&|verdict| verdict == Verdict::Inconclusive),
    );
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {totals}>\n  \
         <testsuite name=\"throng compare\" {totals} time=\"0\">\n"
    );
    if inconclusive {
        let fatal = comparison.findings.iter().filter(|f| f.severity == Severity::Fatal);
        let why: Vec<&str> = fatal.map(|finding| finding.text.as_str()).collect();
        text += &case(
            "compare",
            "comparison",
            Status::Error,
            "comparison",
            "inconclusive",
            &why.join("\n"),
        );
    }
    for measure in &comparison.measures {
        let about = format!("{}: {}", measure.name, measure.text);
        let findings = comparison.findings.iter();
        let related = findings.filter(|f| f.text.starts_with(&about));
        let related: Vec<&str> = related.map(|finding| finding.text.as_str()).collect();
        let status = match measure.verdict {
            Verdict::Inconclusive => Status::Skipped,
            verdict if verdict.acceptance() == Acceptance::Rejected => Status::Failed,
            _ => Status::Passed,
        };
        text += &case(
            "compare",
            &measure.name,
            status,
            "comparison",
            &measure.text,
            &related.join("\n"),
        );
    }
    text += &format!(
        "    <system-out>{}</system-out>\n  </testsuite>\n</testsuites>\n",
        escaped(&format!("{}\n{}", comparison.sentence, subject(comparison)))
    );
    text
}
