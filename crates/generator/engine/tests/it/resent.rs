//! Requests that meet the end of an idle connection (RFC 9110 §9.2.2).

use engine::sim::PeerAction;
use record::Outcome;

use crate::peers::{HttpPeer, ok, response};
use crate::support::{MS, Ran, run};

fn scenario(step: &str) -> String {
    format!(
        "
name: resent
target: http://target.test/
options: {{ timeout: 2s, drain: 1s }}
sessions:
  main:
    - {step}
    - think: 10ms
    - {step}
arrivals:
  - {{ constant: 1/s, for: 1s }}
  - {{ hold: 4s }}
"
    )
}

/// A user that takes this step twice; each request is answered after 1 ms, in the order of `answers`.
fn ran(step: &str, answers: Vec<Vec<PeerAction>>) -> (Ran, Vec<String>) {
    let mut answers = answers.into_iter();
    let mut peer = HttpPeer::new(|_| MS, |_| answers.next().expect("an answer"));
    let ran = run(&scenario(step), &mut peer);
    (ran, peer.requests)
}

fn http(method: &str) -> String {
    format!("http: {method} /\n      as: page")
}

fn retried(ran: &Ran) -> u64 {
    ran.total(|counts| counts.requests_retried)
}

#[test]
fn an_idempotent_request_is_sent_again_on_a_fresh_connection() {
    for end in [PeerAction::Close, PeerAction::Reset] {
        for method in ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"] {
            let answer = || match method {
                "HEAD" => {
                    vec![PeerAction::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n".to_vec())]
                }
                _ => ok("ok"),
            };
            let (ran, requests) = ran(&http(method), vec![answer(), vec![end.clone()], answer()]);
            assert_eq!(ran.outcomes("page"), [Outcome::Ok; 2], "{method}");
            assert_eq!(ran.outcomes("connect"), [Outcome::Ok; 2], "{method}");
            // From when it was due: the lost attempt is a part of it.
            assert_eq!(ran.rows("page")[1].response_ns(), 2 * MS, "{method}");
            assert_eq!(retried(&ran), 1, "{method}");
            assert_eq!(ran.total(|counts| counts.sends), 2, "one operation");
            assert_eq!(requests[1], requests[2]);
            assert!(ran.details().is_empty(), "{:?}", ran.details());
        }
    }
}

#[test]
fn other_requests_stay_errors_that_say_why() {
    for (method, outcome, end) in
        [("POST", Outcome::Closed, PeerAction::Close), ("PATCH", Outcome::Reset, PeerAction::Reset)]
    {
        let (ran, requests) = ran(&http(method), vec![ok("ok"), vec![end]]);
        assert_eq!(ran.outcomes("page"), [Outcome::Ok, outcome]);
        assert_eq!((retried(&ran), requests.len()), (0, 2));
        let expected = format!("a {method} is not sent again, since it may have been carried out");
        let details = ran.details();
        assert!(details[0].contains(&expected), "{details:?}");
    }
}

#[test]
fn a_request_on_a_fresh_connection_is_not_sent_again() {
    let (one, _) = ran(&http("GET"), vec![vec![PeerAction::Close], ok("ok")]);
    assert_eq!(one.outcomes("page"), [Outcome::Closed, Outcome::Ok]);
    assert_eq!(retried(&one), 0);
    let details = one.details();
    assert!(!details[0].contains("not sent again"), "{details:?}");
    // So once is all.
    let closed = || vec![PeerAction::Close];
    let (twice, requests) = ran(&http("GET"), vec![ok("ok"), closed(), closed()]);
    assert_eq!(twice.outcomes("page"), [Outcome::Ok, Outcome::Closed]);
    assert_eq!((retried(&twice), requests.len()), (1, 3));
}

#[test]
fn an_answer_that_began_is_not_requested_again() {
    for begun in [
        &b"H"[..],
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\no",
        b"HTTP/1.1 100 Continue\r\n\r\n",
    ] {
        let cut = vec![PeerAction::Send(begun.to_vec()), PeerAction::Close];
        let (ran, requests) = ran(&http("GET"), vec![ok("ok"), cut]);
        assert_ne!(ran.outcomes("page")[1], Outcome::Ok);
        assert_eq!((retried(&ran), requests.len()), (0, 2));
    }
}

#[test]
fn a_polls_request_is_sent_again() {
    let text = "
name: resent
target: http://target.test/
options: { timeout: 2s, drain: 1s }
sessions:
  main:
    - poll: /poll
      as: poll
      every: 100ms
    - think: 150ms
    - close:
arrivals:
  - { constant: 1/s, for: 1s }
";
    let mut answers = [ok(""), vec![PeerAction::Close], ok("")].into_iter();
    let mut peer = HttpPeer::new(|_| MS, |_| answers.next().expect("an answer"));
    let ran = run(text, &mut peer);
    assert_eq!(ran.outcomes("poll"), [Outcome::Ok; 2]);
    assert_eq!(ran.rows("poll")[1].response_ns(), 2 * MS);
    assert_eq!((retried(&ran), peer.requests.len()), (1, 3));
}

/// It is the same request, with the random values that it had.
#[test]
fn what_is_sent_again_has_the_values_that_it_had() {
    let step = "get: /?x=${random(1, 1000000000)}\n      as: page";
    for options in ["timeout: 2s", "timeout: 2s, redirects: 0"] {
        let mut answers = [ok("ok"), vec![PeerAction::Close], ok("ok")].into_iter();
        let mut peer = HttpPeer::new(|_| MS, |_| answers.next().expect("an answer"));
        let ran = run(&scenario(step).replace("timeout: 2s", options), &mut peer);
        assert_eq!(ran.outcomes("page"), [Outcome::Ok; 2]);
        assert_ne!(peer.requests[0], peer.requests[1]);
        assert_eq!(peer.requests[1], peer.requests[2]);
    }
}

/// After 303 a POST goes on as a GET, which may be carried out twice.
#[test]
fn a_redirect_decides_by_its_own_method() {
    for (status, expected) in [("303 See Other", Outcome::Ok), ("307 Same", Outcome::Closed)] {
        let moved = response(status, "location: /done\r\n", "");
        let mut answers = [moved, vec![PeerAction::Close], ok("ok")].into_iter();
        let mut peer = HttpPeer::new(|_| MS, |_| answers.next().expect("an answer"));
        let text = scenario("post: /form\n      as: page").replace("    - think: 10ms\n", "");
        let (first, rest) = text.split_once("    - post").expect("a step");
        let second = rest.split_once("    - post").expect("a second one").1;
        let ran = run(&format!("{first}    - post{second}"), &mut peer);
        assert_eq!(ran.outcomes("page"), [expected], "{status}");
        assert_eq!(retried(&ran), u64::from(expected == Outcome::Ok));
    }
}
