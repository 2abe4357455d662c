//! Calls of gRPC, in virtual time. The server's bytes are written out by hand.

use std::io::Write;

use engine::sim::PeerAction;
use flate2::Compression;
use flate2::write::GzEncoder;
use record::Outcome;

use crate::http2_peer::{Got, Http2Peer, body, frame_of, go_away, head, reset, sent};
use crate::support::{MS, Ran, run};

const STEP: &str = "grpc: throng.echo.Echo/Say\n      as: call";

pub(crate) fn scenario(steps: &[&str]) -> String {
    let steps: String = steps.iter().map(|step| format!("    - {step}\n")).collect();
    format!(
        "
name: grpc
target: http://target.test/
grpc: {{ protos: [echo.proto] }}
options: {{ timeout: 2s, drain: 1s, message_max: 1KiB }}
sessions:
  main:
{steps}arrivals:
  - {{ constant: 1/s, for: 1s }}
  - {{ hold: 4s }}
"
    )
}

pub(crate) type Answers = Box<dyn FnMut(&Got) -> Vec<PeerAction>>;

fn ran(
    steps: &[&str],
    respond: impl FnMut(&Got) -> Vec<PeerAction> + 'static,
) -> (Ran, Http2Peer<Answers>) {
    let mut peer = Http2Peer::new(MS, Box::new(respond) as Answers);
    let ran = run(&scenario(steps), &mut peer);
    (ran, peer)
}

pub(crate) fn answer_head(stream: u32) -> Vec<u8> {
    let fields =
        [(":status", "200"), ("content-type", "application/grpc+proto"), ("grpc-encoding", "gzip")];
    head(stream, false, &fields)
}

pub(crate) fn data(stream: u32, bytes: &[u8]) -> Vec<u8> {
    frame_of(0, 0, stream, bytes)
}

pub(crate) fn trailers(stream: u32, status: &str) -> Vec<u8> {
    head(stream, true, &[("grpc-status", status), ("x-cost", "7")])
}

/// A message in its frame.
pub(crate) fn framed(flag: u8, message: &[u8]) -> Vec<u8> {
    let len = (message.len() as u32).to_be_bytes();
    [&[flag][..], &len, message].concat()
}

/// A reply and its status.
fn replied(stream: u32, message: &[u8], status: &str) -> Vec<PeerAction> {
    sent(&[answer_head(stream), data(stream, &framed(0, message)), trailers(stream, status)])
}

/// How a single call ends that is answered like this, and what is said of it.
fn ending(frames: &[Vec<u8>]) -> (Outcome, String, Vec<(u32, u32)>) {
    let frames = frames.concat();
    let (ran, peer) = ran(&[STEP], move |_| sent(std::slice::from_ref(&frames)));
    let outcomes = ran.outcomes("call");
    assert_eq!(outcomes.len(), 1);
    (outcomes[0], ran.details().join("; "), peer.resets.clone())
}

#[test]
fn a_call_is_sent_as_the_protocol_says() {
    let step = "grpc: throng.echo.Echo/Say
      as: call
      message:
        text: 'hi'
        numbers: [1, -1]
        labels: { a: b }
        mood: LOUD
      metadata: { X-Own: yes }
      deadline: 1500ms";
    let (ran, peer) = ran(&[step, STEP], |got| replied(got.stream, &[], "0"));
    assert_eq!(ran.outcomes("call"), [Outcome::Ok; 2], "{:?}", ran.details());
    assert_eq!(peer.connections_count, 1);
    let first = &peer.requests[0];
    assert_eq!(first.line, "POST /throng.echo.Echo/Say");
    let message = [
        &[0x0a, 2, b'h', b'i'][..],
        &[0x12, 2, 2, 1],
        &[0x1a, 6, 0x0a, 1, b'a', 0x12, 1, b'b'],
        &[0x20, 1],
    ]
    .concat();
    assert_eq!(first.body, framed(0, &message));
    for field in
        ["te: trailers", "content-type: application/grpc", "grpc-timeout: 1500000u", "x-own: yes"]
    {
        assert!(first.fields.iter().any(|own| own == field), "{field} in {:?}", first.fields);
    }
    let is_length = |field: &String| field.starts_with("content-length");
    assert!(!first.fields.iter().any(is_length));
    assert_eq!(peer.requests[1].body, framed(0, &[]));
    assert_eq!(ran.rows("call")[0].status, 200);
    assert!(ran.rows("call").iter().all(|row| row.response_ns() == MS));
}

