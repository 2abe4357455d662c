//! Words of other load generators, and what is suggested for them.

use crate::{rendered, with_arrivals, with_steps};

/// The first hint.
#[track_caller]
fn hint(text: &str) -> String {
    let said = rendered(text, &[]);
    let hint = said.lines().find_map(|line| line.strip_prefix("  hint: "));
    hint.unwrap_or_else(|| panic!("no hint in {said}")).to_owned()
}

#[test]
fn steps_of_other_tools_are_explained() {
    for (step, expected) in [
        ("forEach: items", "did you mean `foreach`?"),
        ("for_each: items", "did you mean `foreach`?"),
        ("repeat: 3", "write `loop: 3`"),
        ("sleep: 1s", "write `think: 1s`"),
        ("pause: 1s", "write `think: 1s`"),
        ("wait: 1s", "write `think: 1s`"),
        ("think_time: 1s", "write `think: 1s`"),
        ("doIf: x", "write `if: CONDITION`"),
        ("asLongAs: x", "write `while: CONDITION`"),
        ("randomSwitch: x", "write `choose:"),
        ("request: /", "write `get: /path`"),
        ("url: /", "write `get: /path`"),
        ("GET: /", "did you mean `get`?"),
        ("receive: x", "write `expect:"),
        ("assert: x", "write `check: CONDITION`"),
        ("capture: x", "`save` is a key of a request"),
        ("flow: []", "the steps of a session stand in a list"),
        ("exit: x", "write `stop:`"),
    ] {
        let found = hint(&with_steps(&format!("- {step}")));
        assert!(found.starts_with(expected), "{step}: {found}");
    }
}

#[test]
fn keys_of_other_tools_are_explained() {
    for (written, expected) in [
        ("expect: { statusCode: 200 }", "write `status: 200` for the status"),
        ("assert: x", "write `status: 200` for the status"),
        ("capture: { json: $.id }", "write `save: { name: /pointer }`"),
        ("name: x", "write `as: NAME`"),
        ("params: { q: 1 }", "write the query into the path"),
        ("statusCode: 200", "write `status: 200`"),
        ("sleep: 1s", "as a step of its own, write `think: 1s`"),
        ("think: 1s", "`think` is a step of its own"),
        ("followRedirects: true", "write `redirects: 10` to follow"),
    ] {
        let found = hint(&with_steps(&format!("- get: /\n  {written}")));
        assert!(found.starts_with(expected), "{written}: {found}");
    }
}

#[test]
fn phases_of_other_tools_are_explained() {
    for (written, expected) in [
        ("vus: 10", "write `users: 50`"),
        ("arrivalRate: 10", "write `constant: 10/s`"),
        ("rampTo: 10", "write `ramp: 0/s..50/s`"),
        ("duration: 1m", "begin with the kind of phase"),
        ("pause: 1m", "write `{ hold: 1m }`"),
        ("duration: 60, arrivalRate: 5, rampTo: 9", "write `{ ramp: 5/s..9/s, for: 60s }`"),
        ("cnstant: 10/s, for: 1m", "did you mean `constant`?"),
        ("iterations: 10", "write `{ users: 10, iterations: 1000"),
    ] {
        let found = hint(&with_arrivals(&format!("- {{ {written} }}")));
        assert!(found.starts_with(expected), "{written}: {found}");
    }
    let said = rendered(&with_arrivals("- { constant: 1/s, duration: 1m }"), &[]);
    assert!(said.contains("hint: write `for: 1m`"), "{said}");
    assert!(!said.contains("is missing"), "{said}");
}

/// A scenario as a user of another tool begins it: each of their words has a hint, and what they stand for is not
/// reported as missing.
#[test]
fn top_level_words_of_other_tools_are_explained() {
    for (written, expected) in [
        ("scenarios: {}", "write `sessions:"),
        ("flow: []", "write `sessions:"),
        ("stages: []", "write `arrivals: [ { ramp:"),
        ("vus: 10", "write `arrivals: [ { users: 50"),
        ("users: 10", "write `arrivals: [ { users: 50"),
        ("baseUrl: x", "write `target:"),
        ("url: x", "write `target:"),
        ("variables: {}", "write `params:"),
    ] {
        let text = format!("{written}\n");
        let said = rendered(&text, &[]);
        let found = hint(&text);
        assert!(found.starts_with(expected), "{written}: {found}");
        let key = expected.split(['`', ':']).nth(1).unwrap();
        assert!(!said.contains(&format!("`{key}` is missing")), "{said}");
    }
    let rest =
        "target: http://127.0.0.1/\nsessions: { s: [ { get: / } ] }\narrivals: [ { hold: 1s } ]\n";
    for (written, expected) in [
        ("duration: 1m", "each phase of `arrivals` has its own"),
        ("timeout: 1s", "write it under `options`"),
        ("checks: []", "write `thresholds:"),
        ("options: { stages: [] }", "how users arrive stands in `arrivals`"),
        ("options: { thresholds: [] }", "`thresholds` stands at the top level"),
    ] {
        let found = hint(&format!("{written}\n{rest}"));
        assert!(found.starts_with(expected), "{written}: {found}");
    }
}

#[test]
fn thresholds_of_other_tools_are_explained() {
    let rest =
        "target: http://127.0.0.1/\nsessions: { s: [ { get: / } ] }\narrivals: [ { hold: 1s } ]\n";
    let threshold = "{ threshold: 'rate<0.1', abortOnFail: true, delayAbortEval: 10s }";
    let said = rendered(&format!("{rest}thresholds: [ {threshold} ]\n"), &[]);
    let hints: Vec<&str> = said.lines().filter_map(|l| l.strip_prefix("  hint: ")).collect();
    assert_eq!(
        hints,
        [
            "write `abort: error_rate < 20%`",
            "write `abort: error_rate < 20%`: a threshold alone ends no run",
            "write `after: 30s`"
        ]
    );
    assert!(!said.contains("is missing"), "{said}");
}
