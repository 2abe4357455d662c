//! Runs whose controller is killed, and which another one continues.

use std::time::Duration;

use record::schema::EventKind;

use super::spool::{is_unbroken, visitors};
use super::{Server, agents, are_free, has_nats};
use crate::support::{Ended, Running, Served, Space, pass, throng};

/// The name of the run that this controller has begun.
fn name(running: &mut Running) -> String {
    let first = running.stderr_line();
    first.split_whitespace().nth(1).unwrap().to_owned()
}

/// Another controller for the run, with records in a space of its own: it might be another machine.
fn attach(space: &Space, server: &Server, run: &str) -> std::process::Command {
    let mut attach = throng(["fleet", "attach", run, "--fleet", &server.url(), "--runs"]);
    attach.arg(space.path("runs"));
    attach
}

#[test]
fn a_killed_controller_is_followed_by_another_and_the_record_is_whole() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let target = Served::start(&["market"]);
    let _agents = agents(&space, &server, 3);
    let mut running = Running::start(&mut visitors(&space, &server, &target, &[]));
    let run = name(&mut running);
    running.second();
    running.second();
    let elsewhere = Space::new();
    // A run has one controller.
    let refused = Ended::of(&mut attach(&elsewhere, &server, &run)).with(64);
    refused.stderr_contains("has a controller");
    running.kill();
    // Longer than the plan.
    pass(Duration::from_secs(9));
    let url = server.url();
    let listed = Ended::of(&mut throng(["fleet", "runs", "--nats", &url])).with(0);
    listed.stdout_contains(&run);
    listed.stdout_contains("orphaned");
    let ended = Ended::of(&mut attach(&elsewhere, &server, &run)).with(0);
    ended.stderr_contains(&format!("run {run} continues on 3 agents"));
    let record = elsewhere.only();
    is_unbroken(&record);
    let noted = record.events().unwrap().into_iter().any(|event| {
        matches!(event.what, EventKind::Note { text } if text.contains("another controller"))
    });
    assert!(noted, "the record says it");
    let listed = Ended::of(&mut throng(["fleet", "runs", "--nats", &url])).with(0);
    listed.stdout_contains("ended: measured");
    Ended::of(&mut attach(&elsewhere, &server, &run)).with(69).stderr_contains("no run");
    are_free(&server, 3);
}

#[test]
fn a_controller_that_attaches_in_mid_run_conducts_the_rest() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let target = Served::start(&["market"]);
    let _agents = agents(&space, &server, 3);
    let mut running = Running::start(&mut visitors(&space, &server, &target, &[]));
    let run = name(&mut running);
    running.second();
    running.kill();
    let elsewhere = Space::new();
    // As soon as the lease of the first has ended, which it waits for.
    Ended::of(&mut attach(&elsewhere, &server, &run)).with(0);
    is_unbroken(&elsewhere.only());
}

/// A record that cannot be written must not cost what agents have measured.
#[test]
fn a_controller_that_cannot_continue_a_run_leaves_it_to_the_next() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let target = Served::start(&["market"]);
    let _agents = agents(&space, &server, 3);
    let mut running = Running::start(&mut visitors(&space, &server, &target, &[]));
    let run = name(&mut running);
    running.second();
    running.kill();
    let mut hopeless = throng(["fleet", "attach", &run, "--fleet", &server.url(), "--runs"]);
    let failed = Ended::of(hopeless.arg(space.file("file", "no directory")));
    assert_ne!(failed.code, Some(0), "{}", failed.out);
    failed.stderr_contains("cannot write the run's record");
    let elsewhere = Space::new();
    Ended::of(&mut attach(&elsewhere, &server, &run)).with(0);
    is_unbroken(&elsewhere.only());
    are_free(&server, 3);
}

/// Agents have all that is needed: what they measured, the scenario, and what the controller kept.
#[test]
fn a_run_is_continued_although_nats_lost_its_store_and_the_controller_was_killed() {
    if !has_nats() {
        return;
    }
    let space = Space::new();
    let server = Server::start(&space, None);
    let target = Served::start(&["market"]);
    let _agents = agents(&space, &server, 3);
    let mut running = Running::start(&mut visitors(&space, &server, &target, &[]));
    let run = name(&mut running);
    running.second();
    running.second();
    running.kill();
    let server = server.lose_store(&space, Duration::from_millis(500));
    pass(Duration::from_secs(3));
    let elsewhere = Space::new();
    Ended::of(&mut attach(&elsewhere, &server, &run)).with(0);
    is_unbroken(&elsewhere.only());
}
