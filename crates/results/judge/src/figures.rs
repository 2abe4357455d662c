//! The measurements of a run, gathered for judging: one cell for each phase and measure, the seconds,
//! the events. Pure once filled; tests build it by hand.

mod due;
mod ended;
mod errors;
mod intervals;
mod lag_moves;
mod lag_seconds;
mod measure_figure;
mod metrics;
mod own;
mod rates;
mod read;
mod regions;
mod sessions;
mod tags;
mod unfinished;
mod windows;

use std::collections::BTreeMap;

use record::operations::is_of_step;
use record::schema::{
    ErrorCount, Event, EventKind, NeverBegun, RegionTally, RunInfo, SeriesRow, StepWork,
    UnfinishedSessions, WorkerTally,
};
use record::{Outcome, Probes};
use stats::censored::CensoredTimes;
use stats::hist::LogHistogram;

use crate::limits::FLOW_SECONDS_MAX;
pub(crate) use ended::EndedOperations;
pub(crate) use errors::ErrorTotals;
pub(crate) use intervals::Population;
use intervals::PopulationInterval;
pub(crate) use lag_moves::{Limit, Moves};
pub(crate) use lag_seconds::{KnownMoves, LimitedTimes};
pub(crate) use measure_figure::MeasureFigure;
use metrics::Metrics;
pub(crate) use rates::CompletionCounts;
pub(crate) use regions::MeasureGroup;
use sessions::SessionTimes;
pub use unfinished::outlasting;
pub(crate) use windows::{Window, Windows};

/// The measurements of one run.
#[derive(Debug, Clone)]
pub struct Figures {
    /// The run's description.
    pub info: RunInfo,
    /// The run's seconds, in order.
    pub series: Vec<SeriesRow>,
    /// The run's events, in order.
    pub events: Vec<Event>,
    /// The probes with their readings.
    pub probes: Probes,
    /// Requests and handshakes by second of the run; empty if the record does not say.
    pub flow: Vec<Flow>,
    /// Operations by measure, then by window of the run; empty if the record does not say. Those that happen at once, such as
    /// messages, have none.
    pub(crate) windows: Vec<Vec<Window>>,
    /// The 98th percentile of all requests that ended in each second of the run, failed ones as never answered; `None`:
    /// none ended.
    pub(crate) p98: Vec<Option<u64>>,
    /// The time that the request had waited, at the end of each second of the run, that waited for longest; 0: none did.
    pub(crate) waited_ns: Vec<u64>,
    /// Operations that the target answered in the drain, by measure.
    pub(crate) drained: Vec<CompletionCounts>,
    /// Operations begun, by measure; empty if the record does not say.
    pub begun: Vec<u64>,
    /// Operations that were due, by measure; empty where the record does not say so.
    pub due: Vec<u64>,
    /// Operations that were due and never began.
    pub never_begun: Vec<NeverBegun>,
    /// Attempts that were tried again, by measure; empty if there were none.
    pub retried: Vec<u64>,
    /// Operations begun by phase, the drain after the last; empty if the record does not say.
    pub(crate) begun_in: Vec<Vec<u64>>,
    /// Sessions that did not reach the end of their program.
    pub endings: Vec<UnfinishedSessions>,
    /// The generator's own work, by step and kind; empty if there was none, or if the record does not say.
    pub own_work: Vec<StepWork>,
    /// Failures by what they were; none in older records.
    pub(crate) errors: ErrorTotals,
    /// Users by region; empty if the record does not say.
    pub regions: Vec<RegionTally>,
    /// The tallies of the workers, in the order of the record.
    pub workers: Vec<WorkerTally>,
    /// Intervals of percentiles; empty unless [`find_intervals`](Figures::find_intervals) was called.
    intervals: Vec<PopulationInterval>,
    /// The operations that thresholds would find within their limits without the generator's own part of their times;
    /// empty unless `lag_decisions::read` was called.
    pub(crate) lag_moves: Vec<KnownMoves>,
    /// Cells by phase, then by measure; a run without phases has one row.
    cells: Vec<Vec<Cell>>,
    /// The recorded numbers of the scenario's own metrics.
    metrics: Metrics,
    /// How long sessions took, by phase; empty unless a threshold needed it.
    session_times: Vec<SessionTimes>,
}

/// The percentiles of a summary.
pub(crate) const SHARES: [f64; 6] = [0.50, 0.90, 0.95, 0.98, 0.99, 0.999];

/// Requests, handshakes and connections of one second.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Flow {
    /// Requests and handshakes that were due in it.
    pub due: u64,
    /// Requests and handshakes that were answered in it, with success or not.
    pub answered: u64,
    /// Requests and handshakes that ended in it in any way.
    pub ended: u64,
    /// Sum of the response times of those answered, in seconds.
    pub response_s: f64,
    /// Connections that were established in it.
    pub connected: u64,
    /// Sum of the times that took, in seconds.
    pub connect_s: f64,
}

