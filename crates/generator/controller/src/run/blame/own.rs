//! Sessions that fail for reasons of our own, from the scenario to the verdict.

use record::schema::{Summary, ThresholdResult, Verdict};

use super::bed::Bed;

/// 50 users, of whom none comes to the last step.
const TEXT: &str = r#"name: own
target: http://127.0.0.1/
sessions:
  s:
    - { get: /, as: login }
    - set: { code: "${1 / (user - user)}" }
    - { get: /b, as: pay }
    - { check: user >= 0, as: paid }
arrivals: [ { constant: 10/s, for: 5s } ]
thresholds:
  - error_rate < 1%
  - errors == 0
  - p95 < 500ms
  - error_rate(sessions) == 100%
  - failed(sessions) == 50
  - p95(sessions) < 10s
  - error_rate(pay) < 1%
  - errors(paid) == 0
"#;

fn threshold<'s>(summary: &'s Summary, figure: &str) -> &'s ThresholdResult {
    let found = summary.thresholds.iter().find(|found| found.text.starts_with(figure));
    found.expect("a threshold of the scenario")
}

#[test]
fn a_run_in_which_every_user_failed_fails() {
    let summary = Bed::new(TEXT.to_owned()).judged(1);
    assert_eq!(summary.verdict, Verdict::Failed);
    let first = &summary.findings[0];
    assert_eq!(first.code, "own-failures");
    let text = "50 of 50 sessions (100 %) failed in a step of their own, not in a request: \
                50 at `set` of `code`, which cannot be done (first: ";
    assert!(first.text.starts_with(text), "{}", first.text);
    assert!(first.text.ends_with("division by zero)"), "{}", first.text);
    let result = |figure: &str| {
        let found = threshold(&summary, figure);
        (found.passed, found.shown.as_str())
    };
    assert_eq!(result("error_rate <"), (false, "50 %"));
    assert_eq!(result("errors =="), (false, "50"));
    assert!(result("p95 <").0, "what the target did");
    assert_eq!(result("error_rate(sessions)"), (true, "100 %"));
    assert_eq!(result("failed(sessions)"), (true, "50"));
    let took = threshold(&summary, "p95(sessions)");
    assert!(took.is_bound && !took.passed, "{took:?}");
    // The plan has these steps, and nobody came to them.
    assert_eq!(result("error_rate(pay)"), (false, "nothing measured"));
    assert_eq!(result("errors(paid)"), (false, "nothing measured"));
    let missing = summary.findings.iter().find(|found| found.code == "steps-not-reached");
    assert_eq!(missing.map(|found| &*found.text), Some("no user reached the step pay"));
}

#[test]
fn a_run_whose_users_get_through_passes() {
    let text = TEXT.replace("user - user", "user + 1");
    let text = text.replace("== 100%", "== 0%").replace("(sessions) == 50", "(sessions) == 0");
    let summary = Bed::new(text).judged(1);
    let failed: Vec<_> = summary.thresholds.iter().filter(|found| !found.passed).collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert_eq!(summary.verdict, Verdict::Passed);
    assert!(!threshold(&summary, "p95(sessions)").is_bound);
}
