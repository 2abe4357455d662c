//! Broadcasts over all loops: when the first and the last user got each.

use std::collections::BTreeMap;

use engine::measure::{MeasureDelta, OUTCOMES};
use engine::sequences::Broadcast;
use plan::MeasureId;
use plan::Plan;
use record::Outcome;
use stats::hist::LogHistogram;

/// A broadcast that no user received for this long has reached all its receivers.
const SILENT_NS: u64 = 5_000_000_000;
/// Broadcasts that are waited for; above it, the oldest are closed as they are.
const OPEN_MAX: usize = 262_144;

/// Where the times of a message's broadcasts go.
#[derive(Debug, Clone, Copy)]
struct Times {
    first: Option<MeasureId>,
    last: MeasureId,
}

/// Broadcasts that may still reach a user.
#[derive(Debug, Default)]
pub(crate) struct Broadcasts {
    /// By the plan's messages.
    times: Vec<Option<Times>>,
    open: BTreeMap<(u16, u64, u64), Broadcast>,
}

impl Broadcasts {
    pub(crate) fn new(plan: &Plan) -> Broadcasts {
        let times = plan.messages.iter().map(|message| {
            let numbered = message.numbered.as_ref()?;
            Some(Times {
                first: numbered.first,
                last: numbered.last,
            })
        });
        Broadcasts {
            times: times.collect(),
            open: BTreeMap::new(),
        }
    }

    /// What one loop's users got in one interval.
    pub(crate) fn add(&mut self, received: &[Broadcast]) {
        for broadcast in received {
            self.open
                .entry(broadcast.name())
                .and_modify(|known| known.merge(broadcast))
                .or_insert(*broadcast);
        }
    }

    /// Adds to `measures` the times of the broadcasts that are complete by `now_ns`.
    pub(crate) fn close(&mut self, now_ns: u64, measures: &mut BTreeMap<MeasureId, MeasureDelta>) {
        let mut excess = self.open.len().saturating_sub(OPEN_MAX);
        let times = &self.times;
        self.open.retain(|_, broadcast| {
            let reached_all = broadcast.last_ns.saturating_add(SILENT_NS) <= now_ns;
            if !reached_all && excess == 0 {
                return true;
            }
            excess = excess.saturating_sub(1);
            if let Some(times) = times.get(usize::from(broadcast.message)).copied().flatten() {
                add(times, broadcast, measures);
            }
            false
        });
    }
}

fn add(times: Times, broadcast: &Broadcast, measures: &mut BTreeMap<MeasureId, MeasureDelta>) {
    let sent_ns = broadcast.sent_ns.min(broadcast.first_ns);
    let ends = [
        (times.first, broadcast.first_ns),
        (Some(times.last), broadcast.last_ns),
    ];
    for (measure, at_ns) in ends {
        let Some(measure) = measure else { continue };
        let delta = measures.entry(measure).or_insert_with(|| MeasureDelta {
            measure,
            begun: 0,
            outcomes: [0; OUTCOMES],
            response: LogHistogram::new(),
            failed: LogHistogram::new(),
            censored: LogHistogram::new(),
            service: LogHistogram::new(),
            lag: LogHistogram::new(),
        });
        delta.begun += 1;
        delta.outcomes[Outcome::Ok as usize] += 1;
        delta.response.record(at_ns - sent_ns);
    }
}
