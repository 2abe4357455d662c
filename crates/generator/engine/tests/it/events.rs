//! Server-sent events: opening, reading, and reconnecting.

use std::collections::HashMap;
use std::io::Write;

use engine::sim::{Link, Peer, PeerAction, PeerConn, PeerEvent, Verdict};
use flate2::Compression;
use flate2::write::GzEncoder;
use record::{Measurement, Outcome};

use crate::support::{MS, S, run, run_over};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\r\n";

/// A server that plays a script on each connection: the first request starts it, each action comes
/// this long after that.
struct Stage {
    scripts: Vec<Vec<(u64, PeerAction)>>,
    inbox: HashMap<PeerConn, Vec<u8>>,
    started: HashMap<PeerConn, usize>,
    requests: Vec<String>,
}

impl Stage {
    fn new<const N: usize>(scripts: [Vec<(u64, PeerAction)>; N]) -> Stage {
        Stage {
            scripts: scripts.into(),
            inbox: HashMap::new(),
            started: HashMap::new(),
            requests: Vec::new(),
        }
    }
}

impl Peer for Stage {
    fn handle(&mut self, now_ns: u64, conn: PeerConn, event: PeerEvent) -> Vec<PeerAction> {
        match event {
            PeerEvent::Received(bytes) => {
                let inbox = self.inbox.entry(conn).or_default();
                inbox.extend(bytes);
                if !inbox.ends_with(b"\r\n\r\n") {
                    return Vec::new();
                }
                let request = String::from_utf8(std::mem::take(inbox)).expect("text");
                self.requests.push(request);
                let script = self.started.len();
                self.started.insert(conn, script);
                let due = self.scripts[script].iter().enumerate();
                due.map(|(number, (after_ns, _))| PeerAction::Timer {
                    at_ns: now_ns + after_ns,
                    number: number as u64,
                })
                .collect()
            }
            PeerEvent::Timer(number) => {
                let script = self.started[&conn];
                vec![self.scripts[script][number as usize].1.clone()]
            }
            PeerEvent::Connected | PeerEvent::Closed => Vec::new(),
        }
    }
}

fn say(text: &str) -> PeerAction {
    PeerAction::Send(text.as_bytes().to_vec())
}

fn scenario(open: &str, steps: &str) -> String {
    format!(
        "
name: events
target: http://target.test/
options: {{ timeout: 2s, connect_timeout: 1s, message_max: 1KiB }}
messages:
  said: {{ when: {{ event: said }}, sent_at: /at, unit: s }}
sessions:
  main:
    - {open}
{steps}
arrivals:
  - {{ constant: 1/s, for: 1s }}
  - {{ hold: 29s }}
"
    )
}

const OPEN: &str = "sse: /stream";

