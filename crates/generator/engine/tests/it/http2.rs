//! HTTP/2: requests of users as streams, in virtual time.

use engine::sim::{Link, Packet, PeerAction, Verdict};
use record::Outcome;

use crate::http2_peer::{Got, Http2Peer, body, frame_of, go_away, head, ok, reset, sent};
use crate::support::{MS, Ran, S, run, run_over};

/// Users that take these steps, over HTTP/2 without TLS.
fn scenario(options: &str, steps: &[&str]) -> String {
    let steps: String = steps.iter().map(|step| format!("    - {step}\n")).collect();
    format!(
        "
name: http2
target: {{ url: 'http://target.test/', http: 2 }}
options: {{ timeout: 2s, drain: 1s{options} }}
sessions:
  main:
{steps}arrivals:
  - {{ constant: 1/s, for: 1s }}
  - {{ hold: 4s }}
"
    )
}

type Answers = Box<dyn FnMut(&Got) -> Vec<PeerAction>>;

fn ran(
    steps: &[&str],
    respond: impl FnMut(&Got) -> Vec<PeerAction> + 'static,
) -> (Ran, Http2Peer<Answers>) {
    let mut peer = Http2Peer::new(MS, Box::new(respond) as Answers);
    let ran = run(&scenario("", steps), &mut peer);
    (ran, peer)
}

/// Each request is answered in the order of `answers`, which get its stream.
fn in_turn(
    answers: Vec<fn(&Got) -> Vec<PeerAction>>,
) -> impl FnMut(&Got) -> Vec<PeerAction> + 'static {
    let mut answers = answers.into_iter();
    move |got| answers.next().expect("an answer")(got)
}