#[test]
fn values_of_users_are_in_messages_by_type() {
    let steps = [
        "set: { n: 150, word: abc }",
        "grpc: throng.echo.Echo/Say
      as: call
      message:
        text: '${word}!'
        numbers: [1, '${n}', '${n + 1}']
        labels: { own: '${word}' }
        mood: '${pick(\"LOUD\", \"LOUD\")}'",
    ];
    let (ran, peer) = ran(&steps, |got| replied(got.stream, &[], "0"));
    assert_eq!(ran.outcomes("call"), [Outcome::Ok], "{:?}", ran.details());
    // Numbers that vary have a key each, which servers take as well.
    let message = [
        &[0x0a, 4, b'a', b'b', b'c', b'!'][..],
        &[0x10, 2, 0x10, 0xac, 2, 0x10, 0xae, 2],
        &[0x1a, 10, 0x0a, 3, b'o', b'w', b'n', 0x12, 3, b'a', b'b', b'c'],
        &[0x20, 1],
    ]
    .concat();
    assert_eq!(peer.requests[0].body, framed(0, &message));
}

#[test]
fn a_value_that_a_field_cannot_have_is_an_error_of_its_step() {
    let steps = [
        "set: { word: many }",
        "grpc: throng.echo.Echo/Say
      as: call
      message: { numbers: ['${word}'] }",
    ];
    let (ran, peer) = ran(&steps, |got| replied(got.stream, &[], "0"));
    assert_eq!(ran.outcomes("call"), [Outcome::Step]);
    let said = "the field `numbers`: `many` is not a whole number in range (sint64)";
    assert!(ran.details()[0].contains(said), "{:?}", ran.details());
    assert!(peer.requests.is_empty());
}

#[test]
fn replies_are_json_for_those_who_read_them() {
    let step = "grpc: throng.echo.Echo/Say
      as: call
      expect: { /text: moon, /labels/a: b }
      save:
        second: /numbers/1
        code: status
        cost: { header: x-cost }
        mood: /mood
      check: ['second == -2', 'code == 0', 'cost == \"7\"', 'mood == \"CALM\"']";
    let (ran, _) = ran(&[step], |got| {
        let message = [
            &[0x0a, 4, b'm', b'o', b'o', b'n'][..],
            &[0x12, 2, 1, 3],
            &[0x1a, 6, 0x0a, 1, b'a', 0x12, 1, b'b'],
        ]
        .concat();
        // In pieces, as they may come.
        let wire = framed(0, &message);
        let (first, second) = wire.split_at(3);
        sent(&[
            answer_head(got.stream),
            data(got.stream, first),
            data(got.stream, second),
            trailers(got.stream, "0"),
        ])
    });
    assert_eq!(ran.outcomes("call"), [Outcome::Ok], "{:?}", ran.details());
}

#[test]
fn conditions_that_do_not_hold_are_errors() {
    let step = "grpc: throng.echo.Echo/Say
      as: call
      expect: { /text: moon }";
    let (ran, _) = ran(&[step], |got| replied(got.stream, &[0x0a, 1, b'x'], "0"));
    assert_eq!(ran.outcomes("call"), [Outcome::Check]);
    let details = ran.details().join("");
    assert!(details.contains("not as expected at /text; received `{\"text\":\"x\""), "{details}");
}

#[test]
fn messages_are_compressed_both_ways() {
    let step = "grpc: throng.echo.Echo/Say
      as: call
      message: { text: hello }
      gzip: true
      expect: { /text: hello }";
    let (ran, peer) = ran(&[step], |got| {
        assert_eq!(got.body[0], 1);
        // What was sent is sent back.
        sent(&[answer_head(got.stream), data(got.stream, &got.body), trailers(got.stream, "0")])
    });
    assert_eq!(ran.outcomes("call"), [Outcome::Ok], "{:?}", ran.details());
    assert!(peer.requests[0].fields.contains(&"grpc-encoding: gzip".to_owned()));
}

