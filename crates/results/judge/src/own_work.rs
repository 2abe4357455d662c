//! The generator's own work over the complete run, by step.

use record::schema::{StepWork, WorkSummary};

use crate::figures::Figures;

/// All work that the record knows, the largest total first. Steps of one name are one.
pub(crate) fn summarise(figures: &Figures) -> Vec<WorkSummary> {
    let mut all: Vec<WorkSummary> = Vec::new();
    for work in &figures.own_work {
        let step = step_name(figures, work);
        match all.iter_mut().find(|known| known.kind == work.kind && known.step == step) {
            Some(known) => {
                known.count += work.count;
                known.total_ns = known.total_ns.saturating_add(work.total_ns);
                known.max_ns = known.max_ns.max(work.max_ns);
            }
            None => all.push(WorkSummary {
                kind: work.kind,
                step,
                count: work.count,
                total_ns: work.total_ns,
                max_ns: work.max_ns,
            }),
        }
    }
    all.sort_by_key(|work| std::cmp::Reverse(work.total_ns));
    all
}

/// The step's measure, or what the step is and in which session.
fn step_name(figures: &Figures, work: &StepWork) -> String {
    if let Some(measure) = work.measure {
        let info = figures.info.measures.get(usize::from(measure));
        return info.map_or_else(|| format!("measure {measure}"), |info| info.name.clone());
    }
    let step = work.own_step.as_deref().unwrap_or("a step");
    let session = work.session.and_then(|at| figures.info.sessions.get(usize::from(at)));
    match session {
        Some(session) => format!("{step} in session {session}"),
        None => step.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use record::schema::WorkKind;

    use super::*;
    use crate::sample::{self, MS, REQUEST};

    #[test]
    fn work_is_named_by_its_step_and_that_of_one_name_is_added_up() {
        let mut figures = sample::figures();
        let work = |kind, measure: Option<usize>, total_ns| StepWork {
            kind,
            measure: measure.map(|measure| measure as u16),
            session: measure.is_none().then_some(0),
            own_step: measure.is_none().then(|| "`js`".to_owned()),
            count: 2,
            total_ns,
            max_ns: total_ns - MS,
        };
        figures.own_work = vec![
            work(WorkKind::Step, None, 3 * MS),
            work(WorkKind::Save, Some(REQUEST), 4 * MS),
            work(WorkKind::Save, Some(REQUEST), 5 * MS),
        ];
        let summary = |kind, step: &str, count, total_ns, max_ns| WorkSummary {
            kind,
            step: step.to_owned(),
            count,
            total_ns,
            max_ns,
        };
        let expected = [
            summary(WorkKind::Save, "request", 4, 9 * MS, 4 * MS),
            summary(WorkKind::Step, "`js` in session visitor", 2, 3 * MS, 2 * MS),
        ];
        assert_eq!(summarise(&figures), expected);
    }
}
