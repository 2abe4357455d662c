//! Packets and handshakes: bytes worked out from the standards, round trips, and servers that break the rules.

mod filters;
mod sessions;

use proptest::prelude::*;
use std::borrow::ToOwned;
use std::format;
use std::string::ToString;
use std::vec;
use std::vec::Vec;

use super::*;
use crate::mqtt::packet::{self, Packet, kind};

const MAX: usize = 1 << 16;

/// A client that was accepted by these bytes of a CONNACK.
fn connected_by(version: Version, ack: &[u8]) -> Client {
    let mut client = Client::new(version, MAX);
    let connect = Connect { clean: true, ..Connect::default() };
    client.connect(&connect, &mut Vec::new()).unwrap();
    let (taken, event) = client.receive(ack, &mut Vec::new()).unwrap().unwrap();
    assert_eq!(taken, ack.len());
    assert!(matches!(event, Event::Connected { .. }), "{event:?}");
    client
}

fn accept(version: Version) -> &'static [u8] {
    match version {
        Version::V3 => &[0x20, 2, 0, 0],
        Version::V5 => &[0x20, 3, 0, 0, 0],
    }
}

fn connected(version: Version) -> Client {
    connected_by(version, accept(version))
}

fn message(qos: Qos) -> Publish<'static> {
    Publish {
        topic: b"a/b",
        payload: b"hi",
        qos,
        retain: false,
        properties: &[],
        about: MessageProperties::default(),
    }
}

/// What a client makes of one packet, and its answer.
fn take<'a>(client: &mut Client, bytes: &'a [u8]) -> Result<(Event<'a>, Vec<u8>), Error> {
    let mut out = Vec::new();
    let received = client.receive(bytes, &mut out)?;
    let (taken, event) = received.expect("the packet is complete");
    assert_eq!(taken, bytes.len());
    Ok((event, out))
}

fn answered(id: u16) -> Event<'static> {
    Event::Answered { id, reason: 0, codes: &[], text: b"" }
}

#[test]
fn a_connect_is_written_as_the_standards_have_it() {
    let connect = Connect {
        client_id: b"me",
        user: Some(b"u"),
        password: Some(b"p"),
        keep_alive_s: 10,
        clean: true,
        session_expiry_s: 0,
        will: Some(Will {
            topic: b"w",
            payload: b"x",
            qos: Qos::AtLeastOnce,
            retain: true,
            delay_s: 5,
        }),
        topic_aliases: 0,
        authentication: None,
    };
    let mut out = Vec::new();
    Client::new(Version::V3, MAX).connect(&connect, &mut out).unwrap();
    let flags = 0b1110_1110;
    let v3: &[u8] = &[
        0x10, 26, 0, 4, b'M', b'Q', b'T', b'T', 4, flags, 0, 10, 0, 2, b'm', b'e', 0, 1, b'w', 0,
        1, b'x', 0, 1, b'u', 0, 1, b'p',
    ];
    assert_eq!(out, v3);
    out.clear();
    let with_expiry = Connect { session_expiry_s: 7, ..connect };
    Client::new(Version::V5, 0x100).connect(&with_expiry, &mut out).unwrap();
    let v5: &[u8] = &[
        0x10, 46, 0, 4, b'M', b'Q', b'T', b'T', 5, flags, 0, 10, 13, 0x11, 0, 0, 0, 7, 0x21, 4, 0,
        0x27, 0, 0, 1, 5, 0, 2, b'm', b'e', 5, 0x18, 0, 0, 0, 5, 0, 1, b'w', 0, 1, b'x', 0, 1,
        b'u', 0, 1, b'p',
    ];
    assert_eq!(out, v5);
}

