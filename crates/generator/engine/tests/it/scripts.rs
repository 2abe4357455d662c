//! Functions and steps in JavaScript: what they give, what they draw, and how they fail.

use engine::measure::{CONSOLE_LINES_MAX, ConsoleLine};
use plan::builtin;
use record::Outcome;

use crate::peers::{HttpPeer, ok, response};
use crate::reproducible::records;
use crate::support::{MS, run};

fn scenario(steps: &str) -> String {
    format!(
        "
target: http://target.test/
script: script.js
sessions:
  main:
{steps}
arrivals: [ {{ constant: 10/s, for: 1s }} ]
"
    )
}

const EVERYWHERE: &str = r#"
    - set: { basket: "${pick('[\"tea\"]', '[\"milk\", \"tea\"]')}" }
    - js: |
        const coins = [];
        for (let left = total(vars.basket); left > 0; left -= 2) coins.push(Math.min(left, 2));
        return { coins, again: vars.user + draw(5) };
      sets: [ coins, again ]
    - loop: draw(3)
      steps: [ { get: "/in/${time()}", as: in } ]
    - if: total(basket) > 3
      then: [ { post: /pay, json: { coins: "${coins}", sum: "${total(basket)}" }, as: pay } ]
    - think_seconds: draw(4) / 10
    - get: /${again}
      as: last
      check: draw(7) >= 0"#;

#[test]
fn runs_with_scripts_follow_from_the_seed_alone() {
    let text = scenario(EVERYWHERE);
    let one = records(&text, 1, 3);
    assert!(one.0.len() > 20, "only {} records", one.0.len());
    assert!(one.0.iter().all(|row| row.outcome == Outcome::Ok));
    assert_eq!(one, records(&text, 1, 3));
    assert_eq!(one, records(&text, 3, 3));
    assert_ne!(one, records(&text, 1, 4));
    let paid = one.1.iter().filter(|request| request.starts_with("POST /pay"));
    let sums = paid.map(|request| assert!(request.contains("\"sum\":5"), "{request}"));
    assert!(sums.count() > 0);
}

#[test]
fn calls_are_counted() {
    let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
    let ran = run(&scenario("    - get: /${draw(9)}\n"), &mut peer);
    assert_eq!(ran.total(|counts| counts.script_calls), 10);
    assert!(ran.total(|counts| counts.scripts_ns) > 0);
}

#[test]
fn lines_are_handed_over_up_to_a_limit() {
    let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
    let steps = "    - js: console.log('user', vars.user)\n    - get: /\n";
    let ran = run(&scenario(steps), &mut peer);
    let lines: Vec<&ConsoleLine> = ran.run.deltas.iter().flat_map(|delta| &delta.console).collect();
    assert_eq!((lines.len(), lines[9].text.as_str()), (10, "user 9"));
    assert!(lines[9].at_ns > 500 * MS, "{lines:?}");
    let steps = "    - js: for (let at = 0; at < 20; at++) console.log(at)\n    - get: /\n";
    let ran = run(&scenario(steps), &mut peer);
    let lines = ran.run.deltas.iter().map(|delta| delta.console.len());
    assert_eq!(lines.sum::<usize>(), CONSOLE_LINES_MAX);
    assert_eq!(ran.total(|counts| counts.console_dropped), 200 - CONSOLE_LINES_MAX as u64);
}

/// A cookie without a path belongs to the directory that was asked for, which is not made again.
#[test]
fn a_path_is_made_once_where_its_response_sets_cookies() {
    let set = |_: &str| response("200 OK", "set-cookie: here=1\r\n", "ok");
    let mut peer = HttpPeer::new(|_| MS, set);
    let steps = "    - get: /${told(user)}/first\n    - get: /${user}/second\n";
    let text = scenario(steps).replace("script:", "options: { cookies: true }\nscript:");
    let ran = run(&text, &mut peer);
    let lines: usize = ran.run.deltas.iter().map(|delta| delta.console.len()).sum();
    assert_eq!(lines, 10);
    let carried = |request: &&String| request.contains("cookie: here=1\r\n");
    assert_eq!(peer.requests.iter().filter(carried).count(), 10);
    assert_eq!(peer.requests.len(), 20);
}

#[test]
fn a_script_that_fails_is_an_error_of_its_own() {
    let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
    let steps = "    - get: /${wrong(user)}\n      as: one\n    - get: /never\n";
    let ran = run(&scenario(steps), &mut peer);
    assert_eq!(ran.outcomes("one"), [Outcome::Script; 10]);
    assert_eq!(ran.rows("GET /never").len(), 0);
    let details = ran.details();
    let expected = "`wrong`: TypeError: cannot read property 'z' of undefined, at script.js:7:";
    assert!(details[0].contains(expected), "{details:?}");

    for step in [
        "set: { a: \"${wrong(1)}\" }",
        "js: wrong(1)",
        "if: wrong(1)\n      then: [ { think: 1s } ]",
    ] {
        let ran = run(&scenario(&format!("    - {step}\n    - get: /never\n")), &mut peer);
        assert_eq!(ran.counted(builtin::FAULTS_NAME, Outcome::Script), 10, "{step}");
        assert_eq!(ran.rows("GET /never").len(), 0, "{step}");
    }
    let checked = run(&scenario("    - get: /\n      check: wrong(1)\n      as: one\n"), &mut peer);
    assert_eq!(checked.outcomes("one"), [Outcome::Script; 10]);
    let alone = run(&scenario("    - check: wrong(1)\n      as: two\n"), &mut peer);
    assert_eq!(alone.counted("two", Outcome::Script), 10);
}

#[test]
fn a_script_that_does_not_end_fails_its_step() {
    let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
    let text = format!(
        "options: {{ script_time_max: 2ms }}\n{}",
        scenario("    - get: /${endless()}\n      as: one\n")
    );
    let ran = run(&text, &mut peer);
    assert_eq!(ran.outcomes("one"), [Outcome::Script; 10]);
    let details = ran.details();
    assert!(details[0].contains("longer than 2 ms (`options.script_time_max`)"), "{details:?}");
}

#[test]
fn a_failed_script_is_tried_again_if_that_is_wanted() {
    let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
    let steps = "    - retry: 3\n      pause: 10ms\n      failures: [ script ]\n      steps: [ { get: \"/${wrong(1)}\", as: one } ]\n";
    let ran = run(&scenario(steps), &mut peer);
    assert_eq!(ran.outcomes("one").len(), 30);
}
