//! Connections through proxies: what they take, how they fail, and what is spoken inside.

use std::collections::{HashMap, HashSet};

use engine::sim::{Link, Peer, PeerAction, PeerConn, PeerEvent};
use record::Outcome;

use crate::http2_peer::{Http2Peer, frame_of};
use crate::peers::{HttpPeer, WsPeer, ok, response};
use crate::support::{MS, Ran, S, run, run_over};

const OPEN: &[u8] = b"HTTP/1.1 200 Connection established\r\nvia: test\r\n\r\n";

/// A proxy of either kind in front of a server. Its answers are those of a test.
struct ProxyPeer<P> {
    server: P,
    /// By number of the request: what a proxy says to it, and whether the tunnel is open then.
    answer: fn(usize) -> (Vec<PeerAction>, bool),
    inbox: HashMap<PeerConn, Vec<u8>>,
    open: HashSet<PeerConn>,
    /// All requests for tunnels, as they came.
    requests: Vec<Vec<u8>>,
}

impl<P> ProxyPeer<P> {
    fn new(server: P, answer: fn(usize) -> (Vec<PeerAction>, bool)) -> ProxyPeer<P> {
        ProxyPeer {
            server,
            answer,
            inbox: HashMap::new(),
            open: HashSet::new(),
            requests: Vec::new(),
        }
    }

    fn texts(&self) -> Vec<String> {
        let texts = self.requests.iter();
        texts.map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect()
    }
}

impl<P: Peer> Peer for ProxyPeer<P> {
    fn handle(&mut self, now_ns: u64, conn: PeerConn, event: PeerEvent) -> Vec<PeerAction> {
        if self.open.contains(&conn) {
            return self.server.handle(now_ns, conn, event);
        }
        let PeerEvent::Received(bytes) = event else {
            return Vec::new();
        };
        let inbox = self.inbox.entry(conn).or_default();
        inbox.extend(bytes);
        let is_whole = match inbox.first() {
            Some(5 | 1) => true,
            _ => inbox.ends_with(b"\r\n\r\n"),
        };
        if !is_whole {
            return Vec::new();
        }
        let number = self.requests.len();
        self.requests.push(std::mem::take(inbox));
        let (mut actions, is_open) = (self.answer)(number);
        if is_open {
            self.open.insert(conn);
            let first = self.server.handle(now_ns, conn, PeerEvent::Connected);
            actions.extend(first);
        }
        actions
    }
}

fn send(bytes: &[u8]) -> Vec<PeerAction> {
    vec![PeerAction::Send(bytes.to_vec())]
}

fn opens(_: usize) -> (Vec<PeerAction>, bool) {
    (send(OPEN), true)
}

fn scenario(options: &str, steps: &str) -> String {
    format!(
        "
name: proxies
target: http://target.test/
options: {{ connect_timeout: 3s, timeout: 5s, drain: 1s, accept_encoding: none, {options} }}
sessions:
  main: [ {steps} ]
arrivals: [ {{ constant: 1/s, for: 1s }}, {{ hold: 19s }} ]
"
    )
}

const HTTP: &str = "proxy: 'http://ann:secret@proxy.test:3128'";
const NAME: &str = "proxy http://proxy.test:3128, for target.test:80: ";
const GET: &str = "{ get: /, as: page }";

/// One request through a proxy that answers so.
fn get(options: &str, answer: fn(usize) -> (Vec<PeerAction>, bool)) -> Ran {
    let server = HttpPeer::new(|_| MS, |_| ok("ok"));
    run(&scenario(options, GET), &mut ProxyPeer::new(server, answer))
}

#[test]
fn a_tunnel_is_a_part_of_the_connection() {
    let server = HttpPeer::new(|_| 0, |_| ok("ok"));
    let mut peer = ProxyPeer::new(server, opens);
    let steps = "{ get: /a, as: page }, { get: /b, as: page }";
    let ran = run_over(&scenario(HTTP, steps), &mut peer, Link::new(10 * MS));
    assert_eq!(
        peer.texts(),
        ["CONNECT target.test:80 HTTP/1.1\r\nhost: target.test:80\r\n\
          proxy-authorization: Basic YW5uOnNlY3JldA==\r\n\r\n"]
    );
    assert_eq!(
        peer.server.requests[1], "GET /b HTTP/1.1\r\nhost: target.test\r\n\r\n",
        "what the target gets has nothing of the proxy"
    );
    let connects = ran.rows("connect");
    assert_eq!(connects.len(), 1);
    assert_eq!(connects[0].service_ns(), 40 * MS, "two round trips");
    let pages = ran.rows("page");
    assert_eq!(pages[0].response_ns(), 60 * MS);
    assert_eq!(pages[1].response_ns(), 20 * MS);
    let bytes = u32::try_from(peer.server.requests[0].len()).unwrap();
    assert_eq!(pages[0].bytes_out, bytes);
}

