//! The fuzzers' way to what the engine reads of a target's answers. Not part of the crate's interface.

use plan::Protocol;

use plan::json::{items, json_number, pairs, pointer, unquoted};

/// Reads `data` as JSON, as messages of every protocol of channels, as cookies and as challenges: each is read or
/// refused, and nothing panics.
pub fn answers(data: &[u8]) {
    let tokens = ["a", "0", "b"].map(str::to_owned);
    for depth in 0..=tokens.len() {
        let Some(found) = pointer(data, &tokens[..depth]) else {
            continue;
        };
        items(found);
        unquoted(found);
        json_number(found);
        pairs(found, |_, value| {
            unquoted(value);
        });
    }
    let phoenix = |arrays| Protocol::Phoenix { arrays, heartbeat_ns: 1 };
    for protocol in [
        phoenix(true),
        phoenix(false),
        Protocol::ActionCable,
        Protocol::SocketIo,
        Protocol::GraphQl,
        Protocol::SignalR,
    ] {
        crate::channels::parse(protocol, data);
        crate::channels::parse_binary(protocol, data);
    }
    crate::channels::recoverable_event(data);
    crate::channels::graphql_failure(plan::graphql::Answer::Partial, data);
    crate::identity::read(data);
}

#[test]
fn no_answer_panics() {
    testkit::replay::replay("answers", 200, answers);
}
