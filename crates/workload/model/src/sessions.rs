//! Sessions: the requests of a user, up to a gap without any.

use std::io;

use serde::{Deserialize, Serialize};

use crate::request_record::{NO_SEGMENT, RequestRecord};
use crate::robots::{HeavyUser, HeavyUsers};
use crate::sorter::{Run, merge};

/// The gap if the log does not show one.
const USUAL_GAP_S: f64 = 1800.0;
/// Range in which a valley is looked for.
const VALLEY_FROM_S: f64 = 60.0;
const VALLEY_UPTO_S: f64 = 6.0 * 3600.0;
/// How far below the peaks to both sides the valley must lie.
const VALLEY_DEPTH: f64 = 0.5;
/// Minimum number of times on each side of the valley.
const PEAK_MIN: u64 = 20;
/// Bins of the gaps' histogram in a doubling of time, and doublings.
const BINS_IN_OCTAVE: usize = 4;
const OCTAVES: usize = 24;
/// Gaps whose number of sessions is reported, seconds.
const CANDIDATES_S: [f64; 7] = [60.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0];
/// Maximum number of requests of a session; more make another.
pub(crate) const REQUESTS_MAX: usize = 100_000;

/// The inactivity gap, and why it is that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct Gap {
    /// Seconds.
    pub seconds: f64,
    /// `given`, `valley` or `usual`.
    pub why: GapReason,
    /// How many sessions there would be with other gaps: seconds, sessions.
    pub others: Vec<(f64, u64)>,
    /// How often a session was cut because it had the maximum number of requests.
    #[serde(default)]
    pub cuts: u64,
    /// Times between two requests of one user: from seconds, how many; four bins in each doubling.
    pub histogram: Vec<(f64, u64)>,
}

/// Why a gap was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ts_rs::TS)]
#[serde(rename_all = "lowercase")]
pub enum GapReason {
    /// It was requested.
    Given,
    /// It is the valley between the two peaks of the times between requests.
    Valley,
    /// There is no valley: the usual half hour.
    Usual,
}

/// The result of a first pass over all requests.
#[derive(Debug)]
pub(crate) struct Survey {
    pub(crate) route_requests: Vec<u64>,
    pub(crate) segment_requests: Vec<u64>,
    pub(crate) users: u64,
    pub(crate) gap: Gap,
}

/// Counts all requests but those of the users left out, and finds the gap.
pub(crate) fn survey(
    runs: &[Run<RequestRecord>],
    step_ns: u64,
    routes_count: usize,
    segments_count: usize,
    given_s: Option<f64>,
    left_out: &[u64],
) -> io::Result<Survey> {
    let mut route_requests = vec![0; routes_count];
    let mut segment_requests = vec![0; segments_count];
    let mut bins = vec![0_u64; BINS_IN_OCTAVE * OCTAVES];
    let mut longer = [0_u64; CANDIDATES_S.len()];
    let mut users = 0;
    let mut last: Option<RequestRecord> = None;
    merge(runs, |request| {
        if left_out.contains(&request.key) {
            return;
        }
        let request = shown(request, step_ns);
        route_requests[request.route as usize] += 1;
        if request.segment != NO_SEGMENT {
            segment_requests[usize::from(request.segment)] += 1;
        }
        match last.filter(|last| last.key == request.key) {
            Some(last) => {
                let gap_s = (request.time_ns - last.time_ns) as f64 / 1e9;
                bins[bin(gap_s)] += 1;
                for (candidate, count) in CANDIDATES_S.iter().zip(&mut longer) {
                    *count += u64::from(gap_s > *candidate);
                }
            }
            None => users += 1,
        }
        last = Some(request);
    })?;
    let (seconds, why) = match (given_s, valley(&bins)) {
        (Some(given), _) => (given, GapReason::Given),
        (None, Some(valley)) => (valley, GapReason::Valley),
        (None, None) => (USUAL_GAP_S, GapReason::Usual),
    };
    let others = CANDIDATES_S.iter().zip(longer).map(|(&s, longer)| (s, users + longer));
    let histogram = bins.iter().enumerate().map(|(bin, &count)| (from_s(bin), count));
    Ok(Survey {
        route_requests,
        segment_requests,
        users,
        gap: Gap {
            seconds,
            why,
            others: others.collect(),
            cuts: 0,
            histogram: histogram.collect(),
        },
    })
}

