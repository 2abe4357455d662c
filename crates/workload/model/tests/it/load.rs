//! Loading a `model.json`: what is accepted, and what is rejected.

use model::{BuiltModel, FormatSpec, Model, ModelFileError, Settings};
use serde_json::{Value, json};

use crate::{Space, line};

fn made() -> BuiltModel {
    let space = Space::new();
    let mut log = String::new();
    for visit in 0..60 {
        log += &line(9 * visit, &format!("10.0.0.{visit}"), "GET /");
        log += &line(9 * visit + 3, &format!("10.0.0.{visit}"), "GET /news");
    }
    space.model(log, &space.settings()).unwrap()
}

#[test]
fn written_model_loads() {
    let made = made();
    let text = serde_json::to_string(&made.model).unwrap();
    let model = Model::read(&text).unwrap();
    assert_eq!(model.classes, made.model.classes);
    assert_eq!(model.scenario(), made.scenario());
}

#[test]
fn impossible_values_are_rejected() {
    let text = serde_json::to_string(&made().model).unwrap();
    let changed = |place: &str, value: Value| {
        let mut model: Value = serde_json::from_str(&text).unwrap();
        *model.pointer_mut(place).expect(place) = value;
        Model::read(&model.to_string())
    };
    for (place, value, part) in [
        ("/segments/0/behaviour/transitions/0/to", json!(9), "class 9"),
        ("/segments/0/behaviour/transitions/0/from", json!(2), "class 2"),
        ("/segments/0/behaviour/sequences/0/0/0", json!(7), "class 7"),
        ("/segments/0/behaviour/exits", json!([1]), "exits has 1"),
        ("/segments/0/behaviour/starts/0", json!(u64::MAX), "a start"),
        ("/segments/0/behaviour/lengths/2", json!(u64::MAX), "a length"),
        ("/segments/0/sessions", json!(u64::MAX), "a segment"),
        ("/segments", json!([]), "no segment"),
        ("/classes/0/targets", json!([]), "no target"),
        ("/arrivals/span_s", json!(0.0), "no length"),
        ("/arrivals/local_s", json!(i64::MIN), "which no clock shows"),
    ] {
        let Err(ModelFileError::Numbers(why)) = changed(place, value) else {
            panic!("{place} is taken");
        };
        assert!(why.contains(part), "{place}: {why}");
    }
    assert!(matches!(changed("/format", json!(1)), Err(ModelFileError::Version(1))));
    assert!(matches!(changed("/classes", json!("none")), Err(ModelFileError::Json(_))));
}

/// Older files lack keys: the error names the version, not a key.
#[test]
fn older_versions_are_rejected_with_advice() {
    let error = Model::read("{\"format\": 1, \"name\": \"old\"}").unwrap_err();
    assert_eq!(
        error.to_string(),
        "it was made by an older version of Throng (format 1; this version reads 2): run `throng model` again"
    );
}

/// Targets may be as long as a line.
#[test]
fn classes_of_long_targets_keep_their_names() {
    let space = Space::new();
    let mut log = String::new();
    for visit in 0..36 {
        let query = format!("{:x}", visit % 12).repeat(60_000);
        log += &line(9 * visit, "10.0.0.1", &format!("GET /find?q={query}"));
        log += &line(9 * visit + 3, "10.0.0.1", "GET /");
    }
    let first = space.model(&log, &space.settings()).unwrap().model;
    assert!(first.classes.iter().any(|class| class.targets.len() == 12));
    let own =
        Settings { rules: model::settings_for_simulated_log(&first).rules, ..space.settings() };
    let second = space.model(&log, &own).unwrap().model;
    let names = |model: &Model| -> Vec<String> {
        let classes = model.classes.iter();
        classes.map(|class| class.name.clone()).collect()
    };
    assert_eq!(names(&second), names(&first));
}

/// A model file and lines of a log that are nested more deeply than a stack holds.
#[test]
fn what_is_nested_too_deeply_is_rejected() {
    const LEVELS: usize = 200_000;
    let look = || {
        for front in
            ["[", "{\"format\":", "{\"format\":2,\"segments\":[", "{\"x\":{\"format\":2,\"x\":"]
        {
            assert!(Model::read(&front.repeat(LEVELS)).is_err(), "{front}");
        }
        let space = Space::new();
        for front in ["{\"time\":", "[", "{\"a\":["] {
            let log = format!("{}\n", front.repeat(LEVELS));
            let settings = Settings { format: FormatSpec::Json, ..space.settings() };
            assert!(space.model(log, &settings).is_err(), "{front}");
        }
    };
    let thread = std::thread::Builder::new().stack_size(512 << 10);
    thread.spawn(look).unwrap().join().unwrap();
}
