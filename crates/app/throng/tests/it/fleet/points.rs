//! A process is killed when a certain message of the protocol goes by: the table of points, all walked.

use std::time::Duration;

use rustix::process::Signal;

use super::spool::{is_unbroken, visitors};
use super::{Server, agents, are_free, has_nats};
use crate::support::{Ended, Running, Served, Space, throng};

/// Points at the same time, each with a NATS server, a target and agents of its own.
const AT_ONCE: usize = 3;

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Whom {
    Worker,
    /// With its worker.
    Agent,
    Controller,
}

/// What must come of it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Outcome {
    /// The run did not begin, and says why.
    Refused,
    /// The run was to its end, without that agent.
    Untrusted,
    /// The run was to its end; whether with that agent, its verdict says.
    Ended,
    /// The run was to its end, and nothing is missing.
    Whole,
    /// Another controller continues it, and nothing is missing; or it had not begun, which that controller says.
    Continued,
    /// The same, and its loops may begin so late that it is untrusted.
    Late,
    /// Another controller continues it to its end, although it is not the run that was planned.
    Taken,
    /// The run was over, or another controller ends it.
    Over,
}

/// The message at which somebody is killed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum At {
    /// Of agent 1's connection, counted from 1 in its direction.
    Piece(&'static str, usize),
    /// The first of this kind in that direction, by its index in `docs/worker-protocol.md`.
    Kind(&'static str, u8),
    /// The first on this subject.
    Subject(&'static str),
}

/// Who, when, how the run goes, and what comes of it.
type Point = (Whom, At, Course, Outcome);

/// How the run goes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Course {
    Plain,
    /// The user pauses arrivals after the first second.
    Paused,
    /// The user ends it after the first second.
    Stopped,
    /// Rows stay with the agents.
    RowsLeft,
}

/// Around the start.
const BEGINNING: &[Point] = &[
    // The offer; the hello; that its loops are ready, or the first pong.
    (Whom::Agent, At::Subject("throng.agent.a1"), Course::Plain, Outcome::Refused),
    (Whom::Worker, At::Piece("from", 1), Course::Plain, Outcome::Refused),
    (Whom::Worker, At::Piece("from", 2), Course::Plain, Outcome::Refused),
    // The answer to the hello, the slice, a pong.
    (Whom::Worker, At::Piece("to", 1), Course::Plain, Outcome::Refused),
    (Whom::Worker, At::Kind("to", 0), Course::Plain, Outcome::Refused),
    (Whom::Worker, At::Kind("from", 2), Course::Plain, Outcome::Refused),
    (Whom::Controller, At::Subject("throng.agent.a1"), Course::Plain, Outcome::Continued),
    (Whom::Controller, At::Piece("from", 1), Course::Plain, Outcome::Continued),
    (Whom::Controller, At::Piece("to", 1), Course::Plain, Outcome::Continued),
    // What another controller needs; the last ping or the start; the start.
    (Whom::Controller, At::Subject("throng.run.*.state"), Course::Plain, Outcome::Late),
    (Whom::Controller, At::Piece("to", 18), Course::Plain, Outcome::Continued),
    // The other agent may not have its start yet.
    (Whom::Controller, At::Kind("to", 2), Course::Plain, Outcome::Late),
    (Whom::Worker, At::Kind("to", 2), Course::Plain, Outcome::Untrusted),
];

/// In the middle.
const MIDDLE: &[Point] = &[
    (Whom::Worker, At::Piece("from", 30), Course::Plain, Outcome::Untrusted),
    (Whom::Agent, At::Piece("from", 30), Course::Plain, Outcome::Untrusted),
    (Whom::Worker, At::Kind("to", 5), Course::Paused, Outcome::Untrusted),
    // The first seconds; a later one; that some are stored; a pause.
    (Whom::Controller, At::Piece("from", 21), Course::Plain, Outcome::Continued),
    (Whom::Controller, At::Piece("from", 30), Course::Plain, Outcome::Continued),
    (Whom::Controller, At::Subject("throng.run.*.stored.a1"), Course::Plain, Outcome::Continued),
    (Whom::Controller, At::Kind("to", 5), Course::Paused, Outcome::Taken),
];

/// Around the end.
const END: &[Point] = &[
    // That the run is to stop, what was left, that it is done.
    (Whom::Worker, At::Kind("to", 3), Course::Stopped, Outcome::Ended),
    (Whom::Worker, At::Kind("from", 8), Course::RowsLeft, Outcome::Ended),
    (Whom::Worker, At::Kind("from", 7), Course::Plain, Outcome::Whole),
    (Whom::Controller, At::Kind("to", 3), Course::Stopped, Outcome::Taken),
    (Whom::Controller, At::Kind("from", 7), Course::Plain, Outcome::Over),
    (Whom::Controller, At::Subject("$KV.throng_ended.>"), Course::Plain, Outcome::Over),
];

#[test]
fn a_kill_at_any_message_leaves_a_complete_run_or_a_reported_loss() {
    walk_all(BEGINNING);
}

#[test]
fn a_kill_in_the_middle_leaves_a_complete_run_or_a_reported_loss() {
    walk_all(MIDDLE);
}

#[test]
fn a_kill_at_the_end_leaves_a_complete_run_or_a_reported_loss() {
    walk_all(END);
}

fn walk_all(points: &[Point]) {
    if !has_nats() {
        return;
    }
    testkit::at_once(AT_ONCE, points, |point| walk(*point));
}

/// Whether a piece has a message of this kind: behind its position are frames, each with its length; the first of the
/// connection is none of the kinds.
fn has_kind(piece: &[u8], kind: u8) -> bool {
    let Some((position, mut rest)) = piece.split_first_chunk::<8>() else {
        return false;
    };
    let mut is_first = *position == [0; 8];
    while let Some((length, frames)) = rest.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        if !is_first && frames.first() == Some(&kind) {
            return true;
        }
        is_first = false;
        rest = frames.get(length..).unwrap_or_default();
    }
    false
}

