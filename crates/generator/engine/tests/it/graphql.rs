//! GraphQL: answers over HTTP, and operations over a WebSocket (`graphql-transport-ws`).

use engine::sim::{Link, PeerAction};
use record::Outcome;

use crate::peers::{HttpPeer, WsPeer, frame, ok, text};
use crate::support::{MS, Ran, S, run, run_over};

const ARRIVALS: &str = "arrivals: [ { constant: 1/s, for: 1s }, { hold: 99s } ]";

fn played(step: &str, answer: &str) -> (Ran, String) {
    let text = format!(
        "
target: http://a.test/
sessions:
  main:
    - graphql: {{ query: 'query Product($id: ID!) {{ product(id: $id) {{ name }} }}', variables: {{ id: \"${{user}}\" }} {step}
    - get: /next
{ARRIVALS}
"
    );
    let mut peer = HttpPeer::new(|_| MS, |_| ok(answer));
    let ran = run(&text, &mut peer);
    (ran, peer.requests.remove(0))
}

#[test]
fn an_operation_is_a_request_and_its_errors_are_a_failure() {
    let good = r#"{"data":{"product":{"name":"a"}}}"#;
    let part =
        r#"{"errors":[{"message":"no stock","path":["product"]}],"data":{"product":{"name":"a"}}}"#;
    let none = r#"{"errors":[{"message":"first"},{"message":"second"}],"data":null}"#;
    let plain = "}\n      save: { name: /data/product/name }\n      check: name == 'a'";
    let partial = ", partial: true }\n      save: { name: /data/product/name }";
    for (step, answer, expected, detail) in [
        (plain, good, Outcome::Ok, ""),
        (plain, part, Outcome::Graphql, "the answer has an error: no stock"),
        (plain, none, Outcome::Graphql, "the answer has 2 errors, the first is: first"),
        (partial, part, Outcome::Ok, ""),
        (partial, none, Outcome::Graphql, "the answer has 2 errors, the first is: first"),
        ("}", good, Outcome::Ok, ""),
        ("}", part, Outcome::Graphql, "the answer has an error: no stock"),
        (
            "}",
            "<html>",
            Outcome::Graphql,
            "no answer of GraphQL: it has neither `data` nor `errors`",
        ),
        ("}\n      save: { x: /data/x }", good, Outcome::Save, "nothing at /data/x"),
    ] {
        let (ran, request) = played(step, answer);
        assert_eq!(ran.outcomes("Product"), [expected], "{step} {answer}");
        let details = ran.details();
        let found = details.first().map_or("", String::as_str);
        assert!(found.starts_with(detail), "{found}");
        // What was to be saved is needed later.
        let continues = expected == Outcome::Ok || answer == part || !step.contains("save");
        assert_eq!(ran.outcomes("GET /next").len(), usize::from(continues));
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /graphql HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("\r\ncontent-type: application/json\r\n"), "{head}");
        assert!(head.contains("\r\naccept: application/graphql-response+json, "), "{head}");
        let expected = r#"{"query":"query Product($id: ID!) { product(id: $id) { name } }","variables":{"id":0}}"#;
        assert_eq!(body, expected);
    }
}

#[test]
fn errors_are_tried_again() {
    let text = format!(
        "
target: http://a.test/
sessions:
  main:
    - retry: 2
      failures: graphql
      steps:
        - graphql: {{ path: /api, query: '{{ a }}', operation: A }}
{ARRIVALS}
"
    );
    let mut answers = vec![r#"{"data":{"a":1}}"#, r#"{"errors":[{"message":"busy"}]}"#];
    let mut peer = HttpPeer::new(|_| MS, |_| ok(answers.pop().unwrap_or_default()));
    let ran = run(&text, &mut peer);
    assert_eq!(ran.outcomes("A"), [Outcome::Graphql, Outcome::Ok]);
    assert!(peer.requests[0].ends_with(r#"{"query":"{ a }","operationName":"A"}"#));
}

fn scenario(keys: &str, steps: &str) -> String {
    format!(
        "
target: http://a.test/
options: {{ timeout: 2s, message_max: 1KiB }}
messages: {{ said: {{ when: {{ event: next, /data/said: {{ exists: true }} }} }} }}
sessions:
  main:
    - ws: {{ path: /graphql, protocol: graphql-ws{keys} }}
{steps}
{ARRIVALS}
"
    )
}

const ACK: &str = r#"{"type":"connection_ack"}"#;
const SAID: &str = "    - subscribe: { query: 'subscription Said { said }' }\n";

/// A server that answers by the beginning of the query; the second text is sent after all of its answers.
fn server(message: &str) -> Vec<PeerAction> {
    let next = |id: &str, payload: &str| {
        text(&format!(r#"{{"id":"{id}","type":"next","payload":{payload}}}"#))
    };
    let complete = |id: &str| text(&format!(r#"{{"id":"{id}","type":"complete"}}"#));
    match message {
        _ if message.contains("connection_init") => vec![text(ACK), text(r#"{"type":"ping"}"#)],
        _ if message.contains("subscription Said") => {
            vec![next("Said", r#"{"data":{"said":"a"}}"#), next("Said", r#"{"data":{"said":"b"}}"#)]
        }
        _ if message.contains("mutation") => {
            vec![
                next("Said", r#"{"data":{"said":"c"}}"#),
                next("7", r#"{"data":{"say":3}}"#),
                complete("7"),
            ]
        }
        _ if message.contains("partly") => {
            vec![next("q", r#"{"data":{"a":null},"errors":[{"message":"no a"}]}"#), complete("q")]
        }
        _ if message.contains("wrong") => {
            vec![text(r#"{"id":"w","type":"error","payload":[{"message":"no field"}]}"#)]
        }
        _ if message.contains("nothing") => vec![complete("n")],
        _ => vec![],
    }
}

fn texts<F>(peer: &WsPeer<F>) -> Vec<String> {
    let frames = peer.frames.iter().filter(|(opcode, _)| *opcode == 1);
    frames.map(|(_, payload)| String::from_utf8_lossy(payload).into_owned()).collect()
}

#[test]
fn operations_begin_bring_messages_and_end() {
    let steps = format!(
        "{SAID}
    - subscribe: {{ query: 'mutation Say {{ say }}', variables: {{ n: 1 }}, id: \"${{3 + 4}}\" }}
      reply: {{ save: {{ count: /data/say }} }}
    - check: count == 3
    - subscribe: {{ query: '{{ partly }}', id: q }}
      as: partly
      reply: {{}}
    - subscribe: {{ query: '{{ wrong }}', id: w }}
      as: wrong
      reply: {{}}
    - subscribe: {{ query: '{{ wrong }}', id: w }}
      as: unnoticed
    - subscribe: {{ query: '{{ nothing }}', id: n }}
      as: nothing
      reply: {{}}
    - unsubscribe: w
    - unsubscribe: Said
    - close:
"
    );
    let mut peer = WsPeer::new(|_, message| server(message));
    let text = scenario(", init: { token: \"t${user}\" }", &steps);
    let ran = run_over(&text, &mut peer, Link::new(MS));
    for (measure, expected) in [
        ("handshake", &[Outcome::Ok][..]),
        ("Said", &[Outcome::Ok]),
        ("Say", &[Outcome::Ok]),
        ("partly", &[Outcome::Graphql]),
        ("wrong", &[Outcome::Graphql]),
        ("unnoticed", &[Outcome::Ok, Outcome::Graphql]),
        ("nothing", &[Outcome::ChannelClosed]),
        ("unsubscribe", &[Outcome::Ok, Outcome::Ok]),
    ] {
        assert_eq!(ran.outcomes(measure), expected, "{measure}");
    }
    assert_eq!(ran.counted("said", Outcome::Ok), 3);
    // The upgrade, and the acknowledgement; a mutation and its answer.
    assert_eq!(ran.rows("handshake")[0].response_ns(), 6 * MS);
    assert_eq!(ran.rows("Say")[0].response_ns(), 2 * MS);
    assert_eq!(ran.total(|counts| counts.users_finished), 1);
    let sent = texts(&peer);
    assert_eq!(sent[0], r#"{"type":"connection_init","payload":{"token":"t0"}}"#);
    let subscribe = |id: &str, payload: &str| {
        format!(r#"{{"id":"{id}","type":"subscribe","payload":{payload}}}"#)
    };
    for expected in [
        r#"{"type":"pong"}"#.to_owned(),
        subscribe("Said", r#"{"query":"subscription Said { said }"}"#),
        subscribe("7", r#"{"query":"mutation Say { say }","variables":{"n":1}}"#),
        r#"{"id":"Said","type":"complete"}"#.to_owned(),
    ] {
        assert!(sent.contains(&expected), "{expected}: {sent:?}");
    }
    // What was over was not ended once more.
    assert_eq!(sent.iter().filter(|text| text.contains("complete")).count(), 1);
}

#[test]
fn what_a_server_does_wrong_ends_the_session() {
    for (answer, expected) in [
        (vec![], Outcome::Timeout),
        (vec![text(r#"{"type":"ka"}"#)], Outcome::Protocol),
        (vec![text("hello")], Outcome::Protocol),
        (vec![PeerAction::Send(frame(0x82, b"{}"))], Outcome::Protocol),
        // 4403: forbidden.
        (vec![PeerAction::Send(frame(0x88, &[0x11, 0x33]))], Outcome::Closed),
        (vec![PeerAction::Close], Outcome::Closed),
    ] {
        let mut peer = WsPeer::new(|_, _| answer.clone());
        let ran = run_over(&scenario("", SAID), &mut peer, Link::new(MS));
        assert_eq!(ran.outcomes("handshake"), [expected], "{answer:?}");
        assert_eq!(ran.outcomes("Said"), []);
    }
}

#[test]
fn a_lost_connection_begins_its_operations_again() {
    let steps = format!("{SAID}    - think: 60s\n");
    let mut inits = 0;
    let mut peer = WsPeer::new(|_, message| {
        inits += usize::from(message.contains("connection_init"));
        let mut answer = server(message);
        if inits == 1 && message.contains("subscription") {
            answer.push(PeerAction::Close);
        }
        answer
    });
    let ran = run_over(&scenario(", reconnect: true", &steps), &mut peer, Link::new(MS));
    assert_eq!(ran.outcomes("reconnect"), [Outcome::Ok]);
    assert_eq!(ran.outcomes("rejoin"), [Outcome::Ok]);
    assert_eq!(ran.counted("said", Outcome::Ok), 4);
    let begun = texts(&peer);
    let begun = begun.iter().filter(|text| text.contains("\"subscribe\""));
    assert_eq!(begun.count(), 2);
}

/// The library's client gives up after five attempts, and at once after some statuses.
#[test]
fn a_client_gives_up() {
    for (code, attempts) in [(4403_u16, 5), (4401, 0), (1012, 5), (1011, 0)] {
        let steps = format!("{SAID}    - think: 90s\n");
        let mut inits = 0;
        let mut peer = WsPeer::new(|now_ns, message| {
            inits += usize::from(message.contains("connection_init"));
            match now_ns {
                _ if inits > 1 => vec![PeerAction::Send(frame(0x88, &code.to_be_bytes()))],
                0..S if message.contains("subscription") => {
                    vec![PeerAction::Send(frame(0x88, &code.to_be_bytes()))]
                }
                _ => server(message),
            }
        });
        let ran = run_over(&scenario(", reconnect: true", &steps), &mut peer, Link::new(MS));
        let reconnects = ran.outcomes("reconnect");
        assert_eq!(reconnects, vec![Outcome::Closed; attempts], "{code}");
        assert_eq!(ran.total(|counts| counts.users_failed), 1, "{code}");
    }
}