#[test]
fn subscriptions_messages_and_ends_are_written_as_the_standards_have_it() {
    let subscribe = Subscribe {
        filters: &[b"a/#"],
        qos: Qos::ExactlyOnce,
        no_local: true,
        retain_handling: 2,
        id: None,
    };
    let properties: &[(&[u8], &[u8])] = &[(b"k", b"v")];
    let mut publish = message(Qos::AtLeastOnce);
    (publish.retain, publish.properties) = (true, properties);
    let written: [&[u8]; 2] = [
        &[
            0x82, 8, 0, 1, 0, 3, b'a', b'/', b'#', 2, 0xa2, 7, 0, 2, 0, 3, b'a', b'/', b'#', 0x33,
            9, 0, 3, b'a', b'/', b'b', 0, 3, b'h', b'i', 0xc0, 0, 0xe0, 0,
        ],
        &[
            0x82, 9, 0, 1, 0, 0, 3, b'a', b'/', b'#', 0x26, 0xa2, 8, 0, 2, 0, 0, 3, b'a', b'/',
            b'#', 0x33, 17, 0, 3, b'a', b'/', b'b', 0, 3, 7, 0x26, 0, 1, b'k', 0, 1, b'v', b'h',
            b'i', 0xc0, 0, 0xe0, 1, 4,
        ],
    ];
    for (version, expected) in [Version::V3, Version::V5].into_iter().zip(written) {
        let mut client = connected(version);
        let mut out = Vec::new();
        assert_eq!(client.subscribe(&subscribe, &mut out), Ok(1));
        assert_eq!(client.unsubscribe(&[b"a/#"], &mut out), Ok(2));
        assert_eq!(client.publish(&publish, &mut out), Ok(3));
        client.ping(&mut out);
        client.disconnect(4, &mut out);
        assert_eq!(out, expected, "{version:?}");
    }
}

/// §3.8.2.1.2 and §3.3.2.3.8: a message comes with the identifier of each subscription that it matches.
#[test]
fn subscriptions_have_identifiers() {
    let subscribe = Subscribe {
        filters: &[b"a", b"b"],
        qos: Qos::AtMostOnce,
        no_local: false,
        retain_handling: 0,
        id: Some(300),
    };
    let mut client = connected(Version::V5);
    let mut out = Vec::new();
    assert_eq!(client.subscribe(&subscribe, &mut out), Ok(1));
    let expected = [0x82, 14, 0, 1, 3, 0x0b, 0xac, 0x02, 0, 1, b'a', 0, 0, 1, b'b', 0];
    assert_eq!(out, expected);
    let properties = [0x01, 1, 0x0b, 7, 0x26, 0, 1, b'k', 0, 1, b'v', 0x0b, 0xac, 0x02];
    assert_eq!(subscriptions(&properties).collect::<Vec<_>>(), [7, 300]);
    assert_eq!(subscriptions(&[0x26, 0]).count(), 0);
    // A server that knows none: the packet is not sent.
    let mut client = connected_by(Version::V5, &[0x20, 5, 0, 0, 2, 0x29, 0]);
    assert_eq!(client.subscribe(&subscribe, &mut Vec::new()), Err(Refusal::SubscriptionIds));
}

#[test]
fn what_is_sent_is_acknowledged_once() {
    for version in [Version::V3, Version::V5] {
        let mut client = connected(version);
        let mut out = Vec::new();
        assert_eq!(client.publish(&message(Qos::AtMostOnce), &mut out), Ok(0));
        assert_eq!(client.publish(&message(Qos::AtLeastOnce), &mut out), Ok(1));
        assert_eq!(client.publish(&message(Qos::ExactlyOnce), &mut out), Ok(2));
        assert_eq!(take(&mut client, &[0x40, 2, 0, 1]), Ok((answered(1), vec![])));
        // A PUBREC is answered by a PUBREL, also a second time; then the PUBCOMP ends it.
        for _ in 0..2 {
            let release = vec![0x62, 2, 0, 2];
            assert_eq!(take(&mut client, &[0x50, 2, 0, 2]), Ok((Event::Handled, release)));
        }
        assert_eq!(take(&mut client, &[0x70, 2, 0, 2]), Ok((answered(2), vec![])));
        for again in [[0x40, 2, 0, 1], [0x70, 2, 0, 2]] {
            assert!(matches!(take(&mut client, &again), Err(Error::Protocol(_))));
        }
    }
}

