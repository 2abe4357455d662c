//! A run in progress: a frame for the live screen, or one plain line.
//!
//! Both are pure functions of the seconds so far; the caller decides when to draw.

pub(crate) mod chart;
mod heat;

use record::schema::{RunInfo, SeriesRow};
use stats::censored::Quantile;

use crate::style::{Line, Style, Tone};
use crate::table::Table;
use crate::times::bounded_duration;
use chart::{bar, sparkline};
pub use heat::HeatColumn;

/// Rates of the live view are means over the newest rows that make up this time.
pub const RATE_WINDOW_NS: u64 = 5_000_000_000;
/// Seconds in a sparkline.
const SPARK_ROWS: usize = 30;
/// Characters of the progress bar.
const BAR_COLUMNS: usize = 24;
/// Lines of a frame besides those of the measures: its head, their header, and a line of some stages.
const FRAME_LINES: usize = 7;
/// Columns of a line before its sparkline.
const SPARK_INDENT: usize = 25;
/// Shorter sparklines are left out.
const SPARK_MIN: usize = 10;
/// Lines that are reserved for measures before latencies over time are shown.
const MEASURES_MIN: usize = 4;
/// The table of measures has sparklines if the terminal has at least this many columns.
const WIDE_COLUMNS: usize = 90;
/// Measures in a plain line.
const PLAIN_MEASURES: usize = 3;

/// The state of a run at a moment.
#[derive(Debug, Clone, Copy)]
pub struct LiveState<'a> {
    /// Time since the run's start.
    pub now_ns: u64,
    /// All seconds so far, in order.
    pub rows: &'a [SeriesRow],
    /// Measures in display order.
    pub measures: &'a [LiveMeasure],
    /// The response times in the same seconds.
    pub heat: &'a [HeatColumn],
    pub stage: Stage,
}

/// The stage of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The run is in its phases.
    Running,
    /// The run is in its phases, with arrivals paused.
    Paused,
    /// The phases are over; operations in flight may complete.
    Draining,
    /// The user ended the run; operations in flight may complete.
    Interrupted,
}

/// The last seconds of a measure.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LiveMeasure {
    pub name: String,
    /// Completed operations per second, over the [`rate_window`].
    pub rate_per_s: f64,
    /// Errors since the run's start.
    pub errors: u64,
    /// Response times in nanoseconds; `None` if nothing ended.
    pub p50_ns: Option<Quantile>,
    pub p95_ns: Option<Quantile>,
    pub p99_ns: Option<Quantile>,
    /// The 99th percentile second by second, the newest last; 0 if nothing ended.
    pub p99_past_ns: Vec<f64>,
}

/// The live screen of one run.
#[derive(Debug)]
pub struct Live<'a> {
    info: &'a RunInfo,
    columns: usize,
    lines: usize,
    style: Style,
}