impl Flow {
    /// The mean response time of what was answered in it, in seconds; `None`: nothing was.
    pub(crate) fn mean_response_s(&self) -> Option<f64> {
        (self.answered > 0).then(|| self.response_s / self.answered as f64)
    }
}

/// One measure in one phase.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    /// done − due in nanoseconds, of the operations that succeeded.
    pub response: LogHistogram,
    /// done − sent, of the same.
    pub service: LogHistogram,
    /// sent − due, of the same.
    pub lag: LogHistogram,
    /// The generator's part of the response, of those whose answers were read a millisecond late or more.
    pub late: LogHistogram,
    /// done − due of the operations that the target answered with a failure.
    pub failed_response: LogHistogram,
    /// The times for which operations that were never answered were waited for, from when they were due.
    pub unanswered: LogHistogram,
    /// Those of them that the end of the run cut off.
    pub(crate) cut_off: LogHistogram,
    /// Those that would have taken longer than every operation that was answered, where more were cut off than wait at any
    /// moment for as long as the others took: those due last had to wait longer than those before.
    pub outlasting: LogHistogram,
    /// All operations by the name of their outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// Operations that were unfinished at the end of the run and count as failed, since they had waited for longer than
    /// any answer took.
    pub overdue: u64,
}

/// The users of lost workers, all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LostUsers {
    /// Users who were there when their worker was lost.
    pub present: u64,
    /// Users who were started or refused before.
    pub begun: u64,
    /// Users who were connected before.
    pub connected: u64,
    /// Users who were still to start then, and whom nobody started.
    pub never_came: u64,
    /// Users who were still to start then, and were dealt to others.
    pub dealt: u64,
}

/// Users of a lost worker who are due from a moment on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deal {
    pub(crate) from_ns: u64,
    /// Users whom others start.
    pub(crate) users: u64,
    /// Users whom nobody starts.
    pub(crate) untaken: u64,
}

/// Users that were started or refused in these seconds, each once. Whoever is refused and tries again
/// counts as refused again, and as one who came again: together it is still one user.
pub(crate) fn users_begun<'a>(rows: impl Iterator<Item = &'a SeriesRow> + Clone) -> u64 {
    let begun = sum(rows.clone(), |row| row.users_started + row.users_refused);
    begun.saturating_sub(sum(rows, |row| row.users_repeated))
}

/// Users that started in these seconds, each once: of those begun, whoever was not refused. Where users
/// were refused again and again, at least all who had a connection.
pub(crate) fn users_started<'a>(rows: impl Iterator<Item = &'a SeriesRow> + Clone) -> u64 {
    let begun = users_begun(rows.clone());
    let started = begun.saturating_sub(sum(rows.clone(), |row| row.users_refused));
    match sum(rows.clone(), |row| row.users_repeated) {
        0 => started,
        _ => started.max(begun.min(sum(rows, |row| row.users_connected))),
    }
}

fn sum<'a>(rows: impl Iterator<Item = &'a SeriesRow>, of: impl Fn(&SeriesRow) -> u64) -> u64 {
    rows.map(of).sum()
}

impl Cell {
    /// Response times of all operations: those never answered took at least as long as they were waited
    /// for.
    pub fn all_responses(&self) -> CensoredTimes {
        CensoredTimes::outlasted(&self.answered_times(), &self.unanswered, &self.outlasting)
    }

    /// Response times of the operations that the target answered, with success or with a failure.
    pub(crate) fn answered_times(&self) -> LogHistogram {
        let mut known = self.response.clone();
        known.merge(&self.failed_response);
        known
    }

    /// Operations that succeeded. The log and the tally of a killed run may be a few seconds
    /// apart; the one that knows more is right.
    pub fn succeeded(&self) -> u64 {
        let known = self.outcomes.get(Outcome::Ok.name()).copied().unwrap_or(0);
        known.max(self.response.count())
    }

    /// Failed operations with their kinds.
    pub fn errors(&self) -> impl Iterator<Item = (&str, u64)> {
        let ok = Outcome::Ok.name();
        let unfinished = Outcome::Unfinished.name();
        let kinds = self.outcomes.iter().filter(move |(kind, _)| *kind != ok);
        let kinds = kinds.map(move |(kind, &n)| match kind == unfinished {
            true => (kind.as_str(), self.overdue.min(n)),
            false => (kind.as_str(), n),
        });
        kinds.filter(|(_, n)| *n > 0)
    }

    /// Operations that failed.
    pub fn failed(&self) -> u64 {
        self.errors().map(|(_, n)| n).sum()
    }

