//! Runs the job of `ci/gitlab/throng.yml` as GitLab's runner does.

use serde_json::Value;

use super::{Build, DIFFERENCE, Event, release};
use crate::support::{Ended, Space, root, yaml};

/// Runs the job; returns how it ended.
pub(super) fn run(build: &Build<'_>) -> Ended {
    let path = root().join("ci/gitlab/throng.yml");
    let job = &yaml(&std::fs::read_to_string(path).unwrap())[".throng"];
    let lines = ["before_script", "script"].map(|part| job[part].as_array().unwrap());
    let lines = lines.into_iter().flatten().map(|line| line.as_str().unwrap());
    let script: Vec<&str> = lines.collect();
    let mut command = build.bash(&script.join("\n"));
    let variables = variables(build, job);
    command.envs(variables.iter().map(|(key, value)| (key, value)));
    let releases = Space::new();
    command.env("THRONG_DOWNLOAD", release(&releases));

    let cached = job["cache"]["paths"][0].as_str().unwrap();
    assert_eq!(job["cache"]["policy"], "$THRONG_CACHE_POLICY");
    build.copy_kept(cached, "cache", "work");
    let ended = Ended::of(&mut command);
    let policy = variables.iter().rfind(|(key, _)| key == "THRONG_CACHE_POLICY");
    if policy.unwrap().1 == "pull-push" {
        build.copy_kept(cached, "work", "cache");
    }
    let report = job["artifacts"]["reports"]["junit"].as_str().unwrap();
    let (folder, ending) = report.split_once("/*").unwrap();
    let kept = std::fs::read_dir(build.repository.space.path("work").join(folder)).unwrap();
    let mut names = kept.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.any(|name| name.ends_with(ending)), build.event == Event::Request);
    ended
}

/// GitLab's variables, the job's, and those that the user of the template sets; later ones count.
fn variables(build: &Build<'_>, job: &Value) -> Vec<(String, String)> {
    let address = build.repository.forge.address;
    let mut all = vec![
        ("CI_PIPELINE_IID".to_owned(), build.number.to_string()),
        ("CI_DEFAULT_BRANCH".to_owned(), "main".to_owned()),
        ("CI_PROJECT_ID".to_owned(), "3".to_owned()),
        ("CI_API_V4_URL".to_owned(), format!("http://{address}")),
        ("THRONG_GITLAB_TOKEN".to_owned(), "secret".to_owned()),
        ("CI_MERGE_REQUEST_DIFF_BASE_SHA".to_owned(), build.base.clone()),
    ];
    let rule = match build.event {
        Event::Push => {
            all.push(("CI_COMMIT_BRANCH".to_owned(), "main".to_owned()));
            "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH"
        }
        Event::Request => {
            all.push(("CI_MERGE_REQUEST_IID".to_owned(), "7".to_owned()));
            "$CI_PIPELINE_SOURCE == \"merge_request_event\""
        }
    };
    let mut rules = job["rules"].as_array().unwrap().iter();
    let rule = rules.find(|known| known["if"] == rule).unwrap();
    let own = [&job["variables"], &rule["variables"]];
    for (key, value) in own.into_iter().filter_map(Value::as_object).flatten() {
        let value = value.as_str().unwrap().to_owned();
        let expanded = match value.strip_prefix('$') {
            Some(name) => all.iter().find(|(key, _)| key == name).unwrap().1.clone(),
            None => value,
        };
        all.push((key.clone(), expanded));
    }
    for (key, value) in [
        ("THRONG_SCENARIO", "load-test.yaml"),
        ("THRONG_RUNS", "4"),
        ("THRONG_ARGS", build.run_args.as_str()),
        ("THRONG_DIFFERENCE", DIFFERENCE),
    ] {
        all.push((key.to_owned(), value.to_owned()));
    }
    for (name, value) in &build.inputs {
        let name = name.to_uppercase().replace('-', "_");
        all.push((format!("THRONG_{name}"), value.clone()));
    }
    all
}
