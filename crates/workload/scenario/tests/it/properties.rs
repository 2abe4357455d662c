//! No text makes the compiler panic, and what is put together from sound parts compiles.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

use crate::{compile_with, with_arrivals, with_steps};

/// Seeds are fixed, so that every build tries the same cases everywhere.
fn config() -> Config {
    Config {
        cases: 256,
        rng_seed: RngSeed::Fixed(20_150_805),
        failure_persistence: None,
        ..Config::default()
    }
}

const WORDS: &[&str] = &[
    "target",
    "sessions",
    "arrivals",
    "options",
    "params",
    "messages",
    "thresholds",
    ":",
    ": ",
    "- ",
    "\n",
    "\n  ",
    "\n    ",
    "{",
    "}",
    "[",
    "]",
    ", ",
    "'",
    "\"",
    "&a ",
    "*a",
    "${",
    "}",
    "send",
    "reply",
    "when",
    "save",
    "get",
    "ws",
    "think",
    "forever",
    "loop",
    "if",
    "then",
    "market",
    "http://h/",
    "/p",
    "1s",
    "10/s",
    "..",
    "hold",
    "constant",
    "for",
    "p98(x) < 1s",
    "errors == 0",
    "\\",
    "#",
    "|",
    ">",
    "!",
    "%",
    "\t",
    "ä",
    "\u{feff}",
    "~",
    "--- ",
    "...",
    "user",
    "random(",
    "1",
    "-",
    "+",
    "(",
    ")",
    "regex",
    "(",
    "mixture",
    "empirical",
    "of",
];

/// Pieces of the language in a disorder of their own.
fn piece() -> impl Strategy<Value = String> {
    prop::sample::select(WORDS).prop_map(str::to_owned)
}

fn duration() -> impl Strategy<Value = String> {
    (1u32..5000, prop::sample::select(["ms", "s", "m"].as_slice()))
        .prop_map(|(number, unit)| format!("{number}{unit}"))
}

fn simple_step() -> impl Strategy<Value = String> {
    prop_oneof![
        duration().prop_map(|d| format!("{{ think: {d} }}")),
        duration().prop_map(|d| format!("{{ think: {{ exponential: {d}, max: 9000m }} }}")),
        duration().prop_map(|d| format!("{{ pace: {d} }}")),
        "[a-z]{1,8}"
            .prop_map(|p| format!("{{ get: \"/{p}/${{user}}\", save: {{ v_{p}: body }} }}")),
        (any::<i32>(), ".{0,12}").prop_map(|(number, text)| {
            let text = serde_json::Value::from(text.replace('$', "")).to_string();
            format!("{{ post: /p, json: {{ number: {number}, text: {text} }} }}")
        }),
        Just("{ ws: /socket }".to_owned()),
        Just("{ set: { n: \"${random(1, 6) + user}\" } }".to_owned()),
    ]
}

fn step() -> impl Strategy<Value = String> {
    simple_step().prop_recursive(4, 24, 4, |inner| {
        let steps = prop::collection::vec(inner, 1..4).prop_map(|steps| steps.join(", "));
        prop_oneof![
            steps.clone().prop_map(|s| format!("{{ forever: [ {{ think: 1s }}, {s} ] }}")),
            steps.clone().prop_map(|s| format!("{{ loop: 10, steps: [ {s} ] }}")),
            steps.clone().prop_map(|s| format!("{{ if: user > 1, then: [ {s} ], else: [ {s} ] }}")),
            steps
                .clone()
                .prop_map(|s| format!("{{ choose: [ {{ weight: 2, steps: [ {s} ] }} ] }}")),
            steps.prop_map(|s| format!("{{ transaction: group, steps: [ {s} ] }}")),
        ]
    })
}

fn phase() -> impl Strategy<Value = String> {
    let rate = 1u32..1000;
    prop_oneof![
        (rate.clone(), duration())
            .prop_map(|(r, d)| format!("- {{ constant: {r}/min, for: {d} }}")),
        (rate.clone(), duration()).prop_map(|(r, d)| format!("- {{ poisson: {r}/h, for: {d} }}")),
        (rate, duration()).prop_map(|(r, d)| format!("- {{ ramp: 0/s..{r}/h, for: {d} }}")),
        duration().prop_map(|d| format!("- {{ hold: {d} }}")),
        (1u32..999, duration()).prop_map(|(u, d)| format!("- {{ users: {u}, for: {d} }}")),
    ]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_text_is_survived(text in "\\PC{0,200}") {
        let (plan, diagnostics) = compile_with(&text, &[("a.0.b", &text), (&text, "x")]);
        prop_assert!(plan.is_none() && !diagnostics.is_empty());
    }

    #[test]
    fn any_disorder_is_survived(pieces in prop::collection::vec(piece(), 0..60)) {
        let text = pieces.concat();
        let _ = compile_with(&text, &[("options.tls.verify", &text)]);
        let _ = compile_with(&with_steps(&format!("- send: {text}")), &[]);
        let _ = compile_with(&with_arrivals(&format!("- {text}")), &[]);
    }

    #[test]
    fn any_expression_is_survived(text in "[-a-z0-9_ ()+*/%<>=!&|,.'\\\\{}$]{0,60}") {
        let quoted = serde_json::Value::from(format!("${{{text}}}")).to_string();
        let _ = compile_with(&with_steps(&format!("- set: {{ a: {quoted} }}")), &[]);
        let quoted = serde_json::Value::from(text).to_string();
        let _ = compile_with(&with_steps(&format!("- check: {quoted}")), &[("seed", &quoted)]);
    }

    #[test]
    fn sound_parts_make_a_plan(
        steps in prop::collection::vec(step(), 1..6),
        phases in prop::collection::vec(phase(), 1..5),
    ) {
        let steps: Vec<String> = steps.iter().map(|step| format!("- {step}")).collect();
        let (plan, diagnostics) = compile_with(&with_steps(&steps.join("\n")), &[]);
        prop_assert!(plan.is_some() && diagnostics.is_empty(), "{diagnostics:?}");
        let (plan, diagnostics) = compile_with(&with_arrivals(&phases.join("\n")), &[]);
        prop_assert!(plan.is_some() && diagnostics.is_empty(), "{diagnostics:?}");
    }
}

/// Limits stop what would otherwise grow without bound.
#[test]
fn exceeded_limits_are_reported() {
    let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let below = vec![format!("*a{}", level - 1); 10].join(", ");
        laughs.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    let long = "# filler\n".repeat((4 << 20) / 9 + 1);
    let copies = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a, ".repeat(1000));
    let wide = "x: 1\n".repeat(100);
    for (text, expected) in [
        (deep, "nested too deeply"),
        (laughs, "more than 100,000 values"),
        (copies, "more than 100,000 values"),
        (long, "longer than 4 MiB"),
        (wide, "is given twice"),
        ("a: &a [ *a ]".to_owned(), "is inside its own anchor"),
    ] {
        assert!(crate::rendered(&text, &[]).contains(expected), "{expected}");
    }
}

/// However many problems there are, the list of them ends.
#[test]
fn many_problems_are_counted() {
    let text: String = (0..5000).map(|index| format!("key{index}: 1\n")).collect();
    let (_, diagnostics) = compile_with(&text, &[]);
    assert_eq!(diagnostics.len(), scenario::document::DIAGNOSTICS_MAX + 1);
    assert_eq!(diagnostics.last().unwrap().message, "and 4903 more problems");
}
