//! What importers and models write is tried by one user, as it is.

use std::path::Path;

use serde_json::Value;

use crate::support::{Ended, Served, Space, plain, throng};

/// A recording of two pages within a second.
fn recording(url: &str) -> String {
    let entry = |path: &str, second: &str| {
        format!(
            r#"{{ "startedDateTime": "2026-01-31T09:30:{second}Z", "time": 40,
                "request": {{ "method": "GET", "url": "{url}{path}", "httpVersion": "HTTP/1.1",
                    "headers": [], "cookies": [], "queryString": [] }},
                "response": {{ "status": 200, "headers": [], "content": {{ "mimeType": "text/plain", "size": 3 }} }},
                "cache": {{}}, "timings": {{}} }}"#
        )
    };
    format!(
        r#"{{ "log": {{ "version": "1.2", "creator": {{ "name": "by hand", "version": "1" }}, "entries": [ {}, {} ] }} }}"#,
        entry("/first", "00.000"),
        entry("/second", "00.400")
    )
}

fn tsung(url: &str) -> String {
    let port = url.rsplit(':').next().unwrap();
    format!(
        r#"<?xml version="1.0"?>
<tsung version="1.0">
  <servers><server host="127.0.0.1" port="{port}" type="tcp"/></servers>
  <load>
    <arrivalphase phase="1" duration="10" unit="second"><users arrivalrate="2" unit="second"/></arrivalphase>
  </load>
  <sessions>
    <session name="reader" probability="100" type="ts_http">
      <request><http url="/first" method="GET"/></request>
      <request><http url="/second" method="GET"/></request>
    </session>
  </sessions>
</tsung>
"#
    )
}

/// A log of 40 visitors who read two pages, a second apart.
fn log() -> String {
    let mut text = String::new();
    for visit in 0..40 {
        for (page, path) in ["/first", "/second"].into_iter().enumerate() {
            let minute = visit * 7 / 60;
            let second = visit * 7 % 60 + page;
            text += &format!(
                "10.0.0.{visit} - - [17/May/2015:10:{minute:02}:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 3 \"-\" \"x\"\n"
            );
        }
    }
    text
}

/// The requests that a user sends who tries the file, all of them answered.
#[track_caller]
fn tried(file: &Path, sets: &[&str]) -> Vec<String> {
    let mut command = plain(throng(["try", "--json", "--time-limit", "20s"]));
    command.arg(file);
    for set in sets {
        command.args(["--set", set]);
    }
    let ended = Ended::of(&mut command).with(0);
    let lines = ended.out.lines();
    let events: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    let operations = events.iter().filter(|event| event["event"] == "operation");
    let failed: Vec<_> = operations.filter(|event| event["outcome"] != "ok").collect();
    assert!(failed.is_empty(), "{failed:?}");
    let sent = events.iter().filter(|event| event["event"] == "sent");
    let lines = sent.filter_map(|event| event["text"].as_str()?.lines().next());
    lines.map(str::to_owned).collect()
}

const PAGES: [&str; 2] = ["GET /first HTTP/1.1", "GET /second HTTP/1.1"];

#[test]
fn an_imported_recording_is_tried() {
    let space = Space::new();
    let server = Served::start(&["hello"]);
    let file = space.file("pages.har", &recording(&server.url));
    let scenario = space.path("pages.yaml");
    let mut command = throng(["import"]);
    Ended::of(command.arg(file).arg("-o").arg(&scenario)).with(0);
    assert_eq!(tried(&scenario, &[]), PAGES);
}

#[test]
fn a_tsung_file_is_tried_as_it_is_and_imported() {
    let space = Space::new();
    let server = Served::start(&["hello"]);
    let file = space.file("pages.xml", &tsung(&server.url));
    assert_eq!(tried(&file, &[]), PAGES);
    let scenario = space.path("pages.yaml");
    let mut command = throng(["import"]);
    Ended::of(command.arg(file).arg("-o").arg(&scenario)).with(0);
    assert_eq!(tried(&scenario, &[]), PAGES);
}

#[test]
fn the_scenario_of_a_model_is_tried() {
    let space = Space::new();
    let server = Served::start(&["hello"]);
    let log = space.file("access.log", &log());
    let model = space.path("model");
    let mut command = throng(["model", "--quiet"]);
    Ended::of(command.arg(log).arg("-o").arg(&model)).with(0);
    let target = format!("target={}", server.url);
    assert_eq!(tried(&model.join("scenario.yaml"), &[&target]), PAGES);
}

#[test]
fn a_scenario_is_written_through_links_and_to_devices() {
    let space = Space::new();
    let file = space.file("recording.har", &recording("http://127.0.0.1:1"));
    let import = |more: &[&str]| Ended::of(throng(["import"]).arg(&file).args(more)).with(0).out;
    let text = import(&[]);
    let link = space.path("link.yaml");
    std::os::unix::fs::symlink("elsewhere.yaml", &link).unwrap();
    for _ in 0..2 {
        import(&["--output", link.to_str().unwrap()]);
        assert!(link.is_symlink());
        let found = std::fs::read_to_string(space.path("elsewhere.yaml")).unwrap();
        assert_eq!(found, text);
    }
    assert_eq!(import(&["--output", "/dev/stdout"]), text);
    assert!(Path::new("/dev/stdout").is_symlink());
}