#[test]
fn a_refusal_names_the_proxy_and_its_answer() {
    let ran = get(HTTP, |_| {
        let head = "HTTP/1.1 403 Forbidden\r\ncontent-length: 4\r\n\r\nsorry";
        (send(head.as_bytes()), false)
    });
    assert_eq!(ran.outcomes("connect"), [Outcome::ProxyRefused]);
    assert_eq!(ran.outcomes("page"), [Outcome::ProxyRefused]);
    let detail = format!("{NAME}it answered 403 Forbidden");
    assert_eq!(ran.details(), [detail]);
}

#[test]
fn refused_tunnels_are_retried_as_connections_are() {
    let options = format!("{HTTP}, connect_retries: {{ times: 2, pause: 400ms }}");
    let ran = get(&options, |number| match number {
        0 => (send(b"HTTP/1.1 502 Bad Gateway\r\n\r\n"), false),
        _ => opens(number),
    });
    let connects = [Outcome::ProxyRefused, Outcome::Ok];
    assert_eq!(ran.outcomes("connect"), connects);
    assert_eq!(ran.rows("page")[0].response_ns(), 401 * MS);
}

#[test]
fn a_proxy_that_does_not_answer_is_bounded_by_the_connect_timeout() {
    let ran = get(HTTP, |_| (Vec::new(), false));
    assert_eq!(ran.outcomes("connect"), [Outcome::ConnectTimeout]);
    assert_eq!(ran.outcomes("page"), [Outcome::ConnectTimeout]);
    assert_eq!(ran.rows("page")[0].response_ns(), 3 * S);
    let detail = format!("{NAME}no answer within 3000 ms");
    assert_eq!(ran.details(), [detail]);
}

#[test]
fn a_proxy_that_breaks_its_protocol_or_closes_is_named() {
    let close = |_| (vec![PeerAction::Close], false);
    let ran = get(HTTP, close);
    assert_eq!(ran.outcomes("page"), [Outcome::Closed]);
    assert_eq!(ran.details(), [format!("{NAME}the peer closed")]);
    let ran = get(HTTP, |_| (send(b"\x05\x00"), false));
    assert_eq!(ran.outcomes("page"), [Outcome::Protocol]);
    assert!(ran.details()[0].starts_with(NAME), "{:?}", ran.details());
    let endless = |_| (send(&[b'x'; 40_000]), false);
    assert_eq!(get(HTTP, endless).outcomes("page"), [Outcome::Protocol]);
}

/// Answers to the greeting, the password and the request.
fn socks(number: usize) -> (Vec<PeerAction>, bool) {
    match number {
        0 => (send(b"\x05\x02"), false),
        1 => (send(b"\x01\x00"), false),
        _ => (send(b"\x05\0\0\x01\x7f\0\0\x01\x04\xd2"), true),
    }
}

#[test]
fn socks_takes_a_name_or_an_address() {
    for (host, address) in [
        ("target.test", b"\x03\x0btarget.test".as_slice()),
        ("192.0.2.7", b"\x01\xc0\0\x02\x07"),
        ("[2001:db8::1]", b"\x04\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01"),
    ] {
        let server = HttpPeer::new(|_| 0, |_| ok("ok"));
        let mut peer = ProxyPeer::new(server, socks);
        let text = scenario("proxy: 'socks5h://ann:secret@proxy.test:1080'", GET);
        let text = text.replace("http://target.test", &format!("http://{host}"));
        let ran = run_over(&text, &mut peer, Link::new(10 * MS));
        assert_eq!(ran.outcomes("page"), [Outcome::Ok], "{host}");
        assert_eq!(ran.rows("connect")[0].service_ns(), 80 * MS);
        let request = [b"\x05\x01\0", address, b"\0\x50"].concat();
        assert_eq!(
            peer.requests,
            [b"\x05\x02\0\x02".to_vec(), b"\x01\x03ann\x06secret".to_vec(), request]
        );
    }
}

