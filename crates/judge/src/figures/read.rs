//! Filling [`Figures`] from a run directory.

use std::collections::HashMap;

use record::schema::Tally;
use record::{Measurement, RecordError, Run};

use super::{Cell, Figures};

/// Which of a cell's histograms a tag of the latency log names.
#[derive(Clone, Copy)]
enum Part {
    Response,
    Service,
    Lag,
}

impl Part {
    fn of(self, cell: &mut Cell) -> &mut stats::hist::LogHistogram {
        match self {
            Part::Response => &mut cell.response,
            Part::Service => &mut cell.service,
            Part::Lag => &mut cell.lag,
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
        }
        run.intervals(|interval| {
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

    /// Adds outcomes that were counted while the run went on.
    pub fn add_tally(&mut self, tally: &Tally) {
        self.begun.clone_from(&tally.begun);
        self.endings.clone_from(&tally.endings);
        for phase in &tally.phases {
            for measure in &phase.measures {
                let cell = self.cell_mut(phase.phase as usize, measure.measure as usize);
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
