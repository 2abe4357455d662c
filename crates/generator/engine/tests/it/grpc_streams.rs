//! Calls of gRPC whose messages are steps, in virtual time.

use std::io::Read;

use engine::sim::PeerAction;
use flate2::read::GzDecoder;
use record::Outcome;

use crate::grpc::{Answers, answer_head, data, framed, scenario, trailers};
use crate::http2_peer::{Got, Http2Peer, head, sent};
use crate::support::{MS, Ran, run};

const TALK: &str = "grpc: throng.echo.Echo/Talk\n      as: talk";
const REPEAT: &str =
    "grpc: throng.echo.Echo/Repeat\n      as: repeat\n      message: { text: tick, count: 3 }";
const HI: &[u8] = &[0x0a, 2, b'h', b'i'];

fn ran(
    steps: &[&str],
    respond: impl FnMut(&Got) -> Vec<PeerAction> + 'static,
) -> (Ran, Http2Peer<Answers>) {
    let mut peer = Http2Peer::new(MS, Box::new(respond) as Answers);
    peer.talks = true;
    let ran = run(&scenario(steps), &mut peer);
    (ran, peer)
}

/// Each of these was done once, and succeeded.
fn each_is_ok(ran: &Ran, measures: &[&str]) {
    for measure in measures {
        let details = ran.details();
        assert_eq!(ran.outcomes(measure), [Outcome::Ok], "{measure}: {details:?}");
    }
}

/// A server that sends back each message as it comes, and ends when its client does.
fn echo() -> impl FnMut(&Got) -> Vec<PeerAction> + 'static {
    let mut done = 0;
    move |got| {
        let mut frames = Vec::new();
        if done == 0 && got.body.is_empty() {
            frames.push(answer_head(got.stream));
        }
        if got.body.len() > done {
            frames.push(data(got.stream, &got.body[done..]));
            done = got.body.len();
        }
        if got.ended {
            frames.push(trailers(got.stream, "0"));
        }
        sent(&frames)
    }
}

#[test]
fn each_message_of_a_call_is_an_operation() {
    let steps = [
        TALK,
        "send: { text: hi }\n      as: hello\n      reply: { when: { /text: hi }, save: { said: /text } }",
        "send: { text: '${said}' }\n      as: again",
        "expect: { when: { /text: hi }, as: third }",
        "close:\n      as: end",
    ];
    let (ran, peer) = ran(&steps, echo());
    each_is_ok(&ran, &["talk", "hello", "again", "third", "end"]);
    assert_eq!(ran.rows("hello")[0].response_ns(), MS);
    assert_eq!(ran.rows("end")[0].response_ns(), MS);
    assert_eq!(peer.requests.len(), 1);
    assert_eq!(peer.requests[0].body, [framed(0, HI), framed(0, HI)].concat());
    assert!(peer.resets.is_empty(), "{:?}", peer.resets);
}

#[test]
fn a_server_sends_any_number_of_messages() {
    let steps = [
        REPEAT,
        "expect: { when: { /text: tick }, as: first }",
        "expect: { as: second }",
        "think: 50ms",
        "close:\n      as: end",
    ];
    let (ran, peer) = ran(&steps, |got| {
        let tick = framed(0, &[0x0a, 4, b't', b'i', b'c', b'k']);
        sent(&[
            answer_head(got.stream),
            // Two in one frame, the third in two.
            data(got.stream, &[&tick[..], &tick, &tick[..3]].concat()),
            data(got.stream, &tick[3..]),
            trailers(got.stream, "0"),
        ])
    });
    each_is_ok(&ran, &["repeat", "first", "second", "end"]);
    let message = [0x0a, 4, b't', b'i', b'c', b'k', 0x60, 3];
    assert_eq!(peer.requests[0].body, framed(0, &message));
}

