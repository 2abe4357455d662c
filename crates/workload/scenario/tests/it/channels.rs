//! Protocols of channels become instructions.

use plan::expr::Template;
use plan::{Acknowledgement, Backoff, ChannelVerb, Jitter, Op, Pauses, Payload, Protocol, WsOpen};

use crate::{plan, rendered, with_steps};

fn opened(step: &str) -> (WsOpen, String) {
    let plan = plan(&with_steps(step));
    let Op::WsOpen(open) = &plan.sessions[0].ops[0] else {
        panic!("no WebSocket: {:?}", plan.sessions[0].ops)
    };
    let path = open.path.parts.iter().map(|part| match part {
        plan::expr::TemplatePart::Text(text) => text.to_string(),
        plan::expr::TemplatePart::Bytes(_) => panic!("a path has no file"),
        plan::expr::TemplatePart::Expr(..) => "$".to_owned(),
    });
    ((**open).clone(), path.collect())
}

fn subprotocols(open: &WsOpen) -> Option<&str> {
    let mut headers = open.headers.iter();
    let found = headers.find(|(name, _)| name == "sec-websocket-protocol");
    found.and_then(|(_, value)| value.as_static())
}

#[test]
fn a_websocket_says_what_it_speaks() {
    let (open, path) = opened("- ws: { path: /socket/websocket, protocol: phoenix }\n");
    assert_eq!(path, "/base/socket/websocket?vsn=2.0.0");
    let heartbeat_ns = 30_000_000_000;
    let arrays = true;
    assert_eq!(open.protocol, Some(Protocol::Phoenix { arrays, heartbeat_ns }));
    let (open, path) =
        opened("- ws: /s?token=${user}\n  protocol: phoenix\n  vsn: 1.0.0\n  heartbeat: 5s\n");
    assert_eq!(path, "/base/s?token=$&vsn=1.0.0");
    let heartbeat_ns = 5_000_000_000;
    let arrays = false;
    assert_eq!(open.protocol, Some(Protocol::Phoenix { arrays, heartbeat_ns }));
    let (open, path) = opened("- ws: { path: /cable, protocol: actioncable }\n");
    assert_eq!(path, "/base/cable");
    assert_eq!(subprotocols(&open), Some("actioncable-v1-json, actioncable-unsupported"));
    let (open, path) = opened("- ws: { path: /socket.io/, protocol: socket.io }\n");
    assert_eq!(path, "/base/socket.io/?EIO=4&transport=websocket");
    assert_eq!(subprotocols(&open), None);
    let (open, path) = opened("- ws: /x\n  subprotocols: [a, b]\n");
    assert_eq!((&*path, subprotocols(&open)), ("/base/x", Some("a, b")));
    assert_eq!(open.protocol, None);
}

#[test]
fn the_end_of_records_is_one_byte() {
    let step = |records: &str| format!("- ws: {{ path: /x, records: {records} }}\n");
    for (records, expected) in [
        ("\"\\n\"", Some(b'\n')),
        ("0x1e", Some(0x1e)),
        ("\"\\x1e\"", Some(0x1e)),
        ("'|'", Some(b'|')),
    ] {
        assert_eq!(opened(&step(records)).0.records, expected, "{records}");
    }
    assert_eq!(opened("- ws: { path: /x }\n").0.records, None);
    for records in ["''", "ab", "0x", "0x1e1e", "0xzz", "\"\u{e4}\""] {
        let said = rendered(&with_steps(&step(records)), &[]);
        assert!(said.contains("is not one byte"), "{records}: {said}");
    }
    let both = rendered(&with_steps("- ws: { path: /x, records: 0x1e, protocol: phoenix }"), &[]);
    assert!(both.contains("divides its messages by itself"), "{both}");
}

#[test]
fn a_hub_has_methods_and_no_channels() {
    let open = "- ws: { path: /hub, protocol: signalr }\n";
    let (opened, path) = opened(open);
    assert_eq!(path, "/base/hub");
    assert_eq!(opened.protocol, Some(Protocol::SignalR));
    let first = opened.first.as_ref().and_then(Template::as_static);
    assert_eq!(first, Some("{\"protocol\":\"json\",\"version\":1}\u{1e}"));
    let plan = plan(&with_steps(&format!("{open}- invoke: {{ method: Say, args: hi }}")));
    let Op::Channel(op) = &plan.sessions[0].ops[1] else {
        panic!("{:?}", plan.sessions[0].ops);
    };
    assert_eq!((op.verb, op.event.as_static()), (ChannelVerb::Push, Some("Say")));
    assert_eq!(op.topic.as_ref().and_then(Template::as_static), Some(""));
    for (step, hint) in [("join: room", "invoke"), ("emit: { event: a }", "write `invoke` here")] {
        let said = rendered(&with_steps(&format!("{open}- {step}")), &[]);
        assert!(said.contains(hint), "{said}");
    }
    let said =
        rendered(&with_steps("- ws: { path: /, protocol: phoenix }\n- invoke: { method: a }"), &[]);
    assert!(said.contains("write `push` here"), "{said}");
}

