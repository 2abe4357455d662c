//! A process is killed when a certain message of the protocol goes by: the table of points, all walked.

use std::time::Duration;

use super::spool::{is_unbroken, visitors};
use super::{Server, agents, are_free, has_nats};
use crate::support::{Ended, Running, Served, Space, throng};

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Whom {
    Worker,
    Controller,
}

/// What must come of it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Outcome {
    /// The run did not begin, and says why.
    Refused,
    /// The run was to its end, without that agent.
    Untrusted,
    /// Another controller continues it, and nothing is missing; or it had not begun, which that controller says.
    Continued,
}

/// The message of agent 1's connection, counted from 1 in its direction.
const POINTS: [(Whom, &str, usize, Outcome); 9] = [
    // Its hello; that its loops are ready, or the first pong.
    (Whom::Worker, "from", 1, Outcome::Refused),
    (Whom::Worker, "from", 2, Outcome::Refused),
    // In the middle, near the end.
    (Whom::Worker, "from", 30, Outcome::Untrusted),
    // The answer to the hello, the slice.
    (Whom::Worker, "to", 1, Outcome::Refused),
    (Whom::Controller, "from", 1, Outcome::Continued),
    (Whom::Controller, "to", 1, Outcome::Continued),
    // The last ping or the start; the first seconds; a later one.
    (Whom::Controller, "to", 18, Outcome::Continued),
    (Whom::Controller, "from", 21, Outcome::Continued),
    (Whom::Controller, "from", 30, Outcome::Continued),
];

#[test]
fn a_kill_at_any_message_leaves_a_complete_run_or_a_reported_loss() {
    if !has_nats() {
        return;
    }
    for point in POINTS {
        walk(point);
    }
}

fn walk(point: (Whom, &str, usize, Outcome)) {
    let (whom, way, number, outcome) = point;
    let space = Space::new();
    let server = Server::start(&space, None);
    let target = Served::start(&["market"]);
    let agents = agents(&space, &server, 2);
    let messages = server.listen(&format!("throng.run.*.{way}.a1"));
    let args = ["--lost-after", "5s"];
    let mut running = Running::start(&mut visitors(&space, &server, &target, &args));
    let mut run = String::new();
    for _ in 0..number {
        let subject = messages.recv_timeout(Duration::from_secs(60));
        let subject = subject.unwrap_or_else(|_| panic!("{point:?}: no further message"));
        run = subject.split('.').nth(2).unwrap_or_default().to_owned();
    }
    match whom {
        Whom::Worker => {
            // It may just have ended.
            agents[0].kill_child();
        }
        Whom::Controller => running.kill(),
    }
    match outcome {
        Outcome::Refused => {
            let ended = running.end();
            assert_eq!(ended.code, Some(71), "{point:?}\n{}", ended.err);
            assert!(ended.err.contains("agent a1"), "{point:?}\n{}", ended.err);
        }
        Outcome::Untrusted => {
            running
                .end()
                .with(2)
                .stdout_contains("agent a1: its process ended");
        }
        Outcome::Continued => {
            let elsewhere = Space::new();
            let mut attach = throng(["fleet", "attach", &run, "--fleet", &server.url(), "--runs"]);
            let ended = Ended::of(attach.arg(elsewhere.path("runs")));
            match ended.code {
                Some(0) => is_unbroken(&elsewhere.only()),
                _ => {
                    assert_eq!(
                        ended.code,
                        Some(69),
                        "{point:?}\n{}{}",
                        ended.err,
                        ended.out
                    );
                    ended.stderr_contains("its loops had not begun");
                }
            }
        }
    }
    // No agent is left in a run that is over.
    if outcome == Outcome::Continued {
        return;
    }
    are_free(&server, 2);
}