#[test]
fn a_message_that_the_server_turns_down_has_its_reason() {
    let mut client = connected(Version::V5);
    let mut out = Vec::new();
    client.publish(&message(Qos::ExactlyOnce), &mut out).unwrap();
    client.publish(&message(Qos::AtLeastOnce), &mut out).unwrap();
    // Property 0x1f: a reason as text.
    let refused = [0x50, 8, 0, 1, 0x97, 4, 0x1f, 0, 1, b'n'];
    let event = Event::Answered { id: 1, reason: 0x97, codes: &[], text: b"n" };
    assert_eq!(take(&mut client, &refused), Ok((event, vec![])));
    let nobody = Event::Answered { id: 2, reason: 0x10, codes: &[], text: b"" };
    assert_eq!(take(&mut client, &[0x40, 3, 0, 2, 0x10]), Ok((nobody, vec![])));
    assert_eq!(reason_text(Version::V5, 0x97), "quota exceeded");
}

#[test]
fn a_message_of_qos_2_arrives_once_until_it_is_released() {
    for (version, unknown) in
        [(Version::V3, vec![0x70, 2, 0, 9]), (Version::V5, vec![0x70, 3, 0, 9, 0x92])]
    {
        let mut client = connected(version);
        let mut publish = vec![0x34, 7, 0, 1, b'a', 0, 9, b'h', b'i'];
        if version == Version::V5 {
            (publish[1], publish[7]) = (8, 0);
            publish.splice(8.., *b"hi");
        }
        for _ in 0..2 {
            let (event, out) = take(&mut client, &publish).unwrap();
            assert!(matches!(event, Event::Message(Message { payload: b"hi", .. })));
            assert_eq!(out, [0x50, 2, 0, 9]);
            let repeated = take(&mut client, &publish);
            assert_eq!(repeated, Ok((Event::Handled, vec![0x50, 2, 0, 9])));
            let released = take(&mut client, &[0x62, 2, 0, 9]);
            assert_eq!(released, Ok((Event::Handled, vec![0x70, 2, 0, 9])));
        }
        // A release of what is not there.
        assert_eq!(take(&mut client, &[0x62, 2, 0, 9]), Ok((Event::Handled, unknown)));
    }
}

#[test]
fn a_session_that_continues_releases_again() {
    let mut client = Client::new(Version::V3, MAX);
    let connect = Connect::default();
    for present in [0, 1, 0] {
        let mut out = Vec::new();
        client.connect(&connect, &mut out).unwrap();
        let ack = [0x20, 2, present, 0];
        let (event, out) = take(&mut client, &ack).unwrap();
        let session_present = present == 1;
        assert_eq!(event, Event::Connected { session_present, keep_alive_s: None });
        // The message of the first connection had a PUBREC; that of the second is forgotten.
        let expected: &[u8] = if session_present { &[0x62, 2, 0, 1] } else { &[] };
        assert_eq!(out, expected);
        let id = client.publish(&message(Qos::ExactlyOnce), &mut Vec::new()).unwrap();
        if !session_present {
            take(&mut client, &[0x50, 2, 0, id as u8]).unwrap();
        }
    }
}

/// What the server says of itself in version 5 is kept to.
#[test]
fn the_servers_limits_hold() {
    // Receive maximum 2, QoS at most 1, no retained messages, packets of at most 20 bytes, keep alive 7 s.
    let ack = [0x20, 18, 0, 0, 15, 0x21, 0, 2, 0x24, 1, 0x25, 0, 0x27, 0, 0, 0, 20, 0x13, 0, 7];
    let mut client = connected_by(Version::V5, &ack);
    let mut out = Vec::new();
    let refused = client.publish(&message(Qos::ExactlyOnce), &mut out);
    assert_eq!(refused, Err(Refusal::Qos(1)));
    let mut retained = message(Qos::AtMostOnce);
    retained.retain = true;
    assert_eq!(client.publish(&retained, &mut out), Err(Refusal::Retain));
    let mut long = message(Qos::AtMostOnce);
    long.payload = &[0; 13];
    let refused = client.publish(&long, &mut out);
    assert_eq!(refused, Err(Refusal::TooLarge { bytes: 21, max: 20 }));
    assert_eq!(out, []);
    for id in 1..=2 {
        assert_eq!(client.publish(&message(Qos::AtLeastOnce), &mut out), Ok(id));
    }
    let refused = client.publish(&message(Qos::AtLeastOnce), &mut out);
    assert_eq!(refused, Err(Refusal::InFlight(2)));
    // Subscriptions do not count.
    assert_eq!(client.unsubscribe(&[b"a"], &mut out), Ok(3));
    let mut wild = message(Qos::AtMostOnce);
    wild.topic = b"a/+";
    let refused = client.publish(&wild, &mut out);
    assert_eq!(refused, Err(Refusal::Topic(TopicError::Wildcard)));
}

