//! Scripts of k6: what their users send, what is recorded, and how they go on after faults.

use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use engine::measure::Delta;
use engine::sim::{self, Link, PeerAction};
use engine::tables::budget::Budget;
use k6::{Given, Variable};
use plan::Plan;
use record::Outcome;
use scenario::{Settings, Source, compile, render};
use stats::metrics::{MetricStat, MetricValues};

use crate::peers::{HttpPeer, WsPeer, frame, ok, response, text};
use crate::support::{MS, Ran, S};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/k6");

/// The plan of a script.
fn plan(name: &str) -> Plan {
    let read =
        |name: &str| std::fs::read(Path::new(FOLDER).join(name)).map_err(|error| error.to_string());
    let script = k6::read(name, &[], &read).unwrap_or_else(|fault| panic!("{fault}"));
    let none: [Variable; 0] = [];
    let text = k6::scenario(&script, &Given::default(), &none);
    let text = text.unwrap_or_else(|fault| panic!("{fault}"));
    let source = Source { name: "script.yaml", text: &text };
    let files = |name: &str| {
        let name = name.strip_prefix(scenario::BINARY).ok_or("no text")?;
        read(name).map(|bytes| STANDARD.encode(bytes))
    };
    let settings = Settings { overrides: &[], env: &|_| None, files: &files };
    let (plan, diagnostics) = compile(source, &settings);
    plan.unwrap_or_else(|| panic!("{}\n{text}", render(&diagnostics, source)))
}

fn run(name: &str, respond: impl FnMut(&str) -> Vec<PeerAction>) -> (Ran, Vec<String>) {
    run_over(name, Link::new(0), respond)
}

fn run_over(
    name: &str,
    link: Link<'_>,
    respond: impl FnMut(&str) -> Vec<PeerAction>,
) -> (Ran, Vec<String>) {
    let plan = plan(name);
    let mut peer = HttpPeer::new(|_| 10 * MS, respond);
    let run = sim::run(&plan, 1, &mut peer, link).expect("the plan can be run");
    let ran = Ran { plan, run };
    ran.check_sums();
    (ran, peer.requests)
}

fn run_sockets(
    name: &str,
    headers: &'static str,
    respond: impl FnMut(u64, &str) -> Vec<PeerAction>,
) -> (Ran, Vec<(u8, Vec<u8>)>) {
    let plan = plan(name);
    let mut peer = WsPeer::new(respond);
    peer.headers = headers;
    let run = sim::run(&plan, 1, &mut peer, Link::new(5 * MS)).expect("the plan can be run");
    let ran = Ran { plan, run };
    ran.check_sums();
    (ran, peer.frames)
}

/// Repeats what it is told, and hangs up when it is told so.
fn echo(_: u64, message: &str) -> Vec<PeerAction> {
    match message {
        "drop" => vec![PeerAction::Close],
        "bye" => {
            vec![PeerAction::Send(frame(0x88, b"\x0f\xa1enough")), PeerAction::Close]
        }
        bytes if bytes.starts_with('3') => vec![PeerAction::Send(frame(0x82, b"3"))],
        message => vec![text(message)],
    }
}

/// A figure of a metric over the whole run.
fn figure(ran: &Ran, name: &str, stat: MetricStat) -> Option<f64> {
    let at = ran.plan.metrics.iter().position(|metric| metric.name == name);
    let at = at.unwrap_or_else(|| panic!("no metric {name:?}"));
    let mut values = MetricValues::new(ran.plan.metrics[at].kind);
    let of_metric = |delta: &Delta| {
        let metrics = delta.metrics.iter().filter(|metric| metric.metric.index() == at);
        metrics.map(|metric| metric.values.clone()).collect::<Vec<_>>()
    };
    for metric in ran.run.deltas.iter().flat_map(of_metric) {
        values.merge(&metric);
    }
    values.value(stat, 1.0)
}

fn lines(ran: &Ran) -> Vec<String> {
    let lines = ran.run.deltas.iter().flat_map(|delta| &delta.console);
    lines.map(|line| line.text.clone()).collect()
}

