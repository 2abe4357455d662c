//! Framed messages straight on TCP.

use engine::sim::{Link, Peer, PeerAction, PeerConn, PeerEvent};
use record::{Measurement, Outcome};

use crate::support::{MS, Ran, S, run, run_over};

/// Collects what it got; after this many bytes it does this.
struct Wire {
    got: Vec<u8>,
    after: usize,
    then: Vec<PeerAction>,
}

impl Peer for Wire {
    fn handle(&mut self, _: u64, _: PeerConn, event: PeerEvent) -> Vec<PeerAction> {
        match event {
            PeerEvent::Received(bytes) => {
                self.got.extend(bytes);
                if self.got.len() >= self.after {
                    return std::mem::take(&mut self.then);
                }
                Vec::new()
            }
            PeerEvent::Connected if self.after == 0 => std::mem::take(&mut self.then),
            _ => Vec::new(),
        }
    }
}

/// Sends pieces, one after another.
fn answers(after: usize, pieces: &[&[u8]]) -> Wire {
    let then = pieces.iter().map(|piece| PeerAction::Send(piece.to_vec()));
    Wire { got: Vec::new(), after, then: then.collect() }
}

/// 4 bytes that count the payload, 1 type, payload.
const TYPED: &str = "{ length: 4, counts: payload, header: 1 }";

