//! Fuzzing what an MQTT server sends: any bytes. Nothing panics, and how they were cut changes neither what a client makes of
//! them nor what it answers.

use proto::mqtt::{
    Client, Connect, Event, MessageProperties, Publish, Qos, Subscribe, Version, check_filter,
    matches, message_properties, user_property,
};

/// Small, so that inputs reach it.
const BYTES_MAX: usize = 1 << 10;

/// The first byte says which version is spoken, whether the client was accepted before, and how large the pieces are.
pub(crate) fn packets(data: &[u8]) {
    let Some((&first, wire)) = data.split_first() else {
        return;
    };
    let at_once = receive(first, wire, wire.len().max(1));
    assert_eq!(at_once, receive(first, wire, usize::from(first % 32) + 1));
}

/// What a client found in pieces of this length, and what it answered.
fn receive(first: u8, wire: &[u8], piece_bytes: usize) -> (Vec<String>, Vec<u8>) {
    let mut client = begun(first);
    let mut out = Vec::new();
    let mut found = Vec::new();
    let mut inbox = Vec::new();
    for piece in wire.chunks(piece_bytes) {
        inbox.extend_from_slice(piece);
        loop {
            match client.receive(&inbox, &mut out) {
                Ok(None) => break,
                Ok(Some((taken, event))) => {
                    assert!((2..=inbox.len()).contains(&taken));
                    found.push(format!("{event:?}"));
                    look_into(&event);
                    inbox.drain(..taken);
                }
                Err(error) => {
                    assert!(error.reason() >= 0x80);
                    found.push(error.to_string());
                    return (found, out);
                }
            }
        }
        assert!(inbox.len() <= BYTES_MAX + 5);
    }
    (found, out)
}

fn look_into(event: &Event<'_>) {
    if let Event::Message(message) = event {
        assert!(message.alias.is_some() || check_filter(message.topic).is_ok());
        assert!(message.topic.is_empty() || matches(message.topic, message.topic));
        let _ = user_property(message.properties, b"a");
        let _ = message_properties(message.properties);
    }
}

/// A client with a packet of each kind in flight, if it was accepted. It may keep its messages, and have connected again.
fn begun(first: u8) -> Client {
    let (version, accept) = match first & 0x80 {
        0 => (Version::V3, &b"\x20\x02\0\0"[..]),
        _ => (Version::V5, &b"\x20\x03\0\0\0"[..]),
    };
    let mut client = Client::new(version, BYTES_MAX);
    let mut out = Vec::new();
    if first & 0x20 != 0 {
        client.keep_messages();
    }
    let connect = Connect {
        client_id: b"me",
        clean: first & 0x20 == 0,
        topic_aliases: u16::from(first & 0x10) >> 3,
        ..Connect::default()
    };
    client.connect(&connect, &mut out).expect("it is right");
    if first & 0x40 == 0 {
        return client;
    }
    let accepted = client.receive(accept, &mut out);
    accepted.expect("it accepts");
    for qos in [Qos::AtLeastOnce, Qos::ExactlyOnce] {
        let publish = Publish {
            topic: b"a",
            payload: b"b",
            qos,
            retain: false,
            properties: &[],
            about: MessageProperties::default(),
        };
        client.publish(&publish, &mut out).expect("it is right");
    }
    let subscribe = Subscribe {
        filters: &[b"a/#"],
        qos: Qos::ExactlyOnce,
        no_local: false,
        retain_handling: 0,
        id: None,
    };
    client.subscribe(&subscribe, &mut out).expect("it is right");
    client.unsubscribe(&[b"a/#"], &mut out).expect("it is right");
    if first & 0x30 == 0x30 {
        // The connection was lost: what is kept is sent again if the server has the session.
        client.connect(&connect, &mut out).expect("it is right");
    }
    client
}