#[test]
fn a_reply_follows_the_last_message() {
    let steps = [
        "grpc: throng.echo.Echo/Collect\n      as: collect",
        "send: { text: hi }\n      as: one",
        "send: { text: hi }\n      as: two\n      last: true\n      reply: { when: { /numbers/0: 2 } }",
        "close:\n      as: end",
    ];
    let (ran, peer) = ran(&steps, |got| match got.ended {
        true => sent(&[
            answer_head(got.stream),
            data(got.stream, &framed(0, &[0x12, 1, 4])),
            trailers(got.stream, "0"),
        ]),
        false => Vec::new(),
    });
    each_is_ok(&ran, &["collect", "one", "two", "end"]);
    assert_eq!(peer.requests[0].body, [framed(0, HI), framed(0, HI)].concat());
}

#[test]
fn a_call_that_its_server_ends_is_a_loss_unless_its_end_is_awaited() {
    let refused = |got: &Got| sent(&[answer_head(got.stream), trailers(got.stream, "8")]);
    // A step that waits for a message fails with the status, and its session with it.
    let (waited, _) =
        ran(&[TALK, "expect: { as: word }", "send: { text: hi }\n      as: next"], refused);
    assert_eq!(waited.outcomes("word"), [Outcome::GrpcResourceExhausted]);
    assert!(waited.rows("next").is_empty());
    // One that thinks loses it.
    let (thought, _) = ran(&[TALK, "think: 1s", "send: { text: hi }\n      as: next"], refused);
    assert_eq!(thought.counted("steps", Outcome::GrpcResourceExhausted), 1);
    // One that awaits the end judges it.
    let late = |got: &Got| match got.ended {
        true => sent(&[answer_head(got.stream), trailers(got.stream, "8")]),
        false => Vec::new(),
    };
    let (failed, _) = ran(&[TALK, "close:\n      as: end"], late);
    assert_eq!(failed.outcomes("end"), [Outcome::GrpcResourceExhausted]);
    let expecting = "close:\n      as: end\n      status: [OK, RESOURCE_EXHAUSTED]";
    let (expected, _) = ran(&[TALK, expecting], late);
    assert_eq!(expected.outcomes("end"), [Outcome::Ok]);
}

#[test]
fn a_call_is_given_up_on_request() {
    let steps = [REPEAT, "expect: { as: first }", "close: cancel\n      as: end"];
    let (ran, peer) =
        ran(&steps, |got| sent(&[answer_head(got.stream), data(got.stream, &framed(0, HI))]));
    assert_eq!(ran.outcomes("first"), [Outcome::Ok], "{:?}", ran.details());
    assert_eq!(ran.outcomes("end"), [Outcome::Ok]);
    assert_eq!(peer.resets, [(1, 8)], "the server gets CANCEL");
}

#[test]
fn a_call_that_is_open_is_closed_before_the_next_attempt() {
    let retry = "retry: 2
      pause: 10ms
      steps:
        - grpc: throng.echo.Echo/Talk
          as: talk
        - send: { text: hi }
          as: hello
          reply: { when: { /text: hi }, within: 100ms }";
    let mut echo = echo();
    let (ran, peer) = ran(&[retry], move |got| match got.stream {
        // The first call stays open, and is never answered.
        1 => Vec::new(),
        _ => echo(got),
    });
    assert_eq!(ran.outcomes("talk"), [Outcome::Ok, Outcome::Ok]);
    assert_eq!(ran.outcomes("hello"), [Outcome::Timeout, Outcome::Ok]);
    assert_eq!(peer.resets.first(), Some(&(1, 8)), "{:?}", peer.resets);
}

#[test]
fn messages_that_are_none_end_their_call() {
    let plain = [(":status", "200"), ("content-type", "text/plain")];
    for (frames, outcome) in [
        (vec![answer_head(1), data(1, &[9, 0, 0, 0, 0])], Outcome::Protocol),
        (vec![answer_head(1), data(1, &[0, 255, 255, 255, 255])], Outcome::TooLarge),
        (vec![answer_head(1), data(1, &framed(0, HI)[..6]), trailers(1, "0")], Outcome::Protocol),
        (vec![answer_head(1), data(1, &framed(0, &[0x0a, 9]))], Outcome::Decoding),
        (vec![head(1, false, &plain)], Outcome::Protocol),
        (vec![answer_head(1), trailers(1, "0")], Outcome::Closed),
    ] {
        let wire = frames.concat();
        let steps = [REPEAT, "expect: { when: { /text: hi }, as: first }"];
        let (ran, _) = ran(&steps, move |_| sent(std::slice::from_ref(&wire)));
        assert_eq!(ran.outcomes("first"), [outcome], "{:?}", ran.details());
    }
}

