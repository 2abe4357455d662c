//! Requests whose body waits until the server says that it wants it (`expect: 100-continue`).

use engine::sim::{Link, Peer, PeerAction, PeerConn, PeerEvent};
use record::Outcome;

use crate::http2_peer::{Got, Http2Peer, head, sent};
use crate::support::{MS, Ran, S, run_over};

/// What a server does, in order: each entry answers a piece that came, after a time.
type Script = [(u64, &'static str)];

/// A server that answers pieces, and keeps them.
struct ScriptPeer {
    script: Vec<(u64, &'static str)>,
    /// Each piece, when it came.
    pieces: Vec<(u64, String)>,
    closed: usize,
    connections: usize,
}

impl ScriptPeer {
    fn new(script: &Script) -> ScriptPeer {
        ScriptPeer { script: script.to_vec(), pieces: Vec::new(), closed: 0, connections: 0 }
    }

    fn texts(&self) -> Vec<&str> {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }
}

impl Peer for ScriptPeer {
    fn handle(&mut self, now_ns: u64, _: PeerConn, event: PeerEvent) -> Vec<PeerAction> {
        match event {
            PeerEvent::Received(bytes) => {
                let number = self.pieces.len();
                let text = String::from_utf8(bytes).expect("text");
                self.pieces.push((now_ns, text));
                let after_ns = self.script.get(number).map(|(after_ns, _)| *after_ns);
                let timer = |after_ns| PeerAction::Timer {
                    at_ns: now_ns + after_ns,
                    number: number as u64,
                };
                after_ns.map(timer).into_iter().collect()
            }
            PeerEvent::Timer(number) => {
                let answer = self.script[number as usize].1;
                match answer.is_empty() {
                    true => Vec::new(),
                    false => vec![PeerAction::Send(answer.as_bytes().to_vec())],
                }
            }
            PeerEvent::Connected => {
                self.connections += 1;
                Vec::new()
            }
            PeerEvent::Closed => {
                self.closed += 1;
                Vec::new()
            }
        }
    }
}

fn scenario(options: &str, steps: &str) -> String {
    format!(
        "
name: continuing
target: http://target.test/
options: {{ timeout: 5s, drain: 1s, accept_encoding: none, {options} }}
sessions:
  main: [ {steps} ]
arrivals: [ {{ constant: 1/s, for: 1s }}, {{ hold: 9s }} ]
"
    )
}

const PUT: &str = "{ put: /x, body: hello, expect: 100-continue, as: put }";
const HEAD: &str = "PUT /x HTTP/1.1\r\nhost: target.test\r\ncontent-length: 5\r\n\
                    expect: 100-continue\r\n\r\n";
const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";
const DONE: &str = "HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n";

fn put(options: &str, steps: &str, peer: &mut dyn Peer) -> Ran {
    run_over(&scenario(options, steps), peer, Link::new(10 * MS))
}

#[test]
fn the_body_follows_a_100() {
    let mut peer = ScriptPeer::new(&[(5 * MS, CONTINUE), (0, DONE), (0, DONE)]);
    let ran = put("", &format!("{PUT}, {{ get: /y, as: get }}"), &mut peer);
    assert_eq!(peer.texts()[..2], [HEAD, "hello"]);
    assert!(peer.texts()[2].starts_with("GET /y"));
    // Set-up 20 ms, one way 10 ms; then back and forth, and the time of the server.
    assert_eq!(peer.pieces[0].0, 30 * MS);
    assert_eq!(peer.pieces[1].0, 55 * MS);
    let row = ran.rows("put")[0];
    assert_eq!((row.outcome, row.status), (Outcome::Ok, 201));
    assert_eq!(row.response_ns(), 65 * MS);
    assert_eq!(row.bytes_out as usize, HEAD.len() + 5);
    assert_eq!(row.bytes_in as usize, CONTINUE.len() + DONE.len());
    assert_eq!(peer.connections, 1, "the connection serves again");
}

#[test]
fn other_interim_responses_do_not_bring_the_body() {
    let hints = "HTTP/1.1 103 Early Hints\r\n\r\n";
    let mut peer = ScriptPeer::new(&[(0, hints), (0, DONE)]);
    put("", PUT, &mut peer);
    assert_eq!(peer.texts(), [HEAD, "hello"]);
    assert_eq!(peer.pieces[1].0, 30 * MS + S, "after the time, not before");
}

#[test]
fn without_a_100_the_body_is_sent_after_a_time() {
    for (options, waits_ns) in [("", S), ("continue_timeout: 250ms", 250 * MS)] {
        let mut peer = ScriptPeer::new(&[(0, ""), (0, DONE)]);
        let ran = put(options, PUT, &mut peer);
        assert_eq!(peer.texts(), [HEAD, "hello"]);
        assert_eq!(peer.pieces[1].0, 30 * MS + waits_ns);
        assert_eq!(ran.outcomes("put"), [Outcome::Ok]);
    }
}

#[test]
fn a_final_status_ends_the_request_without_the_body() {
    let refused = "HTTP/1.1 417 Expectation Failed\r\ncontent-length: 2\r\n\r\nno";
    let mut peer = ScriptPeer::new(&[(0, refused), (0, DONE)]);
    let ran = put("", &format!("{PUT}, {{ get: /y, as: get }}"), &mut peer);
    assert_eq!(ran.outcomes("put"), [Outcome::Status]);
    assert_eq!(ran.rows("put")[0].status, 417);
    assert_eq!(peer.texts()[0], HEAD);
    assert!(peer.texts()[1].starts_with("GET /y"), "{:?}", peer.texts());
    assert_eq!(peer.connections, 2, "the first one lacks a body and is closed");
    assert_eq!(ran.total(|counts| counts.unsolicited), 0);
}

#[test]
fn the_timeout_of_the_request_holds_while_its_body_waits() {
    let mut peer = ScriptPeer::new(&[(0, "")]);
    let steps = PUT.replace("as: put", "as: put, timeout: 400ms");
    let ran = put("", &steps, &mut peer);
    assert_eq!(ran.outcomes("put"), [Outcome::Timeout]);
    assert_eq!(ran.rows("put")[0].service_ns(), 400 * MS);
    assert_eq!(peer.texts(), [HEAD]);
}

#[test]
fn an_empty_body_is_not_announced() {
    let steps = "{ set: { b: \"\" } }, { put: /x, body: \"${b}\", expect: 100-continue, as: put }";
    let mut peer = ScriptPeer::new(&[(0, DONE)]);
    let ran = put("", steps, &mut peer);
    assert_eq!(ran.outcomes("put"), [Outcome::Ok]);
    assert!(!peer.texts()[0].contains("expect"), "{:?}", peer.texts());
}

/// After 303 there is no body, and after 307 it waits again.
#[test]
fn redirects_expect_a_100_where_a_body_follows() {
    let moved = "HTTP/1.1 303 See Other\r\nlocation: /z\r\ncontent-length: 0\r\n\r\n";
    let mut peer = ScriptPeer::new(&[(0, moved), (0, DONE)]);
    let ran = put("", PUT, &mut peer);
    assert_eq!(ran.outcomes("put"), [Outcome::Ok]);
    assert!(peer.texts()[1].starts_with("GET /z"), "{:?}", peer.texts());
    assert!(!peer.texts()[1].contains("expect"));
    let again = "HTTP/1.1 307 Temporary Redirect\r\nlocation: /z\r\ncontent-length: 0\r\n\r\n";
    let mut peer = ScriptPeer::new(&[(0, again), (0, CONTINUE), (0, DONE)]);
    let ran = put("", PUT, &mut peer);
    assert_eq!(ran.outcomes("put"), [Outcome::Ok]);
    assert_eq!(peer.texts()[1], HEAD.replace("/x", "/z"));
    assert_eq!(peer.texts()[2], "hello");
}

type Answers = Box<dyn FnMut(&Got) -> Vec<PeerAction>>;

/// One request over HTTP/2; the server sees each frame.
fn put_http2(answer: fn(&Got) -> Vec<PeerAction>, steps: &str) -> (Ran, Http2Peer<Answers>) {
    let mut peer = Http2Peer::new(0, Box::new(answer) as Answers);
    peer.talks = true;
    let ran = put("http: 2", steps, &mut peer);
    (ran, peer)
}

fn interim(stream: u32) -> Vec<PeerAction> {
    sent(&[head(stream, false, &[(":status", "100")])])
}

#[test]
fn over_http_2_the_body_follows_a_100_on_its_stream() {
    let (ran, peer) = put_http2(
        |got| match got.body.is_empty() {
            true => interim(got.stream),
            false => sent(&[head(got.stream, true, &[(":status", "201")])]),
        },
        PUT,
    );
    assert_eq!(ran.outcomes("put"), [Outcome::Ok]);
    assert_eq!(ran.rows("put")[0].response_ns(), 60 * MS);
    let request = &peer.requests[0];
    assert_eq!(request.body, b"hello");
    assert!(request.fields.iter().any(|field| field == "expect: 100-continue"));
    assert!(request.fields.iter().any(|field| field == "content-length: 5"));
    let out = u64::from(ran.rows("put")[0].bytes_out);
    assert_eq!(out, peer.requests_bytes);
    assert!(peer.resets.is_empty());
}

#[test]
fn over_http_2_the_body_is_sent_after_a_time() {
    let (ran, peer) = put_http2(
        |got| match got.body.is_empty() {
            true => Vec::new(),
            false => sent(&[head(got.stream, true, &[(":status", "201")])]),
        },
        PUT,
    );
    assert_eq!(ran.outcomes("put"), [Outcome::Ok]);
    assert_eq!(ran.rows("put")[0].response_ns(), 20 * MS + S + 20 * MS);
    assert_eq!(peer.requests[0].body, b"hello");
}

#[test]
fn over_http_2_a_final_status_resets_the_stream_and_keeps_the_connection() {
    let (ran, peer) = put_http2(
        |got| sent(&[head(got.stream, true, &[(":status", "413")])]),
        &format!("{PUT}, {PUT}"),
    );
    assert_eq!(ran.outcomes("put"), [Outcome::Status; 2]);
    // NO_ERROR: what is left of the request is not sent (RFC 9113 section 8.1).
    assert_eq!(peer.resets, [(1, 0), (3, 0)]);
    assert_eq!(peer.connections_count, 1);
    assert!(peer.requests.is_empty(), "no body came");
}
