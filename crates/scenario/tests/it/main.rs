//! The language from outside: whole scenarios in, plans and messages out.

mod arrivals;
mod bad;
mod documents;
mod experiments;
mod expressions;
mod plans;
mod programs;
mod properties;
mod tcp;
mod thresholds;

use scenario::{Diagnostic, Plan, Settings, Source, compile, render};

/// Overrides from pairs of texts.
fn overrides(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

/// Compiles in a world with one environment variable (`THRONG_HOST`) and one file (`gaps.txt`).
fn compile_with(text: &str, sets: &[(&str, &str)]) -> (Option<Plan>, Vec<Diagnostic>) {
    let settings = Settings {
        overrides: &overrides(sets),
        env: &|name| (name == "THRONG_HOST").then(|| "example.org".to_owned()),
        files: &|name| match name {
            "gaps.txt" => Ok("# seconds\n0.5\n250ms\n\n1\n".to_owned()),
            "bad.txt" => Ok("1\ntwo\n".to_owned()),
            _ => Err("no such file".to_owned()),
        },
    };
    compile(
        Source {
            name: "test.yaml",
            text,
        },
        &settings,
    )
}

/// The plan of a scenario in which nothing is wrong.
#[track_caller]
fn plan_with(text: &str, sets: &[(&str, &str)]) -> Plan {
    let (plan, diagnostics) = compile_with(text, sets);
    let told = render(
        &diagnostics,
        Source {
            name: "test.yaml",
            text,
        },
    );
    assert!(diagnostics.is_empty(), "{told}\n{text}");
    plan.expect("a scenario without diagnostics has a plan")
}

#[track_caller]
fn plan(text: &str) -> Plan {
    plan_with(text, &[])
}

/// A scenario with these steps, written as a YAML list.
fn with_steps(steps: &str) -> String {
    let steps = steps.trim_matches('\n').replace('\n', "\n    ");
    format!(
        "target: http://127.0.0.1:8080/base\nsessions:\n  s:\n    {steps}\n\
         arrivals: [{{ hold: 1s }}]\n"
    )
}

/// A scenario with these phases, written as a YAML list.
fn with_arrivals(phases: &str) -> String {
    let phases = phases.trim_matches('\n').replace('\n', "\n  ");
    format!(
        "target: http://127.0.0.1:8080/\nsessions:\n  s: [ {{ think: 1s }} ]\n  \
         t: [ {{ think: 1s }} ]\narrivals:\n  {phases}\n"
    )
}

/// What is said of a wrong scenario.
#[track_caller]
fn told(text: &str, sets: &[(&str, &str)]) -> String {
    let (plan, diagnostics) = compile_with(text, sets);
    assert!(plan.is_none(), "this should not compile:\n{text}");
    render(
        &diagnostics,
        Source {
            name: "test.yaml",
            text,
        },
    )
}
