//! What clients did and saw, and whether a queue can have answered so.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use testkit::queue_client::Message;

/// A server that lost its client may work on the client's request for this much longer.
const AFTERLIFE: Duration = Duration::from_secs(2);

/// When a request was sent, and when its answer or its failure came, since the beginning.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) start: Duration,
    pub(crate) end: Duration,
}

/// How a request ended.
#[derive(Debug)]
pub(crate) enum Ending<T> {
    Answered(T),
    /// It was not carried out.
    Refused,
    /// Nobody knows.
    Unknown,
}

#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) queue: u32,
    pub(crate) sender: u32,
    pub(crate) receiver: u32,
    pub(crate) text: String,
    pub(crate) span: Span,
    pub(crate) ending: Ending<u64>,
}

#[derive(Debug)]
pub(crate) struct Popped {
    pub(crate) queue: u32,
    pub(crate) receiver: u32,
    pub(crate) span: Span,
    pub(crate) ending: Ending<Option<Message>>,
}

/// What all clients did, and what the database has at the end.
#[derive(Debug, Default)]
pub(crate) struct Account {
    pub(crate) sent: Vec<Sent>,
    pub(crate) popped: Vec<Popped>,
    /// Ids and texts.
    pub(crate) left: Vec<(u64, String)>,
}

/// The sums, for people.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) sends_acknowledged: usize,
    pub(crate) sends_unknown: usize,
    pub(crate) sends_refused: usize,
    pub(crate) pops_of_a_message: usize,
    pub(crate) pops_of_none: usize,
    pub(crate) pops_unknown: usize,
    pub(crate) pops_refused: usize,
    pub(crate) left: usize,
    /// Acknowledged, and neither popped by an answered pop nor left.
    pub(crate) lost_with_an_answer: usize,
    pub(crate) pairs_compared: usize,
}

/// Messages that were acknowledged by some time, and of them the one that was there the longest.
struct Arrivals<'a> {
    by: Duration,
    longest: &'a Sent,
    /// The latest time at which it can still have been there.
    gone: Duration,
}

/// Sorts what stands for one message each; then each stands for all up to it.
fn accumulate(arrivals: &mut [Arrivals]) {
    arrivals.sort_by_key(|arrivals| arrivals.by);
    for at in 1..arrivals.len() {
        let longest = arrivals[at - 1].longest;
        let gone = arrivals[at - 1].gone;
        if gone > arrivals[at].gone {
            arrivals[at].longest = longest;
            arrivals[at].gone = gone;
        }
    }
}

impl Account {
    /// Checks every rule.
    ///
    /// # Panics
    /// When one is broken.
    pub(crate) fn settle(&self) -> Sums {
        let sent: HashMap<&str, &Sent> =
            self.sent.iter().map(|sent| (sent.text.as_str(), sent)).collect();
        assert_eq!(sent.len(), self.sent.len(), "the test sends texts twice");
        let mut seen = HashSet::new();
        let mut took = HashMap::new();
        for popped in &self.popped {
            let Ending::Answered(Some(message)) = &popped.ending else {
                continue;
            };
            let origin = sent.get(message.text.as_str());
            let origin = origin.unwrap_or_else(|| panic!("invented: {message:?}"));
            let as_sent = (origin.queue, origin.sender, origin.receiver);
            assert_eq!((message.queue, message.sender, message.receiver), as_sent);
            assert_eq!(message.queue, popped.queue);
            assert!(message.receiver == 0 || message.receiver == popped.receiver, "{message:?}");
            self.assert_could_be(origin, message.id);
            assert!(seen.insert(message.text.as_str()), "popped twice: {message:?}");
            took.insert(message.text.as_str(), popped);
        }
        for (id, text) in &self.left {
            let origin = sent.get(text.as_str());
            self.assert_could_be(origin.unwrap_or_else(|| panic!("invented: {text}")), *id);
            assert!(seen.insert(text), "popped and still there, or there twice: {text}");
        }
        let lost = self.assert_losses_are_explained(&seen);
        let mut sums = self.sums();
        sums.lost_with_an_answer = lost;
        sums.pairs_compared = self.assert_order(&took);
        sums
    }

    /// A message that is there was sent, and has the id that its sender got.
    fn assert_could_be(&self, origin: &Sent, id: u64) {
        match origin.ending {
            Ending::Answered(acknowledged) => assert_eq!(acknowledged, id, "{origin:?}"),
            Ending::Unknown => {}
            Ending::Refused => panic!("refused, and yet there: {origin:?}"),
        }
    }

    /// What was acknowledged and is gone was taken by a pop whose answer was lost: each such pop explains one.
    fn assert_losses_are_explained(&self, seen: &HashSet<&str>) -> usize {
        let mut lost: BTreeMap<u32, usize> = BTreeMap::new();
        for sent in &self.sent {
            if matches!(sent.ending, Ending::Answered(_)) && !seen.contains(sent.text.as_str()) {
                *lost.entry(sent.queue).or_default() += 1;
            }
        }
        for (queue, count) in &lost {
            let unknown = self.popped.iter().filter(|popped| {
                popped.queue == *queue && matches!(popped.ending, Ending::Unknown)
            });
            let unknown = unknown.count();
            assert!(
                *count <= unknown,
                "queue {queue}: {count} lost, {unknown} pops without an answer"
            );
        }
        lost.values().sum()
    }

