//! Numbered messages: how many users got and missed, and whether that is known.

use record::schema::MeasureInfo;

use crate::figures::Figures;

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
    pub(crate) name: &'a str,
    /// Messages, with a number or without.
    pub(crate) received: u64,
    pub(crate) lost: u64,
    pub(crate) duplicated: u64,
    pub(crate) out_of_order: u64,
    pub(crate) unreadable: u64,
    pub(crate) unaccounted: u64,
    pub(crate) silent: u64,
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

    /// The counts of each kind of numbered messages.
    pub(crate) fn all(figures: &'a Figures) -> impl Iterator<Item = SequenceCounts<'a>> {
        let names = figures.info.measures.iter();
        let names = names.filter_map(|measure| measure.name.strip_suffix(PARTS[0]));
        names.filter_map(|name| SequenceCounts::find(figures, name))
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
}
