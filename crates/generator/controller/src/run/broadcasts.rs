//! Numbered messages over all loops: when the first and the last user got each, also of each region, and what others did
//! not get.

use std::collections::BTreeMap;

use engine::measure::MeasureDelta;
use engine::sequences::{Broadcast, Head, Ledger, Settlement};
use plan::Plan;
use plan::{MeasureId, MessageId};
use record::Outcome;
use record::counters::COUNTER_MAX;
use workers::Numbering;

/// A broadcast that no user received for this long has reached all its receivers.
const SILENT_NS: u64 = 5_000_000_000;
/// Broadcasts that are waited for; above it, the oldest are closed as they are.
const OPEN_MAX: usize = 262_144;

/// The measures that count a message's broadcasts: their times, and the receipts that are missing.
#[derive(Debug, Clone)]
struct Measures {
    first: Option<MeasureId>,
    last: MeasureId,
    /// By region; empty: they are not measured.
    reached: Vec<MeasureId>,
    apart: Option<MeasureId>,
    lost: MeasureId,
    unaccounted: MeasureId,
    silent: MeasureId,
}

/// A broadcast that may still reach a user.
#[derive(Debug)]
struct OpenBroadcast {
    of_all: Broadcast,
    /// The regions that it has reached, with the last receipt in each.
    regions: Vec<(usize, LastReceipt)>,
}

/// When the last user of a region got a broadcast.
#[derive(Debug, Clone, Copy)]
struct LastReceipt {
    at_ns: u64,
    /// How long it may have been there before the user's loop read it.
    late_ns: u64,
}

impl OpenBroadcast {
    fn new(of_all: Broadcast) -> OpenBroadcast {
        OpenBroadcast { of_all, regions: Vec::new() }
    }

    /// Users of a region got it.
    fn reach(&mut self, region: usize, received: &Broadcast) {
        let last = LastReceipt { at_ns: received.last_ns, late_ns: received.last_late_ns };
        match self.regions.iter_mut().find(|(known, _)| *known == region) {
            Some((_, known)) if last.at_ns > known.at_ns => *known = last,
            Some(_) => {}
            None => self.regions.push((region, last)),
        }
    }
}

/// Broadcasts that may still reach a user.
#[derive(Debug, Default)]
pub(crate) struct Broadcasts {
    /// The measures of each message of the plan.
    measures: Vec<Option<Measures>>,
    open: BTreeMap<(MessageId, u64, u64), OpenBroadcast>,
    ledger: Ledger,
}

impl Broadcasts {
    pub(crate) fn new(plan: &Plan, numbering: &Numbering) -> Broadcasts {
        let of_all = |measure| numbering.of_all(measure);
        let measures = plan.messages.iter().map(|message| {
            let numbered = message.numbered.as_ref()?;
            Some(Measures {
                first: numbered.first.map(of_all),
                last: of_all(numbered.last),
                reached: numbered.reached.map_or(Vec::new(), |reached| {
                    let regions = 0..numbering.regions_count();
                    regions.map(|region| numbering.of_region(region, reached)).collect()
                }),
                apart: numbered.apart.map(of_all),
                lost: of_all(numbered.lost),
                unaccounted: of_all(numbered.unaccounted),
                silent: of_all(numbered.silent),
            })
        });
        Broadcasts { measures: measures.collect(), ..Broadcasts::default() }
    }

    /// Adds the broadcasts that one loop's users got in one interval, and the positions that sequences had reached. `region`:
    /// the loop's; `None`: there are no regions.
    pub(crate) fn add(&mut self, received: &[Broadcast], heads: &[Head], region: Option<usize>) {
        self.ledger.see(heads);
        for broadcast in received {
            let open = self
                .open
                .entry(broadcast.name())
                .and_modify(|known| known.of_all.merge(broadcast))
                .or_insert_with(|| OpenBroadcast::new(*broadcast));
            if let Some(region) = region {
                open.reach(region, broadcast);
            }
        }
    }

