//! Runs the steps of `action.yml` as GitHub's runner does.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::expression::{holds, render};
use super::{Build, DIFFERENCE, Event};
use crate::support::{Ended, root, yaml};

/// The contexts of expressions: values by their full names.
type Context = BTreeMap<String, String>;

/// Runs all steps; returns how the last one ended, or the first that failed.
pub(super) fn run(build: &Build<'_>) -> Ended {
    let action = yaml(&std::fs::read_to_string(root().join("action.yml")).unwrap());
    let mut context = context(build, &action["inputs"]);
    let mut ended = None;
    for step in action["runs"]["steps"].as_array().unwrap() {
        let name = |name: &str| context.get(name).cloned().unwrap_or_default();
        let condition = step["if"].as_str();
        if condition.is_some_and(|condition| !holds(condition, &name)) {
            continue;
        }
        if let Some(used) = step["uses"].as_str() {
            let path = step["with"]["path"].as_str().unwrap();
            use_action(build, used, path);
            continue;
        }
        let this = run_step(build, step, &name);
        if let Some(id) = step["id"].as_str() {
            let outputs = std::fs::read_to_string(file(build, "output")).unwrap();
            for (key, value) in outputs.lines().filter_map(|line| line.split_once('=')) {
                context.insert(format!("steps.{id}.outputs.{key}"), value.to_owned());
            }
        }
        let has_failed = this.code != Some(0);
        ended = Some(this);
        if has_failed {
            break;
        }
    }
    ended.unwrap()
}

fn context(build: &Build<'_>, inputs: &Value) -> Context {
    let mut context = Context::new();
    let number = build.number.to_string();
    let event = match build.event {
        Event::Push => ("push", "main"),
        Event::Request => ("pull_request", "7/merge"),
    };
    for (name, value) in [
        ("github.event_name", event.0),
        ("github.ref_name", event.1),
        ("github.event.repository.default_branch", "main"),
        ("github.run_number", number.as_str()),
        ("github.server_url", "https://forge.invalid"),
        ("github.action_repository", "some/throng"),
        ("github.token", "secret"),
        ("github.event.pull_request.base.sha", build.base.as_str()),
        ("github.event.before", ""),
    ] {
        context.insert(name.to_owned(), value.to_owned());
    }
    let given = [
        ("scenario", "load-test.yaml"),
        ("runs", "4"),
        ("run-args", build.run_args.as_str()),
        ("difference", DIFFERENCE),
    ];
    let more = build.inputs.iter().map(|(name, value)| (*name, value.as_str()));
    let given: Vec<(&str, &str)> = more.chain(given).collect();
    for (name, input) in inputs.as_object().unwrap() {
        let given = given.iter().find(|(given, _)| given == name);
        let default = input["default"].as_str().unwrap_or_default();
        let known = |name: &str| context[name].clone();
        let value = given.map_or_else(|| render(default, &known), |(_, value)| (*value).to_owned());
        context.insert(format!("inputs.{name}"), value);
    }
    context
}

/// A file through which a step and the runner speak.
fn file(build: &Build<'_>, name: &str) -> std::path::PathBuf {
    build.repository.space.path("temp").join(name)
}

fn run_step(build: &Build<'_>, step: &Value, name: &dyn Fn(&str) -> String) -> Ended {
    assert_eq!(step["shell"], "bash", "{step}");
    let script = step["run"].as_str().unwrap();
    // Whoever writes an input could otherwise write a command.
    assert!(!script.contains("${{"), "{script}");
    let mut command = build.bash(script);
    let event = match build.event {
        Event::Push => json!({}),
        Event::Request => json!({ "pull_request": { "number": 7 } }),
    };
    std::fs::write(file(build, "event"), event.to_string()).unwrap();
    std::fs::write(file(build, "output"), "").unwrap();
    for (key, name) in [
        ("GITHUB_EVENT_PATH", "event"),
        ("GITHUB_OUTPUT", "output"),
        ("GITHUB_STEP_SUMMARY", "summary"),
        ("GITHUB_PATH", "path"),
        ("RUNNER_TEMP", ""),
    ] {
        command.env(key, file(build, name));
    }
    command.env("GITHUB_ACTIONS", "true");
    command.env("GITHUB_REPOSITORY", "some/where");
    command.env("GITHUB_ACTION_PATH", root());
    let address = build.repository.forge.address;
    command.env("GITHUB_API_URL", format!("http://{address}"));
    for (key, value) in step["env"].as_object().into_iter().flatten() {
        command.env(key, render(value.as_str().unwrap(), name));
    }
    Ended::of(&mut command)
}

/// What the actions of others do that ours uses.
fn use_action(build: &Build<'_>, used: &str, path: &str) {
    match used.split('@').next().unwrap() {
        "actions/cache/restore" => build.copy_kept(path, "cache", "work"),
        "actions/cache/save" => build.copy_kept(path, "work", "cache"),
        "actions/upload-artifact" => {
            assert!(build.repository.space.path("work").join(path).exists());
        }
        other => panic!("what does {other} do?"),
    }
}