/// The users with far more requests than others have.
pub(crate) fn heavy_users(runs: &[Run<RequestRecord>]) -> io::Result<Vec<HeavyUser>> {
    let mut users = HeavyUsers::default();
    merge(runs, |request| users.request(request.key, request.order))?;
    Ok(users.finish())
}

/// The request as a clock of this step shows it. Their order stays.
fn shown(request: RequestRecord, step_ns: u64) -> RequestRecord {
    let beyond_ns = request.time_ns.rem_euclid(step_ns.max(1).cast_signed());
    RequestRecord { time_ns: request.time_ns - beyond_ns, ..request }
}

/// The bin of a time; what is below a second is in the first.
fn bin(gap_s: f64) -> usize {
    let octaves = gap_s.max(1.0).log2();
    ((octaves * BINS_IN_OCTAVE as f64) as usize).min(BINS_IN_OCTAVE * OCTAVES - 1)
}

fn from_s(bin: usize) -> f64 {
    2_f64.powf(bin as f64 / BINS_IN_OCTAVE as f64)
}

/// The middle, on a logarithmic scale, of the lowest stretch between two peaks, rounded to the second.
fn valley(bins: &[u64]) -> Option<f64> {
    let smooth = |at: usize| {
        let near = &bins[at.saturating_sub(1)..(at + 2).min(bins.len())];
        near.iter().sum::<u64>() as f64 / near.len() as f64
    };
    let first = bin(VALLEY_FROM_S);
    let last = bin(VALLEY_UPTO_S);
    let lowest = (first..=last).map(smooth).fold(f64::INFINITY, f64::min);
    let begin = (first..=last).find(|&at| smooth(at) <= lowest)?;
    let end = (begin..=last).take_while(|&at| smooth(at) <= lowest).last()?;
    let before = (0..begin).map(smooth).fold(0.0, f64::max);
    let behind = (end + 1..bins.len()).map(smooth).fold(0.0, f64::max);
    let sides = [&bins[..begin], &bins[(end + 1).min(bins.len())..]];
    let peaks = sides.map(|side| side.iter().sum::<u64>() >= PEAK_MIN);
    let deep = lowest <= VALLEY_DEPTH * before.min(behind);
    let middle = (from_s(begin) * from_s(end + 1)).sqrt();
    // The bins at both ends reach beyond.
    let middle = middle.clamp(VALLEY_FROM_S, VALLEY_UPTO_S);
    (deep && peaks == [true; 2]).then(|| middle.round())
}

/// A request of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Visit {
    pub(crate) time_ns: i64,
    /// The line's place among all lines.
    pub(crate) order: u64,
    pub(crate) route: u32,
    pub(crate) status: u16,
}