    /// Whoever got a message, got it when every older one that it could have had was taken or being taken. How many pairs
    /// of messages that speaks of.
    fn assert_order(&self, took: &HashMap<&str, &Popped>) -> usize {
        let left: HashSet<&str> = self.left.iter().map(|(_, text)| text.as_str()).collect();
        let mut arrivals: HashMap<(u32, u32), Vec<Arrivals>> = HashMap::new();
        let acknowledged = |sent: &&Sent| matches!(sent.ending, Ending::Answered(_));
        for sent in self.sent.iter().filter(acknowledged) {
            let text = sent.text.as_str();
            let taken = took.get(text).map(|popped| popped.span.start);
            // Of what is neither taken nor left, nobody knows when it was taken.
            let unless_taken = match left.contains(text) {
                true => Duration::MAX,
                false => Duration::ZERO,
            };
            let of_receiver = arrivals.entry((sent.queue, sent.receiver));
            of_receiver.or_default().push(Arrivals {
                by: sent.span.end,
                longest: sent,
                gone: taken.unwrap_or(unless_taken),
            });
        }
        for of_receiver in arrivals.values_mut() {
            accumulate(of_receiver);
        }
        let unknown: Vec<&Popped> =
            self.popped.iter().filter(|popped| matches!(popped.ending, Ending::Unknown)).collect();
        let mut compared = 0;
        for newer in self.sent.iter().filter(acknowledged) {
            let Some(by) = took.get(newer.text.as_str()) else {
                continue;
            };
            // A pop that was cut off may have held the older one's row.
            let is_excused = unknown.iter().any(|other| {
                let ends = other.span.end + AFTERLIFE;
                other.queue == by.queue && other.span.start < by.span.end && by.span.start < ends
            });
            if is_excused {
                continue;
            }
            for receiver in [0, by.receiver] {
                let Some(of_receiver) = arrivals.get(&(newer.queue, receiver)) else {
                    continue;
                };
                let older = of_receiver.partition_point(|older| older.by < newer.span.start);
                compared += older;
                if let Some(older) = of_receiver[..older].last() {
                    let in_order = older.gone <= by.span.end;
                    let longest = older.longest;
                    assert!(in_order, "{by:?} came before {longest:?}, which is older");
                }
            }
        }
        compared
    }

    fn sums(&self) -> Sums {
        let mut sums = Sums { left: self.left.len(), ..Sums::default() };
        for sent in &self.sent {
            *match sent.ending {
                Ending::Answered(_) => &mut sums.sends_acknowledged,
                Ending::Refused => &mut sums.sends_refused,
                Ending::Unknown => &mut sums.sends_unknown,
            } += 1;
        }
        for popped in &self.popped {
            *match popped.ending {
                Ending::Answered(Some(_)) => &mut sums.pops_of_a_message,
                Ending::Answered(None) => &mut sums.pops_of_none,
                Ending::Refused => &mut sums.pops_refused,
                Ending::Unknown => &mut sums.pops_unknown,
            } += 1;
        }
        sums
    }
}

/// The rules catch what they are for.
mod tests {
    use super::*;

    fn at(second: u64) -> Span {
        Span { start: Duration::from_secs(second), end: Duration::from_millis(second * 1_000 + 1) }
    }

    fn sent(id: u64, second: u64) -> Sent {
        Sent {
            queue: 1,
            sender: 5,
            receiver: 0,
            text: format!("text {id}"),
            span: at(second),
            ending: Ending::Answered(id),
        }
    }

    fn popped(id: u64, second: u64) -> Popped {
        let message = Message {
            id,
            queue: 1,
            sender: 5,
            receiver: 0,
            arrival_us: 0,
            text: format!("text {id}"),
        };
        Popped { queue: 1, receiver: 7, span: at(second), ending: Ending::Answered(Some(message)) }
    }

    fn unknown(second: u64) -> Popped {
        Popped { ending: Ending::Unknown, ..popped(0, second) }
    }

    fn account(sent: Vec<Sent>, popped: Vec<Popped>) -> Account {
        Account { sent, popped, left: Vec::new() }
    }

    #[test]
    fn a_queue_in_order_is_settled() {
        let mut account =
            account(vec![sent(1, 1), sent(2, 2), sent(3, 3)], vec![popped(1, 4), popped(2, 5)]);
        account.left.push((3, "text 3".to_owned()));
        let sums = account.settle();
        assert_eq!((sums.pops_of_a_message, sums.left, sums.pairs_compared), (2, 1, 1));
    }

    #[test]
    fn a_lost_answer_explains_one_message() {
        let sums = account(vec![sent(1, 1)], vec![unknown(2)]).settle();
        assert_eq!(sums.lost_with_an_answer, 1);
    }

    #[test]
    #[should_panic = "2 lost, 1 pops without an answer"]
    fn a_lost_answer_explains_no_more() {
        account(vec![sent(1, 1), sent(2, 1)], vec![unknown(2)]).settle();
    }

    #[test]
    #[should_panic = "popped twice"]
    fn a_second_pop_is_found() {
        account(vec![sent(1, 1)], vec![popped(1, 2), popped(1, 3)]).settle();
    }

    #[test]
    #[should_panic = "invented"]
    fn an_invented_message_is_found() {
        account(vec![sent(1, 1)], vec![popped(2, 2)]).settle();
    }

    #[test]
    #[should_panic = "refused, and yet there"]
    fn a_refused_send_that_happened_is_found() {
        let mut refused = sent(1, 1);
        refused.ending = Ending::Refused;
        account(vec![refused], vec![popped(1, 2)]).settle();
    }

    #[test]
    #[should_panic = "which is older"]
    fn a_newer_message_before_an_older_one_is_found() {
        account(vec![sent(1, 1), sent(2, 2)], vec![popped(2, 3), popped(1, 4)]).settle();
    }
}
