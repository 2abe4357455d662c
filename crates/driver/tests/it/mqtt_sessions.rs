//! Sessions of MQTT that a server keeps while the connection is lost, and those that it forgets.

use driver::sim::PeerAction;
use record::Outcome;

use crate::mqtt::{Broker, Sent, scenario, send, sound};
use crate::support::run;

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
    let text = scenario(
        "client_id: me\n      clean: false\n      reconnect: true",
        steps,
    );
    let ran = run(&text, &mut broker);
    assert_eq!(ran.outcomes("publish"), [Outcome::Reset, Outcome::Ok]);
    assert_eq!(ran.outcomes("rejoin"), []);
    assert_eq!(broker.kinds(), [1, 8, 3, 1, 3, 14]);
}
