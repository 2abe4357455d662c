//! The terminal: what it can show, and the live view of a run.

use std::collections::{BTreeMap, VecDeque};
use std::io::{IsTerminal, Stderr, Write};

use controller::{Tick, TickMeasure};
use record::schema::{Event, EventKind, SeriesRow};
use report::{
    HeatColumn, Live, LiveMeasure, LiveState, RATE_WINDOW_NS, Screen, Stage, Style, plain_line,
    rate_window,
};
use stats::censored::Quantile;

/// Seconds of latencies that are kept: more than a screen shows.
const PAST: usize = 60;
/// The interval of plain lines: that of their rates, so that these leave out no time. There is one more when the run is
/// interrupted, paused or resumed.
const PLAIN_EVERY_NS: u64 = RATE_WINDOW_NS;

/// Columns of results where nothing says how many there are.
const COLUMNS: usize = 120;
/// Fewer columns than this are not filled: the text is cut.
const COLUMNS_MIN: usize = 40;
/// Nor are more: lines that long are hard to read.
const COLUMNS_MAX: usize = 400;

/// Capabilities of standard output, on which results are printed. `NO_COLOR` (no-color.org) is respected.
pub(crate) fn style() -> Style {
    style_of(std::io::stdout().is_terminal())
}

/// Capabilities of standard error, on which the progress of runs is printed.
pub(crate) fn progress_style() -> Style {
    style_of(std::io::stderr().is_terminal())
}

fn style_of(terminal: bool) -> Style {
    let set = |name: &str| std::env::var(name).is_ok_and(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| std::env::var(name).ok());
    let utf8 = locale.is_none_or(|l| {
        let l = l.to_ascii_lowercase();
        l.is_empty() || l.contains("utf-8") || l.contains("utf8") || l == "c" || l == "posix"
    });
    Style { colour: terminal && !set("NO_COLOR"), unicode: utf8 }
}

/// The width of results: as the variable `COLUMNS` says, else that of the terminal; 120 where standard output is none.
pub(crate) fn columns() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|value| value.trim().parse().ok());
    let of_terminal = || {
        let is_terminal = std::io::stdout().is_terminal();
        let size = is_terminal.then(crossterm::terminal::size).and_then(Result::ok);
        size.map(|(columns, _)| usize::from(columns))
    };
    let columns = said.or_else(of_terminal).filter(|&columns| columns > 0);
    columns.map_or(COLUMNS, |columns| columns.clamp(COLUMNS_MIN, COLUMNS_MAX))
}

/// Shows a run in progress, on standard error: standard output is for results.
pub(crate) enum View {
    Nothing,
    /// A line every few seconds.
    Lines(History),
    /// Redrawn in place.
    Screen(History, Screen<Stderr>),
}

/// The seconds so far.
#[derive(Default)]
pub(crate) struct History {
    rows: Vec<SeriesRow>,
    measures: BTreeMap<String, Recent>,
    /// Measures in the order they first appeared.
    order: Vec<String>,
    /// How long requests took, in the last seconds.
    heat: Vec<HeatColumn>,
    /// The time of the last line, and whether the run was interrupted and paused then.
    last_line: Option<(u64, bool, bool)>,
}

/// The intervals of a measure that make up the window of rates.
#[derive(Default)]
struct Recent {
    errors: u64,
    counts: VecDeque<IntervalCounts>,
    response: Option<[Quantile; 3]>,
    p99_past_ns: VecDeque<f64>,
}

/// The operations of a measure in one interval.
#[derive(Clone, Copy)]
struct IntervalCounts {
    ended: u64,
    /// Those of them that the target answered.
    completed: u64,
}

impl View {
    /// The view for this terminal; nothing if `quiet`.
    pub(crate) fn new(quiet: bool) -> View {
        if quiet {
            View::Nothing
        } else if std::io::stderr().is_terminal() {
            View::Screen(History::default(), Screen::new(std::io::stderr()))
        } else {
            View::Lines(History::default())
        }
    }

    /// The view for this terminal if it can be redrawn in place; else nothing.
    pub(crate) fn screen_only(quiet: bool) -> View {
        match View::new(quiet) {
            View::Lines(_) => View::Nothing,
            view => view,
        }
    }

    /// Shows a second. A terminal that cannot be written to does not stop the run.
    pub(crate) fn tick(&mut self, tick: &Tick<'_>) {
        match self {
            View::Nothing => {}
            View::Lines(history) => {
                history.add(tick);
                let _ = write_console(tick);
                if history.is_line_due(tick) {
                    history.last_line = Some((tick.row.end_ns, tick.interrupted, tick.paused));
                    let measures = history.live();
                    let line = plain_line(tick.info, &history.state(tick, &measures));
                    let _ = writeln!(std::io::stderr(), "{line}");
                }
            }
            View::Screen(history, screen) => {
                history.add(tick);
                if console(tick).next().is_some() {
                    let _ = screen.clear();
                    let _ = write_console(tick);
                }
                let (columns, lines) = crossterm::terminal::size().unwrap_or((80, 24));
                let live = Live::new(tick.info, columns, lines, progress_style());
                let measures = history.live();
                let _ = screen.draw(&live.frame(&history.state(tick, &measures)));
            }
        }
    }

