//! Recorded sessions: which are kept, and how often each is drawn.
//!
//! A scenario has room for a part of a log's sessions. They are a random sample, taken evenly over the lengths; each
//! stands for the log's sessions of its length, so that lengths are distributed as in the log.

use std::collections::{BTreeMap, BinaryHeap};

use stats::rng::Rng;

use crate::sessions::Visit;

/// Maximum number of requests of all sequences together, approximately.
pub(crate) const SEQUENCE_REQUESTS_MAX: usize = 8_000;
/// Longer sessions are not kept: there is room for twenty of this length.
pub(crate) const REQUESTS_MAX: usize = SEQUENCE_REQUESTS_MAX / 20;

/// Least weight of a session: a branch of a scenario can be chosen.
const WEIGHT_MIN: f64 = 1e-3;

/// A session: for each request its class and the seconds since the one before.
pub(crate) type Sequence = Vec<(usize, f64)>;

/// A random sample of sessions, as they come: those with the least random numbers, as long as all their requests are no
/// more than a scenario has room for.
#[derive(Debug)]
pub(crate) struct Sample {
    sessions_max: usize,
    kept: BinaryHeap<RecordedSession>,
    requests: usize,
    /// Sessions of this random number or a greater one have been left out.
    limit: u64,
    /// Sessions too long to be kept.
    pub(crate) too_long: u64,
    rng: Rng,
}

#[derive(Debug, PartialEq)]
struct RecordedSession {
    number: u64,
    /// The places in the log of its requests.
    orders: Vec<u64>,
    sequence: Sequence,
}

impl Eq for RecordedSession {}

impl Ord for RecordedSession {
    fn cmp(&self, other: &RecordedSession) -> std::cmp::Ordering {
        (self.number, &self.orders).cmp(&(other.number, &other.orders))
    }
}

impl PartialOrd for RecordedSession {
    fn partial_cmp(&self, other: &RecordedSession) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Sample {
    pub(crate) fn new(sessions_max: usize, rng: Rng) -> Sample {
        Sample {
            sessions_max,
            kept: BinaryHeap::new(),
            requests: 0,
            limit: u64::MAX,
            too_long: 0,
            rng,
        }
    }

    fn is_full(&self) -> bool {
        self.kept.len() > self.sessions_max || self.requests > SEQUENCE_REQUESTS_MAX
    }

    pub(crate) fn add(&mut self, visits: &[Visit], class_of: &[u16]) {
        if visits.len() > REQUESTS_MAX {
            self.too_long += 1;
            return;
        }
        let number = self.rng.next_u64();
        if number >= self.limit {
            return;
        }
        let mut before = visits[0].time_ns;
        let steps = visits.iter().map(|visit| {
            let seconds = (visit.time_ns - before) as f64 / 1e9;
            before = visit.time_ns;
            (usize::from(class_of[visit.route as usize]), seconds)
        });
        self.kept.push(RecordedSession {
            number,
            sequence: steps.collect(),
            orders: visits.iter().map(|visit| visit.order).collect(),
        });
        self.requests += visits.len();
        while self.is_full() {
            let Some(last) = self.kept.pop() else {
                return;
            };
            self.requests -= last.sequence.len();
            self.limit = last.number;
        }
    }

    /// The sessions and the places of their requests, the shortest first.
    pub(crate) fn sessions(&self) -> (Vec<Sequence>, Vec<Vec<u64>>) {
        let mut kept: Vec<&RecordedSession> = self.kept.iter().collect();
        kept.sort_by_key(|one| (one.sequence.len(), one.number));
        let parts = kept.into_iter();
        parts.map(|one| (one.sequence.clone(), one.orders.clone())).unzip()
    }
}

/// Places of `taken` of `kept` sessions, evenly over all of them.
pub(crate) fn spread(taken: usize, kept: usize) -> impl Iterator<Item = usize> {
    (0..taken).map(move |number| (2 * number + 1) * kept / (2 * taken))
}

/// How often the sessions at these places are drawn: each stands for the log's sessions of its length, and of lengths
/// that none of these has if they are nearest to its own. `lengths`: the log's sessions by length.
pub(crate) fn weights(
    lengths: &BTreeMap<u64, u64>,
    sequences: &[Sequence],
    places: &[usize],
) -> Vec<f64> {
    let length = |place: &usize| sequences[*place].len() as u64;
    let mut of_length: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    for place in places {
        of_length.entry(length(place)).or_default().0 += 1.0;
    }
    let kept: Vec<u64> = of_length.keys().copied().collect();
    let short = lengths.iter();
    for (&of_log, &sessions) in short.filter(|(length, _)| **length <= REQUESTS_MAX as u64) {
        let nearest = kept.iter().min_by_key(|length| length.abs_diff(of_log));
        if let Some(entry) = nearest.and_then(|length| of_length.get_mut(length)) {
            entry.1 += sessions as f64;
        }
    }
    let weight = |place: &usize| {
        let (kept, sessions) = of_length[&length(place)];
        (sessions / kept).max(WEIGHT_MIN)
    };
    places.iter().map(weight).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::rng::Purpose;

    fn visits(session: u64, length: usize) -> Vec<Visit> {
        let visit = |request: usize| Visit {
            order: session << 16 | request as u64,
            time_ns: 1_000_000_000 * request as i64,
            route: 0,
            status: 200,
        };
        (0..length).map(visit).collect()
    }

    #[test]
    fn sample_is_even_and_bounded() {
        let mut first_half = 0;
        for seed in 0..20 {
            let mut sample = Sample::new(100, Rng::new(seed, 2, Purpose::Resample));
            for session in 0..1_000 {
                sample.add(&visits(session, 1 + session as usize % 5), &[0]);
            }
            let (sessions, orders) = sample.sessions();
            assert_eq!((sessions.len(), orders.len()), (100, 100));
            assert!(sessions.is_sorted_by_key(Vec::len));
            first_half += orders.iter().filter(|o| o[0] >> 16 < 500).count();
        }
        // 1,000 ± 21 of the 2,000 are expected.
        assert!((900..=1_100).contains(&first_half), "{first_half}");
        let mut sample = Sample::new(usize::MAX, Rng::new(1, 2, Purpose::Resample));
        for session in 0..1_000 {
            sample.add(&visits(session, 300), &[0]);
        }
        sample.add(&visits(1_000, REQUESTS_MAX + 1), &[0]);
        let (sessions, _) = sample.sessions();
        let requests: usize = sessions.iter().map(Vec::len).sum();
        assert!((7_000..=SEQUENCE_REQUESTS_MAX).contains(&requests));
        assert_eq!(sample.too_long, 1);
    }

    #[test]
    fn spread_places_are_even() {
        assert_eq!(spread(3, 9).collect::<Vec<_>>(), [1, 4, 7]);
        assert_eq!(spread(4, 4).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(spread(1, 10).collect::<Vec<_>>(), [5]);
    }
}
