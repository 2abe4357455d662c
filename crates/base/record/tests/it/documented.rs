//! `docs/run-directory.md` documents all that the files contain.

use record::Outcome;
use record::counters::{Counts, Gauges, LoopCpu, Output};
use record::schema::EventKind;
use serde_json::{Value, json};

use crate::sample;

const REFERENCE: &str = include_str!("../../../../../docs/run-directory.md");

/// Keys of maps whose keys are data, not fields.
const MAPS: &[&str] = &["host", "evidence", "errors_by_kind", "outcomes", "errors"];

fn fields(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (key, inner) in object {
                found.push(key.clone());
                if !MAPS.contains(&key.as_str()) {
                    fields(inner, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| fields(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_field_is_in_the_reference() {
    let files = json!([
        sample::info(),
        sample::summary(),
        sample::tally(),
        sample::series_row(0),
        sample::event(),
        sample::import(),
        sample::probe("CPUUtilization"),
    ]);
    let mut found = Vec::new();
    fields(&files, &mut found);
    let missing: Vec<&String> =
        found.iter().filter(|field| !REFERENCE.contains(&format!("`{field}`"))).collect();
    assert!(missing.is_empty(), "docs/run-directory.md does not explain {missing:?}");
}

#[test]
fn every_counter_has_its_column_in_the_reference() {
    let all = [Counts::COUNTERS, Gauges::COUNTERS, LoopCpu::COUNTERS].concat();
    for counter in all {
        if let Output::Column(column) = counter.output {
            let row = format!("`{column}`");
            assert!(REFERENCE.contains(&row), "docs/run-directory.md has no column {row}");
        }
    }
}

#[test]
fn every_outcome_is_in_the_reference() {
    for outcome in Outcome::ALL {
        let row = format!("| {} | `{}` | ", *outcome as u8, outcome.name());
        assert!(REFERENCE.contains(&row), "docs/run-directory.md has no row {row:?}");
    }
}

#[test]
fn every_event_is_in_the_reference() {
    // Whoever reads an unknown one says which are known.
    let unknown = serde_json::from_value::<EventKind>(json!({ "event": "?" }));
    let error = unknown.unwrap_err().to_string();
    let names: Vec<&str> = error.split('`').skip(3).step_by(2).collect();
    assert!(names.len() > 20, "{error}");
    let cells = REFERENCE.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let cells: Vec<&str> = cells.collect();
    let is_there = |name: &&str| cells.iter().any(|cell| cell.contains(&format!("`{name}`")));
    let missing: Vec<&str> = names.into_iter().filter(|name| !is_there(name)).collect();
    assert!(missing.is_empty(), "docs/run-directory.md has no rows of {missing:?}");
}
