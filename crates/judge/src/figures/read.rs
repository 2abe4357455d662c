//! Filling [`Figures`] from a run directory.

use std::collections::HashMap;

use record::schema::Tally;
use record::{Interval, Measurement, Outcome, RecordError, Run};

use super::{Cell, Figures, Flow};
use crate::limits::FLOW_SECONDS_MAX;

/// Which of a cell's histograms a tag of the latency log names.
#[derive(Clone, Copy)]
enum Part {
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

impl Figures {
    /// Reads what is needed of a run directory. Row by row only where a run was killed before it
    /// had counted its outcomes.
    pub fn read(run: &Run) -> Result<Figures, RecordError> {
        let mut figures = Figures::new(run.info().clone(), run.series()?, run.events()?);
        figures.probes = run.probes()?;
        let mut tags: HashMap<String, (usize, Part)> = HashMap::new();
        for (number, measure) in figures.info.measures.iter().enumerate() {
            tags.insert(measure.name.clone(), (number, Part::Response));
            tags.insert(format!("{}.service", measure.name), (number, Part::Service));
            tags.insert(format!("{}.lag", measure.name), (number, Part::Lag));
            tags.insert(format!("{}.failed", measure.name), (number, Part::Failed));
            tags.insert(
                format!("{}.censored", measure.name),
                (number, Part::Unanswered),
            );
        }
        let answers = figures.answer_tags();
        run.intervals(|interval| {
            if let Some(&answered) = answers.get(interval.tag.as_str()) {
                figures.add_flow(&interval, answered);
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

    /// The tags of response times of requests and handshakes, and whether these were answered.
    fn answer_tags(&self) -> HashMap<String, bool> {
        let measures = self.info.measures.iter();
        let measures = measures.filter(|m| matches!(m.kind.as_str(), "request" | "handshake"));
        let tags = measures.flat_map(|m| {
            [
                (m.name.clone(), true),
                (format!("{}.failed", m.name), true),
                (format!("{}.censored", m.name), false),
            ]
        });
        tags.collect()
    }

    /// Adds the requests of an interval to the seconds in which they were due and ended.
    fn add_flow(&mut self, interval: &Interval, answered: bool) {
        const SECOND: u64 = 1_000_000_000;
        let ended_ns = interval.start_ns + interval.len_ns / 2;
        let ended = (interval.start_ns / SECOND) as usize;
        if ended >= FLOW_SECONDS_MAX {
            return;
        }
        if self.flow.len() <= ended {
            self.flow.resize(ended + 1, Flow::default());
        }
        for (_, response_ns, count) in interval.hist.iter() {
            let due = (ended_ns.saturating_sub(response_ns) / SECOND) as usize;
            self.flow[due].due += count;
        }
        let second = &mut self.flow[ended];
        second.ended += interval.hist.count();
        if answered {
            second.answered += interval.hist.count();
            second.response_s += interval.hist.mean() * interval.hist.count() as f64 / 1e9;
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
