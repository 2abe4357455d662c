//! Anomalies that the figures do not show: their counts become notes of the run.

use engine::measure::Counts;

/// Their counts so far, over all loops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Anomalies {
    stamps_ahead: u64,
    stamps_before: u64,
    broadcasts_untold: u64,
    numbers_unaccounted: u64,
    unsolicited: u64,
}

impl Anomalies {
    /// Adds those of one loop's interval.
    pub(crate) fn count(&mut self, counts: &Counts) {
        self.add(Anomalies {
            stamps_ahead: counts.stamps_ahead,
            stamps_before: counts.stamps_before,
            broadcasts_untold: counts.broadcasts_untold,
            numbers_unaccounted: counts.numbers_unaccounted,
            unsolicited: counts.unsolicited,
        });
    }

    pub(crate) fn add(&mut self, more: Anomalies) {
        let Anomalies {
            stamps_ahead,
            stamps_before,
            broadcasts_untold,
            numbers_unaccounted,
            unsolicited,
        } = more;
        self.stamps_ahead += stamps_ahead;
        self.stamps_before += stamps_before;
        self.broadcasts_untold += broadcasts_untold;
        self.numbers_unaccounted += numbers_unaccounted;
        self.unsolicited += unsolicited;
    }

    /// A sentence for each kind that occurred.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        let kinds = [
            (
                self.stamps_ahead,
                "messages were stamped later than they arrived; their age counts as 0",
            ),
            (
                self.stamps_before,
                "messages were stamped before the run began; they are counted without their age",
            ),
            (
                self.broadcasts_untold,
                "receipts of numbered messages came too many at once, and are not among the times to \
                 the first and the last receiver",
            ),
            (
                self.numbers_unaccounted,
                "numbered messages could not be tracked: their user had too many sequences, or they \
                 were too far ahead of the previous one",
            ),
            (
                self.unsolicited,
                "HTTP connections were closed because the server sent bytes that answer no request",
            ),
        ];
        let occurred = kinds.into_iter().filter(|(count, _)| *count > 0);
        occurred.map(|(count, what)| format!("{count} {what}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_one_note() {
        let mut anomalies = Anomalies::default();
        assert_eq!(anomalies.notes().count(), 0);
        let counts = Counts {
            stamps_before: 2,
            numbers_unaccounted: 1,
            ..Counts::default()
        };
        anomalies.count(&counts);
        anomalies.count(&counts);
        let notes: Vec<String> = anomalies.notes().collect();
        assert_eq!(notes.len(), 2);
        assert!(notes[0].starts_with("4 messages were stamped before"));
        assert!(notes[1].starts_with("2 numbered messages"));
    }
}