#[test]
fn a_reply_that_unpacks_to_too_much_is_refused() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&[0; 100_000]).unwrap();
    let packed = packed.finish().unwrap();
    let step = "grpc: throng.echo.Echo/Say\n      as: call\n      save: { text: /text }";
    let (ran, _) = ran(&[step], move |got| {
        sent(&[
            answer_head(got.stream),
            data(got.stream, &framed(1, &packed)),
            trailers(got.stream, "0"),
        ])
    });
    assert_eq!(ran.outcomes("call"), [Outcome::TooLarge], "{:?}", ran.details());
}

#[test]
fn every_status_is_a_kind_of_error() {
    for (code, outcome) in [
        ("1", Outcome::GrpcCancelled),
        ("2", Outcome::GrpcUnknown),
        ("5", Outcome::GrpcNotFound),
        ("8", Outcome::GrpcResourceExhausted),
        ("14", Outcome::GrpcUnavailable),
        ("16", Outcome::GrpcUnauthenticated),
        ("17", Outcome::GrpcUnknown),
        ("4294967295", Outcome::GrpcUnknown),
    ] {
        // With a head before it, and as a head alone.
        let alone = [
            (":status", "200"),
            ("content-type", "application/grpc"),
            ("grpc-status", code),
            ("grpc-message", "no%20such%20thing"),
        ];
        for frames in [vec![answer_head(1), trailers(1, code)], vec![head(1, true, &alone)]] {
            let (found, said, resets) = ending(&frames);
            assert_eq!(found, outcome, "{code}: {said}");
            assert!(resets.is_empty());
        }
        assert!(ending(&[head(1, true, &alone)]).1.contains(": no such thing"));
    }
}

#[test]
fn statuses_that_a_step_expects_are_no_errors() {
    let step = "grpc: throng.echo.Echo/Say
      as: call
      status: [NOT_FOUND, ALREADY_EXISTS]
      save: { code: status }
      check: code == 5";
    let alone = |got: &Got| {
        let fields =
            [(":status", "200"), ("content-type", "application/grpc"), ("grpc-status", "5")];
        sent(&[head(got.stream, true, &fields)])
    };
    assert_eq!(ran(&[step], alone).0.outcomes("call"), [Outcome::Ok]);
    let (ran, _) = ran(&[step], |got| replied(got.stream, &[], "0"));
    assert_eq!(ran.outcomes("call"), [Outcome::Status]);
}