    /// Adds to `measures` the times of the broadcasts that are complete by `now_ns`.
    pub(crate) fn close(&mut self, now_ns: u64, measures: &mut BTreeMap<MeasureId, MeasureDelta>) {
        let mut excess = self.open.len().saturating_sub(OPEN_MAX);
        let all = &self.measures;
        self.open.retain(|_, broadcast| {
            let reached_all = broadcast.of_all.last_ns.saturating_add(SILENT_NS) <= now_ns;
            if !reached_all && excess == 0 {
                return true;
            }
            excess = excess.saturating_sub(1);
            if let Some(times) = measures_of(all, broadcast.of_all.message) {
                add(times, broadcast, measures);
            }
            false
        });
    }

    /// Adds to `measures` what the subscriptions that ended did not get. All loops have reported the
    /// interval of their end.
    pub(crate) fn settle(
        &mut self,
        settlements: &[(Settlement, u64)],
        measures: &mut BTreeMap<MeasureId, MeasureDelta>,
    ) {
        self.ledger.settle(settlements);
        for (message, found) in self.ledger.take_found() {
            let Some(of) = measures_of(&self.measures, message) else {
                continue;
            };
            count(of.lost, found.lost, measures);
            count(of.unaccounted, found.unaccounted, measures);
        }
    }

    /// At the end of the run: adds to `measures` the subscriptions that got nothing, as all of their
    /// step.
    pub(crate) fn set_apart(&mut self, measures: &mut BTreeMap<MeasureId, MeasureDelta>) {
        for (message, subscriptions) in self.ledger.take_silent() {
            if let Some(of) = measures_of(&self.measures, message) {
                count(of.silent, subscriptions, measures);
            }
        }
    }
}

fn measures_of(measures: &[Option<Measures>], message: MessageId) -> Option<&Measures> {
    measures.get(message.index())?.as_ref()
}

/// Counts what happened this many times.
fn count(measure: MeasureId, times: u64, measures: &mut BTreeMap<MeasureId, MeasureDelta>) {
    let times = times.min(COUNTER_MAX);
    if times > 0 {
        let delta = delta(measure, measures);
        delta.due += times;
        delta.begun += times;
        delta.outcomes[Outcome::Ok as usize] += times;
    }
}

fn delta(
    measure: MeasureId,
    measures: &mut BTreeMap<MeasureId, MeasureDelta>,
) -> &mut MeasureDelta {
    measures.entry(measure).or_insert_with(|| MeasureDelta::new(measure))
}

fn add(
    times: &Measures,
    broadcast: &OpenBroadcast,
    measures: &mut BTreeMap<MeasureId, MeasureDelta>,
) {
    let of_all = &broadcast.of_all;
    // A stamp that is later than the receipt shows only that the clocks differ.
    let since_stamp = |at_ns: u64| at_ns.checked_sub(of_all.sent_ns);
    let first = times.first.zip(since_stamp(of_all.first_ns));
    let last = since_stamp(of_all.last_ns);
    let first = first.map(|(measure, time_ns)| (measure, time_ns, of_all.first_late_ns));
    let last = last.map(|time_ns| (times.last, time_ns, of_all.last_late_ns));
    let regions = broadcast.regions.iter().filter_map(|(region, last)| {
        Some((*times.reached.get(*region)?, since_stamp(last.at_ns)?, last.late_ns))
    });
    let ends: Vec<(MeasureId, u64, u64)> =
        first.into_iter().chain(last).chain(regions).chain(apart(times, broadcast)).collect();
    for (measure, time_ns, late_ns) in ends {
        let delta = delta(measure, measures);
        delta.due += 1;
        delta.begun += 1;
        delta.outcomes[Outcome::Ok as usize] += 1;
        let late_ns = late_ns.min(time_ns);
        delta.response.record(time_ns);
        delta.service.record(time_ns - late_ns);
        delta.lag.record(late_ns);
    }
}

/// How far apart the first and the last region had a broadcast: the measure, the time, and how late the last one's loop read
/// it.
fn apart(times: &Measures, broadcast: &OpenBroadcast) -> Option<(MeasureId, u64, u64)> {
    let receipts = || broadcast.regions.iter().map(|(_, last)| *last);
    let first = receipts().min_by_key(|last| last.at_ns)?;
    let last = receipts().max_by_key(|last| last.at_ns)?;
    let several = broadcast.regions.len() > 1;
    let measure = times.apart.filter(|_| several)?;
    Some((measure, last.at_ns - first.at_ns, last.late_ns))
}
