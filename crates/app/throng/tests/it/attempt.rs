//! `throng try` and `throng new`: one user, seen from the command line.

use std::net::TcpListener;

use serde_json::Value;
use tungstenite::Message;

use crate::support::{Ended, Space, plain, root, throng};

/// A scenario of the chat, with one session `member`.
fn chat(steps: &str) -> String {
    format!("target: chat\nsessions:\n  member:\n{steps}arrivals: [{{ constant: 1/s, for: 1s }}]\n")
}

const LOGIN: &str = "    - post: /chat/speak
      json: { message: good evening }
      as: login
      save: { token: /id }
      check: token > 0
    - get: /chat/poll?after=${token}
      as: news
";

fn attempt(space: &Space, text: &str, args: &[&str]) -> Ended {
    let file = space.file("scenario.yaml", text);
    let mut command = plain(throng(["try"]));
    command.arg(file).args(args);
    Ended::of(&mut command)
}

/// Insists on a piece of what was printed, line breaks and blanks included.
#[track_caller]
fn shows(ended: &Ended, wanted: &str) {
    let found = &ended.out;
    assert!(found.contains(wanted), "{wanted:?} is not in:\n{found}");
}

/// The events of `--json`, by what happened.
fn events(ended: &Ended) -> Vec<Value> {
    let lines = ended.out.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
        .collect()
}

fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|e| e["event"] == kind).collect()
}

#[test]
fn lines_of_scripts_are_shown() {
    let space = Space::new();
    let text = chat(&format!("    - js: console.log('hello', vars.user)\n{LOGIN}"));
    let ended = attempt(&space, &text, &[]).with(0);
    shows(&ended, "     console: hello 0\n");
    let events = events(&attempt(&space, &text, &["--json"]).with(0));
    assert_eq!(of_kind(&events, "console")[0]["text"], "hello 0");
}

#[test]
fn a_user_is_shown_with_what_it_sends_receives_and_saves() {
    let space = Space::new();
    let ended = attempt(&space, &chat(LOGIN), &[]).with(0);
    for line in [
        "  1  login  (at ",
        "     connect: ok, ",
        "     > POST /chat/speak HTTP/1.1\n",
        "     >   \"message\": \"good evening\"\n",
        "     < HTTP/1.1 200 OK\n",
        "     token = 1\n     check `token > 0` is true: token = 1\n     ok, status 200, ",
        "  2  news  (at ",
        "     > GET /chat/poll?after=1 HTTP/1.1\n",
        "the session finished after 2 steps, ",
    ] {
        shows(&ended, line);
    }
}

#[test]
fn a_failed_check_names_its_expression_and_values() {
    let space = Space::new();
    let text = chat(&LOGIN.replace("token > 0", "token > 0 and token == 7"));
    let ended = attempt(&space, &text, &[]).with(1);
    let check =
        "check `token > 0 and token == 7` is false: token = 1\n     failed (check), status 200";
    shows(&ended, check);
    // A run keeps the same as the example of the error.
    let run = Ended::of(&mut space.run_text(&text, &[]));
    run.stdout_contains("`token > 0 and token == 7` is false: token = 1; received");
}

#[test]
fn a_failed_login_says_what_was_missing_and_ends_the_session() {
    let space = Space::new();
    let text = chat(&LOGIN.replace("/id", "/session/token"));
    let ended = attempt(&space, &text, &[]).with(1);
    for line in [
        "     <   \"id\": 1\n",
        "/session/token",
        "     failed (save), status 200, ",
        "the session failed after 1 step, ",
    ] {
        shows(&ended, line);
    }
    assert!(!ended.out.contains("news"), "{}", ended.out);
}

#[test]
fn events_are_printed_as_json_lines() {
    let space = Space::new();
    let ended = attempt(&space, &chat(LOGIN), &["--json"]).with(0);
    let events = events(&ended);
    let steps: Vec<_> = of_kind(&events, "step").iter().map(|e| e["name"].clone()).collect();
    assert_eq!(steps, ["login", "news"]);
    assert_eq!(of_kind(&events, "set")[0]["variable"], "token");
    assert_eq!(of_kind(&events, "set")[0]["value"], 1);
    assert_eq!(of_kind(&events, "response").len(), 2);
    let outcomes: Vec<_> = of_kind(&events, "operation")
        .iter()
        .map(|e| (e["name"].clone(), e["outcome"].clone()))
        .collect();
    assert_eq!(
        outcomes,
        [("connect", "ok"), ("login", "ok"), ("news", "ok")]
            .map(|(name, outcome)| (name.into(), outcome.into()))
    );
    assert_eq!(events.last().unwrap()["how"], "finished");
}

