//! Which recorded requests were in flight at the same time, and what that means for the steps.
//!
//! Requests that overlap are a cluster. Within it each has a lane: one after the other in a lane, with the pauses
//! between them, and the lanes at the same time. A lane becomes a branch, which does not see what other branches save.
//! So a request that takes a value from another lane of its cluster begins a cluster of its own.

use super::read::Exchange;
use super::reuse::Reuse;

/// Most branches of a step.
const LANES_MAX: usize = 64;

/// Requests one after the other.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lane {
    /// Exchanges by their number.
    pub(super) exchanges: Vec<usize>,
    end_ms: f64,
}

/// Requests that overlap.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cluster {
    pub(super) start_ms: f64,
    pub(super) end_ms: f64,
    pub(super) lanes: Vec<Lane>,
}

/// A part of the recording.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Cluster(Cluster),
    /// A stream or a WebSocket is opened.
    Stream(usize),
    /// A message is sent over the WebSocket of an exchange.
    Send {
        exchange: usize,
        message: usize,
    },
}

/// The parts of a recording in the order of the session.
pub(super) fn parts(exchanges: &[Exchange], reuse: &Reuse) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut open: Option<Cluster> = None;
    let mut sends = sends(exchanges).into_iter().peekable();
    for (index, exchange) in exchanges.iter().enumerate() {
        while let Some(send) = sends.next_if(|send| send.at_ms < exchange.start_ms) {
            add_send(&send, &mut open, &mut parts);
        }
        if exchange.is_stream {
            let takes_from = |cluster: &Cluster| {
                let mut used = reuse.used_by(index);
                used.any(|source| cluster.lanes.iter().any(|lane| lane.exchanges.contains(&source)))
            };
            // Within the cluster it opens before it: no branch can open one.
            let is_after =
                |cluster: &Cluster| exchange.start_ms >= cluster.end_ms || takes_from(cluster);
            if open.as_ref().is_some_and(is_after) {
                parts.extend(open.take().map(Part::Cluster));
            }
            parts.push(Part::Stream(index));
            continue;
        }
        let has_joined = match &mut open {
            Some(cluster) => cluster.join(index, exchange, reuse),
            None => false,
        };
        if !has_joined {
            parts.extend(open.replace(Cluster::new(index, exchange)).map(Part::Cluster));
        }
    }
    for send in sends {
        add_send(&send, &mut open, &mut parts);
    }
    parts.extend(open.map(Part::Cluster));
    parts
}

/// A message, and when it was sent.
struct Outgoing {
    at_ms: f64,
    exchange: usize,
    message: usize,
}

/// All messages by their times.
fn sends(exchanges: &[Exchange]) -> Vec<Outgoing> {
    let mut sends = Vec::new();
    for (exchange, own) in exchanges.iter().enumerate() {
        let messages = own.websocket.iter().flat_map(|websocket| &websocket.messages);
        sends.extend(messages.enumerate().map(|(message, sent)| Outgoing {
            at_ms: sent.at_ms,
            exchange,
            message,
        }));
    }
    sends.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
    sends
}

/// Adds a message behind the requests that have ended. Within a cluster it stands before it: no branch can send one.
fn add_send(send: &Outgoing, open: &mut Option<Cluster>, parts: &mut Vec<Part>) {
    if open.as_ref().is_some_and(|cluster| send.at_ms >= cluster.end_ms) {
        parts.extend(open.take().map(Part::Cluster));
    }
    parts.push(Part::Send { exchange: send.exchange, message: send.message });
}

fn end_of(exchange: &Exchange) -> f64 {
    exchange.start_ms + exchange.length_ms
}

impl Cluster {
    fn new(index: usize, exchange: &Exchange) -> Cluster {
        let end_ms = end_of(exchange);
        let lane = Lane { exchanges: vec![index], end_ms };
        Cluster { start_ms: exchange.start_ms, end_ms, lanes: vec![lane] }
    }

    /// Takes the exchange in; false if it belongs to the next cluster.
    fn join(&mut self, index: usize, exchange: &Exchange, reuse: &Reuse) -> bool {
        if exchange.start_ms >= self.end_ms {
            return false;
        }
        let mut needed = None;
        for source in reuse.used_by(index) {
            let lane = self.lanes.iter().position(|lane| lane.exchanges.contains(&source));
            match (lane, needed) {
                (None, _) => {}
                (Some(lane), None) => needed = Some(lane),
                (Some(lane), Some(known)) if lane == known => {}
                (Some(_), Some(_)) => return false,
            }
        }
        let is_free = |lane: &Lane| lane.end_ms <= exchange.start_ms;
        let lane = match needed {
            Some(lane) if is_free(&self.lanes[lane]) => lane,
            Some(_) => return false,
            None => {
                let free = self.lanes.iter().enumerate().filter(|(_, lane)| is_free(lane));
                let latest = free.max_by(|(_, a), (_, b)| a.end_ms.total_cmp(&b.end_ms));
                match latest {
                    Some((lane, _)) => lane,
                    None if self.lanes.len() == LANES_MAX => return false,
                    None => {
                        self.lanes.push(Lane { exchanges: Vec::new(), end_ms: 0.0 });
                        self.lanes.len() - 1
                    }
                }
            }
        };
        let end_ms = end_of(exchange);
        self.lanes[lane].exchanges.push(index);
        self.lanes[lane].end_ms = end_ms;
        self.end_ms = self.end_ms.max(end_ms);
        true
    }
}
