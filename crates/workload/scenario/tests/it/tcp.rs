//! Plain TCP and its framings.

use plan::expr::binary::BytesPart;
use plan::{Endpoint, EndpointId, MeasureKind, Op, Payload, Source};
use proto::frame::{Counts, LengthField, Marks, Width};

use crate::{compile_with, plan, with_steps};

#[test]
fn a_conversation_over_tcp() {
    let plan = plan(
        "
target: tcp://queue.test:5672
sessions:
  s:
    - tcp:
      framing: { length: 4, counts: payload, header: 1 }
    - send:
      bytes: [u8: 1, u16le: 513, text: ab, hex: 0d 0a, u32be: \"${user}\", text: \"${user}!\"]
      reply: { when: { \"u8@0\": 2 }, save: { n: u32be@1 } }
    - close:
    - tcp: tls://queue.test:5673
      framing: { delimiter: \"\\r\\n\" }
      as: second
arrivals: [ { constant: 1/s, for: 1s } ]
",
    );
    let endpoint = |tls, port| Endpoint {
        tls,
        host: "queue.test".to_owned(),
        port,
        base_path: String::new(),
        via: plan::Via::Tcp,
    };
    assert_eq!(plan.endpoints, [endpoint(false, 5672), endpoint(true, 5673)]);
    let ops = &plan.sessions[0].ops;
    let Op::TcpOpen(open) = &ops[0] else { panic!("{:?}", ops[0]) };
    let field =
        LengthField { width: Width::Four, little_endian: false, at: 0, counts: Counts::Payload };
    assert_eq!(open.framing.marks, Marks::Length(field));
    assert_eq!((open.endpoint, open.framing.header), (EndpointId(0), 1));
    assert_eq!(plan.measures[open.measure.index()].kind, MeasureKind::Handshake);
    let Op::Send(send) = &ops[1] else { panic!("{:?}", ops[1]) };
    let Payload::Bytes(bytes) = &send.payload else { panic!("{:?}", send.payload) };
    // What is the same for every user is one part.
    let BytesPart::Fixed(fixed) = &bytes.parts[0] else { panic!("{:?}", bytes.parts[0]) };
    assert_eq!(**fixed, *b"\x01\x01\x02ab\r\n");
    assert!(matches!(bytes.parts[1], BytesPart::Number(..)));
    assert!(matches!(bytes.parts[2], BytesPart::Text(_)));
    assert_eq!(bytes.parts.len(), 3);
    let reply = send.reply.as_ref().unwrap();
    assert!(matches!(reply.when[0].from, Source::Number { at: 0, .. }));
    assert!(matches!(reply.save[0].from, Source::Number { at: 1, .. }));
    let Op::TcpOpen(second) = &ops[3] else { panic!("{:?}", ops[3]) };
    assert_eq!(second.endpoint, EndpointId(1));
    assert!(matches!(&second.framing.marks, Marks::Delimiter(d) if d.bytes() == b"\r\n"));
}

#[test]
fn a_length_may_be_a_varint() {
    let steps = |framing: &str| {
        with_steps(&format!(
            "- tcp: tcp://queue.test:5672\n  framing: {framing}\n- send:\n  bytes: [varint: 300]\n  reply: {{ \
             save: {{ n: varint@1 }} }}"
        ))
    };
    let plan = plan(&steps("{ length: varint, at: 1, header: 1 }"));
    let ops = &plan.sessions[0].ops;
    let Op::TcpOpen(open) = &ops[0] else { panic!("{:?}", ops[0]) };
    assert_eq!((&open.framing.marks, open.framing.header), (&Marks::Varint { at: 1 }, 1));
    let Op::Send(send) = &ops[1] else { panic!("{:?}", ops[1]) };
    let Payload::Bytes(bytes) = &send.payload else { panic!("{:?}", send.payload) };
    assert_eq!(bytes.parts, [BytesPart::Fixed([0xac, 2].as_slice().into())]);
    let (plan, diagnostics) = compile_with(&steps("{ length: varint, endian: big }"), &[]);
    assert!(plan.is_none());
    assert_eq!(diagnostics[0].message, "a varint has neither `endian` nor `counts`");
}

#[test]
fn bytes_inside_a_send_are_warned_of() {
    let codes = |send: &str| {
        let steps = format!("- tcp: tcp://queue.test:5672\n  framing: {{ length: 4 }}\n- {send}");
        let (plan, diagnostics) = compile_with(&with_steps(&steps), &[]);
        assert!(plan.is_some(), "{send}");
        let codes = diagnostics.into_iter().map(|found| found.code.to_string());
        codes.collect::<Vec<_>>()
    };
    assert_eq!(codes("send: { bytes: [u8: 1] }"), ["bytes-as-json"]);
    for meant in [
        "send: { bytes: [1, 2] }",
        "send: { bytes: [u8: 1], op: write }",
        "send:\n  bytes: [u8: 1]",
    ] {
        assert!(codes(meant).is_empty(), "{meant}");
    }
}
