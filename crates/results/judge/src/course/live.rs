//! A run in progress, second by second: its course, and its judgement so far.

mod incidents;

use crate::Figures;
use crate::case::Case;
use crate::figures::EndedOperations;
use crate::second::SecondOf;
use plan::Threshold;
use record::schema::{
    ErrorCount, Event, EventKind, MetricRow, RunInfo, RunStatus, SeriesRow, Summary,
};
use record::{Outcome, ProbeInfo, ProbeRow};
use stats::hist::LogHistogram;

use self::incidents::Incidents;
use super::errors::Errors;
use super::latency::{Building, ResponseKind, most};
use super::seconds::Seconds;
use super::{Course, Division, LINES_MAX, MEASURES_MAX, SECOND_NS, SLOTS_MAX, places, probes};

/// Most values of probes that are kept: 24 MiB, as many as 200 probes read in an hour and a half.
const PROBE_ROWS_MAX: usize = 1 << 20;

/// The record of a run in progress. Its slots are those of the whole run as planned, so that they stay the same while
/// the run continues; time beyond [`SLOTS_MAX`] slots counts to the last one.
#[derive(Debug)]
pub struct LiveRun {
    division: Division,
    seconds: Seconds,
    /// The courses by measure.
    courses: Vec<Building>,
    /// Failures by outcome.
    errors: Errors,
    /// Failures by kind and detail, as far as they were counted so.
    detailed_errors: Errors,
    /// The figures by which the run is judged.
    figures: Figures,
    incidents: Incidents,
    /// The progress by probe.
    progress: Vec<ProbeProgress>,
    /// Number of values of a probe of which one is kept.
    probe_every: u64,
    /// Most values of probes; when there are more, they are thinned.
    probe_rows_max: usize,
}

/// The values that a probe has read so far.
#[derive(Debug)]
struct ProbeProgress {
    /// Time of the newest value.
    newest_ns: i64,
    /// Number of values.
    count: u64,
}

impl LiveRun {
    /// A run that has reported nothing yet.
    pub fn new(info: &RunInfo) -> LiveRun {
        let planned_ns = info.phases.last().map_or(0, |phase| phase.end_ns);
        let measures = info.measures.iter();
        let running = RunInfo { status: RunStatus::Running, ended_ns: 0, ..info.clone() };
        LiveRun {
            division: Division {
                slots: SLOTS_MAX as usize,
                ended_ns: u64::MAX,
                ..Division::of(planned_ns)
            },
            seconds: Seconds::default(),
            courses: measures.map(|measure| Building::new(&measure.name, &measure.kind)).collect(),
            errors: Errors::default(),
            detailed_errors: Errors::default(),
            figures: Figures::new(running, Vec::new(), Vec::new()),
            incidents: Incidents::new(),
            progress: Vec::new(),
            probe_every: 1,
            probe_rows_max: PROBE_ROWS_MAX,
        }
    }