#[test]
fn a_refusal_by_socks_has_its_code_in_words() {
    let ran = get("proxy: 'socks5h://proxy.test:1080'", |number| match number {
        0 => (send(b"\x05\0"), false),
        _ => (send(b"\x05\x04\0\x01\0\0\0\0\0\0"), false),
    });
    assert_eq!(ran.outcomes("page"), [Outcome::ProxyRefused]);
    let expected =
        "proxy socks5h://proxy.test:1080, for target.test:80: it replied 4 (host unreachable)";
    assert_eq!(ran.details(), [expected]);
}

#[test]
fn websockets_event_streams_and_polls_go_through_tunnels() {
    let mut peer = ProxyPeer::new(WsPeer::new(|_, _| Vec::new()), opens);
    let ran = run(&scenario(HTTP, "{ ws: /ws }, { think: 1s }"), &mut peer);
    assert_eq!(ran.outcomes("handshake"), [Outcome::Ok]);
    assert_eq!(peer.requests.len(), 1);
    let respond = |_: &str| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: a\n\n";
        send(head.as_bytes())
    };
    let mut peer = ProxyPeer::new(HttpPeer::new(|_| 0, respond), opens);
    let ran = run(&scenario(HTTP, "{ sse: /events }, { think: 1s }"), &mut peer);
    assert_eq!(ran.outcomes("stream"), [Outcome::Ok]);
    assert_eq!(peer.requests.len(), 1);
    let mut peer = ProxyPeer::new(HttpPeer::new(|_| 0, |_| ok("m")), opens);
    let steps = "{ poll: /news, every: 2s, as: poll }, { think: 5s }";
    let ran = run(&scenario(HTTP, steps), &mut peer);
    assert_eq!(ran.outcomes("poll"), [Outcome::Ok; 3]);
    assert_eq!(peer.requests.len(), 1);
}

/// A server may speak before its client does, and its bytes may come with the proxy's answer.
#[test]
fn what_follows_the_proxys_answer_is_the_servers() {
    let lines = |_| {
        let bytes = [OPEN, b"hello\nwor"].concat();
        let mut actions = send(&bytes);
        actions.extend(send(b"ld\n"));
        (actions, true)
    };
    let server = HttpPeer::new(|_| 0, |_| ok("ok"));
    let mut peer = ProxyPeer::new(server, lines);
    let steps = "{ tcp: , framing: { delimiter: \"\\n\" } }, { think: 1s }";
    let text = scenario(HTTP, steps).replace("http://target.test/", "tcp://target.test:80");
    let ran = run(&text, &mut peer);
    assert_eq!(ran.total(|counts| counts.unmatched), 2);
    let settings = |_| {
        let bytes = [OPEN, &frame_of(4, 0, 0, b"")].concat();
        (send(&bytes), true)
    };
    let head = |got: &crate::http2_peer::Got| send(&frame_of(1, 5, got.stream, &[0x88]));
    let mut peer = ProxyPeer::new(Http2Peer::new(0, head), settings);
    let options = format!("{HTTP}, http: 2");
    let ran = run(&scenario(&options, GET), &mut peer);
    assert_eq!(ran.outcomes("page"), [Outcome::Ok]);
    assert_eq!(peer.server.lines(), ["GET /"]);
}

#[test]
fn users_that_share_connections_share_tunnels() {
    let server = HttpPeer::new(|_| 0, |_| ok("ok"));
    let mut peer = ProxyPeer::new(server, opens);
    let options = format!("{HTTP}, http_connections: shared");
    let text = scenario(&options, GET).replace("constant: 1/s", "constant: 5/s");
    let ran = run(&text, &mut peer);
    assert_eq!(ran.outcomes("page"), [Outcome::Ok; 5]);
    assert_eq!(peer.requests.len(), 1);
}

#[test]
fn redirects_do_not_lead_to_the_proxy_itself() {
    let respond = |_: &str| response("302 Found", "location: http://proxy.test:3128/\r\n", "");
    let mut peer = ProxyPeer::new(HttpPeer::new(|_| 0, respond), opens);
    let ran = run(&scenario(HTTP, GET), &mut peer);
    assert_eq!(ran.outcomes("page"), [Outcome::Redirect]);
    assert!(!ran.details()[0].contains("secret"));
}