fn scenario(framing: &str, steps: &str) -> String {
    format!(
        "
name: tcp
target: tcp://target.test:9000
options: {{ timeout: 2s, message_max: 1KiB }}
messages:
  tick: {{ when: {{ \"u8@0\": 9 }} }}
sessions:
  main:
    - tcp:
      framing: {framing}
{steps}
arrivals:
  - {{ constant: 1/s, for: 1s }}
  - {{ hold: 9s }}
"
    )
}

/// Each record of a frame is a message, and what is sent ends one.
#[test]
fn records_of_a_frame_are_messages() {
    let steps = r#"
    - send: { n: 1 }
      reply: { when: { /re: 1 }, as: first }
    - expect: { when: { /re: 3, "u8@0": 123 }, as: third }
"#;
    let wire = b"\0\0\0\x1b\x04{\"re\":1}\n{\"re\":2}\n\n{\"re\":3}";
    let mut peer = answers(1, &[wire]);
    let text = scenario(TYPED, steps).replace("framing:", "records: 0x0a\n      framing:");
    let ran = run_over(&text, &mut peer, Link::new(MS));
    assert_eq!(ran.outcomes("first"), [Outcome::Ok], "{:?}", ran.details());
    assert_eq!(ran.outcomes("third"), [Outcome::Ok], "{:?}", ran.details());
    assert_eq!(ran.total(|counts| counts.unmatched), 1);
    assert_eq!(ran.rows("first")[0].bytes_in as usize, wire.len());
    assert!(peer.got.ends_with(b"{\"n\":1}\n"), "{:?}", peer.got);
}

#[test]
fn typed_bytes_are_sent_and_matched() {
    let steps = r#"
    - send:
      bytes: [u8: 2, u32be: "${user + 7}", text: "n=${user}", hex: 00ff]
      reply: { when: { "u8@0": 3, "u16be@1": 258, regex: "^..ok" }, save: { n: i8@3, end: u16be@-2, t: { regex: "ok(.)" } }, as: ask }
    - check: n == 111 and end == 27425 and t == '!'
      as: saved
    - send: { op: json }
      as: json
"#;
    let sent = b"\0\0\0\x09\x02\0\0\0\x07n=0\0\xff";
    let mut peer = answers(
        sent.len(),
        &[b"\0\0\0\x05\x04\x01\x02ok!", b"\0\0\0\0\x09\0\0\0\x05\x03\x01\x02ok!"],
    );
    let ran = run_over(&scenario(TYPED, steps), &mut peer, Link::new(MS));
    assert_eq!(ran.outcomes("tcp"), [Outcome::Ok]);
    assert_eq!(ran.rows("tcp")[0].response_ns(), 2 * MS);
    assert_eq!(ran.outcomes("ask"), [Outcome::Ok], "{:?}", ran.details());
    assert_eq!(ran.rows("ask")[0].response_ns(), 2 * MS);
    assert_eq!(ran.rows("ask")[0].bytes_out as usize, sent.len());
    assert_eq!(ran.rows("ask")[0].bytes_in, 10);
    assert_eq!(ran.counted("saved", Outcome::Check), 0);
    assert_eq!(ran.counted("tick", Outcome::Ok), 1);
    assert_eq!(ran.total(|counts| counts.unmatched), 1);
    assert_eq!(peer.got, [&sent[..], b"\0\0\0\x0c{\"op\":\"json\"}"].concat());
    assert_eq!(ran.total(|counts| counts.errors), 0);
    assert_eq!(ran.total(|counts| counts.users_finished), 1);
}

/// A server's nonce, which the user answers with its HMAC: Python's
/// `hmac.new(bytes.fromhex("00ff80"), bytes([0xfe, 1]), "sha256").digest()`.
#[test]
fn bytes_are_saved_and_sent_in_frames_with_varints() {
    let steps = r#"
    - send:
      bytes: [varint: "${user + 300}", text: "${bytes('ff00', 'hex')}"]
      reply: { save: { nonce: bytes }, as: ask }
    - check: hex(nonce) == 'fe01' and number_at(nonce, 'u8') == 254
      as: saved
    - send:
      bytes: [text: "${hmac_sha256(bytes('00ff80', 'hex'), nonce, 'bytes')}"]
      as: proof
"#;
    let mut peer = answers(5, &[b"\x02\xfe", b"\x01"]);
    let ran = run_over(&scenario("{ length: varint }", steps), &mut peer, Link::new(MS));
    assert_eq!(ran.outcomes("ask"), [Outcome::Ok], "{:?}", ran.details());
    assert_eq!(ran.counted("saved", Outcome::Check), 0);
    let proof: &[u8] = b"\xb5\x48\x3a\x93\xb7\xbc\x72\x11\x6f\x18\xbd\x32\x87\xcc\x48\xe6\
        \x10\xd7\x74\x36\x7c\x11\x56\xf6\xa5\x92\xbe\x0c\x6d\xe8\xae\xdf";
    assert_eq!(peer.got, [&b"\x04\xac\x02\xff\0\x20"[..], proof].concat());
    assert_eq!(ran.total(|counts| counts.errors), 0);
}

#[test]
fn stamps_may_be_binary_fields() {
    let steps = "
    - send: hello
    - think: 1s
";
    let text = scenario(TYPED, steps);
    let text = text.replace("9 } }", "9 }, sent_at: u64be@1, unit: us }");
    // The request arrives after 3 ms, and the message is stamped then; another one is too short for a stamp.
    let stamped = b"\0\0\0\x08\x09\0\0\0\0\0\0\x0b\xb8";
    let mut peer = answers(1, &[stamped, b"\0\0\0\x04\x09\0\0\0\0"]);
    let ran = run_over(&text, &mut peer, Link::new(MS));
    assert_eq!(ran.rows("tick")[0].response_ns(), MS, "{:?}", ran.details());
    assert_eq!(ran.counted("tick", Outcome::Ok), 1);
    assert_eq!(ran.counted("tick", Outcome::Save), 1);
}

fn outcome(ran: &Ran, measure: &str) -> Vec<(Outcome, u64)> {
    let rows = ran.rows(measure).into_iter();
    rows.map(|row: Measurement| (row.outcome, row.response_ns())).collect()
}

/// The same run however the bytes are cut, in every framing.
#[test]
fn any_split_reads_the_same() {
    let steps = "
    - expect: { when: { body: one }, as: first }
    - expect: { when: { body: two }, as: second }
";
    for (framing, wire) in [
        ("{ length: 2, endian: little }", &b"\x03\0one\x03\0two"[..]),
        ("{ length: 1, at: 1, counts: frame, header: 1 }", b"a\x05oneb\x05two"),
        ("{ delimiter: \"\\r\\n\" }", b"one\r\ntwo\r\n"),
        ("{ fixed: 3 }", b"onetwo"),
    ] {
        for cut in 0..wire.len() {
            let (front, back) = wire.split_at(cut);
            let mut peer = answers(0, &[front, back]);
            let ran = run(&scenario(framing, steps), &mut peer);
            assert_eq!(outcome(&ran, "first"), [(Outcome::Ok, 0)], "{framing}, {cut}");
            assert_eq!(outcome(&ran, "second"), [(Outcome::Ok, 0)], "{framing}, {cut}");
        }
    }
}

#[test]
fn without_framing_bytes_received_together_are_a_message() {
    let steps = "
    - expect: { when: { body: hello }, as: first }
    - send: PING
      reply: { as: second }
";
    let mut peer = answers(0, &[b"hello", b"world"]);
    let ran = run(&scenario("none", steps), &mut peer);
    assert_eq!(ran.outcomes("first"), [Outcome::Ok]);
    assert_eq!(ran.outcomes("second"), [Outcome::Ok]);
    assert_eq!(peer.got, b"PING");
}

#[test]
fn broken_framing_is_reported() {
    let expect = "    - expect: { as: more }";
    for (framing, bytes, outcome) in [
        ("{ length: 4, counts: frame }", &b"\0\0\0\x01"[..], Outcome::Protocol),
        ("{ length: 4 }", b"\0\x01\0\0", Outcome::TooLarge),
        ("{ delimiter: x }", &[b'y'; 2000], Outcome::TooLarge),
    ] {
        let mut peer = answers(0, &[bytes]);
        let ran = run(&scenario(framing, expect), &mut peer);
        assert_eq!(ran.outcomes("more"), [outcome], "{framing}");
        assert!(!ran.details().is_empty());
    }
}

#[test]
fn lost_and_failed_connections_end_the_session() {
    let expect = "    - expect: { as: more }";
    let mut peer = answers(0, &[b"\0\0"]);
    peer.then.push(PeerAction::Close);
    let ran = run(&scenario("{ length: 4 }", expect), &mut peer);
    assert_eq!(ran.outcomes("more"), [Outcome::Closed]);
    let refused = Link { rule: Box::new(|_, _| engine::sim::Verdict::Refuse), ..Link::new(MS) };
    let ran = run_over(&scenario("none", expect), &mut answers(9, &[]), refused);
    assert_eq!(ran.outcomes("tcp"), [Outcome::Refused]);
    assert_eq!(ran.outcomes("more"), []);
    let mut silent = answers(99, &[]);
    let ran = run(&scenario("none", expect), &mut silent);
    assert_eq!(outcome(&ran, "more"), [(Outcome::Timeout, 2 * S)]);
}

/// What a user cannot send is a fault of the step; the session cannot continue.
#[test]
fn messages_that_do_not_fit_the_framing_are_not_sent() {
    for (framing, step) in [
        ("{ length: 1 }", "{ send: \"${random_string(300)}\", as: sent }"),
        ("{ fixed: 3 }", "{ send: four, as: sent }"),
        (TYPED, "{ send: null, bytes: [u8: \"${user + 300}\"], as: sent }"),
    ] {
        let mut peer = answers(99, &[]);
        let ran = run(&scenario(framing, &format!("    - {step}")), &mut peer);
        assert_eq!(ran.outcomes("sent"), [Outcome::Step], "{framing}");
        assert_eq!(peer.got, b"");
        assert_eq!(ran.total(|counts| counts.users_failed), 1);
    }
}

#[test]
fn after_a_close_another_connection_can_be_opened() {
    let steps = "
    - send: one
      as: one
    - close:
    - tcp: other.test:9001
      framing: { delimiter: \"\\n\" }
      as: other
    - send: two
      as: two
";
    let mut peer = answers(99, &[]);
    let ran = run(&scenario("none", steps), &mut peer);
    for measure in ["one", "other", "two"] {
        assert_eq!(ran.outcomes(measure), [Outcome::Ok]);
    }
    assert_eq!(peer.got, b"onetwo\n");
}
