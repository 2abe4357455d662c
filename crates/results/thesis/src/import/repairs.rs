//! Repairs of faulty results, counted by kind.

use record::import::Repair;

/// The kinds, in the order in which they are reported. `docs/importing.md` lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    AnsiColours,
    TwinColumn,
    Truncated,
    BadNumber,
    Disorder,
    UnknownMeasure,
    UnknownError,
    FailedDisagrees,
    ConnectedDisagrees,
    NotUtf8,
    RaggedRow,
    BadRow,
    Unordered,
    DuplicateRow,
    ConflictingRow,
    Gap,
    Empty,
    SeveralSamples,
    UtilisationDisagrees,
    StrayFile,
}

impl Kind {
    pub(crate) fn code(self) -> &'static str {
        match self {
            Kind::AnsiColours => "ansi-colours",
            Kind::TwinColumn => "twin-column",
            Kind::Truncated => "truncated-report",
            Kind::BadNumber => "bad-number",
            Kind::Disorder => "disorder",
            Kind::UnknownMeasure => "unknown-measure",
            Kind::UnknownError => "unknown-error",
            Kind::FailedDisagrees => "failed-disagrees",
            Kind::ConnectedDisagrees => "connected-disagrees",
            Kind::NotUtf8 => "not-utf8",
            Kind::RaggedRow => "ragged-row",
            Kind::BadRow => "bad-row",
            Kind::Unordered => "unordered",
            Kind::DuplicateRow => "duplicate-row",
            Kind::ConflictingRow => "conflicting-row",
            Kind::Gap => "gap",
            Kind::Empty => "empty-metric",
            Kind::SeveralSamples => "several-samples",
            Kind::UtilisationDisagrees => "utilisation-disagrees",
            Kind::StrayFile => "stray-file",
        }
    }

    /// True where something that was reported is excluded for it.
    fn is_lossy(self) -> bool {
        matches!(
            self,
            Kind::Truncated
                | Kind::BadNumber
                | Kind::UnknownMeasure
                | Kind::UnknownError
                | Kind::NotUtf8
                | Kind::RaggedRow
                | Kind::BadRow
                | Kind::ConflictingRow
                | Kind::Gap
        )
    }

    /// The fault and its repair.
    fn text(self) -> &'static str {
        match self {
            Kind::AnsiColours => "ANSI colour codes removed from reports",
            Kind::TwinColumn => {
                "percentile columns with the name of the previous one: kept as reported, not used \
                 as percentiles"
            }
            Kind::Truncated => "reports that end early: their content is kept, the rest is missing",
            Kind::BadNumber => {
                "figures that are not numbers: the measure of that client is excluded"
            }
            Kind::Disorder => {
                "measures whose percentiles do not ascend from minimum to maximum: kept as \
                 reported, not used for bounds"
            }
            Kind::UnknownMeasure => "rows of unknown or repeated measures, excluded",
            Kind::UnknownError => "lines among the errors that are no count of an error, excluded",
            Kind::FailedDisagrees => {
                "reports whose number of errors differs from their failed users: both kept"
            }
            Kind::ConnectedDisagrees => {
                "reports whose connected users differ from their handshakes: both kept; \
                 handshakes are used"
            }
            Kind::NotUtf8 => "files that are not UTF-8: invalid bytes were replaced",
            Kind::RaggedRow => "rows with more or fewer fields than their header, excluded",
            Kind::BadRow => "rows whose time or value cannot be read, excluded",
            Kind::Unordered => "metrics whose rows were not in chronological order, sorted",
            Kind::DuplicateRow => "duplicate rows, counted once",
            Kind::ConflictingRow => "rows with a second value for the same time: the first is kept",
            Kind::Gap => "minutes without a row inside a metric: left empty, not filled",
            Kind::Empty => "metrics without rows, excluded",
            Kind::SeveralSamples => "rows that aggregate several samples: their average is kept",
            Kind::UtilisationDisagrees => {
                "minutes in which a utilisation is not used/available: all three are kept as \
                 reported"
            }
            Kind::StrayFile => "files that are neither a report nor a metric, skipped",
        }
    }
}

/// All that was found so far.
#[derive(Debug, Default)]
pub(crate) struct Repairs(Vec<(Kind, u64, String)>);

impl Repairs {
    /// Counts one at a place.
    pub(crate) fn add(&mut self, kind: Kind, place: impl FnOnce() -> String) {
        self.add_many(kind, 1, place);
    }

    /// Counts several, the first of them at a place.
    pub(crate) fn add_many(&mut self, kind: Kind, count: u64, place: impl FnOnce() -> String) {
        if count == 0 {
            return;
        }
        match self.0.iter_mut().find(|found| found.0 == kind) {
            Some(found) => found.1 += count,
            None => self.0.push((kind, count, place())),
        }
    }

    /// The repairs in the order of the kinds.
    pub(crate) fn finish(mut self) -> Vec<Repair> {
        self.0.sort_by_key(|found| found.0);
        let reported = self.0.into_iter().map(|(kind, count, first)| Repair {
            code: kind.code().to_owned(),
            count,
            text: kind.text().to_owned(),
            lossy: kind.is_lossy(),
            first,
        });
        reported.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All of them; the last one is the greatest.
    fn all() -> Vec<Kind> {
        let kinds = [
            Kind::AnsiColours,
            Kind::TwinColumn,
            Kind::Truncated,
            Kind::BadNumber,
            Kind::Disorder,
            Kind::UnknownMeasure,
            Kind::UnknownError,
            Kind::FailedDisagrees,
            Kind::ConnectedDisagrees,
            Kind::NotUtf8,
            Kind::RaggedRow,
            Kind::BadRow,
            Kind::Unordered,
            Kind::DuplicateRow,
            Kind::ConflictingRow,
            Kind::Gap,
            Kind::Empty,
            Kind::SeveralSamples,
            Kind::UtilisationDisagrees,
            Kind::StrayFile,
        ];
        kinds.to_vec()
    }

    #[test]
    fn every_repair_is_in_the_reference() {
        let reference = include_str!("../../../../../docs/importing.md");
        assert_eq!(all().len(), Kind::StrayFile as usize + 1);
        for kind in all() {
            let row = format!("\n| `{}` | ", kind.code());
            assert_eq!(
                reference.matches(&row).count(),
                1,
                "docs/importing.md lists {} once",
                kind.code()
            );
        }
    }

    #[test]
    fn repairs_are_counted_and_reported_in_order() {
        let mut repairs = Repairs::default();
        repairs.add(Kind::Gap, || "b".to_owned());
        repairs.add(Kind::AnsiColours, || "a".to_owned());
        repairs.add_many(Kind::Gap, 2, || "c".to_owned());
        repairs.add_many(Kind::Empty, 0, || "d".to_owned());
        let reported = repairs.finish().into_iter().map(|r| (r.code, r.count, r.first, r.lossy));
        let expected = [("ansi-colours", 1, "a", false), ("gap", 3, "b", true)];
        let expected =
            expected.map(|(code, n, first, lossy)| (code.to_owned(), n, first.to_owned(), lossy));
        assert_eq!(reported.collect::<Vec<_>>(), expected);
    }
}