#[test]
fn a_script_does_what_its_options_say() {
    let (ran, requests) = run("shop.js", |request| match request {
        r if r.starts_with("POST") => ok(r#"{"order": {"items": ["tea"]}}"#),
        _ => ok("hello"),
    });
    assert_eq!(requests.len(), 18);
    let posted = requests.iter().filter(|request| request.starts_with("POST /orders"));
    let posted: Vec<_> = posted.collect();
    assert_eq!(posted.len(), 6);
    assert!(posted[0].contains("Content-Type: application/json\r\n"), "{}", posted[0]);
    assert!(posted[0].ends_with("{\"item\":7}"), "{}", posted[0]);
    assert_eq!(ran.outcomes("/"), [Outcome::Ok; 6]);
    assert_eq!(ran.outcomes("item"), [Outcome::Ok; 6]);
    assert_eq!(ran.outcomes("/orders"), [Outcome::Ok; 6]);
    assert_eq!(ran.counted("check order is taken", Outcome::Ok), 6);
    assert_eq!(ran.counted("check front page is there", Outcome::Ok), 6);
    // Two users, each with three iterations of a second and three requests.
    let last = ran.run.rows.iter().map(|row| row.done_ns).max().unwrap();
    assert!((3 * S..3 * S + 200 * MS).contains(&last), "{last}");

    let of = |name: &str, stat| figure(&ran, name, stat);
    assert_eq!(of("orders", MetricStat::Sum), Some(6.0));
    assert_eq!(of("iterations", MetricStat::Sum), Some(6.0));
    assert_eq!(of("http_reqs", MetricStat::Sum), Some(18.0));
    assert_eq!(of("http_req_duration", MetricStat::Count), Some(18.0));
    assert_eq!(of("http_req_duration", MetricStat::Min), Some(10.0));
    assert_eq!(of("http_req_duration{name:item}", MetricStat::Count), Some(6.0));
    assert_eq!(of("http_req_failed", MetricStat::Share), Some(0.0));
    assert_eq!(of("checks", MetricStat::Share), Some(1.0));
    assert_eq!(of("basket", MetricStat::Max), Some(8.0));
    assert_eq!(of("iteration_duration", MetricStat::Min), Some(1030.0));
    assert_eq!(of("group_duration", MetricStat::Max), Some(20.0));
    let names: Vec<&str> = ran.plan.thresholds.iter().map(|t| t.text.as_str()).collect();
    assert_eq!(names.len(), 5, "{names:?}");
}

#[test]
fn users_go_on_after_faults() {
    let (ran, requests) = run("faults.js", |request| match request {
        r if r.starts_with("GET /reset") => vec![PeerAction::Close],
        r if r.starts_with("GET /missing") => response("404 Not Found", "", "none"),
        r if r.starts_with("GET /moved") => response("302 Found", "Location: /there\r\n", ""),
        _ => ok("here"),
    });
    assert_eq!(ran.outcomes("http://target.test/reset"), [Outcome::Closed; 4]);
    assert_eq!(ran.counted("check has an answer", Outcome::Check), 4);
    assert_eq!(ran.counted("check has a code", Outcome::Ok), 4);
    assert_eq!(ran.counted("check is missing", Outcome::Ok), 4);
    assert_eq!(ran.counted("check was led elsewhere", Outcome::Ok), 2);
    assert_eq!(ran.counted("check stays", Outcome::Ok), 2);
    assert_eq!(ran.counted("check was led elsewhere", Outcome::Check), 0);
    let missing = ran.outcomes("http://target.test/missing");
    let expected = [Outcome::Status, Outcome::Ok].repeat(4);
    assert_eq!(missing, expected);
    assert_eq!(figure(&ran, "lost", MetricStat::Share), Some(1.0));
    assert_eq!(figure(&ran, "iterations", MetricStat::Sum), Some(4.0));
    // Four that are lost, eight that are missing, two that are led elsewhere by one more each, two that stay.
    assert_eq!(figure(&ran, "http_reqs", MetricStat::Sum), Some(18.0));
    assert_eq!(figure(&ran, "http_req_failed", MetricStat::Share), Some(8.0 / 18.0));
    // What was lost on a connection that had served before may have been sent again.
    let others = requests.iter().filter(|request| !request.starts_with("GET /reset "));
    assert_eq!(others.count(), 14);
    // Whatever came of a request, and of those that redirects led to: its bytes were sent.
    let bytes: usize = requests.iter().map(String::len).sum();
    assert_eq!(figure(&ran, "data_sent", MetricStat::Sum), Some(bytes as f64));
    let faults = ran.counted(plan::builtin::FAULTS_NAME, Outcome::Script);
    assert_eq!(faults, 2);
    let details = ran.details();
    let has = |text: &str| details.iter().any(|detail| detail.contains(text));
    assert!(has("Error: enough"), "{details:?}");
    assert!(has("TypeError: worse, at faults.js:19:"), "{details:?}");
    let lines = lines(&ran);
    assert!(lines.contains(&"iteration 3 of user 1: 404".to_owned()), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("warn: Request Failed")), "{lines:?}");
    assert_eq!(ran.total(|counts| counts.users_started), 4);
}