#[test]
fn identifiers_in_flight_are_not_used_again() {
    let mut client = connected(Version::V3);
    let mut out = Vec::new();
    assert_eq!(client.publish(&message(Qos::AtLeastOnce), &mut out), Ok(1));
    for id in (2..=u16::MAX).chain(2..=3) {
        out.clear();
        assert_eq!(client.publish(&message(Qos::AtLeastOnce), &mut out), Ok(id));
        let [high, low] = id.to_be_bytes();
        take(&mut client, &[0x40, 2, high, low]).unwrap();
    }
    for _ in 1..IN_FLIGHT_MAX {
        client.publish(&message(Qos::AtLeastOnce), &mut out).unwrap();
    }
    let refused = client.publish(&message(Qos::AtLeastOnce), &mut out);
    assert_eq!(refused, Err(Refusal::InFlight(IN_FLIGHT_MAX)));
}

/// A packet from a server that breaks a rule, and what is said of it.
const BROKEN: &[(Version, &[u8], &str)] = &[
    (
        Version::V3,
        &[0x30, 0xff, 0xff, 0xff, 0xff],
        "a malformed PUBLISH: a length has more than four bytes",
    ),
    (Version::V3, &[0x30, 0x80, 0x00], "a malformed PUBLISH: a length is not in its shortest form"),
    (Version::V3, &[0x30, 0x81, 0x80, 0x04], "a packet of 65537 bytes; at most 65536 are read"),
    (Version::V3, &[0x36, 5, 0, 1, b'a', 0, 1], "a malformed PUBLISH: its QoS is 3"),
    (
        Version::V3,
        &[0x38, 3, 0, 1, b'a'],
        "a malformed PUBLISH: a message of QoS 0 is marked as repeated",
    ),
    (Version::V3, &[0x32, 5, 0, 1, b'a', 0, 0], "a malformed PUBLISH: a packet identifier is 0"),
    (Version::V3, &[0x32, 4, 0, 1, b'a', 0], "a malformed PUBLISH: it ends too early"),
    (Version::V3, &[0x30, 3, 0, 1, b'#'], "a malformed PUBLISH: its topic has a wildcard"),
    (Version::V3, &[0x30, 3, 0, 1, 0xff], "a malformed PUBLISH: a text is not UTF-8"),
    (Version::V3, &[0x30, 3, 0, 1, 0], "a malformed PUBLISH: a text has U+0000"),
    (Version::V3, &[0x30, 2, 0, 0], "a malformed PUBLISH: its topic is empty"),
    (Version::V3, &[0x40, 2, 0, 7], "a PUBACK for packet 7, which awaits none"),
    (Version::V3, &[0x40, 2, 0, 1], "a PUBACK for packet 1, which awaits none"),
    (Version::V3, &[0x50, 2, 0, 1], "a PUBREC for packet 1, which awaits none"),
    (Version::V3, &[0x41, 2, 0, 1], "a malformed PUBACK: its flags are reserved"),
    (Version::V3, &[0x60, 2, 0, 1], "a malformed PUBREL: its flags are reserved"),
    (Version::V3, &[0x40, 3, 0, 1, 0], "a malformed PUBACK: it is longer than what it contains"),
    (
        Version::V3,
        &[0x90, 2, 0, 1],
        "a malformed SUBACK: it has another number of codes than there were filters",
    ),
    (
        Version::V3,
        &[0x90, 4, 0, 1, 0, 0],
        "a malformed SUBACK: it has another number of codes than there were filters",
    ),
    (Version::V3, &[0x90, 3, 0, 1, 3], "a malformed SUBACK: its reason is unknown"),
    (Version::V3, &[0x20, 2, 0, 0], "a second CONNACK"),
    (Version::V3, &[0x10, 0], "a CONNECT, which servers do not send"),
    (Version::V3, &[0x00, 0], "a packet of the reserved type 0"),
    (Version::V3, &[0xe0, 0], "a DISCONNECT, which servers do not send"),
    (Version::V3, &[0xf0, 0], "an AUTH, although the client has not begun to authenticate"),
    (Version::V5, &[0xf0, 0], "an AUTH, although the client has not begun to authenticate"),
    (Version::V5, &[0xd0, 1, 0], "a malformed PINGRESP: it is longer than what it contains"),
    (Version::V5, &[0x30, 5, 0, 1, b'a', 1, 0x7f], "a malformed PUBLISH: a property is unknown"),
    (
        Version::V5,
        &[0x30, 6, 0, 1, b'a', 2, 0x24, 1],
        "a malformed PUBLISH: a property belongs to other packets",
    ),
    (
        Version::V5,
        &[0x30, 8, 0, 1, b'a', 4, 0x01, 1, 0x01, 1],
        "a malformed PUBLISH: a property is there twice",
    ),
    (
        Version::V5,
        &[0x30, 6, 0, 1, b'a', 2, 0x01, 2],
        "a malformed PUBLISH: a property is neither 0 nor 1",
    ),
    (Version::V5, &[0x30, 6, 0, 1, b'a', 2, 0x0b, 0], "a malformed PUBLISH: a property is 0"),
    (Version::V5, &[0x30, 5, 0, 1, b'a', 9, 0x01], "a malformed PUBLISH: it ends too early"),
    (Version::V5, &[0x30, 7, 0, 1, b'a', 3, 0x23, 0, 1], "a topic alias 1; the client allows none"),
    (Version::V5, &[0xe0, 1, 0x01], "a malformed DISCONNECT: its reason is unknown"),
    (
        Version::V5,
        &[0xb0, 3, 0, 1, 0],
        "a malformed UNSUBACK: it has another number of codes than there were filters",
    ),
];

