//! Adds up the loops' intervals to one row per second.

use std::collections::BTreeMap;
use std::ops::Range;

use engine::measure::{ConsoleLine, Delta, MeasureDelta, MetricDelta, Sample, SessionTimes};
use engine::sequences::{ClockReading, Settlement};
use engine::traffic::Traffic;
use plan::{MeasureId, MessageId, MetricId};
use record::Outcome;
use record::counters::Counts;
use record::operations::OperationCounts;
use record::schema::{MetricRow, SeriesRow, StepWork, UnfinishedSessions};
use stats::hist::LogHistogram;
use stats::metrics::MetricValues;
use workers::Numbering;

use super::broadcasts::Broadcasts;
use super::describe::kind_name;
use super::failures::{self, ErrorCounts};

/// One interval over all loops.
#[derive(Debug)]
pub(crate) struct Interval {
    pub(crate) row: SeriesRow,
    pub(crate) measures: BTreeMap<MeasureId, MeasureDelta>,
    /// Failures by what they were.
    pub(crate) errors: ErrorCounts,
    /// Samples of the failures.
    pub(crate) samples: Vec<Sample>,
    /// Lines that scripts have written.
    pub(crate) console: Vec<ConsoleLine>,
    pub(crate) endings: Vec<UnfinishedSessions>,
    pub(crate) own_work: Vec<StepWork>,
    /// Metrics with any number.
    pub(crate) metrics: BTreeMap<MetricId, MetricValues>,
    pub(crate) sessions: SessionTimes,
    pub(crate) counts: Counts,
    /// The counts of each region.
    pub(crate) regions: Vec<Counts>,
    settlements: Vec<(Settlement, u64)>,
    lag: LogHistogram,
}

/// Collects the loops' intervals until every loop has reported.
#[derive(Debug)]
pub(crate) struct Merger {
    open: BTreeMap<u64, Interval>,
    loops: Vec<LoopProgress>,
    numbering: Numbering,
    /// The kinds of the record's measures, by number.
    kinds: Vec<&'static str>,
    broadcasts: Broadcasts,
    /// The clocks that stamp messages, by the plan's messages.
    clocks: BTreeMap<MessageId, ClockReading>,
    last: LastInterval,
}

/// The time and phase of the last interval that was complete.
#[derive(Debug, Clone, Copy, Default)]
struct LastInterval {
    start_ns: u64,
    end_ns: u64,
    phase: u32,
}

/// The last reports of one loop.
#[derive(Debug, Clone, Copy, Default)]
struct LoopProgress {
    /// Start and end of its last interval; `None`: it has reported none.
    reported: Option<(u64, u64)>,
    /// At the end of that interval.
    users: u64,
    /// Users that it has started or refused so far.
    begun: u64,
    /// Users among them that restarted.
    repeated: u64,
    /// Users whose first connection was made.
    connected: u64,
    /// The traffic of its connections on the wire so far.
    traffic: Traffic,
    state: State,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Running,
    Ended,
    Lost,
}

/// The counts that lost loops had reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LostLoops {
    /// Users that were there at the loops' last intervals.
    pub(crate) users: u64,
    /// Users that the loops had started or refused, each once.
    pub(crate) begun: u64,
    /// Users whose first connection was made.
    pub(crate) connected: u64,
    /// The end of the last interval that any of them reported; 0: none.
    pub(crate) reported_ns: u64,
}

impl LoopProgress {
    fn has_reported(&self, start_ns: u64) -> bool {
        self.reported.is_some_and(|(at, _)| at >= start_ns)
    }
}

impl Merger {
    pub(crate) fn new(broadcasts: Broadcasts, numbering: Numbering, loops_count: u32) -> Merger {
        let measures = numbering.measures().iter();
        Merger {
            open: BTreeMap::new(),
            kinds: measures.map(|measure| kind_name(measure.kind)).collect(),
            numbering,
            loops: vec![LoopProgress::default(); loops_count as usize],
            broadcasts,
            clocks: BTreeMap::new(),
            last: LastInterval::default(),
        }
    }