#[test]
fn scenarios_run_side_by_side_and_drop_what_finds_no_user() {
    let (ran, requests) = run("rates.js", |_| ok(""));
    let of = |name: &str, stat| figure(&ran, name, stat);
    // Three users have time for an iteration a second, of ten that are due.
    let begun = of("http_reqs{kind:busy}", MetricStat::Sum).unwrap();
    let dropped = of("dropped_iterations", MetricStat::Sum).unwrap();
    assert_eq!(begun + dropped, 20.0);
    assert_eq!(begun, 6.0);
    assert_eq!(of("iterations{scenario:calm}", MetricStat::Sum), Some(6.0));
    // Each user keeps what its script has made.
    for kept in 1..=3 {
        let wanted = format!("GET /calm/{kept} ");
        assert_eq!(requests.iter().filter(|r| r.starts_with(&wanted)).count(), 2, "{kept}");
    }
    let busy = requests.iter().filter(|request| request.starts_with("GET /busy "));
    assert_eq!(busy.count(), 6);
}

#[test]
fn requests_of_a_batch_are_made_at_the_same_time() {
    let (ran, _) = run("batch.js", page);
    for name in ["answers are in order", "one is lost", "answers have names", "nothing is nothing"]
    {
        assert_eq!(ran.counted(&format!("check {name}"), Outcome::Ok), 2, "{name}");
    }
    assert_eq!(ran.outcomes("second"), [Outcome::Ok; 2]);
    // Four at the same time, and then the other two: two round trips, and one for the second batch.
    let first = ran.run.rows.iter().filter(|row| row.user == ran.run.rows[0].user);
    let last = first.map(|row| row.done_ns).max().unwrap();
    assert!(last <= 100 * MS, "{last}");
    assert_eq!(figure(&ran, "http_reqs", MetricStat::Sum), Some(16.0));
}

/// A context, and answers of a mebibyte that wait for others of their batch, take part of what all share.
#[test]
fn answers_for_scripts_take_no_more_memory_than_there_is() {
    let body = "x".repeat(1 << 20);
    let ran = |mib: u64| {
        let link = Link { buffers: Arc::new(Budget::new(mib << 20)), ..Link::new(0) };
        run_over("memory.js", link, |_| ok(&body)).0
    };
    let name = "http://target.test/page/{}";
    let enough = ran(64);
    assert_eq!(enough.outcomes(name), [Outcome::Ok; 12]);
    assert_eq!(lines(&enough), [["200"; 12].join(",")]);
    let short = ran(6).outcomes(name);
    let taken = short.iter().filter(|outcome| **outcome == Outcome::Ok).count();
    assert!((1..=5).contains(&taken), "{short:?}");
    assert!(short[taken..].iter().all(|outcome| *outcome == Outcome::NoMemory), "{short:?}");
    // Without any there is no user, and its iteration ends.
    let none = ran(0);
    assert_eq!(none.counted(plan::builtin::FAULTS_NAME, Outcome::NoMemory), 1);
    assert!(none.details().iter().any(|detail| detail.contains("is used up")));
}

