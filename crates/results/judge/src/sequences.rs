//! Numbered messages: those that users did not get, and whether that is known.

use record::schema::{Finding, MeasureInfo, Severity};

use crate::case::Case;
use crate::figures::Figures;
use crate::finding::finding;

/// Suffixes of measures that say nothing as long as numbers are unknown.
const PARTS: [&str; 3] = [".lost", ".duplicated", ".out_of_order"];

/// Suffixes of measures of what is wrong with messages and need not happen.
const ANOMALIES: [&str; 7] =
    [".lost", ".duplicated", ".out_of_order", ".unreadable", ".unaccounted", ".silent", ".ahead"];

/// True for the name of a measure that counts what is wrong with messages.
pub(crate) fn is_anomaly(name: &str) -> bool {
    ANOMALIES.iter().any(|part| name.ends_with(part))
}

/// The counts of one kind of numbered messages over the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SequenceCounts<'a> {
    name: &'a str,
    /// Messages, with a number or without.
    received: u64,
    lost: u64,
    duplicated: u64,
    out_of_order: u64,
    unreadable: u64,
    unaccounted: u64,
    silent: u64,
}

impl<'a> SequenceCounts<'a> {
    fn find(figures: &Figures, name: &'a str) -> Option<SequenceCounts<'a>> {
        // Messages are counted by region, their parts over all regions.
        let count = |part: &str| {
            let all = figures.info.measures.iter().enumerate();
            let is_it = |m: &MeasureInfo| {
                m.kind == "message" && m.over_regions().strip_prefix(name) == Some(part)
            };
            let counts = all
                .filter(|(_, measure)| is_it(measure))
                .map(|(number, _)| figures.cell(None, number).ended());
            counts.reduce(|sum, count| sum + count)
        };
        // Records of older versions have no more than three parts.
        Some(SequenceCounts {
            name,
            received: count("")?,
            lost: count(".lost")?,
            duplicated: count(".duplicated")?,
            out_of_order: count(".out_of_order")?,
            unreadable: count(".unreadable").unwrap_or(0),
            unaccounted: count(".unaccounted").unwrap_or(0),
            silent: count(".silent").unwrap_or(0),
        })
    }

    /// The messages of which this measure counts a part.
    pub(crate) fn of_part(figures: &'a Figures, measure: usize) -> Option<SequenceCounts<'a>> {
        let name = &figures.info.measures.get(measure)?.name;
        let name = PARTS.iter().find_map(|part| name.strip_suffix(part))?;
        SequenceCounts::find(figures, name)
    }

    /// The reason why the parts are unknown; `None`: they are known.
    pub(crate) fn unknown(&self) -> Option<String> {
        if self.received == 0 {
            return Some("nothing measured".to_owned());
        }
        if self.unreadable > 0 {
            let n = units::counted(self.unreadable, "message");
            return Some(format!("unknown: {n} without a readable number"));
        }
        (self.unaccounted > 0).then(|| {
            let n = units::count(self.unaccounted);
            format!("unknown: {n} messages or subscriptions without an account")
        })
    }

    fn anomalies(&self) -> Option<Finding> {
        if self.lost + self.duplicated + self.out_of_order == 0 {
            return None;
        }
        let text = format!(
            "`{}`: users received {} and missed {}; {} arrived twice, {} out of order",
            self.name,
            units::counted(self.received, "message"),
            units::count(self.lost),
            units::count(self.duplicated),
            units::count(self.out_of_order),
        );
        let severity = if self.lost > 0 { Severity::Warning } else { Severity::Note };
        let finding = finding(severity, "sequence-anomalies", text)
            .with("received", self.received as f64)
            .with("lost", self.lost as f64)
            .with("duplicated", self.duplicated as f64)
            .with("out_of_order", self.out_of_order as f64);
        Some(finding.done())
    }

    fn unreadable(&self) -> Option<Finding> {
        if self.unreadable == 0 {
            return None;
        }
        let text = format!(
            "`{}`: {} of {} had no number that can be read (`seq`): what users missed is unknown",
            self.name,
            units::count(self.unreadable),
            units::counted(self.received, "message"),
        );
        let finding = finding(Severity::Warning, "numbers-unreadable", text)
            .with("unreadable", self.unreadable as f64)
            .with("received", self.received as f64);
        Some(finding.done())
    }

    fn unaccounted(&self) -> Option<Finding> {
        if self.unaccounted == 0 {
            return None;
        }
        let text = format!(
            "`{}`: of {} messages or subscriptions it is unknown what users missed, since numbers jumped too far or there were \
             too many sequences",
            self.name,
            units::count(self.unaccounted),
        );
        let finding = finding(Severity::Warning, "numbers-unaccounted", text)
            .with("unaccounted", self.unaccounted as f64);
        Some(finding.done())
    }

    fn silent(&self) -> Option<Finding> {
        if self.silent == 0 {
            return None;
        }
        let text = format!(
            "`{}`: {} received none, as all that were opened by the same step, while other users \
             received some: they count as subscribed to something else",
            self.name,
            units::counted(self.silent, "subscription"),
        );
        let finding = finding(Severity::Warning, "subscriptions-silent", text)
            .with("subscriptions", self.silent as f64);
        Some(finding.done())
    }
}

/// Anomalies of each kind of numbered messages.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let figures = case.figures;
    let names = figures.info.measures.iter();
    let names = names.filter_map(|measure| measure.name.strip_suffix(PARTS[0]));
    let all = names.filter_map(|name| SequenceCounts::find(figures, name));
    let findings = all.flat_map(|counts| {
        [counts.anomalies(), counts.unreadable(), counts.unaccounted(), counts.silent()]
    });
    findings.flatten().collect()
}

#[cfg(test)]
mod tests {
    use plan::{Basis, Comparison, Figure, MeasureId, Stat, Threshold};

    use super::*;
    use crate::sample;

    const FIRST: usize = sample::UPDATE;

    /// A run in which `said` was counted so: received, lost, duplicated, out of order, unreadable,
    /// unaccounted, silent.
    fn said(counts: [u64; 7]) -> Figures {
        let parts = [""].into_iter().chain(PARTS);
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