    /// Takes one loop's interval.
    pub(crate) fn add(&mut self, mut delta: Delta) {
        self.numbering.rename(&mut delta);
        let known = &mut self.loops[delta.loop_id as usize];
        known.reported = Some((delta.start_ns, delta.end_ns));
        known.users = delta.gauges.users;
        known.traffic = delta.traffic;
        let counts = &delta.counts;
        known.begun += counts.users_started + counts.users_refused;
        known.repeated += counts.users_repeated;
        known.connected += counts.users_connected;
        let region = self.numbering.region(delta.loop_id);
        self.broadcasts.add(&delta.broadcasts, &delta.heads, region);
        for reading in &delta.clocks {
            let known = self.clocks.entry(reading.message);
            known.and_modify(|known| known.merge(reading)).or_insert(*reading);
        }
        let regions = self.numbering.regions_count();
        let interval = self.open.entry(delta.start_ns).or_insert_with(|| {
            let interval = Interval::new(delta.start_ns, delta.end_ns, delta.phase);
            Interval { regions: vec![Counts::default(); regions], ..interval }
        });
        if let Some(region) = region {
            interval.regions[region].merge(&delta.counts);
        }
        interval.add(delta);
    }

    /// The readings of the clocks that stamp messages, from all replies so far.
    pub(crate) fn clocks(&self) -> impl Iterator<Item = &ClockReading> {
        self.clocks.values()
    }

    /// A loop has ended.
    pub(crate) fn end(&mut self, loop_id: u16) {
        self.loops[loop_id as usize].state = State::Ended;
    }

    /// These loops will report nothing more and have not ended. What they reported is kept; later
    /// intervals are without them.
    pub(crate) fn mark_lost(&mut self, loops: Range<u32>) -> LostLoops {
        let lost_loops = &mut self.loops[loops.start as usize..loops.end as usize];
        let running = lost_loops.iter_mut().filter(|known| known.state == State::Running);
        let users = running.map(|known| {
            known.state = State::Lost;
            known.users
        });
        let users = users.sum();
        let reported_ns = lost_loops.iter().filter_map(|known| Some(known.reported?.1));
        LostLoops {
            users,
            begun: lost_loops.iter().map(|known| known.begun.saturating_sub(known.repeated)).sum(),
            connected: lost_loops.iter().map(|known| known.connected).sum(),
            reported_ns: reported_ns.max().unwrap_or(0),
        }
    }

    /// Loops that go on, as far as is known.
    pub(crate) fn running(&self) -> Vec<u32> {
        let loops = (0..).zip(&self.loops);
        let running = loops.filter(|(_, known)| known.state == State::Running);
        running.map(|(number, _)| number).collect()
    }

    /// The next interval that all loops have reported, in order.
    pub(crate) fn next(&mut self) -> Option<Interval> {
        let (&start_ns, _) = self.open.first_key_value()?;
        let missing = |known: &&LoopProgress| !known.has_reported(start_ns);
        let missing = self.loops.iter().filter(missing);
        if missing.clone().any(|known| known.state == State::Running) {
            return None;
        }
        let lost = missing.clone().filter(|known| known.state == State::Lost).count();
        let (_, mut interval) = self.open.pop_first()?;
        // The totals of a loop that reports no more stay those of its last report.
        for known in missing {
            interval.add_traffic(&known.traffic);
        }
        interval.row.loops_lost = lost as u32;
        interval.close(&self.kinds);
        let row = &interval.row;
        self.last = LastInterval { start_ns: row.start_ns, end_ns: row.end_ns, phase: row.phase };
        self.broadcasts.close(row.end_ns, &mut interval.measures);
        let settlements = std::mem::take(&mut interval.settlements);
        self.broadcasts.settle(&settlements, &mut interval.measures);
        Some(interval)
    }

    /// The measurements that remain after all intervals: they belong to the last one, without its row.
    pub(crate) fn remainder(&mut self) -> Option<Interval> {
        let last = self.last;
        let mut rest = Interval::new(last.start_ns, last.end_ns, last.phase);
        self.broadcasts.close(u64::MAX, &mut rest.measures);
        self.broadcasts.settle(&[], &mut rest.measures);
        self.broadcasts.set_apart(&mut rest.measures);
        (!rest.measures.is_empty()).then_some(rest)
    }
}

impl Interval {
    pub(super) fn new(start_ns: u64, end_ns: u64, phase: u32) -> Interval {
        let row = SeriesRow { start_ns, end_ns, phase, ..SeriesRow::default() };
        Interval {
            row,
            measures: BTreeMap::new(),
            errors: ErrorCounts::new(),
            samples: Vec::new(),
            console: Vec::new(),
            endings: Vec::new(),
            own_work: Vec::new(),
            metrics: BTreeMap::new(),
            sessions: SessionTimes::default(),
            counts: Counts::default(),
            regions: Vec::new(),
            settlements: Vec::new(),
            lag: LogHistogram::new(),
        }
    }