    /// Operations that ended, well or not.
    pub fn ended(&self) -> u64 {
        self.succeeded() + self.failed()
    }

    /// Operations that the target answered, with success or with a failure. Those that were never answered have
    /// ended, but the target has not completed them.
    pub(crate) fn answered(&self) -> CompletionCounts {
        let mut answered = CompletionCounts { succeeded: self.succeeded(), failed: 0 };
        for (kind, n) in self.errors() {
            answered.count(kind, n);
        }
        answered
    }

    /// Operations that the end of the run interrupted, and of which nothing is known.
    pub fn unfinished(&self) -> u64 {
        self.outcome(Outcome::Unfinished).saturating_sub(self.overdue)
    }

    /// Operations by the name of one outcome.
    pub fn outcome(&self, outcome: Outcome) -> u64 {
        self.outcomes.get(outcome.name()).copied().unwrap_or(0)
    }

    pub(crate) fn merge(&mut self, other: &Cell) {
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.lag.merge(&other.lag);
        self.late.merge(&other.late);
        self.failed_response.merge(&other.failed_response);
        self.unanswered.merge(&other.unanswered);
        self.cut_off.merge(&other.cut_off);
        self.outlasting.merge(&other.outlasting);
        self.overdue += other.overdue;
        for (outcome, n) in &other.outcomes {
            *self.outcomes.entry(outcome.clone()).or_default() += n;
        }
    }
}

impl Figures {
    /// Figures of a run that has recorded nothing yet. They say which measures a figure is taken from, since that does not
    /// depend on what was measured.
    pub(crate) fn of_nothing(info: &RunInfo) -> Figures {
        let info = RunInfo { phases: Vec::new(), ..info.clone() };
        Figures::new(info, Vec::new(), Vec::new())
    }

    /// Figures of a run whose cells are still empty.
    pub fn new(info: RunInfo, series: Vec<SeriesRow>, events: Vec<Event>) -> Figures {
        let row = vec![Cell::default(); info.measures.len()];
        let cells = vec![row; info.phases.len().max(1)];
        Figures {
            info,
            series,
            events,
            probes: Probes::default(),
            flow: Vec::new(),
            windows: Vec::new(),
            p98: Vec::new(),
            waited_ns: Vec::new(),
            drained: Vec::new(),
            begun: Vec::new(),
            due: Vec::new(),
            never_begun: Vec::new(),
            retried: Vec::new(),
            begun_in: Vec::new(),
            endings: Vec::new(),
            own_work: Vec::new(),
            errors: ErrorTotals::default(),
            regions: Vec::new(),
            workers: Vec::new(),
            intervals: Vec::new(),
            lag_moves: Vec::new(),
            metrics: Metrics::default(),
            session_times: vec![SessionTimes::default(); cells.len()],
            cells,
        }
    }

    /// Adds failures of one kind in one interval. A phase that the run does not have is its last one.
    pub(crate) fn add_error(&mut self, count: ErrorCount) {
        let last = self.info.phases.len().saturating_sub(1) as u32;
        self.errors.add(ErrorCount { phase: count.phase.min(last), ..count });
    }

    /// Hours that users were there, all users together.
    pub(crate) fn user_hours(&self) -> f64 {
        let present = self.series.iter().map(|row| {
            let interval_ns = row.end_ns.saturating_sub(row.start_ns);
            row.users as f64 * interval_ns as f64 / 3.6e12
        });
        present.sum()
    }

    /// The cell of a measure in a phase; `None` where the run has no such measure or phase.
    pub fn cell_mut(&mut self, phase: usize, measure: usize) -> Option<&mut Cell> {
        self.cells.get_mut(phase)?.get_mut(measure)
    }

    /// A measure's cell in a phase, or over the whole run. Empty where there is none.
    pub fn cell(&self, phase: Option<usize>, measure: usize) -> Cell {
        let mut sum = Cell::default();
        let rows = match phase {
            Some(phase) => self.cells.get(phase..=phase).unwrap_or(&[]),
            None => &self.cells,
        };
        for cell in rows.iter().filter_map(|row| row.get(measure)) {
            sum.merge(cell);
        }
        sum
    }

    /// Several measures as if they were one: their histograms and counts added up.
    pub(crate) fn merged(&self, phase: Option<usize>, measures: &[usize]) -> Cell {
        let mut cells = measures.iter().map(|&measure| self.cell(phase, measure));
        let mut sum = cells.next().unwrap_or_default();
        for cell in cells {
            sum.merge(&cell);
        }
        sum
    }

    /// Response times of all operations of these measures over the run, as thresholds take them.
    pub fn responses(&self, measures: &[usize]) -> CensoredTimes {
        self.merged(None, measures).all_responses()
    }

