//! When the target was down: times between failures, times to repair, availability.

use record::schema::{Incident, IncidentKind};
use serde::Serialize;
use stats::reliability::{self, Estimate, nines, unseen_share_max};

use super::CONFIDENCE;
use super::seconds::{Rows, Seconds, Slot};

/// Most outages that are reported one by one.
const OUTAGES_MAX: usize = 1_000;

/// A figure with its interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Interval {
    /// The estimate; `None`: there were no events to estimate it from.
    pub value: Option<f64>,
    /// Lower bound.
    pub low: f64,
    /// Upper bound; `None`: there is none.
    pub high: Option<f64>,
}

impl Interval {
    fn of(found: Estimate) -> Interval {
        Interval {
            value: found.value,
            low: found.low,
            high: found.high.is_finite().then_some(found.high),
        }
    }

    fn scaled(mut self, by: f64) -> Interval {
        self.value = self.value.map(|value| value * by);
        self.low *= by;
        self.high = self.high.map(|high| high * by);
        self
    }
}

/// Seconds in a row in which the target was down.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outage {
    /// Start of the first second of the outage.
    pub start_ns: u64,
    /// End of the last second of the outage.
    pub end_ns: u64,
    /// Requests and handshakes that were due meanwhile.
    pub due: u64,
    /// Requests and handshakes that failed meanwhile.
    pub failed: u64,
}

/// Availability of the target over the analysed time, warm-up included.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Availability {
    /// A second in which this share of the operations failed, or in which none ended though some were
    /// due or in flight, was down. So was one in an incident in which more operations failed, or fewer were completed.
    pub down_share: f64,
    /// Time up.
    pub up_ns: u64,
    /// Time down.
    pub down_ns: u64,
    /// Time up in which an incident made answers slow.
    pub degraded_ns: u64,
    /// Time without operations, in which the target's state is unknown.
    pub idle_ns: u64,
    /// Number of outages.
    pub failures: u64,
    /// Time from the start to the first second down; `None`: there was no outage.
    pub first_failure_ns: Option<u64>,
    /// Mean time up before a failure, in nanoseconds.
    pub mtbf_ns: Interval,
    /// Mean time down; `None` where no outage ended.
    pub mttr_ns: Option<Interval>,
    /// Observed availability: time up over time up and down.
    pub observed: f64,
    /// The nines of `observed`; `None`: the target was never down.
    pub nines: Option<f64>,
    /// Estimated availability in the long run, MTBF/(MTBF + MTTR); `None` where there was no failure or no repair.
    pub long_run: Option<Interval>,
    /// Upper bound of the share of seconds down, at the confidence level; `None`: there was a failure.
    pub down_max: Option<f64>,
    /// The first outages, at most 1,000.
    pub outages: Vec<Outage>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Up,
    Down,
    Idle,
}

fn state(slot: &Slot, down_share: f64) -> State {
    let succeeded = slot.ended - slot.failed.min(slot.ended);
    if slot.ended > 0 && slot.failed as f64 >= down_share * slot.ended as f64 {
        return State::Down;
    }
    match (succeeded > 0, slot.due > 0 || slot.row.in_flight > 0) {
        (true, _) => State::Up,
        (false, true) => State::Down,
        (false, false) => State::Idle,
    }
}

/// Whether most of a slot is in an incident of which this is true.
fn is_within(slot: &Slot, incidents: &[Incident], of: fn(&Incident) -> bool) -> bool {
    let middle_ns = slot.start_ns + (slot.end_ns - slot.start_ns) / 2;
    let mut own = incidents.iter().filter(|incident| of(incident));
    own.any(|incident| (incident.begin_ns..incident.end_ns).contains(&middle_ns))
}

/// Whether operations failed in an incident, or were not completed; otherwise answers were slow.
fn is_outage(incident: &Incident) -> bool {
    incident.kinds.iter().any(|kind| *kind != IncidentKind::Response)
}

/// Computes the availability; `None`: the record has no rows of single operations.
pub(super) fn availability(
    seconds: &Seconds,
    incidents: &[Incident],
    down_share: f64,
) -> Option<Availability> {
    if seconds.rows == Rows::Missing {
        return None;
    }
    // Time in which the target's state is unknown neither ends an outage nor begins one.
    let known: Vec<(&Slot, State)> = seconds
        .slots
        .iter()
        .map(|slot| match state(slot, down_share) {
            State::Up if is_within(slot, incidents, is_outage) => (slot, State::Down),
            state => (slot, state),
        })
        .filter(|(_, state)| *state != State::Idle)
        .collect();
    let time = |wanted: State| -> u64 {
        let of = known.iter().filter(|(_, state)| *state == wanted);
        of.map(|(slot, _)| slot.end_ns - slot.start_ns).sum()
    };
    let up_ns = time(State::Up);
    let down_ns = time(State::Down);
    let slow = known.iter().filter(|(slot, state)| {
        *state == State::Up && is_within(slot, incidents, |incident| !is_outage(incident))
    });
    let degraded_ns = slow.map(|(slot, _)| slot.end_ns - slot.start_ns).sum();
    let outages: Vec<Outage> = known
        .chunk_by(|a, b| a.1 == b.1)
        .filter(|part| part[0].1 == State::Down)
        .map(|part| Outage {
            start_ns: part[0].0.start_ns,
            end_ns: part[part.len() - 1].0.end_ns,
            due: part.iter().map(|(slot, _)| slot.due).sum(),
            failed: part.iter().map(|(slot, _)| slot.failed).sum(),
        })
        .collect();
    let is_down =
        |end: Option<&(&Slot, State)>| end.is_some_and(|(_, state)| *state == State::Down);
    let begins_down = u64::from(is_down(known.first()));
    let ends_down = u64::from(is_down(known.last()));
    let count = outages.len() as u64;
    // An outage that was there from the start ended no time up; one that lasts to the end was not repaired.
    let failures = count - begins_down;
    let repairs = count - ends_down;
    let all_ns = up_ns + down_ns;
    let observed = if all_ns > 0 { up_ns as f64 / all_ns as f64 } else { 0.0 };
    let up_s = up_ns as f64 / 1e9;
    let down_s = down_ns as f64 / 1e9;
    let long_run = reliability::availability(up_s, down_s, failures, repairs, CONFIDENCE);
    Some(Availability {
        down_share,
        up_ns,
        down_ns,
        degraded_ns,
        idle_ns: seconds.end_ns() - seconds.start_ns() - all_ns,
        failures: count,
        first_failure_ns: outages.first().map(|first| first.start_ns - seconds.start_ns()),
        mtbf_ns: Interval::of(reliability::mean_time(up_s, failures, CONFIDENCE)).scaled(1e9),
        mttr_ns: reliability::mean_length(down_s, repairs, CONFIDENCE)
            .map(|found| Interval::of(found).scaled(1e9)),
        observed,
        nines: (observed < 1.0).then(|| nines(observed)),
        long_run: long_run.map(Interval::of),
        down_max: (count == 0).then(|| unseen_share_max(known.len() as u64, CONFIDENCE)),
        outages: outages.into_iter().take(OUTAGES_MAX).collect(),
    })
}
