//! Bodies that their server encoded (RFC 9110 §8.4).

use std::io::Write;

use engine::sim::PeerAction;
use flate2::Compression;
use flate2::write::GzEncoder;
use record::Outcome;

use crate::peers::HttpPeer;
use crate::support::{MS, Ran, run};

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).expect("a Vec takes all");
    encoder.finish().expect("a Vec takes all")
}

fn encoded(coding: &str, body: &[u8]) -> Vec<PeerAction> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-encoding: {coding}\r\ncontent-length: {length}\r\n\r\n"
    );
    vec![PeerAction::Send([head.as_bytes(), body].concat())]
}

fn play(options: &str, keys: &str, answer: &[PeerAction]) -> (Ran, String) {
    let text = format!(
        "
name: contents
target: http://a.test/
options: {{ {options} }}
sessions:
  main:
    - get: /
      as: page
{keys}
arrivals: [ {{ constant: 1/s, for: 1s }}, {{ hold: 4s }} ]
"
    );
    let mut peer = HttpPeer::new(|_| MS, |_| answer.to_vec());
    let ran = run(&text, &mut peer);
    (ran, peer.requests.remove(0))
}

const ACCEPT: &str = "accept_encoding: [gzip, br]";
const SAVE: &str = "      save: { id: /id }\n      check: id == 7";

#[test]
fn a_body_that_is_read_is_decoded_and_both_sizes_are_counted() {
    let text = format!("{{\"id\": 7, \"more\": \"{}\"}}", "x".repeat(10_000));
    let body = gzip(text.as_bytes());
    for (options, own) in
        [(ACCEPT, ""), ("timeout: 1s", "      headers: { accept-encoding: \"gzip, br\" }\n")]
    {
        let (ran, request) = play(options, &format!("{own}{SAVE}"), &encoded("gzip", &body));
        assert!(request.contains("accept-encoding: gzip, br\r\n"), "{request}");
        assert_eq!(ran.outcomes("page"), [Outcome::Ok], "{:?}", ran.details());
        assert_eq!(ran.total(|counts| counts.encoded_in), body.len() as u64);
        assert_eq!(ran.total(|counts| counts.decoded_in), text.len() as u64);
        let received = ran.rows("page")[0].bytes_in as usize;
        assert!((body.len()..body.len() + 200).contains(&received), "bytes on the wire");
    }
}

#[test]
fn a_body_that_nothing_reads_is_not_decoded() {
    let (ran, _) = play(ACCEPT, "", &encoded("gzip", b"no gzip"));
    assert_eq!(ran.outcomes("page"), [Outcome::Ok]);
    assert_eq!(ran.total(|counts| counts.encoded_in), 0);
}

/// What browsers accept, unless the scenario says otherwise.
#[test]
fn compressed_bodies_are_accepted_by_default() {
    let (ran, request) = play("timeout: 1s", SAVE, &encoded("gzip", &gzip(b"{\"id\": 7}")));
    assert!(request.contains("accept-encoding: gzip, deflate, br, zstd\r\n"), "{request}");
    assert_eq!(ran.outcomes("page"), [Outcome::Ok], "{:?}", ran.details());
}

#[test]
fn without_a_request_for_it_nothing_is_decoded() {
    let answer = encoded("gzip", &gzip(b"{\"id\": 7}"));
    let (ran, request) = play("accept_encoding: none", SAVE, &answer);
    assert!(!request.contains("accept-encoding"));
    assert_eq!(ran.outcomes("page"), [Outcome::Save]);
    assert!(ran.details()[0].contains("`options.accept_encoding`"));
}

#[test]
fn damaged_unknown_and_huge_bodies_are_errors_of_their_kind() {
    let bomb = gzip(&vec![0; 1 << 20]);
    for (coding, body, outcome, expected) in [
        ("gzip", &b"no gzip"[..], Outcome::Decoding, "not valid gzip"),
        ("lzma", b"x", Outcome::Decoding, "content coding \"lzma\""),
        ("gzip", &bomb, Outcome::TooLarge, "larger than 65536 bytes"),
    ] {
        let options = format!("{ACCEPT}, response_max: 64KiB");
        let (ran, _) = play(
            &options,
            "      save: { id: { regex: x, group: 0, default: none } }",
            &encoded(coding, body),
        );
        assert_eq!(ran.outcomes("page"), [outcome], "{coding}");
        assert!(ran.details()[0].contains(expected), "{:?}", ran.details());
    }
}