    /// The phase a moment belongs to: what comes after the last phase counts to the last.
    pub fn phase_at(&self, at_ns: u64) -> usize {
        let ended = self.info.phases.iter().take_while(|p| p.end_ns <= at_ns).count();
        ended.min(self.info.phases.len().saturating_sub(1))
    }

    /// The last moment the record knows of, since the run's start.
    pub fn ended_ns(&self) -> u64 {
        let seen_ns = self.series.last().map_or(0, |row| row.end_ns);
        self.info.ended_ns.max(seen_ns)
    }

    /// The moment at which the last phase was to end.
    pub fn planned_end_ns(&self) -> u64 {
        self.info.phases.last().map_or(0, |p| p.end_ns)
    }

    /// The flow of each second of the load; empty if the record does not say.
    /// [`flow`](Figures::flow) ends with the last operation, which may be earlier.
    pub(crate) fn planned_flow(&self) -> Vec<Flow> {
        let planned_s = self.planned_end_ns().min(self.ended_ns()) / 1_000_000_000;
        if self.flow.is_empty() || planned_s > FLOW_SECONDS_MAX as u64 {
            return Vec::new();
        }
        let mut flow = self.flow.clone();
        flow.resize(planned_s as usize, Flow::default());
        flow
    }

    /// The seconds of a phase.
    pub fn rows(&self, phase: usize) -> impl Iterator<Item = &SeriesRow> + Clone {
        self.series.iter().filter(move |row| row.phase as usize == phase)
    }

    /// A counter's sum over the run.
    pub fn total(&self, counter: impl Fn(&SeriesRow) -> u64) -> u64 {
        self.series.iter().map(counter).sum()
    }

    /// Users that were started or refused, each once, however often its session began again.
    pub fn users_begun(&self) -> u64 {
        users_begun(self.series.iter())
    }

    /// Users that started, each once.
    pub fn users_started(&self) -> u64 {
        users_started(self.series.iter())
    }

    /// A gauge's largest value.
    pub fn peak(&self, gauge: impl Fn(&SeriesRow) -> u64) -> u64 {
        self.series.iter().map(gauge).max().unwrap_or(0)
    }

    /// The workers that were lost: the [`EventKind::WorkerLost`] among the events.
    pub fn losses(&self) -> impl Iterator<Item = &EventKind> {
        let kinds = self.events.iter().map(|event| &event.what);
        kinds.filter(|what| matches!(what, EventKind::WorkerLost { .. }))
    }

    /// The deal by which others got the share of this lost worker; `None`: there was none.
    pub(crate) fn deal_of(&self, lost: u32) -> Option<Deal> {
        self.events.iter().find_map(|event| match event.what {
            EventKind::ShareDealt { worker, from_ns, users, users_untaken: untaken, .. }
                if worker == lost =>
            {
                Some(Deal { from_ns, users, untaken })
            }
            _ => None,
        })
    }

    /// The users of lost workers.
    pub fn lost_users(&self) -> LostUsers {
        let mut sum = LostUsers::default();
        for loss in self.losses() {
            if let EventKind::WorkerLost {
                users,
                users_begun,
                users_connected,
                users_due_after,
                ..
            } = loss
            {
                sum.present += users;
                sum.begun += users_begun;
                sum.connected += users_connected;
                sum.never_came += users_due_after;
            }
        }
        for event in &self.events {
            if let EventKind::ShareDealt { users, .. } = event.what {
                sum.dealt += users;
            }
        }
        sum
    }

    /// Users that loops which were not lost had to start in this interval, sessions restarted aside:
    /// each loop of a region has as many users as any other. Who was due in a pause was not to start; where an interval reported more of
    /// them than were due in it, this is negative, and the next one makes up for it.
    pub fn due_of_rest(&self, row: &SeriesRow) -> f64 {
        let due = row.users_due.saturating_sub(row.users_repeated) as f64;
        let due = due * (1.0 - self.share_lost(row)).max(0.0);
        due - row.users_paused as f64
    }

    /// True for the operations that count if no measure is named: those of steps. Connections and checks have figures of
    /// their own, transactions are made of others, and messages that the target sends by itself would hide errors.
    pub fn is_request(&self, measure: usize) -> bool {
        is_of_step(self.kind(measure))
    }

    /// The measures of which that is true.
    pub(crate) fn requests(&self) -> impl Iterator<Item = usize> + Clone {
        (0..self.info.measures.len()).filter(|&measure| self.is_request(measure))
    }

    /// A measure's kind; empty where there is no such measure.
    pub fn kind(&self, measure: usize) -> &str {
        self.info.measures.get(measure).map_or("", |m| m.kind.as_str())
    }
}
