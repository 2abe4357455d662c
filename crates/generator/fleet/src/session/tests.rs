//! Which run a controller ends when it leaves, and which it does not.

use std::sync::Arc;
use std::time::Duration;

use machine::clock::unix_ns;
use workers::{Agent, Carrier, Fleet, Tolerances};

use super::handover::Handover;
use super::{AttachedSession, Session};
use crate::cards::{RunCard, json, parse};
use crate::carrier::{Term, Ways, last_term};
use crate::nats::Nats;
use crate::testing::{Server, wait_until};
use crate::{names, plans, stream};

/// The name of the run.
const RUN: &str = "r1";

/// A run with one agent, whose controller is gone.
fn begin(nats: &Nats) {
    let made =
        nats.block(stream::create(&nats.jet, RUN, stream::age(Duration::ZERO, Duration::ZERO)));
    made.unwrap();
    let handover = Handover {
        throng: "1.2.3".to_owned(),
        plan: nats.block(plans::put(nats, RUN, b"plan")).unwrap(),
        key: None,
        scenario: "s.yaml".to_owned(),
        agents: vec![Agent {
            name: "a1".to_owned(),
            cores: 1,
            files_per_loop: 1,
            holds: 1,
            holds_with_target: 1,
            ports: 1,
            is_here: true,
        }],
        tolerances: Tolerances { clock_bound_ns: 1, silence_ns: 1, rebalances: false },
        rows: workers::Rows::Fetch,
        signers: Vec::new(),
        begun_unix_s: unix_ns() / 1_000_000_000,
        kept_s: 0,
        state: "state".to_owned(),
        signature: None,
    };
    nats.block(stream::put_state(&nats.jet, RUN, json(&handover))).unwrap();
}

fn attach(server: &Server) -> Session {
    let access = server.access();
    let attached = Session::attach(&access, RUN, "1.2.3", None, Box::new(|_| {}), || {});
    let AttachedSession { session, material, .. } = attached.unwrap();
    assert_eq!(material, b"plan");
    session
}

/// The way to the agent, over which the controller has sent something that the stream has.
fn send(session: &Session, nats: &Nats) -> Arc<dyn Carrier> {
    let carrier = session.reopen(0).unwrap();
    carrier.send(b"word").unwrap();
    wait_until(|| last(nats).is_some());
    carrier
}

/// What was last sent to the agent.
fn last(nats: &Nats) -> Option<Vec<u8>> {
    nats.block(async {
        let stream = nats.jet.get_stream(names::stream(RUN)).await.ok()?;
        let subject = names::to_agent(RUN, "a1");
        let message = stream.get_last_raw_message_by_subject(&subject).await;
        Some(message.ok()?.payload.to_vec())
    })
}

fn is_there(nats: &Nats) -> bool {
    nats.block(nats.jet.get_stream(names::stream(RUN))).is_ok()
}

/// What came of the run, once it is over.
fn outcome(nats: &Nats) -> Option<String> {
    let ended = nats.block(nats.bucket(names::ENDED)).unwrap();
    let card: RunCard = parse(&nats.block(ended.get(RUN)).unwrap()?).unwrap();
    card.outcome
}

/// Who has the lease.
fn holder(nats: &Nats) -> Option<String> {
    let runs = nats.block(nats.bucket(names::RUNS)).unwrap();
    let card: RunCard = parse(&nats.block(runs.get(RUN)).unwrap()?).unwrap();
    Some(card.holder)
}

/// Gives the lease to another controller.
fn replace(nats: &Nats) {
    let card = RunCard { run: RUN.to_owned(), holder: "another".to_owned(), ..RunCard::default() };
    let runs = nats.block(nats.bucket(names::RUNS)).unwrap();
    nats.block(runs.put(RUN, json(&card))).unwrap();
}