    /// The recorded numbers of the scenario's own metrics.
    pub(crate) fn metric_rows(&self) -> Vec<MetricRow> {
        let SeriesRow { start_ns, end_ns, phase, .. } = self.row;
        let rows = self.metrics.iter().map(|(metric, values)| MetricRow {
            start_ns,
            end_ns,
            phase,
            metric: metric.0,
            values: values.clone(),
        });
        rows.collect()
    }

    fn add(&mut self, delta: Delta) {
        let row = &mut self.row;
        row.end_ns = row.end_ns.max(delta.end_ns);
        delta.counts.merge_into(row);
        delta.gauges.merge_into(row);
        delta.cpu.merge_into(row);
        let length_ns = delta.end_ns.saturating_sub(delta.start_ns).max(1);
        let busy = 1.0 - delta.cpu.idle_ns as f64 / length_ns as f64;
        row.loop_busy_max = row.loop_busy_max.max(busy.clamp(0.0, 1.0));
        self.add_traffic(&delta.traffic);
        self.counts.merge(&delta.counts);
        delta.errors.into_iter().for_each(|error| failures::add(&mut self.errors, error));
        self.samples.extend(delta.samples);
        self.console.extend(delta.console);
        self.endings.extend(delta.endings);
        for work in &delta.own_work {
            work.add_to(&mut self.own_work);
        }
        for MetricDelta { metric, values } in delta.metrics {
            match self.metrics.get_mut(&metric) {
                Some(sum) => sum.merge(&values),
                None => {
                    self.metrics.insert(metric, values);
                }
            }
        }
        self.sessions.merge(&delta.sessions);
        self.settlements.extend(delta.settlements);
        self.lag.merge(&delta.lag);
        for measure in delta.measures {
            match self.measures.get_mut(&measure.measure) {
                Some(sum) => {
                    sum.due += measure.due;
                    sum.begun += measure.begun;
                    sum.retried += measure.retried;
                    for (sum, n) in sum.missed.iter_mut().zip(measure.missed) {
                        *sum += n;
                    }
                    for (sum, n) in sum.outcomes.iter_mut().zip(measure.outcomes) {
                        *sum += n;
                    }
                    sum.response.merge(&measure.response);
                    sum.failed.merge(&measure.failed);
                    sum.censored.merge(&measure.censored);
                    sum.service.merge(&measure.service);
                    sum.lag.merge(&measure.lag);
                    sum.late.merge(&measure.late);
                }
                None => {
                    self.measures.insert(measure.measure, measure);
                }
            }
        }
    }

    fn add_traffic(&mut self, traffic: &Traffic) {
        let row = &mut self.row;
        row.tcp_connections += traffic.connections;
        row.tcp_segments_out += traffic.segments_out;
        row.tcp_segments_in += traffic.segments_in;
        row.tcp_payload_out += traffic.payload_out;
        row.tcp_payload_in += traffic.payload_in;
        row.tcp_retransmits += traffic.retransmits;
        row.ip_bytes_out += traffic.ip_out;
        row.ip_bytes_in += traffic.ip_in;
    }

    /// `kinds`: those of the measures, by number.
    fn close(&mut self, kinds: &[&str]) {
        if !self.lag.is_empty() {
            self.row.lag_p50_ns = self.lag.quantile(0.5);
            self.row.lag_p99_ns = self.lag.quantile(0.99);
            self.row.lag_max_ns = self.lag.max();
        }
        let mut operations = OperationCounts::default();
        for (id, measure) in &self.measures {
            let ends = Outcome::ALL.iter().copied().zip(measure.outcomes);
            operations.add(kinds[id.index()], measure.begun, ends);
        }
        let row = &mut self.row;
        row.operations_begun = operations.begun;
        row.operations_ended = operations.ended;
        row.operations_completed = operations.completed;
        row.own_failures = operations.own_failures;
        row.errors = operations.failed + operations.own_failures;
    }
}

#[cfg(test)]
mod tests {
    use engine::measure::Gauges;

    use super::*;
    use engine::sequences::Broadcast;

    /// Without regions.
    fn numbering() -> Numbering {
        let text =
            "target: http://h/\nsessions: { s: [ { get: / } ] }\narrivals: [ { hold: 1s } ]\n";
        Numbering::new(&crate::testing::plan(text), 1)
    }

    fn merger(broadcasts: Broadcasts, loops_count: u32) -> Merger {
        Merger::new(broadcasts, numbering(), loops_count)
    }

    fn broadcasts(plan: &plan::Plan) -> Broadcasts {
        Broadcasts::new(plan, &Numbering::new(plan, 2))
    }