#[test]
fn servers_that_break_the_rules_are_found_out() {
    for (version, bytes, expected) in BROKEN {
        let mut client = connected(*version);
        let subscribe = Subscribe {
            filters: &[b"a"],
            qos: Qos::AtMostOnce,
            no_local: false,
            retain_handling: 0,
            id: None,
        };
        assert_eq!(client.subscribe(&subscribe, &mut Vec::new()), Ok(1));
        let found = client.receive(bytes, &mut Vec::new());
        let found = found.map(drop).map_err(|error| error.to_string());
        assert_eq!(found, Err((*expected).to_owned()), "{version:?} {bytes:x?}");
    }
}

#[test]
fn an_answer_to_a_connect_is_checked() {
    for (version, bytes, expected) in [
        (Version::V3, &[0x20, 2, 2, 0][..], "a malformed CONNACK: its flags are reserved"),
        (Version::V3, &[0x20, 2, 0, 6], "a malformed CONNACK: its code is reserved"),
        (
            Version::V3,
            &[0x20, 2, 1, 5],
            "a malformed CONNACK: it has a session although it refuses",
        ),
        (Version::V3, &[0x20, 2, 1, 0], "a session of before, although a clean one was requested"),
        (Version::V5, &[0x20, 3, 0, 5, 0], "a malformed CONNACK: its reason is unknown"),
        (Version::V5, &[0x20, 6, 0, 0, 3, 0x21, 0, 0], "a malformed CONNACK: a property is 0"),
        (Version::V3, &[0xd0, 0], "a packet before the CONNACK"),
    ] {
        let mut client = Client::new(version, MAX);
        let connect = Connect { clean: true, ..Connect::default() };
        client.connect(&connect, &mut Vec::new()).unwrap();
        let found = client.receive(bytes, &mut Vec::new()).map(drop);
        assert_eq!(found.map_err(|error| error.to_string()), Err(expected.to_owned()));
    }
    let mut client = Client::new(Version::V3, MAX);
    client.connect(&Connect::default(), &mut Vec::new()).unwrap();
    let refused = Event::Refused { reason: 5, text: b"" };
    assert_eq!(take(&mut client, &[0x20, 2, 0, 5]), Ok((refused, vec![])));
    assert!(!client.is_connected());
}

