//! Several filters in one packet of MQTT.

use engine::sim::PeerAction;
use record::Outcome;

use crate::mqtt::{Broker, Sent, filters_of, scenario, send, sound};
use crate::support::run;

/// One packet subscribes to a list, and one ends it; a new connection subscribes to each that is left.
#[test]
fn a_list_of_filters_is_one_packet() {
    let steps = "
    - set: { room: 7 }
    - subscribe: [a/+, 'rooms/${room}/said', c/#]
      qos: 1
    - publish: { topic: rooms/7/said, payload: { at: 0, n: 1 } }
    - think: 1s
    - unsubscribe: [a/+, c/#]
    - publish: { topic: lost, qos: 1 }
    - think: 3s
    - close:
";
    let mut broker = Broker::new(|conn, sent: &Sent| match (conn, sent.0 >> 4) {
        (0, 3) if sent.1.starts_with(b"\0\x04lost") => vec![PeerAction::Reset],
        _ => sound(sent),
    });
    let ran = run(&scenario("reconnect: true", steps), &mut broker);
    assert_eq!(ran.outcomes("subscribe"), [Outcome::Ok], "{:?}", ran.details());
    assert_eq!(ran.outcomes("unsubscribe"), [Outcome::Ok]);
    // What it is subscribed to is expected: each of the filters counts.
    assert_eq!(ran.outcomes("said"), [Outcome::Ok]);
    assert_eq!(ran.counted("said.lost", Outcome::Ok), 0);
    assert_eq!(ran.outcomes("rejoin"), [Outcome::Ok]);
    assert_eq!(broker.kinds(), [1, 8, 3, 10, 3, 1, 8, 14]);
    let subscribed = filters_of(&broker.packets[1]);
    let wanted = ["a/+", "rooms/7/said", "c/#"].map(|filter| (filter.to_owned(), 1));
    assert_eq!(subscribed, wanted);
    assert_eq!(broker.packets[3].1[2..], *b"\0\x03a/+\0\x03c/#");
    assert_eq!(filters_of(&broker.packets[6]), wanted[1..2]);
}

#[test]
fn a_refused_filter_of_a_list_is_named() {
    let steps = "
    - subscribe: [a, b/#, c]
    - think: 1s
";
    // 5: with a reason as text.
    for (opening, answer, said) in [
        (
            "client_id: me",
            &b"\x90\x05\0\x01\0\x80\0"[..],
            "the server rejected it: `b/#: failure (0x80)`",
        ),
        (
            "version: 5",
            b"\x90\x0a\0\x01\x04\x1f\0\x01n\x87\x8f\x01",
            "the server rejected it: `a: not authorized (0x87), b/#: topic filter invalid (0x8f): n`",
        ),
    ] {
        let mut broker = Broker::new(|_, sent: &Sent| match sent.0 >> 4 {
            1 if opening.starts_with("version") => vec![send(&[0x20, 3, 0, 0, 0])],
            1 => sound(sent),
            _ => vec![send(answer)],
        });
        let ran = run(&scenario(opening, steps), &mut broker);
        assert_eq!(ran.outcomes("subscribe"), [Outcome::Rejected]);
        assert_eq!(ran.details(), [said]);
        assert_eq!(ran.total(|counts| counts.users_failed), 1);
    }
}