/// Calls `each` with every session of the users that are not left out: its segment, if a request has one, and its requests in their order. Returns how
/// often one was cut for its length.
pub(crate) fn sessions(
    runs: &[Run<RequestRecord>],
    step_ns: u64,
    gap_s: f64,
    left_out: &[u64],
    mut each: impl FnMut(u16, &[Visit]),
) -> io::Result<u64> {
    let gap_ns = (gap_s * 1e9) as i64;
    let mut visits: Vec<Visit> = Vec::new();
    let mut segment = NO_SEGMENT;
    let mut key = 0;
    let mut cuts = 0;
    merge(runs, |request| {
        if left_out.contains(&request.key) {
            return;
        }
        let request = shown(request, step_ns);
        let ends = visits
            .last()
            .is_some_and(|last| request.key != key || request.time_ns - last.time_ns > gap_ns);
        let cut = !ends && visits.len() == REQUESTS_MAX;
        cuts += u64::from(cut);
        if ends || cut {
            each(segment, &visits);
            visits.clear();
            segment = NO_SEGMENT;
        }
        key = request.key;
        if segment == NO_SEGMENT {
            segment = request.segment;
        }
        visits.push(Visit {
            time_ns: request.time_ns,
            order: request.order,
            route: request.route,
            status: request.status,
        });
    })?;
    if !visits.is_empty() {
        each(segment, &visits);
    }
    Ok(cuts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(times: &[(u64, i64)]) -> Vec<Run<RequestRecord>> {
        let mut requests: Vec<RequestRecord> = times
            .iter()
            .enumerate()
            .map(|(order, &(key, s))| RequestRecord {
                key,
                time_ns: s * 1_000_000_000,
                order: order as u64,
                route: 0,
                segment: NO_SEGMENT,
                status: 200,
            })
            .collect();
        requests.sort_unstable();
        vec![Run::Memory(requests)]
    }

    #[test]
    fn session_ends_after_the_gap_not_at_it() {
        let runs = requests(&[(1, 0), (2, 5), (1, 600), (1, 1201), (2, 5)]);
        let mut lengths = Vec::new();
        sessions(&runs, 1, 600.0, &[], |_, visits| lengths.push(visits.len())).unwrap();
        assert_eq!(lengths, [2, 1, 2]);
    }

    #[test]
    fn users_left_out_are_in_no_count() {
        let runs = requests(&[(1, 0), (2, 5), (2, 6), (3, 7)]);
        let found = survey(&runs, 1, 1, 0, None, &[2]).unwrap();
        assert_eq!((found.users, &found.route_requests[..]), (2, &[2][..]));
        let mut lengths = Vec::new();
        sessions(&runs, 1, 600.0, &[2], |_, visits| lengths.push(visits.len())).unwrap();
        assert_eq!(lengths, [1, 1]);
    }

    #[test]
    fn cuts_of_endless_sessions_are_counted() {
        let times: Vec<(u64, i64)> = (0..2 * REQUESTS_MAX as i64 + 1).map(|s| (1, s)).collect();
        let mut lengths = Vec::new();
        let cuts = sessions(&requests(&times), 1, 1800.0, &[], |_, visits| {
            lengths.push(visits.len());
        });
        assert_eq!((cuts.unwrap(), &lengths[..]), (2, &[REQUESTS_MAX, REQUESTS_MAX, 1][..]));
    }

    #[test]
    fn gap_is_the_valley_or_the_default() {
        // Within sessions some seconds, between them about a day.
        let times: Vec<(u64, i64)> = (0..200_i64)
            .flat_map(|day| (0..5).map(move |i| (day as u64 % 7, day * 86_400 + i * 7)))
            .collect();
        let found = survey(&requests(&times), 1, 1, 0, None, &[]).unwrap();
        assert_eq!((found.gap.why, found.users), (GapReason::Valley, 7));
        assert!((60.0..21_600.0).contains(&found.gap.seconds), "{}", found.gap.seconds);
        let even: Vec<(u64, i64)> = (0..500).map(|i| (1, i * 7)).collect();
        let found = survey(&requests(&even), 1, 1, 0, None, &[]).unwrap();
        assert_eq!((found.gap.why, found.gap.seconds), (GapReason::Usual, 1800.0));
        // Pollers: one hill, and nothing before it.
        let polls: Vec<(u64, i64)> =
            (0..480).map(|i| ((i % 8) as u64, i / 8 * 600 + i * 7 % 60)).collect();
        let found = survey(&requests(&polls), 1, 1, 0, None, &[]).unwrap();
        assert_eq!((found.gap.why, found.gap.seconds), (GapReason::Usual, 1800.0));
        // A valley in the bin that a minute lies in, which begins before.
        let gaps = (0..30).map(|_| 7.0).chain((25..60).map(from_s));
        let near = gaps.scan(0.0, |at, gap| {
            *at += gap + 1.0;
            Some((1, *at as i64))
        });
        let near: Vec<(u64, i64)> = near.collect();
        let found = survey(&requests(&near), 1, 1, 0, None, &[]).unwrap();
        assert_eq!((found.gap.why, found.gap.seconds), (GapReason::Valley, 60.0));
        let given = survey(&requests(&even), 1, 1, 0, Some(5.0), &[]).unwrap();
        assert_eq!((given.gap.why, given.gap.seconds), (GapReason::Given, 5.0));
    }
}