#[test]
fn requests_of_a_user_are_streams_of_one_connection() {
    let steps = [
        "get: /a\n      as: page\n      save: { word: /word }",
        "post: /b?x=${word}\n      as: page\n      body: 'hello ${word}'\n      headers: { X-Own: 'yes' }",
        "http: HEAD /c\n      as: page",
    ];
    let (ran, peer) = ran(&steps, |got| match got.stream {
        1 => ok(got, r#"{"word":"moon"}"#),
        3 => sent(&[
            head(3, false, &[(":status", "201"), ("content-length", "4")]),
            body(3, false, "he"),
            body(3, false, ""),
            body(3, true, "re"),
        ]),
        _ => sent(&[head(got.stream, true, &[(":status", "200"), ("content-length", "9")])]),
    });
    assert_eq!(ran.outcomes("page"), [Outcome::Ok; 3], "{:?}", ran.details());
    assert_eq!(ran.outcomes("connect"), [Outcome::Ok]);
    assert_eq!(peer.connections_count, 1);
    assert_eq!(peer.lines(), ["GET /a", "POST /b?x=moon", "HEAD /c"]);
    assert_eq!(peer.requests[1].body, b"hello moon");
    let fields = &peer.requests[1].fields;
    for field in [":authority: target.test", ":scheme: http", "x-own: yes", "content-length: 10"] {
        assert!(fields.iter().any(|own| own == field), "{field} in {fields:?}");
    }
    let statuses: Vec<_> = ran.rows("page").iter().map(|row| row.status).collect();
    assert_eq!(statuses, [200, 201, 200]);
    assert!(ran.rows("page").iter().all(|row| row.response_ns() == MS));
    // Frames, not text: 9 bytes of header, 1 + 4 of its block, 9 + 15 of the body.
    assert_eq!(ran.rows("page")[0].bytes_in, 9 + 1 + 9 + 15);
    assert_eq!(ran.total(|counts| counts.unsolicited), 0);
}

#[test]
fn trailers_and_interim_responses_are_no_responses() {
    let (ran, _) = ran(&["get: /\n      as: page"], |got| {
        sent(&[
            head(1, false, &[(":status", "103"), ("link", "</x>")]),
            head(1, false, &[(":status", "200")]),
            body(got.stream, false, "text"),
            head(1, true, &[("grpc-status", "0")]),
        ])
    });
    assert_eq!(ran.outcomes("page"), [Outcome::Ok], "{:?}", ran.details());
}

#[test]
fn a_failed_stream_leaves_its_connection() {
    let steps = ["get: /\n      as: page", "get: /\n      as: page", "get: /\n      as: page"];
    let answers: Vec<fn(&Got) -> Vec<PeerAction>> = vec![
        |got| sent(&[reset(got.stream, 7)]),
        |got| sent(&[head(got.stream, true, &[("no", "status")])]),
        |got| ok(got, "fine"),
    ];
    let (ran, peer) = ran(&steps, in_turn(answers));
    let expected = [Outcome::Http2RefusedStream, Outcome::Http2ProtocolError, Outcome::Ok];
    assert_eq!(ran.outcomes("page"), expected);
    assert_eq!((peer.connections_count, &*peer.resets), (1, &[(3, 1)][..]));
    let details = ran.details();
    assert_eq!(details[0], "the server reset the stream (REFUSED_STREAM)");
    assert_eq!(details[1], "a field comes before :status (PROTOCOL_ERROR)");
}

#[test]
fn an_answer_that_does_not_come_is_given_up_alone() {
    let steps = ["get: /slow\n      as: slow", "get: /\n      as: page"];
    let answers: Vec<fn(&Got) -> Vec<PeerAction>> = vec![|_| vec![], |got| ok(got, "fine")];
    let mut peer = Http2Peer::new(MS, in_turn(answers));
    // Settings come after the request has gone out: the server is there.
    let ran = run_over(&scenario("", &steps), &mut peer, Link::new(MS));
    assert_eq!(ran.outcomes("slow"), [Outcome::Timeout]);
    assert_eq!(ran.outcomes("page"), [Outcome::Ok]);
    assert_eq!((peer.connections_count, &*peer.resets), (1, &[(1, 8)][..]));
}

#[test]
fn what_was_not_processed_is_sent_again() {
    let post = "post: /\n      as: page\n      body: once";
    let answers: Vec<fn(&Got) -> Vec<PeerAction>> =
        vec![|got| ok(got, "first"), |got| sent(&[go_away(got.stream - 2, 0)]), |got| {
            ok(got, "second")
        }];
    let (ran, peer) = ran(&[post, post], in_turn(answers));
    assert_eq!(ran.outcomes("page"), [Outcome::Ok; 2], "{:?}", ran.details());
    assert_eq!(ran.outcomes("connect"), [Outcome::Ok; 2]);
    assert_eq!((peer.connections_count, peer.requests.len()), (2, 3));
    assert_eq!(ran.total(|counts| counts.requests_retried), 1);
    // From when it was due: the lost attempt is a part of it.
    assert_eq!(ran.rows("page")[1].response_ns(), 2 * MS);
}

#[test]
fn a_server_that_processes_nothing_is_no_loop() {
    let (ran, peer) = ran(&["get: /\n      as: page"], |_| sent(&[go_away(0, 11)]));
    assert_eq!(ran.outcomes("page"), [Outcome::Http2EnhanceYourCalm]);
    assert_eq!((peer.connections_count, peer.requests.len()), (1, 1));
}

#[test]
fn a_response_may_follow_goaway_and_the_next_request_has_a_new_connection() {
    let get = "get: /\n      as: page";
    let (ran, peer) = ran(&[get, get], |got| {
        let mut wire = go_away(got.stream, 0);
        wire.extend(head(got.stream, true, &[(":status", "204")]));
        vec![PeerAction::Send(wire)]
    });
    assert_eq!(ran.outcomes("page"), [Outcome::Ok; 2], "{:?}", ran.details());
    assert_eq!(peer.connections_count, 2);
}

#[test]
fn the_end_of_an_idle_connection_is_met_as_with_http_1() {
    let get = "get: /\n      as: page";
    let post = "post: /\n      as: page\n      body: x";
    for (step, outcome, connections) in [(get, Outcome::Ok, 2), (post, Outcome::Closed, 1)] {
        let answers: Vec<fn(&Got) -> Vec<PeerAction>> =
            vec![|got| ok(got, "first"), |_| vec![PeerAction::Close], |got| ok(got, "second")];
        let (ran, peer) = ran(&[step, step], in_turn(answers));
        assert_eq!(ran.outcomes("page"), [Outcome::Ok, outcome]);
        assert_eq!(peer.connections_count, connections);
    }
}

#[test]
fn a_broken_connection_fails_with_its_code() {
    for (wire, outcome, detail) in [
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
            Outcome::Http2FrameSizeError,
            "larger than we take",
        ),
        (frame_of(6, 0, 0, b"short"), Outcome::Http2FrameSizeError, "PING"),
        (frame_of(5, 4, 1, b"\0\0\0\x02\x82"), Outcome::Http2ProtocolError, "pushes"),
        (frame_of(1, 5, 1, b"\x80"), Outcome::Http2CompressionError, "index"),
        (
            [frame_of(8, 0, 0, b"\x7f\xff\xff\xff")].concat(),
            Outcome::Http2FlowControlError,
            "window",
        ),
        (go_away(1, 2), Outcome::Http2InternalError, "INTERNAL_ERROR"),
    ] {
        let ends = wire.starts_with(b"\0\0\x08\x07");
        let (ran, peer) = ran(&["get: /\n      as: page"], move |_| {
            let mut actions = vec![PeerAction::Send(wire.clone())];
            if ends {
                actions.push(PeerAction::Close);
            }
            actions
        });
        assert_eq!(ran.outcomes("page"), [outcome]);
        assert_eq!(peer.requests.len(), 1);
        assert!(ran.details()[0].contains(detail), "{:?}", ran.details());
    }
}