#[test]
fn events_of_branches_stand_below_their_steps() {
    let space = Space::new();
    let text = chat(
        "    - parallel:
        - { get: /chat/poll?after=0, as: first }
        - { get: /chat/poll?after=0, as: second }
    - { get: /chat/poll?after=0, as: behind }
",
    );
    let shown = attempt(&space, &text, &[]).with(0);
    for line in [
        "  1  first  (branch 1, at ",
        "  2  second  (branch 2, at ",
        // Its connection, once the other branch has begun as well.
        "  1  first  (branch 1, continued)\n",
        "  3  behind  (at ",
        "the session finished after 3 steps, ",
    ] {
        shows(&shown, line);
    }
    let events = events(&attempt(&space, &text, &["--json"]).with(0));
    for (name, branch, step) in [("first", 1.into(), 1), ("second", 2.into(), 2)] {
        let operations = of_kind(&events, "operation");
        let mut operations = operations.iter().filter(|e| e["name"] == name);
        let own = operations.next().expect("an operation");
        assert_eq!((&own["branch"], &own["step"]), (&branch, &Value::from(step)));
    }
    let last = of_kind(&events, "operation").pop().cloned().unwrap();
    assert_eq!((&last["name"], &last["branch"]), (&"behind".into(), &Value::Null));
}

#[test]
fn a_user_stops_after_the_steps_that_were_requested() {
    let space = Space::new();
    let text = chat("    - forever:\n        - get: /chat/poll?after=0\n        - think: 10ms\n");
    let ended = attempt(&space, &text, &["--json", "--steps", "3"]).with(0);
    let events = events(&ended);
    let requests = of_kind(&events, "operation");
    assert_eq!(requests.iter().filter(|e| e["name"] != "connect").count(), 3);
    assert_eq!(events.last().unwrap()["event"], "stopped");
}

#[test]
fn a_user_is_cut_off_when_its_time_is_up() {
    let space = Space::new();
    let text = chat("    - get: /chat/poll?after=0\n    - think: 1h\n");
    let ended = attempt(&space, &text, &["--time-limit", "300ms"]).with(0);
    shows(&ended, "the session was cut off after 1 step");
}

#[test]
fn a_users_number_gives_it_its_own_row_of_data() {
    let space = Space::new();
    space.file("people.csv", "name\nann\nbob\ncid\n");
    let text = format!(
        "data: {{ people: {{ file: people.csv, order: unique }} }}\n{}",
        chat("    - feed: people\n    - get: /chat/poll?from=${name}&of=${user}\n")
    );
    let ended = attempt(&space, &text, &["--user", "1"]).with(0);
    shows(&ended, "     name = \"bob\"\n");
    shows(&ended, "GET /chat/poll?from=bob&of=1 HTTP/1.1");
}

