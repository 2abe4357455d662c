//! A scenario played in virtual time against a server that answers at once: which user requests what, when.

use std::collections::HashMap;

use engine::SetupError;
use engine::sim::{self, Link, Peer, PeerAction, PeerConn, PeerEvent};
use plan::Plan;
use plan::{HttpVersion, Phase, PhaseKind};

/// The header that identifies the user to the server: set it to `${user}`.
pub const USER_HEADER: &str = "x-throng-user";

/// The time that users who are present after the last phase have to finish. The run ends when they have.
const FINISH_NS: u64 = 30 * 86_400 * 1_000_000_000;

/// A request as the server saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenRequest {
    /// The user's number.
    pub user: u64,
    /// The session it runs; its place among the plan's.
    pub session: u16,
    /// Since the run's start.
    pub at_ns: u64,
    /// `GET`.
    pub method: String,
    /// Path and query.
    pub target: String,
}

/// Plays the plan to its end, and until the users present then have finished: an interrupted session would
/// look like one that ended. Requests without the header are left out.
///
/// # Errors
/// The plan cannot be run.
pub fn simulate(plan: &Plan) -> Result<Vec<SeenRequest>, SetupError> {
    let mut plan = plan.clone();
    // The requests and their times do not depend on it.
    plan.options.http = HttpVersion::Http1;
    if plan.phases.last().is_none_or(|last| !last.until_done) {
        plan.phases.push(Phase {
            name: "finish".to_owned(),
            kind: PhaseKind::Hold,
            start_ns: plan.end_ns(),
            duration_ns: FINISH_NS,
            session: None,
            weights: None,
            users_max: None,
            iterations: None,
            until_done: true,
        });
    }
    let mut server = Server::default();
    let run = sim::run(&plan, 1, &mut server, Link::new(0))?;
    let sessions: HashMap<u64, u16> = run.rows.iter().map(|row| (row.user, row.session)).collect();
    let mut requests = server.requests;
    requests.retain_mut(|request| {
        let session = sessions.get(&request.user);
        request.session = session.copied().unwrap_or_default();
        session.is_some()
    });
    Ok(requests)
}

#[derive(Default)]
struct Server {
    inbox: HashMap<PeerConn, Vec<u8>>,
    requests: Vec<SeenRequest>,
}

impl Peer for Server {
    fn handle(&mut self, now_ns: u64, conn: PeerConn, event: PeerEvent) -> Vec<PeerAction> {
        const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        let mut actions = Vec::new();
        match event {
            PeerEvent::Received(bytes) => {
                let mut inbox = self.inbox.remove(&conn).unwrap_or_default();
                inbox.extend(bytes);
                while let Some(end) = head_end(&inbox) {
                    let head = String::from_utf8_lossy(&inbox[..end]).into_owned();
                    let body =
                        header(&head, "content-length").and_then(|length| length.parse().ok());
                    let complete = end + body.unwrap_or(0);
                    if inbox.len() < complete {
                        break;
                    }
                    inbox.drain(..complete);
                    self.requests.extend(seen_request(&head, now_ns));
                    actions.push(PeerAction::Send(ANSWER.to_vec()));
                }
                if !inbox.is_empty() {
                    self.inbox.insert(conn, inbox);
                }
            }
            PeerEvent::Closed => {
                self.inbox.remove(&conn);
            }
            PeerEvent::Connected | PeerEvent::Timer(_) => {}
        }
        actions
    }
}

fn head_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines().find_map(|line| {
        let (own, value) = line.split_once(':')?;
        own.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

fn seen_request(head: &str, at_ns: u64) -> Option<SeenRequest> {
    let mut words = head.lines().next()?.split(' ');
    Some(SeenRequest {
        method: words.next()?.to_owned(),
        target: words.next()?.to_owned(),
        user: header(head, USER_HEADER)?.parse().ok()?,
        session: 0,
        at_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
target: http://model.test/
options: { headers: { x-throng-user: "${user}" } }
sessions:
  reader: { weight: 3, steps: [ { get: /a }, { think: 2s }, { post: /b, body: "some text" } ] }
  other: { weight: 1, steps: [ { get: "/c?d=e" } ] }
arrivals: [ { constant: 1/s, for: 20s }, { hold: 3s } ]
"#;

    fn simulated(text: &str) -> Vec<SeenRequest> {
        simulate(&crate::testing::plan(text)).expect("the plan can be run")
    }

    #[test]
    fn users_present_at_the_end_finish() {
        let requests = simulated(&TEXT.replace("hold: 3s", "hold: 1ms"));
        let of = |target: &str| requests.iter().filter(|a| a.target == target).count();
        assert!(of("/a") > 10 && of("/b") == of("/a"), "{requests:?}");
    }

    #[test]
    fn the_server_sees_user_target_and_time() {
        let requests = simulated(TEXT);
        let of = |target: &str| requests.iter().filter(|a| a.target == target).collect::<Vec<_>>();
        assert_eq!(of("/a").len() + of("/c?d=e").len(), 20);
        assert!(of("/a").len() > 10);
        for first in of("/a") {
            let second = requests.iter().find(|a| a.user == first.user && a.target == "/b");
            let second = second.expect("a reader continues");
            assert_eq!(
                (second.at_ns - first.at_ns, second.session),
                (2_000_000_000, first.session)
            );
        }
        assert!(of("/c?d=e").iter().all(|a| a.session != of("/a")[0].session));
    }
}
