//! WebSockets over HTTP/2 against Node, whose counts are those of the record.

use std::collections::BTreeMap;

use record::Outcome;

use super::peers::Node;
use super::{ok, outcomes, scenario};
use crate::support::{Ended, Space};

/// A request, messages, one that is longer than all windows, and a close.
fn talk(compress: &str) -> String {
    let long = "x".repeat(200_000);
    format!(
        "    - get: /hello\n      as: page\n    \
         - ws: {{ path: /socket, compress: {compress}, as: open }}\n    \
         - loop: 5\n      steps:\n        \
         - send: {{ n: \"${{user}}\" }}\n          as: message\n          \
         reply: {{ when: {{ /n: \"${{user}}\" }} }}\n    \
         - send: '{long}'\n      as: long\n      reply: {{ when: {{ body: '{long}' }} }}\n    \
         - get: /hello\n      as: page\n    - close: 1000\n"
    )
}

#[test]
fn node_counts_the_messages_of_the_record() {
    for tls in [false, true] {
        let space = Space::new();
        let Some(node) = Node::start(&space, tls) else {
            return;
        };
        for (options, compress) in [
            (", websockets: streams", "none"),
            (", websockets: streams, http_connections: shared, loops: 1", "separate"),
        ] {
            let space = Space::new();
            let text = scenario(&node.url, "2", options, &talk(compress));
            Ended::of(&mut space.run_text(&text, &[])).with(0);
            let run = space.only();
            for (measure, count) in [("page", 80), ("open", 40), ("message", 200), ("long", 40)] {
                assert_eq!(outcomes(&run, measure), ok(count), "{measure}");
            }
            // Nothing but the connections of requests.
            let connects = outcomes(&run, "connect").values().sum::<u64>();
            let is_own = compress == "none";
            assert!(if is_own { connects == 40 } else { connects < 20 }, "{connects}");
        }
        let counted = node.stop();
        assert_eq!(counted["websockets"], 2 * 40, "{counted}");
        assert_eq!(counted["messages"], 2 * 40 * 6, "{counted}");
        assert_eq!(counted["closed"], 2 * 40, "{counted}");
        assert_eq!((&counted["upgrades"], &counted["errors"]), (&0.into(), &0.into()));
    }
}

#[test]
fn node_declines_and_resets_as_it_is_recorded() {
    let space = Space::new();
    let Some(node) = Node::start(&space, false) else {
        return;
    };
    for (path, measure, outcome) in
        [("/forbidden", "open", Outcome::Status), ("/lost", "message", Outcome::Http2InternalError)]
    {
        let steps = format!(
            "    - ws: {path}\n      as: open\n    - send: hello\n      as: message\n      reply: {{ within: 5s }}\n"
        );
        let text = scenario(&node.url, "2", ", websockets: streams", &steps);
        let space = Space::new();
        Ended::of(&mut space.run_text(&text, &[])).with(1);
        assert_eq!(outcomes(&space.only(), measure), BTreeMap::from([(outcome, 40)]));
    }
    assert_eq!(node.stop()["websockets"], 2 * 40);
}

/// A server that does not announce them is an error with `http: 2`, and gets upgrades with `auto`.
#[test]
fn what_node_does_not_announce_is_not_sent() {
    let space = Space::new();
    let Some(node) = Node::start_with(&space, true, "upgrades") else {
        return;
    };
    for (http, outcome, connects) in [("2", Outcome::WsProtocol, 40), ("auto", Outcome::Ok, 80)] {
        let text = scenario(&node.url, http, ", websockets: streams", &talk("none"));
        let space = Space::new();
        let code = i32::from(outcome != Outcome::Ok);
        Ended::of(&mut space.run_text(&text, &[])).with(code);
        let run = space.only();
        assert_eq!(outcomes(&run, "open"), BTreeMap::from([(outcome, 40)]), "{http}");
        assert_eq!(outcomes(&run, "connect"), ok(connects), "{http}");
    }
    let counted = node.stop();
    assert_eq!(counted["websockets"], 0, "{counted}");
    assert_eq!(counted["upgrades"], 40, "{counted}");
    assert_eq!(counted["messages"], 40 * 6, "{counted}");
}