    fn delta(loop_id: u16, second: u64, users: u64) -> Delta {
        Delta {
            counts: Counts { users_started: 1, ..Counts::default() },
            gauges: Gauges { users, ..Gauges::default() },
            ..Delta::new(loop_id, second * 10, second * 10 + 10)
        }
    }

    /// Start, users, users started, lost loops of all intervals that are complete.
    fn complete(merger: &mut Merger) -> Vec<(u64, u64, u64, u32)> {
        std::iter::from_fn(|| merger.next())
            .map(|interval| interval.row)
            .map(|row| (row.start_ns, row.users, row.users_started, row.loops_lost))
            .collect()
    }

    #[test]
    fn an_interval_is_complete_when_all_loops_have_reported_it_or_ended() {
        let mut merger = merger(Broadcasts::default(), 2);
        merger.add(delta(0, 0, 5));
        merger.add(delta(0, 1, 6));
        assert_eq!(complete(&mut merger), []);
        merger.add(delta(1, 0, 7));
        assert_eq!(complete(&mut merger), [(0, 12, 2, 0)]);
        merger.end(1);
        assert_eq!(complete(&mut merger), [(10, 6, 1, 0)]);
    }

    /// The first and the last receiver may be users of two loops, in two intervals.
    #[test]
    fn broadcasts_are_merged_over_all_loops() {
        const S: u64 = 1_000_000_000;
        let text = "
target: http://127.0.0.1/
messages: { m: { when: { /a: 1 }, sent_at: /t, seq: /n } }
sessions: { s: [ { ws: / }, { think: 1s } ] }
arrivals: [ { constant: 1/s, for: 1s } ]
";
        let plan = crate::testing::plan(text);
        let mut merger = merger(broadcasts(&plan), 2);
        let got = |number, sent_ns, first_ns, last_ns| Broadcast {
            message: MessageId(0),
            sequence: 9,
            number,
            sent_ns,
            first_ns,
            last_ns,
            first_late_ns: 0,
            last_late_ns: 7,
        };
        let reports = [
            (0, 0, vec![got(1, 100, 300, 400), got(2, 500, 600, 600)]),
            (1, 0, vec![got(1, 100, 200, 300)]),
            (0, S, vec![got(1, 100, S + 100, S + 100)]),
            (1, S, vec![]),
            (0, 7 * S, vec![]),
            (1, 7 * S, vec![]),
        ];
        for (loop_id, start_ns, broadcasts) in reports {
            let second = Delta::new(loop_id, start_ns, start_ns + S - 1);
            merger.add(Delta { broadcasts, ..second });
        }
        let numbered = plan.messages[0].numbered.as_ref().unwrap();
        let first = numbered.first.unwrap();
        let last = numbered.last;
        let times = |interval: &Interval, measure| {
            let hist = interval.measures.get(&measure).map(|m| &m.response);
            hist.map(|hist| (hist.count(), hist.min(), hist.max()))
        };
        for _ in 0..2 {
            assert_eq!(times(&merger.next().unwrap(), first), None);
        }
        let third = merger.next().unwrap();
        assert_eq!(times(&third, first), Some((2, 100, 100)));
        assert_eq!(times(&third, last), Some((2, 100, S)));
        // Lateness of the loops that read a message is not the sender's.
        let own = &third.measures[&last];
        assert_eq!((own.lag.min(), own.lag.max()), (7, 7));
        assert_eq!(own.service.min(), 93);
        assert!(merger.remainder().is_none());
        let mut late = delta(0, 0, 0);
        late.start_ns = 9 * S;
        late.broadcasts = vec![got(3, 9 * S, 9 * S + 7, 9 * S + 7)];
        merger.add(late);
        let rest = merger.remainder().unwrap();
        assert_eq!(times(&rest, last), Some((1, 7, 7)));
        assert_eq!(rest.row.start_ns, 7 * S);
    }

