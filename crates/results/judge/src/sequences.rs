//! Numbered messages that users did not get as they were sent.

use record::schema::{Finding, Severity};

use crate::case::Case;
use crate::finding::finding;
use crate::sequence_counts::SequenceCounts;

/// Anomalies of each kind of numbered messages.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let findings = SequenceCounts::all(case.figures).flat_map(|counts| {
        [anomalies(&counts), unreadable(&counts), unaccounted(&counts), silent(&counts)]
    });
    findings.flatten().collect()
}

fn anomalies(counts: &SequenceCounts<'_>) -> Option<Finding> {
    if counts.lost + counts.duplicated + counts.out_of_order == 0 {
        return None;
    }
    let text = format!(
        "`{}`: users received {} and missed {}; {} arrived twice, {} out of order",
        counts.name,
        units::counted(counts.received, "message"),
        units::count(counts.lost),
        units::count(counts.duplicated),
        units::count(counts.out_of_order),
    );
    let severity = if counts.lost > 0 { Severity::Warning } else { Severity::Note };
    let finding = finding(severity, "sequence-anomalies", text)
        .with("received", counts.received as f64)
        .with("lost", counts.lost as f64)
        .with("duplicated", counts.duplicated as f64)
        .with("out_of_order", counts.out_of_order as f64);
    Some(finding.done())
}

fn unreadable(counts: &SequenceCounts<'_>) -> Option<Finding> {
    if counts.unreadable == 0 {
        return None;
    }
    let text = format!(
        "`{}`: {} of {} had no number that can be read (`seq`): what users missed is unknown",
        counts.name,
        units::count(counts.unreadable),
        units::counted(counts.received, "message"),
    );
    let finding = finding(Severity::Warning, "numbers-unreadable", text)
        .with("unreadable", counts.unreadable as f64)
        .with("received", counts.received as f64);
    Some(finding.done())
}

fn unaccounted(counts: &SequenceCounts<'_>) -> Option<Finding> {
    if counts.unaccounted == 0 {
        return None;
    }
    let text = format!(
        "`{}`: of {} messages or subscriptions it is unknown what users missed, since numbers jumped too far or there were \
         too many sequences",
        counts.name,
        units::count(counts.unaccounted),
    );
    let finding = finding(Severity::Warning, "numbers-unaccounted", text)
        .with("unaccounted", counts.unaccounted as f64);
    Some(finding.done())
}

fn silent(counts: &SequenceCounts<'_>) -> Option<Finding> {
    if counts.silent == 0 {
        return None;
    }
    let text = format!(
        "`{}`: {} received none, as all that were opened by the same step, while other users \
         received some: they count as subscribed to something else",
        counts.name,
        units::counted(counts.silent, "subscription"),
    );
    let finding = finding(Severity::Warning, "subscriptions-silent", text)
        .with("subscriptions", counts.silent as f64);
    Some(finding.done())
}

#[cfg(test)]
mod tests {
    use plan::{Basis, Comparison, Figure, MeasureId, Stat, Threshold};

    use super::*;
    use crate::{Figures, sample};

    const FIRST: usize = sample::UPDATE;

    /// A run in which `said` was counted so: received, lost, duplicated, out of order, unreadable,
    /// unaccounted, silent.
    fn said(counts: [u64; 7]) -> Figures {
        let parts = ["", ".lost", ".duplicated", ".out_of_order"].into_iter();
        let parts = parts.chain([".unreadable", ".unaccounted", ".silent"]);
        let names: Vec<String> = parts.map(|part| format!("said{part}")).collect();
        let mut figures = sample::with_messages(&names);
        for (place, count) in counts.into_iter().enumerate() {
            if let Some(cell) = figures.cell_mut(0, FIRST + place) {
                cell.outcomes.insert("ok".to_owned(), count);
            }
        }
        figures
    }

    /// The result of a threshold on what was lost.
    fn none_lost(figures: &Figures) -> (bool, String) {
        let threshold = Threshold {
            text: "count(said.lost) == 0".to_owned(),
            figure: Figure::Measure {
                stat: Stat::Count,
                measure: Some(MeasureId(FIRST as u16 + 1)),
                basis: Basis::Response,
                phase: None,
            },
            comparison: Comparison::Equal,
            limit: 0.0,
        };
        let summary = crate::judge_figures(figures, &[threshold], false);
        let result = &summary.thresholds[0];
        (result.passed, result.shown.clone())
    }

    fn codes(figures: &Figures) -> Vec<(String, Severity)> {
        let found = findings(&Case::new(figures, &[])).into_iter();
        found.map(|f| (f.code, f.severity)).collect()
    }

    #[test]
    fn nothing_is_lost_only_if_everything_could_be_counted() {
        for (counts, passed, shown) in [
            ([20, 0, 0, 0, 0, 0, 0], true, "0"),
            ([20, 3, 0, 0, 0, 0, 0], false, "3"),
            ([0, 0, 0, 0, 0, 0, 0], false, "nothing measured"),
            ([20, 0, 0, 0, 20, 0, 0], false, "unknown: 20 messages without a readable number"),
            (
                [20, 0, 0, 0, 0, 5, 0],
                false,
                "unknown: 5 messages or subscriptions without an account",
            ),
            ([20, 0, 4, 4, 0, 0, 7], true, "0"),
        ] {
            let figures = said(counts);
            assert_eq!(none_lost(&figures), (passed, shown.to_owned()), "{counts:?}");
        }
    }

    #[test]
    fn each_fault_is_a_finding() {
        let warning = |code: &str| (code.to_owned(), Severity::Warning);
        let note = |code: &str| (code.to_owned(), Severity::Note);
        assert_eq!(codes(&said([20, 0, 0, 0, 0, 0, 0])), []);
        assert_eq!(codes(&said([20, 1, 0, 0, 0, 0, 0])), [warning("sequence-anomalies")]);
        assert_eq!(codes(&said([20, 0, 1, 0, 0, 0, 0])), [note("sequence-anomalies")]);
        assert_eq!(codes(&said([20, 0, 0, 0, 2, 0, 0])), [warning("numbers-unreadable")]);
        assert_eq!(codes(&said([20, 0, 0, 0, 0, 2, 0])), [warning("numbers-unaccounted")]);
        assert_eq!(codes(&said([20, 0, 0, 0, 0, 0, 2])), [warning("subscriptions-silent")]);
    }
}