impl<'a> Live<'a> {
    /// The screen for a terminal of this size.
    pub fn new(info: &'a RunInfo, columns: u16, lines: u16, style: Style) -> Live<'a> {
        let mut live = Live { info, columns: 0, lines: 0, style };
        live.resize(columns, lines);
        live
    }

    /// Adapts to a new size of the terminal.
    pub fn resize(&mut self, columns: u16, lines: u16) {
        // A full last column makes some terminals wrap, a full last line makes all of them scroll.
        self.columns = usize::from(columns).saturating_sub(1);
        self.lines = usize::from(lines).saturating_sub(1);
    }

    /// The frame for a moment: lines without newlines that fit the terminal.
    pub fn frame(&self, state: &LiveState<'_>) -> Vec<String> {
        let now = Rates::compute(state.rows);
        let mut lines =
            vec![self.phase(state), self.users(state, &now), self.operations(state, &now)];
        let latency = self.latency(state);
        let room = self.lines.saturating_sub(FRAME_LINES + latency.len());
        lines.extend(latency);
        lines.extend([errors(state), generator(self.info, state)]);
        if state.stage == Stage::Paused {
            let text = "arrivals are paused: no users start, active users continue";
            lines.push(Line::default().tone(Tone::Warning, text));
        }
        if state.stage == Stage::Interrupted {
            let text = "ending early; press Ctrl-C again to stop at once";
            lines.push(Line::default().tone(Tone::Warning, text));
        }
        let mut lines: Vec<String> =
            lines.iter().map(|line| line.render(self.columns, self.style)).collect();
        lines.extend(self.measures(state, room));
        lines.truncate(self.lines);
        lines
    }

    fn phase(&self, state: &LiveState<'_>) -> Line {
        let line = Line::default().tone(Tone::Strong, format!("{}  ", self.info.name));
        let phases = &self.info.phases;
        let end_ns = phases.last().map_or(0, |p| p.end_ns);
        let number = phases.iter().take_while(|p| p.end_ns <= state.now_ns).count();
        let whole = format!("run {} of {}", clock(state.now_ns), clock(end_ns));
        let Some(phase) =
            phases.get(number).filter(|_| matches!(state.stage, Stage::Running | Stage::Paused))
        else {
            let waiting = state.rows.last().map_or(0, |row| row.in_flight);
            let text = format!("draining, {} in flight  ", units::count(waiting));
            return line.text(text).tone(Tone::Dim, whole);
        };
        let past = state.now_ns.saturating_sub(phase.start_ns);
        let length = phase.end_ns.saturating_sub(phase.start_ns);
        let done = past as f64 / length.max(1) as f64;
        line.text(format!(
            "phase {} ({} of {})  {}  {} left  ",
            phase.name,
            number + 1,
            phases.len(),
            bar(done, BAR_COLUMNS, self.style),
            clock(phase.end_ns - state.now_ns),
        ))
        .tone(Tone::Dim, whole)
    }

    fn users(&self, state: &LiveState<'_>, now: &Rates) -> Line {
        let total = |counter: fn(&SeriesRow) -> u64| state.rows.iter().map(counter).sum::<u64>();
        let refused = total(|row| row.users_refused);
        let planned: f64 = self.info.phases.iter().map(|p| p.users_planned).sum();
        let users = state.rows.iter().map(|row| row.users as f64);
        let present = units::count(state.rows.last().map_or(0, |row| row.users));
        let line = label("users", &present).text(self.spark(users)).text(format!(
            "  {} of {} started, {} arriving",
            units::count(
                total(|row| row.users_started - row.users_repeated.min(row.users_started))
            ),
            units::about(planned),
            units::rate(now.started_per_s),
        ));
        match refused {
            0 => line,
            n => line.tone(Tone::Bad, format!("  {} refused", units::count(n))),
        }
    }

    fn operations(&self, state: &LiveState<'_>, now: &Rates) -> Line {
        let rates = state.rows.iter();
        let rates = rates.map(|row| per_second(row.operations_completed, length_ns(row)));
        let last = state.rows.last();
        label("completed", &units::rate(now.completed_per_s)).text(self.spark(rates)).text(format!(
            "  {} begun, {} in flight, {} connections open",
            units::rate(now.begun_per_s),
            units::count(last.map_or(0, |row| row.in_flight)),
            units::count(last.map_or(0, |row| row.connections)),
        ))
    }

    /// Latencies over the same time as the sparklines above, if there is room.
    fn latency(&self, state: &LiveState<'_>) -> Vec<Line> {
        let room = self.lines.saturating_sub(FRAME_LINES + MEASURES_MIN);
        if room < heat::ROWS_MAX || self.spark_columns() == 0 {
            return Vec::new();
        }
        let rows = heat::rows(state.heat, self.spark_columns(), self.style);
        let lines = rows.into_iter().enumerate().map(|(index, row)| {
            let from = match row.from_ns {
                Some(ns) => format!("from {}", units::duration(ns)),
                None => "below".to_owned(),
            };
            label(if index == 0 { "response" } else { "" }, &from).text(row.cells)
        });
        lines.collect()
    }

    /// The length of sparklines; 0 if there is too little room.
    fn spark_columns(&self) -> usize {
        match self.columns.saturating_sub(SPARK_INDENT).min(SPARK_ROWS) {
            few if few < SPARK_MIN => 0,
            columns => columns,
        }
    }

    fn spark(&self, values: impl ExactSizeIterator<Item = f64>) -> String {
        let columns = self.spark_columns();
        let past = values.len().saturating_sub(columns);
        sparkline(&values.skip(past).collect::<Vec<_>>(), columns, self.style)
    }

    fn measures(&self, state: &LiveState<'_>, room: usize) -> Vec<String> {
        if state.measures.is_empty() || room == 0 {
            return Vec::new();
        }
        let mut heads = vec!["last seconds", "rate", "failed", "p50", "p95", "p99"];
        let is_wide = self.columns >= WIDE_COLUMNS;
        if is_wide {
            heads.push("p99 over time");
        }
        let mut table = Table::new(&heads);
        let time = |quantile: Option<Quantile>| match quantile {
            Some(quantile) => (None, bounded_duration(quantile)),
            None => (None, "–".to_owned()),
        };
        for measure in state.measures.iter().take(room) {
            let mut cells = vec![
                (None, format!("  {}", measure.name)),
                (None, units::rate(measure.rate_per_s)),
                ((measure.errors > 0).then_some(Tone::Bad), units::count(measure.errors)),
                time(measure.p50_ns),
                time(measure.p95_ns),
                time(measure.p99_ns),
            ];
            if is_wide {
                cells.push((None, self.spark(measure.p99_past_ns.iter().copied())));
            }
            table.row(cells);
        }
        if state.measures.len() > room {
            let more = format!("  … and {} more", state.measures.len() - room);
            table.section(Line::default().tone(Tone::Dim, more));
        }
        table.render(self.columns, self.style)
    }
}

/// One line for a moment, for a log: no colour, no newline.
pub fn plain_line(info: &RunInfo, state: &LiveState<'_>) -> String {
    let now = Rates::compute(state.rows);
    let last = state.rows.last();
    let phase = info.phases.iter().find(|p| state.now_ns < p.end_ns);
    let stage = match (state.stage, phase) {
        (Stage::Running, Some(phase)) => phase.name.as_str(),
        (Stage::Paused, Some(_)) => "paused",
        (Stage::Running | Stage::Paused | Stage::Draining, _) => "draining",
        (Stage::Interrupted, _) => "ending early",
    };
    let mut text = format!(
        "{:>7}  {stage}  users {} (+{})  begun {}  completed {}  failed {}",
        clock(state.now_ns),
        units::count(last.map_or(0, |row| row.users)),
        units::rate(now.started_per_s),
        units::rate(now.begun_per_s),
        units::rate(now.completed_per_s),
        units::count(state.rows.iter().map(|row| row.errors).sum()),
    );
    for measure in state.measures.iter().take(PLAIN_MEASURES) {
        if let (Some(p50_ns), Some(p99_ns)) = (measure.p50_ns, measure.p99_ns) {
            let p50 = bounded_duration(p50_ns);
            let p99 = bounded_duration(p99_ns);
            text += &format!("  {} p50 {p50} p99 {p99}", measure.name);
        }
    }
    let lag_ns = last.map_or(0, |row| row.lag_p99_ns);
    text + &format!("  lag p99 {}", units::duration(lag_ns as f64))
}

/// The current rates.
struct Rates {
    started_per_s: f64,
    /// Operations of steps that began.
    begun_per_s: f64,
    /// Operations of steps that the target answered.
    completed_per_s: f64,
}

impl Rates {
    fn compute(rows: &[SeriesRow]) -> Rates {
        let rows = rate_window(rows);
        let time_ns: u64 = rows.iter().map(length_ns).sum();
        let rate =
            |counter: fn(&SeriesRow) -> u64| per_second(rows.iter().map(counter).sum(), time_ns);
        Rates {
            started_per_s: rate(|row| row.users_started),
            begun_per_s: rate(|row| row.operations_begun),
            completed_per_s: rate(|row| row.operations_completed),
        }
    }
}

/// The newest rows, over which the rates of the live view are means: of all operations, and of each measure.
pub fn rate_window(rows: &[SeriesRow]) -> &[SeriesRow] {
    let mut time_ns = 0;
    let newest = rows.iter().rev().take_while(|row| {
        let is_within = time_ns < RATE_WINDOW_NS;
        time_ns += length_ns(row);
        is_within
    });
    &rows[rows.len() - newest.count()..]
}

fn errors(state: &LiveState<'_>) -> Line {
    let total = |counter: fn(&SeriesRow) -> u64| state.rows.iter().map(counter).sum::<u64>();
    let errors = total(|row| row.errors);
    let tone = (errors > 0).then_some(Tone::Bad);
    let share = errors as f64 / total(SeriesRow::errors_among).max(1) as f64;
    let line = name("failed").maybe(tone, format!("{:>12}", units::count(errors)));
    line.text(format!(
        "  {} of {} operations{}",
        units::share(share),
        units::count(total(|row| row.operations_ended)),
        match total(|row| row.own_failures) {
            0 => String::new(),
            1 => " and 1 step that failed of itself".to_owned(),
            steps => format!(" and {} steps that failed of themselves", units::count(steps)),
        }
    ))
}

fn generator(info: &RunInfo, state: &LiveState<'_>) -> Line {
    let Some(row) = state.rows.last() else {
        return name("generator");
    };
    let late = row.lag_p99_ns > info.generator.lag_max_ns;
    let lag = format!("lag p99 {}", units::duration(row.lag_p99_ns as f64));
    let line = name("generator");
    let line = if late { line.tone(Tone::Bad, format!("LATE, {lag}")) } else { line.text(lag) };
    line.text(format!(
        ", max {}, busiest loop {} of a core, {}",
        units::duration(row.lag_max_ns as f64),
        units::percent(row.loop_busy_max),
        units::bytes(row.rss_bytes)
    ))
}

fn name(name: &str) -> Line {
    Line::default().tone(Tone::Dim, format!("{name:<11}"))
}

fn label(text: &str, figure: &str) -> Line {
    name(text).text(format!("{figure:>12}  "))
}

fn length_ns(row: &SeriesRow) -> u64 {
    row.end_ns.saturating_sub(row.start_ns)
}

fn per_second(count: u64, time_ns: u64) -> f64 {
    if time_ns == 0 { 0.0 } else { count as f64 / (time_ns as f64 / 1e9) }
}

/// A time as on a clock: `1:05`, `1:00:07`.
pub(crate) fn clock(ns: u64) -> String {
    let s = ns / 1_000_000_000;
    match s / 3600 {
        0 => format!("{}:{:02}", s / 60, s % 60),
        h => format!("{h}:{:02}:{:02}", s / 60 % 60, s % 60),
    }
}

#[cfg(test)]
mod tests;