#[test]
fn a_deadline_limits_a_call_with_all_its_messages() {
    let talk = "grpc: throng.echo.Echo/Talk\n      as: talk\n      deadline: 300ms";
    let word = "send: { text: hi }\n      as: word\n      reply: { when: { /text: hi } }";
    // A step that waits fails at the deadline, whatever time it has itself.
    let (waited, peer) = ran(&[talk, word, "expect: { as: next }"], echo());
    each_is_ok(&waited, &["talk", "word"]);
    assert_eq!(waited.outcomes("next"), [Outcome::GrpcDeadlineExceeded]);
    let opened_ns = waited.rows("talk")[0].done_ns;
    assert_eq!(waited.rows("next")[0].done_ns, opened_ns + 300 * MS);
    assert_eq!(peer.resets, [(1, 8)], "the server gets CANCEL");
    // A user who thinks loses the call, one who awaits its end learns it.
    let (thought, _) = ran(&[talk, "think: 1s", word], echo());
    assert_eq!(thought.counted("steps", Outcome::GrpcDeadlineExceeded), 1);
    assert!(thought.rows("word").is_empty());
    let (closed, peer) = ran(&[talk, "close:\n      as: end"], |_| Vec::new());
    assert_eq!(closed.outcomes("end"), [Outcome::GrpcDeadlineExceeded]);
    let expecting = "close:\n      as: end\n      status: DEADLINE_EXCEEDED";
    let (expected, _) = ran(&[talk, expecting], |_| Vec::new());
    each_is_ok(&expected, &["talk", "end"]);
    let fields = &peer.requests[0].fields;
    let limit = "grpc-timeout: 300000u";
    assert!(fields.iter().any(|own| own == limit), "{fields:?}");
    // It does not matter to a call that has ended, or been closed.
    let (ended, _) = ran(&[talk, "think: 1s", "close:\n      as: end"], |got| {
        sent(&[answer_head(got.stream), trailers(got.stream, "0")])
    });
    each_is_ok(&ended, &["talk", "end"]);
    let (left, _) = ran(&[talk, "close: cancel", "think: 1s", TALK, word], echo());
    each_is_ok(&left, &["word"]);
    assert_eq!(left.counted("steps", Outcome::GrpcDeadlineExceeded), 0);
}

#[test]
fn deadlines_limit_calls_whichever_side_streams() {
    for (open, send) in [
        (REPEAT, None),
        (
            "grpc: throng.echo.Echo/Collect\n      as: collect",
            Some("send: { text: hi }\n      as: one"),
        ),
    ] {
        let open = format!("{open}\n      deadline: 40ms");
        let mut steps = vec![&*open];
        steps.extend(send);
        steps.push("expect: { as: first }");
        let (ran, peer) = ran(&steps, |_| Vec::new());
        assert_eq!(ran.outcomes("first"), [Outcome::GrpcDeadlineExceeded], "{:?}", ran.details());
        assert_eq!(ran.rows("first")[0].response_ns(), 40 * MS);
        assert_eq!(peer.resets, [(1, 8)]);
    }
}