#[test]
fn a_server_of_version_5_releases_what_it_sends() {
    let mut client = connected(Version::V5);
    for id in 1..=RECEIVE_MAX + 1 {
        let [high, low] = id.to_be_bytes();
        let bytes = [0x34, 6, 0, 1, b'a', high, low, 0];
        let found = client.receive(&bytes, &mut Vec::new());
        let expected = (id > RECEIVE_MAX).then_some(Error::ReceiveMaximum);
        assert_eq!(found.err(), expected);
    }
}

#[test]
fn user_properties_are_found_by_name() {
    let bytes =
        [0x30, 19, 0, 1, b'a', 15, 0x01, 1, 0x26, 0, 1, b'k', 0, 1, b'v', 0x26, 0, 0, 0, 1, b'w'];
    let mut client = connected(Version::V5);
    let Ok((Event::Message(message), _)) = take(&mut client, &bytes) else {
        panic!("no message");
    };
    assert_eq!(user_property(message.properties, b"k"), Some(&b"v"[..]));
    assert_eq!(user_property(message.properties, b""), Some(&b"w"[..]));
    assert_eq!(user_property(message.properties, b"x"), None);
}

/// The properties in the order of their numbers, and bytes worked out from §3.3.2.3.
#[test]
fn properties_of_messages_are_written_and_read() {
    let about = MessageProperties {
        is_text: true,
        expiry_s: Some(300),
        content_type: Some(b"t/p"),
        response_topic: Some(b"r"),
        correlation: Some(&[0, 0xff]),
    };
    let publish = Publish { about, ..message(Qos::AtMostOnce) };
    let mut out = Vec::new();
    let mut client = connected(Version::V5);
    client.publish(&publish, &mut out).unwrap();
    let expected: &[u8] = &[
        0x30, 30, 0, 3, b'a', b'/', b'b', 22, 0x01, 1, 0x02, 0, 0, 1, 44, 0x03, 0, 3, b't', b'/',
        b'p', 0x08, 0, 1, b'r', 0x09, 0, 2, 0, 0xff, b'h', b'i',
    ];
    assert_eq!(out, expected);
    let Ok((Event::Message(found), _)) = take(&mut client, expected) else {
        panic!("no message");
    };
    assert_eq!(message_properties(found.properties), about);
    assert_eq!(message_properties(&[]), MessageProperties::default());
    let wrong = MessageProperties { response_topic: Some(b"a/#"), ..about };
    let wrong = Publish { about: wrong, ..publish };
    assert!(matches!(client.publish(&wrong, &mut out), Err(Refusal::Topic(_))));
}

/// A client that allows two aliases, and a server that takes one.
fn with_aliases() -> Client {
    let mut client = Client::new(Version::V5, MAX);
    let connect = Connect { clean: true, topic_aliases: 2, ..Connect::default() };
    let mut out = Vec::new();
    client.connect(&connect, &mut out).unwrap();
    assert!(out.windows(3).any(|window| window == [0x22, 0, 2]), "{out:x?}");
    client.receive(&[0x20, 6, 0, 0, 3, 0x22, 0, 1], &mut Vec::new()).unwrap();
    client
}

#[test]
fn a_topic_is_named_once_and_by_its_number_then() {
    let mut client = with_aliases();
    let mut sent = |topic: &'static [u8], qos| {
        let mut out = Vec::new();
        client.publish(&Publish { topic, payload: b"", ..message(qos) }, &mut out).unwrap();
        out
    };
    let alias = [0x23, 0, 1];
    let first = [&[0x30, 7, 0, 1, b'a', 3][..], &alias].concat();
    assert_eq!(sent(b"a", Qos::AtMostOnce), first);
    let known = [&[0x30, 6, 0, 0, 3][..], &alias].concat();
    assert_eq!(sent(b"a", Qos::AtMostOnce), known);
    let known = [&[0x32, 8, 0, 0, 0, 1, 3][..], &alias].concat();
    assert_eq!(sent(b"a", Qos::AtLeastOnce), known);
    // The server takes no more.
    assert_eq!(sent(b"b", Qos::AtMostOnce), [0x30, 4, 0, 1, b'b', 0]);
}