    /// Each region has its last user, and the regions are as far apart as these.
    #[test]
    fn broadcasts_reach_regions_one_after_the_other() {
        const S: u64 = 1_000_000_000;
        let text = "
target: http://127.0.0.1/
regions: { near: 1, far: 1 }
messages: { m: { when: { /a: 1 }, sent_at: /t, seq: /n } }
sessions: { s: [ { ws: / }, { think: 1s } ] }
arrivals: [ { constant: 1/s, for: 1s } ]
";
        let plan = crate::testing::plan(text);
        let numbering = Numbering::new(&plan, 2);
        let mut merger = Merger::new(Broadcasts::new(&plan, &numbering), numbering.clone(), 2);
        let got = |number, first_ns, last_ns| Broadcast {
            message: MessageId(0),
            sequence: 9,
            number,
            sent_ns: 100,
            first_ns,
            last_ns,
            first_late_ns: 0,
            last_late_ns: 0,
        };
        // The second one comes to the near region alone.
        let reports = [
            (0, 0, vec![got(1, 110, 120), got(2, 110, 115)]),
            (1, 0, vec![got(1, 400, 450)]),
            (0, S, vec![]),
            (1, S, vec![got(1, 460, 500)]),
            (0, 7 * S, vec![]),
            (1, 7 * S, vec![]),
        ];
        for (loop_id, start_ns, broadcasts) in reports {
            let second = Delta::new(loop_id, start_ns, start_ns + S - 1);
            merger.add(Delta { broadcasts, ..second });
        }
        let numbered = plan.messages[0].numbered.as_ref().unwrap();
        let [near, far] =
            [0, 1].map(|region| numbering.of_region(region, numbered.reached.unwrap()));
        let apart = numbering.of_all(numbered.apart.unwrap());
        let last = numbering.of_all(numbered.last);
        let third = std::iter::from_fn(|| merger.next()).last().unwrap();
        let times = |measure| {
            let hist = &third.measures[&measure].response;
            (hist.count(), hist.min(), hist.max())
        };
        assert_eq!(times(near), (2, 15, 20));
        assert_eq!(times(far), (1, 400, 400));
        assert_eq!(times(apart), (1, 380, 380));
        assert_eq!(times(last), (2, 15, 400));
        let named = |measure: MeasureId| plan.recorded().measures[measure.index()].name.clone();
        assert_eq!([far, apart].map(named), ["m.reached (region=far)", "m.apart"]);
    }

    #[test]
    fn lost_loops_are_not_waited_for_and_are_counted() {
        let mut merger = merger(Broadcasts::default(), 4);
        for worker in 0..4 {
            merger.add(delta(worker, 0, 10));
        }
        // Loop 2 has reported the next second; loop 3 of the same worker has not.
        merger.add(delta(0, 1, 20));
        merger.add(delta(1, 1, 20));
        merger.add(delta(2, 1, 25));
        assert_eq!(complete(&mut merger), [(0, 40, 4, 0)]);
        let left = merger.mark_lost(2..4);
        let expected = LostLoops { users: 25 + 10, begun: 2 + 1, connected: 0, reported_ns: 20 };
        assert_eq!(left, expected);
        assert_eq!(complete(&mut merger), [(10, 65, 3, 1)]);
        merger.add(delta(0, 2, 30));
        merger.add(delta(1, 2, 30));
        assert_eq!(complete(&mut merger), [(20, 60, 2, 2)]);
    }

    #[test]
    fn operations_of_a_second_are_those_of_steps() {
        let mut merger = merger(Broadcasts::default(), 1);
        let number = |kind: &str| merger.kinds.iter().position(|known| *known == kind).unwrap();
        let measure = |kind: &str, begun, ends: &[(Outcome, u64)]| {
            let mut outcomes = [0; engine::measure::OUTCOMES];
            ends.iter().for_each(|&(outcome, n)| outcomes[outcome as usize] = n);
            MeasureDelta {
                due: begun,
                begun,
                outcomes,
                ..MeasureDelta::new(MeasureId(number(kind) as u16))
            }
        };
        let measures = vec![
            measure("connect", 30, &[(Outcome::Ok, 29), (Outcome::Refused, 1)]),
            measure(
                "request",
                100,
                &[(Outcome::Ok, 90), (Outcome::Status, 5), (Outcome::Timeout, 2)],
            ),
        ];
        let counts = Counts { sends: 130, done: 127, errors: 8, ..Counts::default() };
        merger.add(Delta { measures, counts, ..delta(0, 0, 1) });
        let row = merger.next().unwrap().row;
        assert_eq!((row.sends, row.done), (130, 127), "connections are among these");
        assert_eq!((row.operations_begun, row.operations_ended), (100, 97));
        assert_eq!((row.operations_completed, row.errors), (95, 7));
    }

    #[test]
    fn an_ended_loop_loses_no_users() {
        let mut merger = merger(Broadcasts::default(), 2);
        merger.add(delta(0, 0, 3));
        merger.add(delta(1, 0, 3));
        merger.end(0);
        assert_eq!(merger.mark_lost(0..2).users, 3);
        assert_eq!(complete(&mut merger), [(0, 6, 2, 0)]);
    }
}