#[test]
fn messages_are_compressed_one_by_one() {
    let steps = [
        "grpc: throng.echo.Echo/Talk\n      as: talk\n      gzip: true",
        "send: { text: hi }\n      as: packed",
        "send: { text: hi }\n      as: plain\n      gzip: false",
        "send: { text: hi }\n      as: packed\n      gzip: true\n      last: true",
        "close:\n      as: end",
    ];
    let (ran, peer) = ran(&steps, |got| match got.ended {
        true => sent(&[answer_head(got.stream), trailers(got.stream, "0")]),
        false => Vec::new(),
    });
    each_is_ok(&ran, &["talk", "plain", "end"]);
    let request = &peer.requests[0];
    let encoding = "grpc-encoding: gzip".to_owned();
    assert!(request.fields.contains(&encoding), "{:?}", request.fields);
    let mut rest = &request.body[..];
    let mut flags = Vec::new();
    while let Some((prefix, behind)) = rest.split_first_chunk::<5>() {
        let len = u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]) as usize;
        flags.push(prefix[0]);
        let message = match prefix[0] {
            0 => behind[..len].to_vec(),
            _ => {
                let mut plain = Vec::new();
                GzDecoder::new(&behind[..len]).read_to_end(&mut plain).unwrap();
                plain
            }
        };
        assert_eq!(message, HI);
        rest = &behind[len..];
    }
    assert_eq!(flags, [1, 0, 1]);
}

#[test]
fn metadata_of_the_beginning_is_saved_by_messages_and_at_the_end() {
    let steps = [
        TALK,
        "send: { text: hi }
      as: hello
      reply: { when: { /text: hi }, save: { said: /text, ticket: { header: x-ticket } }, check: \"ticket == 'a7'\" }",
        "send: { text: '${ticket}' }\n      as: again",
        "close:
      as: end
      save: { first: { header: x-ticket }, last: { header: x-cost } }
      check: [\"first == 'a7'\", \"last == '7'\"]",
    ];
    let mut answered = false;
    let (ran, peer) = ran(&steps, move |got| {
        let mut frames = Vec::new();
        if !answered && !got.body.is_empty() {
            answered = true;
            let fields =
                [(":status", "200"), ("content-type", "application/grpc"), ("x-ticket", "a7")];
            frames.push(head(got.stream, false, &fields));
            frames.push(data(got.stream, &framed(0, HI)));
        }
        if got.ended {
            frames.push(trailers(got.stream, "0"));
        }
        sent(&frames)
    });
    each_is_ok(&ran, &["talk", "hello", "again", "end"]);
    let ticket = framed(0, &[0x0a, 2, b'a', b'7']);
    assert_eq!(peer.requests[0].body, [framed(0, HI), ticket].concat());
}

#[test]
fn status_and_metadata_of_an_end_are_saved_and_checked() {
    let end = |status: &str, check: &str| {
        format!(
            "close:\n      as: end\n      status: [OK, NOT_FOUND]\n      \
             save: {{ code: status, cost: {{ header: x-cost }} }}\n      \
             check: \"code == {status} && cost == '{check}'\""
        )
    };
    let as_ended = |got: &Got, status: &str| match got.ended {
        true => sent(&[answer_head(got.stream), trailers(got.stream, status)]),
        false => Vec::new(),
    };
    for status in ["0", "5"] {
        let own = status.to_owned();
        let (right, _) = ran(&[TALK, &end(status, "7")], move |got| as_ended(got, &own));
        assert_eq!(right.outcomes("end"), [Outcome::Ok], "{:?}", right.details());
    }
    let (wrong, _) = ran(&[TALK, &end("0", "8")], move |got| as_ended(got, "0"));
    assert_eq!(wrong.outcomes("end"), [Outcome::Check]);
    // The server ended it before.
    let early = |got: &Got| sent(&[answer_head(got.stream), trailers(got.stream, "0")]);
    let (early, _) = ran(&[TALK, "think: 1s", &end("0", "7")], early);
    assert_eq!(early.outcomes("end"), [Outcome::Ok], "{:?}", early.details());
    // By a head alone.
    let alone = |got: &Got| {
        let fields = [
            (":status", "200"),
            ("content-type", "application/grpc"),
            ("grpc-status", "5"),
            ("x-cost", "7"),
        ];
        match got.ended {
            true => sent(&[head(got.stream, true, &fields)]),
            false => Vec::new(),
        }
    };
    let (alone, _) = ran(&[TALK, &end("5", "7")], alone);
    assert_eq!(alone.outcomes("end"), [Outcome::Ok], "{:?}", alone.details());
}
