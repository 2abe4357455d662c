//! SignalR: a hub by its published protocols, negotiation and JSON messages.

use engine::sim::{Peer, PeerAction, PeerConn, PeerEvent};
use record::Outcome;
use serde_json::{Value, json};

use crate::peers::{WsPeer, ok, text};
use crate::support::{MS, Ran, S, run};

/// The byte that ends each message.
const END: char = '\x1e';
const HANDSHAKE: &str = "{\"protocol\":\"json\",\"version\":1}\x1e";

/// A hub. Its methods are those of [`call`].
struct Hub<F> {
    sockets: WsPeer<F>,
    /// The first lines of all requests of HTTP.
    requests: Vec<String>,
}

impl<F: FnMut(u64, &str) -> Vec<PeerAction>> Peer for Hub<F> {
    fn handle(&mut self, now_ns: u64, conn: PeerConn, event: PeerEvent) -> Vec<PeerAction> {
        let PeerEvent::Received(bytes) = &event else {
            return self.sockets.handle(now_ns, conn, event);
        };
        let said = String::from_utf8_lossy(bytes).into_owned();
        if said.starts_with("POST ") || said.starts_with("GET ") {
            self.requests.extend(said.lines().next().map(str::to_owned));
        }
        match said.starts_with("POST ") {
            true => ok(
                r#"{"negotiateVersion":1,"connectionId":"i","connectionToken":"t-0","availableTransports":[{"transport":"WebSockets","transferFormats":["Text","Binary"]}]}"#,
            ),
            false => self.sockets.handle(now_ns, conn, event),
        }
    }
}

/// One text of several messages.
fn frame_of(messages: &[Value]) -> PeerAction {
    let messages = messages.iter().map(|message| format!("{message}{END}"));
    text(&messages.collect::<String>())
}

/// The messages in a text of the client's.
fn messages(said: &str) -> Vec<Value> {
    assert!(said.ends_with(END), "{said:?}");
    let messages = said.split_terminator(END);
    messages.map(|message| serde_json::from_str(message).expect("JSON")).collect()
}

fn completion(id: &Value, key: &str, value: &Value) -> Value {
    json!({ "type": 3, "invocationId": id, key: value })
}

/// What the hub sends when one of its methods is called.
fn call(message: &Value) -> Vec<PeerAction> {
    let id = &message["invocationId"];
    let arguments = &message["arguments"];
    let to_client = |target: &str, arguments: Value| json!({ "type": 1, "target": target, "arguments": arguments });
    match message["target"].as_str().expect("a target") {
        "Echo" => {
            let early = to_client("Pair", json!(["before", 0]));
            vec![frame_of(&[early, completion(id, "result", &arguments[0])])]
        }
        "Say" => vec![frame_of(&[to_client("Pair", arguments.clone())])],
        "Nothing" => vec![frame_of(&[json!({ "type": 3, "invocationId": id })])],
        "Fail" => vec![frame_of(&[completion(id, "error", &json!("no such room"))])],
        "Ask" => {
            let mut question = to_client("Question", json!([1]));
            question["invocationId"] = json!("s1");
            vec![frame_of(&[question])]
        }
        "Bye" => vec![frame_of(&[json!({ "type": 7, "allowReconnect": arguments[0] })])],
        other => panic!("{other}"),
    }
}

/// A hub that says this when it is greeted, and answers pings if it `lives`.
fn hub(greeting: &[Value], lives: bool) -> Hub<impl FnMut(u64, &str) -> Vec<PeerAction>> {
    let respond = move |_: u64, said: &str| {
        if said == HANDSHAKE {
            return vec![frame_of(greeting)];
        }
        let said = messages(said).into_iter();
        let answers = said.flat_map(|message| match message["type"].as_u64() {
            Some(1) => call(&message),
            Some(6) if lives => vec![frame_of(&[json!({ "type": 6 })])],
            _ => vec![],
        });
        answers.collect()
    };
    Hub { sockets: WsPeer::new(respond), requests: Vec::new() }
}

fn play<F: FnMut(u64, &str) -> Vec<PeerAction>>(hub: &mut Hub<F>, steps: &str) -> Ran {
    let text = format!(
        "
name: hub
target: http://target.test/
options: {{ timeout: 2s }}
sessions:
  main:
{steps}
arrivals:
  - {{ constant: 1/s, for: 1s }}
  - {{ hold: 59s }}
"
    );
    run(&text, hub)
}

fn texts<F>(hub: &Hub<F>) -> Vec<String> {
    let frames = hub.sockets.frames.iter().filter(|(opcode, _)| *opcode == 1);
    frames.map(|(_, payload)| String::from_utf8_lossy(payload).into_owned()).collect()
}

