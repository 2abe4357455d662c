//! Failures by what they were, and samples of them.

use std::collections::BTreeMap;

use engine::measure::Sample;
use engine::sim::{Link, Packet, Peer, PeerAction, Verdict};
use record::Outcome;

use crate::peers::{HttpPeer, WsPeer, ok, response};
use crate::support::{MS, Ran, run, run_over};

/// Thirty users in three seconds.
fn scenario(options: &str, steps: &str) -> String {
    format!(
        "target: http://target.test/\noptions: {{ timeout: 1s{options} }}\nsessions:\n  s:\n{steps}\
         arrivals: [ {{ constant: 10/s, for: 3s }} ]\n"
    )
}

const CART: &str = "    - { get: \"/cart?token=hush-hush\", as: cart }\n";

/// The failures of a measure by outcome and detail.
fn errors(ran: &Ran, measure: &str) -> BTreeMap<(Outcome, String), u64> {
    let id = ran.plan.measures.iter().position(|m| m.name == measure).expect("measure");
    let mut sums = BTreeMap::new();
    let all = ran.run.deltas.iter().flat_map(|delta| &delta.errors);
    for error in all.filter(|error| error.measure.index() == id) {
        let detail = error.detail.clone().unwrap_or_default();
        *sums.entry((error.outcome, detail)).or_default() += error.count;
    }
    sums
}

fn samples(ran: &Ran) -> Vec<&Sample> {
    ran.run.deltas.iter().flat_map(|delta| &delta.samples).collect()
}

/// A server that answers 401, 404 and 500 in turn; its bodies come in two pieces.
fn failing() -> impl Peer {
    let mut count = 0;
    HttpPeer::new(
        |_| MS,
        move |_| {
            count += 1;
            let status = ["401 Unauthorized", "404 Not Found", "500 Oh"][count % 3];
            let body = format!("{{\"error\":\"{}\"}}{}", &status[..3], " ".repeat(5_000));
            let Some(PeerAction::Send(whole)) = response(status, "x-n: 1\r\n", &body).pop() else {
                panic!("an answer is sent")
            };
            let (begin, rest) = whole.split_at(whole.len() - 3_000);
            vec![PeerAction::Send(begin.to_vec()), PeerAction::Send(rest.to_vec())]
        },
    )
}

#[test]
fn each_status_is_a_row_of_its_own() {
    let ran = run(&scenario("", CART), &mut failing());
    let of = |status: &str| ((Outcome::Status, status.to_owned()), 10);
    assert_eq!(errors(&ran, "cart"), BTreeMap::from(["401", "404", "500"].map(of)));
    let samples = samples(&ran);
    assert_eq!(samples.len(), 3 * 5);
    let found = samples.iter().find(|sample| sample.detail.as_deref() == Some("404")).unwrap();
    assert_eq!(found.text, "status 404");
    assert_eq!(found.request.as_deref(), Some("GET /cart"), "queries may hold anything");
    assert_eq!(found.status.as_deref(), Some("HTTP/1.1 404 Not Found"));
    assert_eq!(found.headers[0], ("x-n".to_owned(), "1".to_owned()));
    let body = found.body.as_deref().unwrap();
    assert!(body.starts_with("{\"error\":\"404\"}") && body.ends_with('…'), "{body}");
    assert_eq!(body.len(), 2_048 + "…".len());
}

#[test]
fn as_many_samples_are_kept_as_are_wanted() {
    let ran = run(&scenario(", samples: 2", CART), &mut failing());
    assert_eq!(samples(&ran).len(), 3 * 2);
    // Without any, nothing is kept of what users saw.
    let ran = run(&scenario(", samples: 0", CART), &mut failing());
    assert!(samples(&ran).is_empty());
    assert_eq!(errors(&ran, "cart").len(), 3);
}

#[test]
fn secrets_of_users_are_in_no_sample() {
    let steps =
        "    - { set: { token: hunter22 } }\n    - { get: \"/a/${token}/${user}\", as: cart }\n";
    let answer = |_: &str| response("500 No", "x-echo: hunter22\r\n", "no hunter22");
    let ran = run(&scenario("", steps), &mut HttpPeer::new(|_| MS, answer));
    let samples = samples(&ran);
    assert_eq!(samples[0].request.as_deref(), Some("GET /a/(secret)/…"));
    assert_eq!(samples[0].headers[0].1, "(secret)");
    assert_eq!(samples[0].body.as_deref(), Some("no (secret)"));
}

