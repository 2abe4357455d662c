//! The connections that the branches of a user share.

use engine::sim::PeerAction;
use record::Outcome;

use crate::branches::scenario;
use crate::branches_peer::Server;
use crate::http2_peer::{Got, Http2Peer, ok};
use crate::support::{MS, Ran, run};

/// This number of branches, of one request each.
fn branches(count: usize, step: &str) -> String {
    let branch = format!("        - {{ {step} }}\n");
    format!("    - parallel:\n{}", branch.repeat(count))
}

fn ran(options: &str, steps: &str) -> (Ran, Server) {
    let mut server = Server::default();
    let ran = run(&scenario(options, steps), &mut server);
    (ran, server)
}

/// Response and service times in milliseconds, sorted.
fn times(ran: &Ran, measure: &str) -> Vec<(u64, u64)> {
    let rows = ran.rows(measure);
    let times = rows.iter();
    let mut times: Vec<_> =
        times.map(|row| (row.response_ns() / MS, row.service_ns() / MS)).collect();
    times.sort_unstable();
    times
}

#[test]
fn a_user_has_as_many_connections_as_a_browser() {
    let steps = branches(8, "get: /a/10, as: a");
    let (ran, server) = ran("", &steps);
    assert_eq!((server.connections, server.at_once_max), (6, 6));
    let wait = vec![(20, 10); 2];
    assert_eq!(times(&ran, "a"), [vec![(10, 10); 6], wait].concat());
}

#[test]
fn further_requests_wait_in_turn_and_that_is_no_lag() {
    for sharing in ["", ", http_connections: shared"] {
        let steps = branches(5, "get: /a/10, as: a");
        let (ran, server) = ran(&format!(", connections_max: 2{sharing}"), &steps);
        assert_eq!((server.connections, server.at_once_max), (2, 2));
        let expected = [(10, 10), (10, 10), (20, 10), (20, 10), (30, 10)];
        assert_eq!(times(&ran, "a"), expected, "{sharing}");
        let lag = ran.run.deltas.iter().map(|delta| delta.lag.max());
        assert_eq!(lag.max(), Some(0), "{sharing}");
        assert_eq!(ran.total(|counts| counts.users_finished), 1);
    }
}

#[test]
fn a_request_waits_for_a_connection_no_longer_than_its_timeout() {
    let steps = "
    - parallel:
        - { get: /never/1, as: a, timeout: 100ms }
        - { get: /b/1, as: b, timeout: 50ms }
        - [ { get: /c/10, as: c } ]
    - { get: /after/1, as: after }
";
    let (ran, server) = ran(", connections_max: 1", steps);
    assert_eq!(ran.outcomes("a"), [Outcome::Timeout]);
    assert_eq!(ran.outcomes("b"), [Outcome::Timeout]);
    assert_eq!(ran.rows("b")[0].response_ns(), 50 * MS);
    // The first one's connection is gone.
    assert_eq!(times(&ran, "c"), [(110, 10)]);
    assert_eq!(ran.outcomes("after"), [Outcome::Ok]);
    assert_eq!(server.paths(), ["/never/1", "/c/10", "/after/1"]);
    let expected = "other branches used the user's connections, at most 1 (`options.connections_max`), for 50 ms";
    assert!(ran.details().contains(&expected.to_owned()));
}

#[test]
fn what_waits_for_a_connection_is_not_in_flight() {
    let steps = branches(3, "get: /a/1500, as: a, timeout: 9s");
    let (ran, _) = ran(", connections_max: 1", &steps);
    let gauges = ran.run.deltas.iter().map(|delta| delta.gauges.in_flight);
    assert_eq!(gauges.take(6).collect::<Vec<_>>(), [1, 1, 1, 1, 0, 0]);
}

#[test]
fn each_endpoint_has_its_own_limit_and_turns() {
    let steps = "
    - parallel:
        - { get: /a/30, as: a }
        - { get: /b/10, as: b }
        - { get: 'http://other.test/c/10', as: c }
        - { get: 'http://other.test/d/10', as: d }
";
    let (ran, server) = ran(", connections_max: 1", steps);
    assert_eq!(times(&ran, "a"), [(30, 30)]);
    assert_eq!(times(&ran, "b"), [(40, 10)]);
    assert_eq!(times(&ran, "c"), [(10, 10)]);
    assert_eq!(times(&ran, "d"), [(20, 10)]);
    assert_eq!(server.connections, 2);
}

