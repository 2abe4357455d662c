//! Sessions of MQTT that a server keeps while the connection is lost, and those that it forgets.

use engine::sim::PeerAction;
use record::Outcome;

use crate::mqtt::{Broker, Sent, answers, scenario, send, sound, times};
use crate::support::{MS, S, run};

/// A server that kept the session knows the subscriptions.
#[test]
fn a_session_that_was_kept_is_not_subscribed_again() {
    let steps = "
    - subscribe: a
    - publish: { topic: b, qos: 1 }
    - think: 3s
    - publish: { topic: b, qos: 1 }
    - close:
";
    let mut broker = Broker::new(|conn, sent: &Sent| match (conn, sent.0 >> 4) {
        (0, 3) => vec![PeerAction::Reset],
        (1, 1) => vec![send(&[0x20, 2, 1, 0])],
        _ => sound(sent),
    });
    let text = scenario("client_id: me\n      clean: false\n      reconnect: true", steps);
    let ran = run(&text, &mut broker);
    assert_eq!(ran.outcomes("publish"), [Outcome::Ok, Outcome::Ok]);
    assert_eq!(ran.outcomes("rejoin"), []);
    assert_eq!(broker.kinds(), [1, 8, 3, 1, 3, 4, 3, 14]);
}

/// A message in flight is sent again once the server has the session again; its time has the outage in it.
#[test]
fn a_message_in_flight_outlives_its_connection_in_a_kept_session() {
    let opening = "client_id: me\n      clean: false\n      reconnect: true";
    for (qos, lost, kinds) in [
        // Lost before the PUBACK, before the PUBREC, and before the PUBCOMP.
        (1, 3, &[1, 3, 1, 3, 3, 14][..]),
        (2, 3, &[1, 3, 1, 3, 6, 3, 6, 14]),
        (2, 6, &[1, 3, 6, 1, 6, 3, 6, 14]),
    ] {
        let steps = format!(
            "
    - publish: {{ topic: b, payload: hi, qos: {qos} }}
    - publish: {{ topic: c, qos: {qos} }}
      as: next
    - close:
"
        );
        let mut broker = Broker::new(|conn, sent: &Sent| match (conn, sent.0 >> 4) {
            (0, kind) if kind == lost => vec![PeerAction::Reset],
            (1, 1) => vec![send(&[0x20, 2, 1, 0])],
            (_, 3) => {
                let ack = answers(sent);
                vec![send(&ack[..4])]
            }
            _ => sound(sent),
        });
        let ran = run(&scenario(opening, &steps), &mut broker);
        assert_eq!(times(&ran, "publish"), [(Outcome::Ok, S)], "{:?}", ran.details());
        assert_eq!(ran.outcomes("next"), [Outcome::Ok]);
        assert_eq!(times(&ran, "reconnect"), [(Outcome::Ok, 0)]);
        assert_eq!(broker.kinds(), kinds, "QoS {qos}, lost at {lost}");
        let messages = broker.packets.iter().filter(|(first, _)| first >> 4 == 3);
        let messages: Vec<_> = messages.collect();
        if lost == 3 {
            // The same packet identifier, marked as repeated (DUP).
            assert_eq!(messages[1].0, messages[0].0 | 8);
            assert_eq!(messages[1].1, messages[0].1);
        }
        // The next one has another identifier.
        assert_eq!(messages.last().unwrap().1[3..5], [0, 2]);
        assert_eq!(ran.total(|counts| counts.users_finished), 1);
    }
}

/// Its own timeout still holds; what the step gave up is sent again nevertheless, and once.
#[test]
fn a_message_times_out_while_its_connection_is_lost() {
    let steps = "
    - publish: { topic: b, qos: 1 }
      timeout: 300ms
    - think: 3s
    - publish: { topic: c, qos: 1 }
      as: next
    - close:
";
    let mut broker = Broker::new(|conn, sent: &Sent| match (conn, sent.0 >> 4) {
        (0, 3) => vec![PeerAction::Reset],
        (1, 1) => vec![send(&[0x20, 3, 1, 0, 0])],
        (0, 1) => vec![send(&[0x20, 3, 0, 0, 0])],
        (_, 3) => vec![send(&[0x40, 2, sent.1[3], sent.1[4]])],
        _ => vec![],
    });
    let opening = "version: 5\n      client_id: me\n      clean: false\n      session_expiry: 1h\n      reconnect: true";
    let ran = run(&scenario(opening, steps), &mut broker);
    assert_eq!(times(&ran, "publish"), [(Outcome::Timeout, 300 * MS)]);
    assert_eq!(ran.outcomes("next"), [Outcome::Ok], "{:?}", ran.details());
    assert_eq!(broker.kinds(), [1, 3, 1, 3, 3, 14]);
}

/// A server that has forgotten the session: the message has failed as its connection did.
#[test]
fn a_message_in_flight_fails_without_its_session() {
    let steps = "
    - subscribe: a
    - publish: { topic: b, qos: 1 }
    - publish: { topic: c, qos: 1 }
      as: next
    - close:
";
    let forgets = |conn, sent: &Sent| match (conn, sent.0 >> 4) {
        (0, 3) => vec![PeerAction::Reset],
        _ => sound(sent),
    };
    let opening = "client_id: me\n      clean: false\n      reconnect: true";
    let mut broker = Broker::new(forgets);
    let ran = run(&scenario(opening, steps), &mut broker);
    assert_eq!(times(&ran, "publish"), [(Outcome::Reset, S)]);
    let details = ran.details();
    let said = "the server has not kept the session";
    assert!(details.iter().any(|own| own.ends_with(said)), "{details:?}");
    assert_eq!(ran.outcomes("rejoin"), [Outcome::Ok]);
    assert_eq!(ran.outcomes("next"), [Outcome::Ok]);
    assert_eq!(broker.kinds(), [1, 8, 3, 1, 8, 3, 14]);
    // A session of version 5 that ends with its connection is not waited for.
    let mut broker = Broker::new(|conn, sent: &Sent| match (conn, sent.0 >> 4) {
        (_, 1) => vec![send(&[0x20, 3, 0, 0, 0])],
        (0, 3) => vec![PeerAction::Reset],
        (_, 3) => vec![send(&[0x40, 2, sent.1[3], sent.1[4]])],
        (_, 8) => vec![send(&[0x90, 4, sent.1[0], sent.1[1], 0, 0])],
        _ => vec![],
    });
    let ran = run(&scenario(&format!("version: 5\n      {opening}"), steps), &mut broker);
    assert_eq!(times(&ran, "publish"), [(Outcome::Reset, 0)]);
}
