//! What the figures do not tell: counts of odd things, which become notes of the run.

use engine::measure::Counts;

/// So far, over all loops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Oddities {
    stamps_ahead: u64,
    stamps_before: u64,
    broadcasts_untold: u64,
    numbers_unaccounted: u64,
    unsolicited: u64,
}

impl Oddities {
    /// Those of one loop's interval come to them.
    pub(crate) fn count(&mut self, counts: &Counts) {
        self.add(Oddities {
            stamps_ahead: counts.stamps_ahead,
            stamps_before: counts.stamps_before,
            broadcasts_untold: counts.broadcasts_untold,
            numbers_unaccounted: counts.numbers_unaccounted,
            unsolicited: counts.unsolicited,
        });
    }

    pub(crate) fn add(&mut self, more: Oddities) {
        let Oddities {
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

    /// A sentence for each kind that there was.
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
                "receipts of numbered messages were too many at once to be among the times to the \
                 first and the last receiver",
            ),
            (
                self.numbers_unaccounted,
                "numbered messages could not be accounted for: their user had got too many sequences, or \
                 they were too far ahead of the one before",
            ),
            (
                self.unsolicited,
                "HTTP connections were closed because bytes came on them that answer no request",
            ),
        ];
        let there = kinds.into_iter().filter(|(count, _)| *count > 0);
        there.map(|(count, what)| format!("{count} {what}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_noted_once() {
        let mut oddities = Oddities::default();
        assert_eq!(oddities.notes().count(), 0);
        let counts = Counts {
            stamps_before: 2,
            numbers_unaccounted: 1,
            ..Counts::default()
        };
        oddities.count(&counts);
        oddities.count(&counts);
        let notes: Vec<String> = oddities.notes().collect();
        assert_eq!(notes.len(), 2);
        assert!(notes[0].starts_with("4 messages were stamped before"));
        assert!(notes[1].starts_with("2 numbered messages"));
    }
}