#[test]
fn a_number_means_nothing_on_another_connection() {
    let mut client = with_aliases();
    client.keep_messages();
    let mut out = Vec::new();
    client.publish(&message(Qos::AtMostOnce), &mut out).unwrap();
    out.clear();
    // It may be sent again over another connection.
    client.publish(&message(Qos::AtLeastOnce), &mut out).unwrap();
    assert!(out.windows(3).any(|window| window == b"a/b"), "{out:x?}");
    let connect = Connect { clean: true, topic_aliases: 2, ..Connect::default() };
    client.connect(&connect, &mut Vec::new()).unwrap();
    client.receive(&[0x20, 6, 0, 0, 3, 0x22, 0, 1], &mut Vec::new()).unwrap();
    out.clear();
    client.publish(&message(Qos::AtMostOnce), &mut out).unwrap();
    assert!(out.windows(3).any(|window| window == b"a/b"), "{out:x?}");
}

#[test]
fn the_server_may_name_topics_by_numbers() {
    let mut client = with_aliases();
    let named = |alias: u8| [0x30, 7, 0, 1, b'a' + alias, 3, 0x23, 0, alias];
    for alias in [1, 2] {
        take(&mut client, &named(alias)).unwrap();
    }
    let Ok((Event::Message(found), _)) = take(&mut client, &[0x30, 6, 0, 0, 3, 0x23, 0, 2]) else {
        panic!("no message");
    };
    assert_eq!((found.topic, found.alias), (&b""[..], Some(2)));
    assert_eq!(client.topic(2), Some(&b"c"[..]));
    // A number may be given again.
    take(&mut client, &[0x30, 7, 0, 1, b'z', 3, 0x23, 0, 2]).unwrap();
    assert_eq!(client.topic(2), Some(&b"z"[..]));
    for (alias, reason) in [(0, 0x94), (3, 0x94)] {
        let error = client.receive(&named(alias), &mut Vec::new()).unwrap_err();
        assert_eq!(error.reason(), reason, "{error}");
    }
    let mut client = with_aliases();
    let error = client.receive(&[0x30, 6, 0, 0, 3, 0x23, 0, 1], &mut Vec::new()).unwrap_err();
    assert_eq!((error.reason(), error.to_string().contains("names no topic yet")), (0x82, true));
}

/// The example of §4.12 in outline: a CONNECT with a method, an AUTH from each side, and a CONNACK.
#[test]
fn an_authentication_by_a_method_has_further_parts() {
    let mut client = Client::new(Version::V5, MAX);
    let first = Authentication { method: b"M", data: b"1" };
    let connect = Connect { clean: true, authentication: Some(first), ..Connect::default() };
    let mut out = Vec::new();
    client.connect(&connect, &mut out).unwrap();
    let parts = [0x15, 0, 1, b'M', 0x16, 0, 1, b'1'];
    assert!(out.windows(parts.len()).any(|window| window == parts), "{out:x?}");
    let challenge = [0xf0, 10, 0x18, 8, 0x15, 0, 1, b'M', 0x16, 0, 1, b'2'];
    assert_eq!(take(&mut client, &challenge), Ok((Event::Challenge { data: b"2" }, vec![])));
    out.clear();
    client.answer(&Authentication { method: b"M", data: b"3" }, &mut out).unwrap();
    assert_eq!(out, [0xf0, 10, 0x18, 8, 0x15, 0, 1, b'M', 0x16, 0, 1, b'3']);
    take(&mut client, accept(Version::V5)).unwrap();
    assert!(client.is_connected());
    let later = client.receive(&challenge, &mut Vec::new()).unwrap_err();
    assert!(later.to_string().starts_with("an AUTH"), "{later}");
}

fn version() -> impl Strategy<Value = Version> {
    prop_oneof![Just(Version::V3), Just(Version::V5)]
}

