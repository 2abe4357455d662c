//! Models as Tsung's files, read again as Tsung's files are.

use convert::{Leniency, tsung};
use model::{BehaviourKind, BuiltModel, Settings};

use crate::{Space, line};

/// Visits of two kinds, all of them by whole seconds.
fn log() -> String {
    let mut lines = Vec::new();
    for visit in 0..400_u64 {
        let begin = 11 * visit + visit % 7;
        let address = format!("10.0.{}.{}", visit / 200, visit % 200);
        let path = if visit % 4 == 0 { "/shop/" } else { "/news/" };
        let mut second = begin;
        for request in 0..1 + visit % 5 {
            second += request * (1 + visit % 3);
            let request = match request {
                0 => format!("GET {path}?a=1&b=\"<%%_x%%>--"),
                1 => format!("POST {path}{}", visit % 9),
                2 => format!("BREW {path}pot"),
                _ => format!("GET {path}again"),
            };
            lines.push((second, line(second, &address, &request)));
        }
    }
    lines.sort_by_key(|(second, _)| *second);
    lines.into_iter().map(|(_, line)| line).collect()
}

fn made(behaviour: BehaviourKind) -> BuiltModel {
    let space = Space::new();
    let settings = Settings {
        segment: Some("path=^/(shop|news)/".parse().unwrap()),
        behaviour,
        ..space.settings()
    };
    space.model(log(), &settings).unwrap()
}

/// What the import makes of it.
#[track_caller]
fn imported(text: &str) -> plan::Plan {
    let source = scenario::Source { name: "model.xml", text };
    let none = |_: &str| Err("there are no files".to_owned());
    let settings = tsung::Settings { leniency: Leniency::Strict, files: &none };
    let (converted, diagnostics) = tsung::convert(source, &settings);
    let converted = converted.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}"));
    let source = scenario::Source { name: "model.yaml", text: &converted.text };
    let settings = scenario::Settings { overrides: &[], env: &|_| None, files: &none };
    let (plan, diagnostics) = scenario::compile(source, &settings);
    plan.unwrap_or_else(|| panic!("{}\n{}", scenario::render(&diagnostics, source), converted.text))
}

#[test]
fn tsung_file_of_a_chain_keeps_sessions_and_users() {
    let made = made(BehaviourKind::Chain);
    let written = made.tsung();
    let plan = imported(&written.text);
    let segments = &made.model.segments;
    let found: Vec<(&str, f64)> =
        plan.sessions.iter().map(|session| (session.name.as_str(), session.weight)).collect();
    let names = model::session_names(&made.model);
    let expected: Vec<(&str, f64)> = names
        .iter()
        .zip(segments)
        .map(|(name, segment)| (name.as_str(), segment.sessions as f64))
        .collect();
    assert_eq!(found, expected);
    let users = made.model.arrivals.users as f64;
    assert!((plan.users_planned() / users - 1.0).abs() < 0.01, "{}", plan.users_planned());
    // Each class is a transaction.
    for class in &made.model.classes {
        let known = plan.measures.iter().any(|measure| measure.name == class.state);
        assert!(known, "{}", class.state);
    }
    assert!(
        written.notes.iter().any(|note| note.contains("does not know BREW: replaced by GET")),
        "{:?}",
        written.notes
    );
    for diagnostics in &written.notes {
        assert!(written.text.contains(&format!("<!-- {} -->", diagnostics.replace("--", "- -"))));
    }
}

#[test]
fn tsung_file_has_each_sequence() {
    let made = made(BehaviourKind::Sequences);
    let plan = imported(&made.tsung().text);
    let kept = made.model.segments.iter();
    let sequences: usize = kept.map(|segment| segment.behaviour.sequences.len()).sum();
    assert_eq!(plan.sessions.len(), sequences);
    let weight: f64 = plan.sessions.iter().map(|session| session.weight).sum();
    assert!((weight - made.model.arrivals.users as f64).abs() < 1e-3, "{weight}");
}

#[test]
fn tsung_phases_merge_bins_and_keep_users() {
    let space = Space::new();
    let settings = Settings { arrivals: Some(model::ArrivalProcess::Trace), ..space.settings() };
    let made = space.model(log(), &settings).unwrap();
    let written = made.tsung();
    let phases = written.text.matches("<arrivalphase ").count();
    assert!((100..=500).contains(&phases), "{phases}");
    let plan = imported(&written.text);
    let users = made.model.arrivals.users as f64;
    assert!((plan.users_planned() / users - 1.0).abs() < 0.01, "{}", plan.users_planned());
    assert!(written.notes.iter().any(|note| note.contains("arrive as recorded")));
}
