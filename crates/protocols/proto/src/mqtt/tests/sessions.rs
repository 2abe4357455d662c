//! What is sent again when a session continues.

use super::*;
use std::vec;
use std::vec::Vec;

/// A client that keeps its messages, connected by a CONNACK with these properties.
fn keeping(
    version: Version,
    client: Option<Client>,
    present: u8,
    properties: &[u8],
) -> (Client, Vec<u8>) {
    let mut client = client.unwrap_or_else(|| {
        let mut client = Client::new(version, MAX);
        client.keep_messages();
        client
    });
    client.connect(&Connect::default(), &mut Vec::new()).unwrap();
    let mut ack = vec![0x20, 2, present, 0];
    if version == Version::V5 {
        ack[1] = 3 + properties.len() as u8;
        ack.push(properties.len() as u8);
        ack.extend(properties);
    }
    let mut out = Vec::new();
    client.receive(&ack, &mut out).unwrap().unwrap();
    (client, out)
}

#[test]
fn messages_are_sent_again_in_their_order_over_a_session_that_was_kept() {
    let (mut client, out) = keeping(Version::V3, None, 0, &[]);
    assert_eq!(out, []);
    let mut sent = Vec::new();
    for qos in [Qos::ExactlyOnce, Qos::AtLeastOnce, Qos::ExactlyOnce, Qos::AtLeastOnce] {
        client.publish(&message(qos), &mut sent).unwrap();
    }
    let subscribe = Subscribe {
        filters: &[b"a"],
        qos: Qos::AtMostOnce,
        no_local: false,
        retain_handling: 0,
        id: None,
    };
    client.subscribe(&subscribe, &mut Vec::new()).unwrap();
    assert_eq!(client.kept_bytes(), sent.len());
    // The third has reached the server, then the first; the second is done.
    for id in [3, 1] {
        take(&mut client, &[0x50, 2, 0, id]).unwrap();
    }
    take(&mut client, &[0x40, 2, 0, 2]).unwrap();
    assert_eq!(client.kept_bytes(), sent.len() / 4);
    let (client, out) = keeping(Version::V3, Some(client), 1, &[]);
    let again =
        [&[0x3a, 9, 0, 3, b'a', b'/', b'b', 0, 4, b'h', b'i'][..], &[0x62, 2, 0, 3, 0x62, 2, 0, 1]]
            .concat();
    assert_eq!(out, again);
    // As often as it takes; what comes is acknowledged as ever.
    let (mut client, out) = keeping(Version::V3, Some(client), 1, &[]);
    assert_eq!(out, again);
    assert_eq!(take(&mut client, &[0x40, 2, 0, 4]), Ok((answered(4), vec![])));
    assert_eq!(take(&mut client, &[0x70, 2, 0, 3]), Ok((answered(3), vec![])));
    assert_eq!(client.kept_bytes(), 0);
    // Without its session the server knows nothing of it.
    let (mut client, out) = keeping(Version::V3, Some(client), 0, &[]);
    assert_eq!(out, []);
    let unknown = take(&mut client, &[0x70, 2, 0, 1]);
    assert!(matches!(unknown, Err(Error::Protocol(_))), "{unknown:?}");
}

#[test]
fn messages_are_sent_again_as_the_servers_limits_allow() {
    let (mut client, _) = keeping(Version::V5, None, 0, &[]);
    let mut long = message(Qos::AtLeastOnce);
    long.payload = &[7; 20];
    client.publish(&long, &mut Vec::new()).unwrap();
    for _ in 0..3 {
        client.publish(&message(Qos::AtLeastOnce), &mut Vec::new()).unwrap();
    }
    // Receive maximum 2, packets of at most 20 bytes.
    let limits = [0x21, 0, 2, 0x27, 0, 0, 0, 20];
    let (mut client, out) = keeping(Version::V5, Some(client), 1, &limits);
    let again = |id| vec![0x3a, 10, 0, 3, b'a', b'/', b'b', 0, id, 0, b'h', b'i'];
    assert_eq!(out, [again(2), again(3)].concat());
    let refused = client.publish(&message(Qos::AtLeastOnce), &mut Vec::new());
    assert_eq!(refused, Err(Refusal::InFlight(3)));
    assert_eq!(take(&mut client, &[0x40, 2, 0, 3]), Ok((answered(3), again(4))));
    assert_eq!(take(&mut client, &[0x40, 2, 0, 2]), Ok((answered(2), vec![])));
    assert_eq!(take(&mut client, &[0x40, 2, 0, 4]), Ok((answered(4), vec![])));
}

proptest! {
    /// Whatever is acknowledged before a connection ends, the rest is sent again, in its order, and once on each.
    #[test]
    fn what_is_not_acknowledged_is_sent_again(
        version in version(),
        acknowledged in proptest::collection::vec(any::<bool>(), 0..12),
        connections in 1..4_usize,
    ) {
        let (mut client, _) = keeping(version, None, 0, &[]);
        let mut kept = Vec::new();
        for (at, is_acknowledged) in acknowledged.iter().enumerate() {
            let mut sent = Vec::new();
            let payload = [at as u8; 3];
            let own = Publish { payload: &payload, ..message(Qos::AtLeastOnce) };
            let id = client.publish(&own, &mut sent).unwrap();
            if *is_acknowledged {
                take(&mut client, &[0x40, 2, 0, id as u8]).unwrap();
            } else {
                sent[0] |= 8;
                kept.extend(sent);
            }
        }
        for _ in 0..connections {
            let out;
            (client, out) = keeping(version, Some(client), 1, &[]);
            prop_assert_eq!(&out, &kept);
            prop_assert_eq!(client.kept_bytes(), kept.len());
        }
    }
}