    /// Clears the view, to make room for the verdict.
    pub(crate) fn end(&mut self) {
        if let View::Screen(_, screen) = self {
            let _ = screen.clear();
        }
    }
}

/// The lines that scripts have written.
fn console<'t>(tick: &Tick<'t>) -> impl Iterator<Item = &'t str> + use<'t> {
    let events: &'t [Event] = tick.events;
    events.iter().filter_map(|event| match &event.what {
        EventKind::Console { text } => Some(text.as_str()),
        _ => None,
    })
}

/// Writes them above the view, as notes.
fn write_console(tick: &Tick<'_>) -> std::io::Result<()> {
    let mut out = std::io::stderr().lock();
    for line in console(tick).flat_map(str::lines) {
        // A script must not steer the terminal.
        let line: String = line.chars().filter(|c| !record::controls::is_control(*c)).collect();
        writeln!(out, "note: console: {line}")?;
    }
    Ok(())
}

impl History {
    fn is_line_due(&self, tick: &Tick<'_>) -> bool {
        self.last_line.is_none_or(|(line_ns, interrupted, paused)| {
            tick.row.end_ns >= line_ns + PLAIN_EVERY_NS
                || (tick.interrupted, tick.paused) != (interrupted, paused)
        })
    }

    fn add(&mut self, tick: &Tick<'_>) {
        self.rows.push(tick.row.clone());
        let mut column = HeatColumn::default();
        tick.responses().for_each(|response| column.add(response));
        self.heat.push(column);
        let old = self.heat.len().saturating_sub(PAST);
        self.heat.drain(..old);
        let intervals_max = rate_window(&self.rows).len();
        let measures = tick.over_regions();
        for measure in measures.iter() {
            if !self.measures.contains_key(&measure.name) {
                self.order.push(measure.name.clone());
            }
            self.measures.entry(measure.name.clone()).or_default().add(measure);
        }
        for (name, recent) in &mut self.measures {
            let second = measures.iter().find(|m| &m.name == name);
            let interval = IntervalCounts {
                ended: second.map_or(0, |measure| measure.count),
                completed: second.map_or(0, |measure| measure.completed),
            };
            recent.close(interval, intervals_max);
            let p99_ns = second.and_then(|m| m.response).map_or(0, |all| all[2].value());
            recent.p99_past_ns.push_back(p99_ns as f64);
            if recent.p99_past_ns.len() > PAST {
                recent.p99_past_ns.pop_front();
            }
        }
    }

    fn live(&self) -> Vec<LiveMeasure> {
        let window = rate_window(&self.rows);
        let length_ns = |row: &SeriesRow| row.end_ns.saturating_sub(row.start_ns);
        let time_ns: u64 = window.iter().map(length_ns).sum();
        let measures = self.order.iter().filter_map(|name| Some((name, self.measures.get(name)?)));
        measures.map(|(name, recent)| recent.live(name, time_ns)).collect()
    }

    fn state<'a>(&'a self, tick: &Tick<'_>, measures: &'a [LiveMeasure]) -> LiveState<'a> {
        let planned_end_ns = tick.info.phases.last().map_or(0, |phase| phase.end_ns);
        LiveState {
            now_ns: tick.row.end_ns,
            rows: &self.rows,
            measures,
            heat: &self.heat,
            stage: if tick.interrupted {
                Stage::Interrupted
            } else if tick.row.end_ns > planned_end_ns {
                Stage::Draining
            } else if tick.paused {
                Stage::Paused
            } else {
                Stage::Running
            },
        }
    }
}

impl Recent {
    fn add(&mut self, measure: &TickMeasure) {
        self.errors += measure.errors;
        self.response = measure.response.or(self.response);
    }

    /// Closes an interval, and keeps this many. Percentiles are not shown after as many without any operation.
    fn close(&mut self, interval: IntervalCounts, intervals_max: usize) {
        self.counts.push_back(interval);
        let old = self.counts.len().saturating_sub(intervals_max);
        self.counts.drain(..old);
        if self.counts.iter().all(|interval| interval.ended == 0) {
            self.response = None;
        }
    }

    /// `time_ns`: that of the window of rates.
    fn live(&self, name: &str, time_ns: u64) -> LiveMeasure {
        let completed: u64 = self.counts.iter().map(|interval| interval.completed).sum();
        let quantile = |place: usize| self.response.map(|all| all[place]);
        LiveMeasure {
            name: name.to_owned(),
            rate_per_s: completed as f64 / (time_ns as f64 / 1e9).max(1e-9),
            errors: self.errors,
            p50_ns: quantile(0),
            p95_ns: quantile(1),
            p99_ns: quantile(2),
            p99_past_ns: self.p99_past_ns.iter().copied().collect(),
        }
    }
}