#[test]
fn branches_keep_the_cookies_of_their_user() {
    let steps = "
    - { get: /first/1 }
    - parallel:
        - { get: /cookie/10 }
        - [ { think: 20ms }, { get: /later/1 } ]
        - { get: /early/30 }
    - { get: /after/1 }
";
    let (_, server) = ran(", cookies: true", steps);
    let cookies = |path: &str| {
        let mut requests = server.requests.iter();
        let found = requests.find(|own| own.path == path);
        found.expect("a request").cookie.clone()
    };
    assert_eq!(cookies("/early/30"), "");
    assert_eq!(cookies("/later/1"), "own=1");
    assert_eq!(cookies("/after/1"), "own=1");
}

type Answers = Box<dyn FnMut(&Got) -> Vec<PeerAction>>;

fn over_http2(settings: &[(u16, u32)], options: &str, steps: &str) -> (Ran, Http2Peer<Answers>) {
    let mut peer = Http2Peer::new(10 * MS, Box::new(|got: &Got| ok(got, "fine")) as Answers);
    peer.settings = settings.to_vec();
    let options = format!(", connections_max: 1{options}");
    let text = scenario(&options, steps)
        .replace("target: http://target.test/", "target: { url: 'http://target.test/', http: 2 }");
    let ran = run(&text, &mut peer);
    (ran, peer)
}

#[test]
fn over_http_2_branches_are_streams_of_one_connection() {
    for options in ["", ", http_connections: shared"] {
        let steps = branches(20, "get: /a, as: a") + "    - { get: /after, as: after }\n";
        let (ran, peer) = over_http2(&[], options, &steps);
        assert_eq!(times(&ran, "a"), [(10, 10); 20], "{options}");
        assert_eq!((peer.connections_count, peer.at_once_max), (1, 20));
        assert_eq!(ran.outcomes("connect"), [Outcome::Ok]);
        assert_eq!(ran.outcomes("after"), [Outcome::Ok]);
        assert_eq!(ran.total(|counts| counts.users_connected), 1);
    }
}

#[test]
fn streams_beyond_what_the_server_takes_wait() {
    const MAX_CONCURRENT_STREAMS: u16 = 3;
    let steps = branches(5, "get: /a, as: a");
    let (ran, peer) = over_http2(&[(MAX_CONCURRENT_STREAMS, 2)], "", &steps);
    let expected = [(10, 10), (10, 10), (20, 10), (20, 10), (30, 10)];
    assert_eq!(times(&ran, "a"), expected);
    assert_eq!((peer.connections_count, peer.at_once_max), (1, 2));
}

#[test]
fn a_lost_carrier_fails_the_branches_that_used_it() {
    let mut count = 0;
    let respond = move |got: &Got| {
        count += 1;
        match count {
            2 => vec![PeerAction::Reset],
            _ => ok(got, "fine"),
        }
    };
    let mut peer = Http2Peer::new(10 * MS, Box::new(respond) as Answers);
    let steps = "
    - parallel:
        - { post: /a, as: a }
        - { post: /a, as: a }
        - [ { post: /a, as: a }, { get: /b, as: b } ]
    - { get: /after, as: after }
";
    let text = scenario("", steps)
        .replace("target: http://target.test/", "target: { url: 'http://target.test/', http: 2 }");
    let ran = run(&text, &mut peer);
    let outcomes = ran.outcomes("a");
    assert_eq!(outcomes.len(), 3);
    assert!(outcomes.contains(&Outcome::Reset), "{outcomes:?}");
    assert_eq!(ran.outcomes("b"), [Outcome::Ok]);
    assert_eq!(ran.outcomes("after"), [Outcome::Ok]);
    assert_eq!(ran.total(|counts| counts.users_finished), 1);
}