    /// Adds a second. Seconds come in order.
    pub fn add<'a>(&mut self, row: &SeriesRow, measures: impl Iterator<Item = SecondOf<'a>>) {
        let division = self.division;
        let slot = division.slot(row.start_ns);
        self.seconds.add(row, division);
        let is_drain = row.start_ns >= self.figures.planned_end_ns();
        let phase = row.phase as usize + usize::from(is_drain);
        for second in measures {
            self.figures.add_begun(phase, second.measure, second.begun);
            let outcomes = Outcome::ALL.iter().zip(second.outcomes);
            for (outcome, &count) in outcomes.filter(|_| is_drain) {
                self.figures.add_drained(second.measure, outcome.name(), count);
            }
            let cell = self.figures.cell_mut(row.phase as usize, second.measure);
            let (Some(cell), Some(course)) = (cell, self.courses.get_mut(second.measure)) else {
                continue;
            };
            for (&outcome, &count) in Outcome::ALL.iter().zip(second.outcomes) {
                self.errors.add(second.measure as u16, outcome, count, slot);
                if count > 0 {
                    *cell.outcomes.entry(outcome.name().to_owned()).or_default() += count;
                }
            }
            for (kind, hist, of_cell) in [
                (ResponseKind::Succeeded, second.response, &mut cell.response),
                (ResponseKind::Failed, second.failed, &mut cell.failed_response),
                (ResponseKind::Unanswered, second.unanswered, &mut cell.unanswered),
            ] {
                course.add(row.start_ns, kind, hist, division);
                of_cell.merge(hist);
            }
            cell.service.merge(second.service);
            cell.lag.merge(second.lag);
            if matches!(self.figures.kind(second.measure), "connect" | "request" | "handshake") {
                self.add_ended(row, &second);
            }
        }
        self.figures.series.push(row.clone());
        self.incidents.search(&self.figures);
    }

    /// Adds the operations of a measure to the seconds in which they were due and ended.
    fn add_ended(&mut self, row: &SeriesRow, second: &SecondOf<'_>) {
        let code = usize::from(u8::from(Outcome::Unfinished));
        let given_up = second.outcomes.get(code).copied().unwrap_or(0);
        let unanswered = second.unanswered.count();
        let succeeded = EndedOperations {
            start_ns: row.start_ns,
            len_ns: row.end_ns.saturating_sub(row.start_ns),
            times: second.response,
            is_answered: true,
            is_failure: false,
            interrupted: 0.0,
        };
        let failed = EndedOperations { times: second.failed, is_failure: true, ..succeeded };
        let unanswered = EndedOperations {
            times: second.unanswered,
            is_answered: false,
            interrupted: given_up.min(unanswered) as f64 / unanswered.max(1) as f64,
            ..succeeded
        };
        for ended in [succeeded, failed, unanswered] {
            if !ended.times.is_empty() {
                self.incidents.add(second.measure, &ended);
            }
        }
    }

    /// Adds what was recorded of a metric of the scenario's own in this second.
    pub fn metric(&mut self, row: &MetricRow) {
        self.figures.add_metric(row);
    }

    /// Adds how long sessions took that ended in this second: those that finished, and the others.
    pub fn sessions(
        &mut self,
        row: &SeriesRow,
        finished: &LogHistogram,
        unfinished: &LogHistogram,
    ) {
        self.figures.add_session_times(row.phase as usize, finished, unfinished);
    }

    /// Adds failures of one kind in one second. Those with details are shown instead of those by outcome alone.
    pub fn error(&mut self, count: ErrorCount) {
        let slot = self.division.slot(count.start_ns);
        self.detailed_errors.add_count(&count, slot);
        self.figures.add_error(count);
    }

    /// Adds an event of the run.
    pub fn event(&mut self, event: Event) {
        if let EventKind::WorkerLost { worker, .. } = event.what
            && let Some(worker) = self.figures.info.workers.get_mut(worker as usize)
        {
            worker.lost_at_ns = Some(event.at_ns);
        }
        self.figures.events.push(event);
    }

    /// Adds the newest value of each probe if it is not known already. Probes keep their places; new
    /// ones come after them. Of a long run with many probes every second value is kept, then every fourth, and
    /// so on: the record has them all.
    pub fn probes(&mut self, newest: impl Iterator<Item = (ProbeInfo, i64, Option<f64>)>) {
        let probes = &mut self.figures.probes;
        for (place, (info, at_ns, value)) in newest.enumerate() {
            if place >= probes.list.len() {
                probes.list.push(info);
                self.progress.push(ProbeProgress { newest_ns: i64::MIN, count: 0 });
            }
            let progress = &mut self.progress[place];
            let Some(value) = value.filter(|_| at_ns > progress.newest_ns) else {
                continue;
            };
            let is_kept = progress.count.is_multiple_of(self.probe_every);
            progress.newest_ns = at_ns;
            progress.count += 1;
            if is_kept {
                let probe = place as u32;
                probes.rows.push(ProbeRow { at_ns, probe, value });
            }
        }
        if probes.rows.len() > self.probe_rows_max {
            self.thin_probes();
        }
    }

    /// Keeps every second value of each probe, from its first on.
    fn thin_probes(&mut self) {
        self.probe_every *= 2;
        let probes = &mut self.figures.probes;
        let mut is_next_kept = vec![true; probes.list.len()];
        probes.rows.retain(|row| {
            let is_next = &mut is_next_kept[row.probe as usize];
            std::mem::replace(is_next, !*is_next)
        });
    }

    /// The run's description.
    pub fn info(&self) -> &RunInfo {
        &self.figures.info
    }

    /// The events so far.
    pub fn events(&self) -> &[Event] {
        &self.figures.events
    }

    /// End of the last reported second, since the run's start.
    pub fn ended_ns(&self) -> u64 {
        self.figures.ended_ns()
    }

    /// The summary that the run would have if it ended now. Its incidents are those of some seconds ago, without
    /// percentiles.
    pub fn judge(&self, thresholds: &[Threshold]) -> Summary {
        let broken = self.incidents.so_far().clone();
        crate::judge_unfinished(Case::with_broken(&self.figures, thresholds, broken))
    }

    /// The run's course up to the last second. The step that the summary puts in focus is among its measures.
    pub fn course(&self, summary: &Summary) -> Course {
        let slot_ns = self.division.slot_s * SECOND_NS;
        let ended_ns = self.ended_ns();
        let reached = ended_ns.div_ceil(slot_ns).clamp(1, SLOTS_MAX);
        let division = Division { slots: reached as usize, ended_ns, ..self.division };
        let counts = self.courses.iter().map(Building::count).enumerate();
        let counts: Vec<(usize, u64)> = counts.collect();
        let measures = &self.figures.info.measures;
        let focus = crate::focus::of(summary, &self.figures.info);
        let first = focus.map_or(Vec::new(), |focus| places(measures, focus.name()));
        let (charted, measures_left_out) = most(&counts, &first, MEASURES_MAX);
        let (lined, _) = most(&counts, &first, LINES_MAX);
        let charted = charted.into_iter().map(|place| &self.courses[place]);
        let lined = lined.into_iter().map(|place| &self.courses[place]);
        let errors = match self.detailed_errors.is_empty() {
            true => &self.errors,
            false => &self.detailed_errors,
        };
        let (errors, errors_left_out) = errors.tracks(measures, division);
        Course {
            slot_s: division.slot_s,
            slots: division.slots,
            heat_slot_s: division.heat_slot_s,
            seconds: self.seconds.tracks(division),
            measures: charted.map(|course| course.clone().finish(division)).collect(),
            measures_left_out,
            line_slot_s: division.line_slot_s(),
            lines: lined.map(|course| course.line(division)).collect(),
            errors,
            errors_left_out,
            probes: probes::lines(&self.figures.probes, division),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::totals::Totals;
    use plan::thresholds::Names;
    use testkit::runs::sample;

    use super::*;
    use crate::course::Number;

    /// A run of an hour as planned, of which two seconds passed; the second had failures, too.
    fn two_seconds() -> LiveRun {
        let mut info = sample::info();
        info.phases.truncate(1);
        info.phases[0].end_ns = 3_600 * SECOND_NS;
        let mut live_run = LiveRun::new(&info);
        let mut response = LogHistogram::new();
        (1..=100).for_each(|n| response.record(n * 1_000_000));
        let none = LogHistogram::new();
        let mut outcomes = vec![0; Outcome::ALL.len()];
        outcomes[usize::from(u8::from(Outcome::Ok))] = 100;
        for second in 0..2 {
            if second == 1 {
                outcomes[usize::from(u8::from(Outcome::Timeout))] = 25;
            }
            let row = SeriesRow {
                start_ns: second * SECOND_NS,
                end_ns: (second + 1) * SECOND_NS,
                users: 7 - second,
                users_started: 5,
                sends: 130,
                done: 100,
                ..SeriesRow::default()
            };
            let values = SecondOf {
                measure: 0,
                begun: 130,
                outcomes: &outcomes,
                response: &response,
                failed: &none,
                unanswered: &none,
                service: &none,
                lag: &none,
            };
            live_run.add(&row, [values].into_iter());
        }
        live_run
    }

    #[test]
    fn what_is_there_so_far_is_reported_in_the_slots_of_the_whole() {
        let live_run = two_seconds();
        let course = live_run.course(&live_run.judge(&[]));
        assert_eq!((course.slot_s, course.slots, course.heat_slot_s), (6, 1, 24));
        let [measure] = &course.measures[..] else {
            panic!("one measure measured something: {:?}", course.measures);
        };
        assert_eq!(measure.count, 200);
        assert_eq!((measure.p50.len(), course.lines[0].p95.len()), (1, 1));
        // Two seconds of the six of its slot have passed.
        assert_eq!(measure.per_s, [Some(Number(100.0))]);
        assert!((measure.p50[0].unwrap().0 / 50e6 - 1.0).abs() < 0.001);
        assert_eq!(course.errors[0].kind, "timeout");
        assert_eq!(course.errors[0].count, 25);
        assert_eq!(course.errors[0].per_s, [Number(12.5)]);
    }

    #[test]
    fn incidents_are_found_while_the_run_goes_on() {
        let mut info = sample::info();
        info.phases.truncate(1);
        info.phases[0].end_ns = 3_600 * SECOND_NS;
        let request = info.measures.iter().position(|measure| measure.kind == "request").unwrap();
        let mut live_run = LiveRun::new(&info);
        let none = LogHistogram::new();
        let outcomes = vec![0; Outcome::ALL.len()];
        for second in 0..60 {
            let time_ns = if (30..40).contains(&second) { 90_000_000 } else { 10_000_000 };
            let mut response = LogHistogram::new();
            (0..100)
                .for_each(|n| response.record(time_ns + n * 10_000 + (second * 7 % 5) * 50_000));
            let values = SecondOf {
                measure: request,
                begun: 100,
                outcomes: &outcomes,
                response: &response,
                failed: &none,
                unanswered: &none,
                service: &none,
                lag: &none,
            };
            live_run.add(&sample::row(second), [values].into_iter());
        }
        let summary = live_run.judge(&[]);
        let [found] = &summary.incidents[..] else {
            panic!("one incident: {:?}", summary.incidents);
        };
        assert!(found.begin_ns.abs_diff(30 * SECOND_NS) <= SECOND_NS, "{found:?}");
        assert!(found.end_ns.abs_diff(40 * SECOND_NS) <= SECOND_NS, "{found:?}");
        assert!(found.text.contains("slower answers"), "{}", found.text);
    }

    #[test]
    fn failures_with_details_are_shown_instead_of_outcomes() {
        let mut live_run = two_seconds();
        let found = ErrorCount {
            start_ns: SECOND_NS,
            phase: 0,
            measure: Some(0),
            own_step: None,
            kind: "status".to_owned(),
            detail: Some("503".to_owned()),
            count: 25,
        };
        live_run.error(found);
        let course = live_run.course(&live_run.judge(&[]));
        let found: Vec<_> = course.errors.iter().map(|e| (e.detail.as_deref(), e.count)).collect();
        assert_eq!(found, [(Some("503"), 25)]);
    }

    #[test]
    fn figures_are_of_all_so_far() {
        let summary = two_seconds().judge(&[]);
        assert_eq!((summary.users.started, summary.users.peak), (10, 7));
        let [measure] = &summary.measures[..] else {
            panic!("one measure measured something");
        };
        assert_eq!((measure.count, measure.errors), (225, 25));
        assert!((measure.rate_per_s - 100.0).abs() < 1e-9);
        assert_eq!(measure.response.as_ref().unwrap().count, 200);
        assert!(measure.service.is_none());
        let codes: Vec<&str> = summary.findings.iter().map(|f| f.code.as_str()).collect();
        assert_eq!(codes, ["generator-healthy", "errors", "throughput"]);
    }

    #[test]
    fn operations_without_an_answer_are_begun_and_not_completed() {
        let mut live_run = two_seconds();
        live_run.figures.info.measures[0].kind = "request".to_owned();
        let totals = Totals::of(&live_run.judge(&[]));
        let rates = (totals.begun_per_s, totals.completed_per_s);
        assert_eq!(rates, (Some(Number(130.0)), Some(Number(100.0))));
    }

    /// Thresholds of a run in progress are judged by the rules of a run that ended.
    #[test]
    fn thresholds_are_judged_by_phase() {
        let mut info = sample::info();
        info.phases = vec![
            sample::phase("ramp", "rate", 0, 1, 100.0),
            sample::phase("hold", "hold", 1, 60, 0.0),
        ];
        let mut live_run = LiveRun::new(&info);
        let none = LogHistogram::new();
        for second in 0..2 {
            let mut response = LogHistogram::new();
            response.record_n((second + 1) * 10_000_000, 10);
            let mut outcomes = vec![0; Outcome::ALL.len()];
            outcomes[usize::from(u8::from(Outcome::Ok))] = 10;
            let mut row = sample::row(second);
            row.phase = second as u32;
            (row.users_due, row.users_started) = (100 * (1 - second), 100 * (1 - second));
            let values = SecondOf {
                measure: sample::REQUEST,
                begun: 10,
                outcomes: &outcomes,
                response: &response,
                failed: &none,
                unanswered: &none,
                service: &none,
                lag: &none,
            };
            live_run.add(&row, [values].into_iter());
        }
        let names = Names {
            measures: &["connect", "request"],
            metrics: &[],
            tags: &[],
            phases: &["ramp", "hold"],
        };
        let threshold = |text| names.threshold(text).unwrap();
        let thresholds = ["p99(request) < 15ms in ramp", "p99(request) < 15ms in hold"];
        let judged = live_run.judge(&thresholds.map(threshold)).thresholds;
        let shown: Vec<(bool, &str)> =
            judged.iter().map(|t| (t.passed, t.shown.as_str())).collect();
        assert_eq!(shown, [(true, "10.0 ms"), (false, "20.0 ms")]);
    }

    #[test]
    fn probes_are_added_once_a_reading() {
        let mut live_run = two_seconds();
        let info = |metric: &str| ProbeInfo {
            role: "servers".to_owned(),
            region: String::new(),
            source: "host".to_owned(),
            metric: metric.to_owned(),
            unit: "%".to_owned(),
            via: "host".to_owned(),
        };
        let second = SECOND_NS as i64;
        live_run.probes([(info("a"), -second, Some(1.0))].into_iter());
        // The first probe has no newer value; a second probe joins it.
        live_run.probes([(info("a"), -second, Some(1.0)), (info("b"), 0, None)].into_iter());
        live_run
            .probes([(info("a"), second, Some(3.0)), (info("b"), second, Some(7.0))].into_iter());
        let lines = live_run.course(&live_run.judge(&[])).probes.lines;
        let points: Vec<(&str, usize)> =
            lines.iter().map(|line| (line.info.metric.as_str(), line.mean.len())).collect();
        assert_eq!(points, [("a", 1), ("b", 1)]);
        assert_eq!(live_run.figures.probes.rows.len(), 3);
    }

    #[test]
    fn values_of_probes_do_not_grow_without_end() {
        let mut live_run = two_seconds();
        live_run.probe_rows_max = 100;
        let info = ProbeInfo {
            role: "servers".to_owned(),
            region: String::new(),
            source: "host".to_owned(),
            metric: "cpu".to_owned(),
            unit: "%".to_owned(),
            via: "host".to_owned(),
        };
        for second in 0..1000 {
            let value = (info.clone(), second, Some(second as f64));
            let others = [(info.clone(), second, None), value.clone()];
            live_run.probes([value].into_iter().chain(others));
        }
        let rows = &live_run.figures.probes.rows;
        let times = |probe| -> Vec<i64> {
            let rows = rows.iter().filter(|row| row.probe == probe);
            rows.map(|row| row.at_ns).collect()
        };
        assert!(rows.len() <= 100, "{}", rows.len());
        let expected: Vec<i64> = (0..1000).step_by(32).collect();
        assert_eq!((times(0), times(2)), (expected.clone(), expected));
        assert_eq!(times(1), [0; 0]);
    }

    #[test]
    fn a_run_that_does_not_end_stays_within_its_slots() {
        let mut info = sample::info();
        info.phases.truncate(1);
        info.phases[0].end_ns = SECOND_NS;
        let mut live_run = LiveRun::new(&info);
        for second in 0..2 * SLOTS_MAX {
            live_run.add(&sample::row(second), std::iter::empty());
        }
        let course = live_run.course(&live_run.judge(&[]));
        assert_eq!(course.slots as u64, SLOTS_MAX);
    }
}
