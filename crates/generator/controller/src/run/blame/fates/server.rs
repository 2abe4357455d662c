//! The server of a case: its plan says how each request is answered, and it does what the plan says.

use std::collections::HashMap;

use engine::sim::{Peer, PeerAction, PeerConn, PeerEvent};
use stats::rng::{Purpose, Rng};

const MS: u64 = 1_000_000;

/// The kind of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerKind {
    /// Success with a value.
    Value,
    /// Success without the value.
    NoValue,
    /// Status 500, without the value.
    Status,
    /// The connection is closed.
    Close,
    /// The connection is reset.
    Reset,
    /// There is none.
    Silence,
}

/// An answer, and the time from the request until it is sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    pub(super) kind: AnswerKind,
    pub(super) after_ns: u64,
}

/// The answers to all requests that users may send: they follow from the step, the user and the time.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerPlan {
    number: u64,
    /// Faults among the weights of answers, of which success has 100; none in every second case.
    faults: u64,
    after_ms_max: u64,
}

impl ServerPlan {
    pub(super) fn new(number: u64) -> ServerPlan {
        let mut rng = Rng::new(number, 2, Purpose::Resample);
        let after_ms_max = [5, 100, 600][rng.below(3) as usize];
        ServerPlan { number, faults: rng.below(2) * 60, after_ms_max }
    }

    fn draws(self, id: u64, user: u64, now_ns: u64) -> Rng {
        Rng::new((self.number << 40) ^ now_ns, (user << 16) | id, Purpose::Resample)
    }

    /// The answer to a request that comes now. Its time is random to the nanosecond, so that hardly two come at once.
    pub(super) fn answer(self, id: u64, user: u64, now_ns: u64) -> Answer {
        let mut rng = self.draws(id, user, now_ns);
        let kind = match rng.below(100 + self.faults) {
            0..=99 => AnswerKind::Value,
            100..=109 => AnswerKind::NoValue,
            110..=129 => AnswerKind::Status,
            130..=139 => AnswerKind::Close,
            140..=149 => AnswerKind::Reset,
            _ => AnswerKind::Silence,
        };
        let after_ns = 1 + rng.below(self.after_ms_max * MS);
        Answer { kind, after_ns }
    }

    /// The time from the opening of an event stream until the server sends a message; `None`: it sends none. A request follows the
    /// opening at once: the message comes before, with or after its answer.
    pub(super) fn push_after_ns(self, id: u64, user: u64, opened_ns: u64) -> Option<u64> {
        let answer_ns = self.answer(id, user, opened_ns).after_ns;
        let mut rng = self.draws(id, user, opened_ns).skip(8);
        match rng.below(4) {
            0 => Some(answer_ns / 2),
            1 => Some(answer_ns),
            2 => Some(answer_ns + 1 + rng.below(500 * MS)),
            _ => None,
        }
    }
}

/// A request, as its first line has it.
struct Received {
    opens_stream: bool,
    id: u64,
    user: u64,
}

impl Received {
    /// `None`: it is not whole yet. Requests have no body.
    fn read(bytes: &[u8]) -> Option<Received> {
        let text = std::str::from_utf8(bytes).expect("requests of these cases are text");
        text.ends_with("\r\n\r\n").then(|| {
            let path = text.split(' ').nth(1).expect("a request has a path");
            let (step, user) = path[1..].split_once('/').expect("a path has a step and a user");
            Received {
                opens_stream: step.starts_with('e'),
                id: step[1..].parse().expect("the number of a step"),
                user: user.parse().expect("the number of a user"),
            }
        })
    }
}

/// The server.
pub(super) struct Server {
    plan: ServerPlan,
    inbox: HashMap<PeerConn, Vec<u8>>,
    due: HashMap<u64, PeerAction>,
    count: u64,
}

impl Server {
    pub(super) fn new(plan: ServerPlan) -> Server {
        Server { plan, inbox: HashMap::new(), due: HashMap::new(), count: 0 }
    }

    fn at(&mut self, at_ns: u64, action: PeerAction) -> PeerAction {
        self.count += 1;
        self.due.insert(self.count, action);
        PeerAction::Timer { at_ns, number: self.count }
    }

    fn open_stream(&mut self, now_ns: u64, received: &Received) -> Vec<PeerAction> {
        let &Received { id, user, .. } = received;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        let push = self.plan.push_after_ns(id, user, now_ns).map(|after_ns| {
            let event = format!("data: {{\"text\":\"m{id}\"}}\n\n");
            self.at(now_ns + after_ns, PeerAction::Send(event.into_bytes()))
        });
        let head = PeerAction::Send(head.as_bytes().to_vec());
        std::iter::once(head).chain(push).collect()
    }

    fn answer(&mut self, now_ns: u64, received: &Received) -> Vec<PeerAction> {
        let answer = self.plan.answer(received.id, received.user, now_ns);
        let action = match answer.kind {
            AnswerKind::Value => response("200 OK", "{\"v\":1}"),
            AnswerKind::NoValue => response("200 OK", "{\"w\":1}"),
            AnswerKind::Status => response("500 Internal Server Error", "{\"w\":1}"),
            AnswerKind::Close => PeerAction::Close,
            AnswerKind::Reset => PeerAction::Reset,
            AnswerKind::Silence => return Vec::new(),
        };
        vec![self.at(now_ns + answer.after_ns, action)]
    }
}

fn response(status: &str, body: &str) -> PeerAction {
    let length = body.len();
    let text = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}");
    PeerAction::Send(text.into_bytes())
}

impl Peer for Server {
    fn handle(&mut self, now_ns: u64, conn: PeerConn, event: PeerEvent) -> Vec<PeerAction> {
        match event {
            PeerEvent::Received(bytes) => {
                let inbox = self.inbox.entry(conn).or_default();
                inbox.extend(bytes);
                let Some(received) = Received::read(inbox) else {
                    return Vec::new();
                };
                inbox.clear();
                match received.opens_stream {
                    true => self.open_stream(now_ns, &received),
                    false => self.answer(now_ns, &received),
                }
            }
            PeerEvent::Timer(number) => self.due.remove(&number).into_iter().collect(),
            PeerEvent::Connected | PeerEvent::Closed => Vec::new(),
        }
    }
}