/// Waits until the message goes by.
fn await_message(server: &Server, at: At, begin: impl FnOnce()) {
    let (subject, mut wanted) = match at {
        At::Piece(way, number) => (format!("throng.run.*.{way}.a1"), number),
        At::Kind(way, _) => (format!("throng.run.*.{way}.a1"), 1),
        At::Subject(subject) => (subject.to_owned(), 1),
    };
    let messages = server.listen(&subject);
    begin();
    while wanted > 0 {
        let message = messages.recv_timeout(Duration::from_secs(60));
        let (_, bytes) = message.unwrap_or_else(|_| panic!("{at:?}: no further message"));
        wanted -= match at {
            At::Kind(_, kind) => usize::from(has_kind(&bytes, kind)),
            _ => 1,
        };
    }
}

fn walk(point: Point) {
    let (whom, at, course, outcome) = point;
    let space = Space::new();
    let server = Server::start(&space, None);
    let target = Served::start(&["market"]);
    let mut agents = agents(&space, &server, 2);
    let runs = Space::new();
    let args = match course {
        Course::RowsLeft => &["--lost-after", "5s", "--rows", "leave"][..],
        _ => &["--lost-after", "5s"],
    };
    let mut running = None;
    // What it prints first names the run.
    let mut first = None;
    await_message(&server, at, || {
        let mut run = Running::start(&mut visitors(&runs, &server, &target, args));
        match course {
            Course::Paused => {
                first = Some(run.stderr_line());
                run.second();
                run.signal(Signal::USR1);
            }
            Course::Stopped => {
                first = Some(run.stderr_line());
                run.second();
                run.interrupt();
            }
            Course::Plain | Course::RowsLeft => {}
        }
        running = Some(run);
    });
    let mut running = running.unwrap();
    match whom {
        // It may just have ended.
        Whom::Worker => agents[0].kill_children(),
        Whom::Agent => agents[0].kill(),
        Whom::Controller => running.kill(),
    }
    if whom == Whom::Controller {
        let first = first.unwrap_or_else(|| running.stderr_line());
        let run = first.split_whitespace().nth(1).unwrap().to_owned();
        follow(point, &server, &run);
        return;
    }
    let ended = running.end();
    let all = format!("{point:?}\n{}{}", ended.err, ended.out);
    match outcome {
        Outcome::Refused => {
            assert_eq!(ended.code, Some(71), "{all}");
            ended.stderr_contains("agent a1");
        }
        Outcome::Untrusted => {
            assert_eq!(ended.code, Some(2), "{all}");
            let lost = match whom {
                Whom::Agent => "agent a1: it was silent for",
                _ => "agent a1: its process ended",
            };
            ended.stdout_contains(lost);
        }
        Outcome::Whole => {
            assert_eq!(ended.code, Some(0), "{all}");
            is_unbroken(&runs.only());
        }
        _ => assert!(matches!(ended.code, Some(0 | 2)), "{all}"),
    }
    if course == Course::RowsLeft {
        let rows = runs.only().info().workers[0].rows.clone();
        assert!(rows.unwrap().part.is_some(), "{all}");
    }
    // No agent is left in a run that is over.
    are_free(&server, if whom == Whom::Agent { 1 } else { 2 });
}

/// Another controller comes after the first was killed.
fn follow(point: Point, server: &Server, run: &str) {
    let elsewhere = Space::new();
    let mut attach = throng(["fleet", "attach", run, "--fleet", &server.url(), "--runs"]);
    let ended = Ended::of(attach.arg(elsewhere.path("runs")));
    let all = format!("{point:?}\n{}{}", ended.err, ended.out);
    match (point.3, ended.code) {
        (Outcome::Continued | Outcome::Over, Some(0)) => is_unbroken(&elsewhere.only()),
        (Outcome::Late, Some(0 | 2)) => is_unbroken(&elsewhere.only()),
        (Outcome::Continued | Outcome::Late, Some(69)) => {
            ended.stderr_contains("its loops had not begun");
        }
        (Outcome::Over, Some(69)) => {
            ended.stderr_contains("no run");
            are_free(server, 2);
        }
        (Outcome::Taken, Some(0 | 2)) => are_free(server, 2),
        _ => panic!("{all}"),
    }
}