proptest! {
    /// What one client writes, another reads: messages have one form in both directions.
    #[test]
    fn messages_are_read_as_they_are_written(
        version in version(),
        topic in "[a-zé/$]{1,40}",
        payload in proptest::collection::vec(any::<u8>(), 0..300),
        qos in 0..3_u8,
        retain in any::<bool>(),
        properties in proptest::collection::vec(("[a-z]{0,5}", "[a-zé]{0,9}"), 0..4),
    ) {
        let pairs: Vec<_> = properties.iter().map(|(k, v)| (k.as_bytes(), v.as_bytes())).collect();
        let publish = Publish {
            topic: topic.as_bytes(),
            payload: &payload,
            qos: Qos::new(qos).unwrap(),
            retain,
            properties: if version == Version::V5 { &pairs } else { &[] },
            about: MessageProperties::default(),
        };
        let mut wire = Vec::new();
        let id = connected(version).publish(&publish, &mut wire).unwrap();
        for end in 0..wire.len() {
            prop_assert!(packet::parse(version, &wire[..end], MAX).unwrap().is_none());
        }
        let (taken, found) = packet::parse(version, &wire, MAX).unwrap().unwrap();
        let Packet::Publish(found) = found else { panic!("{found:?}") };
        prop_assert_eq!(taken, wire.len());
        prop_assert_eq!((found.topic, found.payload), (topic.as_bytes(), &payload[..]));
        prop_assert_eq!((found.qos, found.retain, found.id), (publish.qos, retain, id));
        for (name, _) in publish.properties {
            let first = pairs.iter().find(|(own, _)| own == name).map(|(_, value)| *value);
            prop_assert_eq!(user_property(found.properties, name), first);
        }
    }

    #[test]
    fn acknowledgements_are_read_as_they_are_written(
        version in version(),
        id in 1..=u16::MAX,
        kind in kind::PUBACK..=kind::PUBCOMP,
        failed in any::<bool>(),
    ) {
        let reason = if failed { 0x80 } else { 0 };
        let mut wire = Vec::new();
        outgoing::ack(version, kind, id, reason, &mut wire);
        let (taken, found) = packet::parse(version, &wire, MAX).unwrap().unwrap();
        prop_assert_eq!(taken, wire.len());
        let (found_kind, ack) = match found {
            Packet::PubAck(ack) => (kind::PUBACK, ack),
            Packet::PubRec(ack) => (kind::PUBREC, ack),
            Packet::PubRel(ack) => (kind::PUBREL, ack),
            Packet::PubComp(ack) => (kind::PUBCOMP, ack),
            other => panic!("{other:?}"),
        };
        prop_assert_eq!((found_kind, ack.id), (kind, id));
        prop_assert_eq!(ack.code, if version == Version::V5 { reason } else { 0 });
    }

    #[test]
    fn lengths_are_read_as_they_are_written(value in 0..=BYTES_MAX) {
        let mut out = Vec::new();
        wire::push_length(value, &mut out);
        prop_assert!(out.len() <= 4);
        prop_assert_eq!(wire::length(&out), Ok(Some((value, &[][..]))));
        prop_assert_eq!(wire::length(&out[..out.len() - 1]), Ok(None));
    }

    /// A filter made of a name's own levels, some of them wildcards, matches it.
    #[test]
    fn wildcards_match_any_level(
        levels in proptest::collection::vec("[a-z]{0,3}", 1..6),
        wild in proptest::collection::vec(any::<bool>(), 6),
        cut in 0..6_usize,
    ) {
        let name = levels.join("/");
        prop_assume!(!name.is_empty());
        let mut filter: Vec<&str> = levels.iter().zip(&wild).map(|(level, wild)| if *wild { "+" } else { level }).collect();
        if cut < filter.len() {
            filter.truncate(cut);
            filter.push("#");
        }
        let filter = filter.join("/");
        prop_assume!(check_filter(filter.as_bytes()).is_ok());
        prop_assert!(matches(filter.as_bytes(), name.as_bytes()), "{filter} {name}");
        let longer = format!("{name}/x/y");
        let ends_open = filter.ends_with('#');
        prop_assert_eq!(matches(filter.as_bytes(), longer.as_bytes()), ends_open);
    }
}