#[test]
fn runs_of_several_loops_make_the_same_iterations() {
    let plan = plan("shop.js");
    for loops in [1, 3] {
        let answer = |request: &str| match request.starts_with("POST") {
            true => ok(r#"{"order": {"items": ["tea"]}}"#),
            false => ok("hello"),
        };
        let mut peer = HttpPeer::new(|_| MS, answer);
        sim::run(&plan, loops, &mut peer, Link::new(0)).expect("the plan can be run");
        assert_eq!(peer.requests.len(), 18, "{loops} loops");
    }
}

#[test]
fn scripts_read_and_set_cookies_and_end_runs() {
    let (ran, requests) = run("jar.js", |request| match request.starts_with("GET /set ") {
        true => response("200 OK", "Set-Cookie: own=1; Path=/\r\n", "set"),
        false => ok(""),
    });
    assert_eq!(requests.len(), 12);
    let cookie = |request: &String| {
        let line = request.lines().find(|line| line.to_ascii_lowercase().starts_with("cookie:"));
        line.map(|line| line["cookie:".len()..].trim().to_owned())
    };
    let sent: Vec<_> = requests.iter().map(cookie).collect();
    for iteration in sent.chunks(4) {
        let expected = [None, Some("own=1; mine=two"), Some("mine=two"), Some("other=3")];
        assert_eq!(iteration, expected.map(|line| line.map(str::to_owned)));
    }
    for name in ["an iteration begins without cookies", "cookies of answers are there"] {
        assert_eq!(ran.counted(&format!("check {name}"), Outcome::Ok), 3, "{name}");
    }
    // Each iteration has a connection of its own.
    assert_eq!(ran.rows("connect").len(), 3);
    assert_eq!(ran.total(|counts| counts.script_aborts), 1);
    assert!(lines(&ran).contains(&"error: test aborted: enough".to_owned()));
}

/// The number of a page, or a connection that is closed.
fn page(request: &str) -> Vec<PeerAction> {
    match request.split(' ').nth(1) {
        Some("/reset") => vec![PeerAction::Close],
        Some(path) => ok(path.rsplit('/').next().unwrap_or_default()),
        None => ok(""),
    }
}

#[test]
fn promises_and_timers_run_on_the_users_own_loop() {
    let (ran, requests) = run("async.js", page);
    for name in [
        "both are there",
        "at the same time",
        "goes on beside",
        "one is lost",
        "timers are in order",
        "values are handed on",
        "the last one counts",
    ] {
        let counted = ran.counted(&format!("check {name}"), Outcome::Ok);
        assert_eq!(counted, 2, "{name}: {:?} {:?}", lines(&ran), ran.details());
    }
    assert_eq!(ran.counted(plan::builtin::FAULTS_NAME, Outcome::Script), 0);
    assert_eq!(ran.outcomes("second"), [Outcome::Ok; 2]);
    assert_eq!(figure(&ran, "http_reqs", MetricStat::Sum), Some(18.0));
    let sent = requests.iter().filter(|request| !request.contains("/reset"));
    assert_eq!(sent.count(), 14);
    assert_eq!(figure(&ran, "iterations", MetricStat::Sum), Some(2.0));
    // A second, two that are lost, 300 ms of timers, and six round trips of 10 ms.
    let longest = figure(&ran, "iteration_duration", MetricStat::Max).unwrap();
    assert!((1340.0..1400.0).contains(&longest), "{longest}");
}

#[test]
fn what_an_iteration_leaves_in_flight_ends_with_it() {
    let (ran, _) = run("async_faults.js", page);
    let faults = ran.counted(plan::builtin::FAULTS_NAME, Outcome::Script);
    assert_eq!(faults, 3, "{:?}", ran.details());
    let details = ran.details();
    for text in ["thrown at once, at async_faults.js:12:", "thrown by a timer", "nobody handles it"]
    {
        assert!(details.iter().any(|detail| detail.contains(text)), "{text}: {details:?}");
    }
    // What the first and the third have begun was not sent yet, and the last one waits for its own.
    let outcomes = ran.outcomes("/pages/{}");
    assert_eq!(outcomes, [[Outcome::Unfinished; 3], [Outcome::Ok; 3]].concat());
    assert_eq!(figure(&ran, "iterations", MetricStat::Sum), Some(4.0));
    assert_eq!(figure(&ran, "http_reqs", MetricStat::Sum), Some(3.0));
}

#[test]
fn a_loop_without_an_end_ends_with_the_run() {
    let (ran, _) = run("endless.js", |_| ok(""));
    assert_eq!(ran.counted(plan::builtin::FAULTS_NAME, Outcome::Script), 2);
    let details = ran.details();
    let has = |text: &str| details.iter().any(|detail| detail.contains(text));
    assert!(has("without waiting, and the run is over"), "{details:?}");
    assert_eq!(figure(&ran, "iterations", MetricStat::Sum), Some(2.0));
}

#[test]
fn websockets_are_waited_for() {
    let (ran, frames) = run_sockets("sockets.js", "", echo);
    for name in ["status is 101", "all is heard", "a loss is heard"] {
        let counted = ran.counted(&format!("check {name}"), Outcome::Ok);
        assert_eq!(counted, 2, "{name}: {:?} {:?}", lines(&ran), ran.details());
    }
    assert_eq!(ran.outcomes("handshake"), [Outcome::Ok; 4]);
    assert_eq!(ran.counted(plan::builtin::FAULTS_NAME, Outcome::Script), 0);
    // Two texts, a ping, bytes and a close frame; and the other's two.
    let opcodes: Vec<u8> = frames.iter().map(|(opcode, _)| *opcode).collect();
    assert_eq!(opcodes, [1, 1, 9, 2, 8, 1, 1].repeat(2));
    let of = |name: &str, stat| figure(&ran, name, stat);
    assert_eq!(of("ws_sessions", MetricStat::Sum), Some(4.0));
    assert_eq!(of("ws_msgs_sent", MetricStat::Sum), Some(10.0));
    assert_eq!(of("ws_msgs_received", MetricStat::Sum), Some(8.0));
    assert_eq!(of("ws_session_duration", MetricStat::Count), Some(4.0));
    // Over a link of 5 ms: TCP and the handshake, and a ping.
    assert_eq!(of("ws_connecting", MetricStat::Min), Some(20.0));
    assert_eq!(of("ws_ping", MetricStat::Max), Some(10.0));
}

#[test]
fn websockets_go_on_beside_the_function() {
    let headers = "sec-websocket-protocol: chat\r\n";
    let (ran, frames) = run_sockets("websockets.js", headers, echo);
    for name in [
        "both hear their own",
        "bytes are bytes",
        "it is closed by the script",
        "it waits for the other",
    ] {
        let counted = ran.counted(&format!("check {name}"), Outcome::Ok);
        assert_eq!(counted, 2, "{name}: {:?} {:?}", lines(&ran), ran.details());
    }
    assert_eq!(ran.outcomes("handshake"), [Outcome::Ok; 6]);
    assert_eq!(ran.counted(plan::builtin::FAULTS_NAME, Outcome::Script), 0);
    let closed =
        frames.iter().filter(|(opcode, payload)| *opcode == 8 && payload == b"\x03\xe8done");
    assert_eq!(closed.count(), 2);
    assert_eq!(figure(&ran, "ws_sessions", MetricStat::Sum), Some(6.0));
    assert_eq!(figure(&ran, "ws_session_duration", MetricStat::Count), Some(6.0));
    assert_eq!(figure(&ran, "iterations", MetricStat::Sum), Some(2.0));
}

#[test]
fn a_handshake_that_is_declined_is_told() {
    let (ran, _) = run("sockets.js", |_| response("403 Forbidden", "", ""));
    assert_eq!(ran.outcomes("handshake"), [Outcome::Status; 4]);
    assert_eq!(ran.counted("check status is 101", Outcome::Check), 2);
    let lines = lines(&ran);
    for text in ["websocket: bad handshake", "declined with 403"] {
        assert!(lines.iter().any(|line| line.contains(text)), "{text}: {lines:?}");
    }
    assert_eq!(figure(&ran, "iterations", MetricStat::Sum), Some(2.0));
}