#[test]
fn events_match_messages_and_replies() {
    let steps = "
    - expect: { when: { event: hello, id: \"7\", /name: ann }, save: { what: event, last: id }, as: hello }
    - check: what == 'hello' and last == '7'
    - expect: { as: next, save: { text: body } }
    - check: text == 'two lines'
      as: next text
    - think: 5s
";
    let mut peer = Stage::new([vec![
        (0, say(HEAD)),
        (MS, say(": hi\n\nevent: said\ndata: {\"at\": 0}\n\n")),
        (2 * MS, say("id: 7\nevent: hello\ndata: {\"name\": \"ann\"}\n\n")),
        (3 * MS, say("event: said\ndata: {\"at\": 0.001}\n\ndata: two lines\n\n")),
        (4 * MS, say("data: nobody waits for this\n\n")),
    ]]);
    let ran = run(&scenario(OPEN, steps), &mut peer);
    assert_eq!(ran.outcomes("stream"), [Outcome::Ok]);
    assert_eq!(ran.rows("stream")[0].status, 200);
    assert_eq!(ran.rows("hello")[0].response_ns(), 2 * MS);
    assert_eq!(ran.rows("next")[0].response_ns(), MS);
    let said: Vec<_> = ran.rows("said").iter().map(Measurement::response_ns).collect();
    assert_eq!(said, [MS, 2 * MS]);
    assert_eq!(ran.counted("check", Outcome::Check), 0);
    assert_eq!(ran.counted("next text", Outcome::Check), 0);
    assert_eq!(ran.total(|counts| counts.unmatched), 1);
    let request = &peer.requests[0];
    assert!(request.starts_with("GET /stream HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("accept: text/event-stream\r\n"), "{request}");
    assert!(!request.contains("last-event-id"), "{request}");
    assert_eq!(ran.total(|counts| counts.errors), 0);
}

/// The same run however the bytes are cut, chunked or not.
#[test]
fn any_split_reads_the_same() {
    let body = "data: a\r\ndata: b\r\n\r\n: c\r\nevent: said\r\ndata: {\"at\": 0}\r\n\r\nid: 1\r\ndata: z\r\n\r\n";
    let chunked: String =
        [&body[..13], &body[13..]].map(|part| format!("{:x}\r\n{part}\r\n", part.len())).concat();
    let chunked_head = HEAD.replace("\r\n\r\n", "\r\ntransfer-encoding: chunked\r\n\r\n");
    let steps = "
    - expect: { when: { body: \"a\\nb\" }, as: first }
    - expect: { when: { id: \"1\", body: z }, as: last }
";
    for wire in [format!("{HEAD}{body}"), format!("{chunked_head}{chunked}")] {
        for cut in 1..wire.len() {
            let (front, back) = wire.split_at(cut);
            let mut peer = Stage::new([vec![(0, say(front)), (MS, say(back))]]);
            let ran = run(&scenario(OPEN, steps), &mut peer);
            assert_eq!(ran.outcomes("first"), [Outcome::Ok], "{cut} of {wire:?}");
            assert_eq!(ran.outcomes("last"), [Outcome::Ok], "{cut} of {wire:?}");
            assert_eq!(ran.rows("said").len(), 1, "{cut} of {wire:?}");
        }
    }
}

#[test]
fn a_response_that_is_no_event_stream_ends_the_session() {
    let cases = [
        ("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", Outcome::Status),
        ("HTTP/1.1 204 No Content\r\n\r\n", Outcome::Status),
        ("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n", Outcome::HttpProtocol),
        ("HTTP/1.1 200 OK\r\n\r\n", Outcome::HttpProtocol),
        (
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: br\r\n\r\n",
            Outcome::HttpProtocol,
        ),
        ("SSH-2.0-x\r\n", Outcome::HttpProtocol),
    ];
    for (answer, outcome) in cases {
        let mut peer = Stage::new([vec![(0, say(answer))]]);
        let ran = run(&scenario(OPEN, "    - expect: { as: more }"), &mut peer);
        assert_eq!(ran.outcomes("stream"), [outcome], "{answer:?}");
        assert_eq!(ran.outcomes("more"), [], "{answer:?}");
        assert!(!ran.details().is_empty(), "{answer:?}");
    }
}

/// A stream that is lost reconnects after 3 s, then as the server says, with the last id; what
/// is waited for meanwhile may come then.
#[test]
fn a_lost_stream_reconnects() {
    let steps = "
    - expect: { when: { body: four }, within: 20s, as: four }
";
    let mut peer = Stage::new([
        vec![
            (0, say(HEAD)),
            (MS, say("id: 1\ndata: one\n\ndata: half")),
            (2 * MS, PeerAction::Close),
        ],
        vec![(0, say(HEAD)), (0, say("data: two\n\nretry: 500\n\n")), (MS, PeerAction::Reset)],
        vec![(0, say(HEAD)), (0, say("id: 3\ndata: three\n\n")), (MS, PeerAction::Close)],
        vec![(0, say(HEAD)), (7 * MS, say("data: four\n\n"))],
    ]);
    let ran = run_over(&scenario(OPEN, steps), &mut peer, Link::new(10 * MS));
    assert_eq!(ran.outcomes("stream"), [Outcome::Ok]);
    assert_eq!(ran.outcomes("four"), [Outcome::Ok]);
    let rows = ran.rows("reconnect");
    let times: Vec<_> = rows.iter().map(|row| (row.due_ns, row.done_ns)).collect();
    // Two round trips to open; what the server sends next is there another way after.
    let first = 40 * MS + 2 * MS + 3 * S;
    let second = first + 40 * MS + MS + 500 * MS;
    let third = second + 40 * MS + MS + 500 * MS;
    let expected = [first, second, third].map(|due_ns| (due_ns, due_ns + 40 * MS));
    assert_eq!(times, expected);
    assert_eq!(ran.rows("four")[0].done_ns, third + 47 * MS);
    let ids: Vec<_> = peer
        .requests
        .iter()
        .map(|request| request.split("last-event-id: ").nth(1))
        .map(|id| id.and_then(|rest| rest.split("\r\n").next()))
        .collect();
    assert_eq!(ids, [None, Some("1"), Some("1"), Some("3")]);
    assert_eq!(ran.total(|counts| counts.users_finished), 1);
    assert_eq!(ran.total(|counts| counts.errors), 0);
}

/// A step may begin behind an event that it knows; the ids of the stream take the place of that one.
#[test]
fn an_id_of_the_stream_replaces_the_steps_own() {
    let open = "sse: /stream\n      headers: { Last-Event-ID: \"40\" }";
    let steps = "    - expect: { when: { body: two }, within: 20s, as: two }";
    let mut peer = Stage::new([
        vec![(0, say(HEAD)), (MS, PeerAction::Close)],
        vec![(0, say(HEAD)), (0, say("id: 41\ndata: one\n\n")), (MS, PeerAction::Close)],
        vec![(0, say(HEAD)), (0, say("data: two\n\n"))],
    ]);
    let ran = run(&scenario(open, steps), &mut peer);
    assert_eq!(ran.outcomes("two"), [Outcome::Ok]);
    let ids = |request: &String| -> Vec<String> {
        let lines = request.lines().map(str::to_ascii_lowercase);
        lines.filter(|line| line.starts_with("last-event-id")).collect()
    };
    let ids: Vec<_> = peer.requests.iter().map(ids).collect();
    assert_eq!(ids, [["last-event-id: 40"], ["last-event-id: 40"], ["last-event-id: 41"]]);
}

/// One timer serves both: steps fall due to the nanosecond while attempts do, and attempts do not
/// wait for steps.
#[test]
fn steps_and_attempts_share_the_timer() {
    let steps = "
    - loop: 10
      steps:
        - pace: 700ms
        - transaction: tick
          steps: [ { think: 100ms } ]
    - think: 10s
";
    let open = "{ sse: /stream, reconnect: 250ms }";
    let scripts = [(); 60].map(|()| vec![(0, say(HEAD)), (50 * MS, PeerAction::Close)]);
    let mut peer = Stage::new(scripts);
    let text = scenario(open, steps).replace("- { hold: 29s }", "- { hold: 2s }");
    let ran = run(&text, &mut peer);
    let ticks: Vec<_> =
        ran.rows("tick").iter().map(|row| (row.due_ns, row.response_ns())).collect();
    let paced: Vec<_> = (0..10).map(|n| (n * 700 * MS, 100 * MS)).collect();
    assert_eq!(ticks, paced);
    let reconnects: Vec<_> = ran.rows("reconnect").iter().map(|row| row.due_ns).collect();
    let expected: Vec<_> = (1..55).map(|n| n * 300 * MS).collect();
    assert_eq!(reconnects, expected);
}

/// Attempts that fail are counted with their kind, and followed by another while the network is to
/// blame; a server that refuses is not tried again.
#[test]
fn attempts_that_fail() {
    let mut refused = 0;
    let link = Link {
        rule: Box::new(|now_ns, packet| {
            if packet == engine::sim::Packet::Connect && now_ns > 0 && refused < 2 {
                refused += 1;
                return Verdict::Refuse;
            }
            Verdict::Pass
        }),
        ..Link::new(0)
    };
    let mut peer = Stage::new([
        vec![(0, say(HEAD)), (0, PeerAction::Close)],
        // Silence: the attempt has the step's time.
        vec![],
        vec![(0, say("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n"))],
    ]);
    let open = "{ sse: /stream, reconnect: 1s }";
    let ran = run_over(&scenario(open, "    - think: 29s"), &mut peer, link);
    let rows: Vec<_> = ran
        .rows("reconnect")
        .iter()
        .map(|row| (row.due_ns, row.done_ns - row.sent_ns, row.outcome, row.status))
        .collect();
    assert_eq!(
        rows,
        [
            (S, 0, Outcome::Refused, 0),
            (2 * S, 0, Outcome::Refused, 0),
            (3 * S, 2 * S, Outcome::Timeout, 0),
            (6 * S, 0, Outcome::Status, 503),
        ]
    );
    // The loss for good ends a session that is between steps.
    assert_eq!(ran.counted("steps", Outcome::Status), 1);
    assert_eq!(ran.total(|counts| counts.users_failed), 1);
    assert!(ran.run.ended_ns <= 30 * S);
}

/// Status 204 is how a server tells a stream to stop (HTML standard §9.2.1): no failure, and no further attempt.
#[test]
fn status_204_ends_the_attempts_and_not_the_session() {
    let lost = || vec![(0, say(HEAD)), (MS, PeerAction::Close)];
    let stop = || vec![(0, say("HTTP/1.1 204 No Content\r\n\r\n"))];
    let open = "{ sse: /stream, reconnect: 1s }";
    let steps = "    - think: 5s\n    - sse: /again\n      as: again";
    let mut peer = Stage::new([lost(), stop(), vec![(0, say(HEAD))]]);
    let ran = run(&scenario(open, steps), &mut peer);
    let rows = ran.rows("reconnect");
    let reconnects: Vec<_> = rows.iter().map(|row| (row.due_ns, row.outcome, row.status)).collect();
    assert_eq!(reconnects, [(S + MS, Outcome::Ok, 204)]);
    assert_eq!(ran.outcomes("again"), [Outcome::Ok]);
    assert_eq!(peer.requests.len(), 3);
    assert_eq!(ran.total(|counts| counts.errors), 0);
    assert_eq!(ran.total(|counts| counts.users_failed), 0);
    // What waits for an event waits in vain.
    let mut peer = Stage::new([lost(), stop()]);
    let ran = run(&scenario(open, "    - expect: { as: more, within: 9s }"), &mut peer);
    assert_eq!(ran.outcomes("reconnect"), [Outcome::Ok]);
    assert_eq!(ran.outcomes("more"), [Outcome::Closed]);
    assert_eq!(ran.rows("more")[0].done_ns, S + MS);
    assert_eq!(peer.requests.len(), 2);
}

/// Compressed events are there when their server has flushed them, however the bytes are cut; a stream that reconnects
/// begins anew.
#[test]
fn compressed_streams_read_the_same() {
    let head = HEAD.replace("\r\n\r\n", "\r\ncontent-encoding: gzip\r\n\r\n");
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let mut wire = head.clone().into_bytes();
    for event in ["id: 1\ndata: one\n\nevent: sa", "id\ndata: {\"at\": 0}\n\n"] {
        encoder.write_all(event.as_bytes()).expect("a Vec takes all");
        encoder.flush().expect("a Vec takes all");
        wire.append(encoder.get_mut());
    }
    let mut again = GzEncoder::new(Vec::new(), Compression::default());
    again.write_all(b"data: two\n\n").expect("a Vec takes all");
    let again = [head.into_bytes(), again.finish().expect("a Vec takes all")].concat();
    let open = "sse: /stream\n      headers: { accept-encoding: gzip }";
    let steps = "
    - expect: { when: { body: one, id: \"1\" }, as: one }
    - expect: { when: { body: two }, within: 9s, as: two }
";
    for cut in 1..wire.len() {
        let (front, back) = wire.split_at(cut);
        let first = vec![
            (0, PeerAction::Send(front.to_vec())),
            (MS, PeerAction::Send(back.to_vec())),
            (2 * MS, PeerAction::Close),
        ];
        let second = vec![(0, PeerAction::Send(again.clone()))];
        let mut peer = Stage::new([first, second]);
        let ran = run(&scenario(open, steps), &mut peer);
        assert_eq!(ran.outcomes("one"), [Outcome::Ok], "{cut}: {:?}", ran.details());
        assert_eq!(ran.outcomes("two"), [Outcome::Ok], "{cut}: {:?}", ran.details());
        assert_eq!(ran.rows("said").len(), 1, "{cut}");
        assert!(ran.total(|counts| counts.decoded_in) > 0, "{cut}");
        assert!(peer.requests[0].contains("accept-encoding: gzip\r\n"));
    }
}

#[test]
fn a_damaged_or_huge_compressed_stream_is_an_error() {
    let head = HEAD.replace("\r\n\r\n", "\r\ncontent-encoding: gzip\r\n\r\n");
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(b"data: ").expect("a Vec takes all");
    encoder.write_all(&vec![b'x'; 8 << 20]).expect("a Vec takes all");
    let bomb = encoder.finish().expect("a Vec takes all");
    for (body, outcome) in
        [(b"data: plain\n\n".to_vec(), Outcome::Decoding), (bomb, Outcome::TooLarge)]
    {
        let script = vec![(0, say(&head)), (MS, PeerAction::Send(body))];
        let mut peer = Stage::new([script]);
        let ran = run(&scenario(OPEN, "    - expect: { as: more }"), &mut peer);
        assert_eq!(ran.outcomes("more"), [outcome], "{:?}", ran.details());
        assert_eq!(peer.requests.len(), 1);
    }
}

/// Lines of JSON in one event are events of its name.
#[test]
fn records_of_an_event_are_events() {
    let open = r#"{ sse: /stream, records: "\n" }"#;
    let steps = "    - expect: { when: { event: batch, /n: 2 }, as: second }";
    let event = "event: batch\ndata: {\"n\": 1}\ndata: {\"n\": 2}\n\n";
    let mut peer = Stage::new([vec![(0, say(HEAD)), (MS, say(event))]]);
    let ran = run(&scenario(open, steps), &mut peer);
    assert_eq!(ran.outcomes("second"), [Outcome::Ok], "{:?}", ran.details());
    assert_eq!(ran.total(|counts| counts.unmatched), 1);
}

#[test]
fn without_reconnect_a_loss_ends_the_session() {
    let open = "{ sse: /stream, reconnect: false }";
    let script = vec![(0, say(HEAD)), (MS, PeerAction::Close)];
    let mut peer = Stage::new([script]);
    let ran = run(&scenario(open, "    - expect: { as: more }"), &mut peer);
    assert_eq!(ran.outcomes("more"), [Outcome::Closed]);
    assert_eq!(peer.requests.len(), 1);
}

#[test]
fn an_event_over_the_limit_is_refused() {
    let long = format!("data: {}\n\n", "x".repeat(2000));
    let mut peer = Stage::new([vec![(0, say(HEAD)), (MS, say(&long))]]);
    let ran = run(&scenario(OPEN, "    - expect: { as: more }"), &mut peer);
    assert_eq!(ran.outcomes("more"), [Outcome::TooLarge]);
    assert_eq!(peer.requests.len(), 1);
}

#[test]
fn close_ends_the_stream_and_its_attempts() {
    let steps = "
    - think: 10ms
    - close:
    - think: 10s
    - sse: /again
      as: again
";
    let lost = vec![(0, say(HEAD)), (MS, PeerAction::Close)];
    let mut peer = Stage::new([lost, vec![(0, say(HEAD))]]);
    let ran = run(&scenario(OPEN, steps), &mut peer);
    assert_eq!(ran.outcomes("again"), [Outcome::Ok]);
    assert_eq!(ran.rows("reconnect"), []);
}

/// Requests go their way on a connection of their own while the stream lives.
#[test]
fn requests_and_events_do_not_disturb_each_other() {
    let steps = "
    - post: /speak
      as: speak
    - expect: { when: { body: late }, as: late }
";
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    let mut peer = Stage::new([
        vec![(0, say(HEAD)), (3 * MS, say("data: early\n\n")), (9 * MS, say("data: late\n\n"))],
        vec![(5 * MS, say(answer))],
    ]);
    let text = scenario(OPEN, steps);
    let ran = run(&text, &mut peer);
    assert_eq!(ran.outcomes("speak"), [Outcome::Ok]);
    assert_eq!(ran.rows("speak")[0].response_ns(), 5 * MS);
    assert_eq!(ran.outcomes("late"), [Outcome::Ok]);
    assert_eq!(ran.rows("late")[0].done_ns, 9 * MS);
    assert_eq!(ran.total(|counts| counts.unmatched), 1);
}

/// Users of a closed population restart with a stream of their own.
#[test]
fn sessions_restart_and_end() {
    let text = "
name: restarts
target: http://target.test/
sessions:
  main:
    - sse: /stream
      reconnect: 300ms
    - think: 1s
arrivals: [ { users: 1, for: 3500ms } ]
options: { drain: 1s }
";
    let lost = || vec![(0, say(HEAD)), (900 * MS, PeerAction::Close)];
    let mut peer = Stage::new([lost(), lost(), lost(), lost()]);
    let ran = run(text, &mut peer);
    assert_eq!(ran.outcomes("stream"), [Outcome::Ok; 4]);
    assert_eq!(ran.rows("reconnect"), []);
    let last = ran.run.deltas.last().expect("an interval");
    assert_eq!(last.gauges.in_flight, 0);
    assert_eq!(last.gauges.connections, 0);
}

#[test]
fn an_attempt_in_flight_at_the_end_stays_unfinished() {
    let open = "{ sse: /stream, reconnect: 1s, timeout: 20s }";
    let lost = vec![(0, say(HEAD)), (0, PeerAction::Close)];
    let mut peer = Stage::new([lost, vec![]]);
    let text = scenario(open, "    - expect: { as: more, within: 20s }");
    let text = text.replace("- { hold: 29s }", "- { hold: 1s }");
    let text = text.replace("options: { ", "options: { drain: 10s, ");
    let ran = run(&text, &mut peer);
    assert_eq!(ran.outcomes("more"), [Outcome::Unfinished]);
    assert_eq!(ran.outcomes("reconnect"), [Outcome::Unfinished]);
    let last = ran.run.deltas.last().expect("an interval");
    assert_eq!((last.gauges.in_flight, last.gauges.connections), (0, 0));
}

/// What a stream that reconnects does not get of the time without it is lost, and what it gets again is
/// a duplicate.
#[test]
fn a_stream_that_reconnects_stays_subscribed() {
    let event = |n: u64| say(&format!("event: said\ndata: {{\"n\":{n}}}\n\n"));
    let first = vec![(0, say(HEAD)), (S, event(1)), (2 * S, event(2)), (3 * S, PeerAction::Close)];
    let again = vec![(0, say(HEAD)), (0, event(2)), (S, event(4)), (2 * S, event(5))];
    let mut peer = Stage::new([first, again]);
    let text = scenario("{ sse: /stream, reconnect: 1s }", "    - think: 9s")
        .replace("sent_at: /at, unit: s", "seq: /n");
    let ran = run(&text, &mut peer);
    let counts = ["said", "said.lost", "said.duplicated", "said.out_of_order"];
    assert_eq!(counts.map(|name| ran.counted(name, Outcome::Ok)), [5, 1, 1, 0]);
}