#[test]
fn a_refused_connection_and_its_request_have_the_same_detail() {
    let refuse = |_: u64, packet: Packet| match packet {
        Packet::Connect => Verdict::Refuse,
        _ => Verdict::Pass,
    };
    let link = Link { rule: Box::new(refuse), ..Link::new(0) };
    let mut peer = HttpPeer::new(|_| MS, |_: &str| ok(""));
    let ran = run_over(&scenario("", CART), &mut peer, link);
    let cart = errors(&ran, "cart");
    assert_eq!(cart.len(), 1, "{cart:?}");
    assert_eq!(cart, errors(&ran, "connect"));
    assert_eq!(cart.values().sum::<u64>(), 30);
    assert_eq!(samples(&ran)[0].request.as_deref(), Some("GET /cart"));
}

#[test]
fn checks_are_told_apart_by_their_text() {
    let steps = "    - get: /
      as: cart
      save: { n: /n }
      check: [ n < 2, n < 1 ]
";
    let mut count = 0;
    let answer = move |_: &str| {
        count += 1;
        ok(&format!("{{\"n\":{}}}", count % 3))
    };
    let ran = run(&scenario("", steps), &mut HttpPeer::new(|_| MS, answer));
    let of = |text: &str| ((Outcome::Check, text.to_owned()), 10);
    assert_eq!(errors(&ran, "cart"), BTreeMap::from(["n < 2", "n < 1"].map(of)));
}

#[test]
fn a_closed_websocket_has_its_code() {
    let steps = "    - ws: /s\n    - send: hi\n      reply: { when: { body: x }, as: ask }\n";
    let close = |code: u16| {
        let code = code.to_be_bytes();
        PeerAction::Send(vec![0x88, 2, code[0], code[1]])
    };
    for (action, expected) in [(close(1011), "close 1011"), (PeerAction::Close, "close 1006")] {
        let mut peer = WsPeer::new(|_, _| vec![action.clone()]);
        let ran = run(&scenario("", steps), &mut peer);
        let expected = BTreeMap::from([((Outcome::Closed, expected.to_owned()), 30)]);
        assert_eq!(errors(&ran, "ask"), expected);
    }
}

const BODY: &str = "{\"code\":0,\"message\":\"Transport unknown\"}";

/// The answer that declines, its body a millisecond later.
fn declining(chunked: bool) -> impl Peer {
    let body = match chunked {
        true => format!("{:x}\r\n{BODY}\r\n0\r\n\r\n", BODY.len()),
        false => BODY.to_owned(),
    };
    let length = match chunked {
        true => "transfer-encoding: chunked".to_owned(),
        false => format!("content-length: {}", BODY.len()),
    };
    let head = format!("HTTP/1.1 400 Bad Request\r\n{length}\r\n\r\n");
    HttpPeer::new(
        |_| MS,
        move |_: &str| {
            vec![
                PeerAction::Send(head.clone().into_bytes()),
                PeerAction::Send(body.clone().into_bytes()),
            ]
        },
    )
}

#[test]
fn what_declines_says_why_in_its_body() {
    for (step, measure) in [("ws: /socket?x=1", "handshake"), ("sse: /socket", "stream")] {
        let steps = format!("    - {{ {step}, as: {measure} }}\n");
        for chunked in [false, true] {
            let ran = run(&scenario("", &steps), &mut declining(chunked));
            let expected = BTreeMap::from([((Outcome::Status, "400".to_owned()), 30)]);
            assert_eq!(errors(&ran, measure), expected);
            let samples = samples(&ran);
            assert_eq!(samples.len(), 5);
            assert_eq!(samples[0].request.as_deref(), Some("GET /socket"));
            assert_eq!(samples[0].status.as_deref(), Some("HTTP/1.1 400 Bad Request"));
            assert_eq!(samples[0].body.as_deref(), Some(BODY));
            assert!(samples[0].text.ends_with(&format!(": `{BODY}`")), "{}", samples[0].text);
        }
    }
}

/// A server that says how long its body is, and never sends it.
#[test]
fn a_body_that_does_not_come_ends_with_the_time_of_the_step() {
    let answer = "HTTP/1.1 503 Busy\r\ncontent-length: 9\r\n\r\nhalf";
    let answer = |_: &str| vec![PeerAction::Send(answer.as_bytes().to_vec())];
    let steps = "    - { ws: /socket, as: handshake }\n";
    let ran = run(&scenario("", steps), &mut HttpPeer::new(|_| MS, answer));
    let expected = BTreeMap::from([((Outcome::Status, "503".to_owned()), 30)]);
    assert_eq!(errors(&ran, "handshake"), expected);
    assert_eq!(samples(&ran)[0].body.as_deref(), Some("half"));
    assert_eq!(ran.rows("handshake")[0].response_ns(), 1_000 * MS);
}
