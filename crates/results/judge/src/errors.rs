//! Failures by what they were, over the complete run.

use std::collections::BTreeMap;

use record::schema::{ErrorCount, ErrorSummary};

use crate::figures::Figures;

/// All failures, the most frequent first; those that are not told apart come last.
pub(crate) fn summarise(figures: &Figures) -> Vec<ErrorSummary> {
    let mut ended = BTreeMap::new();
    let mut all: Vec<ErrorSummary> = Vec::new();
    for (key, total) in &figures.errors.0 {
        let measure = key.measure.map(usize::from);
        let info = measure.and_then(|measure| figures.info.measures.get(measure));
        let ended = measure.map(|measure| {
            *ended.entry(measure).or_insert_with(|| figures.cell(None, measure).ended())
        });
        let mut by_phase = total.by_phase.clone();
        by_phase.resize(figures.info.phases.len(), 0);
        all.push(ErrorSummary {
            step: match (&key.own_step, info) {
                (Some(step), _) => step.clone(),
                (None, Some(info)) => info.name.clone(),
                (None, None) => String::new(),
            },
            kind: key.kind.clone(),
            detail: key.detail.clone(),
            count: total.count,
            share: ended.filter(|&n| n > 0).map(|n| total.count as f64 / n as f64),
            first_ns: total.first_ns,
            last_ns: interval_end_ns(figures, total.last_ns),
            by_phase,
            samples: total.samples.clone(),
        });
    }
    let is_others = |error: &ErrorSummary| error.detail.as_deref() == Some(ErrorCount::OTHERS);
    all.sort_by_key(|error| (is_others(error), std::cmp::Reverse(error.count)));
    all
}

/// The end of the interval that begins there.
fn interval_end_ns(figures: &Figures, start_ns: u64) -> u64 {
    let place = figures.series.partition_point(|row| row.start_ns < start_ns);
    let row = figures.series.get(place).filter(|row| row.start_ns == start_ns);
    row.map_or(start_ns, |row| row.end_ns)
}

#[cfg(test)]
mod tests {
    use record::Outcome;

    use super::*;
    use crate::sample::{self, REQUEST, SECOND};

    fn count(second: u64, measure: Option<u16>, detail: &str, count: u64) -> ErrorCount {
        ErrorCount {
            start_ns: second * SECOND,
            phase: 0,
            measure,
            own_step: measure.is_none().then(|| "`set` of `x`".to_owned()),
            kind: Outcome::Status.name().to_owned(),
            detail: Some(detail.to_owned()),
            count,
        }
    }

    fn a_sample(detail: &str) -> ErrorSample {
        ErrorSample {
            at_ns: 4 * SECOND,
            measure: Some(REQUEST as u16),
            own_step: None,
            kind: Outcome::Status.name().to_owned(),
            detail: Some(detail.to_owned()),
            user: 7,
            text: "status".to_owned(),
            request: None,
            status: None,
            headers: Vec::new(),
            body: None,
        }
    }

    #[test]
    fn the_most_frequent_failure_comes_first_and_others_last() {
        let mut figures = sample::figures();
        let request = Some(REQUEST as u16);
        let counts = [
            count(4, request, "401", 2),
            count(4, request, ErrorCount::OTHERS, 900),
            count(5, request, "503", 40),
            count(9, request, "401", 8),
            count(9, None, "no number", 3),
        ];
        counts.into_iter().for_each(|count| figures.errors.add(count));
        figures.errors.add_sample(a_sample("401"));
        figures.errors.add_sample(a_sample("418"));
        let all = summarise(&figures);
        let found: Vec<_> =
            all.iter().map(|e| (e.detail.as_deref().unwrap_or_default(), e.count)).collect();
        assert_eq!(found, [("503", 40), ("401", 10), ("no number", 3), ("others", 900)]);
        let second = &all[1];
        assert_eq!((second.first_ns, second.last_ns), (4 * SECOND, 10 * SECOND));
        assert_eq!(second.step, figures.info.measures[REQUEST].name);
        assert_eq!(second.share, Some(10.0 / 6000.0));
        assert_eq!(second.by_phase.iter().sum::<u64>(), 10);
        assert_eq!(second.samples, [a_sample("401")], "none of a kind that was not counted");
        assert_eq!((all[2].step.as_str(), all[2].share), ("`set` of `x`", None));
        assert_eq!(crate::judge_figures(&figures, &[], false).errors, all);
    }
}