#[test]
fn answers_that_are_none_are_refused() {
    let head_of = |fields: &[(&str, &str)]| head(1, false, fields);
    let page = head_of(&[(":status", "200"), ("content-type", "text/html")]);
    let unavailable = head_of(&[(":status", "503"), ("content-type", "text/html")]);
    let missing = head(1, true, &[(":status", "404")]);
    let reply = data(1, &framed(0, &[]));
    let cut = || data(1, &framed(0, b"abc")[..7]);
    for (frames, outcome, said) in [
        (
            vec![page, body(1, true, "hi")],
            Outcome::Protocol,
            "\"text/html\" instead of application/grpc",
        ),
        (
            vec![unavailable],
            Outcome::GrpcUnavailable,
            "HTTP status 503 instead of an answer: UNAVAILABLE",
        ),
        (vec![missing], Outcome::GrpcUnimplemented, "HTTP status 404"),
        (vec![answer_head(1), data(1, &[7, 0, 0, 0, 0])], Outcome::Protocol, "first byte is 7"),
        (
            vec![answer_head(1), data(1, &[0, 255, 255, 255, 255])],
            Outcome::TooLarge,
            "a message of 4294967295 bytes; at most 1024",
        ),
        (
            vec![answer_head(1), reply.clone(), reply.clone()],
            Outcome::Protocol,
            "more than one reply",
        ),
        (
            vec![answer_head(1), frame_of(0, 1, 1, &framed(0, &[]))],
            Outcome::Protocol,
            "ends without a grpc-status",
        ),
        (
            vec![answer_head(1), reply.clone(), trailers(1, "many")],
            Outcome::Protocol,
            "\"many\" is no number",
        ),
        (vec![answer_head(1), trailers(1, "0")], Outcome::Protocol, "as OK without a reply"),
        (vec![answer_head(1), cut(), trailers(1, "0")], Outcome::Protocol, "within a message"),
        (vec![reset(1, 7)], Outcome::Http2RefusedStream, "REFUSED_STREAM"),
    ] {
        let (found, text, _) = ending(&frames);
        assert_eq!(found, outcome, "{text}");
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn a_reply_that_is_no_message_is_an_error_for_those_who_read_it() {
    let reading = "grpc: throng.echo.Echo/Say\n      as: call\n      save: { text: /text }";
    for (step, outcome) in [(STEP, Outcome::Ok), (reading, Outcome::Decoding)] {
        let (ran, _) = ran(&[step], |got| replied(got.stream, &[0x0a, 9, 1], "0"));
        assert_eq!(ran.outcomes("call"), [outcome], "{:?}", ran.details());
    }
}

#[test]
fn a_call_beyond_its_deadline_is_given_up() {
    let step = "grpc: throng.echo.Echo/Say\n      as: call\n      deadline: 50ms";
    let (ran, peer) = ran(&[step], |_| Vec::new());
    assert_eq!(ran.outcomes("call"), [Outcome::GrpcDeadlineExceeded], "{:?}", ran.details());
    assert_eq!(ran.rows("call")[0].response_ns(), 50 * MS);
    assert_eq!(peer.resets, [(1, 8)], "the server gets CANCEL");
    assert!(ran.details()[0].contains("the call's deadline has passed"), "{:?}", ran.details());
    // A shorter timeout is none of the call's.
    let (shorter, _) = self::ran(&[&format!("{step}\n      timeout: 20ms")], |_| Vec::new());
    assert_eq!(shorter.outcomes("call"), [Outcome::Timeout]);
    // A step may expect it, and sees its status.
    let expected = format!(
        "{step}\n      status: DEADLINE_EXCEEDED\n      save: {{ code: status }}\n      check: code == 4"
    );
    let (expected, peer) = self::ran(&[&expected], |_| Vec::new());
    assert_eq!(expected.outcomes("call"), [Outcome::Ok], "{:?}", expected.details());
    assert_eq!(peer.resets, [(1, 8)]);
}

#[test]
fn a_deadline_is_the_same_kind_of_error_whoever_notices_first() {
    let step = "grpc: throng.echo.Echo/Say\n      as: call\n      deadline: 1ms";
    // The server's status, and its reset, come with the deadline itself.
    for frames in [
        vec![answer_head(1), trailers(1, "4")],
        vec![reset(1, 8)],
        vec![answer_head(1), reset(1, 8)],
    ] {
        let frames = frames.concat();
        let (ran, _) = ran(&[step], move |_| sent(std::slice::from_ref(&frames)));
        assert_eq!(ran.outcomes("call"), [Outcome::GrpcDeadlineExceeded], "{:?}", ran.details());
    }
    // A reset before is the server's own.
    let step = "grpc: throng.echo.Echo/Say\n      as: call\n      deadline: 50ms";
    let (early, _) = ran(&[step], |got| sent(&[reset(got.stream, 8)]));
    assert_eq!(early.outcomes("call"), [Outcome::Http2Cancel]);
}

#[test]
fn a_call_that_was_not_processed_is_sent_again() {
    let (ran, peer) = ran(&[STEP, STEP], |got| match got.stream {
        3 => sent(&[go_away(1, 0)]),
        _ => replied(got.stream, &[], "0"),
    });
    assert_eq!(ran.outcomes("call"), [Outcome::Ok; 2], "{:?}", ran.details());
    assert_eq!(peer.connections_count, 2);
    assert_eq!(ran.total(|counts| counts.requests_retried), 1);
}