/// A server's windows take 65,535 bytes unless it says otherwise; this one never takes more.
#[test]
fn a_body_that_the_server_does_not_take_times_out() {
    let step = format!("post: /\n      as: page\n      body: '{}'", "x".repeat(70_000));
    let mut peer = Http2Peer::new(MS, |got: &Got| ok(got, "taken"));
    let ran = run(&scenario("", &[&step]), &mut peer);
    assert_eq!(ran.outcomes("page"), [Outcome::Timeout]);
    assert_eq!((peer.requests.len(), &*peer.resets), (0, &[(1, 8)][..]));
    let sent = ran.rows("page")[0].bytes_out;
    assert!((65_535..66_000).contains(&sent), "{sent}");
}

/// What waits for a window and goes out later belongs to its operation, too.
#[test]
fn all_of_a_body_counts_whenever_it_goes_out() {
    let step = format!("post: /\n      as: page\n      body: '{}'", "x".repeat(200_000));
    for (options, user) in [("", ""), (", http_connections: shared", "?u=${user}")] {
        let step = step.replace("post: /", &format!("post: /{user}"));
        let mut peer = Http2Peer::new(MS, |got: &Got| ok(got, "taken"));
        peer.widens = true;
        let ran = run(&scenario(options, &[&step]), &mut peer);
        assert_eq!(ran.outcomes("page"), [Outcome::Ok]);
        assert_eq!(peer.requests[0].body.len(), 200_000);
        let sent = u64::from(ran.rows("page")[0].bytes_out);
        assert!((200_000..200_500).contains(&sent), "{sent}");
        assert_eq!(sent, peer.requests_bytes);
        assert_eq!(sent, ran.total(|counts| counts.bytes_out));
    }
}

#[test]
fn cookies_are_kept_and_carried() {
    let mut peer = Http2Peer::new(MS, |got: &Got| {
        let fields = [(":status", "200"), ("set-cookie", "id=7; Path=/")];
        sent(&[head(got.stream, true, &fields)])
    });
    let get = "get: /\n      as: page";
    run(&scenario(", cookies: true", &[get, get]), &mut peer);
    assert!(peer.requests[1].fields.contains(&"cookie: id=7".to_owned()));
}

#[test]
fn an_event_stream_shares_the_connection_of_requests() {
    let steps = [
        "get: /first\n      as: page",
        "sse: /events\n      as: events",
        "expect: { when: { /n: 1 }, as: one }",
        "get: /second\n      as: page",
        "expect: { when: { /n: 2 }, as: two }",
    ];
    let (ran, peer) = ran(&steps, |got| match &*got.line {
        "GET /events" => sent(&[
            head(got.stream, false, &[(":status", "200"), ("content-type", "text/event-stream")]),
            body(got.stream, false, "data: {\"n\":1}\n"),
            body(got.stream, false, "\n"),
        ]),
        "GET /second" => {
            let mut actions = ok(got, "");
            actions.extend(sent(&[body(3, false, "data: {\"n\":2}\n\n")]));
            actions
        }
        _ => ok(got, "x"),
    });
    for measure in ["one", "two"] {
        assert_eq!(ran.outcomes(measure), [Outcome::Ok], "{:?}", ran.details());
    }
    // The head as a frame: as many bytes as of other responses, not those of its text.
    let fields = [(":status", "200"), ("content-type", "text/event-stream")];
    let head_len = head(3, false, &fields).len();
    assert_eq!(ran.rows("events")[0].bytes_in as usize, head_len);
    assert_eq!(ran.outcomes("page"), [Outcome::Ok; 2]);
    assert_eq!(peer.connections_count, 1);
    assert_eq!(peer.lines(), ["GET /first", "GET /events", "GET /second"]);
}

#[test]
fn a_poll_repeats_over_the_connection_of_requests() {
    let steps =
        ["get: /\n      as: page", "poll: /news\n      every: 100ms\n      as: poll", "think: 1s"];
    let (ran, peer) = ran(&steps, |got| ok(got, "{}"));
    let polls = ran.outcomes("poll");
    assert!((9..=11).contains(&polls.len()), "{polls:?}");
    assert!(polls.iter().all(|&outcome| matches!(outcome, Outcome::Ok | Outcome::Unfinished)));
    assert_eq!(peer.connections_count, 1);
}

