//! The place of findings in reports: the same in text, in Markdown and on pages.

use record::schema::{Finding, Severity, Summary};
use serde::Serialize;

/// Findings on what a step did over time, whatever their severity.
const OVER_TIME: [&str; 4] =
    ["periodic-stall", "response-grows", "keep-alive-closed", "two-groups"];
/// Codes of findings on what users met begin so.
const OF_USERS: [&str; 15] = [
    "errors",
    "own-failures",
    "run-aborted",
    "nothing-succeeded",
    "steps-",
    "setup",
    "teardown",
    "channels-",
    "sessions-",
    "users-unstarted",
    "sums-broken",
    "sequence-",
    "numbers-",
    "subscriptions-",
    "attempts-",
];
/// Codes of findings on the generator, the target and its server, and on what ended the run, begin so.
const OF_LIMITS: [&str; 5] = ["generator-", "target-", "server-", "connecting-limit", "precision-"];

/// The place of a finding in a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub(crate) enum FindingPlace {
    /// Among what broke.
    Broke,
    /// Among who was the limit.
    Limit,
    /// The full report.
    More,
    /// None: thresholds, failures or incidents say it.
    Nowhere,
}

/// The place of a finding of this run.
pub(crate) fn place(finding: &Finding, summary: &Summary) -> FindingPlace {
    let code = finding.code.as_str();
    let begins = |starts: &[&str]| starts.iter().any(|start| code.starts_with(start));
    let is_grave = match finding.severity {
        Severity::Good | Severity::Note => false,
        Severity::Warning | Severity::Fatal => true,
    };
    if is_repetition(finding, summary) {
        FindingPlace::Nowhere
    } else if code == "incident" {
        // Those in which less was lost than in those that are listed.
        FindingPlace::More
    } else if OVER_TIME.contains(&code) || is_grave && begins(&OF_USERS) {
        FindingPlace::Broke
    } else if !begins(&OF_USERS) && (is_grave || begins(&OF_LIMITS)) {
        FindingPlace::Limit
    } else {
        FindingPlace::More
    }
}

/// True if a finding says what is shown of thresholds, failures and incidents.
fn is_repetition(finding: &Finding, summary: &Summary) -> bool {
    match finding.code.as_str() {
        "threshold-failed" => true,
        "errors" => !summary.errors.is_empty(),
        _ => summary.incidents.iter().any(|incident| finding.text.contains(&incident.text)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::sample::{broken, summary};

    fn finding(code: &str, severity: Severity, text: &str) -> Finding {
        Finding {
            severity,
            code: code.to_owned(),
            text: text.to_owned(),
            evidence: BTreeMap::new(),
        }
    }

    #[test]
    fn findings_are_where_their_question_is_answered() {
        let of = |code, severity| place(&finding(code, severity, "any"), &broken());
        let expected = [
            ("two-groups", Severity::Note, FindingPlace::Broke),
            ("own-failures", Severity::Warning, FindingPlace::Broke),
            ("sessions-failed", Severity::Note, FindingPlace::More),
            ("generator-healthy", Severity::Good, FindingPlace::Limit),
            ("server-cpu", Severity::Warning, FindingPlace::Limit),
            ("run-incomplete", Severity::Fatal, FindingPlace::Limit),
            ("throughput", Severity::Note, FindingPlace::More),
        ];
        for (code, severity, place) in expected {
            assert_eq!(of(code, severity), place, "{code}");
        }
    }

    #[test]
    fn what_tables_say_is_not_repeated() {
        let of =
            |code, text: &str, of: &Summary| place(&finding(code, Severity::Warning, text), of);
        assert_eq!(of("threshold-failed", "any", &summary()), FindingPlace::Nowhere);
        assert_eq!(of("errors", "any", &broken()), FindingPlace::Nowhere);
        assert_eq!(of("errors", "any", &summary()), FindingPlace::Broke, "it has no details");
        let incident = format!("{}; and more", broken().incidents[0].text);
        assert_eq!(of("incident", &incident, &broken()), FindingPlace::Nowhere);
        assert_eq!(of("incident", "4 more incidents", &broken()), FindingPlace::More);
    }
}