#[test]
fn websocket_messages_are_shown() {
    let space = Space::new();
    let text = "target: market
sessions:
  fan:
    - ws: /v1/stream
    - send: { op: games }
      reply: { when: { /re: games }, save: { game: /games/0/id } }
arrivals: [{ constant: 1/s, for: 1s }]
";
    let ended = attempt(&space, text, &["--json"]).with(0);
    let events = events(&ended);
    assert_eq!(of_kind(&events, "sent_message")[0]["text"], r#"{"op":"games"}"#);
    let reply = of_kind(&events, "message")[0]["text"].as_str().unwrap();
    assert!(reply.contains(r#""re":"games""#), "{reply}");
}

#[test]
fn frames_of_channels_are_shown() {
    let space = Space::new();
    let text = "target: chat
sessions:
  member:
    - ws: { path: /socket/websocket, protocol: phoenix, heartbeat: 25s }
    - join: chat
    - push: { event: speak, payload: { message: hello } }
arrivals: [{ constant: 1/s, for: 1s }]
";
    let ended = attempt(&space, text, &["--json"]).with(0);
    let events = events(&ended);
    let texts = |kind: &str| -> String {
        let all = of_kind(&events, kind);
        all.iter().filter_map(|e| e["text"].as_str()).collect()
    };
    assert!(texts("sent_message").contains("phx_join"), "{}", ended.out);
    assert!(texts("message").contains("phx_reply"), "{}", ended.out);
}

#[test]
fn secrets_are_not_shown() {
    let space = Space::new();
    let text = chat(
        "    - get: /chat/poll?after=0\n      headers: { authorization: \"Bearer ${env('TRY_TOKEN')}\" }\n",
    );
    let file = space.file("scenario.yaml", &text);
    let mut command = plain(throng(["try"]));
    command.arg(file).env("TRY_TOKEN", "hunter2hunter2");
    let ended = Ended::of(&mut command).with(0);
    shows(&ended, "     > authorization: Bearer ${env('TRY_TOKEN')}\n");
    assert!(!ended.out.contains("hunter2"), "{}", ended.out);
}

#[test]
fn an_unknown_session_is_refused_with_those_that_there_are() {
    let space = Space::new();
    let ended = attempt(&space, &chat(LOGIN), &["--session", "admin"]).with(64);
    ended.stderr_contains("the scenario has no session \"admin\"");
    ended.stderr_contains("its sessions: member");
}

#[test]
fn new_scenarios_run_as_they_are() {
    for (what, user) in [("http", 2), ("ws", 3), ("sse", 1), ("chat", 4)] {
        let space = Space::new();
        let name = space.path("my.yaml");
        let name = name.to_str().unwrap();
        let written = Ended::of(&mut plain(throng(["new", what, "-o", name]))).with(0);
        written.stdout_contains("throng try ");
        let mut command = plain(throng(["try", name, "--time-limit", "3s", "--json"]));
        let ended = Ended::of(&mut command).with(0);
        let done = events(&ended);
        let done = of_kind(&done, "operation").len();
        assert!(done > user / 2, "{what}: {}", ended.out);
        Ended::of(&mut plain(throng(["new", what, "-o", name])))
            .with(73)
            .stderr_contains("exists already");
    }
}

/// A server of Socket.IO 4 with one namespace, for one client: it acknowledges each event.
fn socketio() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut socket = tungstenite::accept(stream).unwrap();
        let opened = r#"0{"sid":"s","pingInterval":25000,"pingTimeout":20000}"#;
        socket.send(Message::text(opened)).unwrap();
        while let Ok(message) = socket.read() {
            let Message::Text(text) = message else {
                continue;
            };
            let answer = match text.strip_prefix("42").and_then(|event| event.split_once('[')) {
                Some((number, _)) => format!(r#"43{number}[{{"id":7}}]"#),
                None if text.starts_with("40") => r#"40{"sid":"t"}"#.to_owned(),
                None => continue,
            };
            socket.send(Message::text(answer)).unwrap();
        }
    });
    url
}

#[test]
fn the_new_scenario_of_socketio_runs_as_it_is() {
    let printed = Ended::of(&mut plain(throng(["new", "socketio", "-o", "-"]))).with(0);
    let target = format!("target={}", socketio());
    let args = ["--json", "--set", &target, "--set", "sessions.member.2.steps.0.think=10ms"];
    let ended = attempt(&Space::new(), &printed.out, &args).with(0);
    let events = events(&ended);
    let acknowledged = of_kind(&events, "operation")
        .into_iter()
        .filter(|event| event["name"] == "speak" && event["outcome"] == "ok");
    assert_eq!(acknowledged.count(), 5, "{}", ended.out);
    assert!(of_kind(&events, "set").iter().all(|event| event["value"] == 7));
}

/// The page's example, as it is printed.
#[test]
fn the_page_shows_what_a_failing_login_prints() {
    let page = std::fs::read_to_string(root().join("docs/debugging.md")).unwrap();
    let block = |kind: &str| {
        let start = page.split(&format!("```{kind}\n")).nth(1).unwrap();
        start.split("```").next().unwrap().to_owned()
    };
    let space = Space::new();
    let ended = attempt(&space, &block("yaml scenario"), &[]).with(1);
    assert_eq!(without_times(&ended.out), without_times(&block("text")));
}

/// Ports, durations and dates differ from run to run.
fn without_times(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines().filter(|line| !line.contains("< date: ")) {
        for word in line.split_inclusive(' ') {
            let plain = word.trim_matches([' ', ')']);
            let is_unit = ["s", "ms", "µs"].contains(&plain);
            let is_number = plain.parse::<f64>().is_ok();
            if word.contains("127.0.0.1:") {
                out.push_str("ADDRESS ");
            } else if !is_unit && !is_number {
                out.push_str(word);
            }
        }
        out.push('\n');
    }
    out
}

#[test]
fn scripts_are_shown_with_what_they_set_and_how_they_fail() {
    let space = Space::new();
    let steps = "    - js: vars.a = 6 * 7;\n      sets: a\n    - post: /chat/speak\n      json: { message: \"number ${a}\" }\n      as: speak\n      check: a == 42\n    - js: |\n        const words = vars.a;\n        words.missing();\n";
    let ended = attempt(&space, &chat(steps), &[]).with(1);
    shows(&ended, "     a = 42\n");
    shows(&ended, "`js`: TypeError: not a function, at scenario:12:");
    shows(&ended, "     check `a == 42` is true: a = 42\n");
}