/// A hundred users that arrive within a second send their requests over one connection.
#[test]
fn users_share_a_connection() {
    let text = scenario(
        ", http_connections: shared",
        &["get: /a\n      as: page", "get: /b\n      as: page"],
    )
    .replace("constant: 1/s", "constant: 100/s");
    let mut peer = Http2Peer::new(20 * MS, |got: &Got| ok(got, "fine"));
    let ran = run(&text, &mut peer);
    assert_eq!(ran.outcomes("page"), vec![Outcome::Ok; 200]);
    assert_eq!((peer.connections_count, peer.requests.len()), (1, 200));
    let slowest = ran.rows("page").iter().map(record::Measurement::response_ns).max();
    assert_eq!(slowest, Some(20 * MS));
    assert_eq!(ran.outcomes("connect"), [Outcome::Ok]);
    // A server that takes two streams at a time gets as many connections as are needed.
    let mut peer = Http2Peer::new(500 * MS, |got: &Got| ok(got, "fine"));
    peer.settings = vec![(3, 2)];
    let ran = run(&text, &mut peer);
    assert_eq!(ran.outcomes("page"), vec![Outcome::Ok; 200]);
    assert!(peer.connections_count >= 50, "{}", peer.connections_count);
}

/// Users that are there at once wait for the connection that the first of them opens, a hundred for each.
#[test]
fn users_wait_for_a_connection_that_is_being_set_up() {
    let text = scenario(", http_connections: shared", &["get: /a\n      as: page"])
        .replace("constant: 1/s, for: 1s", "constant: 1000/s, for: 300ms");
    let mut peer = Http2Peer::new(MS, |got: &Got| ok(got, "fine"));
    let ran = run_over(&text, &mut peer, Link::new(100 * MS));
    assert_eq!(ran.outcomes("page"), vec![Outcome::Ok; 300]);
    assert!(peer.connections_count <= 3, "{}", peer.connections_count);
    // If it cannot be set up, each of them tries by itself.
    let mut peer = Http2Peer::new(MS, |got: &Got| ok(got, "fine"));
    let mut link = Link::new(10 * MS);
    link.rule = Box::new(|_, packet| match packet {
        Packet::Connect => Verdict::Refuse,
        _ => Verdict::Pass,
    });
    let ran = run_over(&text, &mut peer, link);
    assert_eq!(ran.outcomes("page"), vec![Outcome::Refused; 300]);
    assert_eq!(ran.outcomes("connect"), vec![Outcome::Refused; 300]);
}

/// Before its settings come, nobody knows how many requests a server takes at once.
#[test]
fn users_wait_for_the_settings_of_a_shared_connection() {
    let text = scenario(", http_connections: shared", &["get: /a\n      as: page"])
        .replace("constant: 1/s, for: 1s", "constant: 1000/s, for: 300ms");
    let mut peer = Http2Peer::new(300 * MS, |got: &Got| ok(got, "fine"));
    peer.settings = vec![(3, 2)];
    let ran = run_over(&text, &mut peer, Link::new(100 * MS));
    assert_eq!(ran.outcomes("page"), vec![Outcome::Ok; 300]);
    assert_eq!(peer.at_once_max, 2);
    // A connection that ends before them.
    let mut peer = Http2Peer::new(MS, |_: &Got| vec![]);
    peer.silent = true;
    let ran = run_over(&text, &mut peer, Link::new(100 * MS));
    assert_eq!(ran.outcomes("page"), vec![Outcome::Closed; 300]);
}

#[test]
fn a_lost_shared_connection_fails_what_it_carried() {
    let text = scenario(", http_connections: shared", &["post: /\n      as: page\n      body: x"])
        .replace("constant: 1/s", "constant: 10/s");
    let mut count = 0;
    let mut peer = Http2Peer::new(S, move |_: &Got| {
        count += 1;
        match count {
            1 => vec![PeerAction::Reset],
            _ => vec![],
        }
    });
    let ran = run(&text, &mut peer);
    let outcomes = ran.outcomes("page");
    assert_eq!(outcomes.len(), 10);
    assert!(
        outcomes.iter().filter(|&&outcome| outcome == Outcome::Reset).count() >= 9,
        "{outcomes:?}"
    );
}

#[test]
fn without_tls_auto_is_http_1() {
    let text = scenario("", &["get: /\n      as: page"]).replace("http: 2", "http: auto");
    let mut peer = crate::peers::HttpPeer::new(|_| MS, |_| crate::peers::ok("fine"));
    let ran = run(&text, &mut peer);
    assert_eq!(ran.outcomes("page"), [Outcome::Ok]);
}
