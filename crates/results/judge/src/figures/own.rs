//! Failures in which the target has no part, among those of all requests.

use super::{Cell, Figures};

impl Figures {
    /// All requests as one, and with them what failed and is no request: steps that failed of themselves. Only its
    /// counts are of use.
    pub(crate) fn with_own_failures(&self, phase: Option<usize>) -> Cell {
        let requests: Vec<usize> = self.requests().collect();
        let mut all = self.merged(phase, &requests);
        for measure in 0..self.info.measures.len() {
            let is_counted: fn(&str) -> bool = match self.kind(measure) {
                "step" => |_| true,
                // Whether a condition holds, and others come in time, has figures of its own.
                "check" | "value" | "meeting" => is_own,
                _ => continue,
            };
            let cell = self.cell(phase, measure);
            for (kind, n) in cell.errors().filter(|(kind, _)| is_counted(kind)) {
                *all.outcomes.entry(kind.to_owned()).or_default() += n;
            }
        }
        all
    }
}

/// True for the name of an outcome in which the target has no part.
fn is_own(outcome: &str) -> bool {
    record::Outcome::from_name(outcome).is_some_and(record::Outcome::is_own)
}
