//! Markov chains, compiled.

use plan::Op;

use crate::{compile_with, plan, with_steps};

const CHAIN: &str = "
- markov:
    start: { a: 0.75, b: 0.25 }
    states:
      a:
        steps: [ { get: /a } ]
        think: 1s
        next: { a: 0.5, b: { p: 0.3, think: 2s }, exit: 0.2 }
      b:
        steps: [ { get: /b } ]
        next: { exit: 1 }
- get: /after
";

#[test]
fn states_become_choices_and_jumps() {
    let session = plan(&with_steps(CHAIN)).sessions.remove(0);
    let shown: Vec<String> = session
        .ops
        .iter()
        .map(|op| match op {
            Op::Http(http) => http.path.as_static().unwrap_or_default().to_owned(),
            Op::Think(dist) => format!("{}", dist.mean()),
            Op::Jump(to) => format!("jump {to}"),
            Op::Choose(branches) => format!("{branches:?}"),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(
        shown,
        [
            "[(0.75, 1), (0.25, 9)]",
            "/base/a",
            "[(0.5, 3), (0.3, 5), (0.2, 7)]",
            "1",
            "jump 1",
            "2",
            "jump 9",
            "1",
            "jump 12",
            "/base/b",
            "[(1.0, 11)]",
            "jump 12",
            "/base/after",
        ]
    );
}

#[test]
fn what_cannot_be_reached_or_left_is_warned_of() {
    let steps = "
- markov:
    states:
      a: { think: 1s, next: { b: 1, c: 0 } }
      b: { think: 1s, next: { b: 1 } }
      c: { next: { exit: 1 } }
";
    let (plan, diagnostics) = compile_with(&with_steps(steps), &[]);
    assert!(plan.is_some());
    let diagnostics: Vec<_> =
        diagnostics.iter().map(|one| (one.code, one.message.as_str())).collect();
    assert_eq!(
        diagnostics,
        [
            ("absorbing-state", "`exit` cannot be reached from the state `a`"),
            ("absorbing-state", "`exit` cannot be reached from the state `b`"),
            ("unreachable-state", "no user ever reaches the state `c`"),
        ]
    );
}