#[test]
fn a_hub_is_negotiated_greeted_and_called() {
    let steps = r#"
    - post: /hub/negotiate?negotiateVersion=1
      save: { token: /connectionToken }
    - ws: { path: "/hub?id=${token}", protocol: signalr }
    - invoke: { method: Echo, args: { n: 7 } }
      reply: { when: { /n: 7 }, save: { n: /n } }
    - expect: { when: { event: Pair, /0: before }, as: before }
    - check: n == 7
    - invoke: { method: Say, args: [hello, 2] }
    - expect: { when: { event: Pair, /0: hello, /1: 2 }, as: pair }
    - invoke: { method: Nothing }
      reply: {}
    - invoke: { method: Fail }
      reply: {}
    - invoke: { method: Ask }
    - expect: { when: { event: Question, body: "1" }, as: question }
    - think: 40s
"#;
    let greeting = [json!({})];
    let mut hub = hub(&greeting, true);
    let ran = play(&mut hub, steps);
    for measure in ["handshake", "Echo", "before", "Say", "pair", "Nothing", "Ask", "question"] {
        assert_eq!(ran.outcomes(measure), [Outcome::Ok], "{measure}: {:?}", ran.details());
    }
    assert_eq!(ran.outcomes("Fail"), [Outcome::Rejected]);
    assert!(ran.details()[0].contains("no such room"), "{:?}", ran.details());
    assert_eq!(ran.counted("check", Outcome::Check), 0);
    assert_eq!(ran.total(|counts| counts.unmatched), 0);
    assert_eq!(
        hub.requests,
        ["POST /hub/negotiate?negotiateVersion=1 HTTP/1.1", "GET /hub?id=t-0 HTTP/1.1"]
    );
    let sent = [
        HANDSHAKE,
        "{\"type\":1,\"invocationId\":\"1\",\"target\":\"Echo\",\"arguments\":[{\"n\":7}]}\x1e",
        "{\"type\":1,\"target\":\"Say\",\"arguments\":[\"hello\",2]}\x1e",
        "{\"type\":1,\"invocationId\":\"3\",\"target\":\"Nothing\",\"arguments\":[]}\x1e",
        "{\"type\":1,\"invocationId\":\"4\",\"target\":\"Fail\",\"arguments\":[]}\x1e",
        "{\"type\":1,\"target\":\"Ask\",\"arguments\":[]}\x1e",
        "{\"type\":3,\"invocationId\":\"s1\",\"error\":\"Client didn't provide a result.\"}\x1e",
        // After 15 s and 30 s.
        "{\"type\":6}\x1e",
        "{\"type\":6}\x1e",
    ];
    assert_eq!(texts(&hub), sent);
    assert_eq!(ran.total(|counts| counts.users_finished), 1);
}

const OPEN: &str = "    - ws: { path: /hub, protocol: signalr }\n";

#[test]
fn refusals_silence_and_the_end_of_a_hub_end_sessions() {
    let waits = format!("{OPEN}    - expect: {{ within: 50s, as: waits }}");
    let refused = [json!({ "error": "Requested protocol 'json' is not available." })];
    let ran = play(&mut hub(&refused, true), &waits);
    assert_eq!(ran.outcomes("handshake"), [Outcome::Closed]);
    assert!(ran.details()[0].contains("is not available"), "{:?}", ran.details());
    // A server that says nothing for 30 s is gone.
    let ran = play(&mut hub(&[json!({})], false), &waits);
    assert_eq!(ran.outcomes("waits"), [Outcome::Timeout]);
    assert_eq!(ran.rows("waits")[0].response_ns(), 30 * S);
    let ended = [json!({}), json!({ "type": 7, "error": "Connection closed with an error." })];
    let ran = play(&mut hub(&ended, true), &waits);
    assert_eq!(ran.outcomes("handshake"), [Outcome::Ok]);
    assert_eq!(ran.outcomes("waits"), [Outcome::Closed]);
    let nonsense = [json!({}), json!([])];
    let ran = play(&mut hub(&nonsense, true), &waits);
    assert_eq!(ran.outcomes("waits"), [Outcome::Protocol]);
}

/// A call that is not answered in time is an error, and its late completion answers nothing.
#[test]
fn calls_have_a_time() {
    let steps = format!(
        "{OPEN}    - invoke: {{ method: Echo, args: 1 }}\n      reply: {{ within: 5ms }}\n    \
         - invoke: {{ method: Nothing }}\n      reply: {{}}"
    );
    let greeting = [json!({})];
    let mut hub = hub(&greeting, true);
    hub.sockets.delay_ns = 20 * MS;
    let ran = play(&mut hub, &steps);
    assert_eq!(ran.outcomes("Echo"), [Outcome::Timeout]);
    assert_eq!(ran.outcomes("Nothing"), [Outcome::Ok]);
    assert_eq!(ran.rows("Nothing")[0].response_ns(), 20 * MS);
}

#[test]
fn a_hub_that_allows_it_is_connected_again() {
    let back = json!({ "type": 1, "target": "Back", "arguments": [] });
    let steps = |again: bool| {
        format!(
            "    - ws: {{ path: /hub, protocol: signalr, reconnect: true }}
    - expect: {{ when: {{ event: Back }}, as: first }}
    - invoke: {{ method: Bye, args: [{again}] }}
    - expect: {{ when: {{ event: Back }}, within: 9s, as: back }}
    - invoke: {{ method: Echo, args: 1 }}
      reply: {{ when: {{ body: \"1\" }} }}"
        )
    };
    let greeting = [json!({}), back];
    let mut peer = hub(&greeting, true);
    let ran = play(&mut peer, &steps(true));
    for measure in ["first", "reconnect", "back", "Echo"] {
        assert_eq!(ran.outcomes(measure), [Outcome::Ok], "{measure}: {:?}", ran.details());
    }
    assert_eq!(texts(&peer).iter().filter(|text| **text == HANDSHAKE).count(), 2);
    let mut peer = hub(&greeting, true);
    let ran = play(&mut peer, &steps(false));
    assert_eq!(ran.outcomes("back"), [Outcome::Closed]);
    assert_eq!(ran.outcomes("reconnect"), []);
}
