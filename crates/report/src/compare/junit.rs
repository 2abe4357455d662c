//! A comparison as JUnit XML: a test case a measure, so that CI shows it among its tests.
//!
//! A measure that is worse fails, one that cannot be told is skipped, and where nothing can be told there
//! is an error.

use judge::compare::{Comparison, Verdict};
use record::schema::Severity;

use super::asked;
use crate::junit::{Ending, case, escaped};

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
        let about = ("comparison", "cannot be told");
        let name = ("compare", "comparison");
        text += &case(name, Ending::Error, about, &why.join("\n"));
    }
    for measure in &comparison.measures {
        let about = format!("{}: {}", measure.name, measure.text);
        let findings = comparison.findings.iter();
        let told = findings.filter(|f| f.text.starts_with(&about));
        let told: Vec<&str> = told.map(|finding| finding.text.as_str()).collect();
        let ending = match measure.verdict {
            Verdict::CannotTell => Ending::Skipped,
            verdict if verdict.exit_code() == 1 => Ending::Failed,
            _ => Ending::Passed,
        };
        let name = ("compare", measure.name.as_str());
        let about = ("comparison", measure.text.as_str());
        text += &case(name, ending, about, &told.join("\n"));
    }
    text += &format!(
        "    <system-out>{}</system-out>\n  </testsuite>\n</testsuites>\n",
        escaped(&asked(comparison))
    );
    text
}
