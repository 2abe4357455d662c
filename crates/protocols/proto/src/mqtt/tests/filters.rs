//! Several filters in one packet, and a reason for each.

use super::*;
use std::string::String;
use std::vec;
use std::vec::Vec;

#[test]
fn filters_share_a_packet_and_have_a_reason_each() {
    let filters: &[&[u8]] = &[b"a/+", b"#"];
    let subscribe =
        Subscribe { filters, qos: Qos::AtLeastOnce, no_local: false, retain_handling: 0, id: None };
    let mut client = connected(Version::V5);
    let mut out = Vec::new();
    assert_eq!(client.subscribe(&subscribe, &mut out), Ok(1));
    assert_eq!(client.unsubscribe(filters, &mut out), Ok(2));
    let written: &[u8] = &[
        0x82, 13, 0, 1, 0, 0, 3, b'a', b'/', b'+', 1, 0, 1, b'#', 1, 0xa2, 11, 0, 2, 0, 0, 3, b'a',
        b'/', b'+', 0, 1, b'#',
    ];
    assert_eq!(out, written);
    // The second is refused.
    let event = Event::Answered { id: 1, reason: 0x87, codes: &[1, 0x87], text: b"" };
    assert_eq!(take(&mut client, &[0x90, 5, 0, 1, 0, 1, 0x87]), Ok((event, vec![])));
    let ended = Event::Answered { id: 2, reason: 0, codes: &[0, 0x11], text: b"" };
    assert_eq!(take(&mut client, &[0xb0, 5, 0, 2, 0, 0, 0x11]), Ok((ended, vec![])));
    // A packet has at least one filter, and not any number of them.
    assert_eq!(client.unsubscribe(&[], &mut out), Err(Refusal::Filters(0)));
    let many = vec![&b"a"[..]; FILTERS_MAX + 1];
    assert_eq!(client.unsubscribe(&many, &mut out), Err(Refusal::Filters(FILTERS_MAX + 1)));
    // The answer to an UNSUBSCRIBE of 3.1.1 has no codes.
    let mut client = connected(Version::V3);
    assert_eq!(client.unsubscribe(filters, &mut out), Ok(1));
    assert_eq!(take(&mut client, &[0xb0, 2, 0, 1]), Ok((answered(1), vec![])));
}

proptest! {
    /// As many codes as filters answer them, and no other number does.
    #[test]
    fn a_subscription_takes_a_code_for_each_filter(
        version in version(),
        filters in proptest::collection::vec("[a-zé]{1,9}(/\\+)?", 1..9),
        codes in proptest::collection::vec(prop_oneof![0..3_u8, Just(0x80)], 1..9),
    ) {
        let filters: Vec<&[u8]> = filters.iter().map(String::as_bytes).collect();
        let subscribe = Subscribe {
            filters: &filters,
            qos: Qos::ExactlyOnce,
            no_local: false,
            retain_handling: 0, id: None,
        };
        let mut client = connected(version);
        let id = client.subscribe(&subscribe, &mut Vec::new()).unwrap();
        let mut body = id.to_be_bytes().to_vec();
        if version == Version::V5 {
            body.push(0);
        }
        body.extend(&codes);
        let packet = [&[0x90, body.len() as u8], &body[..]].concat();
        let failed = codes.iter().find(|code| **code >= 0x80);
        match client.receive(&packet, &mut Vec::new()) {
            Ok(Some((_, Event::Answered { id: found, reason, codes: found_codes, .. }))) => {
                prop_assert_eq!((found, filters.len()), (id, codes.len()));
                prop_assert_eq!(found_codes, &codes[..]);
                prop_assert_eq!(reason, *failed.unwrap_or(&codes[0]));
            }
            Err(Error::Malformed { packet: "SUBACK", .. }) => prop_assert!(filters.len() != codes.len()),
            other => prop_assert!(false, "{other:?}"),
        }
    }
}