#[test]
fn steps_of_channels() {
    let plan = plan(&with_steps(
        "- ws: { path: /cable, protocol: actioncable }
- join: ChatChannel
  params: { room: 1 }
- perform: { action: speak, data: { text: hi } }
  reply: { when: { /ok: true } }
- leave: ChatChannel
  params: { room: 1 }
",
    ));
    let ops = &plan.sessions[0].ops[1..];
    let ops: Vec<_> = ops
        .iter()
        .map(|op| match op {
            Op::Channel(op) => op,
            other => panic!("{other:?}"),
        })
        .collect();
    let verbs: Vec<_> = ops.iter().map(|op| op.verb).collect();
    assert_eq!(verbs, [ChannelVerb::Join, ChannelVerb::Push, ChannelVerb::Leave]);
    let identifier = Some(r#"{"channel":"ChatChannel","room":1}"#);
    for op in [ops[0], ops[2]] {
        assert_eq!(op.topic.as_ref().and_then(|topic| topic.as_static()), identifier);
    }
    let Payload::Text(payload) = &ops[1].payload else {
        panic!("{:?}", ops[1].payload);
    };
    let expected = r#"{"text":"hi","action":"speak"}"#;
    assert_eq!(payload.as_static(), Some(expected));
    assert!(ops[1].topic.is_none() && ops[1].reply.is_some());
    let names: Vec<_> = plan.measures.iter().map(|m| m.name.as_str()).collect();
    let expected = ["connect", "handshake", "join", "speak", "leave", "steps"];
    assert_eq!(names, expected);
}

#[test]
fn only_channels_of_phoenix_are_joined_again() {
    let steps = |protocol: &str, rejoin: bool| {
        with_steps(&format!(
            "- ws: {{ path: /, protocol: {protocol} }}\n- join: /room\n  rejoin: {rejoin}"
        ))
    };
    for rejoin in [true, false] {
        let plan = plan(&steps("phoenix", rejoin));
        let Op::Channel(join) = &plan.sessions[0].ops[1] else {
            panic!("{:?}", plan.sessions[0].ops);
        };
        let name = join.rejoin.map(|id| &*plan.measures[id.index()].name);
        assert_eq!(name, rejoin.then_some("rejoin"));
    }
    for protocol in ["socket.io", "actioncable"] {
        let said = rendered(&steps(protocol, true), &[]);
        assert!(said.contains("this needs `protocol: phoenix`"), "{said}");
    }
}

#[test]
fn acknowledgements_are_lists_of_arguments() {
    let text = |ack: &str| {
        let steps = with_steps("- think: 1s");
        format!("{steps}messages: {{ m: {{ when: {{ event: e }}{ack} }} }}\n")
    };
    for (ack, expected) in [
        ("", Some("[]")),
        (", ack: []", Some("[]")),
        (", ack: [ 1, a ]", Some("[1,\"a\"]")),
        (", ack: done", Some("[\"done\"]")),
        (", ack: { ok: true }", Some("[{\"ok\":true}]")),
        (", ack: false", None),
    ] {
        let plan = plan(&text(ack));
        let found = match &plan.messages[0].ack {
            Acknowledgement::With(arguments) => arguments.as_static(),
            Acknowledgement::Never => None,
        };
        assert_eq!(found, expected, "{ack}");
    }
}

#[test]
fn websockets_reconnect_at_times_of_their_own() {
    let steps = |more: &str| with_steps(&format!("- ws: {{ path: /, reconnect: true{more} }}"));
    for protocol in ["phoenix", "actioncable", "socket.io"] {
        let plan = plan(&steps(&format!(", protocol: {protocol}")));
        let names: Vec<_> = plan.measures.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["connect", "handshake", "reconnect", "rejoin", "steps"]);
    }
    let plain = plan(&steps(""));
    let names: Vec<_> = plain.measures.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["connect", "handshake", "reconnect", "steps"]);
    let Op::WsOpen(open) = &plain.sessions[0].ops[0] else {
        panic!("{:?}", plain.sessions[0].ops);
    };
    let backoff = Backoff {
        pause_ns: 1_000_000_000,
        pause_max_ns: 30_000_000_000,
        jitter: Jitter::Full,
        attempts_max: None,
        send: Vec::new(),
    };
    let pauses = open.reconnect.as_ref().map(|reconnect| &reconnect.pauses);
    assert_eq!(pauses, Some(&Pauses::Backoff(backoff)));
}