#[test]
fn a_controller_that_cannot_continue_a_run_leaves_it_to_the_next() {
    let Some(server) = Server::start() else {
        return;
    };
    let nats = server.connect();
    begin(&nats);
    for opened in [false, true] {
        let session = attach(&server);
        if opened {
            // As its record cannot be made: what was opened is closed.
            session.reopen(0).unwrap().close();
        }
        drop(session);
        assert_eq!(last(&nats), None, "nothing was sent to the agent");
        assert_eq!(outcome(&nats), None);
        assert_eq!(holder(&nats), None, "the next one need not wait");
        assert!(is_there(&nats));
    }
}

#[test]
fn a_controller_ends_the_run_that_it_has_conducted() {
    let Some(server) = Server::start() else {
        return;
    };
    let nats = server.connect();
    begin(&nats);
    let session = attach(&server);
    let carrier = send(&session, &nats);
    session.conclude("measured");
    drop((carrier, session));
    assert_eq!(outcome(&nats).as_deref(), Some("measured"));
    assert!(!is_there(&nats) && holder(&nats).is_none());
}

/// It was cut off, and does not know it yet.
#[test]
fn a_controller_that_was_replaced_ends_nothing() {
    let Some(server) = Server::start() else {
        return;
    };
    let nats = server.connect();
    begin(&nats);
    let session = attach(&server);
    let carrier = send(&session, &nats);
    replace(&nats);
    drop(session);
    drop(carrier);
    assert_eq!(outcome(&nats), None);
    assert_eq!(holder(&nats).as_deref(), Some("another"));
    assert!(last(&nats).unwrap().ends_with(b"word"), "no end was sent");
}

#[test]
fn a_controller_learns_from_the_stream_that_it_was_replaced() {
    let Some(server) = Server::start() else {
        return;
    };
    let nats = server.connect();
    begin(&nats);
    let session = attach(&server);
    let carrier = send(&session, &nats);
    let mut piece = ((session.term.0 + 5) << 40).to_le_bytes().to_vec();
    piece.extend(b"other");
    let sent = nats.block(async {
        let subject = names::to_agent(RUN, "a1");
        nats.jet.publish(subject, piece.into()).await?.await
    });
    sent.unwrap();
    carrier.send(b"more").unwrap();
    wait_until(|| carrier.send(b"more").is_err());
    drop(carrier);
    // Its lease is its own, as far as it knows.
    drop(session);
    assert_eq!(outcome(&nats), None);
    assert!(last(&nats).unwrap().ends_with(b"other"));
}

#[test]
fn what_another_controller_has_written_of_the_end_stays() {
    let Some(server) = Server::start() else {
        return;
    };
    let nats = server.connect();
    begin(&nats);
    let session = attach(&server);
    let carrier = send(&session, &nats);
    let card =
        RunCard { run: RUN.to_owned(), outcome: Some("measured".to_owned()), ..RunCard::default() };
    let ended = nats.block(nats.bucket(names::ENDED)).unwrap();
    nats.block(ended.put(RUN, json(&card))).unwrap();
    drop((carrier, session));
    assert_eq!(outcome(&nats).as_deref(), Some("measured"));
}

/// The clocks of controllers need not agree.
#[test]
fn each_controller_has_a_higher_term_than_those_before() {
    let Some(server) = Server::start() else {
        return;
    };
    let nats = server.connect();
    begin(&nats);
    let mut terms = vec![Term(7_000)];
    let mut piece = (7_000_u64 << 40).to_le_bytes().to_vec();
    piece.extend(b"word");
    let sent = nats.block(async {
        let subject = names::to_agent(RUN, "a1");
        nats.jet.publish(subject, piece.into()).await?.await
    });
    sent.unwrap();
    let session = attach(&server);
    terms.push(session.term);
    let carrier = session.reopen(0).unwrap();
    carrier.send(b"word").unwrap();
    let stream = nats.block(nats.jet.get_stream(names::stream(RUN))).unwrap();
    let ways = Ways::of_controller(RUN, "a1");
    wait_until(|| nats.block(last_term(&stream, &ways)) == Ok(session.term));
    assert_eq!(terms, [Term(7_000), Term(7_001)]);
}
