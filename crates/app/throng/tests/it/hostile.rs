//! Servers that break the rules in every way we know of: the outcome of each is the right one, memory
//! stays bounded, and both sides count the same connections and requests.
//!
//! A table of cases, in one file for each kind of server, says what the server does and what is right to
//! say of it. One run plays all cases of a table at the same time, each with one user.

mod case;
mod channels;
mod deep;
mod frames;
mod http;
mod mqtt;
mod played;
mod polls;
mod server;
mod sse;
mod tcp;
mod websocket;

use case::Case;
use played::Played;

/// What is seen instead of the right outcome, by case. A case that is listed here and right fails the
/// test as well: then it is to be taken out.
const KNOWN: &[(&str, &str)] = &[];

/// Plays a table, whose steps name places by this scheme, and compares every case.
#[track_caller]
fn all_are_right(scheme: &str, cases: &[Case]) {
    let played = Played::new(scheme, cases);
    let mut wrong = Vec::new();
    for case in cases {
        let found = played.check(case);
        let known = KNOWN.iter().find(|(name, _)| *name == case.name);
        match (known, found) {
            (None, Err(difference)) => wrong.push(format!("{}: {difference}", case.name)),
            (Some(_), Ok(())) => wrong.push(format!("{}: it is right now", case.name)),
            (Some((_, seen)), Err(difference)) if !difference.starts_with(seen) => {
                wrong.push(format!("{}: not as known, {difference}", case.name));
            }
            _ => {}
        }
    }
    let wrong_count = wrong.len();
    let count = cases.len();
    assert!(wrong.is_empty(), "{wrong_count} of {count} cases:\n  {}", wrong.join("\n  "));
    played.memory_is_bounded();
}

#[test]
fn http_is_what_the_rfcs_say() {
    all_are_right("http", &http::cases());
}

#[test]
fn websockets_are_what_the_rfcs_say() {
    all_are_right("ws", &websocket::cases());
}

#[test]
fn event_streams_and_polls_are_what_the_standard_says() {
    let cases = [sse::cases(), polls::cases()].concat();
    all_are_right("http", &cases);
}

#[test]
fn channels_are_what_their_protocols_say() {
    all_are_right("ws", &channels::cases());
}

#[test]
fn mqtt_is_what_its_standards_say() {
    all_are_right("", &mqtt::cases());
}

#[test]
fn framed_messages_are_what_their_framing_says() {
    all_are_right("", &tcp::cases());
}

/// A parser that recurses for each level would end the generator, and with it the run.
#[test]
fn json_that_is_nested_deeply_is_broken() {
    all_are_right("ws", &deep::channels());
    all_are_right("http", &deep::polls());
}

/// Names are the keys of the scenario and of `KNOWN`.
#[test]
fn the_names_of_cases_differ() {
    let tables = [
        http::cases(),
        websocket::cases(),
        sse::cases(),
        polls::cases(),
        channels::cases(),
        tcp::cases(),
        mqtt::cases(),
        deep::channels(),
        deep::polls(),
    ];
    let mut names: Vec<_> = tables.iter().flatten().map(|case| case.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(count >= 250, "{count}");
    let unknown = KNOWN.iter().find(|(name, _)| !names.contains(name));
    assert_eq!(unknown, None, "no such case");
}
