//! Filling [`Figures`] from a run directory.

use std::collections::HashMap;

use record::schema::Tally;
use record::{Interval, Measurement, Outcome, RecordError, Run};

use super::{Cell, Figures, Flow};
use crate::limits::FLOW_SECONDS_MAX;

/// Which of a cell's histograms a tag of the latency log names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Part {
    Response,
    Service,
    Lag,
    Failed,
    Unanswered,
}

impl Part {
    fn of(self, cell: &mut Cell) -> &mut stats::hist::LogHistogram {
        match self {
            Part::Response => &mut cell.response,
            Part::Service => &mut cell.service,
            Part::Lag => &mut cell.lag,
            Part::Failed => &mut cell.failed_response,
            Part::Unanswered => &mut cell.unanswered,
        }
    }
}

/// How operations ended, as far as it matters to a [`Flow`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// A connection was established.
    Connected,
    /// A request or handshake got an answer.
    Answered,
    /// It got none.
    Unanswered,
}

impl Figures {
    /// Reads what is needed of a run directory. Row by row only where a run was killed before it
    /// had counted its outcomes.
    pub fn read(run: &Run) -> Result<Figures, RecordError> {
        let mut figures = Figures::new(run.info().clone(), run.series()?, run.events()?);
        figures.probes = run.probes()?;
        let tags = figures.tags();
        let ends = figures.end_tags();
        run.intervals(|interval| {
            if let Some(&end) = ends.get(interval.tag.as_str()) {
                figures.add_flow(&interval, end);
            }
            let phase = figures.phase_at(interval.start_ns);
            if let Some(&(measure, part)) = tags.get(interval.tag.as_str())
                && let Some(cell) = figures.cell_mut(phase, measure)
            {
                part.of(cell).merge(&interval.hist);
            }
        })?;
        match run.tally()? {
            Some(tally) => figures.add_tally(&tally),
            None => run.requests(|batch| figures.count_rows(batch))?,
        }
        Ok(figures)
    }

    /// The measure of each tag, and which of its times.
    pub(super) fn tags(&self) -> HashMap<String, (usize, Part)> {
        let mut tags = HashMap::new();
        for (number, measure) in self.info.measures.iter().enumerate() {
            let name = &measure.name;
            tags.insert(name.clone(), (number, Part::Response));
            tags.insert(format!("{name}.service"), (number, Part::Service));
            tags.insert(format!("{name}.lag"), (number, Part::Lag));
            tags.insert(format!("{name}.failed"), (number, Part::Failed));
            tags.insert(format!("{name}.censored"), (number, Part::Unanswered));
        }
        tags
    }

    /// The tags of response times of connections, requests and handshakes, and how these ended.
    fn end_tags(&self) -> HashMap<String, End> {
        let mut tags = HashMap::new();
        for measure in &self.info.measures {
            let name = &measure.name;
            match measure.kind.as_str() {
                "connect" => {
                    tags.insert(name.clone(), End::Connected);
                }
                "request" | "handshake" => {
                    tags.insert(name.clone(), End::Answered);
                    tags.insert(format!("{name}.failed"), End::Answered);
                    tags.insert(format!("{name}.censored"), End::Unanswered);
                }
                _ => {}
            }
        }
        tags
    }

    /// Adds the operations of an interval to the seconds in which they were due and ended.
    fn add_flow(&mut self, interval: &Interval, end: End) {
        const SECOND: u64 = 1_000_000_000;
        let ended_ns = interval.start_ns + interval.len_ns / 2;
        let ended = (interval.start_ns / SECOND) as usize;
        if ended >= FLOW_SECONDS_MAX {
            return;
        }
        if self.flow.len() <= ended {
            self.flow.resize(ended + 1, Flow::default());
        }
        let count = interval.hist.count();
        let total_s = interval.hist.mean() * count as f64 / 1e9;
        if end == End::Connected {
            self.flow[ended].connected += count;
            self.flow[ended].connect_s += total_s;
            return;
        }
        for (_, response_ns, count) in interval.hist.iter() {
            let due = (ended_ns.saturating_sub(response_ns) / SECOND) as usize;
            // The middle of an interval of several seconds is after its first one.
            self.flow[due.min(ended)].due += count;
        }
        let second = &mut self.flow[ended];
        second.ended += count;
        if end == End::Answered {
            second.answered += count;
            second.response_s += total_s;
        }
    }

    /// Adds outcomes that were counted while the run went on.
    pub fn add_tally(&mut self, tally: &Tally) {
        self.begun.clone_from(&tally.begun);
        self.endings.clone_from(&tally.endings);
        let last = self.info.phases.len().saturating_sub(1);
        for phase in &tally.phases {
            let is_drain = phase.phase as usize > last;
            for measure in &phase.measures {
                let number = measure.measure as usize;
                if is_drain {
                    self.drained.resize(self.drained.len().max(number + 1), 0);
                    let unfinished = measure.outcomes.get(Outcome::Unfinished.name());
                    let ended: u64 = measure.outcomes.values().sum();
                    self.drained[number] += ended - unfinished.copied().unwrap_or(0);
                }
                let cell = self.cell_mut(last.min(phase.phase as usize), number);
                let Some(cell) = cell else { continue };
                for (outcome, n) in &measure.outcomes {
                    *cell.outcomes.entry(outcome.clone()).or_default() += n;
                }
            }
        }
    }

    /// Counts outcomes from rows; a sampled row stands for `weight` operations.
    fn count_rows(&mut self, rows: &[Measurement]) {
        for row in rows {
            let phase = self.phase_at(row.done_ns);
            if let Some(cell) = self.cell_mut(phase, row.measure as usize) {
                let outcome = row.outcome.name().to_owned();
                *cell.outcomes.entry(outcome).or_default() += u64::from(row.weight);
            }
        }
    }
}
